"""Missing numbers in a series."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.changes.seasons import find_period
from fewratio.core.shapes import Floats
from fewratio.data.encoding import Encoding

# Longer gaps are not bridged by a line, which would look like a stretch without noise.
SHORT_GAP = 5


def find_marks(encoding: Encoding | None) -> dict[int, int]:
    """Return, for each feature whose missing values are marked, the number of the feature that marks them."""
    columns = () if encoding is None else encoding.used
    marking = [column for column in columns if column.marks_missing and column.median is not None]
    places = [encoding.places[column.name] for column in marking] if encoding is not None else []
    return {value: place.stop - 1 for place in places for value in range(place.start, place.stop - 1)}


def mark_long_gaps(is_gap: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows are in a gap too long to be bridged by a line, or in one at an end of the series."""
    there = np.flatnonzero(~is_gap)
    number = np.searchsorted(there, np.arange(len(is_gap)))
    sizes = np.bincount(number[is_gap], minlength=len(there) + 1)
    sizes[[0, -1]] *= SHORT_GAP + 1
    return np.asarray(is_gap & (sizes[number] > SHORT_GAP))


def describe_gap(is_gap: NDArray[Any], point: int, names: Sequence[str] | None) -> str:
    """Name the rows at both ends of a long gap around a row; "" if there is none."""
    there = np.flatnonzero(~is_gap)
    number = int(there.searchsorted(point))
    if number in (0, len(there)) or there[number] - there[number - 1] <= SHORT_GAP + 1:
        return ""
    ends = [f"row {row}" if names is None else f"row {row} ({names[row]})" for row in there[number - 1 : number + 1]]
    return " and ".join(ends)


def fill_gaps(values: Floats, is_gap: NDArray[Any]) -> None:
    """Fill gaps in place: short ones by interpolation, long ones with nearby rows, mirrored or a period away.

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
    # How many present rows come before each missing one.
    number = np.searchsorted(there, gaps)
    from_last, to_next = gaps - there[np.maximum(number - 1, 0)], there[np.minimum(number, n - 1)] - gaps
    is_first_half = (number == n) | ((number > 0) & (from_last <= to_next))
    # The mirrored rows are reflected at the ends of the series.
    turn = np.where(is_first_half, number - from_last, number + to_next - 1) % (2 * n)
    filled = there[np.minimum(turn, 2 * n - 1 - turn)]
    is_long = np.bincount(number)[number] > SHORT_GAP
    if is_long.any():
        period = find_period(np.where(is_gap, values[there].mean(), values)[:, None])
        if period:
            # The nearest row of the same phase.
            for step in (-period, period):
                away = np.ceil((from_last if step < 0 else to_next + 1) / period)
                phase = gaps + np.round(away * step).astype(np.intp)
                is_there = (phase >= 0) & (phase < len(values)) & (is_first_half if step < 0 else ~is_first_half)
                is_there[is_there] = ~is_gap[phase[is_there]]
                filled[is_there] = phase[is_there]
    # A column of two values is not interpolated.
    is_copied = is_long | (len(np.unique(values[there])) == 2)
    values[gaps] = np.where(is_copied, values[filled], np.interp(gaps, there, values[there]))
