"""What a column may hold, how two tables' columns compare, and the messages about both."""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fewratio.errors import FewRatioError, InputError

# The kinds of columns; any other is named after its type.
NUMBER, BOOLEAN, TEXT, CATEGORY, DATE, MISSING = "number", "boolean", "text", "category", "date", "nothing"
PLURALS = {NUMBER: "numbers", BOOLEAN: "booleans", CATEGORY: "categories", DATE: "dates"}
# The names of columns, or only how many there are.
Features: TypeAlias = "int | tuple[str, ...]"

# pandas' two marks of a missing value are known by name, so that pandas need not be imported to recognise them.
_MISSING_TYPES = {"NoneType", "NAType", "NaTType"}
_LISTED = 5
_LONGEST_CELL = 40
_SAME = "both must have the same columns. Select the same ones in both."
# How people write numbers and dates that no program reads without being told.
_FORMATTED = {
    "numbers with separators, signs or units": re.compile(
        r"[-+]?[$€£]?\s?\d{1,3}(?:[,' ]?\d{3})*(?:\.\d+)?\s?[%$€£]"
        r"|[-+]?[$€£]\s?\d[\d,' ]*(?:\.\d+)?|[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?"
    ),
    "dates with the day or month first": re.compile(r"\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})(?:[ T].*)?"),
}


def counted(n: int, noun: str) -> str:
    """Return ``"1 row"``, ``"2 rows"``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def listed(items: Iterable[object]) -> str:
    """Return the first few items as Python would write them, and how many more there are."""
    names = [repr(item) for item in items]
    rest = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def object_kind(values: Iterable[Any]) -> str:
    """Return the kind of column that Python objects of several types make."""
    types = [kind for kind in dict.fromkeys(map(type, values)) if kind.__name__ not in _MISSING_TYPES]
    # NumPy's timedelta64 calls itself an integer.
    other = [
        kind for kind in types if not issubclass(kind, Real | Decimal | np.bool_) or issubclass(kind, np.timedelta64)
    ]
    if not other:
        return NUMBER if types else MISSING
    return TEXT if issubclass(other[0], str | bytes) else f"type {other[0].__name__}"


def is_missing(value: object) -> bool:
    """Tell whether a Python object marks a missing value."""
    return type(value).__name__ in _MISSING_TYPES or (isinstance(value, float) and value != value)


def is_number(text: str) -> bool:
    """Tell whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def numbers_from_objects(values: Iterable[Any], argument: str) -> NDArray[np.float64]:
    """Return Python objects of a column of numbers as floats, NaN for what is missing.

    ``astype(float)`` would not do: it reads the text ``"1"`` as a number.
    """
    try:
        return np.array([np.nan if is_missing(value) else value for value in values], dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(
            f"{argument} holds a number that does not fit a 64-bit float ({error}); every value "
            "must be a finite number. Rescale the column first."
        ) from error


def check_numbers(argument: str, columns: Sequence[tuple[object, Any]]) -> None:
    """Raise unless all columns (label, values) hold numbers or booleans."""
    bad = [(label, values) for label, values in columns if values.kind not in (NUMBER, BOOLEAN, MISSING)]
    if not bad:
        return
    found = ", ".join(f"column {label!r} ({PLURALS.get(values.kind, values.kind)})" for label, values in bad[:_LISTED])
    found += f" and {len(bad) - _LISTED} more" if len(bad) > _LISTED else ""
    label, values = bad[0]
    if values.kind == TEXT and len(values.texts):
        row, text = first_text(values)
        found += f", such as {quoted(text)} in column {label!r} at row {row} (counting from 0)"
    raise InputError(
        f"{argument} has {counted(len(bad), 'column')} that cannot be used: {found}; every column must hold real "
        "numbers. Encode such columns as numbers or drop them."
    )


def check_not_almost_numbers(values: Any, argument: str) -> None:
    """Raise if what seems to be text are numbers but for some cells, or numbers with decimal commas."""
    found = values.texts
    n_numbers = sum(map(is_number, found))
    commas = sorted(text for text in found if "," in text)
    if commas and all(is_number(text.replace(",", ".", 1)) for text in found):
        raise InputError(
            f"{argument} looks like decimal commas (such as {commas[0]!r}); numbers must be written with points. "
            'Pass decimal="," where the file is read, or convert it.'
        )
    for form, pattern in _FORMATTED.items():
        if found and all(map(pattern.fullmatch, found)):
            raise InputError(
                f"{argument} looks like {form} (such as {found[0]!r}); numbers must be written plainly and dates as "
                "2024-01-31. Convert it, drop the column, or name it in categorical= if that is what it holds."
            )
    if len(found) > n_numbers > len(found) / 2:
        row, text = first_text(values)
        raise InputError(
            f"{argument} holds text, but {n_numbers} of its {len(found)} different values are numbers, and the first "
            f"that is none is {quoted(text)} at row {row} (counting from 0); a column must hold numbers or categories. "
            "Correct or drop those rows, or name the column in categorical=."
        )


def first_text(values: Any) -> tuple[int, str]:
    """Return row and text of the first cell that does not even read as a number, else of the first text at all."""
    places = [place for place, text in enumerate(values.texts) if not is_number(text)] or range(len(values.texts))
    row = int(np.isin(values.codes, list(places)).argmax())
    return row, values.texts[values.codes[row]]


def quoted(text: str) -> str:
    """Return the beginning of a text as Python would write it."""
    return repr(text) if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]!r}..."


def check_features(
    table: str,
    found: Features,
    reference: str,
    needed: Features,
    error: type[FewRatioError] = InputError,
    need: str = _SAME,
) -> None:
    """Raise an error of the given type if the features of one table differ from another's; `need` ends its message.

    Names count only if both tables have them.
    """
    count, needed_count = (each if isinstance(each, int) else len(each) for each in (found, needed))
    details = ""
    if isinstance(found, tuple) and isinstance(needed, tuple):
        known, given = set(needed), set(found)
        missing, unexpected = (
            [name for name in needed if name not in given],
            [name for name in found if name not in known],
        )
        parts = {"missing": missing, "unexpected": unexpected}
        details = "; ".join(f"{part}: {listed(names)}" for part, names in parts.items() if names)
        if found == needed:
            return
    elif count == needed_count:
        return
    problem = (
        f"has other column names than {reference}" if details else f"has the columns of {reference} in another order"
    )
    if count != needed_count:
        problem = f"has {counted(count, 'feature')} but {reference} has {needed_count}"
    raise error(f"{table} {problem}{f' ({details})' if details else ''}; {need}")
