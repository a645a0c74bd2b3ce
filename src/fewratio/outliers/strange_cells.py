"""Cells unlike those of all normals: values outside their range, broken relations, new categories."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arrays import real_deviation
from fewratio.core.shapes import Floats
from fewratio.core.units import clip_to_middle

# With more columns, inverting the matrix would take longer than the rest, so only single columns are checked.
_MOST_COLUMNS = 2000


class StrangeCells:
    """How far each cell lies outside the range of the normals, in deviations, by itself and given the other columns.

    Each column is predicted from the others by a ridge regression on all rows (normals and batch), so that normals and
    batch are treated alike: the inverse of the slightly shrunk correlation matrix contains all regressions. Only the
    range is that of the normals. It grows with each normal, so another normal never moves a cell farther outside.

    Parameters
    ----------
    pooled : ndarray of shape (n, d)
        All rows, the normals first, with columns in units of their deviation.
    n_normals : int
    order : ndarray of int
        An order of the rows that depends only on their values.
    """

    def __init__(self, pooled: Floats, n_normals: int, order: NDArray[np.intp]) -> None:
        self.weights = np.empty((pooled.shape[1], 0))
        if 1 < pooled.shape[1] <= _MOST_COLUMNS:
            self.weights = _residual_weights(clip_to_middle(pooled[order], margin=1.0))
            residuals = clip_to_middle((pooled @ self.weights)[order], margin=1.0)
            deviation = real_deviation(np.ones(residuals.shape[1]), residuals.std(0))
            self.weights = np.where(deviation > 0, self.weights / np.where(deviation > 0, deviation, 1), 0.0)
        of_normals = self._features(pooled[:n_normals])
        # The second smallest and largest value too, for the range of all other normals.
        ordered = np.sort(of_normals, axis=0)
        self._low, self._high = ordered[[0, min(1, n_normals - 1)]], ordered[[-1, -min(2, n_normals)]]

    def __call__(self, rows: Floats, are_normals: bool = False) -> Floats:
        """Return how far cells lie outside the range of the normals; for normals, outside that of all other normals.

        Returns
        -------
        ndarray of shape (n, 2 d)
            Deviations of the columns by themselves, then given the other columns.
        """
        values = self._features(rows)
        low, high = self._low[0], self._high[0]
        if are_normals:
            low, high = np.where(values == low, self._low[1], low), np.where(values == high, self._high[1], high)
        return np.maximum(values - high, low - values).clip(0)

    def p_values(self, pooled: Floats, n_normals: int) -> Floats:
        """Return p-values for cells of the batch (see `rate_gaps`), with the same columns as `__call__`."""
        values = self._features(pooled).T
        return np.array([rate_gaps(each[:n_normals], each[n_normals:]) for each in values]).reshape(len(values), -1).T

    def _features(self, rows: Floats) -> Floats:
        # Rounded, so that the order of rows does not decide which of two equal values is outside.
        return np.round(np.concatenate([rows, rows @ self.weights], axis=1), 9)


def rate_gaps(normals: Floats, values: Floats) -> Floats:
    """Return a p-value for each value that a gap separates from all normals; 1 for values in their range.

    If there are few normals, clean rows exceed their range too, but without a wide gap. For an exponential tail, the
    difference between the j-th largest value and the next, times j, has the same mean for all j. So each gap outside
    the normals is compared with gaps further in (as many as the square root of the number of values) by an F
    distribution, and the p-value is multiplied by the number of gaps, sides and rows that the gap separates. It is
    slightly too small for heavier tails. Repeated values count once, as columns of few values have no tail, and a gap
    that separates more than half of the batch counts as a shift, not as an error.

    Examples
    --------
    >>> normals = np.arange(30.0)
    >>> rate_gaps(normals, np.array([3.0, 12.0, 31.0, 90.0])).round(3)
    array([1.   , 1.   , 1.   , 0.005])
    """
    found = np.ones(len(values))
    for side in (-1.0, 1.0):
        # From the outermost value inwards.
        ordered = np.unique(-side * np.concatenate([normals, values]))
        n_outside = int(np.searchsorted(ordered, (-side * normals).min()))
        n_inner = min(round((len(normals) + len(values)) ** 0.5), len(ordered) - n_outside - 1)
        rank = np.searchsorted(ordered, -side * values)
        is_outside = rank < n_outside
        if n_inner < 1 or not 0 < is_outside.sum() <= len(values) / 2:
            continue
        products = np.arange(1, len(ordered)) * np.diff(ordered)
        sums = np.cumsum(products)
        mean = (sums[n_inner : n_inner + n_outside] - sums[:n_outside]) / n_inner
        # Multiplied by the number of rows that a gap separates: that many would be listed by chance.
        n_rows = np.cumsum(np.bincount(rank[is_outside], minlength=n_outside))
        p_values = 2 * n_outside * n_rows * (1 + products[:n_outside] / mean / n_inner) ** -n_inner
        # A value lies beyond all gaps further in.
        beyond = np.minimum.accumulate(p_values[::-1])[::-1]
        found[is_outside] = np.minimum(1, beyond[rank[is_outside]])
    return found


def _residual_weights(rows: Floats) -> Floats:
    """Return a matrix that turns rows into residuals: what the other columns do not predict of each column."""
    n, d = rows.shape
    # Shrunk as if by one more row of uncorrelated columns, which suffices if columns are copies of each other.
    covariance = (n * np.cov(rows.T, bias=True) + np.eye(d)) / (n + 1)
    inverse = np.linalg.inv(covariance)
    return inverse / np.sqrt(np.diag(inverse))


def rate_new_categories(codes: Sequence[NDArray[np.intp]], n_normals: int) -> Floats:
    """Return how strange each row's category is if no normal has it; 0 if one has.

    The unit is the standard deviation of zeros and ones, with a share of ones equal to the share of the category among
    all rows plus the share of normals whose category is at least as rare: if hardly any normals share a category, as
    with names, a new category is not strange. A normal is compared with the other normals.

    Parameters
    ----------
    codes : sequence of ndarray of shape (n,)
        For each categorical column, the category numbers of all rows, the normals first; -1 if missing.
    n_normals : int

    Returns
    -------
    ndarray of shape (n, len(codes))

    Examples
    --------
    >>> rate_new_categories([np.array([0, 0, 0, 1, 0, 1, 2])], n_normals=4).T.round(2)
    array([[0.  , 0.  , 0.  , 1.58, 0.  , 0.  , 2.45]])
    """
    result = np.zeros((len(codes[0]), len(codes)))
    for column, of_rows in enumerate(codes):
        places, n = of_rows + 1, len(of_rows)
        count = np.bincount(places)[places]
        known = np.bincount(places[:n_normals], minlength=places.max() + 1)[places]
        known[:n_normals] -= 1
        n_as_seldom = np.searchsorted(np.sort(count[:n_normals]), count, side="right")
        n_as_seldom[:n_normals] -= 1
        share = count / n + n_as_seldom / n_normals
        result[:, column] = np.where(known == 0, np.sqrt((1 - share).clip(0) / share), 0)
    return result
