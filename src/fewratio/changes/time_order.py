"""A series as it is compared: its rows in the order of time, without gaps, and when they came."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.changes.gaps import fill_gaps, find_marks
from fewratio.changes.long_series import LONG, LongSeries
from fewratio.core.shapes import Floats, Numbers
from fewratio.data.column_kinds import DATE, DURATION, NUMBER, TEXT, read_days, read_moment, write_days
from fewratio.data.columns import ColumnOptions
from fewratio.data.encoding import Encoding
from fewratio.data.non_overlapping import leave_out_columns
from fewratio.data.raw_table import RawTable, as_raw
from fewratio.data.table import Table
from fewratio.errors import FewRatioWarning, InputError, ParameterError, name_parameter
from fewratio.estimators import samples as inputs
from fewratio.estimators.base import RatioEstimator

_DAY = 86_400_000_000
# Gaps in no more than this share of the rows are rare.
_FEW_GAPS = 0.05


class Series(NamedTuple):
    """A series, and what is known of its rows.

    Of a long one `rows` are the means of blocks, and `blocks` knows the rows themselves.
    """

    rows: Floats
    n_rows: int
    blocks: LongSeries | None
    feature_names: tuple[str, ...]
    argument: str
    encoding: Encoding | None
    row_names: Sequence[str] | None
    times: NDArray[Any] | None
    order: Numbers | None


class Dates(Sequence[str]):
    """Names of rows by their days since 1970, written when they are asked for: there may be many."""

    def __init__(self, days: Floats, zone: str | None) -> None:
        self._days, self._zone = days, zone

    def __len__(self) -> int:
        return len(self._days)

    def __getitem__(self, row: Any) -> Any:
        days = self._days[row]
        return Dates(days, self._zone) if np.ndim(days) else write_days(days, self._zone)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"{list(self[:3])}{'...' * (len(self) > 3)}"


class _Time(NamedTuple):
    """When rows came: as numbers (days since 1970 if they are dates), and what they are called."""

    numbers: Floats
    names: Sequence[str]
    is_date: bool


def read_series(
    model: RatioEstimator, series: Any, time: str | None, columns: ColumnOptions, by_blocks: bool
) -> Series:
    """Validate a series, sort it by time and fill its gaps; one without columns has one.

    Parameters
    ----------
    model : RatioEstimator
        What it is for; one that has learned from sources encodes it as those were, and fills the gaps itself.
    series : array-like of shape (n,) or (n, n_features)
    time : str or None
        The column of time; None to look for one.
    columns : ColumnOptions
        What the user said about columns.
    by_blocks : bool
        Whether blocks of rows will do if the series is long.
    """
    if model.encoding_ is not None and model.encoding_.window is not None:
        raise ParameterError(
            "estimator is a model whose rows are windows of series; changes need one of readings. Learn one without "
            "window."
        )
    given, index = series, getattr(series, "index", ())
    shape = getattr(series, "shape", None)
    if shape is None and isinstance(series, list | tuple) and not any(np.ndim(value) for value in series):
        shape = (len(series),)
    if shape is not None and len(shape) == 1:
        given = np.asarray(series).reshape(-1, 1)
    found, order = None, None
    if not isinstance(given, Table):
        given = as_raw(given, "series")
        if given.index is None and hasattr(index, "astype") and type(index).__name__ != "RangeIndex":
            given = replace(given, index=np.array(index.astype(str), dtype=object))
        label = _find_time_column(given, columns) if time is None else time
        if label is not None:
            given.check_has([label])
            found = _read_time(given, label)
            order = np.argsort(found.numbers, kind="stable") if (np.diff(found.numbers) < 0).any() else None
            given = given.drop([label])
            columns = _drop_label(columns, label)
            given = given if order is None else given.take(order)
    samples = inputs.read_samples(model, {"series": given}, columns)
    encoding, (table,) = samples.encoding, samples.tables
    if encoding is not None and encoding.id in encoding.places and not model.has_sources:
        # When a row came says nothing about whether the series has changed.
        encoding, (table,) = leave_out_columns(encoding, [table], [encoding.id], "names the rows")
    names = getattr(given, "index", None) if table.row_names is None else table.row_names
    if found is None:
        found = _read_names(names)
    elif order is not None:
        names = found.names[order] if isinstance(found.names, Dates) else [found.names[row] for row in order]
        found = _Time(found.numbers[order], names, found.is_date)
    times = None
    if found is not None:
        names = found.names
        times = (found.numbers * _DAY).round().astype("datetime64[us]") if found.is_date else found.numbers
    labels = table.feature_names or tuple(map(str, range(table.n_features)))
    blocks = LongSeries(table.numbers, encoding) if by_blocks and table.n_rows >= LONG else None
    rows = table.to_numpy() if blocks is None else blocks.means
    if encoding is not None and not model.has_sources:
        for value, mark in find_marks(encoding).items() if blocks is None else ():
            fill_gaps(rows[:, value], rows[:, mark] == 1)
        marks = [encoding.places[column.name].stop - 1 for column in encoding.used if column.marks_missing]
        # Rare gaps are filled, and not compared themselves.
        rare = [mark for mark in marks if rows[:, mark].mean() <= _FEW_GAPS]
        if rare:
            is_used = ~np.isin(np.arange(len(labels)), rare)
            rows, labels = rows[:, is_used], tuple(np.array(labels, dtype=object)[is_used])
            if blocks is not None:
                blocks.select(is_used)
    return Series(rows, table.n_rows, blocks, labels, table.name, encoding, names, times, order)


def _drop_label(columns: ColumnOptions, label: str) -> ColumnOptions:
    """Return what the user said about other columns than that of time."""
    kept: Any = {name: value for name, value in columns.items() if value != label}
    for name in ("columns", "drop", "keep", "categorical", "numeric"):
        if isinstance(kept.get(name), list | tuple | set):
            kept[name] = [each for each in kept[name] if each != label]
    return kept


def _find_time_column(raw: RawTable, columns: ColumnOptions) -> str | None:
    """Return the only column of dates, if they do not fall and the user does not speak of it."""
    if raw.array is not None or not raw.is_named:
        return None
    spoken = {columns.get("id")}
    for name in ("columns", "drop", "keep", "categorical", "numeric"):
        labels: Any = columns.get(name) or ()
        spoken |= {labels} if isinstance(labels, str) else set(labels)
    dates = [label for label in raw.labels if _read_dates(raw, label) is not None]
    if len(dates) != 1 or dates[0] in spoken or len(raw.labels) == 1:
        return None
    numbers = _read_dates(raw, dates[0])
    if numbers is None or (np.diff(numbers) >= 0).all():
        return dates[0]
    warnings.warn(
        FewRatioWarning(
            f"The dates of column {dates[0]!r} are not in order, so rows are taken in the order of the table. To sort "
            f"them, choose {name_parameter('time', dates[0])}."
        ),
        stacklevel=4,
    )
    return None


def _read_dates(raw: RawTable, label: str) -> Floats | None:
    """Return a column of dates as days since 1970, None if it is another; one with gaps has NaN."""
    values = raw.values(label)
    if values.kind == DATE:
        return values.numbers
    if values.kind != TEXT or any(_read_day(text) is None for text in values.texts):
        return None
    return np.array([*(_read_day(text) for text in values.texts), np.nan], dtype=np.float64)[values.codes]


def _read_day(text: str) -> float | None:
    # A month, such as 1992-01, begins with its first day.
    return read_days(text) if len(text) != 7 else read_days(f"{text}-01")


def _read_time(raw: RawTable, label: str) -> _Time:
    """Read the column of time, or say why it is none."""
    values, days = raw.values(label), _read_dates(raw, label)
    numbers = days if days is not None else values.numbers if values.kind in (NUMBER, DURATION) else None
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
    if values.kind == DATE:
        return _Time(numbers, Dates(numbers, values.zone), is_date=True)
    coded = values.to_categories()
    texts = [_write_time(text) for text in coded.texts]
    return _Time(numbers, [texts[code] for code in coded.codes], days is not None)


def _write_time(text: str) -> str:
    """Write a moment as date and time in its own zone, anything else as it is."""
    moment, day = read_moment(text), read_days(text)
    if moment is None or day is None:
        return text
    offset = moment.strftime("%z")
    return write_days(day, f"{offset[:3]}:{offset[3:5]}" if offset else None)


def _read_names(names: Sequence[str] | None) -> _Time | None:
    """Read the names of rows as dates, if all of them are and do not fall."""
    if names is None:
        return None
    days: list[float] = []
    for name in names:
        day = _read_day(str(name))
        if day is None or (days and day < days[-1]):
            return None
        days.append(day)
    return _Time(np.array(days), [_write_time(str(name)) for name in names], is_date=True)
