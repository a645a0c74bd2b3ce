"""Outliers of a batch, by the ratio of known normal rows to the batch."""

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils._param_validation import Interval

from fewratio.applications import inputs
from fewratio.applications.rows import RowExplanation, conformal_p_values, discovery_threshold, explain_row
from fewratio.core.shapes import Floats
from fewratio.data.encoding import Column, ColumnOptions, ColumnRules
from fewratio.data.partition import divided
from fewratio.data.separating import Separating, separating_columns, without_columns
from fewratio.data.table import Table
from fewratio.errors import InputError
from fewratio.estimators.base import NotFittedError, TableEstimator, common
from fewratio.estimators.randomness import row_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NEIGHBOURS = 5
_CONTAMINATION, _DISCOVERIES, _PART_OF_MEDIAN = "contamination", "false discovery rate", "quarter of the median"


@dataclass(eq=False, repr=False)
class InlierOutlierDetector(OutlierMixin, TableEstimator):
    """Find the outliers of a batch, given rows that are known to be normal (Hido et al. 2011).

    The score of a row is the density ratio of the normals to the batch: the higher, the more normal. So it depends on
    the whole batch: the same row has another score in other company. Give all rows that are to be judged in one call;
    of a handful of rows each makes a large part of the denominator and has a low score for that.

    A row is flagged if its score is below a threshold that is set for each batch:

    * with a ``contamination``, so that this share of the batch is flagged;
    * else, if normals suffice, so that in expectation at most a share ``false_discovery_rate`` of the flagged rows is
      normal: conformal p-values (`p_values`) and the rule of Benjamini and Hochberg. With a calibration part of n
      normals the smallest p-value is 1 / (n + 1). Normals suffice where that is at most the square of the rate, so
      that a batch can be flagged of which a share as large as the rate are outliers: 198 normals at a rate of 0.1;
    * else at a quarter of the median score of the normals and the batch together, which promises nothing: a rule of
      thumb for `RuLSIF`, whose ratio is near 0 at outliers. An estimator that draws its ratio towards 1, as the
      universal one does, may have no row below it; give a ``contamination`` with such a one.

    Parameters
    ----------
    estimator : RatioEstimator, optional
        Gives the ratio; ``RuLSIF()`` by default. One that was pretrained, such as a `MetaRatioEstimator` trained with
        episodes of inliers, is used with what it has learned; note that scikit-learn's ``clone`` of the detector
        forgets that.
    contamination : float, optional
        Share of a batch to flag, above 0 and at most 0.5.
    false_discovery_rate : float, default=0.1
        The rate to hold where there is no ``contamination``.
    random_state : int, numpy Generator or None
        Draws the calibration part of the normals, and seeds an estimator that has no seed.

    Attributes
    ----------
    threshold_rule_ : {"contamination", "false discovery rate", "quarter of the median"}
        Which of the rules above holds.
    calibration_ : ndarray of int
        Numbers of the normals, half of them, that p-values are calibrated with.
    estimator_ : RatioEstimator
        The seeded copy of ``estimator``; a copy of it is fitted to each batch, so that threads may share a detector.

    Notes
    -----
    scikit-learn's ``check_estimator`` passes but for ``check_methods_subset_invariance`` (a score depends on the whole
    batch), ``check_outliers_train`` (the threshold belongs to the batch, so there is no ``offset_``), without a
    ``contamination`` ``check_outliers_fit_predict`` (a table that is its own reference has no outliers where false
    discoveries are limited), and five that expect another wording of a message.

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
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **common("random_state"),
        # What `seeded_copy` says of a wrong one is clearer.
        "estimator": "no_validation",
        "contamination": [None, Interval(Real, 0, 0.5, closed="right")],
        "false_discovery_rate": [Interval(Real, 0, 1, closed="neither")],
    }

    estimator: Any = None
    contamination: float | None = None
    _: KW_ONLY
    false_discovery_rate: float = 0.1
    random_state: int | np.random.Generator | None = None

    def fit(
        self, X_inlier: Any, y: None = None, *, normal_if: str | None = None, **columns: Unpack[ColumnOptions]
    ) -> Self:
        """Take rows that are known to be normal.

        Parameters
        ----------
        X_inlier : array-like of shape (n_inliers, n_features)
            Normal rows, one or more; a table may have columns of any kind.
        y : None
            Ignored; scikit-learn's pipelines pass it.
        normal_if : str, optional
            A condition such as ``"status == ok"``: the rows of the table where it holds are the normal ones. Its
            column is not used otherwise.
        **columns
            What to do with columns: `columns`, `drop`, `keep`, `id`, `categorical`, `numeric`, `common`
            (`fewratio.ColumnOptions`).

        Returns
        -------
        self
        """
        self._check_parameters()
        for_estimator, for_calibration = inputs.rng_streams(self.random_state, 2)
        estimator = inputs.seeded_copy(self.estimator, inputs.default_estimator(), for_estimator)
        condition = None
        if normal_if is not None:
            X_inlier, _, condition = divided(X_inlier, normal_if)
        encoding, (table,), _ = inputs.read_samples(estimator, {"X_inlier": X_inlier}, columns)
        if encoding is not None and condition is not None:
            # Rows that are judged later may have it.
            encoding = replace(encoding, columns=(*encoding.columns, Column(condition, left_out="condition")))
        self.estimator_, self._normals, self.row_names_ = estimator, table.to_numpy(), table.row_names
        self._keep, self._reference = ColumnRules.of(columns).keep, table.argument
        self._remember(encoding, table)
        drawn = for_calibration.permutation(table.n_rows)[: table.n_rows // 2]
        self.calibration_ = np.sort(row_order(self._normals)[drawn])
        enough = 1 / (len(self.calibration_) + 1) <= self.false_discovery_rate**2
        self.threshold_rule_ = _DISCOVERIES if enough else _PART_OF_MEDIAN
        if self.contamination is not None:
            self.threshold_rule_ = _CONTAMINATION
        return self

    def score_samples(self, X: Any) -> Floats:
        """Give the ratio of the normals' density to the batch's at each row of the batch X; higher is more normal."""
        normals, rows = self._read_batch(X)
        return inputs.fitted_copy(self.estimator_, normals, rows).ratio_de_

    def decision_function(self, X: Any) -> Floats:
        """Give the score of each row of the batch X less the batch's threshold: negative where `predict` gives -1.

        Where the false discovery rate is held, the score is not that of `score_samples` but that behind `p_values`.
        """
        scores, threshold = self._judge(X)
        return scores - threshold

    def threshold(self, X: Any) -> float:
        """Give the threshold of the batch X: rows with a lower score are flagged, by the score of `decision_function`.

        Examples
        --------
        >>> detector = InlierOutlierDetector(contamination=0.5).fit([[0.0], [0.1], [0.2]])
        >>> batch = [[0.1], [0.0], [5.0]]
        >>> bool(detector.threshold(batch) == np.median(detector.score_samples(batch)))
        True
        """
        return self._judge(X)[1]

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Flag the outliers of the batch X: -1 for those, 1 for the others."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def fit_predict(self, X: Any, y: None = None) -> NDArray[np.int64]:
        """Flag the outliers of a table that is its own reference: ``fit(X).predict(X)``.

        The ratio of a sample to itself is 1 but for smoothing, which lowers it where rows are few: an order by
        density, with nothing promised. Give a ``contamination``, or better known normals with `fit`.
        """
        return self.fit(X).predict(X)

    def p_values(self, X: Any) -> Floats:
        """Give conformal p-values of the rows of the batch X; a small one speaks against the row being normal.

        The normals are split: one half makes the numerator, the other (the calibration part) is put into the
        denominator with the batch. As the ratio knows no difference between calibration rows and batch, a normal row
        of the batch has any rank among the calibration rows with equal chance: (1 + k) / (1 + n) where k of the n have
        a score no higher than the row's. The rule of Benjamini and Hochberg then holds the false discovery rate
        (Marandon et al. 2024, AdaDetect), if the batch's normal rows are drawn as the known ones were.
        """
        return conformal_p_values(*self._split_scores(*self._read_batch(X)))

    def explain(self, x: Any, n_neighbours: int = _NEIGHBOURS, leave_out: Sequence[str] = ()) -> RowExplanation:
        """Show a row beside its nearest normals.

        Distances are between columns in units of the normals' standard deviations (of 1 where a column is constant).

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row.
        n_neighbours : int, default=5
            How many normals to show; fewer if there are fewer.
        leave_out : sequence of str
            Columns not to look at, such as those of `separating`.

        Returns
        -------
        RowExplanation
            The nearest normals with their distances, and the columns, those first that differ most from them.

        Examples
        --------
        >>> detector = InlierOutlierDetector().fit([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> detector.explain([1.0, 9.0], n_neighbours=2)
        RowExplanation: nearest normals 2, 0; differs most in column 1 (+8 deviations), column 0 (+0.5)
        """
        self._check_fitted()
        inputs.check_count("n_neighbours", n_neighbours)
        table = x if isinstance(x, Table) else self._open(np.reshape(x, (1, -1)) if np.ndim(x) == 1 else x, "x")
        if table.n_rows != 1:
            raise InputError(f"x has {table.n_rows} rows; needed is the one to explain. Pass a single row.")
        normals, row = self._without(table, leave_out)
        return explain_row(row.numbers[0], normals.to_numpy(), int(n_neighbours), row.feature_names)

    def plot(self, X: Any, n_shown: int = 10) -> "Figure":
        """Draw the rows of the batch X by score, and in what the most anomalous differ from their nearest normals.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The batch.
        n_shown : int, default=10
            How many of the most anomalous rows to explain.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from fewratio.charts.results import draw_outliers

        inputs.check_count("n_shown", n_shown)
        table = self._open(X, "X")
        scores, threshold = self._judge(table)
        lowest = np.argsort(scores, kind="stable")[:n_shown].tolist()
        apart = [column.column for column in self.separating(table)]
        reasons = [self.explain(table.row(row), leave_out=apart) for row in lowest]
        differences = [dict(zip(reason.columns, reason.differences.tolist(), strict=True)) for reason in reasons]
        names = [f"row {row}" if table.row_names is None else str(table.row_names[row]) for row in lowest]
        return draw_outliers(scores - threshold, names, differences)

    def as_pyod(self) -> "PyODStyle":
        """Give the fitted detector with PyOD's attributes and its sense: outliers have larger scores and the label 1.

        Examples
        --------
        >>> detector = InlierOutlierDetector().fit([[0.0], [0.1], [0.2]]).as_pyod()
        >>> detector.fit([[0.1], [0.0], [5.0]]).labels_
        array([0, 0, 1])
        """
        self._check_fitted()
        return PyODStyle(self)

    def _judge(self, X: Any) -> tuple[Floats, float]:
        """Give the scores of a batch and the threshold below which a row is flagged."""
        normals, rows = self._read_batch(X)
        if self.threshold_rule_ == _DISCOVERIES:
            scores, calibration = self._split_scores(normals, rows)
            return scores, discovery_threshold(scores, calibration, self.false_discovery_rate)
        fitted = inputs.fitted_copy(self.estimator_, normals, rows)
        scores = fitted.ratio_de_
        if self.contamination is not None:
            return scores, float(np.percentile(scores, 100 * self.contamination))
        default = type(inputs.default_estimator())
        if not isinstance(fitted, default):
            warnings.warn(
                f"Rows are flagged below a quarter of the median score, a rule of thumb for {default.__name__}; with "
                f"{type(fitted).__name__} it may flag too few or too many. Use contamination=0.1, for instance, to say "
                "which share are outliers.",
                stacklevel=3,
            )
        return scores, float(np.median(np.append(scores, fitted.ratio_nu_)) / 4)

    def _split_scores(self, normals: Floats, rows: Floats) -> tuple[Floats, Floats]:
        """Score a batch and the calibration part of the normals by one ratio that cannot tell them apart."""
        if len(self.calibration_) == 0:
            raise InputError(
                "X_inlier had one row; p-values need one to compare with and one to calibrate by. Fit to two normals "
                "or more (198 at a false discovery rate of 0.1)."
            )
        calibration = normals[self.calibration_]
        together = np.concatenate([rows, calibration])
        reference = np.delete(normals, self.calibration_, axis=0)
        scores = inputs.fitted_copy(self.estimator_, reference, together).ratio_de_
        return scores[: len(rows)], scores[len(rows) :]

    def _open(self, X: Any, argument: str) -> Table:
        self._check_fitted()
        if self.estimator_.has_sources:
            return self.estimator_._open(X, argument)
        return super()._open(X, argument)

    def separating(self, X: Any) -> list[Separating]:
        """Give the columns that tell the normals from the batch X by themselves, such as a date; they are not used."""
        encoding = self.encoding_
        if encoding is None or not encoding.is_named or self.estimator_.has_sources:
            return []
        found = separating_columns(encoding, self._normals, self._open(X, "X").numbers, is_batch=True)
        return [column for column in found if column.column not in self._keep]

    def _read_batch(self, X: Any) -> tuple[Floats, Floats]:
        """Return the normals and the rows of a batch, without columns that separate them."""
        table = self._open(X, "X")
        normals, rows = self._without(table, [column.column for column in self.separating(table)])
        return normals.to_numpy(), rows.to_numpy()

    def _without(self, table: Table, columns: Sequence[str]) -> tuple[Table, Table]:
        """Return the normals and a table without some columns."""
        normals = replace(table, numbers=self._normals)
        if self.encoding_ is None or not columns:
            return normals, table
        _, (normals, rows) = without_columns(self.encoding_, [normals, table], columns)
        return normals, rows

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("This InlierOutlierDetector knows no normal rows yet. Call fit(X_inlier) first.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_normals")


class PyODStyle:
    """A fitted detector with PyOD's attributes: outliers have larger scores and the label 1, others 0.

    Made by `InlierOutlierDetector.as_pyod`. As in PyOD, `fit` takes the rows to be judged; the normals are those that
    the detector was fitted to.

    Parameters
    ----------
    detector : InlierOutlierDetector
        Fitted to normal rows.

    Attributes
    ----------
    decision_scores_ : ndarray of shape (n,)
        Scores of the batch, higher where more anomalous.
    threshold_ : float
        Rows with a score above it are labelled 1.
    labels_ : ndarray of shape (n,)
        The labels.
    """

    decision_scores_: Floats
    threshold_: float
    labels_: NDArray[np.int64]

    def __init__(self, detector: InlierOutlierDetector) -> None:
        self.detector = detector

    def fit(self, X: Any, y: None = None) -> Self:
        """Judge the rows of a batch."""
        scores, threshold = self.detector._judge(X)
        self.decision_scores_, self.threshold_ = -scores, -threshold
        self.labels_ = (self.decision_scores_ > self.threshold_).astype(np.int64)
        return self

    def fit_predict(self, X: Any, y: None = None) -> NDArray[np.int64]:
        """Judge the rows of a batch and give their labels."""
        return self.fit(X).labels_

    def decision_function(self, X: Any) -> Floats:
        """Give the scores of another batch; higher is more anomalous."""
        return -self.detector._judge(X)[0]

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Give the labels of another batch, by that batch's threshold."""
        return PyODStyle(self.detector).fit(X).labels_
