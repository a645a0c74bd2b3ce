"""Describe changes: which column changed, in its level, spread, slope, season or share."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from fewratio.changes.segment_costs import is_share, measure_row, rounding_variance
from fewratio.changes.segmentation import KINKED, Segmentation, subtract_segments, tame
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.wording import write_apart, write_fixed, write_list, write_number, write_share, write_signed

# Numbers of the columns that changed at a moment, and what changed in each.
Named: TypeAlias = list[tuple[int, str]]
# A column has slow swings if the previous row explains at least this share of its variance.
_SLOW = 0.5
# The names of features that mark missing values end like this.
_MISSING = " is missing"
# The note about columns with slow swings.
_IS_SLOW = (
    "each row is much like the one before, so rises and falls that build up slowly count as noise, however large. To "
    "see them as changes, pass swings='changes' (in a shell --swings changes)."
)


def name_changes(found: Segmentation, points: list[int], degree: int) -> list[Named]:
    """Return the columns that changed at each point, the clearest first, by number, and what changed in each.

    It is level, spread or slope, whichever raises the likelihood most, or distribution if none raises it much. In
    columns of alternating zeros and ones, it is the share.
    """
    least = rounding_variance(found.rows) + 1e-18 * np.ptp(found.rows, axis=0) ** 2 + 1e-300
    # An outlier would count as a change of spread; columns of two values have no outliers.
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
        total = np.sum(list(gains.values()), axis=0)
        stuck = found.standstills.get(point, [])
        column = found.owners.get(point, int(total.argmax()))
        # Other columns are named if chance would seldom do as much in any column of this length.
        is_clear = total > 2 * np.log(n * len(total))
        others = [each for each in np.argsort(-total).tolist() if each != column and is_clear[each]]
        of_point = [(each, "standstill") for each in stuck]
        for each in [column] * (not stuck or point == found.stop) + others:
            # What stands still changes only where that begins or ends.
            if each in found.still and found.still[each][point - 1 : point + 1].any():
                continue
            kind = max(gains, key=lambda kind: gains[kind][each])
            kind = kind if gains[kind][each] > 2 * np.log(n) else "distribution"
            kind = "share" if is_share(found.rows[:, each]) else kind
            kind = "season" if point == found.stop and each == column else kind
            # A spread that swings by itself is no reason to name a column beside another.
            if each == column or kind not in ("spread", "distribution") or not found.swings.saved[each]:
                of_point.append((each, kind))
        named.append(of_point)
    return named


def fit_slope(rows: Numbers, values: Floats) -> float:
    """Return the slope of a line through values at some rows; 0 for a single one."""
    places = rows - rows.mean()
    return float((places * values).sum() / (float((places**2).sum()) or 1.0))


def describe_change(change: dict[str, Any]) -> str:
    """Describe a change, without its time.

    Examples
    --------
    >>> describe_change({"column": "flow", "kind": "level", "level_before": 1097.75, "level_after": 849.97})
    'flow fell from 1098 to 850'
    """
    name, kind = column_title(change["column"]), change["kind"]
    if kind == "level":
        levels = change["level_before"], change["level_after"]
        if is_missing(name):
            if set(levels) == {0, 1}:
                has = "has no values" if levels[1] else "has values"
                shares = " -> ".join(map(write_share, levels))
                return f"{name.removesuffix(_MISSING)} {has} from then on (missing: {shares} of the rows)"
            more = "more" if levels[1] > levels[0] else "less"
            return f"{name} {more} often, from {' to '.join(map(write_share, levels))} of the rows"
        return f"{name} {'rose' if levels[1] > levels[0] else 'fell'} from {' to '.join(write_pair(*levels))}"
    if kind == "share":
        means = change["mean_before"], change["mean_after"]
        more = "more" if means[1] > means[0] else "less"
        if is_missing(name):
            return f"{name} {more} often, from {' to '.join(map(write_share, means))} of the rows"
        return f"{name} became {more} frequent, from {' to '.join(map(write_share, means))} of the rows"
    if kind == "spread":
        spreads = change["deviation_before"], change["deviation_after"]
        more = "more" if spreads[1] > spreads[0] else "less"
        rose = "rose" if spreads[1] > spreads[0] else "fell"
        return f"{name} varies {more}: its deviation {rose} from {' to '.join(write_pair(*spreads))}"
    if kind == "standstill":
        before, after = (write_number(change[f"mean_{side}"]) for side in ("before", "after"))
        if change["deviation_after"] > change["deviation_before"]:
            return f"{name} moves again, after standing still at {before}"
        return f"{name} stands still at {after}, after a mean of {before}"
    if kind == "season":
        return f"the season of {name} stopped, began or changed its size"
    if kind == "slope":
        slopes = change["slope_before"], change["slope_after"]
        signed = list(map(write_signed, slopes))
        if signed[0] == signed[1]:
            signed = [text if text.startswith("-") else f"+{text}" for text in write_apart(*slopes)]
        return f"the trend of {name} changed from {' to '.join(signed)} per row"
    return f"the distribution of {name} changed"


def write_pair(before: float, after: float) -> list[str]:
    """Write two numbers so that they differ, with the same decimals if they are of similar size.

    Examples
    --------
    >>> write_pair(40.46, 39.907), write_pair(21.35, 24.0), write_pair(0.0125, 9.1)
    (['40.460', '39.907'], ['21.35', '24.00'], ['0.0125', '9.1'])
    """
    texts = write_apart(before, after)
    low, high = sorted(map(abs, (before, after)))
    if high > 10 * low or any("e" in text for text in texts):
        return texts
    n_decimals = max(len(text.partition(".")[2]) for text in texts)
    return [write_fixed(value, n_decimals) for value in (before, after)]


def is_missing(name: str) -> bool:
    """Return whether a feature says where a column has no value."""
    return name.endswith(_MISSING)


def describe_columns(change: dict[str, Any]) -> str:
    """Describe a change in all columns that changed, or in the clearest ones."""
    return write_list((describe_change(each) for each in (change, *change["also"])), separator="; ")


def column_title(name: str) -> str:
    """Return the title of a column; columns of arrays are numbered."""
    return f"column {name}" if name.isdecimal() else name


def is_slow(note: str) -> bool:
    """Return whether a note says that slow swings may hide changes."""
    return note.endswith(_IS_SLOW)


def write_notes(found: Segmentation, names: Sequence[str], is_test: bool) -> list[str]:
    """Write notes on assumptions about the columns, and on the limits of the result."""
    limit = " The level of the test is approximate." if is_test else ""
    left = found.residuals - found.residuals.mean(0)
    explained = (left[1:] * left[:-1]).sum(0) / np.maximum((left**2).sum(0), 1e-300)
    may_be_slow = (explained > np.sqrt(_SLOW)) & (not found.points and not is_test)
    scales = np.array(found.scales)
    by_text = {
        "logarithms are compared, as rows differ by factors rather than by steps.": scales == "logarithms",
        "square roots are compared, as larger counts vary more.": scales == "square roots",
        f"calm and wild stretches alternate by themselves; these are not changes.{limit}": found.swings.saved > 0,
        _IS_SLOW: may_be_slow,
    }
    notes = [
        f"{write_list(name for name, is_so in zip(names, each, strict=False) if is_so)}: {text}"
        for text, each in by_text.items()
        if each[: len(names)].any()
    ]
    if found.tie is not None:
        notes.append(
            f"A step at row {found.tie} and a line explain the rows about equally well. If you know that there is no "
            "trend, trend=False (in a shell --no-trend) may find the step."
        )
    return notes
