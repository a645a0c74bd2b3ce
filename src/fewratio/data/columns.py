"""What a column may hold, and the words for what it may not."""

import datetime
import numbers
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.errors import FewRatioError, InputError

TEXT, CATEGORIES, DATES, COMPLEX = "text", "categories", "dates or times", "complex numbers"
INFINITE = "infinite"

_NUMBERS = (numbers.Real, np.bool_, Decimal)
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
# pandas' two markers are known by name, so that pandas need not be imported to recognise them.
_MISSING = {"NoneType", "NAType", "NaTType"}
_KIND_OF_DTYPE = {"U": TEXT, "S": TEXT, "T": TEXT, "M": DATES, "m": DATES, "c": COMPLEX}
_LISTED = 5
_LONGEST_CELL = 40
SAME_SAMPLES = "both samples must have the same columns. Pass the same feature layout for both."
SAME_DATASETS = "all datasets of a collection must have the same columns. Select the same ones in each."
_SAME = "both must have the same columns. Select the same ones in both."


def counted(n: int, noun: str) -> str:
    """Return ``"1 row"``, ``"2 rows"``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def listed(items: Iterable[object]) -> str:
    """Return the first few items as Python would write them, and how many more there are."""
    names = [repr(item) for item in items]
    rest = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def dtype_problem(dtype: np.dtype[Any]) -> str | None:
    """Say what a NumPy dtype holds instead of real numbers; None for numbers, and for objects (undecided)."""
    if dtype.kind in "biufO":
        return None
    return _KIND_OF_DTYPE.get(dtype.kind, f"type {dtype}")


def type_problem(kind: type) -> str | None:
    """Say what a Python object is instead of a real number; None for numbers and missing values."""
    if kind.__name__ in _MISSING:
        return None
    # Before the numbers: NumPy's timedelta64 calls itself an integer.
    if issubclass(kind, _DATES):
        return DATES
    if issubclass(kind, _NUMBERS):
        return None
    if issubclass(kind, (str, bytes)):
        return TEXT
    if issubclass(kind, numbers.Complex):
        return COMPLEX
    return f"type {kind.__name__}"


def object_problem(column: NDArray[np.object_]) -> str | None:
    """Say what a column of Python objects holds instead of real numbers; None if there is nothing else."""
    problems = (type_problem(kind) for kind in dict.fromkeys(map(type, column)))
    return next((problem for problem in problems if problem), None)


def is_missing(column: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Tell which Python objects mark a missing value."""
    names = [kind.__name__ in _MISSING for kind in map(type, column)]
    return np.array(names, dtype=np.bool_)


def is_number(text: str) -> bool:
    """Tell whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def first_text(values: Iterable[Any]) -> tuple[int, str] | None:
    """Return row and text of the first cell that does not even read as a number, else of the first text at all."""
    texts = [(row, str(value)) for row, value in enumerate(values) if isinstance(value, (str, bytes))]
    return next((cell for cell in texts if not is_number(cell[1])), texts[0] if texts else None)


def numbers_from_objects(
    values: NDArray[np.object_], argument: str, labels: Sequence[object], keep_missing: bool = False
) -> NDArray[np.float64]:
    """Turn a 2-D array of Python objects into numbers, or say which column does not hold numbers.

    ``astype(float)`` would not do: it reads the text ``"1"`` as a number and ``None`` as NaN. With `keep_missing` what
    is missing becomes NaN, too.
    """
    problems = [(j, object_problem(values[:, j])) for j in range(len(labels))]
    bad = [(j, problem) for j, problem in problems if problem]
    if bad:
        named = [(labels[j], problem) for j, problem in bad]
        raise not_numbers(argument, named, first_text(values[:, bad[0][0]]))
    missing = np.stack([is_missing(values[:, j]) for j in range(len(labels))], axis=1)
    if not keep_missing:
        check_none_missing(argument, [(label, missing[:, j]) for j, label in enumerate(labels)])
    result = np.full(values.shape, np.nan)
    for j, label in enumerate(labels):
        present = ~missing[:, j]
        try:
            result[present, j] = values[present, j]
        except (OverflowError, TypeError, ValueError) as error:
            raise InputError(
                f"column {label!r} of {argument} holds a number that does not fit a 64-bit float ({error}); "
                "every value must be a finite number. Rescale the column first."
            ) from error
    return result


def check_none_missing(argument: str, columns: Sequence[tuple[object, NDArray[np.bool_]]]) -> None:
    """Raise if a value is missing, given each column's label and which of its values are."""
    count = sum(int(np.count_nonzero(missing)) for _, missing in columns)
    if count:
        label, missing = next(column for column in columns if column[1].any())
        raise unusable_values(argument, "missing", count, label, int(missing.argmax()))


def not_numbers(
    argument: str, columns: Sequence[tuple[object, str]], cell: tuple[int, str] | None = None
) -> InputError:
    """Return the error for columns (label, what they hold) that are not real numbers, and a cell (row, text)."""
    first = ", ".join(f"column {label!r} ({problem})" for label, problem in columns[:_LISTED])
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    if all(problem == COMPLEX for _, problem in columns):
        advice = "Pass the real and the imaginary parts as columns of their own."
    else:
        advice = "Encode such columns as numbers or drop them."
    where = ""
    if cell is not None:
        row, text = cell
        where = f", such as {quoted(text)} in column {columns[0][0]!r} at row {row} (counting from 0)"
    return InputError(
        f"{argument} has {counted(len(columns), 'column')} that cannot be used: {first}{more}{where}; "
        f"every column must hold real numbers. {advice}"
    )


def quoted(text: str) -> str:
    """Return the beginning of a text as Python would write it."""
    return repr(text) if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]!r}..."


def unusable_values(argument: str, what: str, count: int, label: object, row: int) -> InputError:
    """Return the error for missing, NaN or infinite values: how many, and where the first one is."""
    error = InputError(
        f"{argument} has {counted(count, f'{what} value')}, the first in column {label!r} at row {row} "
        "(counting from 0); every value must be a finite number. Drop those rows or fill the gaps first."
    )
    if what != INFINITE:
        error.remedy = "missing"
    return error


class Layout(NamedTuple):
    """The features of a table, and what messages call the table."""

    table: str
    n_features: int
    names: tuple[str, ...] | None = None


def check_layout(found: Layout, reference: Layout, error: type[FewRatioError], need: str = _SAME) -> None:
    """Raise an error of the given type if the features of one table differ from another's; `need` ends its words."""
    problem = feature_mismatch(found, reference, need)
    if problem is not None:
        raise error(problem)


def feature_mismatch(found: Layout, reference: Layout, need: str = _SAME) -> str | None:
    """Say how the features of one table differ from another's, and what is needed; None if they agree.

    Names count only if both sides have them.
    """
    what, count, names = found
    other, other_count, other_names = reference
    details = ""
    if names is not None and other_names is not None and names != other_names:
        missing = [name for name in other_names if name not in set(names)]
        unexpected = [name for name in names if name not in set(other_names)]
        parts = [("missing", missing), ("unexpected", unexpected)]
        details = "; ".join(f"{part}: {listed(which)}" for part, which in parts if which)
    if count != other_count:
        named = f" ({details})" if details else ""
        return f"{what} has {counted(count, 'feature')} but {other} has {other_count}{named}; {need}"
    if names is None or other_names is None or names == other_names:
        return None
    if details:
        return f"{what} has other column names than {other} ({details}); {need}"
    place = next(j for j in range(count) if names[j] != other_names[j])
    return (
        f"{what} has the columns of {other} in another order (position {place} holds {names[place]!r}, "
        f"expected {other_names[place]!r}); {need}"
    )
