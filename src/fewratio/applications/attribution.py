"""Which columns make two samples differ."""

import numpy as np
from numpy.typing import NDArray

from fewratio.applications.permutation import permute_pairs
from fewratio.estimators.base import RatioEstimator

# Columns left out in one call, and values of their tables (32 MB). More would not be faster: the distances between the
# tables of two columns are of no use.
_BLOCK_COLUMNS = 8
_BLOCK_VALUES = 2**22


def drops_without_columns(
    estimator: RatioEstimator, first: NDArray[np.float64], second: NDArray[np.float64], statistic: float
) -> NDArray[np.float64]:
    """Give how far the statistic falls when a column says nothing: all its values become their mean.

    A column that only adds noise has a drop of zero or less. Of columns that tell the same, each has a small drop
    only, for the others still tell it.

    Parameters
    ----------
    estimator : RatioEstimator
    first, second : ndarray of shape (n_first, d) and (n_second, d)
        The samples.
    statistic : float
        The mean of the divergences in both directions, with all columns.

    Returns
    -------
    ndarray of shape (d,)
    """
    pooled = np.concatenate([first, second])
    n_rows, n_features = pooled.shape
    means, drops = pooled.mean(0), np.empty(n_features)
    step = max(1, min(_BLOCK_COLUMNS, _BLOCK_VALUES // pooled.size))
    for start in range(0, n_features, step):
        columns = np.arange(start, min(start + step, n_features))
        tables = np.tile(pooled, (len(columns), 1, 1))
        tables[np.arange(len(columns)), :, columns] = means[columns, None]
        numbers = np.arange(tables.shape[0] * n_rows).reshape(-1, n_rows)
        rows = tables.reshape(-1, n_features)
        without = permute_pairs(estimator, rows, numbers[:, : len(first)], numbers[:, len(first) :])
        drops[columns] = statistic - without.statistic
    return drops
