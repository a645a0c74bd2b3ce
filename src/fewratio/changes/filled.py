"""Changes that only the values filled into long gaps show."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from fewratio.changes.gaps import SHORT_GAP, mark_long_gaps
from fewratio.changes.kinds import Named
from fewratio.changes.segment_costs import measure_row, rounding_variance
from fewratio.changes.segmentation import Segmentation, tame
from fewratio.core.shapes import Floats


def drop_filled(
    found: Segmentation, points: list[int], named: list[Named], gaps: Mapping[int, NDArray[np.bool_]], degree: int
) -> list[Named]:
    """Leave out changes of a column that the values beside its long gaps do not show.

    A gap at an end of the series has values on one side only, so no change at it is known but that they are missing.
    Changes within one gap are one: the values before it differ from those after it.

    Parameters
    ----------
    found : Segmentation
    points : list of int
        The first rows after each change.
    named : list of Named
        The columns that changed at each point, and what changed, by `name_changes`.
    gaps : mapping of int to ndarray of bool
        In which rows each column is missing, if it is in any.
    degree : int
        Of the segments, as in `name_changes`.
    """
    kept = [list(each) for each in named]
    for column, is_gap in gaps.items():
        is_long = mark_long_gaps(is_gap)
        if not is_long.any():
            continue
        rows = found.rows[:, [column]]
        least = rounding_variance(rows)[0] + 1e-18 * np.ptp(rows) ** 2 + 1e-300
        values = rows - found.background[:, [column]]
        values = np.where(is_gap, np.nan, (values if least < 0 else tame(values))[:, 0])
        for numbers, start, stop in _group(points, is_gap):
            hits = [each for each in numbers if dict(named[each]).get(column, "season") != "season"]
            # Beside a gap, too.
            if not hits or not is_long[max(0, start - 1) : stop + 1].any():
                continue
            first, last = points[numbers[0]], points[numbers[-1]]
            gain = _compare(values[start:stop], first - start, last - start, min(abs(degree), 1), least)
            shown = hits[len(hits) // 2] if gain > 2 * np.log(len(rows) * found.rows.shape[1]) else None
            for number in hits:
                if number != shown:
                    kept[number] = [each for each in kept[number] if each[0] != column]
    return kept


def _group(points: list[int], is_gap: NDArray[np.bool_]) -> Iterator[tuple[list[int], int, int]]:
    """Yield the numbers of points with hardly any values between them, and where the segments beside these end."""
    ends = [0, *points, len(is_gap)]
    together: list[int] = []
    for number in range(len(points)):
        together.append(number)
        after = ~is_gap[ends[number + 1] : ends[number + 2]]
        if after.sum() >= min(SHORT_GAP, len(after)) or number == len(points) - 1:
            yield together, ends[together[0]], ends[number + 2]
            together = []


def _compare(values: Floats, first: int, last: int, degree: int, least: float) -> float:
    """Return what separate lines before the first and from the last of some rows add to twice the log likelihood."""
    rows = np.flatnonzero(~np.isnan(values))
    before, after = rows[rows < first], rows[rows >= last]
    if min(len(before), len(after)) < SHORT_GAP:
        return 0.0

    def measure(some: NDArray[np.intp]) -> float:
        design = np.vander(some / len(values), degree + 1)
        left = values[some] - design @ np.linalg.lstsq(design, values[some])[0]
        return len(some) * float(measure_row((left**2).mean(keepdims=True), np.array([least]))[0])

    return measure(np.concatenate([before, after])) - measure(before) - measure(after)
