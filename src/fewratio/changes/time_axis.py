"""Find the times of the rows of a series in columns or the index."""

import datetime
import re
from collections.abc import Callable, Collection, Sequence
from itertools import product, takewhile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats
from fewratio.core.wording import quote_list, write_count
from fewratio.data.column_kinds import (
    CATEGORY,
    DATE,
    DURATION,
    NUMBER,
    TEXT,
    TIME,
    ColumnValues,
    read_days,
    read_moment,
    write_days,
    write_time,
)
from fewratio.data.columns import ColumnOptions
from fewratio.data.raw_table import RawTable
from fewratio.errors import InputError, name_parameter, warn

# A column of numbers may be the time if its name consists of these words for a time or for the number of a row.
_CLOCK = re.compile("time|t|date|datetime|timestamp|ts|epoch|year|yr|quarter|month|week|day|hour|minute|second")
_COUNTER = re.compile("index|idx|unnamed|rows?|rownames?|obs|observation|step|tick|period|number|no|nr")
_UNIT = re.compile("s|ms|sec|seconds|min|minutes|h|hours|d|days|years|utc|unix|gmt|decimal|elapsed|of|in")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_]+")
# Parts of a date, and the names of columns that contain them.
_PARTS = {
    "year": {"year", "yr"},
    "quarter": {"quarter", "qtr"},
    "month": {"month", "mon", "monthname"},
    "week": {"week", "weekofyear", "weeknumber", "isoweek"},
    "day": {"day", "dayofmonth", "dom", "mday"},
    "weekday": {"weekday", "dayofweek", "dow", "wday", "day", "dayname"},
    "dayofyear": {"dayofyear", "doy", "yday"},
    "hour": {"hour", "hr", "hourofday"},
    "minute": {"minute"},
}
# Other ways to write quarters, months and weeks than 1992-01.
_NAME = (
    "(?P<name>jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?|"
    "dec(ember)?)"
)
_PERIODS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?P<year>\d{4})[- ]?Q(?P<quarter>[1-4])",
        r"Q(?P<quarter>[1-4])[-/ ]?(?P<year>\d{4})",
        r"(?P<year>\d{4})[- ]?M(?P<month>\d{1,2})",
        rf"{_NAME}[- ](?P<year>\d{{4}})",
        rf"(?P<year>\d{{4}})[- ]{_NAME}",
        r"(?P<year>\d{4})[- ]?W(?P<week>\d{1,2})",
    )
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
# Numbers that may be years; and how many rows to check first, so that a file is not read for every column.
_YEARS, _FIRST = (1500, 2300), 1000
_BOUNDS = {"year": _YEARS, "quarter": (1, 4), "month": (1, 12), "day": (1, 31), "hour": (0, 24), "minute": (0, 59)}
# At least this many numbers that rise evenly are not measurements.
_LEAST_EVEN = 10
# A gap is a step this many times longer than most, if at most this share of the steps are as long.
_GAP, _FEW_GAPS = 10, 0.05
# A larger share of rows at the time of the row before may mean several series in one table.
_FEW_REPEATED = 0.4


class Time(NamedTuple):
    """The times of rows.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows,)
        The moments as numbers; dates are days since 1970.
    names : sequence of str
        The moments as text, in the time zone of the user.
    is_date : bool
    columns : tuple of str
        The columns that contain the time; empty for an index.
    """

    numbers: Floats
    names: Sequence[str]
    is_date: bool
    columns: tuple[str, ...] = ()

    def take(self, rows: NDArray[np.intp]) -> "Time":
        """Return the moments of some rows."""
        names = self.names[rows] if isinstance(self.names, Names) else [self.names[row] for row in rows]
        return self._replace(numbers=self.numbers[rows], names=names)


class Names(Sequence[str]):
    """Names of rows by number, written on demand."""

    def __init__(self, numbers: Floats, write: Callable[[float], str]) -> None:
        self._numbers, self._write = numbers, write

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, row: Any) -> Any:
        numbers = self._numbers[row]
        return Names(numbers, self._write) if np.ndim(numbers) else self._write(float(numbers))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"{list(self[:3])}{'...' * (len(self) > 3)}"


def find_time(
    raw: RawTable, time: str | None, columns: ColumnOptions, only_dates: bool
) -> tuple[Time | None, RawTable, NDArray[np.intp] | None]:
    """Find the times of the rows, and return the sorted table without time columns and columns derived from them.

    Parameters
    ----------
    raw : RawTable
    time : str or None
        The time column; None to look for one.
    columns : ColumnOptions
        The user's column options; columns named there are not used as time.
    only_dates : bool
        If true, columns of numbers are always measurements.

    Returns
    -------
    (Time or None, RawTable, ndarray or None)
        The times, the table, and the original number of each row if rows were sorted.
    """
    spoken = _list_spoken(columns)
    free = [label for label in raw.labels if label not in spoken and label != time]
    if raw.is_named and free == list(raw.labels) and all(raw.values(label).as_read().kind == DATE for label in free):
        raise InputError(
            f"{raw.name} holds nothing but dates ({quote_list(free)}), but changes are looked for in measured values. "
            "Add a column of what was measured, or of how many rows each date has."
        )
    found = _find(raw, free, only_dates) if time is None else _read_column(raw, time)
    if found is None:
        _warn_of_near_times(raw, free)
        return None, raw, None
    free = [label for label in free if label not in found.columns]
    check_one_series(raw, found, free)
    order = np.argsort(found.numbers, kind="stable") if (np.diff(found.numbers) < 0).any() else None
    follows = _find_followers(raw, found, free) if raw.is_named or not only_dates else []
    kept = [label for label in raw.labels if label not in {*found.columns, *follows}]
    if not kept:
        kept, follows = [label for label in raw.labels if label not in found.columns], []
    if order is not None:
        found, raw = found.take(order), raw.take(order)
    _say(found, follows, time is None, order is not None)
    return found, raw.select(kept) if kept else raw.drop(found.columns), order


def _warn_of_near_times(raw: RawTable, free: Sequence[str]) -> None:
    """Warn of columns that would be the time if they had no repeated or missing values."""
    for label in free if raw.is_named else ():
        values = raw.values(label)
        if _rank(label) != 0 or values.kind not in (NUMBER, DATE):
            continue
        known = values.numbers[np.isfinite(values.numbers)]
        n_rows, n_times = len(values.numbers), len(np.unique(known))
        missing, repeated = n_rows - len(known), len(known) - n_times
        if 3 * n_times > 2 * n_rows and (missing or repeated):
            why = write_count(missing or repeated, f"{'missing' if missing else 'repeated'} value")
            choose = f"If it is the time, choose {name_parameter('time', label)}."
            warn(f"Column {label!r} is compared, not used as the time: it has {why}. {choose}")


def _say(found: Time, follows: Sequence[str], is_guess: bool, is_sorted: bool) -> None:
    """Warn about assumptions on the time, and about gaps in it."""
    columns, said = write_columns(found.columns), []
    guessed = found.columns if is_guess and (len(found.columns) > 1 or not found.is_date) else ()
    if guessed:
        verb = "is" if len(guessed) == 1 else "are"
        said.append(f"{columns} {verb} used as the time, and not compared.")
    if follows:
        verb = "follows from the time and is" if len(follows) == 1 else "follow from the time and are"
        said.append(f"{write_columns(follows)} {verb} not compared.")
    if is_guess and is_sorted:
        by = columns.replace("C", "c", 1) or "the index"
        it = "it" if len(found.columns) < 2 else "them"
        said.append(f"Rows are not in the order of {by}, and are sorted by {it}.")
    if keep := [*(found.columns if is_guess and is_sorted else guessed), *follows]:
        use = name_parameter("keep", ",".join(keep), f"keep={keep!r}")
        said.append(f"If that is wrong, choose {use} to compare {'it' if len(keep) == 1 else 'them'}.")
    steps = np.diff(found.numbers)
    gaps = steps > _GAP * np.median(steps) if len(steps) else np.zeros(0, bool)
    if len(steps) and (steps == 0).mean() > _FEW_REPEATED:
        by = name_parameter("by", "")
        said.append(f"Most times occur more than once. If the table holds several series, name their column with {by}.")
    if gaps.any() and gaps.mean() <= _FEW_GAPS and np.median(steps) > 0:
        row = int(steps.argmax())
        said.append(
            f"No rows come between {found.names[row]} and {found.names[row + 1]}; rows beside such a gap count as "
            "neighbours, and a change there may have happened at any time within it."
        )
    if said:
        warn(" ".join(said))


def write_columns(labels: Sequence[str]) -> str:
    """Name columns at the start of a sentence; "" for none."""
    return f"Column{'s' * (len(labels) > 1)} {quote_list(list(labels))}" if labels else ""


def _list_spoken(columns: ColumnOptions) -> set[str]:
    """List the columns that the user named."""
    spoken = {columns["id"]} if columns.get("id") else set()
    for name in ("columns", "drop", "keep", "categorical", "numeric"):
        labels: Any = columns.get(name) or ()
        spoken |= {labels} if isinstance(labels, str) else set(labels)
    return spoken


def _find(raw: RawTable, free: Sequence[str], only_dates: bool) -> Time | None:
    """Look for the time: dates in the index or one column, parts of a date, or numbers that rise."""
    head = next(raw.pieces(_FIRST))
    by_index = read_index(raw.index)
    if by_index is not None and by_index.is_date:
        return by_index
    if len(raw.labels) > 1:
        dates = [label for label in free if _are_dates(head, label) and _are_dates(raw, label)] if raw.is_named else []
        named = [label for label in dates if _rank(label) is not None]
        if len(dates) == 1 or len(named) == 1:
            found = _read_column(raw, (named or dates)[0])
            # A column with a missing date is not the time.
            return None if np.isnan(found.numbers).any() else found
        if not dates and not only_dates:
            numbers = [label for label in free if len(_read_numbers(head, label))]
            found_in = _find_parts(raw, numbers, free) or _find_numbers(raw, head, numbers, free)
            if found_in is not None:
                return found_in
    return by_index


def _find_numbers(raw: RawTable, head: RawTable, numbers: Sequence[str], free: Sequence[str]) -> Time | None:
    """Return a column whose name and numbers look like a time, or else one whose numbers rise evenly."""
    for label in sorted(numbers, key=lambda label: 2 if (rank := _rank(label)) is None else rank):
        rank = _rank(label) if raw.is_named else None
        if rank is None:
            is_time = is_even(_read_numbers(head, label)) and is_even(_read_numbers(raw, label))
        else:
            values = _read_numbers(raw, label)
            steps, ordered = np.diff(values), np.sort(values)
            is_unique = len(values) > 1 and bool((np.diff(ordered) > 0).all())
            is_time = is_unique and bool((steps > 0).all() or (steps < 0).all() or is_even(ordered))
            if rank == 0 and not is_unique and len(values):
                check_one_series(raw, _read_column(raw, label), [each for each in free if each != label])
        if is_time:
            return _read_column(raw, label)
    return None


def _find_parts(raw: RawTable, numbers: Sequence[str], free: Sequence[str]) -> Time | None:
    """Return dates whose years and months or quarters, perhaps days and hours, are in separate columns."""
    columns: dict[str, str] = {}
    for label, (part, names) in product(free if raw.is_named else (), _PARTS.items()):
        if _simplify(label) in names and (label in numbers or part == "month"):
            columns.setdefault(part, label)
    chain = ("year", "month", "day", "hour", "minute") if "month" in columns else ("year", "quarter")
    parts = list(takewhile(columns.__contains__, chain))
    if len(parts) < 2:
        return None
    held = {part: _read_part(raw.values(columns[part])) for part in parts}
    for part, values in held.items():
        least, most = _BOUNDS[part]
        if not ((values >= least) & (values <= most) & (values == np.floor(values))).all():
            return None
    months = 12 * (held["year"] - 1970) + (3 * held["quarter"] - 3 if "quarter" in held else held["month"] - 1)
    days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.float64) + held.get("day", 1) - 1
    days += held.get("hour", 0) / 24 + held.get("minute", 0) / 1440
    return Time(days, Names(days, write_days), True, tuple(columns[part] for part in parts))


def _find_followers(raw: RawTable, found: Time, free: Sequence[str]) -> list[str]:
    """List columns that only repeat the time: parts of dates, and numbers that rise evenly."""
    head, follows = next(raw.pieces(_FIRST)), []
    parts: dict[str, NDArray[Any]] | None = None
    for label in free:
        name = _simplify(label)
        if raw.is_named and any(name in names for names in _PARTS.values()):
            parts = _split_dates(found) if parts is None else parts
            codes = raw.values(label).to_categories().codes
            if any(name in _PARTS[part] and _is_same(codes, values) for part, values in parts.items()):
                follows.append(label)
                continue
        if is_even(_read_numbers(head, label)) and is_even(_read_numbers(raw, label)):
            follows.append(label)
    return follows


def _is_same(codes: NDArray[Any], values: NDArray[Any]) -> bool:
    """Return whether two columns group the rows in the same way, even if their values differ."""
    pairs = np.unique(np.column_stack([codes, values]), axis=0)
    return bool((codes >= 0).all()) and len(pairs) == len(np.unique(codes)) == len(np.unique(values))


def _split_dates(found: Time) -> dict[str, NDArray[Any]]:
    """Return the parts of moments in local time; for years with fractions, only year to month."""
    if found.is_date:
        texts = [text if len(text) != 7 else f"{text}-01" for text in found.names]
        clock = np.array([text[:19].replace(" ", "T") for text in texts], dtype="datetime64[s]")
    elif (found.numbers > _YEARS[0]).all() and (found.numbers < _YEARS[1]).all():
        clock = np.floor(12 * (found.numbers - 1970) + 0.01).astype("datetime64[M]").astype("datetime64[s]")
    else:
        return {}
    days, months = clock.astype("datetime64[D]"), clock.astype("datetime64[M]")
    month, weekday = months.astype(int) % 12, (days.astype(int) + 3) % 7
    thursday = days + (3 - weekday)
    parts = {"year": clock.astype("datetime64[Y]").astype(int), "quarter": month // 3, "month": month}
    if found.is_date:
        parts |= {"day": (days - months).astype(int), "weekday": weekday}
        parts["dayofyear"] = (days - clock.astype("datetime64[Y]")).astype(int)
        parts["week"] = (thursday - thursday.astype("datetime64[Y]").astype("datetime64[D]")).astype(int) // 7
        seconds = (clock - days).astype(int)
        parts |= {"hour": seconds // 3600, "minute": seconds // 60 % 60}
    return parts


def check_one_series(raw: RawTable, found: Time, free: Collection[str]) -> None:
    """Refuse rows of several series: their times repeat, and a column that names the series makes them unique."""
    _, moments = np.unique(found.numbers, return_inverse=True)
    n_times, n_rows = int(moments.max()) + 1, len(moments)
    if 3 * n_times > 2 * n_rows:
        return
    for label in free:
        values = raw.values(label)
        is_whole = values.kind == NUMBER and (values.numbers == np.round(values.numbers)).all()
        if values.kind not in (TEXT, CATEGORY) and not is_whole:
            continue
        codes = values.to_categories().codes
        n_series = int(codes.max()) + 1
        # If they are series, most have rows at most times.
        if n_series * n_times > 2 * n_rows or (codes < 0).any():
            continue
        if len(np.unique(moments * n_series + codes)) == n_rows:
            of = f"{write_columns(found.columns) or 'The index'} of {raw.name}"
            raise InputError(
                f"{of} has several rows per time, one for each of the {n_series} values of column {label!r}; expected "
                f"one series, or the column that names several. Choose {name_parameter('by', label)}, or "
                f"{name_parameter('keep', label, f'keep={[label]!r}')} if the rows are one series."
            )


def is_even(numbers: Floats) -> bool:
    """Return whether numbers rise by the same step, but for rounding."""
    if len(numbers) < _LEAST_EVEN:
        return False
    step = (float(numbers[-1]) - float(numbers[0])) / (len(numbers) - 1)
    single = np.float32 if numbers.dtype == np.float32 else np.float64
    rounding = 2 * np.finfo(single).eps * float(np.abs(numbers).max())
    return bool(step > 0 and (np.abs(np.diff(numbers.astype(np.float64)) - step) <= 1e-6 * step + rounding).all())


def _rank(label: str) -> int | None:
    """Return 0 for the name of a time, 1 for the name of a row number, None for others."""
    words = [word.lower() for word in _WORD.findall(label)]
    is_clock, is_counter = (any(map(form.fullmatch, words)) for form in (_CLOCK, _COUNTER))
    if not all(_CLOCK.fullmatch(word) or _COUNTER.fullmatch(word) or _UNIT.fullmatch(word) for word in words):
        return None
    return 0 if is_clock else 1 if is_counter or not label else None


def _simplify(label: str) -> str:
    return re.sub(r"[\W_]", "", label).lower()


def _read_values(raw: RawTable, label: str) -> ColumnValues:
    """Return the values of a column; texts such as 14:05 are times of day."""
    values = raw.values(label)
    read = values.as_read()
    return read if read.kind == TIME else values


def _read_numbers(raw: RawTable, label: str) -> Floats:
    """Return a column of numbers; an empty array if it has other or missing values."""
    values = _read_values(raw, label)
    is_complete = values.kind in (NUMBER, TIME) and not len(values.texts) and np.isfinite(values.numbers).all()
    return np.asarray(values.numbers if is_complete else [], dtype=values.numbers.dtype)


def _read_part(values: ColumnValues) -> Floats:
    """Return years, months and the like as numbers, -1 for anything else; months may be names."""
    if values.kind in (TEXT, CATEGORY):
        months = [text[:3].lower() for text in values.texts]
        return np.array([_MONTHS.index(each) + 1 if each in _MONTHS else -1 for each in [*months, ""]])[
            values.codes
        ].astype(np.float64)
    return np.nan_to_num(values.numbers, nan=-1) if values.kind == NUMBER else np.full(1, -1.0)


def _are_dates(raw: RawTable, label: str) -> bool:
    return _read_dates(raw.values(label)) is not None


def _read_dates(values: ColumnValues) -> Floats | None:
    """Return a column of dates as days since 1970, with NaN for missing ones; None if it has other values."""
    if values.kind == DATE:
        return values.numbers
    if values.kind == NUMBER and _rank(str(values.label)) is not None:
        return _read_digits(values.numbers)
    if values.kind != TEXT or not len(values.texts) or any(_read_day(text) is None for text in values.texts):
        return None
    return np.array([*(_read_day(text) for text in values.texts), np.nan], dtype=np.float64)[values.codes]


def _read_digits(numbers: Floats) -> Floats | None:
    """Read numbers such as 19580329 or 195803 as dates, if all of them can be."""
    if len(numbers) and ((numbers >= 100 * _YEARS[0]) & (numbers < 100 * _YEARS[1])).all():
        numbers = 100 * numbers + 1
    if not ((numbers >= 10_000 * _YEARS[0]) & (numbers < 10_000 * _YEARS[1]) & (numbers == np.round(numbers))).all():
        return None
    year, month, day = (numbers // 10_000, numbers // 100 % 100, numbers % 100)
    begin = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    days = begin.astype("datetime64[D]") + (day - 1).astype(int)
    is_read = (month >= 1) & (month <= 12) & (day >= 1) & (days.astype("datetime64[M]") == begin)
    return days.astype(np.float64) if is_read.all() else None


def _read_day(text: str) -> float | None:
    # A month, such as 1992-01, begins with its first day.
    day = read_days(text) if len(text) != 7 else read_days(f"{text}-01")
    return _read_period(text) if day is None else day


def _read_period(text: str) -> float | None:
    """Return the first day of a quarter, month or week, such as 1992Q3, Jul 1992 or 1992-W28; None for another text."""
    found = next((match.groupdict() for form in _PERIODS if (match := form.fullmatch(text.strip()))), None)
    if found is None:
        return None
    year, month = int(found["year"]), 1
    if found.get("week"):
        try:
            return float((datetime.date.fromisocalendar(year, int(found["week"]), 1) - datetime.date(1970, 1, 1)).days)
        except ValueError:
            return None
    if found.get("name"):
        month = _MONTHS.index(found["name"][:3].lower()) + 1
    elif found.get("month"):
        month = int(found["month"])
    elif found.get("quarter"):
        month = 3 * int(found["quarter"]) - 2
    return read_days(f"{year:04}-{month:02}-01") if 1 <= month <= 12 else None


def _read_column(raw: RawTable, label: str) -> Time:
    """Read the time column, or say why it cannot be one."""
    if label not in raw.places and label == raw.index_name:
        by_index = read_index(raw.index)
        if by_index is not None:
            return by_index
    raw.check_has([label])
    values = _read_values(raw, label)
    days = _read_dates(values)
    numbers = days if days is not None else values.numbers if values.kind in (NUMBER, DURATION, TIME) else None
    if numbers is None:
        raise InputError(
            f"{values.name} holds {values.kind}; a time is a column of dates such as 2024-01-31, or of numbers. "
            f"Convert it, or name another column in {name_parameter('time', '')}."
        )
    if np.isnan(numbers).any():
        raise InputError(
            f"{values.name} has no time at row {int(np.isnan(numbers).argmax())} (counting from 0); every row "
            "needs one. Drop such rows, or fill them."
        )
    if values.kind == TEXT:
        texts = [_write_time(text) for text in values.texts]
        return Time(numbers, [texts[code] for code in values.codes], True, (label,))
    if days is not None:
        return Time(days, Names(days, lambda day: write_days(day, values.zone)), True, (label,))
    form = write_time if values.kind == TIME else _choose_form(numbers)
    return Time(numbers, Names(numbers, form), False, (label,))


def _choose_form(numbers: Floats) -> Callable[[float], str]:
    """Return a function that writes numbers with enough digits to distinguish them."""
    if (numbers == np.round(numbers)).all():
        return lambda number: str(int(number))
    steps = np.abs(np.diff(np.sort(numbers)))
    step = steps[steps > 0].min(initial=np.inf)
    digits = 6 if step == np.inf else int(np.clip(np.ceil(np.log10(np.abs(numbers).max() / step)) + 1, 6, 17))
    return lambda number: f"{number:.{digits}g}"


def _write_time(text: str) -> str:
    """Write a moment as date and time in its time zone; return any other text unchanged."""
    moment, day = read_moment(text), read_days(text)
    if moment is None or day is None:
        return text
    offset = moment.strftime("%z")
    return write_days(day, f"{offset[:3]}:{offset[3:5]}" if offset else None)


def read_index(index: Sequence[str] | None) -> Time | None:
    """Read an index of dates, or of numbers that rise."""
    if index is None:
        return None
    days = []
    for name in index:
        day = _read_day(str(name))
        if day is None:
            break
        days.append(day)
    else:
        return Time(np.array(days), [_write_time(str(name)) for name in index], True)
    try:
        numbers = np.array(index, dtype=np.float64)
    except ValueError:
        return None
    rises = bool((np.diff(numbers) > 0).all())
    return Time(numbers, Names(numbers, _choose_form(numbers)), False) if rises else None
