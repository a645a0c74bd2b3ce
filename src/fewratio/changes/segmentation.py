"""Cut a series into segments: a penalised search that does not mistake trends, seasons and dependence for changes.

Each segment has its own level, spread and perhaps slope in each column; or one line has kinks. Dynamic programming over
a falling penalty proposes segmentations; smooth trends without changes compete with them. The one with the best
penalised likelihood of its residuals is chosen. The residuals are modelled as an autoregression whose spread may swing,
so that dependence does not look like a change. Each change is then confirmed: simulated series with the same noise but
without the change must rarely gain as much from one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.changes.gaps import fill_gaps
from fewratio.changes.noise import (
    AKAIKE_PRICE,
    CONTRADICTION,
    SHORT,
    Simulator,
    Swings,
    fit_autoregressions,
    fit_swings,
)
from fewratio.changes.seasons import propose_seasons, resize_season
from fewratio.changes.segment_costs import (
    MOST_CHANGES,
    POSITIONS,
    Cost,
    estimate_noise,
    find_cheapest,
    is_staircase,
    refine_points,
    rounding_variance,
    running_median,
    tabulate_costs,
)
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import clip_far
from fewratio.progress import OnStep, progress_bar

# The price of a parameter, in units of log n: level and spread together cost 3 log n, as in the modified BIC of Zhang
# and Siegmund (2007). The price, the orders and the form of the model were chosen on the 15 series of the development
# half (benchmarks/answers.py --only annotated), without a record of the search. The model does worse on the test half.
_PRICE = 1.5
_HIGHEST_DEGREE = 3
# Used as degree: one line with kinks.
KINKED = -1
_MOST_KINKS = 4
# Values more than this many deviations from the running median are clipped, but at most this share of the rows: what
# happens more often, such as at weekends, is no isolated value.
FAR, _RARE = 5.0, 0.05
# The penalties to try, as multiples; each is tried twice per degree if there is a season.
_FACTORS = 2.0 ** np.arange(9, -2.5, -0.5)
_STEPS = 4 * len(_FACTORS)
# Fewest rows of a series.
LEAST_ROWS = 14
# Unchanged values; and the constant added to counts before taking square roots.
PLAIN, _ANSCOMBE = "plain", 0.375
# Twice the logarithm of a Bayes factor below which evidence is weak (Kass and Raftery 1995).
_CLOSE = 6.0
# Changes within this many rows of where a season stops are the same change.
_TOGETHER = 10
# A column stands still if more than `_TOGETHER` rows, and more than the first share of all, are equal while in other
# rows it moves at least as often as the second share.
_STILL, _MOVES = 0.05, 0.8
# The number of forms to try: with or without a season, with levels or slopes.
_FORMS = 4
# Each change is compared with this many simulated series without it, of which at most this share may gain more.
_SIMULATED, _CHANCE = 99, 0.05
# Positions at which to split simulated series, and the most numbers to simulate in all.
_TRIED, _MOST_SIMULATED = 200, 4e6


class Segmentation(NamedTuple):
    """Segments of a series.

    Attributes
    ----------
    rows : ndarray of shape (n, d)
        The series as compared, with logarithms or square roots of some columns.
    scales : list of str
        The scale of each column: "plain", "logarithms" or "square roots".
    points : list of int
        Numbers of the first rows of all segments but the first.
    gains : list of float
        How much each point raises twice the log likelihood of the two adjacent segments.
    degree : int
        Degree of the polynomial in each segment; `KINKED` for lines that meet.
    background : ndarray of shape (n, d)
        The part that is not a change: the season, plus the trend without changes or the slope common to all segments.
    residuals : ndarray of shape (n, d)
        The rows less the background and the segments' levels and slopes.
    swings : Swings
        How the spread of each column swings.
    stop : int or None
        The point at which a season stops, begins or changes its amplitude.
    tie : int or None
        The row of a step that explains the series about as well as a line, whichever was chosen.
    owners : mapping of int to int
        The column of each point that was found in a single column.
    standstills : mapping of int to list of int
        The columns that stop or begin to stand still at a point.
    still : mapping of int to ndarray of bool
        The rows in which a column stands still.
    """

    rows: Floats
    scales: list[str]
    points: list[int]
    gains: list[float]
    degree: int
    background: Floats
    residuals: Floats
    swings: Swings
    stop: int | None = None
    tie: int | None = None
    owners: Mapping[int, int] = MappingProxyType({})
    standstills: Mapping[int, list[int]] = MappingProxyType({})
    still: Mapping[int, NDArray[np.bool_]] = MappingProxyType({})


class _Scale(NamedTuple):
    """A scale on which a column can be compared.

    Attributes
    ----------
    apply, undo : callable
    jacobian : callable
        Difference between minus twice the log likelihood of the column and that of the transformed values.
    suits : callable
        Whether a column can be compared on this scale.
    """

    apply: Callable[[Floats], Floats]
    undo: Callable[[Floats], Floats]
    jacobian: Callable[[Floats], float]
    suits: Callable[[Floats], bool]


# Logarithms make growth by equal factors linear; square roots make the variance of counts constant (Anscombe 1948).
_SCALES = {
    PLAIN: _Scale(lambda x: x, lambda y: y, lambda x: 0.0, lambda x: True),
    "logarithms": _Scale(np.log, np.exp, lambda x: 2 * float(np.log(x).sum()), lambda x: bool(x.min() > 0)),
    "square roots": _Scale(
        lambda x: np.sqrt(x + _ANSCOMBE),
        lambda y: np.square(np.maximum(y, 0)) - _ANSCOMBE,
        lambda x: float(np.log(4 * (x + _ANSCOMBE)).sum()),
        lambda x: bool(x.min() >= 0 and (x == np.round(x)).all() and x.max() > x.min() + 1),
    ),
}


class _Standstill(NamedTuple):
    """Where a column stands still, and where such stretches begin or end, with the gain of each end."""

    column: int
    is_still: NDArray[np.bool_]
    ends: dict[int, float]


class _Stop(NamedTuple):
    """Where the season of a column stops, begins or changes its amplitude, and the gain of that."""

    point: int
    gain: float
    column: int


class _Proposal(NamedTuple):
    length: float
    points: list[int]
    degree: int


def segment(rows: Floats, *, trend: bool = True, may_transform: bool = True) -> Segmentation:
    """Find the changes of level, slope and spread of a series.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The series in order of time, without gaps.
    trend : bool
        Whether levels may drift without a change.
    may_transform : bool
        Whether columns may be compared by their logarithms or square roots.
    """
    raw, standstills = rows, _find_standstills(rows)
    if standstills:
        rows = _fill_standstills(rows, standstills)
    scales = [_choose_scale(column, trend) if may_transform else PLAIN for column in rows.T]
    if set(scales) != {PLAIN}:
        raw, rows = (_apply_scales(scales, each, rows) for each in (raw, rows))
    middle, scale, is_used = _find_units(rows)
    # Changed in place from here on: there may be many rows.
    clean = _in_units(rows, middle, scale)
    background = np.zeros_like(clean)
    # Computed before subtracting a season, which turns few distinct values into many.
    rounding = rounding_variance(tame(clean)[:, is_used])
    # A line through zeros and ones would explain most of a change of their share.
    trend = trend and not (rounding < 0).all()
    with progress_bar(_STEPS, "segmenting") as report:
        season = np.zeros_like(clean)
        best, background[:, is_used], season[:, is_used] = _find_best(tame(clean)[:, is_used], rounding, trend, report)
        stop, resized = _find_stop(clean, season, rounding, is_used, trend)
        if stop is not None:
            background = resized
            best, more, _ = _find_best(tame(clean - background)[:, is_used], rounding, trend, report)
            background[:, is_used] += more
    clean -= background
    tamed = tame(clean)
    used = tamed[:, is_used]
    points = _confirm(used, rounding, best)
    sparse = _find_sparse(used, rounding, points, trend)
    ends = {end for *_, found in standstills for end in found}
    points = sorted(ends.union(each for each in [*points, *sparse] if not is_near(each, ends)))
    if points != best.points:
        degrees = {0, 1, min(best.degree, 1)} if points else range(_HIGHEST_DEGREE + 1)
        best = min(_describe(used, rounding, points, degree) for degree in (degrees if trend else [0]))
    columns = np.flatnonzero(is_used).tolist()
    owners = {point: columns[sparse[point]] for point in best.points if point in sparse}
    found = _fit_swings(used, rounding, best.points, best.degree)
    gains = [_sum_gains(used, rounding, span, best.degree) for span in _list_spans(best.points, len(used))]
    swings = Swings(*np.zeros((3, rows.shape[1])))
    for each, of_used in zip(swings, found, strict=True):
        each[is_used] = of_used
    # Fitted to clipped values, so that an outlier does not shift the level of its segment.
    residuals = subtract_segments(tamed, best.points, best.degree)
    residuals += clean - tamed
    tie = _find_tie(used, rounding, best) if trend and stop is None else None
    if not best.points:
        clean -= residuals
        background += clean
    elif best.degree:
        # The common slope of all segments is background; the steps between them belong to the changes.
        levelled, time = (subtract_segments(each, best.points, 0) for each in (tamed, _times(len(rows))[:, None]))
        levelled *= time
        background += _times(len(rows))[:, None] * (levelled.sum(0) / (time**2).sum())
    background *= scale
    residuals *= scale
    points = best.points
    by_point: dict[int, list[int]] = {}
    for column, is_still, found_ends in standstills:
        residuals[is_still, column] = 0
        # What stands still has no season.
        first = np.maximum.accumulate(np.where(is_still, 0, np.arange(len(rows))))
        background[is_still, column] = background[first[is_still], column]
        for end, gain in found_ends.items():
            by_point.setdefault(end, []).append(column)
            gains[points.index(end)] += gain
    season_point = None
    if stop is not None:
        kept = {
            point: gain
            for point, gain in zip(points, gains, strict=True)
            if point in by_point or not is_near(point, [stop.point])
        }
        # Beside the end of a standstill, it is the same moment.
        season_point = min(by_point, key=lambda end: abs(end - stop.point), default=stop.point)
        season_point = season_point if is_near(season_point, [stop.point]) else stop.point
        kept[season_point] = kept.get(season_point, 0.0) + stop.gain
        points, gains = sorted(kept), [gain for _, gain in sorted(kept.items())]
        owners[season_point] = stop.column
    stills = {column: is_still for column, is_still, _ in standstills}
    return Segmentation(
        raw,
        scales,
        points,
        gains,
        best.degree,
        background,
        residuals,
        swings,
        season_point,
        tie,
        owners,
        by_point,
        stills,
    )


def _apply_scales(scales: Sequence[str], rows: Floats, filled: Floats) -> Floats:
    """Return the rows on scales that suit the filled ones; a sensor that is dead may be at 0."""
    columns = [
        column if scale == PLAIN else _SCALES[scale].apply(np.maximum(column, least))
        for scale, column, least in zip(scales, rows.T, filled.min(0), strict=True)
    ]
    return np.stack(columns, axis=1)


def trace_levels(found: Segmentation, points: list[int]) -> Floats:
    """Return the level of each row (including slope and season), given the first rows of the segments."""
    return _undo(found, _fit_levels(found, points))


def trace_steps(found: Segmentation, points: list[int]) -> tuple[Floats, Floats]:
    """Return the levels just before each point, and these levels after the step, each of shape (n_points, d)."""
    levels, after = _fit_levels(found, points), np.array(points, dtype=np.intp)
    own = levels - found.background
    before = levels[after - 1]
    return _undo(found, before.copy()), _undo(found, before + own[after] - own[after - 1])


def _undo(found: Segmentation, levels: Floats) -> Floats:
    """Return levels in the units of the series, in place."""
    for place, scale in enumerate(found.scales):
        if scale != PLAIN:
            levels[:, place] = _SCALES[scale].undo(levels[:, place])
    return levels


def _fit_levels(found: Segmentation, points: list[int]) -> Floats:
    """Return `trace_levels` on the scales of comparison, such as logarithms."""
    levels = found.rows - found.residuals
    for start, stop in zip([0, *points], [*points, len(levels)], strict=True):
        # Add what clipping removed from the level of short segments.
        levels[start:stop] += np.median(found.residuals[start:stop], axis=0)
    if points != found.points:
        left = found.rows - found.background
        levels = found.rows - subtract_segments(left, points, 0)
    return levels


def _find_tie(series: Floats, rounding: Floats, best: _Proposal) -> int | None:
    """Return a step that explains a series about as well as a line, if a step or a line was chosen; else None."""
    if (
        not series.shape[1]
        or len(best.points) > 1
        or best.degree not in (0, 1)
        or (not best.points and not best.degree)
    ):
        return None
    if (subtract_segments(series, best.points, best.degree).var(0) <= rounding).all():
        return None
    (point,) = best.points or _find_splits(series, rounding, 0, series.shape[1]).tolist()
    step, line = (_describe(series, rounding, *each).length for each in (([point], 0), ([], 1)))
    return point if abs(step - line) < _CLOSE else None


def _find_sparse(series: Floats, rounding: Floats, points: list[int], trend: bool) -> dict[int, int]:
    """Find changes of single columns that all columns together hide; return the column of each."""
    n, d = series.shape
    found: dict[int, int] = {}
    if d < 2 or n < LEAST_ROWS:
        return found
    price = change_penalty(n, 0, np.ones(1)) + 2 * np.log(d)
    rows = _list_splits(n, 3)
    cost = Cost(series, estimate_noise(series), 0, rounding)
    sides = cost.by_column(np.zeros_like(rows), rows) + cost.by_column(rows, np.full_like(rows, n))
    gains = _compute_gains(series, rounding, rows[sides.argmin(0)], 0)
    for column in np.flatnonzero(gains > price).tolist():
        alone, floor = series[:, [column]], rounding[[column]]
        best = _choose(alone, floor, _propose(alone, floor, trend and floor[0] >= 0, lambda: None))
        for point in _confirm(alone, floor, best, d):
            length = _describe(alone, floor, [point], 0).length
            near = [other for other in [*points, *found] if abs(point - other) <= _TOGETHER]
            # A nearby change that explains the column about as well is the same one.
            if all(_describe(alone, floor, [other], 0).length > length + price for other in near):
                found[point] = column
    return found


def _has_clear_step(rows: Floats, place: int) -> bool:
    """Return whether a column without noise moves at a place."""
    moved = np.abs(rows[min(place + 1, len(rows) - 1)] - rows[max(place - 2, 0)]) > 1e-9 * np.ptp(rows, axis=0)
    return any(is_staircase(column) for column in rows[:, moved].T)


def _find_stop(
    rows: Floats, season: Floats, rounding: Floats, is_used: NDArray[np.bool_], trend: bool
) -> tuple[_Stop | None, Floats]:
    """Return where a season stops, begins or changes its amplitude, and the season with that change."""
    if not season.any() or len(rows) < SHORT:
        return None, season
    point, same, resized = resize_season(rows, season)
    lengths = []
    for each in (same, resized):
        left = tame(rows - each)[:, is_used]
        described = [*_describe_as(left, rounding, [], trend), *_describe_as(left, rounding, [point], trend)]
        lengths.append(min(described).length)
    gain = lengths[0] - lengths[1]
    # The price of a moment, and of one amplitude per column.
    if gain <= change_penalty(len(rows), 0, np.ones(int(is_used.sum()))):
        return None, season
    return _Stop(point, float(gain), int(np.abs(resized - same).max(0).argmax())), resized


def describe_nothing(rows: Floats) -> Segmentation:
    """Return all rows as one segment without a background."""
    nothing, n_columns = np.zeros_like(rows), rows.shape[1]
    return Segmentation(rows, [PLAIN] * n_columns, [], [], 0, nothing, rows, Swings(*np.zeros((3, n_columns))))


def _find_units(rows: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the middle and unit of each column, and whether it varies."""
    # Outliers must not affect the unit.
    spread = tame(rows).std(0)
    # The spread of equal numbers may be a rounding error.
    is_used = (np.ptp(rows, axis=0) > 0) & (spread > 0)
    return np.array([np.median(column) for column in rows.T]), np.where(is_used, spread, 1.0), is_used


def _in_units(rows: Floats, middle: Floats, scale: Floats) -> Floats:
    result = rows - middle
    result /= scale
    return result


def _choose_scale(column: Floats, trend: bool) -> str:
    """Return the scale on which a column has the highest likelihood, as a density of the column itself."""
    if np.ptp(column) == 0 or len(column) < LEAST_ROWS:
        return PLAIN
    lengths = {}
    for name, each in _SCALES.items():
        if not each.suits(column):
            continue
        rows = each.apply(column)[:, None]
        middle, scale, is_used = _find_units(rows)
        if not is_used.all():
            return PLAIN
        clean = tame(_in_units(rows, middle, scale))
        rounding = rounding_variance(clean)
        season, _, price = _find_season(clean, rounding, trend)
        length = min(_describe_as(clean - season, rounding, [], trend)).length
        price += _PRICE * np.log(len(column)) * (name != PLAIN)
        lengths[name] = length + price + 2 * len(rows) * np.log(scale[0]) + each.jacobian(column)
    return min(lengths, key=lambda name: lengths[name])


def subtract_segments(series: Floats, points: Sequence[int], degree: int) -> Floats:
    """Subtract a fitted polynomial from each segment of each column, or one line with kinks."""
    result = np.empty_like(series)
    if degree == KINKED:
        time = np.arange(len(series), dtype=np.float64)
        hinges = np.maximum(time[:, None] - np.array(points, dtype=np.float64) + 1, 0)
        basis, _ = np.linalg.qr(np.column_stack([np.ones_like(time), time, hinges]))
        return series - basis @ (basis.T @ series)
    for start, stop in zip([0, *points], [*points, len(series)], strict=True):
        basis, _ = np.linalg.qr(np.polynomial.legendre.legvander(_times(stop - start), min(degree, stop - start - 1)))
        np.matmul(basis, basis.T @ series[start:stop], out=result[start:stop])
        np.subtract(series[start:stop], result[start:stop], out=result[start:stop])
    return result


def _find_best(series: Floats, rounding: Floats, trend: bool, report: OnStep) -> tuple[_Proposal, Floats, Floats]:
    """Return the best description of a series, the season that was subtracted, and that season with one amplitude."""
    steps = count(1)

    def search(left: Floats) -> _Proposal:
        return _choose(left, rounding, _propose(left, rounding, trend, lambda: report(next(steps), None)))

    best, (season, same, price) = search(series), _find_season(series, rounding, trend)
    # Many changes may explain the rows better than a season.
    if price:
        other = search(series - season)
        if other.length + price < best.length:
            return other._replace(length=other.length + price), season, same
    return best, *np.zeros((2, *series.shape))


def _find_season(series: Floats, rounding: Floats, trend: bool) -> tuple[Floats, Floats, float]:
    """Return the season that shortens the description of a series most, the same with one amplitude, and its price.

    The season may have two amplitudes: with one, a strong season that stops is as far from the rows as no season. The
    price is 0 if there is none.
    """
    most, best, unit = 0.0, (*np.zeros((2, *series.shape)), 0.0), _PRICE * np.log(len(series))
    # Waves would blur the steps of columns without noise.
    has_steps = [is_staircase(column) for column in series.T]
    for n_parameters, season, points in propose_seasons(series):
        without, (_, _, resized) = _measure_columns(series, rounding, points, trend), resize_season(series, season)
        # Without noise that depends on the rows before it, two amplitudes would gain as much as this.
        same, two = ((series - each).var(0) + np.finfo(np.float64).tiny for each in (season, resized))
        is_worth = len(series) * np.log(same / two).sum() > 2 * unit
        for n_more, each in enumerate((season, resized)[: 1 + is_worth]):
            # Two amplitudes have a moment, and one more parameter per column.
            with_it, n_free = _measure_columns(series - each, rounding, points, trend), n_parameters + n_more
            gains = np.where(has_steps, 0.0, np.maximum(without - with_it - unit * n_free, 0.0))
            if gains.sum() - unit * (1 + n_more) > most:
                # Only some columns have the season.
                price = unit * (1 + n_more + n_free * np.count_nonzero(gains))
                most = float(gains.sum()) - unit * (1 + n_more)
                best = np.where(gains > 0, each, 0.0), np.where(gains > 0, season, 0.0), float(price)
    return best


def _choose(series: Floats, rounding: Floats, proposals: Iterator[_Proposal]) -> _Proposal:
    """Return the best description, allowing for swings of the spread."""
    known = sorted(proposals)
    calm = next(each for each in known if not each.points)
    best, others = _with_swings(series, rounding, calm), [each for each in known if each.points]
    # Many changes can imitate swings of the spread, so fewer changes with swings may be better.
    others = others[:1] if best.length == calm.length else others
    return min(best, *(_with_swings(series, rounding, each) for each in others)) if others else best


def _with_swings(series: Floats, rounding: Floats, proposal: _Proposal) -> _Proposal:
    saved = _fit_swings(series, rounding, *proposal[1:], AKAIKE_PRICE).saved.sum()
    return proposal._replace(length=proposal.length - float(saved))


def _propose(series: Floats, rounding: Floats, trend: bool, report: Callable[[], None]) -> Iterator[_Proposal]:
    """Describe a series without changes but with a smooth trend, and with changes of level or of level and slope."""
    n, d = series.shape
    if n < LEAST_ROWS or not d:
        yield _Proposal(0.0, [], 0)
        return
    yield from _describe_as(series, rounding, [], trend)
    edges, common = np.unique(np.linspace(0, n, min(n, POSITIONS) + 1).astype(np.intp)), estimate_noise(series)
    for degree in (0, 1) if trend else (0,):
        table = tabulate_costs(Cost(series, common, degree, rounding, edges), edges, least=3 + 2 * degree)
        seen: set[tuple[int, ...]] = {()}
        for factor in _FACTORS:
            places = find_cheapest(table, factor * change_penalty(n, degree, np.ones(d)))
            if len(places) > MOST_CHANGES * np.sqrt(n):
                break
            if tuple(places) not in seen:
                seen.add(tuple(places))
                points, reach = edges[places], n // POSITIONS
                nearby = np.unique([0, *(points[:, None] + np.arange(-reach, reach + 1)).flat, n])
                cost = Cost(series, common, degree, rounding, nearby[(nearby >= 0) & (nearby <= n)])
                yield _describe(series, rounding, refine_points(cost, points.tolist(), reach), degree)
            report()
    knots: list[int] = []
    while trend and len(knots) < min(_MOST_KINKS, MOST_CHANGES * np.sqrt(n)):
        knots = sorted([*knots, _find_kink(series, knots)])
        for knot in knots[:]:
            others = [each for each in knots if each != knot]
            knots = sorted([*others, _find_kink(series, others)])
        yield _describe(series, rounding, knots, KINKED)


def _find_kink(series: Floats, knots: list[int]) -> int:
    """Return the row at which one more kink improves the fit most."""
    n, time = len(series), np.arange(len(series), dtype=np.float64)
    rows = _list_splits(n, 5)
    hinges = np.maximum(time[:, None] - rows + 1, 0)
    left, beside = (subtract_segments(each, knots, KINKED) for each in (series, hinges))
    size = (beside**2).sum(0)
    gains = np.where(size > 1e-9 * n, ((beside.T @ left) ** 2).sum(1) / np.maximum(size, 1e-9 * n), -1.0)
    return int(rows[gains.argmax()])


def _list_splits(n: int, least: int) -> Numbers:
    """Return rows at which to split a series, with at least `least` rows in each part."""
    least = min(least, (n - 1) // 2)
    return np.unique(np.linspace(least, n - least, min(n - 2 * least + 1, _TRIED)).astype(np.intp))


def _describe_as(series: Floats, rounding: Floats, points: list[int], trend: bool = True) -> list[_Proposal]:
    """Describe a series with given changes, or without changes but with a smooth trend."""
    return [_describe(series, rounding, points, degree) for degree in _list_degrees(points, trend)]


def _list_degrees(points: list[int], trend: bool) -> range:
    return range(2 if points else _HIGHEST_DEGREE + 1) if trend else range(1)


def _measure_columns(series: Floats, rounding: Floats, points: list[int], trend: bool) -> Floats:
    """Return the length of the description of each column with given changes, without their price."""
    lengths = [
        fit_autoregressions(subtract_segments(series, points, degree), rounding, points).lengths
        + _PRICE * np.log(len(series)) * degree
        for degree in _list_degrees(points, trend)
    ]
    return np.min(lengths, axis=0)


def _describe(series: Floats, rounding: Floats, points: list[int], degree: int) -> _Proposal:
    """Describe the series by segments; a shorter description is better."""
    n, is_kinked = len(series), degree == KINKED
    price = _PRICE * np.log(n)
    fits = fit_autoregressions(subtract_segments(series, points, degree), rounding, [] if is_kinked else points)
    # A kink has a moment and a slope.
    penalty = change_penalty(n, 0 if is_kinked else degree, np.ones_like(fits.tails) if is_kinked else fits.tails)
    total = fits.lengths.sum() + penalty * len(points) + price * abs(degree) * series.shape[1]
    return _Proposal(float(total), points, degree)


def _fit_swings(
    series: Floats, rounding: Floats, points: list[int], degree: int, least: float = CONTRADICTION[1]
) -> Swings:
    """Fit how the spread of each column swings within segments.

    While changes and swings compete, swings cost less (`AKAIKE_PRICE`): in doubt there is no change. Swings that are
    simulated and reported need clear evidence.
    """
    fits = fit_autoregressions(subtract_segments(series, points, degree), rounding, [] if degree == KINKED else points)
    found = fit_swings(fits.standardised, least)
    # In columns of two values, the shares determine the spread.
    return Swings(*(np.where(rounding < 0, 0.0, each) for each in found))


def change_penalty(n: int, degree: int, tails: Floats) -> float:
    """Return the price of a change, given the weight of the tails of each column.

    In one column, each parameter has a price; that of the spread depends on the tails. Further columns add what their
    noise alone gains: the mean of a chi-squared variable, and its deviation at that price (Laurent and Massart 2000).
    """
    parameters = 1 + degree + tails
    price = _PRICE * np.log(n) * np.median(parameters)
    more = parameters.sum() - np.median(parameters)
    return float(price + more + 2 * np.sqrt(more * price / 2))


def _confirm(series: Floats, rounding: Floats, proposal: _Proposal, n_searches: int = 1) -> list[int]:
    """Drop changes that may be noise, the smallest first; return the others."""
    points, degree = proposal.points, proposal.degree
    if not points:
        return []
    cost = Cost(series, estimate_noise(series), max(degree, 0), rounding)
    known = dict[tuple[int, int, int], bool]()
    while True:
        spans = _list_spans(points, len(series))
        for span in sorted(spans, key=lambda each: _sum_gains(series, rounding, each, degree)):
            if span not in known:
                known[span] = _is_change(series, rounding, span, degree, n_searches)
            if not known[span]:
                points = [point for point in points if point != span[1]]
                if points and degree != KINKED:
                    # The nearest change may have been part of the same change.
                    points = refine_points(cost, points, min(abs(point - span[1]) for point in points))
                break
        else:
            return points


def _list_spans(points: list[int], n: int) -> list[tuple[int, int, int]]:
    """Return each change between its neighbours."""
    return list(zip([0, *points], points, [*points[1:], n], strict=False))


def _find_standstills(rows: Floats) -> list[_Standstill]:
    """Find columns that stand still for long but move in most other rows: sensors that are stuck or dead."""
    n, found = len(rows), []
    for place, column in enumerate(rows.T):
        starts = np.flatnonzero(np.append(True, np.diff(column) != 0))
        sizes = np.diff(np.append(starts, n))
        is_long = sizes > max(_TOGETHER, _STILL * n)
        # Where a column usually rests, such as rain at 0, a long rest is no standstill.
        values, others = column[starts], column[~np.repeat(is_long, sizes)]
        is_long[is_long] = (
            [(others == value).mean() <= 1 - _MOVES for value in values[is_long]] if len(others) else False
        )
        is_still = np.repeat(is_long, sizes)
        n_others, n_runs = n - int(is_still.sum()), int((~is_long).sum())
        if not is_long.any() or n_others <= _TOGETHER or n_runs < _MOVES * n_others:
            continue
        # Twice the log likelihood: without a standstill, each row would be equal by chance.
        gains = -2 * sizes * np.log((n_others - n_runs + 1) / (n_others + 1))
        ends: dict[int, float] = {}
        for run in np.flatnonzero(is_long):
            for end in (int(starts[run]), int(starts[run] + sizes[run])):
                if 0 < end < n:
                    ends[end] = ends.get(end, 0.0) + float(gains[run])
        if len(ends) <= MOST_CHANGES * np.sqrt(n):
            found.append(_Standstill(place, is_still, ends))
    return found


def _fill_standstills(rows: Floats, standstills: list[_Standstill]) -> Floats:
    """Return the rows with nearby ones in place of standstills, which a model of noise would take for chance."""
    filled, time = rows.copy(), _times(len(rows))
    for column, is_still, _ in standstills:
        # Mirrored rows of a line would be a step.
        line = np.polyval(np.polyfit(time[~is_still], rows[~is_still, column], 1), time)
        filled[:, column] -= line
        fill_gaps(filled[:, column], is_still)
        filled[:, column] += line
    return filled


def is_near(point: int, others: Iterable[int]) -> bool:
    """Return whether a point is the same change as one of others."""
    return any(abs(point - other) <= _TOGETHER for other in others)


def _sum_gains(series: Floats, rounding: Floats, span: tuple[int, int, int], degree: int) -> float:
    """Return how much a change, without its penalty, shortens the description of the two adjacent segments."""
    start, point, stop = span
    gains = _compute_gains(series[start:stop], rounding, point - start, degree)
    return max(0.0, float(gains.sum()), float(gains.max(initial=0.0)))


def _is_change(series: Floats, rounding: Floats, span: tuple[int, int, int], degree: int, n_searches: int) -> bool:
    """Return whether series of the same noise without a change rarely gain as much from one."""
    start, point, stop = span
    rows, d = series[start:stop], series.shape[1]
    # Such a step would otherwise look like an innovation of a random walk.
    if _has_clear_step(rows, point - start):
        return True
    residuals = subtract_segments(rows, [], _null_degree(degree))
    swings = _fit_swings(rows, rounding, [], _null_degree(degree))
    clusters = bool(swings.saved.any())
    simulator = Simulator(residuals, swings)
    n_series = int(np.clip(_MOST_SIMULATED / rows.size, 39, _SIMULATED))
    noise = simulator.draw(n_series, np.random.default_rng(0))
    simulated = ((rows - residuals)[:, :, None] + noise).reshape(len(rows), -1)
    many = np.repeat(rounding, n_series)
    places = np.tile(_find_splits(simulated, many, degree, d), d)
    highest = _compute_gains(simulated, many, places, degree, clusters).reshape(d, n_series).sum(0)
    observed = _compute_gains(rows, rounding, point - start, degree, clusters).sum()
    # With few rows, each form that is tried may absorb much of the noise.
    chance = _CHANCE / n_searches / (_FORMS if len(series) < SHORT else 1)
    if chance * (n_series + 1) >= 1:
        return bool(1 + np.sum(highest >= observed) <= chance * (n_series + 1))
    # The distribution of the largest of many values (Gumbel).
    unit = np.sqrt(6) / np.pi * highest.std()
    return bool(-np.expm1(-np.exp(-(observed - highest.mean()) / unit - np.euler_gamma)) <= chance)


def _null_degree(degree: int) -> int:
    """Return the degree of the model without a change; kinks are compared with a smooth curve."""
    return _HIGHEST_DEGREE if degree == KINKED else degree


def _find_splits(series: Floats, rounding: Floats, degree: int, d: int) -> Numbers:
    """Return the best row to split each of many series of d columns, which are passed column by column."""
    n = len(series)
    if degree == KINKED:
        by_series = np.moveaxis(series.reshape(n, d, -1), 2, 0)
        return np.array([_find_kink(each, []) for each in by_series])
    rows = _list_splits(n, 3 + 2 * degree)
    cost = Cost(series, estimate_noise(series), degree, rounding)
    sides = cost.by_column(np.zeros_like(rows), rows) + cost.by_column(rows, np.full_like(rows, n))
    return rows[sides.reshape(len(rows), d, -1).sum(1).argmin(0)]


def _compute_gains(
    series: Floats, rounding: Floats, places: int | Numbers, degree: int, clusters: bool = False
) -> Floats:
    """Return how much a change in each column, without its penalty, shortens the description.

    With `clusters`, the spread may react to earlier rows.
    """
    places = np.broadcast_to(places, series.shape[1])
    left = np.empty_like(series)
    for place in np.unique(places):
        left[:, places == place] = subtract_segments(series[:, places == place], [int(place)], degree)
    without = fit_autoregressions(subtract_segments(series, [], _null_degree(degree)), rounding, [])
    with_it = fit_autoregressions(left, rounding, [] if degree == KINKED else places[None])
    gains = without.lengths - with_it.lengths
    if clusters:
        gains += fit_swings(with_it.standardised).saved - fit_swings(without.standardised).saved
    return gains


def tame(series: Floats) -> Floats:
    """Clip isolated values that are far from their neighbours."""
    result = np.empty_like(series)
    for place, column in enumerate(series.T):
        middle = running_median(column)
        apart = column - middle
        usual = np.quantile(np.abs(apart), 1 - _RARE)
        far = max(float(np.abs(clip_far(apart, FAR)).max()), usual)
        result[:, place] = middle + np.clip(apart, -far, far)
    return result


def _times(n: int) -> Floats:
    return np.linspace(-1, 1, n)
