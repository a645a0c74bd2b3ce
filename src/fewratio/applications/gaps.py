"""Missing numbers of a series."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats

# Longer gaps are not bridged by a line, which would look like a stretch without noise.
_SHORT = 5


def fill_gaps(values: Floats, is_gap: NDArray[Any]) -> None:
    """Fill gaps in place: short ones by interpolation, others by the rows beside them, mirrored.

    Parameters
    ----------
    values : ndarray of shape (n,)
    is_gap : ndarray of bool of shape (n,)
        Which rows are missing. If all are, nothing is done.

    Examples
    --------
    >>> values = np.array([1.0, np.nan, 3, 4, 5, 6, 7, 8])
    >>> fill_gaps(values, np.isnan(values))
    >>> values.tolist()
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    """
    gaps, there = np.flatnonzero(is_gap), np.flatnonzero(~is_gap)
    if not len(gaps) or not len(there):
        return
    number = np.searchsorted(there, gaps)
    before, after = there[np.maximum(number - 1, 0)], there[np.minimum(number, len(there) - 1)]
    nearest = np.where(gaps - before <= after - gaps, before, after)
    mirrored = np.clip(2 * nearest + np.sign(gaps - nearest) - gaps, 0, len(values) - 1)
    beside = values[np.where(is_gap[mirrored], nearest, mirrored)]
    values[gaps] = np.where(after - before <= _SHORT + 1, np.interp(gaps, there, values[there]), beside)
