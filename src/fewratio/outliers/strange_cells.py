"""Cells of a batch unlike those of all normals: values outside their range, broken relations, categories never seen."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arrays import real_deviation
from fewratio.core.shapes import Floats
from fewratio.core.units import clip_to_middle

# Inverting a larger matrix takes longer than the rest of a score; then only single columns are checked.
_MOST_COLUMNS = 2000


class StrangeCells:
    """How far each cell of a row lies outside the normals, in deviations: by itself, and given the row's other cells.

    What the others predict of a column is a ridge regression on all rows, normals and batch, so that no row's place
    among them counts: the inverse of their correlations, a little shrunken, has the regressions of all columns. Only
    the range of the normals is theirs alone. It grows with each normal, so that no cell is farther outside with one
    more.

    Parameters
    ----------
    pooled : ndarray of shape (n, d)
        All rows in units of their columns' deviations, normals first.
    n_normals : int
    order : ndarray of int
        An order of the rows that depends on nothing but their values.
    """

    def __init__(self, pooled: Floats, n_normals: int, order: NDArray[np.intp]) -> None:
        self.weights = np.empty((pooled.shape[1], 0))
        if 1 < pooled.shape[1] <= _MOST_COLUMNS:
            self.weights = _residual_weights(clip_to_middle(pooled[order], margin=1.0))
            residuals = clip_to_middle((pooled @ self.weights)[order], margin=1.0)
            deviation = real_deviation(np.ones(residuals.shape[1]), residuals.std(0))
            self.weights = np.where(deviation > 0, self.weights / np.where(deviation > 0, deviation, 1), 0.0)
        of_normals = self._features(pooled[:n_normals])
        # The second largest and smallest as well: the range of all normals but one.
        ordered = np.sort(of_normals, axis=0)
        self._low, self._high = ordered[[0, min(1, n_normals - 1)]], ordered[[-1, -min(2, n_normals)]]

    def __call__(self, rows: Floats, are_normals: bool = False) -> Floats:
        """Return how far cells lie outside the range of the normals; where rows are normals, of all others.

        Returns
        -------
        ndarray of shape (n, 2 d)
            Of the columns by themselves, then given the others.
        """
        values = self._features(rows)
        low, high = self._low[0], self._high[0]
        if are_normals:
            low, high = np.where(values == low, self._low[1], low), np.where(values == high, self._high[1], high)
        return np.maximum(values - high, low - values).clip(0)

    def p_values(self, pooled: Floats, n_normals: int) -> Floats:
        """Rate the gaps that separate cells of the batch from all normals; columns are those of a call."""
        values = self._features(pooled).T
        return np.array([rate_gaps(each[:n_normals], each[n_normals:]) for each in values]).reshape(len(values), -1).T

    def _features(self, rows: Floats) -> Floats:
        # Rounded: the order of rows must not decide which of two is outside.
        return np.round(np.concatenate([rows, rows @ self.weights], axis=1), 9)


def rate_gaps(normals: Floats, values: Floats) -> Floats:
    """Return a p-value for each value that is separated from all normals by a gap; 1 for those in their range.

    Where normals are few, a batch of clean rows exceeds their range. It leaves no wide gap, though: if the tail of all
    values falls exponentially, the difference of the j-th largest value and the next, times j, has the mean that such
    products have further in. The p-value is that of the F distribution, by the square root of the number of values
    further in, times the number of gaps, sides and rows that the gap separates. Heavier tails have wider gaps, so that
    it is a little too small for them. Values count once, as columns of few values have no tail, and a gap that
    separates half of the batch is a shift.

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
        # Times the rows that a gap separates: as many would be listed by chance.
        n_rows = np.cumsum(np.bincount(rank[is_outside], minlength=n_outside))
        p_values = 2 * n_outside * n_rows * (1 + products[:n_outside] / mean / n_inner) ** -n_inner
        # A value lies beyond all gaps further in.
        beyond = np.minimum.accumulate(p_values[::-1])[::-1]
        found[is_outside] = np.minimum(1, beyond[rank[is_outside]])
    return found


def _residual_weights(rows: Floats) -> Floats:
    """Return a matrix by which a row becomes what each column is off from what the others predict of it."""
    n, d = rows.shape
    # As if one row more had been seen, of columns without relations: enough where columns repeat each other.
    covariance = (n * np.cov(rows.T, bias=True) + np.eye(d)) / (n + 1)
    inverse = np.linalg.inv(covariance)
    return inverse / np.sqrt(np.diag(inverse))


def rate_new_categories(codes: Sequence[NDArray[np.intp]], n_normals: int) -> Floats:
    """Return how strange each row's category is if no normal has it; 0 if one has.

    That is in deviations of zeros and ones with the share of ones that this category has among all rows, plus that of
    the normals whose category is as seldom: where hardly any normal shares its category, as with names, a new one is
    not strange. A normal is compared with the others.

    Parameters
    ----------
    codes : sequence of ndarray of shape (n,)
        Of each column of categories those of all rows, the normals first; -1 for what is missing.
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
