"""Find the outliers of a batch, given rows known to be normal."""

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from fewratio.core.draws import deal, row_order
from fewratio.core.shapes import Floats
from fewratio.data.column_kinds import CATEGORY
from fewratio.data.columns import Column, ColumnOptions
from fewratio.data.non_overlapping import Levels, NonOverlapping, decode_levels, find_non_overlapping, pool_levels
from fewratio.data.raw_table import RawTable, as_raw
from fewratio.data.split_table import split_by_condition
from fewratio.data.table import Table, make_row
from fewratio.errors import InputError, name_parameter, warn
from fewratio.estimators import samples as inputs
from fewratio.estimators.base import TableEstimator
from fewratio.estimators.parameters import Interval, common
from fewratio.outliers.outlier_score import NEIGHBOURS, Scores, score_rows
from fewratio.outliers.pyod_style import PyODStyle
from fewratio.outliers.result import CLEAN_FLAGGED, OutlierResult
from fewratio.outliers.rows import (
    RowExplanation,
    can_discover,
    conformal_p_values,
    discovery_threshold,
    explain_row,
    most_are_outliers,
    prediction_bound,
)

_NEIGHBOURS = 5
_CONTAMINATION, _DISCOVERIES, _PER_ROW = "contamination", "false discovery rate", "false positive rate"
_MEANINGS = {
    _CONTAMINATION: "the share of rows that was asked for ({}) is below it",
    _DISCOVERIES: "at most {} of the outliers are expected to be normal",
    _PER_ROW: "about {} of normal rows score lower, by an estimate without a guarantee",
}
# The normals are left out in this many folds if each needs another fit.
_N_FOLDS = 10


class _Batch(NamedTuple):
    """A batch: its table, its rows as the score needs them, and the categories of normals and batch by column."""

    table: Table
    rows: Floats
    levels: dict[Any, Levels]


@dataclass(eq=False, repr=False)
class InlierOutlierDetector(OutlierMixin, TableEstimator):
    """Find the outliers of a batch, given rows that are known to be normal (Hido et al. 2011).

    Each row gets a score: the higher, the more normal. The default score is
    w (r - 1) - log(0.3 + max(s, x)) - v log(0.3 + t), with four parts:

    * r is the density ratio of the normals to the batch, from counts in random cells.
    * s is the distance to the three nearest normals, in deviations per column.
    * x says how strange the strangest cell is: how far it lies outside all normals, by itself or given the other
      columns; or how rare its category is, if no normal has it.
    * t is the distance to the nearest twentieth of all rows.

    The weights depend on the numbers of normals and rows (`fewratio.outliers.outlier_score`). With more of them, w
    grows, to at most 2 if the batch is like the normals and 4.75 if it is not; v falls from 0.4 at 5 normals to 0. An
    ``estimator`` replaces this score by its ratio. In both cases, the score depends on the whole batch: the same row
    gets another score in another batch, so pass all rows in one call. The default score is deterministic and does not
    depend on the order of the rows.

    A row is flagged if its score is below a threshold. One of three rules sets it (`threshold_rule`):

    * "contamination", if you pass one: this share of the batch is flagged.
    * "false discovery rate", with enough normals: conformal p-values (`p_values`) and the rule of Benjamini and
      Hochberg limit the expected share of normal rows among the flagged ones. With n normals, no p-value is below
      1 / (n + 1), so with few normals, a few outliers among many rows can never be flagged. At a rate of 0.1, enough
      means at least 99 normals, and either 999 or ten per row of the batch, so that a single outlier or one per cent of
      the batch can be flagged. ``false_discovery_rate=None`` uses the next rule instead.
    * "false positive rate" otherwise: a row is flagged if a left-out normal would hardly score as low (the 98 %
      prediction bound of Student's t; for an ``estimator``, that of log(1 + ratio)). The rate is an estimate, not a
      guarantee. In batches without outliers, the rule flagged 3 to 5 % of the rows with 5 normals or more, on average
      over 21 tables. If outliers are rare, half of the flags may be false.

    The last two rules compare with the scores of the normals, so a batch that contains only outliers is flagged as a
    whole. `predict` warns you if it flags more than half of ten rows or more.

    Parameters
    ----------
    estimator : RatioEstimator, optional
        Its ratio replaces the default score. A pretrained one, such as an `InlierRatioEstimator` or a
        `MetaRatioEstimator` trained with episodes of inliers, stays trained, but scikit-learn's ``clone`` of the
        detector forgets the training. p-values then need twice as many normals, because half of them are used for
        calibration. The universal network finds no outliers (far from all rows, its ratio is near 1) and causes a
        warning.
    contamination : float, optional
        Share of a batch to flag, above 0 and at most 0.5.
    false_discovery_rate : float or None, default=0.1
        The rate to control if there is no ``contamination``; None for the rule of the false positive rate.
    random_state : int, numpy Generator or None, default=0
        For an ``estimator`` only: seeds one that has no seed, and draws which normals calibrate it.

    Attributes
    ----------
    estimator_ : RatioEstimator or None
        The seeded copy of ``estimator``; a copy of it is fitted to each batch, so that threads may share a detector.
    calibration_ : ndarray of int
        Numbers of the normals, half of all, that calibrate the p-values of an ``estimator``.

    Notes
    -----
    ``fit_predict(X)``, inherited from scikit-learn, uses X as its own reference: it ranks rows by density, and false
    alarms are not controlled. Pass a ``contamination``, or better, pass known normals to `fit`.

    scikit-learn's ``check_estimator`` passes except for ``check_methods_subset_invariance`` (a score depends on the
    whole batch), ``check_outliers_train`` (the threshold depends on the batch, so there is no ``offset_``) and, without
    a ``contamination``, ``check_outliers_fit_predict`` (a table compared with itself has no outliers if the false
    discovery rate is controlled).

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import InlierOutlierDetector
    >>> rng = np.random.default_rng(0)
    >>> detector = InlierOutlierDetector().fit(rng.normal(0, 1, (50, 2)))
    >>> batch = np.vstack([rng.normal(0, 1, (30, 2)), [[6.0, 6.0]]])
    >>> int(detector.score_samples(batch).argmin()), int(detector.predict(batch)[30])
    (30, -1)
    """

    _reference = "X_inlier"
    _fitted_attribute, _not_fitted = "_normals", "knows no normal rows yet. Call fit(X_inlier) first."
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **common("random_state"),
        # `copy_seeded` has a clearer message for a wrong estimator.
        "estimator": "no_validation",
        "contamination": [None, Interval(Real, 0, 0.5, closed="right")],
        "false_discovery_rate": [None, Interval(Real, 0, 1, closed="neither")],
    }

    estimator: Any = None
    contamination: float | None = None
    _: KW_ONLY
    false_discovery_rate: float | None = 0.1
    random_state: int | np.random.Generator | None = 0

    def fit(
        self, X_inlier: Any, y: None = None, *, normal_if: str | None = None, **columns: Unpack[ColumnOptions]
    ) -> Self:
        """Fit the detector to rows known to be normal.

        Parameters
        ----------
        X_inlier : array-like of shape (n_inliers, n_features)
            One or more normal rows; a table may have columns of any kind.
        y : None
            Ignored, for compatibility with scikit-learn's pipelines.
        normal_if : str, optional
            A condition such as ``"status == ok"`` that selects the normal rows of the table. Its column is not used
            otherwise.
        **columns
            What to do with columns: `columns`, `drop`, `keep`, `id`, `categorical`, `numeric`, `common`
            (`fewratio.ColumnOptions`). Dates are left out unless `keep` names them, since later rows have later dates.

        Returns
        -------
        self
        """
        self._check_parameters()
        for_estimator, for_calibration = inputs.rng_streams(self.random_state, 2)
        given = self.estimator
        estimator: Any = None if given is None else inputs.copy_seeded(given, given, for_estimator)
        condition = None
        if normal_if is not None:
            X_inlier, _, condition = split_by_condition(X_inlier, normal_if)
        samples = inputs.read_samples(estimator or self, {"X_inlier": X_inlier}, columns, uses_dates=False)
        encoding, (table,) = samples.encoding, samples.tables
        if encoding is not None and condition is not None:
            # Batches may contain this column.
            encoding = replace(encoding, columns=(*encoding.columns, Column(condition, left_out="condition")))
        self.estimator_, self._normals, self.row_names_ = estimator, table.to_numpy(), table.row_names
        self._reference = table.name
        self._remember(encoding, table)
        self._categories = self._find_categories(X_inlier)
        drawn = for_calibration.permutation(table.n_rows)[: table.n_rows // 2]
        self.calibration_ = np.sort(row_order(self._normals)[drawn])
        self._folds = np.empty(table.n_rows, dtype=np.intp)
        self._folds[row_order(self._normals)] = deal(table.n_rows, min(_N_FOLDS, table.n_rows), for_calibration)
        self._n_scores = table.n_rows if estimator is None else len(self.calibration_)
        rate = self.false_discovery_rate
        suffices = rate is not None and table.n_rows > NEIGHBOURS and 1 / (self._n_scores + 1) <= rate**2
        self._small_batch_rule = _DISCOVERIES if suffices else _PER_ROW
        if self.contamination is not None:
            self._small_batch_rule = _CONTAMINATION
        return self

    def _rule(self, n_rows: int) -> str:
        """Return the threshold rule for a batch of this many rows."""
        rule, rate = self._small_batch_rule, float(self.false_discovery_rate or 0)
        return _PER_ROW if rule == _DISCOVERIES and not can_discover(self._n_scores, n_rows, rate) else rule

    def score_samples(self, X: Any) -> Floats:
        """Score the rows of the batch X; higher is more normal."""
        batch = self._read_batch(X)
        return self._score(batch).rows if self.estimator_ is None else self._ratio(self._normals, batch.rows)

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of the batch X less its threshold; they are negative where `predict` returns -1.

        If the false discovery rate is controlled with an ``estimator``, these are the scores that `p_values` uses, not
        those of `score_samples`.
        """
        scored, threshold = self._score_batch(self._read_batch(X))
        return scored.rows - threshold

    def threshold(self, X: Any) -> float:
        """Return the threshold of the batch X: rows with a lower score are flagged (see `decision_function`).

        Examples
        --------
        >>> detector = InlierOutlierDetector(contamination=0.5).fit([[0.0], [0.1], [0.2]])
        >>> batch = [[0.1], [0.0], [5.0]]
        >>> bool(detector.threshold(batch) == np.median(detector.score_samples(batch)))
        True
        """
        return self._score_batch(self._read_batch(X))[1]

    def threshold_rule(self, X: Any) -> str:
        """Name the rule that sets the threshold of the batch X; it depends on the number of rows.

        Examples
        --------
        >>> rows = np.random.default_rng(0).normal(size=(99, 2))
        >>> detector = InlierOutlierDetector().fit(rows)
        >>> detector.threshold_rule(rows[:9]), detector.threshold_rule(rows)
        ('false discovery rate', 'false positive rate')
        """
        return self._rule(self._open(X, "X").n_rows)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return -1 for outliers of the batch X and 1 for other rows."""
        is_outlier = self.decision_function(X) < 0
        if most_are_outliers(is_outlier):
            warn(
                f"{is_outlier.sum()} of {len(is_outlier)} rows are flagged: most of the batch is unlike the normals. "
                "Check that both have the same columns in the same units, and that the normals are of this kind."
            )
        return np.where(is_outlier, -1, 1)

    def p_values(self, X: Any) -> Floats:
        """Return conformal p-values of the rows of the batch X; a small p-value is evidence of an outlier.

        They are (1 + k) / (1 + n), where k of n scores of normals are at most the score of the row. For a normal row,
        from the distribution of the known ones, a p-value of 0.05 or less occurs at most 5 % of the time. This is exact
        for 4 to 5,000 normals and up to 100,000 rows, otherwise approximate:

        * By default, each normal is left out, and scored as part of the batch. If the row and a normal were swapped,
          the score of the normal would be at least the one that is compared, and with a swap for each normal all n + 1
          scores would be exchangeable (full conformal prediction, Vovk et al. 2005). The rule of Benjamini and Hochberg
          controls its rate if these p-values are positively dependent, which is not proved here;
          `benchmarks/answers.py --only flags` measures it.
        * With an ``estimator``, the normals are split: one half is the numerator, the other (the calibration part)
          joins the batch in the denominator. The ratio cannot distinguish calibration rows from the batch, so each rank
          of a normal row among the calibration rows is equally likely, and the false discovery rate is controlled
          (Marandon et al. 2024, AdaDetect).
        """
        scored = self._calibrate(self._read_batch(X))
        return conformal_p_values(scored.rows, scored.lowest)

    def explain(self, x: Any, n_neighbours: int = _NEIGHBOURS) -> RowExplanation:
        """Compare a row with its nearest normals.

        Distances are Euclidean, with each column in units of the normals' standard deviation (1 for constant columns).

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row.
        n_neighbours : int, default=5
            The most normals to return.

        Returns
        -------
        RowExplanation
            The nearest normals with their distances, and the columns, the most different first.

        Examples
        --------
        >>> detector = InlierOutlierDetector().fit([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> detector.explain([1.0, 9.0], n_neighbours=2)
        RowExplanation: nearest normals 2, 0; differs most, in deviations, in columns 1 (+8), 0 (+0.5)
        """
        self._check_fitted()
        inputs.check_count("n_neighbours", n_neighbours)
        table = x if isinstance(x, Table) else self._open(make_row(x), "x")
        if table.n_rows != 1:
            raise InputError(f"x has {table.n_rows} rows; expected the one to explain. Pass a single row.")
        return explain_row(table.numbers[0], self._normals, int(n_neighbours), table.feature_names)

    def detect(self, X: Any) -> OutlierResult:
        """Score the rows of the batch X and flag its outliers, in a result with a picture and a report.

        Examples
        --------
        >>> InlierOutlierDetector().fit([[0.0], [0.1], [0.2], [0.3]]).detect([[0.1], [0.0], [5.0]])
        OutlierResult(1 of 3 rows; threshold ..., false positive rate)
        """
        batch = self._read_batch(X)
        scored, threshold = self._score_batch(batch)
        table, rule = batch.table, self._rule(batch.table.n_rows)
        rate = {_CONTAMINATION: self.contamination, _DISCOVERIES: self.false_discovery_rate}.get(rule, CLEAN_FLAGGED)
        meaning = _MEANINGS[rule].format(f"{100 * float(rate or 0):.3g} %")
        samples = inputs.Samples(self.encoding_, [table], (X,))
        settings = self.get_params(deep=False)
        return OutlierResult(scored.rows, threshold, rule, meaning, samples, self, settings, scored, batch.levels)

    def as_pyod(self) -> PyODStyle:
        """Return the fitted detector with PyOD's attributes and sign: outliers have larger scores and the label 1.

        Examples
        --------
        >>> detector = InlierOutlierDetector().fit([[0.0], [0.1], [0.2]]).as_pyod()
        >>> detector.fit([[0.1], [0.0], [5.0]]).labels_
        array([0, 0, 1])
        """
        self._check_fitted()
        return PyODStyle(self)

    def _score_batch(self, batch: _Batch) -> tuple[Scores, float]:
        """Score a batch and the normals; also return the threshold below which rows are flagged."""
        rule = self._rule(len(batch.rows))
        if self.estimator_ is None:
            scored = self._score(batch)
        elif rule == _DISCOVERIES:
            scored = self._calibrate(batch)
        else:
            scores = self._ratio(self._normals, batch.rows)
            left_out = self._left_out_ratio(batch.rows) if rule == _PER_ROW else scores[:0]
            scored = Scores(scores, left_out, left_out)
        return scored, self._threshold(scored, rule)

    def _score(self, batch: _Batch) -> Scores:
        """Return the default scores."""
        return score_rows(self._normals, batch.rows, [levels.codes for levels in batch.levels.values()])

    def _threshold(self, scored: Scores, rule: str) -> float:
        """Return the threshold of a batch under a rule."""
        scores, left_out, lowest = scored
        if rule == _DISCOVERIES:
            return discovery_threshold(scores, lowest, float(self.false_discovery_rate or 0))
        if rule == _CONTAMINATION:
            return float(np.percentile(scores, 100 * float(self.contamination or 0)))
        if len(left_out) <= 2:
            # Two scores do not show the spread: flag nothing.
            return float(scores.min())
        # Ratios are at least 0, so the bound is computed on logarithms, which the default scores contain already.
        is_ratio = self.estimator_ is not None
        return np.expm1(prediction_bound(np.log1p(left_out))) if is_ratio else prediction_bound(left_out)

    def _calibrate(self, batch: _Batch) -> Scores:
        """Score a batch, and normals to calibrate these scores."""
        normals, rows = self._normals, batch.rows
        if len(normals) == 1:
            raise InputError(
                "X_inlier had one row; p-values need one to compare with and one to calibrate by. Fit to two normals "
                "or more."
            )
        if self.estimator_ is None:
            return self._score(batch)
        together = np.concatenate([rows, normals[self.calibration_]])
        scores = self._ratio(np.delete(normals, self.calibration_, axis=0), together)
        return Scores(scores[: len(rows)], scores[len(rows) :], scores[len(rows) :])

    def _left_out_ratio(self, rows: Floats) -> Floats:
        """Return the ratio at the normals, each in the batch together with the others of its fold."""
        normals = self._normals
        if len(normals) == 1:
            return np.empty(0)
        found = []
        for fold in range(self._folds.max() + 1):
            out = self._folds == fold
            found.append(self._ratio(normals[~out], np.concatenate([rows, normals[out]]))[len(rows) :])
        return np.concatenate(found)

    def _ratio(self, normals: Floats, rows: Floats) -> Floats:
        """Return the ratio of the user's estimator at the rows of a batch."""
        fitted = inputs.fit_copy(self.estimator_, normals, rows)
        if not getattr(fitted, "finds_outliers", True):
            warn(
                f"{type(fitted).__name__} is not made to find outliers: its ratio is near 1 far from all rows, so "
                f"far outliers are missed. Leave out {name_parameter('estimator')}, or use one that has learned from "
                "marked outliers (`InlierRatioEstimator`; in a shell `fewratio train --episodes inliers`)."
            )
        return fitted.ratio_de_

    def _open(self, X: Any, argument: str) -> Table:
        self._check_fitted()
        if self._has_sources():
            return self.estimator_._open(X, argument)
        return super()._open(X, argument)

    def non_overlapping(self, X: Any) -> list[NonOverlapping]:
        """Return the columns whose values do not overlap between the normals and the batch X.

        The score uses them like all other columns.
        """
        batch = self._read_batch(X)
        return self._find_non_overlapping(batch.table, batch.levels)

    def _find_non_overlapping(self, table: Table, levels: dict[Any, Levels]) -> list[NonOverlapping]:
        samples = inputs.Samples(self.encoding_, [replace(table, numbers=self._normals), table])
        return find_non_overlapping(samples.columns, samples.tables, levels)

    def _read_batch(self, X: Any) -> _Batch:
        """Read a batch and its categories."""
        table = self._open(X, "X")
        # The default score reads blocks of rows, perhaps from a file; an estimator needs all rows at once.
        rows = table.numbers if self.estimator_ is None else table.to_numpy()
        batch = self._find_categories(X)
        if self._categories is None or batch is None:
            columns = inputs.Samples(self.encoding_, [table]).columns.items()
            levels = {
                label: decode_levels(column, np.concatenate([self._normals[:, place], table.numbers[:, place]]))
                for label, (column, place) in columns
                if column.kind == CATEGORY
            }
        else:
            levels = {name: pool_levels(name, [self._categories, batch]) for name in self._categories.labels}
        return _Batch(table, rows, levels)

    def _beyond_shift(self, table: Table, levels: dict[Any, Levels]) -> float | None:
        """Return the share of rows flagged after giving columns the median and middle 90 % of the normals.

        A column is shifted and scaled if that brings it closer to the normals, by the Kolmogorov-Smirnov distance.
        Zeros and ones, such as those of categories, stay. None with an estimator, or if the batch stays in a file.
        """
        if self.estimator_ is not None or not isinstance(table.numbers, np.ndarray):
            return None
        (low, middle, high), (to_low, to_middle, to_high) = (
            np.quantile(rows, (0.05, 0.5, 0.95), axis=0) for rows in (table.numbers, self._normals)
        )
        stretch = np.divide(to_high - to_low, high - low, out=np.ones(len(low)), where=high > low)
        moved = (table.numbers - middle) * stretch + to_middle
        is_share = ((self._normals == 0) | (self._normals == 1)).all(0)
        for place, (before, after, known) in enumerate(zip(table.numbers.T, moved.T, self._normals.T, strict=True)):
            if is_share[place] or _distance(known, before) <= _distance(known, after):
                moved[:, place] = before
        scored, threshold = self._score_batch(_Batch(table, moved, levels))
        return float((scored.rows < threshold).mean())

    def _find_categories(self, X: Any) -> RawTable | None:
        """Return the categorical columns of X before encoding; None if there are none, or X is encoded already."""
        encoding = None if self._has_sources() else self.encoding_
        names = [] if encoding is None else [column.name for column in encoding.used if column.kind == CATEGORY]
        if encoding is None or not names or isinstance(X, Table):
            return None
        raw = as_raw(X)
        return None if encoding.is_encoded(raw) else encoding.select_used(raw).select(names)

    def _has_sources(self) -> bool:
        return self.estimator_ is not None and self.estimator_.has_sources


def _distance(first: Floats, second: Floats) -> float:
    """Return the Kolmogorov-Smirnov distance of two samples."""
    pooled = np.concatenate([first, second])
    shares = (np.searchsorted(np.sort(each), pooled, side="right") / len(each) for each in (first, second))
    return float(np.abs(np.subtract(*shares)).max())
