"""Costs of segments of a series, from cumulative sums: find the best segments, and the gain of single splits."""

import numpy as np
from scipy.ndimage import median_filter
from scipy.special import xlogy

from fewratio.core.shapes import Floats, Numbers

# The common variance counts as this many rows of each segment, so that a few equal rows are not infinitely likely.
PRIOR_ROWS = 2.0
# The search chooses among this many positions; in a longer series each change then moves to the best row nearby.
POSITIONS = 1000
# At most this many changes, times the square root of the number of rows.
MOST_CHANGES = 0.5
# Rows of the running median, which removes isolated values.
_RUNNING = 7
# A value with a larger share of the rows is modelled by its probability.
_ATOM = 0.25
# Rows on either side of a split that is tried.
_LEAST_SPLIT = 5


class Cost:
    """Minus twice the log likelihood of consecutive rows as one segment, from cumulative sums.

    `common` is the variance of the noise. If sorted `positions` are passed, segments begin and end only there, which
    saves memory for a long series.
    """

    def __init__(
        self, series: Floats, common: Floats, degree: int, rounding: Floats, positions: Numbers | None = None
    ) -> None:
        self.n_rows, self.degree, self.rounding, self.positions = len(series), degree, rounding, positions
        self.common = PRIOR_ROWS * (common + 1e-12)
        n_positions = self.n_rows + 1 if positions is None else len(positions)
        self.values, self.squares, self.products = np.empty((3, n_positions, series.shape[1]))
        time = np.arange(self.n_rows) - self.n_rows / 2
        for place, column in enumerate(series.T):
            self.values[:, place] = self._sums(column)
            self.squares[:, place] = self._sums(column**2)
            self.products[:, place] = self._sums(time * column)

    def _sums(self, column: Floats) -> Floats:
        sums = np.zeros(len(column) + 1)
        np.cumsum(column, out=sums[1:])
        return sums if self.positions is None else sums[self.positions]

    def __call__(self, starts: Numbers, stops: Numbers) -> Floats:
        """Return the costs of the segments between `starts` and `stops`."""
        return self.by_column(starts, stops).sum(1)

    def by_column(self, starts: Numbers, stops: Numbers) -> Floats:
        """Return the costs of the segments in each column."""
        n = (stops - starts)[:, None].astype(float)
        middle = ((starts + stops - 1)[:, None] - self.n_rows) / 2
        if self.positions is not None:
            starts, stops = (np.searchsorted(self.positions, each) for each in (starts, stops))
        values = self.values[stops] - self.values[starts]
        left = self.squares[stops] - self.squares[starts] - values**2 / n
        if self.degree:
            products = self.products[stops] - self.products[starts] - middle * values
            left -= products**2 / np.maximum(n * (n**2 - 1) / 12, 1)
        return n * measure_row((np.maximum(left, 0) + self.common) / (n + PRIOR_ROWS), self.rounding)


def measure_row(variances: Floats, rounding: Floats) -> Floats:
    """Return minus twice the mean log likelihood of a row, up to a constant, given `rounding_variance`.

    It is the logarithm of the variance; for columns of two values, the entropy of the shares with this variance.
    """
    has_two = rounding < 0
    lengths = np.log(np.where(has_two, 1.0, np.maximum(variances, rounding)))
    if has_two.any():
        share = (1 - np.sqrt(np.maximum(1 + 4 * variances[..., has_two] / rounding[has_two], 0))) / 2
        lengths[..., has_two] = -2 * (xlogy(share, share) + xlogy(1 - share, 1 - share))
    return lengths


def tabulate_costs(cost: Cost, edges: Numbers, least: int) -> Floats:
    """Return the cost of the segments from any position (column) to any later one (row)."""
    table = np.full((len(edges), len(edges)), np.inf)
    for row, stop in enumerate(edges):
        n_starts = int(np.searchsorted(edges, stop - least, "right"))
        if n_starts:
            table[row, :n_starts] = cost(edges[:n_starts], np.full(n_starts, stop))
    return table


def find_cheapest(table: Floats, penalty: float) -> list[int]:
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


def refine_points(cost: Cost, points: list[int], reach: int, first: int = 0, last: int | None = None) -> list[int]:
    """Move each change to the best row within reach: the search tries only some positions."""
    ends = [first, *points, cost.n_rows if last is None else last]
    for number in range(1, len(ends) - 1):
        start, point, stop = ends[number - 1 : number + 2]
        around = np.arange(max(start + 3, point - reach), min(stop - 3, point + reach) + 1)
        if reach and len(around):
            both = cost(np.full_like(around, start), around) + cost(around, np.full_like(around, stop))
            ends[number] = int(around[both.argmin()])
    return ends[1:-1]


class SplitGains:
    """The gain in likelihood of a split at a row, for neighbourhoods of all sizes.

    Parameters
    ----------
    series : ndarray of shape (n, d)
    """

    def __init__(self, series: Floats) -> None:
        self.n_rows = n = len(series)
        spread = np.where(np.ptp(series, axis=0) > 0, series.std(0), 1.0)
        scaled = (series - series.mean(0)) / np.where(spread > 0, spread, 1.0)
        self._cost = Cost(scaled, estimate_noise(scaled), 0, rounding_variance(scaled))
        self._edges = np.unique(np.linspace(0, n, min(n, POSITIONS) + 1).astype(np.intp))

    def list_positions(self, start: int, stop: int) -> Numbers:
        """Return the rows between `start` and `stop` at which a split is tried."""
        return self._edges[(self._edges >= start + _LEAST_SPLIT) & (self._edges <= stop - _LEAST_SPLIT)]

    def best(self, start: int, stop: int) -> Floats:
        """Return the largest gain of each of these splits."""
        return self._largest(start, self.list_positions(start, stop), stop)

    def at(self, start: int, point: int, stop: int) -> float:
        """Return the largest gain of a split at one row."""
        return float(self._largest(start, np.array([point]), stop)[0])

    def _largest(self, start: int, positions: Numbers, stop: int) -> Floats:
        """Return the largest gain over neighbourhoods within `start` and `stop`, each twice as large as the last."""
        found, reach = np.full(len(positions), -np.inf), 2 * _LEAST_SPLIT
        while len(positions):
            starts, stops = np.maximum(positions - reach, start), np.minimum(positions + reach, stop)
            gains = self._cost(starts, stops) - self._cost(starts, positions) - self._cost(positions, stops)
            found, reach = np.maximum(found, gains), 2 * reach
            if reach >= 2 * (stop - start):
                break
        return found

    def find_nearby(self, start: int, point: int, stop: int) -> int:
        """Return the best row for a split near a position."""
        return refine_points(self._cost, [point], (self._cost.n_rows + 1) // POSITIONS, start, stop)[0]


def estimate_noise(series: Floats) -> Floats:
    """Estimate the variance of the noise of each column from the steps between rows."""
    return np.diff(series, axis=0).var(0) / 2


def rounding_variance(series: Floats) -> Floats:
    """Return the smallest variance that segments of each column may have, given its resolution.

    A column of few values is often constant for some rows, which must not count as rows without variance. The smallest
    variance is that of a choice between two neighbouring values. If one value is very frequent, such as no rain, a run
    of n of them gains no more likelihood than its probability allows: the share of that value to the power of n. A
    column that stays at each value for long has a quarter of the variance of one move in all rows, so that each of its
    steps is a change. For columns of two values, minus their squared distance is returned: their variance is that of a
    share.
    """
    least = []
    for column in series.T:
        values, counts = np.unique(column, return_counts=True)
        gap = np.median(np.diff(values)) if len(values) > 1 else 0.0
        share = counts.max() / len(column)
        if is_staircase(column):
            least.append(gap**2 / (4 * len(column)))
        elif has_two_values(column):
            least.append(-float(gap**2))
        else:
            least.append(max(gap**2 / 4, share**2 * column.var() if share > _ATOM else 0.0))
    return np.array(least)


def has_two_values(column: Floats) -> bool:
    """Return whether a column has two values, so that their shares determine its spread."""
    return len(np.unique(column)) == 2


def is_share(column: Floats) -> bool:
    """Return whether a column consists of alternating zeros and ones."""
    return has_two_values(column) and column.min() == 0 and column.max() == 1 and not is_staircase(column)


def running_median(column: Floats) -> Floats:
    """Return a column without isolated values."""
    return np.asarray(median_filter(column, _RUNNING, mode="nearest"))


def is_staircase(column: Floats) -> bool:
    """Return whether a column moves for more than a few rows, but no more often than it may change."""
    least = 1e-9 * np.ptp(column)
    n_moves = np.count_nonzero(np.abs(np.diff(column)) > least)
    moves_on = np.ptp(running_median(column)) > least
    return bool(moves_on) and n_moves <= MOST_CHANGES * np.sqrt(len(column))
