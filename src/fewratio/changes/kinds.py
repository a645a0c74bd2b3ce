"""What changed at a moment: which column, and its level, spread, slope, season or share."""

from collections.abc import Sequence

import numpy as np

from fewratio.changes.segment_costs import is_share, measure_row, rounding_variance
from fewratio.changes.segmentation import KINKED, Segmentation, subtract_segments, tame
from fewratio.core.shapes import Floats


def name_changes(found: Segmentation, points: list[int], degree: int) -> list[tuple[int, str]]:
    """Return the number of the column that changed most at each point, and what changed in it.

    What changed is whichever raises the likelihood most: level, spread or slope; distribution if none does much. If the
    column has zeros and ones that alternate, the share changes.
    """
    least = rounding_variance(found.rows) + 1e-18 * np.ptp(found.rows, axis=0) ** 2 + 1e-300
    # A wild value would count as a change of the spread; two values have none.
    rows = found.rows - found.background
    rows = np.where(least < 0, rows, tame(rows))
    ends, named = [0, *points, len(rows)], []
    for start, point, stop in zip(ends, ends[1:-1], ends[2:], strict=False):
        part, place, n = rows[start:stop], point - start, stop - start

        def lengthen(left: Floats) -> Floats:
            return len(left) * measure_row((left**2).mean(0), least)

        without = subtract_segments(part, [], min(abs(degree), 1))
        last = subtract_segments(part, [place], degree)
        gains = {"slope": np.zeros(rows.shape[1])}
        if degree == KINKED:
            gains["slope"] = lengthen(without) - lengthen(last)
        elif degree:
            step = subtract_segments((np.arange(n) >= place)[:, None].astype(float), [], 1)
            parallel = without - step * ((step * without).sum(0) / max(float((step**2).sum()), 1e-300))
            gains["level"] = lengthen(without) - lengthen(parallel)
            gains["slope"] = lengthen(parallel) - lengthen(last)
        else:
            gains["level"] = lengthen(without) - lengthen(last)
        if degree != KINKED:
            gains["spread"] = lengthen(last) - lengthen(last[:place]) - lengthen(last[place:])
        column = int(np.sum(list(gains.values()), axis=0).argmax())
        kind = max(gains, key=lambda each: gains[each][column])
        kind = kind if gains[kind][column] > 2 * np.log(n) else "distribution"
        kind = "share" if is_share(found.rows[:, column]) else kind
        named.append((column, "season" if point == found.stop else kind))
    return named


def write_notes(found: Segmentation, names: Sequence[str], is_test: bool) -> list[str]:
    """Say what was guessed about the columns, and what the answer does not cover."""
    limit = " The level of the test is approximate." if is_test else ""
    by_text: dict[str, list[str]] = {}
    for name, is_log, swings in zip(names, found.is_log, found.swings.saved, strict=False):
        said = {
            "logarithms are compared, as rows differ by factors rather than by steps.": is_log,
            f"calm and wild stretches alternate by themselves; these are not changes.{limit}": swings,
        }
        for text in said:
            by_text.setdefault(text, []).extend([name] * bool(said[text]))
    notes = [f"{', '.join(named)}: {text}" for text, named in by_text.items() if named]
    if found.tie is not None:
        notes.append(
            f"A step at row {found.tie} and a line explain the rows about equally well. If you know that there is no "
            "trend, say so: trend=False, in a shell --no-trend."
        )
    return notes
