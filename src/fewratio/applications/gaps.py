"""Missing numbers of a series."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats
from fewratio.data.encoding import Encoding

# Longer gaps are not bridged by a line, which would look like a stretch without noise.
_SHORT = 5


def gap_marks(encoding: Encoding | None) -> dict[int, int]:
    """Return, for each feature whose missing numbers are marked, the feature that marks them."""
    columns = () if encoding is None else encoding.used
    marking = [column for column in columns if column.marks_missing and column.median is not None]
    places = [encoding.places[column.name] for column in marking] if encoding is not None else []
    return {place.start: place.stop - 1 for place in places}


def fill_gaps(values: Floats, is_gap: NDArray[Any]) -> None:
    """Fill gaps in place: short ones by interpolation, others by the rows beside them, mirrored.

    Parameters
    ----------
    values : ndarray of shape (n,)
    is_gap : ndarray of bool of shape (n,)
        Which rows are missing. If all are, nothing is done.

    Examples
    --------
    >>> values = np.array([1.0, np.nan, 3, 4])
    >>> fill_gaps(values, np.isnan(values))
    >>> values.tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    gaps, there = np.flatnonzero(is_gap), np.flatnonzero(~is_gap)
    n = len(there)
    if not len(gaps) or not n:
        return
    # How many rows that are there come before each that is missing.
    number = np.searchsorted(there, gaps)
    from_last, to_next = gaps - there[np.maximum(number - 1, 0)], there[np.minimum(number, n - 1)] - gaps
    is_first_half = (number == n) | ((number > 0) & (from_last <= to_next))
    # At an end of the series the mirror turns back.
    turn = np.where(is_first_half, number - from_last, number + to_next - 1) % (2 * n)
    beside = values[there[np.minimum(turn, 2 * n - 1 - turn)]]
    is_short = np.bincount(number)[number] <= _SHORT
    values[gaps] = np.where(is_short, np.interp(gaps, there, values[there]), beside)
