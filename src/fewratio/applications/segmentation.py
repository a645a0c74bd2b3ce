"""Cut a series into segments: a penalised search that takes trends, seasons and dependence for what they are.

A segment has a level, perhaps a slope, and a spread of its own in each column. Dynamic programming over a falling
penalty proposes segmentations, and smooth trends without changes stand beside them. Chosen is the one with the best
penalised likelihood of its residuals, which are an autoregression: what dependence explains is not a change.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.ndimage import median_filter

from fewratio.applications.seasons import deviations, repeated_season, smooth_seasons
from fewratio.core.shapes import Floats, Numbers

# Measured on annotated series (docs/design.md). The price of a parameter, in units of log n: level and spread together
# cost 3 log n, as in the modified BIC of Zhang and Siegmund (2007).
_PRICE = 1.5
# Changes are rare: at most half the square root of the number of rows.
_MOST_CHANGES = 0.5
# Rows of the common variance that each segment's own is mixed with: a few equal rows are not infinitely unlikely.
_PRIOR_ROWS = 2.0
_HIGHEST_ORDER, _HIGHEST_DEGREE = 3, 3
# Values further than so many deviations from the running median of so many rows are moved there.
_TAME, _RUNNING = 5.0, 7
# The search chooses among so many positions; in a longer series each change then moves to the best row nearby.
_POSITIONS = 1000
# Rows on either side of a split that is tried, and of a series.
_LEAST_SPLIT, LEAST_ROWS = 5, 14


class Segmentation(NamedTuple):
    """Segments of a series.

    Attributes
    ----------
    points : list of int
        Numbers of the first rows of all segments but the first.
    gains : list of float
        By how much each point raises twice the log likelihood of the two segments beside it.
    background : ndarray of shape (n, d)
        What is not a change: the season, and the trend that all segments share.
    residuals : ndarray of shape (n, d)
        The rows less the background and the segments' levels and slopes.
    """

    points: list[int]
    gains: list[float]
    background: Floats
    residuals: Floats


class Autoregression(NamedTuple):
    """An autoregression of a column of residuals, of the order with the best penalised likelihood.

    Attributes
    ----------
    coefficients : ndarray of shape (order,)
        Of the preceding values, the latest first.
    innovations : ndarray
        What they leave over, without the first rows.
    length : float
        Minus twice the log likelihood, and the price of the order.
    tails : float
        By how much heavier the tails are than those of a normal distribution, in which it is 1: as factor of the
        variance of a variance.
    """

    coefficients: Floats
    innovations: Floats
    length: float
    tails: float


class _Proposal(NamedTuple):
    length: float
    points: list[int]
    degree: int


def segment(rows: Floats) -> Segmentation:
    """Find the changes of level, slope and spread of a series.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        In the order of time, without gaps.
    """
    # Isolated values must not set the unit.
    spread = _tamed(rows).std(0)
    # The spread of equal numbers may be a rounding error.
    is_used = (np.ptp(rows, axis=0) > 0) & (spread > 0)
    scale = np.where(is_used, spread, 1.0)
    scaled = (rows - np.median(rows, axis=0)) / scale
    season = repeated_season(scaled)
    # That of the rows as they are: without a season, few values become many.
    rounding = rounding_variance(_tamed(scaled)[:, is_used])
    best, smooth = _best(_tamed(scaled - season)[:, is_used], rounding)
    season[:, is_used] += smooth
    clean = scaled - season
    tamed = _tamed(clean)
    # Fitted to tamed values: a far one must not move the level of its segment.
    residuals = clean - tamed + without_segments(tamed, best.points, best.degree)
    if best.points:
        # The slope that segments share; steps between them belong to the changes.
        levelled, time = (without_segments(each, best.points, 0) for each in (tamed, _times(len(rows))[:, None]))
        slope = (levelled * time).sum(0) / (time**2).sum() if best.degree else np.zeros(rows.shape[1])
        trend = _times(len(rows))[:, None] * slope
    else:
        trend = clean - residuals
    gains = _gains(tamed[:, is_used], rounding, best.points, best.degree)
    return Segmentation(best.points, gains, (season + trend) * scale, residuals * scale)


def without_segments(series: Floats, points: Sequence[int], degree: int) -> Floats:
    """Return what polynomials of a degree leave over, one in each segment of each column."""
    result = np.empty_like(series)
    for start, stop in _between(points, len(series)):
        basis, _ = np.linalg.qr(np.polynomial.legendre.legvander(_times(stop - start), min(degree, stop - start - 1)))
        result[start:stop] = series[start:stop] - basis @ (basis.T @ series[start:stop])
    return result


def autoregression(residuals: Floats, rounding: float, groups: Numbers) -> Autoregression:
    """Fit autoregressions of all orders to a column, and choose one.

    Parameters
    ----------
    residuals : ndarray of shape (n,)
    rounding : float
        Added to all variances.
    groups : ndarray of shape (n,)
        The number of each row's segment; each has its own variance of innovations.
    """
    n, highest = len(residuals), min(_HIGHEST_ORDER, len(residuals) // 10)
    values, groups = residuals[highest:], groups[highest:]
    before = np.column_stack(
        [residuals[highest - lag : n - lag] for lag in range(1, highest + 1)] or [values[:, None][:, :0]]
    )
    sizes = np.bincount(groups)
    moments, products = before.T @ before, before.T @ values
    found = []
    for order in range(highest + 1):
        coefficients = np.asarray(np.linalg.lstsq(moments[:order, :order], products[:order])[0], dtype=np.float64)
        innovations = values - before[:, :order] @ coefficients
        sums = np.bincount(groups, innovations**2, len(sizes))
        common = sums.sum() / len(values) + 1e-12
        variances = (sums + _PRIOR_ROWS * common) / (sizes + _PRIOR_ROWS) + rounding
        squares = innovations**2 / variances[groups]
        # What the variances have of rounding does not vary.
        tails = squares.var() / 2 if common > 1e-12 else 1.0
        length = order * np.log(n) + (sizes * np.log(variances)).sum()
        found.append(Autoregression(coefficients, innovations, float(length), max(1.0, float(tails))))
    return min(found, key=lambda each: each.length)


class SplitGains:
    """How much a split at a row raises the likelihood of the rows around it, at all scales.

    Parameters
    ----------
    series : ndarray of shape (n, d)
    """

    def __init__(self, series: Floats) -> None:
        self.n_rows = n = len(series)
        spread = np.where(np.ptp(series, axis=0) > 0, series.std(0), 1.0)
        scaled = (series - series.mean(0)) / np.where(spread > 0, spread, 1.0)
        self._cost = _Cost(scaled, 0, rounding_variance(scaled))
        self._edges = np.unique(np.linspace(0, n, min(n, _POSITIONS) + 1).astype(np.intp))

    def positions(self, start: int, stop: int) -> Numbers:
        """Return the rows between two at which a split is tried."""
        return self._edges[(self._edges >= start + _LEAST_SPLIT) & (self._edges <= stop - _LEAST_SPLIT)]

    def best(self, start: int, stop: int) -> Floats:
        """Return the largest gain of each of these splits."""
        return self._largest(start, self.positions(start, stop), stop)

    def at(self, start: int, point: int, stop: int) -> float:
        """Return the largest gain of a split at one row."""
        return float(self._largest(start, np.array([point]), stop)[0])

    def _largest(self, start: int, positions: Numbers, stop: int) -> Floats:
        """Go through neighbourhoods of splits within `start` and `stop`, each twice as large as the last."""
        found, reach = np.full(len(positions), -np.inf), 2 * _LEAST_SPLIT
        while len(positions):
            starts, stops = np.maximum(positions - reach, start), np.minimum(positions + reach, stop)
            gains = self._cost(starts, stops) - self._cost(starts, positions) - self._cost(positions, stops)
            found, reach = np.maximum(found, gains), 2 * reach
            if reach >= 2 * (stop - start):
                break
        return found

    def nearby(self, start: int, point: int, stop: int) -> int:
        """Return the best row for a split near a position."""
        return _moved(self._cost, [point], len(self._cost.values) // _POSITIONS, start, stop)[0]


def _best(series: Floats, rounding: Floats) -> tuple[_Proposal, Floats]:
    """Return the best description of a series, and the smooth season without which it is described."""
    found = [(min(_proposals(series, rounding)), np.zeros_like(series))]
    candidates = []
    for n_parameters, season, points in smooth_seasons(series):
        price = _PRICE * np.log(len(series)) * n_parameters
        with_it, without = (min(_described_as(each, rounding, points)).length for each in (series - season, series))
        if with_it + price < without:
            candidates.append((with_it + price, price, season))
    # The search takes long: it is made again at most once.
    if candidates:
        _, price, season = min(candidates, key=lambda each: each[0])
        best = min(_proposals(series - season, rounding))
        found.append((best._replace(length=best.length + price), season))
    return min(found, key=lambda each: each[0].length)


def _proposals(series: Floats, rounding: Floats) -> Iterator[_Proposal]:
    """Describe a series without changes but a smooth trend, and with changes of level or of level and slope."""
    n, d = series.shape
    if n < LEAST_ROWS or not d:
        yield _Proposal(0.0, [], 0)
        return
    yield from _described_as(series, rounding, [])
    edges = np.unique(np.linspace(0, n, min(n, _POSITIONS) + 1).astype(np.intp))
    for degree in (0, 1):
        cost = _Cost(series, degree, rounding)
        table = _table(cost, edges, least=3 + 2 * degree)
        seen: set[tuple[int, ...]] = {()}
        for factor in 2.0 ** np.arange(9, -2.5, -0.5):
            places = _cheapest(table, factor * _penalty(n, degree, np.ones(d)))
            if len(places) > _MOST_CHANGES * np.sqrt(n):
                break
            if tuple(places) not in seen:
                seen.add(tuple(places))
                points = _moved(cost, edges[places].tolist(), n // _POSITIONS)
                yield _described(series, rounding, points, degree)


def _described_as(series: Floats, rounding: Floats, points: list[int]) -> list[_Proposal]:
    """Describe a series with given changes, or without any but a smooth trend."""
    degrees = range(2 if points else _HIGHEST_DEGREE + 1)
    return [_described(series, rounding, points, degree) for degree in degrees]


def _described(series: Floats, rounding: Floats, points: list[int], degree: int) -> _Proposal:
    """Return how long a description of the series by segments is: smaller is better."""
    groups = np.zeros(len(series), dtype=np.intp)
    groups[points] = 1
    residuals, groups = without_segments(series, points, degree), groups.cumsum()
    fits = [autoregression(*column, groups) for column in zip(residuals.T, rounding, strict=True)]
    penalty = _penalty(len(series), degree, np.array([fit.tails for fit in fits])) * len(points)
    trend = _PRICE * np.log(len(series)) * degree * len(fits)
    return _Proposal(sum(fit.length for fit in fits) + penalty + trend, points, degree)


def _penalty(n: int, degree: int, tails: Floats) -> float:
    """Return the price of a change in columns with tails of some weight.

    In one column each parameter has its price, that of the spread by its tails. Further columns add what noise in them
    explains: of a chi-squared variable, the mean and the deviation that goes with the price (Laurent and Massart 2000).
    """
    parameters = 1 + degree + tails
    price = _PRICE * np.log(n) * np.median(parameters)
    more = parameters.sum() - np.median(parameters)
    return float(price + more + 2 * np.sqrt(more * price / 2))


class _Cost:
    """Minus twice the log likelihood of any rows in a row as one segment, from cumulative sums."""

    def __init__(self, series: Floats, degree: int, rounding: Floats) -> None:
        self.degree, self.rounding, time = degree, rounding, np.arange(len(series)) - len(series) / 2
        self.common = _PRIOR_ROWS * (np.diff(series, axis=0).var(0) / 2 + 1e-12)
        sums = [series, series**2, time[:, None] * series]
        self.values, self.squares, self.products = (np.pad(each.cumsum(0), ((1, 0), (0, 0))) for each in sums)

    def __call__(self, starts: Numbers, stops: Numbers) -> Floats:
        n = (stops - starts)[:, None].astype(float)
        values = self.values[stops] - self.values[starts]
        left = self.squares[stops] - self.squares[starts] - values**2 / n
        if self.degree:
            middle = ((starts + stops - 1)[:, None] - len(self.values) + 1) / 2
            products = self.products[stops] - self.products[starts] - middle * values
            left -= products**2 / np.maximum(n * (n**2 - 1) / 12, 1)
        return (n * np.log((np.maximum(left, 0) + self.common) / (n + _PRIOR_ROWS) + self.rounding)).sum(1)


def _table(cost: _Cost, edges: Numbers, least: int) -> Floats:
    """Return the cost of the segments from any position (column) to any later one (row)."""
    table = np.full((len(edges), len(edges)), np.inf)
    for row, stop in enumerate(edges):
        n_starts = int(np.searchsorted(edges, stop - least, "right"))
        if n_starts:
            table[row, :n_starts] = cost(edges[:n_starts], np.full(n_starts, stop))
    return table


def _cheapest(table: Floats, penalty: float) -> list[int]:
    """Return the positions of the changes that minimise the costs of segments and a penalty per change."""
    best, previous = np.zeros(len(table)), np.zeros(len(table), dtype=np.intp)
    for row in range(1, len(table)):
        totals = best[:row] + table[row, :row]
        previous[row] = totals.argmin()
        best[row] = totals[previous[row]] + penalty
    places, row = [], len(table) - 1
    while previous[row]:
        row = int(previous[row])
        places.append(row)
    return places[::-1]


def _moved(cost: _Cost, points: list[int], reach: int, first: int = 0, last: int | None = None) -> list[int]:
    """Move each change to the best row within reach, which positions that are further apart have missed."""
    ends = [first, *points, len(cost.values) - 1 if last is None else last]
    for number in range(1, len(ends) - 1):
        start, point, stop = ends[number - 1 : number + 2]
        around = np.arange(max(start + 3, point - reach), min(stop - 3, point + reach) + 1)
        if reach and len(around):
            both = cost(np.full_like(around, start), around) + cost(around, np.full_like(around, stop))
            ends[number] = int(around[both.argmin()])
    return ends[1:-1]


def _gains(series: Floats, rounding: Floats, points: list[int], degree: int) -> list[float]:
    """Return by how much each change, but for its penalty, shortens the description of the two segments beside it."""
    gains = []
    for start, point, stop in zip([0, *points], points, [*points[1:], len(series)], strict=False):
        rows = series[start:stop]
        groups = (np.arange(stop - start) >= point - start).astype(np.intp)
        one, two = (
            sum(autoregression(*column, group).length for column in zip(left.T, rounding, strict=True))
            for left, group in (
                (without_segments(rows, [], degree), np.zeros_like(groups)),
                (without_segments(rows, [point - start], degree), groups),
            )
        )
        gains.append(float(one - two))
    return gains


def _tamed(series: Floats) -> Floats:
    """Move isolated values that are far from their neighbours nearer."""
    middle = median_filter(series, size=(_RUNNING, 1), mode="nearest")
    return middle + clipped(series - middle)


def clipped(values: Floats) -> Floats:
    """Clip values at five robust standard deviations."""
    limits = _TAME * deviations(values)
    return np.clip(values, -limits, limits)


def _between(points: Sequence[int], n: int) -> list[tuple[int, int]]:
    return list(zip([0, *points], [*points, n], strict=True))


def _times(n: int) -> Floats:
    return np.linspace(-1, 1, n)


def rounding_variance(series: Floats) -> Floats:
    """Return the variance of a choice between two neighbours among the values of a column: much if they are few.

    So rows that are equal because a column has few values do not seem to have no variance.
    """
    gaps = [np.ptp(column) / max(1, len(np.unique(column)) - 1) for column in series.T]
    return np.square(gaps) / 4
