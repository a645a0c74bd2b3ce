"""Conditions on columns as you would write them: ranges in round figures, categories, periods, missing values."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats, Numbers
from fewratio.data.column_kinds import BOOLEAN, CATEGORY, DATE, DAY_SECONDS, DURATION, NUMBER, TIME
from fewratio.data.columns import Column

Bins = NDArray[np.bool_]

# Bins of the first scan, parts per bin of the search, and the most categories to join in one condition. The ends of
# planted regions were found best with 3 or 4 parts; 1 and 2 were also tried (benchmarks/regions.py planted).
_COARSE, _FINER, _JOINED = 6, 3, 3
# An edge may move to a rounder figure by this share of a bin.
_NEAR = 0.5
# The steps of times of day in hours, and of durations and dates in seconds, the roundest first.
_HOURS = 6, 3, 1, 1 / 2, 1 / 4, 1 / 12, 1 / 60, 1 / 3600
_SECONDS = DAY_SECONDS, *(3600 * hours for hours in (12, *_HOURS))


class Condition(NamedTuple):
    """A condition on one column.

    Attributes
    ----------
    column : str or int
    text : str
        The condition as text: "age above 55".
    low, high : float, str or None
        The ends of a range; dates and times as text. Numbers are above the lower end and at most the upper one; dates
        and times are at or after the lower end and before the upper one.
    values : tuple of str
        The categories, or the only value of a range.
    is_missing : bool
        True for "is missing". "Not missing" has no range and no values.
    """

    column: str | int
    text: str
    low: float | str | None = None
    high: float | str | None = None
    values: tuple[str, ...] = ()
    is_missing: bool = False

    @property
    def is_gap(self) -> bool:
        """Whether the condition is that the value is missing, or that it is not."""
        return self.is_missing or (self.low is None and self.high is None and not self.values)


@dataclass(frozen=True, eq=False)
class BinnedColumn:
    """A binned column; the bins do not depend on which sample a row is from.

    Attributes
    ----------
    label : str or int
    column : Column
    place : slice
        The features of the column.
    edges : ndarray of shape (n_edges,)
        Edges between bins of numbers, dates and times.
    fine : bool ndarray of shape (n_fine, n_bins)
        The bins of each condition.
    family, coarse : bool ndarray of shape (n_conditions, n_bins) and (n_coarse, n_bins)
        The bins of fewer conditions, and of a few coarse ones.
    """

    label: str | int
    column: Column
    place: slice
    edges: Floats
    fine: Bins
    family: Bins
    coarse: Bins

    @classmethod
    def of(cls, label: str | int, column: Column, place: slice, rows: Floats, n_bins: int) -> "BinnedColumn":
        """Make bins with equally many rows and round edges, about `n_bins` of them for `family`."""
        features = rows[:, place]
        if column.kind == CATEGORY:
            counts = features[:, : len(column.categories)].sum(0)
            frequent = np.argsort(-counts, kind="stable")[:_COARSE]
            # The last bin contains unknown categories.
            n_all = features.shape[1] + 1
            sets = [(each,) for each in range(len(counts))]
            sets += [each for n in range(2, _JOINED + 1) for each in combinations(sorted(frequent.tolist()), n)]
            sets += [(n_all - 2,)] * column.marks_missing
            family = np.array([np.isin(np.arange(n_all), each) for each in sets])
            is_coarse = [len(each) == 1 and (each[0] in frequent or each[0] >= len(counts)) for each in sets]
            return cls(label, column, place, np.empty(0), family, family, family[is_coarse])
        held = np.sort(column.decode(features))
        edges = _find_edges(held, column, _FINER * n_bins)
        ends = np.append(np.searchsorted(held, edges, "left" if _is_dated(column) else "right"), len(held))
        counts = np.diff(ends, prepend=0)
        middles = (ends - counts / 2) / max(len(held), 1)
        groups = (
            np.unique((middles * n).astype(np.intp), return_inverse=True)[1]
            if len(counts) > n
            else np.arange(len(counts))
            for n in (len(counts), n_bins, _COARSE)
        )
        return cls(label, column, place, edges, *(_intervals(each, column) for each in groups))

    def assign(self, rows: Floats) -> Numbers:
        """Return the bin number of each row."""
        features = rows[:, self.place]
        if self.column.kind == CATEGORY:
            return np.where(features.any(1), features.argmax(1), features.shape[1])
        missing = features[:, -1] > 0 if self.column.marks_missing else np.zeros(len(features), dtype=np.bool_)
        bins = np.full(len(features), len(self.edges) + 1)
        values = self.column.decode(features)
        bins[~missing] = np.searchsorted(self.edges, values, "right" if _is_dated(self.column) else "left")
        return bins

    def describe(self, bins: Bins, rows: Floats) -> Condition:
        """Write the condition that a value is in one of `bins`."""
        name, column = self.label, self.column
        if column.marks_missing and bins[-2 if column.kind == CATEGORY else -1]:
            return Condition(name, f"{name} is missing", is_missing=True)
        if column.kind == CATEGORY:
            values = tuple(column.categories[each] for each in np.flatnonzero(bins))
            return Condition(name, f"{name} = {_write_any(values)}", values=values)
        features = rows[:, self.place]
        held = column.decode(features[bins[self.assign(rows)]])
        if len(held) and (column.kind == BOOLEAN or held.min() == held.max()):
            value = self._write(held[0])
            plain = f"{held[0]:.12g}" if column.kind == NUMBER else value
            return Condition(name, f"{name} = {value}", values=(plain,))
        inside = bins[: len(self.edges) + 1]
        if inside.all():
            return Condition(name, f"{name} is not missing")
        if inside[0] and inside[-1]:
            # The range goes over midnight.
            outside = np.flatnonzero(~inside)
            first, last = outside[-1], outside[0] - 1
        else:
            first, last = np.flatnonzero(inside)[[0, -1]] - [1, 0]
        low, high = (float(self.edges[each]) if 0 <= each < len(self.edges) else None for each in (first, last))
        words = ("from", "before") if _is_dated(column) else ("above", "up to")
        ends = [(word, self._write(end)) for word, end in zip(words, (low, high), strict=True) if end is not None]
        text = f"{name} {' and '.join(' '.join(end) for end in ends)}"
        if column.kind == NUMBER:
            return Condition(name, text, low, high)
        low_text, high_text = (None if end is None else self._write(end) for end in (low, high))
        return Condition(name, text, low_text, high_text)

    def _write(self, value: Any) -> str:
        return self.column.write(float(value), 12)


def _is_dated(column: Column) -> bool:
    """Return whether ranges include their lower end, as periods do."""
    return column.kind in (DATE, TIME)


def _write_any(values: tuple[str, ...]) -> str:
    return f"{', '.join(values[:-1])} or {values[-1]}" if len(values) > 1 else values[0]


def _intervals(groups: Numbers, column: Column) -> Bins:
    """Return all ranges of bins, keeping groups together; for times of day also those over midnight; and the gap."""
    n = int(groups.max()) + 1
    first, last = np.triu_indices(n)
    inside = (groups >= first[:, None]) & (groups <= last[:, None])
    kept = inside if column.marks_missing else inside[last - first < n - 1]
    if column.kind == TIME:
        kept = np.concatenate([kept, ~inside[(first > 0) & (last < n - 1)]])
    if not column.marks_missing:
        return kept
    gap = np.arange(len(groups) + 1) == len(groups)
    return np.concatenate([np.pad(kept, ((0, 0), (0, 1))), gap[None]])


def _find_edges(held: Floats, column: Column, n_bins: int) -> Floats:
    """Find edges in round figures for about `n_bins` bins of sorted values."""
    values = np.unique(held)
    if len(values) < 2:
        return np.empty(0)
    windows = list(pairwise(values.tolist()))
    if len(values) > n_bins:
        near, windows = _NEAR / n_bins, []
        for share in np.arange(1, n_bins) / n_bins:
            low, high = held[[int((share - near) * len(held)), int((share + near) * len(held))]]
            if low < high:
                windows.append((low, high))
                continue
            # A frequent value has its own bin.
            place = int(np.searchsorted(values, low))
            windows += [(values[i], values[i + 1]) for i in (place - 1, place) if 0 <= i < len(values) - 1]
    edges = np.unique([_find_roundest(float(low), float(high), column) for low, high in dict.fromkeys(windows)])
    # Keep one of several edges that divide the values in the same way.
    ends = np.searchsorted(held, edges, "left" if _is_dated(column) else "right")
    return edges[np.unique(ends, return_index=True)[1]]


def _find_roundest(low: float, high: float, column: Column) -> float:
    """Find the roundest figure between two values: the lower one counts as between; for periods, the higher one."""
    is_dated, middle = _is_dated(column), (low + high) / 2
    for figure in _list_figures(low, high, column):
        if low < figure <= high if is_dated else low <= figure < high:
            return figure
    return high if is_dated else min(max(middle, low), math.nextafter(high, low))


def _list_figures(low: float, high: float, column: Column) -> Iterator[float]:
    """List figures near the middle of two values, the roundest first."""
    middle = (low + high) / 2
    if column.kind == DATE:
        seconds = np.array([middle * DAY_SECONDS]).astype("datetime64[s]")
        for unit in ("Y", "M"):
            for later in (0, 1):
                day = (seconds.astype(f"datetime64[{unit}]") + later).astype("datetime64[s]")
                yield float(day.astype(np.int64)[0] / DAY_SECONDS)
    if column.kind in (DATE, DURATION, TIME):
        of_day = DAY_SECONDS if column.kind == DATE else 1
        for step in _HOURS if column.kind == TIME else _SECONDS:
            yield round(middle * of_day / step) * step / of_day
    size = max(abs(low), abs(high))
    for power in range(math.floor(math.log10(size)) + 1, math.floor(math.log10(size)) - 15, -1):
        for factor in (10, 5, 2):
            steps = middle / (factor * 10.0 ** (power - 1))
            for whole in (round(steps), math.floor(steps), math.ceil(steps)):
                # Written as text and read again, 3 * 0.1 is 0.3.
                yield float(f"{factor * whole}e{power - 1}")
