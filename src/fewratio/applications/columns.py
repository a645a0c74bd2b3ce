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
    estimator: RatioEstimator, pooled: NDArray[np.float64], n_first: int, statistic: float
) -> NDArray[np.float64]:
    """Give how far the statistic falls when a column says nothing: all its values become their mean.

    Parameters
    ----------
    estimator : RatioEstimator
    pooled : ndarray of shape (n, d)
        The first sample, then the second.
    n_first : int
        Rows of the first sample.
    statistic : float
        The mean of the divergences in both directions, with all columns.

    Returns
    -------
    ndarray of shape (d,)
    """
    n_rows, n_features = pooled.shape
    means, drops = pooled.mean(0), np.empty(n_features)
    step = max(1, min(_BLOCK_COLUMNS, _BLOCK_VALUES // pooled.size))
    for start in range(0, n_features, step):
        columns = np.arange(start, min(start + step, n_features))
        tables = np.tile(pooled, (len(columns), 1, 1))
        tables[np.arange(len(columns)), :, columns] = means[columns, None]
        numbers = np.arange(tables.shape[0] * n_rows).reshape(-1, n_rows)
        rows = tables.reshape(-1, n_features)
        drops[columns] = (
            statistic - permute_pairs(estimator, rows, numbers[:, :n_first], numbers[:, n_first:]).statistic
        )
    return drops
