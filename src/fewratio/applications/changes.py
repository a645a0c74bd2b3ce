"""When a series changed: windows of rows before and after a moment, compared by their ratio."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.applications.change_points import ChangePoints
from fewratio.applications.defaults import default_estimator
from fewratio.applications.own_estimator import own_estimator
from fewratio.applications.windows import check_threshold, check_whole, open_series, window_scores
from fewratio.data.columns import counted
from fewratio.errors import InputError, ParameterError

# Series of a few values have equal scores, which rounding must not put in an order; float32 models are that precise.
_ROUNDING = 1e-6


def detect_changes(
    series: Any,
    window: int = 20,
    estimator: Any = None,
    n_permutations: int = 199,
    level: float = 0.01,
    threshold: float | None = None,
    *,
    step: int | None = None,
    block: int = 1,
    random_state: int | np.random.Generator | None = None,
) -> ChangePoints:
    """Find the moments at which a series changed, by the ratio of neighbouring windows (Liu et al. 2013).

    The score of a row is the sum of the divergences, in both directions, between the `window` rows before it and the
    `window` rows that begin with it. A change is reported at a row with the highest score among those less than a
    window away, if a tested position less than `step` away has a score above the threshold.

    The threshold comes of shuffled series: if nothing changes (the rows, or blocks of them, are exchangeable), the
    chance to report any change in the whole series is at most `level`. It is the k-th largest of their highest scores
    at the tested positions, k = floor(level (n_permutations + 1)). Rows that depend on their predecessors are not
    exchangeable; shuffle `block` rows together then, longer than that dependence reaches.

    Parameters
    ----------
    series : array-like of shape (n,) or (n, n_features)
        Rows in the order of time, at least two windows of them.
    window : int, default=20
        Rows of a window; changes less than that apart are not told apart.
    estimator : RatioEstimator, optional
        Gives the divergences. By default ``RuLSIF()``, whose width is the median distance between the rows of both
        windows. Columns are taken as they are: scale them to a common unit before.
    n_permutations : int, default=199
        How many times to shuffle.
    level : float, default=0.01
        Chance to report a change where there is none.
    threshold : float, optional
        A threshold to use instead of one by permutation.
    step : int, optional
        Distance between tested positions; a fifth of a window by default. The fewer, the quicker.
    block : int, default=1
        Rows that stay together when the series is shuffled.
    random_state : int, numpy Generator or None
        Shuffles, and seeds an estimator that has no seed.

    Returns
    -------
    ChangePoints

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import detect_changes
    >>> rng = np.random.default_rng(0)
    >>> series = np.concatenate([rng.normal(0, 1, 40), rng.normal(4, 1, 40)])
    >>> detect_changes(series, window=15, n_permutations=99, random_state=0).points
    array([40])
    """
    step = max(1, window // 5) if step is None and isinstance(window, Integral) else step
    for name, value in (("window", window), ("n_permutations", n_permutations), ("step", step), ("block", block)):
        check_whole(name, value)
    rank = _rank(level, n_permutations) if threshold is None else 0
    rng = np.random.default_rng(random_state)
    model = own_estimator(estimator, default_estimator(), rng, ("divergences",))
    table = open_series(model, series, "series")
    if table.n_rows < 2 * window:
        raise InputError(
            f"{table.argument} has {counted(table.n_rows, 'row')}; two windows of {window} need "
            f"{2 * window}. Pass a longer series or a smaller window."
        )
    rows, order = table.to_numpy(), np.arange(table.n_rows)
    positions = np.arange(window, table.n_rows - window + 1)
    scores = np.full(table.n_rows, np.nan)
    scores[positions] = _scores(model, rows, order, positions, window)
    tested = positions[::step]
    if threshold is None:
        orders = (_shuffle(order, block, rng) for _ in range(n_permutations))
        highest = np.sort([_scores(model, rows, shuffled, tested, window).max() for shuffled in orders])
        limit = float(highest[-rank]) + _ROUNDING
    else:
        limit, highest = check_threshold(threshold), None
    peaks = _peaks(scores, positions, window)
    bests = np.array([scores[tested[np.abs(tested - peak) < step]].max() for peak in peaks])
    points, p_values = np.array(peaks, dtype=np.intp)[bests > limit], None
    if highest is not None:
        no_lower = highest + _ROUNDING >= bests[bests > limit, None]
        p_values = (1 + no_lower.sum(1)) / (1 + n_permutations)
    return ChangePoints(points, scores, limit, p_values, window, model)


def _scores(
    model: Any, rows: NDArray[np.float64], order: NDArray[np.intp], positions: NDArray[np.intp], window: int
) -> NDArray[np.float64]:
    steps = np.arange(window)
    return window_scores(model, rows, order[positions[:, None] - window + steps], order[positions[:, None] + steps])


def _shuffle(order: NDArray[np.intp], block: int, rng: np.random.Generator) -> NDArray[np.intp]:
    blocks = np.split(order, np.arange(block, len(order), block))
    return np.concatenate([blocks[number] for number in rng.permutation(len(blocks))])


def _peaks(scores: NDArray[np.float64], positions: NDArray[np.intp], window: int) -> list[int]:
    """Positions with the highest score among those less than a window away; of equal ones the first."""
    found: list[int] = []
    for position in positions:
        near = scores[max(0, position - window + 1) : position + window]
        if scores[position] >= np.nanmax(near) and not (found and position - found[-1] < window):
            found.append(int(position))
    return found


def _rank(level: Any, n_permutations: int) -> int:
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < float(level) < 1:
        raise ParameterError(f"level is {level!r}; needed is a chance. Pass a number between 0 and 1.")
    # 0.01 * 200 must not fall below 2 by rounding.
    rank = int(np.floor(float(level) * (n_permutations + 1) * (1 + 1e-12)))
    if rank < 1:
        needed = int(np.ceil(1 / float(level) * (1 - 1e-12))) - 1
        raise ParameterError(
            f"n_permutations is {n_permutations}; a level of {level} needs at least {needed}. Pass more, or raise the "
            "level."
        )
    return rank
