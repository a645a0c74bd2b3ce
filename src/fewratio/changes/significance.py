"""Test for changes: compare the scores of a series with those of similar series in which nothing changes."""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fewratio.changes.noise import Simulator
from fewratio.changes.segment_costs import SplitGains
from fewratio.changes.segmentation import FAR, Segmentation, is_near
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import clip_far
from fewratio.core.wording import write_count
from fewratio.errors import InputError, ParameterError, name_parameter
from fewratio.estimators import samples as inputs
from fewratio.estimators.base import RatioEstimator
from fewratio.progress import progress_bar
from fewratio.testing.permutations import ROUNDING, compute_divergences

_LEVEL, _N_PERMUTATIONS = 0.01, 199
# The most rows of a window to compare, evenly spaced: the work grows with their third power.
_MOST_COMPARED = 50
_NO_NOISE = 1e-9
# Numbers to simulate at once.
_AT_ONCE = 200_000

Score = Callable[[Floats], float]


class ChangeOptions(NamedTuple):
    """The user's options for the test; None for the default."""

    window: int | None = None
    n_permutations: int | None = None
    level: float | None = None
    threshold: float | None = None
    step: int | None = None


class FoundChanges(NamedTuple):
    """Changes, with the fields of `ChangeResult`; only a test sets the threshold."""

    points: Numbers
    scores: Floats
    threshold: float | None = None
    p_values: Floats | None = None
    window: int | None = None
    kinds: tuple[tuple[int, str], ...] = ()
    changed: tuple[tuple[tuple[int, str, float, float], ...], ...] = ()


def find_by_splits(rows: Floats, found: Segmentation, options: ChangeOptions, rng: np.random.Generator) -> FoundChanges:
    """Find changes of level and spread: splits that raise the likelihood more than in series without changes.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The series without its background.
    found : Segmentation
        Its segmentation, with residuals that have no changes.
    options : ChangeOptions
    rng : numpy Generator
        Draws the shuffles.
    """
    # Outliers must not hide changes. In a series without changes, which values are outliers does not depend on their
    # order, so the test keeps its level.
    residuals = clip_far(found.residuals, FAR)
    # Ignore rounding errors in a column without noise.
    residuals[:, residuals.std(0) <= _NO_NOISE * np.ptp(rows, axis=0)] = 0
    rows, found = rows - found.residuals + residuals, found._replace(residuals=residuals)
    gains = SplitGains(rows)
    scores = gains.best(0, len(rows))
    highest = _simulate_highest(
        lambda series: float(SplitGains(series).best(0, len(series)).max()), rows, found, options, rng
    )
    # A split that does not raise the likelihood is no change, even if splits of shuffled series lower it.
    limit = max(_limit(highest, options), ROUNDING)
    # Where a column begins or ceases to stand still is known to the row, and no series without changes does so.
    exact = {
        point: gain
        for point, gain in zip(found.points, found.gains, strict=True)
        if point in found.standstills and gain > limit
    }
    points, parts = [], list(pairwise([0, *exact, len(rows)]))
    while parts:
        start, stop = parts.pop()
        inside = gains.best(start, stop)
        if len(inside) and inside.max() > limit:
            point = gains.find_nearby(start, int(gains.list_positions(start, stop)[inside.argmax()]), stop)
            points.append(point)
            parts += [(start, point), (point, stop)]
    kept = _confirm(gains, sorted(each for each in points if not is_near(each, exact)), exact, limit)
    points, values = list(kept), np.array(list(kept.values()))
    by_row = np.full(len(rows), np.nan)
    by_row[gains.list_positions(0, len(rows))] = scores
    # A change may lie between the positions of scores.
    by_row[points] = values
    return FoundChanges(np.array(points, dtype=np.intp), by_row, limit, _p_values(highest, values), None)


def _confirm(gains: SplitGains, points: list[int], exact: Mapping[int, float], limit: float) -> dict[int, float]:
    """Drop changes one by one that later ones explain; return the others, and the exact ones, with their scores."""
    while True:
        ends = [0, *sorted([*points, *exact]), gains.n_rows]
        spans = zip(ends, ends[1:-1], ends[2:], strict=False)
        scores = {span[1]: exact[span[1]] if span[1] in exact else gains.at(*span) for span in spans}
        if not points or min(scores[point] for point in points) > limit:
            return scores
        points.remove(min(points, key=lambda point: scores[point]))


def find_by_windows(
    model: RatioEstimator,
    rows: Floats,
    found: Segmentation,
    options: ChangeOptions,
    rng: np.random.Generator,
    argument: str,
) -> FoundChanges:
    """Find changes of any kind: rows where the windows before and after differ more than in series without changes.

    Parameters
    ----------
    model : RatioEstimator
        Estimates the divergences. One with sources expects rows with their background.
    rows, found, options, rng
        As in `find_by_splits`.
    argument : str
        Name of the series in messages.
    """
    n = len(rows)
    window = max(1, min(n // 4, _MOST_COMPARED)) if options.window is None else options.window
    step = max(1, window // 5) if options.step is None else options.step
    if n < 2 * window:
        raise InputError(
            f"{argument} has {write_count(n, 'row')}; two windows of {window} need {2 * window}. Pass a longer series "
            "or a smaller window."
        )
    positions = np.arange(window, n - window + 1)
    scores = np.full(n, np.nan)
    scores[positions] = window_scores(model, rows, positions, window)
    tested = positions[::step]
    highest = np.empty(0)
    if options.threshold is None:
        highest = _simulate_highest(
            lambda series: float(window_scores(model, series, tested, window).max()), rows, found, options, rng
        )
    limit = _limit(highest, options)
    peaks = _find_peaks(scores, positions, window)
    bests = np.array([scores[tested[np.abs(tested - peak) < step]].max() for peak in peaks])
    points, p_values = np.array(peaks, dtype=np.intp)[bests > limit], _p_values(highest, bests[bests > limit])
    return FoundChanges(points, scores, limit, p_values if options.threshold is None else None, window)


def window_scores(model: RatioEstimator, rows: Floats, positions: Numbers, window: int) -> Floats:
    """Return the divergences between the windows before and after each position, summed over both directions."""
    steps = np.arange(0, window, -(-window // _MOST_COMPARED))
    before, after = positions[:, None] - 1 - steps[::-1], positions[:, None] + steps
    return compute_divergences(model, rows, before, after).sum(0)


def check_options(options: ChangeOptions, is_test: bool) -> None:
    """Refuse invalid options before starting."""
    for name, least in (("window", 1), ("n_permutations", 0), ("step", 1)):
        if getattr(options, name) is not None:
            inputs.check_count(name, getattr(options, name), least)
    if options.threshold is not None:
        check_threshold(options.threshold)
    elif is_test:
        _rank(options)


def check_threshold(threshold: Any) -> float:
    """Return a threshold as a number; refuse one that all scores or no scores exceed."""
    needed = "a finite number above -1, which the divergences of two windows always sum to more than"
    return inputs.check_number("threshold", threshold, -1, np.inf, needed)


def _simulate_highest(
    score: Score, rows: Floats, found: Segmentation, options: ChangeOptions, rng: np.random.Generator
) -> Floats:
    """Return the highest scores of similar series in which nothing changes."""
    n_permutations = _N_PERMUTATIONS if options.n_permutations is None else options.n_permutations
    unchanged, highest = _simulate_unchanged(rows, found, rng), np.empty(n_permutations)
    with progress_bar(n_permutations, "shuffled series") as report:
        for number in range(n_permutations):
            highest[number] = score(next(unchanged))
            report(number + 1, None)
    return highest


def _simulate_unchanged(rows: Floats, found: Segmentation, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield similar series in which nothing changes.

    The rows are shuffled if they do not depend on each other. Otherwise changes and background are subtracted, and the
    innovations of an autoregression are shuffled (a sieve bootstrap, Bühlmann 1997).
    """
    simulator = Simulator(found.residuals, found.swings)
    if simulator.is_exchangeable:
        while True:
            yield rows[rng.permutation(len(rows))]
    rest = (rows - found.residuals).mean(0)
    while True:
        for noise in np.moveaxis(simulator.draw(max(1, _AT_ONCE // rows.size), rng), 2, 0):
            yield rest + noise


def _limit(highest: Floats, options: ChangeOptions) -> float:
    """Return the threshold of the scores."""
    return float(np.sort(highest)[-_rank(options)]) + ROUNDING if options.threshold is None else options.threshold


def _p_values(highest: Floats, scores: Floats) -> Floats:
    return (1 + (highest + ROUNDING >= scores[:, None]).sum(1)) / (1 + len(highest))


def _find_peaks(scores: Floats, positions: Numbers, window: int) -> list[int]:
    """Return positions with the highest score within a window; the first one if scores are equal."""
    found: list[int] = []
    for position in positions:
        near = scores[max(0, position - window + 1) : position + window]
        if scores[position] >= np.nanmax(near) and not (found and position - found[-1] < window):
            found.append(int(position))
    return found


def _rank(options: ChangeOptions) -> int:
    """Return which of the highest scores of shuffled series is the threshold."""
    n_permutations = _N_PERMUTATIONS if options.n_permutations is None else options.n_permutations
    level: Any = _LEVEL if options.level is None else options.level
    chance = inputs.check_number("level", level, 0, 1, "a chance between 0 and 1")
    # 0.01 * 200 must not fall below 2 by rounding.
    rank = int(np.floor(chance * (n_permutations + 1) * (1 + 1e-12)))
    if rank < 1:
        needed = int(np.ceil(1 / chance * (1 - 1e-12))) - 1
        raise ParameterError(
            f"{name_parameter('n_permutations')} is {n_permutations}; a level of {level} needs at least {needed}. Pass "
            "more, or raise the level."
        )
    return rank
