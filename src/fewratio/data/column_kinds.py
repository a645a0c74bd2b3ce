"""The values of one column: as pyarrow has them, as numbers, or as texts that each have a number."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.wording import counted, first_few
from fewratio.data import arrow as pa
from fewratio.errors import InputError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

# The kinds of columns; any other is named after its type.
NUMBER, BOOLEAN, TEXT, CATEGORY, DATE, MISSING = "number", "boolean", "text", "category", "date", "nothing"
PLURALS = {NUMBER: "numbers", BOOLEAN: "booleans", CATEGORY: "categories", DATE: "dates"}
# pandas' two marks of a missing value are known by name, so that pandas need not be imported to recognise them.
_MISSING_TYPES = {"NoneType", "NAType", "NaTType"}
_LONGEST_CELL = 40
_DAY_SECONDS = 86_400
_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?")
# How people write numbers and dates that no program reads without being told.
_FORMATTED = {
    "decimal commas": re.compile(r"[-+]?\d*,?\d+(?:[eE][-+]?\d+)?"),
    "numbers with separators, signs or units": re.compile(
        r"[-+]?[$€£]?\s?\d{1,3}(?:[,' ]?\d{3})*(?:\.\d+)?\s?[%$€£]"
        r"|[-+]?[$€£]\s?\d[\d,' ]*(?:\.\d+)?|[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?"
    ),
    "dates with the day or month first": re.compile(r"\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})(?:[ T].*)?"),
}


class ColumnValues(NamedTuple):
    """One column of one table.

    Attributes
    ----------
    kind : str
        One of the kinds in this module, or the column's type if it is another.
    numbers : ndarray of shape (n,)
        Of numbers, booleans (0 and 1) and dates (days since 1970); NaN for what is missing.
    codes : ndarray of shape (n,)
        Of text and categories: the number of each row's text; -1 for what is missing.
    texts : list of str
        The distinct texts.
    """

    kind: str
    numbers: NDArray[Any] = np.empty(0)
    codes: NDArray[np.intp] = np.empty(0, dtype=np.intp)
    texts: Sequence[str] = ()

    def first_text(self, places: Sequence[int] | None = None) -> str:
        """Return the first of some texts, by their numbers, and its row; by default of those that are no numbers."""
        if places is None:
            others = [place for place, text in enumerate(self.texts) if not is_number(text)]
            places = others or range(len(self.texts))
        row = int(np.isin(self.codes, places).argmax())
        text = self.texts[self.codes[row]]
        return f"{text[:_LONGEST_CELL]!r}{'...' * (len(text) > _LONGEST_CELL)} at row {row}"


def is_missing(value: object) -> bool:
    """Tell whether a Python object marks a missing value."""
    return type(value).__name__ in _MISSING_TYPES or (isinstance(value, float) and value != value)


def as_arrow(column: nw.Series[Any] | list[Any], argument: str) -> pa.ChunkedArray:
    """Return a column of a frame, or a list of Python objects, as pyarrow's."""
    try:
        if isinstance(column, list):
            array = pa.array([None if is_missing(value) else value for value in column])
        else:
            array = column.to_native()
            if str(getattr(array, "dtype", "")).startswith("period"):
                array = pa.array(array.dt.to_timestamp())
            elif not isinstance(array, pa.ChunkedArray):
                array = column.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError):
        array = _mixed_array(column if isinstance(column, list) else column.to_list(), argument)
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _mixed_array(values: list[Any], argument: str) -> pa.Array:
    """Return Python objects for which pyarrow has no type as numbers, as text, or as nothing but the name of a type."""
    types = dict.fromkeys(type(value) for value in values if type(value).__name__ not in _MISSING_TYPES)
    # NumPy's timedelta64 calls itself an integer.
    other = [
        kind for kind in types if not issubclass(kind, Real | Decimal | np.bool_) or issubclass(kind, np.timedelta64)
    ]
    if any(issubclass(kind, str | bytes) for kind in other):
        # Half of a character, which Python can hold, is no text to pyarrow.
        texts = [None if is_missing(value) else str(value).encode(errors="replace").decode() for value in values]
        return pa.array(texts, pa.large_string())
    if other:
        return pa.nulls(len(values), pa.opaque(pa.null(), other[0].__name__, "python"))
    try:
        # Not astype(float), which reads the text "1" as a number.
        return pa.array(np.array([np.nan if is_missing(value) else value for value in values], dtype=np.float64))
    except (OverflowError, TypeError, ValueError) as error:
        found = f"{argument} holds a number that does not fit a 64-bit float ({error})"
        raise InputError(f"{found}; every value must be finite. Rescale the column first.") from error


def read_values(column: pa.ChunkedArray) -> ColumnValues:
    """Return what a column of pyarrow holds."""
    kind = column.type
    if is_number_type(kind) or kind == pa.bool_():
        return ColumnValues(BOOLEAN if kind == pa.bool_() else NUMBER, arrow_numbers(column))
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return ColumnValues(DATE, _days(column))
    is_category = pa.types.is_dictionary(kind)
    if is_category:
        column = column.cast(kind.value_type)
    elif isinstance(kind, pa.OpaqueType):
        return ColumnValues(f"type {kind.type_name}")
    elif str(kind) not in ("null", "string", "large_string", "string_view"):
        return ColumnValues("nested values" if pa.types.is_nested(kind) else f"type {str(kind).removeprefix('large_')}")
    # In the order in which texts first appear, without categories that are declared but not there.
    coded = column.cast(pa.large_string(), safe=False).combine_chunks().dictionary_encode()
    codes: NDArray[Any] = np.from_dlpack(coded.indices.cast(pa.int64()).fill_null(-1))
    if not len(coded.dictionary):
        return ColumnValues(MISSING, np.full(len(codes), np.nan), codes)
    return ColumnValues(CATEGORY if is_category else TEXT, codes=codes, texts=coded.dictionary.to_pylist())


def is_number_type(kind: pa.DataType) -> bool:
    """Tell whether a type of pyarrow is one of numbers."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def arrow_numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return numbers of pyarrow, NaN for what is missing; its own conversion would import pandas if it is installed."""
    kind = column.type if column.type == pa.float32() else pa.float64()
    return np.from_dlpack(column.cast(kind, safe=False).fill_null(np.nan).combine_chunks())


def _days(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return dates and times as days since 1970, times of the day and durations as days."""
    kind = column.type
    whole = column.cast(pa.int32()) if kind.bit_width == 32 else column
    if kind == pa.date32():
        return arrow_numbers(whole)
    unit = "ms" if kind == pa.date64() else kind.unit
    return arrow_numbers(whole.cast(pa.int64())) / (_UNITS_PER_SECOND[unit] * _DAY_SECONDS)


def read_days(text: str) -> float | None:
    """Return an ISO date as days since 1970 (UTC where it names no zone), or None if it is no such date."""
    if not _ISO_DATE.fullmatch(text):
        return None
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or datetime.UTC).timestamp() / _DAY_SECONDS


def write_days(days: float) -> str:
    """Write days since 1970 as an ISO date, with the time unless it is midnight."""
    text = str(np.datetime64(round(days * _DAY_SECONDS), "s"))
    return text.removesuffix("T00:00:00").replace("T", " ")


def as_numbers(values: ColumnValues, kind: str, argument: str) -> NDArray[Any]:
    """Return a column of numbers, booleans or dates as finite numbers, NaN for what is missing."""
    numbers = values.numbers
    if values.kind in (TEXT, CATEGORY):
        read = [read_days(text) if kind == DATE else _number_of_text(text) for text in values.texts]
        if None in read:
            wrong = [code for code, number in enumerate(read) if number is None]
            found = f"{argument} holds {values.first_text(wrong)} (counting from 0), which is no {kind}"
            raise InputError(f"{found}; all its values must be {PLURALS[kind]}. Correct it or drop the column.")
        numbers = np.array([*read, np.nan], dtype=np.float64)[values.codes]
    elif values.kind not in ((MISSING, DATE) if kind == DATE else (MISSING, NUMBER, BOOLEAN)):
        held = PLURALS.get(values.kind, values.kind)
        raise InputError(f"{argument} holds {held}, but {PLURALS[kind]} are needed. Pass those.")
    infinite = np.isinf(numbers)
    if infinite.any():
        n_infinite, row = counted(int(infinite.sum()), "infinite value"), int(infinite.argmax())
        found = f"{argument} has {n_infinite}, the first at row {row} (counting from 0)"
        raise InputError(f"{found}; every value must be finite, or missing. Correct those rows or drop the column.")
    return numbers


def _number_of_text(text: str) -> float | None:
    return float(text) if is_number(text) else None


def as_categories(values: ColumnValues, argument: str) -> ColumnValues:
    """Return a column of any kind as texts, in the order in which they first appear."""
    if values.kind in (TEXT, CATEGORY):
        return values
    if values.kind not in (*PLURALS, MISSING):
        found = f"{argument} holds {values.kind}"
        raise InputError(f"{found}; categories and names are text, numbers or dates. Choose another column.")
    write = {DATE: write_days, BOOLEAN: lambda value: str(bool(value))}.get(values.kind, _as_written)
    numbers = values.numbers.tolist()
    written = {number: write(number) for number in dict.fromkeys(numbers) if number == number}
    code = {text: place for place, text in enumerate(dict.fromkeys(written.values()))}
    codes = np.array([code[written[number]] if number in written else -1 for number in numbers], dtype=np.intp)
    return ColumnValues(CATEGORY, codes=codes, texts=list(code))


def _as_written(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(number)


def check_numbers(argument: str, columns: Sequence[tuple[object, ColumnValues]]) -> None:
    """Raise unless all columns (label, values) hold numbers or booleans."""
    bad = [(label, values) for label, values in columns if values.kind not in (NUMBER, BOOLEAN, MISSING)]
    if not bad:
        return
    found = first_few(f"column {label!r} ({PLURALS.get(values.kind, values.kind)})" for label, values in bad)
    label, values = bad[0]
    if values.kind == TEXT:
        found += f", such as {values.first_text()} of column {label!r} (counting from 0)"
    what = f"{argument} has {counted(len(bad), 'column')} that cannot be used: {found}"
    raise InputError(f"{what}; every column must hold real numbers. Encode such columns as numbers or drop them.")


def check_not_almost_numbers(values: ColumnValues, argument: str) -> None:
    """Raise if what seems to be text are numbers but for some cells, or numbers or dates in another form."""
    found = values.texts
    n_numbers = sum(map(is_number, found))
    for form, pattern in _FORMATTED.items():
        if n_numbers < len(found) and all(pattern.fullmatch(text) or is_number(text) for text in found):
            what = f"{argument} looks like {form} (such as {values.first_text()}, counting from 0)"
            advice = 'Convert it (decimal="," reads decimal commas), drop the column, or name it in categorical='
            raise InputError(f"{what}; numbers are written as 1366.8 and dates as 2024-01-31. {advice}.")
    if len(found) > n_numbers > len(found) / 2:
        what = f"{argument} holds text, but {n_numbers} of its {len(found)} different values are numbers"
        other = f"the first that is none is {values.first_text()} (counting from 0)"
        advice = "Correct or drop those rows, or name the column in categorical="
        raise InputError(f"{what}, and {other}; a column must hold numbers or categories. {advice}.")


def is_number(text: str) -> bool:
    """Tell whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_value(kind: str, value: float, digits: int = 4) -> str:
    """Write a value of a column of numbers, booleans or dates as a user would; a date of few digits has no time."""
    if kind == DATE:
        return write_days(value).partition(" ")[0] if digits == 4 else write_days(value)
    if kind == BOOLEAN:
        return str(bool(value))
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
