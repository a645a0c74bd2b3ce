"""Means and deviations of columns, for estimators that bring columns to a common unit."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arrays import real_deviation

_BLOCK_ROWS = 2**14


@dataclass(frozen=True)
class ColumnScaling:
    """What is done to rows before distances are taken: a common origin taken off, and columns divided by their units.

    The origin leaves distances as they are, but far from zero it is what keeps their digits.

    Attributes
    ----------
    mean : ndarray of shape (d,)
        The origin: the mean of the samples together.
    scale : ndarray of shape (d,) or None
        The columns' standard deviations; None to leave their units.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64] | None

    @classmethod
    def of(cls, samples: Iterable[NDArray[np.float64]], scale: str) -> "ColumnScaling":
        """Learn from samples together; ``scale`` is "columns" or "none", as in the estimators."""
        samples = list(samples)
        if scale == "columns":
            return cls(*column_scaling(samples))
        return cls(sum(X.sum(0) for X in samples) / sum(map(len, samples)), None)

    @classmethod
    def of_columns(cls, samples: Iterable[NDArray[np.float64]], scale: str) -> "ColumnScaling":
        """Learn from samples together as `of` does, but leave rows as they are, origin too, where scale is "none"."""
        samples = list(samples)
        return cls(np.zeros(samples[0].shape[1]), None) if scale == "none" else cls.of(samples, scale)

    def __call__(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale rows."""
        return rows - self.mean if self.scale is None else (rows - self.mean) / self.scale


def column_scaling(samples: Iterable[NDArray[np.floating]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of each column over the rows of all samples; a constant column is only centred.

    A deviation that cannot be told from rounding, as 0.1 repeated has, is none. Where sums of squares overflow, the
    result is not finite.

    Parameters
    ----------
    samples : iterable of ndarray of shape (n, d)
        Samples of the same columns.

    Returns
    -------
    mean, scale : ndarray of shape (d,)
        What to take off, and what to divide by after that.

    Examples
    --------
    >>> import numpy as np
    >>> column_scaling([np.array([[1.0, 7.0]]), np.array([[3.0, 7.0], [5.0, 7.0]])])
    (array([3., 7.]), array([1.63299316, 1. ]))
    """
    samples = list(samples)
    n_rows = sum(len(X) for X in samples)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = sum(X.sum(0, dtype=np.float64) for X in samples) / n_rows
        # In blocks of rows: what is left of a large sample when its mean is taken off is another large array.
        parts = (X[start : start + _BLOCK_ROWS] for X in samples for start in range(0, len(X), _BLOCK_ROWS))
        variance = sum(((part - mean) ** 2).sum(0) for part in parts) / n_rows
    return mean, _usable(mean, np.sqrt(variance))


def standardised_samples(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre and scale the columns of each of many samples as `column_scaling` would for it alone.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n, d)
    """
    mean = samples.mean(1)
    result: NDArray[np.float64] = (samples - mean[:, None]) / _usable(mean, samples.std(1))[:, None]
    return result


def _usable(mean: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put 1 for a deviation that is none."""
    deviation = real_deviation(mean, scale)
    return np.where(deviation == 0, 1.0, deviation)
