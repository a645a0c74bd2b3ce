"""What becomes of each column: categories and missing values as numbers, alike for sources and later samples."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from fewratio.data import frames
from fewratio.data.columns import (
    BOOLEANS,
    CATEGORIES,
    NUMBERS,
    SAME_DATASETS,
    TEXT,
    Layout,
    check_layout,
    check_no_numbers,
    check_numbers,
    listed,
    unusable_values,
)
from fewratio.data.frames import Frame, Series
from fewratio.data.table import Table, as_table, check_shape, frozen
from fewratio.errors import CollectionError, InputError, ParameterError

_NEEDED = "needed are the columns that the encoding was learned from, in their order. Select those."
_CHOICES = {"categorical": ("error", "onehot"), "missing": ("error", "median"), "unseen": ("error", "zero")}
_REMEDIES = {
    "categorical": 'If they are categories, pass categorical="onehot".',
    "missing": 'Or pass missing="median", which replaces what is missing.',
}
_LABELS = (TEXT, CATEGORIES, BOOLEANS)
# One column per category is for groups that many rows share; what has more values is an id, or free text.
MOST_CATEGORIES = 1000


@dataclass(frozen=True)
class Encoding:
    """How the columns of a collection became numbers; immutable. A collection learns its own, as its `encoding`.

    A column of categories becomes one column of zeros and ones per category; a column of numbers stays as it is.

    Attributes
    ----------
    names : tuple of str or None
        The columns before the encoding; None if they have no names.
    categories : tuple of (tuple of str or None)
        The categories of each column, in order; None for a column of numbers.
    medians : tuple of (float or None) or None
        What a missing number of each column is replaced by (a missing category becomes zeros); None if nothing
        may be missing.
    unseen : {"error", "zero"}
        What becomes of a category that is not in `categories`: an error, or zeros in all its columns.

    Examples
    --------
    >>> import polars as pl
    >>> encoding = Encoding(("size", "colour"), (None, ("blue", "red")), medians=(2.0, None))
    >>> encoding.feature_names
    ('size', 'colour=blue', 'colour=red')
    >>> encoding.apply(pl.DataFrame({"size": [None, 4.0], "colour": ["red", "blue"]}))
    array([[2., 0., 1.],
           [4., 1., 0.]])
    """

    names: tuple[str, ...] | None
    categories: tuple[tuple[str, ...] | None, ...]
    medians: tuple[float | None, ...] | None = None
    unseen: str = "error"

    @cached_property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the encoded columns: a category's is ``"column=category"``."""
        if self.names is None:
            return None
        names: list[str] = []
        for column, known in zip(self.names, self.categories, strict=True):
            names += [column] if known is None else [f"{column}={category}" for category in known]
        return tuple(names)

    @property
    def n_features(self) -> int:
        """Number of encoded columns."""
        return self._places[-1].stop

    def apply(self, X: Any, argument: str = "X") -> NDArray[Any]:
        """Return a table's rows, encoded.

        Parameters
        ----------
        X : data frame of shape (n, len(categories)), or array-like of shape (n, n_features)
            A data frame of the original columns. What has no columns of categories must be encoded already; of it
            only missing numbers (NaN, ``None``, masked values) are replaced.
        argument : str
            What messages call the table.
        """
        table = self.open(X, argument)
        return table.to_numpy(table.dtype)

    def open(self, X: Any, argument: str, keep_missing: bool = False, first_row: int = 0) -> Table:
        """Validate a table and encode it; `keep_missing` leaves NaN where a number is missing.

        Messages number rows from `first_row` on.
        """
        may_miss = keep_missing or self.medians is not None
        frame = frames.open_frame(X, argument)
        if frame is None or self.names != self.feature_names == frames.feature_names(frame):
            table = as_table(X, argument, may_miss, first_row)
            encoded = Layout("the encoded source collection", self.n_features)
            check_layout(table.layout, encoded, InputError, _NEEDED)
        else:
            check_shape(frame.shape, argument)
            found = Layout(argument, len(frame.columns), frames.feature_names(frame))
            check_layout(found, Layout("the source collection", len(self.categories), self.names), InputError, _NEEDED)
            numbers = self._encode(frame, argument, may_miss, first_row)
            table = Table(numbers, self.feature_names, argument, is_complete=not may_miss)
            table.validate_finite(may_miss, first_row)
        if keep_missing or table.is_complete:
            return table
        return self.filled(table).validate_finite(first_row=first_row)

    def filled(self, table: Table) -> Table:
        """Return an encoded table with the medians in the place of missing numbers."""
        numbers = table.to_numpy(table.dtype)
        self.fill(numbers)
        return replace(table, numbers=frozen(numbers), is_complete=True)

    def with_medians(self, arrays: Sequence[NDArray[Any]]) -> Encoding:
        """Return an encoding that replaces missing numbers by the medians of encoded rows (NaN: missing)."""
        medians: list[float | None] = [None] * len(self.categories)
        for j, place in enumerate(self._places):
            if self.categories[j] is not None:
                continue
            # One column at a time: all of them together would be the table once more.
            column = np.concatenate([array[:, place.start] for array in arrays])
            present = column[~np.isnan(column)]
            if not len(present):
                raise InputError(
                    f"column {j if self.names is None else self.names[j]!r} has no value in any dataset, so it has no "
                    "median; needed is one value at least. Drop the column."
                )
            # Halved first: the sum of the middle two may overflow.
            medians[j] = 2 * float(np.median(present / 2))
        return replace(self, medians=tuple(medians))

    def fill(self, array: NDArray[Any]) -> None:
        """Replace NaN in encoded rows by the medians, in place."""
        for place, median in zip(self._places, self.medians or (), strict=True):
            if median is not None:
                column = array[:, place.start]
                column[np.isnan(column)] = median

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding as plain values, for JSON."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Encoding:
        """Return the encoding that `to_dict` described; raise ``ValueError`` if the values do not fit together."""
        names, categories, medians, unseen = (content[key] for key in ("names", "categories", "medians", "unseen"))
        _check(isinstance(categories, list) and categories != [], "its encoding has no columns")
        _check(names is None or (_are_texts(names) and len(names) == len(categories)), "its names do not fit")
        _check(all(known is None or (_are_texts(known) and known) for known in categories), "its categories do not fit")
        if medians is not None:
            _check(all(median is None or _is_finite(median) for median in medians), "its medians are no numbers")
            numbers = [known is None for known in categories]
            _check([median is not None for median in medians] == numbers, "its medians do not fit")
        _check(unseen in _CHOICES["unseen"], f"its rule for unseen categories is {unseen!r}")
        return cls(
            None if names is None else tuple(names),
            tuple(None if known is None else tuple(known) for known in categories),
            None if medians is None else tuple(None if median is None else float(median) for median in medians),
            unseen,
        )

    @cached_property
    def _places(self) -> list[slice]:
        """Where each column is after the encoding."""
        widths = [1 if known is None else len(known) for known in self.categories]
        return [slice(stop - width, stop) for width, stop in zip(widths, accumulate(widths), strict=True)]

    def _encode(self, frame: Frame, argument: str, may_miss: bool, first_row: int) -> NDArray[Any]:
        """Return the rows of a frame of the original columns, encoded, NaN for missing numbers."""
        kinds = frames.kinds(frame)
        columns = [frame.get_column(label) for label, _ in kinds]
        known_of = dict(zip(frame.columns, self.categories, strict=True))
        # Booleans pass for numbers, and labels for categories where those are known.
        others = [(label, kind) for label, kind in kinds if known_of[label] is None or kind not in (*_LABELS, NUMBERS)]
        check_numbers(others, argument, lambda label: frame.get_column(label).to_list(), first_row)
        gaps = [column.null_count() for column in columns]
        if any(gaps) and not may_miss:
            first = next(j for j, count in enumerate(gaps) if count)
            row = columns[first].is_null().to_list().index(True)
            raise unusable_values(argument, "missing", sum(gaps), frame.columns[first], row, first_row)
        single = frames.is_single([column for column in columns if known_of[column.name] is None])
        result = np.zeros((len(frame), self.n_features), np.float32 if single else np.float64)
        for (label, kind), column, place in zip(kinds, columns, self._places, strict=True):
            known, what = known_of[label], f"column {label!r} of {argument}"
            if known is None:
                result[:, place.start] = frames.column_numbers(column, label, argument)
            elif kind == NUMBERS:
                raise InputError(
                    f"{what} holds numbers but the source collection has categories there ({listed(known)}); both must "
                    "hold the same. Pass the categories as text."
                )
            else:
                self._encode_categories(column, known, result[:, place], what, first_row)
        return result

    def _encode_categories(
        self, column: Series, known: tuple[str, ...], result: NDArray[Any], argument: str, first_row: int
    ) -> None:
        """Put ones where a row has a category, or say which categories are not known."""
        codes, values = frames.label_codes(column)
        position = {category: number for number, category in enumerate(known)}
        unseen = [value for value in values if value is not None and str(value) not in position]
        if unseen and self.unseen == "error":
            noun = "category" if len(unseen) == 1 else "categories"
            row = first_row + int(np.argmax(codes == values.index(unseen[0])))
            raise InputError(
                f"{argument} has {len(unseen)} {noun} that the source collection does not have, the first at row {row} "
                f"counting from 0 ({listed(sorted(map(str, unseen)))}); known are {listed(known)}. Drop those rows, or "
                "make the source collection with unseen='zero'."
            )
        places = np.array([position.get(str(value), -1) if value is not None else -1 for value in values])[codes]
        rows = np.flatnonzero(places >= 0)
        result[rows, places[rows]] = 1.0


class EncodingOptions(TypedDict, total=False):
    """The options of `Collection.from_frame` and its like that say how columns become numbers."""

    categorical: str
    missing: str
    unseen: str
    encoding: Encoding | None


@dataclass(frozen=True)
class EncodingChoice:
    """The same options, validated."""

    categorical: str = "error"
    missing: str = "error"
    unseen: str = "error"
    encoding: Encoding | None = None

    def __post_init__(self) -> None:
        for option, choices in _CHOICES.items():
            if getattr(self, option) not in choices:
                raise ParameterError(
                    f"{option} is {getattr(self, option)!r}; it must be one of {listed(choices)}. Choose one."
                )
        if self.encoding is None:
            return
        if not isinstance(self.encoding, Encoding):
            raise ParameterError(
                f"encoding is a {type(self.encoding).__name__}; an Encoding is needed. Pass another collection's."
            )
        if {self.categorical, self.missing, self.unseen} != {"error"}:
            raise ParameterError(
                "An encoding is given, and categorical, missing or unseen besides; an encoding says all three. "
                "Pass only one of the two."
            )

    @property
    def learns_medians(self) -> bool:
        """Whether medians are to be learned from the rows themselves."""
        return self.missing == "median"

    def prepare(self, tables: Iterable[tuple[str, int, Any]]) -> Encoding | None:
        """Return the encoding of tables (name, first row, rows), still without medians; None if none was asked for."""
        if self.encoding is not None or (self.categorical == "error" and not self.learns_medians):
            return self.encoding
        columns = ColumnKinds(self.categorical == "onehot")
        for name, first_row, table in tables:
            columns.add(table, name, first_row)
            if self.categorical == "error" and columns.names is not None:
                break
        return Encoding(columns.names, columns.categories, None, self.unseen)

    def open(self, X: Any, argument: str, encoding: Encoding | None, first_row: int = 0) -> Table:
        """Return a table, encoded if an encoding was prepared, in which numbers may still be missing (NaN)."""
        with self._advising():
            if encoding is None:
                return as_table(X, argument, first_row=first_row)
            frame = frames.open_frame(X, argument)
            if frame is not None:
                X = frames.in_order(frames.in_order(frame, encoding.names), encoding.feature_names)
            return encoding.open(X, argument, self.learns_medians, first_row)

    @contextmanager
    def _advising(self) -> Iterator[None]:
        """Add to the error for a table that cannot be used which of these options would help."""
        try:
            yield
        except InputError as error:
            if error.remedy is None or self.encoding is not None or getattr(self, error.remedy) != "error":
                raise
            raise InputError(f"{error} {_REMEDIES[error.remedy]}") from error


class ColumnKinds:
    """What the columns of several tables hold, decided from all tables together.

    Parameters
    ----------
    with_categories : bool
        Whether to note categories; otherwise only the names and the number of columns.

    Attributes
    ----------
    names : tuple of str or None
        Names of the columns.
    """

    def __init__(self, with_categories: bool = True) -> None:
        self.names: tuple[str, ...] | None = None
        self._with_categories = with_categories
        self._layout: Layout | None = None
        self._categories: list[set[str]] = []
        # The table in which each column was first seen to hold numbers (False) or categories (True).
        self._seen: list[dict[bool, str]] = []

    @property
    def categories(self) -> tuple[tuple[str, ...] | None, ...]:
        """The categories of each column, sorted, so that no order of files or rows matters; None for numbers."""
        pairs = zip(self._categories, self._seen, strict=True)
        return tuple(tuple(sorted(known)) if True in seen else None for known, seen in pairs)

    def add(self, X: Any, argument: str, first_row: int = 0) -> None:
        """Take account of one table, or of a part that begins at a row."""
        frame = frames.open_frame(X, argument)
        if frame is None:
            layout = as_table(X, argument, keep_missing=True).layout
            kinds: list[tuple[Any, str]] = [(j, NUMBERS) for j in range(layout.n_features)]
        else:
            layout = Layout(argument, len(frame.columns), frames.feature_names(frame))
            kinds = frames.kinds(frame) if self._with_categories else []
        self._check_layout(layout)
        # Any other kind is refused, in better words, when the table is read.
        for j, (label, kind) in enumerate(kinds):
            if frame is not None and kind in _LABELS:
                self._add_categories(j, frame.get_column(label), f"column {label!r} of {argument}", first_row)
            if kind in (*_LABELS, NUMBERS):
                self._note(j, label, kind != NUMBERS, argument)

    def _add_categories(self, place: int, column: Series, argument: str, first_row: int) -> None:
        found = set(map(str, column.drop_nulls().unique().to_list()))
        if not frames.is_declared(column):
            check_no_numbers(found, column.to_list, argument, first_row)
        self._categories[place] |= found
        if len(self._categories[place]) > MOST_CATEGORIES:
            raise InputError(
                f"{argument} brings more than {MOST_CATEGORIES} categories, each of which would become a column; "
                f'categorical="onehot" needs {MOST_CATEGORIES} at most. Drop the column if it names or describes '
                "single rows, or merge its rare categories."
            )

    def _check_layout(self, layout: Layout) -> None:
        if self._layout is None:
            self._layout = layout
            self._categories = [set() for _ in range(layout.n_features)]
            self._seen = [{} for _ in range(layout.n_features)]
        check_layout(layout, self._layout, CollectionError, SAME_DATASETS)
        if self.names is None and layout.names is not None:
            self.names, self._layout = layout.names, layout

    def _note(self, place: int, label: object, is_categories: bool, argument: str) -> None:
        seen = self._seen[place]
        seen.setdefault(is_categories, argument)
        if len(seen) > 1:
            raise CollectionError(
                f"column {label!r} holds numbers in {seen[False]} but categories in {seen[True]}; a column must hold "
                "one or the other in all datasets. Rename the categories that look like numbers, or drop the column."
            )


def _check(holds: object, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value) and len(set(value)) == len(value)


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
