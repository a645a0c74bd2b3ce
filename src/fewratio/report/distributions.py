"""The values of a column in several samples, counted on common bins."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.charts.chart import Chart
from fewratio.charts.distributions import (
    COLOURS,
    dot_strips,
    grouped_bars,
    mirrored_bars,
    mirrored_dots,
    stacked_histograms,
    step_lines,
)
from fewratio.core.shapes import Floats
from fewratio.core.wording import write_share
from fewratio.data.column_kinds import (
    BOOLEAN,
    CATEGORY,
    DATE,
    DURATION,
    FREE,
    NUMBER,
    TIME,
    VECTOR,
    choose_duration_unit,
)
from fewratio.data.columns import Column

# Most and fewest bins of numbers; up to this many distinct values have a bin each. In samples of few rows they must be
# whole numbers, each in this many rows of a sample on average.
_MOST_BINS, _LEAST_BINS, _FEW_VALUES, _OFTEN = 20, 8, 10, 2
# Bins of a histogram that marks an observed value.
_AROUND = 40
# Most categories to draw; the others are pooled.
_MOST_CATEGORIES = 12
# The tails beyond these quantiles become one bin each if they would leave no room for the other values.
_ENDS, _FAR = (0.005, 0.995), 3.0
# Samples of so few rows are drawn as dots, if no other has too many of them.
_FEW_ROWS, _MOST_DOTS = 30, 200
# Lines of more samples cross each other too often.
_MOST_LINES = 2
# A logarithmic axis is for numbers over two decades, half of which would fill a tenth of a linear one.
_DECADES, _SPIKE = 100, 0.1
_UNITS = {TIME: "hour of the day", FREE: "words", VECTOR: "first direction"}


class Distribution(NamedTuple):
    """Shares of samples in the bins of a column.

    Attributes
    ----------
    column : Column
    labels : list of str
        The content of each bin.
    edges : list of float or None
        Edges between bins of numbers and dates; None if each bin is a value.
    shares : list of list of float
        For each sample, the share of its values in each bin.
    missing : list of float
        For each sample, the share of rows without a value.
    values : list of list of float or None
        The values of each sample, if a sample has few rows, which are drawn one by one.
    is_logarithmic : bool
        Whether the edges are at equal distances on a logarithmic scale.
    """

    column: Column
    labels: list[str]
    edges: list[float] | None
    shares: list[list[float]]
    missing: list[float]
    values: list[list[float]] | None = None
    is_logarithmic: bool = False

    @property
    def summary(self) -> str:
        """The fullest bins and the share of missing values, as text."""
        parts = []
        for shares, missing in zip(self.shares, self.missing, strict=True):
            fullest = sorted(range(len(shares)), key=lambda place: -shares[place])[:2]
            found = ", ".join(
                f"{self.labels[place]} ({write_share(shares[place])})" for place in fullest if shares[place]
            )
            parts.append(found + f", missing {write_share(missing)}" * (missing > 0))
        return "; ".join(parts)

    def small_chart(self, names: Sequence[str]) -> Chart:
        """Draw two samples for a cell of a table."""
        description = f"Most in {' and '.join(names)}: {self.summary}"
        if self.values is not None:
            return mirrored_dots(self.values[0], self.values[1], description, self.is_logarithmic)
        return mirrored_bars(self.labels, self.shares[0], self.shares[1], description)

    def chart(self, names: Sequence[str], colours: Sequence[str] = COLOURS) -> Chart:
        """Draw all samples with axes: dates along time, numbers along their values, categories side by side."""
        title, shares = self.column.name, dict(zip(names, self.shares, strict=True))
        description = f"{title}. Most in {', '.join(names)}: {self.summary}."
        if self.edges is None:
            return grouped_bars(self.labels, shares, title, description, colours)
        unit, size = self.column.zone, 1.0
        if self.column.kind in _UNITS:
            unit = _UNITS[self.column.kind]
        elif self.column.kind == DURATION:
            unit, size = choose_duration_unit(max(map(abs, self.edges)))
        title += f" ({unit})" if unit else ""
        told = title, description, self.column.kind == DATE, self.is_logarithmic, colours
        if self.values is None:
            draw = step_lines if len(names) <= _MOST_LINES else stacked_histograms
            return draw(self._as_drawn(self.edges, size), shares, *told)
        values = {name: self._as_drawn(each, size) for name, each in zip(names, self.values, strict=True)}
        return dot_strips(values, *told)

    def _as_drawn(self, values: Sequence[float], size: float) -> list[Any]:
        """Return values in units of a size; dates as ISO texts."""
        if self.column.kind == DATE:
            return [self.column.write(value, 6)[:19].replace(" ", "T") for value in values]
        return [value / size for value in values]


def distribution(
    column: Column, samples: Sequence[Floats], weights: Sequence[Floats | None] | None = None
) -> Distribution:
    """Count the values of a column in samples.

    Parameters
    ----------
    column : Column
        The column, with its encoding.
    samples : sequence of ndarray of shape (n, n_features of the column)
        The features of the column in each sample.
    weights : sequence of ndarray of shape (n,) or None, optional
        The weight of each row.
    """
    weighed = [
        np.full(len(rows), 1 / len(rows)) if weight is None else weight / weight.sum()
        for rows, weight in zip(samples, weights or [None] * len(samples), strict=True)
    ]
    gaps = [rows[:, -1] > 0 if column.marks_missing else np.zeros(len(rows), bool) for rows in samples]
    missing = [_short(float(weight[gap].sum())) for weight, gap in zip(weighed, gaps, strict=True)]
    if column.kind == CATEGORY:
        labels = [*column.categories, *(["rare values (pooled)"] if column.pools_others else [])]
        shares = [weight @ rows[:, : len(labels)] for weight, rows in zip(weighed, samples, strict=True)]
        return Distribution(column, *_largest(labels, np.array(shares)), missing)
    values = [np.asarray(column.decode(rows), np.float64) for rows in samples]
    kept = [weight[~gap] for weight, gap in zip(weighed, gaps, strict=True)]
    pooled = np.concatenate(values)
    # The first values usually suffice to see that a column has many.
    distinct = np.unique(pooled[:1000])
    distinct = np.unique(pooled) if len(distinct) <= _FEW_VALUES else distinct
    are_dots = column.kind != BOOLEAN and weights is None and _are_few(values)
    if len(distinct) <= _FEW_VALUES and not (are_dots and _are_measured(values)):
        labels, edges = [column.write(value, 6) for value in distinct.tolist()], None
        inner = distinct[1:]
    else:
        labels, edges, inner = _bins(column, pooled)
    few = None
    if edges is not None and are_dots:
        few = [[_short(value, 6) for value in sorted(each.tolist())] for each in values]
    bins = [np.searchsorted(inner, side, "right") for side in values]
    counted = [_shares(np.bincount(*each, len(labels))) for each in zip(bins, kept, strict=True)]
    is_log = edges is not None and column.kind == NUMBER and is_skewed(pooled)
    return Distribution(column, labels, edges, counted, missing, few, is_log)


def _are_few(values: Sequence[Floats]) -> bool:
    """Return whether a sample has so few rows that bins would say little, and no other has too many to draw each."""
    sizes = list(map(len, values))
    return 0 < min(sizes) <= _FEW_ROWS and max(sizes) <= _MOST_DOTS


def _are_measured(values: Sequence[Floats]) -> bool:
    """Return whether values are no counts or ratings: not whole, or hardly ever equal within a sample."""
    n_distinct = sum(len(np.unique(each)) for each in values)
    return any((each % 1).any() for each in values) or sum(map(len, values)) < _OFTEN * n_distinct


def is_skewed(values: Floats) -> bool:
    """Return whether values are positive and most of them so close to 0 that a linear axis would show one spike."""
    low, middle, last, high = (float(each) for each in np.quantile(values, (0, 0.5, _ENDS[1], 1)))
    return low > 0 and high >= _DECADES * low and middle - low < _SPIKE * (last - low)


def _bins(column: Column, values: Floats) -> tuple[list[str], list[float], Floats]:
    """Return the label of each bin, the edges as drawn, and the edges used for counting."""
    low, high = float(values.min()), float(values.max())
    first, last = (float(end) for end in np.quantile(values, _ENDS))
    is_cut = high - low > _FAR * (last - first) > 0
    n_bins = min(_MOST_BINS, max(_LEAST_BINS, round(2 * len(values) ** 0.5)))
    if column.kind == NUMBER and is_skewed(values):
        is_cut, edges = False, np.geomspace(low, high, n_bins + 1)
    else:
        edges = np.linspace(first if is_cut else low, last if is_cut else high, n_bins + 1)
    texts = [column.write(edge) for edge in edges.tolist()]
    labels = [f"{start} to {end}" for start, end in pairwise(texts)]
    if is_cut:
        labels[0], labels[-1] = f"up to {texts[1]}", f"{texts[-2]} and more"
    return labels, [_short(edge, 8) for edge in edges.tolist()], edges[1:-1]


def _largest(labels: list[str], shares: Floats) -> tuple[list[str], None, list[list[float]]]:
    """Keep the categories with the largest shares in any sample, in their order, and sum up the others."""
    if len(labels) > _MOST_CATEGORIES:
        kept = np.sort(np.argsort(-shares.max(0), kind="stable")[: _MOST_CATEGORIES - 1])
        rest = shares.sum(1, keepdims=True) - shares[:, kept].sum(1, keepdims=True)
        rest_label = f"{len(labels) - len(kept)} more values"
        labels, shares = [*(labels[place] for place in kept), rest_label], np.hstack([shares[:, kept], rest.clip(0)])
    return labels, None, [_shares(each) for each in shares]


def _shares(values: NDArray[Any]) -> list[float]:
    return [_short(value) for value in values.tolist()]


def counts_around(values: Floats, observed: float) -> tuple[list[float], list[int]]:
    """Count values on bins that reach to the observed one; values close together still form bars."""
    low, high = min(values.min(), observed), max(values.max(), observed)
    edges = np.linspace(low, high if high > low else low + 1, _AROUND + 1)
    return round_values(edges), np.histogram(values, edges)[0].tolist()


def shares_chart(samples: Mapping[str, Floats], highest: float, n_bins: int, title: str, description: str) -> Chart:
    """Draw how numbers from 0 to the highest are distributed in samples."""
    if _are_few(list(samples.values())):
        return dot_strips({name: round_values(np.sort(each)) for name, each in samples.items()}, title, description)
    edges = np.linspace(0, highest, n_bins + 1)
    shares = {name: (np.histogram(each, edges)[0] / len(each)).round(4).tolist() for name, each in samples.items()}
    return step_lines(edges.round(5).tolist(), shares, title, description)


def round_values(values: Floats) -> list[float]:
    """Round to four digits of the range, so that an offset costs no digits."""
    spread = float(np.ptp(values)) or float(np.abs(values).max()) or 1.0
    return np.round(values, 4 - math.floor(math.log10(spread))).tolist()


def _short(value: float, digits: int = 3) -> float:
    """Round to a few digits, so that pages are small, and identical everywhere."""
    return float(f"{value:.{digits}g}")


def by_column(
    columns: Mapping[str | int, tuple[Column, slice]],
    samples: Sequence[Floats],
    weights: Sequence[Floats | None] | None = None,
) -> dict[str | int, Distribution]:
    """Count the values of several columns, each with the places of its features, in samples."""
    return {
        label: distribution(column, [rows[:, place] for rows in samples], weights)
        for label, (column, place) in columns.items()
    }
