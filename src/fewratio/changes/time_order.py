"""Prepare a series: sort its rows by time and fill its gaps."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.changes.gaps import fill_gaps, find_marks
from fewratio.changes.long_series import LONG, LongSeries
from fewratio.changes.segmentation import LEAST_ROWS
from fewratio.changes.time_axis import find_time, read_index
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.wording import quote_list
from fewratio.data.columns import ColumnOptions
from fewratio.data.encoding import Encoding
from fewratio.data.non_overlapping import leave_out_columns
from fewratio.data.raw_table import RawTable, as_raw, name_rows
from fewratio.data.split_table import split_by_column
from fewratio.data.table import Table
from fewratio.errors import InputError, ParameterError, name_parameter, warn
from fewratio.estimators import samples as inputs
from fewratio.estimators.base import RatioEstimator

_DAY = 86_400_000_000
# Gaps in no more than this share of the rows are rare.
_FEW_GAPS = 0.05


class Series(NamedTuple):
    """A series with its times, encoding and gaps.

    For a long series, `rows` are the means of blocks, and `blocks` contains the rows themselves. `gaps` says in which
    rows (or blocks) each feature was missing.
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
    gaps: dict[str, NDArray[np.bool_]]


def read_series(
    model: RatioEstimator, series: Any, time: str | None, columns: ColumnOptions, by_blocks: bool
) -> Series:
    """Validate a series, sort it by time and fill its gaps; a plain vector becomes one column.

    Parameters
    ----------
    model : RatioEstimator
        The model that will score the series; one trained on sources encodes it like them, and fills the gaps.
    series : array-like of shape (n,) or (n, n_features)
    time : str or None
        The time column; None to look for one.
    columns : ColumnOptions
        The user's column options.
    by_blocks : bool
        Whether to summarise a long series by blocks of rows.
    """
    if model.encoding_ is not None and model.encoding_.window is not None:
        raise ParameterError(
            "estimator is a model whose rows are windows of series; changes need one of readings. Learn one without "
            "window."
        )
    given = series
    shape = getattr(series, "shape", None)
    if shape is None and isinstance(series, list | tuple) and not any(np.ndim(value) for value in series):
        shape = (len(series),)
    if shape is not None and len(shape) == 1:
        given = np.asarray(series).reshape(-1, 1)
    found = order = None
    if not isinstance(given, Table):
        given = as_raw(given, "series")
        given = given if given.index is not None else replace(given, index=name_rows(series))
        is_known = model.encoding_ is not None or "encoding" in columns
        found, given, order = find_time(given, time, columns, only_dates=is_known)
        columns = columns if found is None else _drop_labels(columns, found.columns)
    samples = inputs.read_samples(model, {"series": given}, columns)
    encoding, (table,) = samples.encoding, samples.tables
    if encoding is not None and encoding.id in encoding.places and not model.has_sources:
        # The names of rows do not show whether the series has changed.
        encoding, (table,) = leave_out_columns(encoding, [table], [encoding.id], "names the rows")
    names = getattr(given, "index", None) if table.row_names is None else table.row_names
    if found is None and (by_name := read_index(names)) is not None and (np.diff(by_name.numbers) >= 0).all():
        found = by_name
    times = None
    if found is not None:
        names = found.names
        times = (found.numbers * _DAY).round().astype("datetime64[us]") if found.is_date else found.numbers
    labels = table.feature_names or tuple(map(str, range(table.n_features)))
    blocks = LongSeries(table.numbers, encoding) if by_blocks and table.n_rows >= LONG else None
    rows = table.to_numpy() if blocks is None else blocks.means
    gaps: dict[str, NDArray[np.bool_]] = {}
    if encoding is not None and not model.has_sources:
        for value, mark in find_marks(encoding).items() if blocks is None else ():
            gaps[labels[value]] = rows[:, mark] == 1
            fill_gaps(rows[:, value], gaps[labels[value]])
        gaps |= {} if blocks is None else {labels[value]: is_gap for value, is_gap in blocks.gaps.items()}
        marks = [encoding.places[column.name].stop - 1 for column in encoding.used if column.marks_missing]
        # Rare gaps are filled, and the features that mark them are not compared.
        rare = [mark for mark in marks if rows[:, mark].mean() <= _FEW_GAPS]
        if rare:
            is_used = ~np.isin(np.arange(len(labels)), rare)
            rows, labels = rows[:, is_used], tuple(np.array(labels, dtype=object)[is_used])
            if blocks is not None:
                blocks.select(is_used)
    return Series(rows, table.n_rows, blocks, labels, table.name, encoding, names, times, order, gaps)


def _drop_labels(columns: ColumnOptions, labels: Collection[str]) -> ColumnOptions:
    """Return the user's column options without the time columns."""
    kept: Any = {name: value for name, value in columns.items() if not isinstance(value, str) or value not in labels}
    for name in ("columns", "drop", "keep", "categorical", "numeric"):
        if isinstance(kept.get(name), list | tuple | set):
            kept[name] = [each for each in kept[name] if each not in labels]
    return kept


def split_series(raw: RawTable, by: str) -> dict[str, RawTable]:
    """Split a table of several series by the column that names them; leave out short ones with a warning."""
    parts = split_by_column(raw, by)
    short = [name for name, part in parts.items() if part.n_rows < LEAST_ROWS]
    if len(short) == len(parts):
        raise InputError(
            f"column {by!r} of {raw.name} gives series of fewer than {LEAST_ROWS} rows; each needs that many. "
            f"Pass longer series, or name another column in {name_parameter('by', '')}."
        )
    if short:
        found = f"Series of fewer than {LEAST_ROWS} rows are left out: {quote_list(short)}."
        warn(found)
    return {name: part for name, part in parts.items() if name not in short}
