"""Detect changes in a series, by segmentation or by a test with a given level."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from fewratio.changes.filled import drop_filled
from fewratio.changes.gaps import describe_gap
from fewratio.changes.kinds import fit_slope, name_changes, write_notes
from fewratio.changes.segmentation import LEAST_ROWS, describe_nothing, segment, trace_levels, trace_steps
from fewratio.changes.significance import ChangeOptions, FoundChanges, check_options, find_by_splits, find_by_windows
from fewratio.changes.swings import find_swings
from fewratio.changes.time_order import Series, read_series, split_series
from fewratio.core.kernels import check_squares
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.wording import write_count
from fewratio.data.columns import ColumnOptions
from fewratio.data.encoding import Encoding
from fewratio.data.raw_table import as_raw
from fewratio.errors import InputError, ParameterError, name_parameter
from fewratio.estimators import samples as inputs
from fewratio.estimators.base import RatioEstimator
from fewratio.report.reported import Reported, make_plain

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture
    from fewratio.report.page import Report

# Rows to average on either side of a change; in a long series, the rows divided by the second number.
_NEAR, _PARTS = 20, 500
# Deviations before and after a change use at most this many rows.
_MOST_ROWS = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class ChangeResult(Reported):
    """Result of `detect_changes`.

    Attributes
    ----------
    points : ndarray of int
        Number of the first row after each change, in order of time.
    scores : ndarray of shape (n_rows,)
        For a segmentation, how much each change raises twice the log likelihood of the two adjacent segments. For a
        test, how much the rows before and after each tested row differ. NaN at other rows.
    threshold : float or None
        The threshold that the score of a change exceeds; None for a segmentation.
    p_values : ndarray or None
        P-value of each point, adjusted for all positions; None for a segmentation or a given threshold.
    window : int or None
        Rows per window, if windows were compared.
    kinds : tuple of (int, str)
        For each change, the number of the column that changed most, and what changed in it: level, spread, slope,
        season, share (of zeros and ones), standstill, or distribution if it is none of these.
    changed : tuple of tuple of (int, str, float, float)
        For each change, all columns that changed, the clearest first: the number, what changed, the level just before
        (including slope and season), and this level after the step.
    estimator : RatioEstimator or None
        The estimator that scored the windows; pass it to a `ChangeDetector` for later rows.
    row_names : sequence of str or None
        Names of the rows, such as their dates.
    encoding : Encoding or None
        How the columns were encoded.
    series : ndarray of shape (n_rows, n_features)
        The rows that were compared, in order of time, without gaps. Rows in a file are read on demand:
        ``series[start:stop]``.
    feature_names : tuple of str
        Names of the columns of `series`.
    times : ndarray or None
        Times of the rows, as numpy dates or numbers, if a column or the index contains them.
    order : ndarray of int or None
        The number of each row in the table you passed, if fewratio sorted it by time.
    levels : ndarray of the shape of `series`
        The season plus the level and perhaps slope of each segment; for a long series, only the part that is not a
        change.
    notes : tuple of str
        Assumptions, and limits of the result.
    gaps : dict
        For each column of `series` with missing values, a mask of the rows; for a long series, only of whole blocks of
        rows.
    settings : dict
        The arguments of `detect_changes`.
    """

    points: Numbers
    scores: Floats
    threshold: float | None
    p_values: Floats | None
    window: int | None
    kinds: tuple[tuple[int, str], ...]
    changed: tuple[tuple[tuple[int, str, float, float], ...], ...]
    _: KW_ONLY
    estimator: RatioEstimator | None
    row_names: Sequence[str] | None
    encoding: Encoding | None
    series: Any
    feature_names: tuple[str, ...]
    times: NDArray[Any] | None
    order: Numbers | None
    levels: Any
    notes: tuple[str, ...] = ()
    gaps: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def is_test(self) -> bool:
        """Whether the points come from a test rather than a segmentation."""
        return self.threshold is not None

    @property
    def n_near(self) -> int:
        """The most rows averaged on each side of a change: 20, or 1/500 of the rows if that is more."""
        return max(_NEAR, len(self.scores) // _PARTS)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """A dict for each change, which describes the column that changed most.

        The keys are row, name, score, p_value, column and kind (level, spread, slope, season, share, standstill or
        distribution); level_before and level_after, the level just before the change (including slope and season) and
        this level after the step; mean_before and mean_after, the means of up to `n_near` rows on each side, which may
        change in the other direction if the series has a slope (for a share, all rows up to the column's neighbouring
        changes); deviation_before and deviation_after, standard deviations about `levels` up to the neighbouring
        changes; slope_before and slope_after, the slopes per row of lines through these rows; and also, the same keys
        from column on for the other columns that changed. At most 10,000 rows per side are used; missing values are
        left out.
        """
        found = []
        for number, row in enumerate(self.points.tolist()):
            most, *others = [self._describe(row, *each) for each in self.changed[number]]
            found.append(
                {
                    "row": row,
                    "name": None if self.row_names is None else str(self.row_names[row]),
                    "score": float(self.scores[row]),
                    "p_value": None if self.p_values is None else float(self.p_values[number]),
                    **most,
                    "also": others,
                }
            )
        return found

    def _describe(self, row: int, column: int, kind: str, before: float, after: float) -> dict[str, Any]:
        """Describe the change of one column at a row from the rows on both sides."""
        points = zip(self.points.tolist(), self.changed, strict=True)
        # A share lasts until the same column changes again.
        ends = [point for point, each in points if kind != "share" or column in {number for number, *_ in each}]
        start = max([0, row - _MOST_ROWS, *(point for point in ends if point < row)])
        stop = min([len(self.scores), row + _MOST_ROWS, *(point for point in ends if point > row)])
        beside, levels = (each[start:stop][:, column] for each in (self.series, self.levels))
        is_there = ~self.gaps.get(self.feature_names[column], np.zeros(len(self.scores), dtype=bool))[start:stop]
        # A side without any value has only the values it was filled with.
        parts = np.split(np.arange(len(beside)), [row - start])
        parts = [part[is_there[part]] if is_there[part].any() else part for part in parts]
        n_near = len(beside) if kind == "share" else self.n_near
        near = parts[0][-n_near:], parts[1][:n_near]
        means, deviations = (beside[part].mean() for part in near), ((beside - levels)[part].std() for part in parts)
        slopes = (fit_slope(part, beside[part]) for part in parts)
        names = [f"{of}_{side}" for of in ("level", "mean", "deviation", "slope") for side in ("before", "after")]
        # Remove rounding errors.
        digits = 9 - int(np.log10(max(np.ptp(beside), 1e-300)))
        rounded = [round(float(each), digits) for each in (before, after, *means, *deviations)]
        rounded += [float(f"{slope:.6g}") for slope in slopes]
        return {"column": self.feature_names[column], "kind": kind, **dict(zip(names, rounded, strict=True))}

    @property
    def filled(self) -> list[str]:
        """Names of the columns whose missing values were filled."""
        return [] if self.encoding is None else [each.name for each in self.encoding.used if each.marks_missing]

    @property
    def ranked_columns(self) -> list[str]:
        """Names of the columns, those that changed most often first."""
        named = [self.feature_names[column] for changed in self.changed for column, *_ in changed]
        return sorted(self.feature_names, key=lambda name: (-named.count(name), self.feature_names.index(name)))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain numbers and lists, with None for a missing score."""
        names = None if self.row_names is None else [str(self.row_names[point]) for point in self.points]
        known = make_plain(self, "points", "threshold", "p_values", "window", "order", "changes", "notes", "scores")
        return {"mode": "test" if self.is_test else "segmentation", **known, "names": names}

    def plot(self) -> "Picture":
        """Draw the columns that changed most with their changes, and the scores below them.

        Returns
        -------
        Picture
            A chart that notebooks display; ``save(path)`` writes it to a file.
        """
        from fewratio.changes.report import draw_changes

        return draw_changes(self)

    def _report(self, command: str | None = None, name: str = "series") -> "Report":
        from fewratio.changes.report import report_changes

        return report_changes(self, name, command)

    @property
    def method(self) -> str:
        """How the points were found, in words."""
        how = "segmentation" if self.threshold is None else f"test, threshold {self.threshold:.3g}"
        return how if self.window is None else f"{how}, windows of {self.window} rows"

    @property
    def certainty(self) -> str:
        """A sentence about false changes."""
        if self.is_test:
            return f"Scores of changes exceed {self.threshold:.3g}, the threshold of the test."
        if self.settings.get("swings") == "changes":
            return "No promise: slow noise has such changes too."
        return "Each change explains more than in 95 of 100 simulated series without it; this is no guarantee."

    def __repr__(self) -> str:
        return f"ChangeResult: {', '.join(map(str, self.points)) or 'none'} ({self.method})"


class ChangesBySeries(dict[str, ChangeResult], Reported):
    """Result of `detect_changes` with `by`: a dict with one `ChangeResult` per series.

    Attributes
    ----------
    settings : dict
        The arguments of `detect_changes`, with `by`: the column that names the series.
    """

    def __init__(self, results: Mapping[str, ChangeResult], settings: dict[str, Any]) -> None:
        super().__init__(results)
        self.settings = settings

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain numbers and lists."""
        return {"by": self.settings["by"], "series": {name: result.to_dict() for name, result in self.items()}}

    def plot(self) -> "Picture":
        """Draw the column of each series that changed most."""
        from fewratio.changes.report import draw_each

        return draw_each(self)

    def _report(self, command: str | None = None, name: str = "series") -> "Report":
        from fewratio.changes.report import report_each

        return report_each(self, name, command)


class ChangeSettings(ColumnOptions, total=False):
    """The options of `detect_changes`."""

    estimator: Any
    n_permutations: int | None
    level: float | None
    threshold: float | None
    window: int | None
    step: int | None
    time: str | None
    trend: bool
    swings: str
    random_state: int | np.random.Generator | None


@overload
def detect_changes(series: Any, *, by: None = None, **settings: Unpack[ChangeSettings]) -> ChangeResult: ...


@overload
def detect_changes(series: Any, *, by: str, **settings: Unpack[ChangeSettings]) -> ChangesBySeries: ...


def detect_changes(
    series: Any,
    *,
    by: str | None = None,
    estimator: Any = None,
    n_permutations: int | None = None,
    level: float | None = None,
    threshold: float | None = None,
    window: int | None = None,
    step: int | None = None,
    time: str | None = None,
    trend: bool = True,
    swings: str = "noise",
    random_state: int | np.random.Generator | None = 0,
    **columns: Unpack[ColumnOptions],
) -> ChangeResult | ChangesBySeries:
    """Find the moments at which a series changed.

    By default the series is cut into segments, each with its own level, spread and perhaps slope. The number of
    segments is chosen by a penalised likelihood with autoregressive noise, so a trend, a season of two periods or more,
    or dependence on earlier rows does not count as a change. Each change is then compared with simulated series that
    have the same noise but not the change: at most one in 20 may gain as much. The chance of a false change is not
    guaranteed.

    Pass any of `level`, `n_permutations`, `threshold`, `window`, `step` and `estimator` to run a test instead: `level`
    is the chance of reporting any change in a series that has none. The scores of the series are compared with those of
    shuffled series. If rows seem to depend on earlier rows, the innovations of an autoregression are shuffled instead,
    and the level is approximate (docs/decisions/0014-changes.md); with 20 to 40 rows it is almost twice as high. A
    score is the likelihood gained by a change of mean or spread. With a `window`, a `threshold` or an `estimator`, it
    is the divergence, summed over both directions, between the windows before and after a row (Liu et al. 2013), which
    detects any change of the distribution.

    Unless windows are compared, a series of 100,000 rows or more is summarised by the means and deviations of at most
    10,000 blocks of rows. Changes are found among the blocks, and then located among nearby rows.

    Parameters
    ----------
    series : array-like of shape (n,) or (n, n_features)
        Rows in order of time. Gaps of up to five numbers are interpolated; longer gaps are filled with nearby rows, or
        with rows of the same phase if there is a season.
    window : int, optional
        Compare windows of this many rows; changes closer together than that cannot be separated. If windows are
        compared, the default is 50 rows, or a quarter of a short series. Of longer windows, 50 evenly spaced rows are
        compared.
    estimator : RatioEstimator, optional
        Estimates the divergences of windows. By default ``RuLSIF()``, whose width is the median distance between the
        rows of both windows, on columns scaled to a common unit.
    n_permutations : int, optional
        How many times to shuffle for a test; 199 by default. 0 for no test.
    level : float, optional
        Chance that the test reports a change where there is none; 0.01 by default.
    threshold : float, optional
        A threshold for the divergence of windows, instead of one set by permutation. Each pair of windows is then
        scaled separately, as in a `ChangeDetector`, and no trend or season is removed.
    by : str, optional
        The column that names the series, if the table contains several. `level` applies to each series separately.
    time : str, optional
        The time column: dates or numbers. Rows are sorted by it, and it is not compared. The default is the only
        column of dates; or else columns of years and months or quarters, increasing numbers with a name such as
        "time", or evenly increasing numbers, with a `FewRatioWarning`. Columns named in `keep` are always compared.
    step : int, optional
        Rows between tested windows; a fifth of a window by default. A larger step is faster.
    trend : bool, default=True
        Whether the level may drift without a change. Pass False if you know that there is no trend: a line explains
        most of a step, so small shifts are found less often with True.
    swings : {"noise", "changes"}, default="noise"
        Whether slow swings, in rows that depend on earlier rows, are noise or changes. With "changes", the binary
        segmentation of ruptures marks the changes that a person would mark, and many more in noise that swings.
    random_state : int, numpy Generator or None, default=0
        Seeds the shuffles and simulations, and an estimator that has no seed.
    **columns
        What to do with columns: `columns`, `drop`, `keep`, `id`, `categorical`, `numeric`, `common`
        (`fewratio.ColumnOptions`). A column with a different date in each row names the rows and is not compared.

    Returns
    -------
    ChangeResult or ChangesBySeries
        With `by`, a dict with one result per series, keyed by its name.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import detect_changes
    >>> rng = np.random.default_rng(0)
    >>> series = np.concatenate([rng.normal(0, 1, 40), rng.normal(4, 1, 40)])
    >>> detect_changes(series).points
    array([40])
    >>> detect_changes(series, level=0.05, random_state=0).p_values
    array([0.005])
    """
    options = ChangeOptions(window, n_permutations, level, threshold, step)
    settings: dict[str, Any] = {"estimator": estimator, **options._asdict(), "time": time}
    settings |= {} if trend is True else {"trend": trend}
    settings |= {} if swings == "noise" else {"swings": swings}
    settings |= {"random_state": random_state, **columns}
    if by is not None:
        parts = split_series(as_raw(series, "series").hold_in_memory(), by)
        each = {name: detect_changes(part, **settings) for name, part in parts.items()}
        return ChangesBySeries(each, {"by": by, **settings})
    uses_windows = any(value is not None for value in (window, estimator, threshold, step))
    is_test = uses_windows or level is not None or n_permutations not in (None, 0)
    check_options(options, is_test)
    inputs.check_switch("trend", trend)
    if swings not in ("noise", "changes"):
        raise ParameterError(
            f"{name_parameter('swings')} is {swings!r}; expected 'noise' or 'changes'. Pass one of them."
        )
    if is_test and swings == "changes":
        raise ParameterError(
            f"{name_parameter('swings')} is 'changes', which cannot be tested. Leave it out, or leave out level, "
            "n_permutations, window, step, threshold and estimator."
        )
    for_estimator, for_permutations = inputs.rng_streams(random_state, 2)
    model = inputs.copy_seeded(estimator, inputs.default_estimator(), for_estimator)
    opened = read_series(model, series, time, columns, by_blocks=not uses_windows)
    blocks, n = opened.blocks, opened.n_rows
    check_squares(opened.rows)
    if not uses_windows and n < LEAST_ROWS:
        raise InputError(
            f"{opened.argument} has {write_count(n, 'row')}; at least {LEAST_ROWS} are needed. Pass a longer series."
        )
    # With a threshold, scores equal those of a `ChangeDetector`, which sees only its windows.
    rows = opened.rows if blocks is None else blocks.features
    if threshold is None and swings == "noise":
        found = segment(rows, trend=trend, may_transform=blocks is None)
    else:
        found = describe_nothing(rows)
    # A model with sources expects raw rows.
    compared = found.rows - found.background if not model.has_sources else rows
    if uses_windows:
        model = inputs.in_common_units(model, compared) if threshold is None else model
        changes: FoundChanges = find_by_windows(model, compared, found, options, for_permutations, opened.argument)
    elif is_test:
        changes = find_by_splits(compared, found, options, for_permutations)
    elif swings == "changes":
        changes = find_swings(rows)
    else:
        scores = np.full(len(rows), np.nan)
        scores[found.points] = found.gains
        changes = FoundChanges(np.array(found.points, dtype=np.intp), scores)
    points = changes.points.tolist()
    degree = found.degree if points == found.points else 0
    named = drop_filled(found, points, name_changes(found, points, degree), _list_gaps(opened), degree)
    levels = trace_levels(found, points)[:, : opened.rows.shape[1]]
    before, after = trace_steps(found, points)
    changed = []
    for number, of_point in enumerate(named):
        # Blocks have two features per column of the table, mean and spread.
        each_once: dict[int, tuple[int, str, float, float]] = {}
        for feature, kind in of_point:
            label = feature
            if blocks is not None:
                label, kind = blocks.columns[feature], kind if feature < levels.shape[1] else "spread"
                kind = "share" if blocks.is_binary[label] and kind != "season" else kind
            each_once.setdefault(label, (label, kind, float(before[number, feature]), float(after[number, feature])))
        changed.append(tuple(each_once.values()))
    changes, changed = _drop_empty(changes, changed)
    changes = changes._replace(kinds=tuple(each[0][:2] for each in changed), changed=tuple(changed))
    if blocks is not None:
        changes = blocks.locate_in_rows(changes, found.background[:, : levels.shape[1]])
    gaps = opened.gaps if blocks is None else {name: blocks.list_gap(gap) for name, gap in opened.gaps.items()}
    return ChangeResult(
        *changes,
        estimator=model if uses_windows else None,
        row_names=opened.row_names,
        encoding=opened.encoding,
        series=opened.rows if blocks is None else blocks.list_rows(),
        feature_names=opened.feature_names,
        times=opened.times,
        order=opened.order,
        levels=levels if blocks is None else blocks.list_background(found.background[:, : levels.shape[1]]),
        notes=(
            *_write_gaps(gaps, opened, changes),
            *(write_notes(found, opened.feature_names, is_test) if swings == "noise" else ()),
        ),
        gaps=gaps,
        settings=settings,
    )


def _list_gaps(series: Series) -> dict[int, NDArray[np.bool_]]:
    """Return the gaps by the feature they are in: blocks have two features of each column."""
    labels = series.feature_names
    columns = range(len(labels)) if series.blocks is None else series.blocks.columns
    return {
        feature: series.gaps[labels[column]] for feature, column in enumerate(columns) if labels[column] in series.gaps
    }


def _drop_empty(
    changes: FoundChanges, changed: list[tuple[tuple[int, str, float, float], ...]]
) -> tuple[FoundChanges, list[tuple[tuple[int, str, float, float], ...]]]:
    """Leave out moments at which no column changed."""
    is_change = np.array([bool(each) for each in changed], dtype=bool)
    if changes.threshold is None:
        changes.scores[changes.points[~is_change]] = np.nan
    p_values = None if changes.p_values is None else changes.p_values[is_change]
    return changes._replace(points=changes.points[is_change], p_values=p_values), [each for each in changed if each]


def _write_gaps(gaps: dict[str, NDArray[np.bool_]], series: Series, changes: FoundChanges) -> Iterator[str]:
    """Say which changes lie within a long gap of their column."""
    by_gap: dict[str, dict[str, None]] = {}
    for point, changed in zip(changes.points.tolist(), changes.changed, strict=True):
        for name in (series.feature_names[column] for column, *_ in changed):
            if name in gaps and (ends := describe_gap(gaps[name], point, series.row_names)):
                by_gap.setdefault(ends, {})[name] = None
    for ends, names in by_gap.items():
        said = f"there are no values between {ends}; the change may have happened at any time in between."
        yield f"{', '.join(names)}: {said}"
