"""When a series changed: windows of rows before and after a moment, compared by their ratio."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from threadpoolctl import threadpool_limits

from fewratio.applications import inputs
from fewratio.applications.permutation import ROUNDING
from fewratio.core.shapes import Floats, Numbers
from fewratio.data.columns import counted
from fewratio.data.encoding import ColumnOptions, Encoding
from fewratio.data.separating import without_columns
from fewratio.data.table import Table, as_table
from fewratio.errors import InputError, ParameterError
from fewratio.estimators.base import RatioEstimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_THRESHOLD = "a finite number, the score to exceed"


@dataclass(frozen=True, eq=False, repr=False)
class ChangePoints:
    """Where a series changed, made by `detect_changes`.

    Attributes
    ----------
    points : ndarray of int
        Numbers of the first rows after each change.
    scores : ndarray of shape (n_rows,)
        How far the windows before and from each row are apart; NaN where a window would leave the series.
    threshold : float
        What a score must exceed.
    p_values : ndarray or None
        Of the points, over all positions together; None where the threshold was given.
    window : int
        Rows of a window.
    estimator : RatioEstimator
        What gave the scores; for a `ChangeDetector` of later rows.
    row_names : sequence of str or None
        What the rows are called, such as their dates.
    encoding : Encoding or None
        What became of the columns.
    """

    points: Numbers
    scores: Floats
    threshold: float
    p_values: Floats | None
    window: int
    estimator: RatioEstimator
    row_names: Sequence[str] | None = None
    encoding: Encoding | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give all of it as plain numbers and lists; None stands for a score that is not there."""
        scores = [None if np.isnan(score) else float(score) for score in self.scores]
        names = None if self.row_names is None else [self.row_names[point] for point in self.points]
        known = inputs.plain(self, "points", "scores", "threshold", "p_values", "window")
        return known | {"scores": scores, "names": names}

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the scores, the threshold and the points.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        from fewratio.charts.results import draw_changes

        return draw_changes(self.scores, self.threshold, self.points, ax)

    def __repr__(self) -> str:
        found = ", ".join(map(str, self.points)) or "none"
        return f"ChangePoints: {found} (threshold {self.threshold:.3g}, windows of {self.window} rows)"


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
    **columns: Unpack[ColumnOptions],
) -> ChangePoints:
    """Find the moments at which a series changed, by the ratio of neighbouring windows (Liu et al. 2013).

    The score of a row is the sum of the divergences, in both directions, between the `window` rows before it and the
    `window` rows that begin with it. A change is reported at a row with the highest score among those less than a
    window away, if a tested position less than `step` away has a score above the threshold.

    The threshold comes from shuffled series: if nothing changes (the rows, or blocks of them, are exchangeable), the
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
        windows, on columns of a common unit.
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
    **columns
        What to do with columns: `columns`, `drop`, `keep`, `id`, `categorical`, `numeric`, `common`
        (`fewratio.ColumnOptions`). A date of its own for each row names the rows and is not compared.

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
        inputs.check_count(name, value)
    rank = _rank(level, n_permutations) if threshold is None else 0
    for_estimator, for_permutations = inputs.rng_streams(random_state, 2)
    model = inputs.seeded_copy(estimator, inputs.default_estimator(), for_estimator)
    table, encoding = _open_series(model, series, "series", columns)
    if table.n_rows < 2 * window:
        raise InputError(
            f"{table.argument} has {counted(table.n_rows, 'row')}; two windows of {window} need "
            f"{2 * window}. Pass a longer series or a smaller window."
        )
    rows, order = table.to_numpy(), np.arange(table.n_rows)
    model = inputs.in_common_units(model, rows)
    positions = np.arange(window, table.n_rows - window + 1)
    scores = np.full(table.n_rows, np.nan)
    scores[positions] = _scores(model, rows, order, positions, window)
    tested = positions[::step]
    if threshold is None:
        orders = (_shuffle(order, block, for_permutations) for _ in range(n_permutations))
        highest = np.sort([_scores(model, rows, shuffled, tested, window).max() for shuffled in orders])
        limit = float(highest[-rank]) + ROUNDING
    else:
        limit, highest = inputs.check_number("threshold", threshold, -np.inf, np.inf, _THRESHOLD), None
    peaks = _peaks(scores, positions, window)
    bests = np.array([scores[tested[np.abs(tested - peak) < step]].max() for peak in peaks])
    points, p_values = np.array(peaks, dtype=np.intp)[bests > limit], None
    if highest is not None:
        no_lower = highest + ROUNDING >= bests[bests > limit, None]
        p_values = (1 + no_lower.sum(1)) / (1 + n_permutations)
    return ChangePoints(points, scores, limit, p_values, window, model, table.row_names, encoding)


def _scores(model: RatioEstimator, rows: Floats, order: Numbers, positions: Numbers, window: int) -> Floats:
    """Give the divergences of the windows before and from each position, summed over both directions."""
    steps = np.arange(window)
    before, after = order[positions[:, None] - window + steps], order[positions[:, None] + steps]
    with threadpool_limits(1, "blas"):
        both = model._divergences(rows, np.concatenate([before, after]), np.concatenate([after, before]))
    return both.reshape(2, -1).sum(0)


def _open_series(
    model: RatioEstimator, series: Any, argument: str, columns: ColumnOptions
) -> tuple[Table, Encoding | None]:
    """Validate a series, in which a date names the rows; one without columns has one."""
    shape = getattr(series, "shape", None)
    if shape is None and isinstance(series, list | tuple) and not any(np.ndim(value) for value in series):
        shape = (len(series),)
    if shape is not None and len(shape) == 1:
        series = np.asarray(series).reshape(-1, 1)
    encoding, (table,), _ = inputs.read_samples(model, {argument: series}, columns)
    if encoding is not None and encoding.id in encoding.places and not model.has_sources:
        # When a row came says nothing about whether the series has changed.
        encoding, (table,) = without_columns(encoding, [table], [encoding.id], "names the rows")
    return table, encoding


def _shuffle(order: Numbers, block: int, rng: np.random.Generator) -> Numbers:
    blocks = np.split(order, np.arange(block, len(order), block))
    return np.concatenate([blocks[number] for number in rng.permutation(len(blocks))])


def _peaks(scores: Floats, positions: Numbers, window: int) -> list[int]:
    """Positions with the highest score among those less than a window away; of equal ones the first."""
    found: list[int] = []
    for position in positions:
        near = scores[max(0, position - window + 1) : position + window]
        if scores[position] >= np.nanmax(near) and not (found and position - found[-1] < window):
            found.append(int(position))
    return found


def _rank(level: Any, n_permutations: int) -> int:
    """Give which of the highest scores of shuffled series is the threshold."""
    chance = inputs.check_number("level", level, 0, 1, "a chance between 0 and 1")
    # 0.01 * 200 must not fall below 2 by rounding.
    rank = int(np.floor(chance * (n_permutations + 1) * (1 + 1e-12)))
    if rank < 1:
        needed = int(np.ceil(1 / chance * (1 - 1e-12))) - 1
        raise ParameterError(
            f"n_permutations is {n_permutations}; a level of {level} needs at least {needed}. Pass more, or raise the "
            "level."
        )
    return rank


class ChangeDetector:
    """Tell row by row whether a series has changed.

    The scores are those of `detect_changes`, each as soon as its two windows are complete: a window after the row that
    it belongs to. A change is reported when the score rises above the threshold, and then not again for a window.

    Parameters
    ----------
    window : int
        Rows of a window; the last two of them are kept.
    threshold : float
        What a score must exceed, such as that of `detect_changes` for earlier rows. That one is exceeded by chance, at
        its ``level``, once in as many rows as it was made from.
    estimator : RatioEstimator, optional
        Gives the divergences, such as the one in the result of `detect_changes`; by default ``RuLSIF()``, as there.

    Attributes
    ----------
    n_rows_ : int
        How many rows have come.
    score_ : float
        The latest score; NaN before there are two windows.
    changes_ : list of int
        Numbers of the rows, counted from 0, that begin the second window of each report.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import detect_changes
    >>> from fewratio.applications import ChangeDetector
    >>> rng = np.random.default_rng(0)
    >>> calm = detect_changes(rng.normal(0, 1, 60), window=10, n_permutations=99, random_state=0)
    >>> detector = ChangeDetector(10, calm.threshold, calm.estimator)
    >>> later = np.concatenate([rng.normal(0, 1, 30), rng.normal(6, 1, 30)])
    >>> [number for number, value in enumerate(later) if detector.update(value)]
    [38]
    """

    def __init__(self, window: int, threshold: float, estimator: Any = None) -> None:
        inputs.check_count("window", window)
        self.window = window
        self.threshold = inputs.check_number("threshold", threshold, -np.inf, np.inf, _THRESHOLD)
        # A seed once and for all: the same windows must have the same score at any time.
        self.estimator = inputs.seeded_copy(estimator, inputs.default_estimator(), np.random.default_rng(0))
        self.n_rows_ = 0
        self.score_ = float("nan")
        self.changes_: list[int] = []
        self._rows: Floats | None = None

    def update(self, row: Any) -> bool:
        """Take the next row, and tell whether a change is reported.

        Parameters
        ----------
        row : float or array-like of shape (n_features,) or (1, n_features)
            The row; a number where the series has one column.

        Returns
        -------
        bool
        """
        table = np.reshape(row, (1, -1)) if np.ndim(row) < 2 else row
        new = as_table(table, "row").to_numpy()
        kept = new[:0] if self._rows is None else self._rows
        if len(new) != 1 or new.shape[1] != kept.shape[1]:
            raise InputError(
                f"row has shape {new.shape}; needed is one row of {kept.shape[1]} values, as the first had. Pass the "
                "rows one by one, with the same columns."
            )
        self._rows = np.concatenate([kept, new])[-2 * self.window :]
        self.n_rows_ += 1
        if self.n_rows_ < 2 * self.window:
            return False
        before, earlier = self.score_, self.changes_[-1] if self.changes_ else -np.inf
        order = np.arange(2 * self.window)
        self.score_ = float(_scores(self.estimator, self._rows, order, order[[self.window]], self.window)[0])
        position = self.n_rows_ - self.window
        # Not NaN above the threshold: the first score may be the one that rises above it.
        rises = self.score_ > self.threshold and not before > self.threshold
        if rises and position - earlier >= self.window:
            self.changes_.append(position)
            return True
        return False
