"""What becomes of one column of a table: numbers, or zeros and ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.data.columns import BOOLEAN, CATEGORY, DATE, MISSING, NUMBER, PLURALS, TEXT, counted, is_number, quoted
from fewratio.data.frames import Values, day_of_text, text_of_days, text_values
from fewratio.errors import InputError

ID, SEPARATING, EMPTY, DROPPED, NOT_IN_ALL = "id", "separating", "no values", "dropped", "not in all tables"


@dataclass(frozen=True)
class Column:
    """What becomes of one column.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "category", "date"}
    left_out : str or None
        Why the column is not used, if it is not: "id", "separating", "no values", "dropped", "not in all tables" or
        the type of its values.
    categories : tuple of str
        The categories that have a column of their own, sorted.
    pools_others : bool
        Whether all other categories have a column together.
    median : float or None
        What stands for a missing number.
    marks_missing : bool
        Whether a column of zeros and ones says which values are missing.
    """

    name: str
    kind: str = NUMBER
    left_out: str | None = None
    categories: tuple[str, ...] = ()
    pools_others: bool = False
    median: float | None = None
    marks_missing: bool = False

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features that the column becomes."""
        if self.left_out is not None:
            return ()
        names = [f"{self.name}={category}" for category in self.categories] if self.kind == CATEGORY else [self.name]
        others = [f"{self.name}=other"] if self.pools_others else []
        return (*names, *others, *([f"{self.name} is missing"] if self.marks_missing else []))

    def encode(self, values: Values, result: NDArray[Any], argument: str) -> None:
        """Write the features of a table's column into an array of shape (n, n_features) of zeros."""
        if self.kind != CATEGORY:
            numbers = as_numbers(values, self.kind, argument)
            missing = np.isnan(numbers)
            result[:, 0] = numbers if self.median is None else np.where(missing, self.median, numbers)
        else:
            coded = as_categories(values, argument)
            place = {category: number for number, category in enumerate(self.categories)}
            others = len(self.categories) if self.pools_others else -1
            # The last place is that of code -1.
            places = np.array([*(place.get(text, others) for text in coded.texts), -1], dtype=np.intp)[coded.codes]
            rows, missing = np.flatnonzero(places >= 0), coded.codes < 0
            result[rows, places[rows]] = 1
        if self.marks_missing:
            result[:, -1] = missing


def as_numbers(values: Values, kind: str, argument: str) -> NDArray[Any]:
    """Return a column of numbers, booleans or dates as finite numbers, NaN for what is missing."""
    numbers = values.numbers
    if values.kind in (TEXT, CATEGORY):
        read = [(day_of_text if kind == DATE else _number_of_text)(text) for text in values.texts]
        if None in read:
            code = read.index(None)
            raise InputError(
                f"{argument} holds {quoted(values.texts[code])} at row {int((values.codes == code).argmax())} "
                f"(counting from 0), which is no {kind}; all its values must be {PLURALS[kind]}. Correct it or drop "
                "the column."
            )
        numbers = np.array([*read, np.nan], dtype=np.float64)[values.codes]
    elif values.kind not in ((MISSING, DATE) if kind == DATE else (MISSING, NUMBER, BOOLEAN)):
        held = PLURALS.get(values.kind, values.kind)
        raise InputError(f"{argument} holds {held}, but {PLURALS[kind]} are needed. Pass those.")
    infinite = np.isinf(numbers)
    if infinite.any():
        raise InputError(
            f"{argument} has {counted(int(infinite.sum()), 'infinite value')}, the first at row "
            f"{int(infinite.argmax())} (counting from 0); every value must be a finite number, or missing. Correct "
            "those rows or drop the column."
        )
    return numbers


def _number_of_text(text: str) -> float | None:
    return float(text) if is_number(text) else None


def as_categories(values: Values, argument: str) -> Values:
    """Return a column of any kind as texts, in the order in which they first appear."""
    if values.kind in (TEXT, CATEGORY):
        return values
    if values.kind not in (*PLURALS, MISSING):
        raise InputError(
            f"{argument} holds {values.kind}; categories and names are text, numbers or dates. Choose another column, "
            "or write its values as text."
        )
    write = {DATE: text_of_days, BOOLEAN: lambda value: str(bool(value))}.get(values.kind, _as_written)
    return text_values([None if value != value else write(value) for value in values.numbers.tolist()], CATEGORY)


def _as_written(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)
