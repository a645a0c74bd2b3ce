"""The kinds of columns: their types, how their values are read, and how they are encoded.

===========  =======================================  ==========================================================
kind         types                                    encoding of the column
===========  =======================================  ==========================================================
number       integers, floats, decimals               itself; the median where a value is missing
boolean      booleans                                 0 and 1
date         dates with or without a time             days since 1970
duration     differences of times                     seconds
time of day  times without a date                     sine and cosine, so that midnight is no jump
category     categories (dictionaries of text)        zeros and ones, a feature for each frequent category
text         strings                                  dates, times, durations or numbers if all are, else free text,
                                                      an id or categories
free text    strings of four words or more            the number of words, and the directions in which texts differ
vector       lists of as many numbers                 the directions in which they differ
nothing      nulls                                    left out
===========  =======================================  ==========================================================

Columns of other types are left out. To change the kind of a type, edit `read_values`; to change the encoding of a kind,
edit `decide_column` and `Column` in `fewratio.data.columns`.
"""

from __future__ import annotations

import datetime
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from fewratio.core.wording import write_count, write_list
from fewratio.data import arrow as pa
from fewratio.data.free_text import count_words
from fewratio.data.written_forms import advise, are_measured, find_alike, find_forms
from fewratio.errors import InputError, name_parameter, warn
from fewratio.lazy import import_home

if TYPE_CHECKING:
    pass

NUMBER, BOOLEAN, TEXT, CATEGORY, DATE, MISSING = "number", "boolean", "text", "category", "date", "nothing"
DURATION, TIME, FREE, VECTOR = "duration", "time of day", "free text", "vector"
PLURALS = {NUMBER: "numbers", BOOLEAN: "booleans", CATEGORY: "categories", DATE: "dates"}
PLURALS |= {DURATION: "durations", TIME: "times of day", FREE: "free texts", VECTOR: "vectors"}
# The missing values of pandas are recognised by name, so that pandas need not be imported.
_MISSING_TYPES = {"NoneType", "NAType", "NaTType"}
_LONGEST_CELL = 40
# Floats represent all whole numbers up to this one.
EXACT = 2**53
DAY_SECONDS = 86_400
_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?")
# Other unambiguous forms of dates: the year first, or the month as a word.
_DATE_FORMS = [
    re.compile(form + r"(?:(?:T|,? )(?P<time>\d.+))?")
    for form in (
        r"(?P<year>\d{4})([-/. ])(?P<month>\d\d?|[A-Za-z]{3,9})\2(?P<day>\d\d?)",
        r"(?P<day>\d\d?)([-/. ])(?P<month>[A-Za-z]{3,9})\2(?P<year>\d{4})",
        r"(?P<month>[A-Za-z]{3,9})\.? (?P<day>\d\d?),? (?P<year>\d{4})",
    )
]
_MONTHS = ["january", "february", "march", "april", "may", "june"]
_MONTHS += ["july", "august", "september", "october", "november", "december"]
_NAMED_ZONE = re.compile(r".{10}.*\d(?:Z|[+-]\d{2}(?::?\d{2})?)")
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?: ?([aApP])\.?[mM]\.?)?")
_SHORT_TIME = re.compile(r"(?:\d|1[0-2]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?")
# Durations as pandas writes them, in text and in JSON (ISO 8601), and as people do: 2h 5min.
_DURATIONS = [
    re.compile(form)
    for form in (
        r"(-?\d+) days?(?:,? \+?(\d\d?):([0-5]\d):([0-5]\d(?:\.\d+)?))?",
        r"P(?=.)(?:(-?\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?",
        r"(?=.*(?:h|min))(?:(\d+) ?d )?(?:(\d+) ?h)?(?: ?(\d+) ?m(?:in)?)?(?: ?(\d+(?:\.\d+)?) ?s)?",
    )
]
# The seconds of each unit of durations; a unit is used for durations of at least two of it.
_DURATION_UNITS = {"years": 365.25 * DAY_SECONDS, "days": DAY_SECONDS, "h": 3600, "min": 60}
# Digits of which some begin with zeros are codes, such as those of postal districts.
_DIGITS, _PADDED, _INTEGER = re.compile(r"\d+"), re.compile(r"0\d+"), re.compile(r"[-+]?\d+")
_CODE = re.compile(r"(?=.*\d)[\w-]+")
_MAY_BE_READ = re.compile(r"\d|nan|inf", re.IGNORECASE)
# A point before three digits, which may divide thousands.
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}\.\d{3}")


class ColumnValues(NamedTuple):
    """The values of one column of one table.

    Attributes
    ----------
    table : str
        Name of the table in messages.
    label : str or int
        The name of the column, or its number.
    kind : str
        One of the kinds of this module, or the type of the column for other types.
    numbers : ndarray of shape (n,)
        Values of numbers, booleans (0 and 1), dates (days since 1970), durations (seconds) and times of day (hours);
        NaN if missing. For vectors, the shape is (n, n_numbers).
    codes : ndarray of shape (n,)
        For text, categories and whole numbers beyond 2**53, the number of the text in each row; -1 if missing.
    texts : list of str
        The distinct texts.
    zone : str or None
        The time zone in the type of dates.
    """

    table: str
    label: str | int
    kind: str
    numbers: NDArray[Any] = np.empty(0)
    codes: NDArray[np.intp] = np.empty(0, dtype=np.intp)
    texts: Sequence[str] = ()
    zone: str | None = None

    @property
    def name(self) -> str:
        """Name of the column in messages."""
        return f"column {self.label!r} of {self.table}"

    def find_text(self, places: Sequence[int] | None = None) -> str:
        """Return the first of some texts, given their numbers, and its row; by default the first that is no number."""
        if places is None:
            others = [place for place, text in enumerate(self.texts) if not is_number(text)]
            places = others or range(len(self.texts))
        row = int(np.isin(self.codes, places).argmax())
        text = self.texts[self.codes[row]]
        return f"{text[:_LONGEST_CELL]!r}{'...' * (len(text) > _LONGEST_CELL)} at row {row}"

    def to_numbers(self, kind: str) -> NDArray[Any]:
        """Return the values as finite numbers of a kind; NaN if missing."""
        numbers = self.numbers
        if kind == FREE and self.kind in (TEXT, CATEGORY):
            return np.append(count_words(self.texts), np.nan)[self.codes]
        if self.kind in (TEXT, CATEGORY):
            numbers = self._read_texts(kind)
        elif self.kind not in (
            (MISSING, kind) if kind in (DATE, TIME, DURATION, FREE, VECTOR) else (MISSING, NUMBER, BOOLEAN)
        ):
            held = PLURALS.get(self.kind, self.kind)
            raise InputError(f"{self.name} holds {held}, but {PLURALS[kind]} are needed. Pass those.")
        gaps = np.isnan(numbers) if kind == VECTOR and numbers.ndim > 1 else np.zeros((1, 1), dtype=np.bool_)
        if (partly := gaps.any(1) & ~gaps.all(1)).any():
            found = f"{self.name} has a vector with missing numbers at row {int(partly.argmax())} (counting from 0)"
            raise InputError(f"{found}; expected all numbers or none. Fill or empty the vector, or drop the column.")
        infinite = np.isinf(numbers)
        if infinite.any():
            n_infinite, row = write_count(int(infinite.sum()), "infinite value"), int(np.nonzero(infinite)[0][0])
            found = f"{self.name} has {n_infinite}, the first at row {row} (counting from 0)"
            raise InputError(f"{found}; every value must be finite, or missing. Correct those rows or drop the column.")
        return numbers

    def _read_texts(self, kind: str) -> NDArray[Any]:
        read = list(map(READERS[kind], self.texts))
        if kind == NUMBER and None not in (truths := list(map(_read_boolean, self.texts))):
            # Read them like typed booleans.
            read = truths
        if None in read:
            wrong = [code for code, number in enumerate(read) if number is None]
            found = f"{self.name} holds {self.find_text(wrong)} (counting from 0), which is not a {kind}"
            raise InputError(f"{found}; all its values must be {PLURALS[kind]}. Correct it or drop the column.")
        return np.array([*read, np.nan], dtype=np.float64)[self.codes]

    def keep_readable(self, kind: str) -> ColumnValues:
        """Return the finite numbers of a kind, such as those of texts that can be read; all other cells are missing."""
        numbers = np.full(len(self.codes) or len(self.numbers), np.nan)
        if self.kind in (TEXT, CATEGORY) and kind in READERS:
            read = [READERS[kind](text) for text in self.texts]
            numbers = np.array([*(np.nan if each is None else each for each in read), np.nan])[self.codes]
        elif self.kind == NUMBER and kind in (NUMBER, BOOLEAN):
            numbers = self.numbers
        numbers = np.where(np.isfinite(numbers), numbers, np.nan)
        return ColumnValues(self.table, self.label, kind if np.isfinite(numbers).any() else MISSING, numbers)

    def to_categories(self) -> ColumnValues:
        """Return values of any kind as texts, in the order in which they first appear."""
        if self.kind in (TEXT, CATEGORY):
            return self
        if self.kind == NUMBER and len(self.texts):
            return self._replace(kind=CATEGORY)
        if self.kind not in (*PLURALS, MISSING) or self.kind == VECTOR:
            found = f"{self.name} holds {PLURALS.get(self.kind, self.kind)}"
            raise InputError(f"{found}; categories and names are text, numbers or dates. Choose another column.")
        numbers = self.numbers.tolist()
        written = {number: self._write(number) for number in dict.fromkeys(numbers) if number == number}
        code = {text: place for place, text in enumerate(dict.fromkeys(written.values()))}
        codes = np.array([code[written[number]] if number in written else -1 for number in numbers], dtype=np.intp)
        return self._replace(kind=CATEGORY, codes=codes, texts=list(code))

    def to_levels(self) -> ColumnValues:
        """Return values of any kind as texts, with one text per value: "1.0" and "1" are the same."""
        coded = self.to_categories()
        texts = list(map(_write_level, coded.texts))
        code = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        codes = np.array([*(code[text] for text in texts), -1], dtype=np.intp)[coded.codes]
        return coded._replace(codes=codes, texts=list(code))

    def _write(self, number: float) -> str:
        if self.kind == DATE:
            return write_days(number, self.zone)
        if self.kind in WRITERS:
            return WRITERS[self.kind](number, 12)
        if self.kind == BOOLEAN:
            return str(bool(number))
        return str(int(number)) if float(number).is_integer() else repr(float(number))

    def drop_gaps(self) -> ColumnValues:
        """Strip text, and treat words for missing values as missing, as in text files; keep other values."""
        if self.kind != TEXT:
            return self
        words = {*pa.csv.ConvertOptions().null_values}
        gaps = {text for text in self.texts if text in words or text.isspace()}
        if not gaps:
            return self
        texts = [text for text in self.texts if text not in gaps]
        code = {text: place for place, text in enumerate(texts)}
        codes = np.array([*(code.get(text, -1) for text in self.texts), -1], dtype=np.intp)[self.codes]
        empty = self._replace(kind=MISSING, numbers=np.full(len(codes), np.nan))
        return (self if texts else empty)._replace(codes=codes, texts=texts)

    def as_read(self) -> ColumnValues:
        """Convert text to the kind that all of it can be read as, as in text files; keep other values."""
        if self.kind != TEXT or self.is_padded:
            return self
        kind = next((kind for kind, read in READERS.items() if None not in map(read, self.texts)), TEXT)
        if kind == TEXT:
            return self
        read = self._replace(kind=kind, numbers=self._read_texts(kind))
        if kind == NUMBER and all(map(_INTEGER.fullmatch, self.texts)) and np.nanmax(abs(read.numbers)) > EXACT:
            return read
        zone = "UTC" if kind == DATE and any(map(_NAMED_ZONE.fullmatch, self.texts)) else None
        return read._replace(codes=self.codes[:0], texts=(), zone=zone)

    @property
    def is_padded(self) -> bool:
        """Whether all texts are digits, and some begin with zeros: codes, such as those of postal districts."""
        return all(map(_DIGITS.fullmatch, self.texts)) and any(map(_PADDED.fullmatch, self.texts))


def read_values(column: pa.ChunkedArray, table: str, label: str | int) -> ColumnValues:
    """Return the values of a pyarrow column, whose type determines the kind."""
    kind = column.type
    if is_number_type(kind):
        values = ColumnValues(table, label, NUMBER, arrow_numbers(column))
        return values._replace(**_encode_texts(column)) if is_wide(column) else values
    if kind == pa.bool_():
        return ColumnValues(table, label, BOOLEAN, arrow_numbers(column))
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        seconds, is_time = _read_arrow_seconds(column), pa.types.is_time(kind)
        return ColumnValues(table, label, TIME if is_time else DURATION, seconds / 3600 if is_time else seconds)
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return ColumnValues(
            table, label, DATE, _read_arrow_seconds(column) / DAY_SECONDS, zone=getattr(kind, "tz", None)
        )
    is_category = pa.types.is_dictionary(kind)
    if is_category:
        text = pa.large_string()
        # Arrow casts no dictionaries of string views, as polars writes them.
        chunks = [chunk.dictionary.cast(text, safe=False).take(chunk.indices) for chunk in column.chunks]
        column = pa.chunked_array(chunks, text)
    elif isinstance(kind, pa.OpaqueType):
        unsupported = ": Complex data not supported" if kind.type_name.startswith("complex") else ""
        return ColumnValues(table, label, f"type {kind.type_name}{unsupported}")
    elif str(kind) not in ("null", "string", "large_string", "string_view"):
        if hasattr(kind, "value_type") and is_number_type(kind.value_type):
            return _read_vectors(column, ColumnValues(table, label, VECTOR))
        nested = pa.types.is_nested(kind)
        return ColumnValues(table, label, "nested values" if nested else f"type {str(kind).removeprefix('large_')}")
    coded = _encode_texts(column)
    if not coded["texts"]:
        return ColumnValues(table, label, MISSING, np.full(len(coded["codes"]), np.nan), coded["codes"])
    return ColumnValues(table, label, CATEGORY if is_category else TEXT, **coded)


def _read_vectors(column: pa.ChunkedArray, values: ColumnValues) -> ColumnValues:
    """Add lists of numbers to what is known of a column; a missing vector has only missing numbers."""
    column = column.combine_chunks()
    lengths = arrow_numbers(pa.chunked_array([pa.compute.list_value_length(column)]))
    known = np.unique(lengths[lengths >= 0]).astype(int).tolist()
    if not any(known):
        return values._replace(kind=MISSING, numbers=np.full(len(lengths), np.nan), codes=np.full(len(lengths), -1))
    if len(known) > 1:
        return values._replace(kind=f"lists of {known[0]} to {known[-1]} numbers")
    numbers = np.full((len(lengths), known[0]), np.nan)
    held = arrow_numbers(pa.chunked_array([column.drop_null().flatten()]))
    numbers[lengths > 0] = held.reshape(-1, known[0])
    return values._replace(numbers=numbers)


def _encode_texts(column: pa.ChunkedArray) -> dict[str, Any]:
    """Return codes and texts of a column, in the order in which they first appear, without what is only declared."""
    coded = column.cast(pa.large_string(), safe=False).combine_chunks().dictionary_encode()
    codes = np.from_dlpack(_fill_missing(coded.indices.cast(pa.int64()), -1))
    return {"codes": codes, "texts": coded.dictionary.to_pylist()}


def is_wide(column: pa.ChunkedArray) -> bool:
    """Return whether a column has whole numbers that floats may not distinguish from their neighbours."""
    if not pa.types.is_integer(column.type) or column.type.bit_width < 64:
        return False
    return any(abs(end or 0) > EXACT for end in pa.compute.min_max(column).as_py().values())


def shift_wide(columns: Sequence[ColumnValues]) -> list[NDArray[Any]]:
    """Return the numbers of a column of several tables; wide ones less the smallest of them, which is exact."""
    origin = min((int(text) for values in columns for text in values.texts), default=0)
    return [
        np.array([*(float(int(text) - origin) for text in values.texts), np.nan])[values.codes]
        if len(values.texts)
        else values.numbers
        for values in columns
    ]


def check_exact(columns: Sequence[ColumnValues]) -> None:
    """Raise if different whole numbers of a column of several tables are the same float."""
    texts = {text: values for values in columns if values.kind == NUMBER for text in values.texts}
    merged = {float(text): text for text in texts}
    if len(merged) < len(texts):
        text = next(text for text in texts if text not in merged.values())
        found = f"{texts[text].name} holds {text} besides {merged[float(text)]}, which are the same 64-bit float"
        advice = f"Subtract {min(map(int, texts))} from the column in all tables, or name it in"
        ways = " or ".join(name_parameter(name, "") for name in ("categorical", "drop"))
        raise InputError(f"{found}; different numbers must stay different. {advice} {ways}.")


def is_number_type(kind: pa.DataType) -> bool:
    """Return whether a type of pyarrow is one of numbers."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_missing(value: object) -> bool:
    """Return whether a Python object marks a missing value."""
    return type(value).__name__ in _MISSING_TYPES or (isinstance(value, float) and value != value)


def is_number(text: str) -> bool:
    """Return whether a text reads as a number."""
    return _read_number(text) is not None


def _read_number(text: str) -> float | None:
    try:
        # Python reads 1_2 as 12, and neither the minus of typographers nor, unlike pyarrow, 0x1F.
        is_hex = text[:2] in ("0x", "0X")
        return None if "_" in text else float(int(text, 16) if is_hex else text.replace("\u2212", "-"))
    except ValueError:
        return None


def _read_boolean(text: str) -> float | None:
    # As pyarrow reads text files.
    return {"true": 1.0, "false": 0.0}.get(text.lower()) if text in (text.lower(), text.title(), text.upper()) else None


@lru_cache(2**16)
def _write_level(text: str) -> str:
    """Write a number, boolean, date or time in one way; codes and what a float may not hold stay as they are."""
    if len(text) > _LONGEST_CELL or _PADDED.fullmatch(text) or not (text[:1] in "tTfF" or _MAY_BE_READ.search(text)):
        return text
    for kind, read in READERS.items():
        if (number := read(text)) is not None:
            zone = "UTC" if kind == DATE and _NAMED_ZONE.fullmatch(text) else None
            # What is not a number is not below it either.
            return ColumnValues("", "", kind, zone=zone)._write(number) if abs(number) <= EXACT else text
    return text


def read_moment(text: str) -> datetime.datetime | None:
    """Return a date, with or without a time, in a form that can be read in one way only; None for other texts.

    Examples
    --------
    >>> [str(read_moment(text)) for text in ("2012-01-31T14:05", "2012/1/31", "31-Jan-2012", "Jan 31, 2012 2:05 PM")]
    ['2012-01-31 14:05:00', '2012-01-31 00:00:00', '2012-01-31 00:00:00', '2012-01-31 14:05:00']
    >>> read_moment("01/02/2012") is None
    True
    """
    try:
        if _ISO_DATE.fullmatch(text):
            return datetime.datetime.fromisoformat(text)
    except ValueError:
        # A time such as 12:00 AM.
        pass
    found = next(filter(None, (form.fullmatch(text) for form in _DATE_FORMS)), None)
    if found is None:
        return None
    names = [place for place, name in enumerate(_MONTHS, 1) if name.startswith(found["month"].lower())]
    month, time = names[0] if names else found["month"], found["time"] or "0:00"
    hours = _read_time(time)
    try:
        day = datetime.datetime(int(found["year"]), int(month), int(found["day"]))
        if hours is None:
            return datetime.datetime.fromisoformat(f"{day.date()} {time}")
    except ValueError:
        return None
    return day + datetime.timedelta(hours=hours)


def read_days(text: str) -> float | None:
    """Return a date as days since 1970 (UTC where it names no zone), or None if it is none."""
    moment = read_moment(text)
    return None if moment is None else moment.replace(tzinfo=moment.tzinfo or datetime.UTC).timestamp() / DAY_SECONDS


def write_days(days: float, zone: str | None = None) -> str:
    """Write days since 1970 as an ISO date, with the time unless it is midnight; a time in a zone with its offset.

    Examples
    --------
    >>> write_days(19900.5), write_days(19900.5, "Europe/Berlin"), write_days(19900)
    ('2024-06-26 12:00:00', '2024-06-26 14:00:00+02:00', '2024-06-26')
    """
    seconds = round(days * DAY_SECONDS)
    if zone is None:
        return str(np.datetime64(seconds, "s")).removesuffix("T00:00:00").replace("T", " ")
    try:
        moment = datetime.datetime.fromtimestamp(seconds, pa.lib.string_to_tzinfo(zone))
    except (OverflowError, OSError, ValueError):
        # Years that Python's calendar does not have, and zones that this system does not know.
        return f"{write_days(days)}+00:00"
    return str(moment.date()) if moment.time() == datetime.time.min else str(moment)


def write_time(hours: float, digits: int = 4) -> str:
    """Write hours since midnight as a time of day, with seconds if there are more than four digits and they are not 0.

    Examples
    --------
    >>> write_time(14.0875), write_time(14.0875, 6), write_time(-0.5)
    ('14:05', '14:05:15', '23:30')
    """
    seconds = round(hours * 3600) % DAY_SECONDS
    minutes = f"{seconds // 3600:02}:{seconds % 3600 // 60:02}"
    return f"{minutes}:{seconds % 60:02}" if digits > 4 and seconds % 60 else minutes


def write_duration(seconds: float, digits: int = 4) -> str:
    """Write a duration in a unit that it has two of or more, or in seconds.

    Examples
    --------
    >>> write_duration(90), write_duration(5400), write_duration(-10_800), write_duration(1.5e8)
    ('90 s', '90 min', '-3 h', '4.753 years')
    """
    unit, size = choose_duration_unit(seconds)
    return f"{seconds / size:.{digits}g} {unit}"


def choose_duration_unit(seconds: float) -> tuple[str, float]:
    """Return the largest unit that a duration has two of or more, and its seconds."""
    return next((each for each in _DURATION_UNITS.items() if abs(seconds) >= 2 * each[1]), ("s", 1))


def _read_time(text: str) -> float | None:
    """Return a time of day, such as 14:05 or 2:05 PM, in hours."""
    found = _TIME.fullmatch(text)
    if found is None or (found[4] and not 1 <= int(found[1]) <= 12):
        return None
    hour = int(found[1]) % 12 + 12 * (found[4] in "pP") if found[4] else int(found[1])
    return _add_seconds(hour, found[2], found[3]) / 3600


def _read_duration(text: str) -> float | None:
    """Return a duration, such as "2 days 01:30:00", "P2DT1H30M" or "1h 30min", in seconds."""
    found = next(filter(None, (form.fullmatch(text) for form in _DURATIONS)), None)
    if found is None:
        return None
    return _add_seconds(24 * int(found[1] or 0) + int(found[2] or 0), found[3], found[4])


def _add_seconds(hours: int, minutes: str | None, seconds: str | None) -> float:
    """Return a time in seconds, rounded once."""
    whole, _, fraction = (seconds or "0").partition(".")
    nanoseconds = int(fraction[:9].ljust(9, "0"))
    return (((60 * hours + int(minutes or 0)) * 60 + int(whole)) * 10**9 + nanoseconds) / 10**9


# How texts of a kind are read; None is returned for others.
READERS = {DATE: read_days, TIME: _read_time, DURATION: _read_duration, NUMBER: _read_number, BOOLEAN: _read_boolean}
# How numbers of a kind are written, with so many digits.
WRITERS = {TIME: write_time, DURATION: write_duration}


def find_zone(columns: Sequence[ColumnValues]) -> str | None:
    """Return the time zone in which to write dates of tables: theirs, UTC if they name several, None if none."""
    held = [values for values in columns if values.kind != MISSING]
    if len({values.zone is None for values in held}) > 1:
        zoned, naive = (next(each for each in held if (each.zone is None) == is_naive) for is_naive in (False, True))
        found = f"has a time zone in {zoned.table} but none in {naive.table}"
        warn_of_kinds(zoned.label, found, "the latter is read as UTC")
    return columns[0].zone if len({values.zone for values in columns}) == 1 else "UTC"


def unify_booleans(columns: Sequence[ColumnValues]) -> list[ColumnValues]:
    """Return the values of a column of several tables; booleans as numbers if other tables hold numbers."""
    read = [values.as_read() for values in columns]
    if not {values.kind for values in read} >= {BOOLEAN, NUMBER}:
        return list(columns)
    return [values._replace(kind=NUMBER) if values.kind == BOOLEAN else values for values in read]


def warn_of_booleans(columns: Sequence[ColumnValues]) -> None:
    """Warn of a column of booleans in some tables and of numbers in others."""
    first = {values.as_read().kind: values.table for values in reversed(columns)}
    if {BOOLEAN, NUMBER} <= first.keys():
        found = f"holds booleans in {first[BOOLEAN]} but numbers in {first[NUMBER]}"
        warn_of_kinds(columns[0].label, found, "True counts as 1 and False as 0")


def are_codes(columns: Sequence[ColumnValues]) -> bool:
    """Return whether digits with leading zeros in one table make the digits of all tables codes; warn if so."""
    padded = [values for values in columns if values.kind == TEXT and values.is_padded]
    if not padded or not all(map(_are_digits, columns)):
        return False
    label = str(columns[0].label)
    use = name_parameter("numeric", label, f"numeric={[label]!r}")
    found = f"has leading zeros, such as {next(filter(_PADDED.fullmatch, padded[0].texts))!r}"
    warn_of_kinds(columns[0].label, found, "it is read as text", f"{use} makes numbers of it")
    return True


def _are_digits(values: ColumnValues) -> bool:
    held = values.numbers[~np.isnan(values.numbers)]
    are_whole = values.kind in (NUMBER, MISSING) and bool(((held >= 0) & (held == np.floor(held))).all())
    return are_whole or (values.kind == TEXT and values.is_padded)


def check_texts(columns: Sequence[ColumnValues]) -> None:
    """Refuse texts of a column of several tables that are measured but cannot be read, and say what is assumed.

    A column is refused if most of its different texts are numbers, dates or times, but not all of one kind, or in a
    form that is not read, and they are not a few that repeat, as categories do.
    """
    texts = list(dict.fromkeys(text for values in columns for text in values.texts))
    held = [text for text in texts if len(text) <= _LONGEST_CELL and _MAY_BE_READ.search(text)]
    if 2 * len(held) <= len(texts):
        return
    kinds = {text: kind for text in held for kind, read in READERS.items() if read(text) is not None}
    forms = {text: form for text, form in find_forms(held).items() if text not in kinds}
    n_rows = sum(int((values.codes >= 0).sum()) for values in columns)
    others = [text for text in texts if text not in kinds]
    # Whole numbers beside X1 or 12A are codes, such as those of bus lines and house numbers.
    has_codes = bool(kinds) and all(map(_INTEGER.fullmatch, kinds)) and all(map(_CODE.fullmatch, others))
    is_measured = 2 * len(kinds | forms) > len(texts) and are_measured(kinds | forms, n_rows)
    if is_measured and (forms or not has_codes):
        _refuse_text(columns, {text: PLURALS[kind] for text, kind in kinds.items()}, forms, texts)
    alike = find_alike(texts, n_rows)
    if alike is not None or (is_measured and has_codes):
        found = f"differ in their numbers only, such as {alike!r}"
        found = found if alike is not None else f"are whole numbers, and others such as {others[0]!r}"
        ways = " or ".join(name_parameter(name, "") for name in ("categorical", "drop"))
        advice = f"If they are measured, write them as numbers; if not, name the column in {ways}"
        warn_of_kinds(columns[0].label, f"has texts that {found}", "they are read as names or categories", advice)


def warn_of_numbers(columns: Sequence[ColumnValues]) -> None:
    """Warn of texts of which every one is a number, and refuse points among them that may divide thousands."""
    label, texts = str(columns[0].label), [text for values in columns for text in values.texts]
    _check_points(columns, texts)
    use = name_parameter("categorical", label, f"categorical={[label]!r}")
    found = f"holds text in {columns[0].table}, of which every value is a number, such as {texts[0]!r}"
    warn_of_kinds(label, found, "it is read as numbers", f"For categories or names, choose {use}")


def warn_of_times(columns: Sequence[ColumnValues]) -> None:
    """Warn of texts that are times of day, but may be durations: 4:40 or 0:04:40 without a zero, none from 13:00 on."""
    texts = [text for values in columns for text in values.texts]
    if all(map(_SHORT_TIME.fullmatch, texts)) and any(text[1] == ":" for text in texts):
        parts = texts[0].split(":")
        units, written = (
            ("hours and minutes", ("min", "s")) if len(parts) == 2 else ("not as durations", ("h", "min", "s"))
        )
        found = f"has texts such as {texts[0]!r}, none from 13:00 on"
        advice = f"For durations, write {' '.join(f'{part}{unit}' for part, unit in zip(parts, written, strict=True))}"
        warn_of_kinds(columns[0].label, found, f"they are read as times of day, {units}", advice)


def _refuse_text(
    columns: Sequence[ColumnValues], read: dict[str, str], forms: dict[str, str], texts: Sequence[str]
) -> NoReturn:
    """Refuse a column of texts most of which are numbers, dates or times, by the kinds and forms of its texts."""
    main, n_main = Counter((read | forms).values()).most_common(1)[0]
    others = [text for text in texts if read.get(text) != main]
    way_out = f"or name the column in {name_parameter('categorical', '')} or {name_parameter('drop', '')}"
    if main in forms.values() or forms.keys() >= set(others):
        form = main if main in forms.values() else forms[others[0]]
        name, where = _find_first(columns, (text for text in texts if forms.get(text) == form))
        needed, advice = advise(form)
        raise InputError(f"{name} looks like {form} (such as {where}, counting from 0); {needed}. {advice}, {way_out}.")
    name, where = _find_first(columns, others)
    found = f"{name} holds text, but {n_main} of its {len(texts)} different values are {main}"
    found += f", and the first other value is {where} (counting from 0)"
    raise InputError(f"{found}; a column must hold values of one kind. Correct or empty such cells, {way_out}.")


def _check_points(columns: Sequence[ColumnValues], texts: Sequence[str]) -> None:
    """Raise if points within texts that are numbers may divide thousands."""
    pointed = [text for text in texts if "." in text]
    if pointed and all(map(_THOUSANDS.fullmatch, pointed)):
        name, where = _find_first(columns, pointed)
        found = f"{name} is text whose points all come before three digits (such as {where}, counting from 0)"
        use = name_parameter("numeric", str(columns[0].label), f"numeric={[columns[0].label]!r}")
        advice = f"Remove them if they divide thousands; {use} reads them as decimal points"
        raise InputError(f"{found}; a point must be a decimal mark. {advice}.")


def _find_first(columns: Sequence[ColumnValues], texts: Iterable[str]) -> tuple[str, str]:
    """Return what messages call the first column that holds one of some texts, and where that is."""
    wanted = set(texts)
    values = next(values for values in columns if not wanted.isdisjoint(values.texts))
    return values.name, values.find_text([place for place, text in enumerate(values.texts) if text in wanted])


def warn_of_kinds(
    label: str | int, found: str, assumed: str, advice: str = "Use the same type in both tables if that is wrong"
) -> None:
    """Warn of what was found in a column, what is assumed, and how to change that."""
    warn(f"Column {label!r} {found}; {assumed}. {advice}.")


def as_arrow(column: Any) -> pa.ChunkedArray:
    """Return a column of a frame, of categories or a list of objects as pyarrow's; raise if a number fits no float."""
    try:
        if isinstance(column, list):
            array = pa.array([None if is_missing(value) else value for value in column])
        else:
            array = column.to_native() if hasattr(column, "to_native") else column
            if str(getattr(array, "dtype", "")).startswith("period"):
                array = pa.array(array.dt.to_timestamp())
            elif str(getattr(array, "dtype", "")) == "category":
                # Numbers that a user made categories.
                array = pa.array(array)
                array = array.cast(array.type.value_type).cast(pa.large_string(), safe=False).dictionary_encode()
            elif not isinstance(array, pa.ChunkedArray):
                array = column.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError):
        array = _as_mixed_array(column if isinstance(column, list) else column.to_list())
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _as_mixed_array(values: list[Any]) -> pa.Array:
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
    if other and {kind.__name__ for kind in types} == {"Period"}:
        return pa.array([None if is_missing(value) else value.start_time for value in values])
    if other:
        return pa.nulls(len(values), pa.opaque(pa.null(), other[0].__name__, "python"))
    # Not astype(float), which reads the text "1" as a number.
    return pa.array(np.array([np.nan if is_missing(value) else value for value in values], dtype=np.float64))


def decode_numbers(table: pa.Table) -> pa.Table:
    """Return a table in which numbers and dates that are stored as dictionaries are plain ones, and periods dates.

    Writers do so to save space. What was a categorical of pandas, as its metadata says, stays one, of texts.
    """
    chosen = [
        each["name"] for each in _read_pandas(table.schema, "columns") if each.get("pandas_type") == "categorical"
    ]
    for place, field in enumerate(table.schema):
        kind = field.type
        if (frequency := _find_frequency(field)) is not None:
            table = table.set_column(place, field.name, _date_periods(table[place], frequency))
        if pa.types.is_dictionary(kind) and pa.types.is_primitive(kind.value_type):
            table = table.set_column(place, field.name, table[place].cast(kind.value_type))
        # Parquet does not keep dictionaries of numbers.
        if field.name in chosen and not pa.types.is_dictionary(table.schema.types[place]):
            column = table[place].cast(pa.large_string(), safe=False).dictionary_encode()
            table = table.set_column(place, field.name, column)
    return table


def _find_frequency(field: pa.Field) -> str | None:
    """Return the frequency of a column of pandas' periods; pyarrow knows their type once pandas is imported."""
    metadata = field.metadata or {}
    if getattr(field.type, "extension_name", metadata.get(b"ARROW:extension:name", b"").decode()) != "pandas.period":
        return None
    found = getattr(field.type, "freq", None)
    return found or json.loads(metadata[b"ARROW:extension:metadata"])["freq"]


def _date_periods(column: pa.ChunkedArray, frequency: str) -> pa.ChunkedArray:
    """Return the dates on which periods begin."""
    pandas = import_home("pandas", "Reading periods of pandas")
    numbers = pa.chunked_array([getattr(chunk, "storage", chunk) for chunk in column.chunks], pa.int64())
    dates = pandas.PeriodIndex.from_ordinals(numbers.fill_null(0).to_numpy(), freq=frequency)
    written = pa.array(dates.to_timestamp().to_numpy())
    return pa.chunked_array([pa.compute.if_else(numbers.is_valid().combine_chunks(), written, None)])


def find_index(schema: pa.Schema) -> list[str]:
    """Return the names of the columns that were the index of a frame of pandas, as its metadata says."""
    return [each for each in _read_pandas(schema, "index_columns") if isinstance(each, str) and each in schema.names]


def _read_pandas(schema: pa.Schema, key: str) -> list[Any]:
    try:
        found = (schema.pandas_metadata or {}).get(key, ())
        return [dict(each) if isinstance(each, dict) else str(each) for each in found]
    except (ValueError, TypeError, AttributeError):
        # Anything may stand in a file.
        return []


def arrow_numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return numbers of pyarrow, NaN for what is missing."""
    kind = column.type if column.type == pa.float32() else pa.float64()
    return np.from_dlpack(_fill_missing(column.cast(kind, safe=False), np.nan).combine_chunks())


def _fill_missing(column: Any, number: float) -> Any:
    """Put a number for what is missing, without pyarrow's own conversions: they import pandas where it is installed."""
    buffer = pa.py_buffer(np.array([number], column.type.to_pandas_dtype()))
    return column.fill_null(pa.Array.from_buffers(column.type, 1, [None, buffer])[0])


def _read_arrow_seconds(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return dates and times as seconds since 1970 or midnight, and durations as seconds, rounded once as of text."""
    kind = column.type
    if pa.types.is_date(kind):
        kind = pa.timestamp("s")
        column = column.cast(kind)
    elif pa.types.is_timestamp(kind) and kind.unit == "ns":
        # Microseconds are what a float can hold of a date.
        kind = pa.timestamp("us", kind.tz)
        column = column.cast(kind, safe=False)
    whole = column.cast(pa.int32()) if kind.bit_width == 32 else column
    return arrow_numbers(whole.cast(pa.int64())) / _UNITS_PER_SECOND[kind.unit]


def check_numbers(columns: Sequence[ColumnValues]) -> None:
    """Raise unless all columns of a table hold numbers or booleans."""
    bad = [values for values in columns if values.kind not in (NUMBER, BOOLEAN, MISSING)]
    if not bad:
        return
    found = write_list(f"column {values.label!r} ({PLURALS.get(values.kind, values.kind)})" for values in bad)
    if bad[0].kind == TEXT:
        found += f", such as {bad[0].find_text()} of column {bad[0].label!r} (counting from 0)"
    what = f"{bad[0].table} has {write_count(len(bad), 'column')} that cannot be used: {found}"
    raise InputError(f"{what}; every column must hold real numbers. Encode such columns as numbers or drop them.")
