"""Weights that make a training sample look like a target sample."""

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fewratio.core.blocks import in_blocks
from fewratio.core.draws import deal, draw_rows
from fewratio.core.shapes import Floats
from fewratio.data.columns import ColumnOptions
from fewratio.errors import FewRatioWarning, InputError, name_parameter
from fewratio.estimators import samples as inputs
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.classifier.classifier import ClassifierRatio
from fewratio.progress import progress_bar, track
from fewratio.report.reported import Reported, make_plain

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture
    from fewratio.report.page import Report

_THIN_SIZE, _THIN_RATIO = 0.1, 0.1
# Rows per sample that the ratio is fitted to: more cost much and gain little.
_MAX_ROWS = 5_000
_N_FOLDS = 3
# Weighting pays if the held-out gain has so many standard errors, and if so many rows are left. Chosen on the tables of
# the development half (benchmarks/answers.py --only weighting; docs/decisions/0013).
_LEAST_ERRORS, _LEAST_SIZE = 2.0, 50


@dataclass(frozen=True, eq=False, repr=False)
class WeightResult(Reported):
    """Weights of training rows, made by `importance_weights`; NumPy reads them as an array.

    Attributes
    ----------
    weights : ndarray of shape (n_train,)
        What to hand on as ``sample_weight``.
    ratio : ndarray of shape (n_train,)
        The ratio before clipping and normalising.
    n_clipped : int
        How many weights were clipped.
    samples : Samples
        The tables, and what became of their columns.
    held_out_gain, held_out_error : float
        By how much the ratio has a smaller error J (`relative_squared_error`) than constant weights at rows that it was
        not fitted to, and the standard error of that; NaN where a sample has a single row.
    settings : dict
        What `importance_weights` was told.
    """

    weights: Floats
    ratio: Floats
    n_clipped: int
    samples: inputs.Samples
    held_out_gain: float = np.nan
    held_out_error: float = np.nan
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def effective_sample_size(self) -> float:
        """Rows that an unweighted sample would have for the same variance of a mean: (sum w)^2 / sum w^2."""
        return float(self.weights.sum() ** 2 / np.square(self.weights).sum())

    @property
    def overlap(self) -> float:
        """Mean ratio at the training rows: about 1 for samples of one law, 0 for samples that do not meet."""
        return float(self.ratio.mean())

    @property
    def is_worthwhile(self) -> bool:
        """Whether a model is likely to gain by the weights: see `advice`."""
        return self._differs and not self._is_thin and self.effective_sample_size >= _LEAST_SIZE

    @property
    def advice(self) -> str:
        """Whether to use the weights, and why.

        Use them if the ratio is better than constant weights at held-out rows, by two standard errors, and if the
        effective sample size is 50 or more.
        """
        if self.is_worthwhile:
            return "use the weights: the samples differ, and the effective sample size is large enough"
        if np.isnan(self.held_out_gain):
            return "do not use the weights: there are too few rows to tell whether the samples differ"
        if not self._differs:
            return "do not use the weights: at held-out rows they are no better than constant ones"
        if self._is_thin:
            why = "; ".join(each.separates for each in self.samples.non_overlapping)
            return f"do not use the weights: the samples hardly overlap{f' ({why})' * bool(why)}"
        size = self.effective_sample_size
        return (
            f"do not use the weights: their effective sample size is {size:.1f}, and below {_LEAST_SIZE} they add noise"
        )

    @property
    def _is_thin(self) -> bool:
        return self.effective_sample_size < _THIN_SIZE * len(self) or self.overlap < _THIN_RATIO

    @property
    def _differs(self) -> bool:
        return self.held_out_gain > _LEAST_ERRORS * self.held_out_error

    def to_dict(self) -> dict[str, Any]:
        """Give all of it as plain numbers and lists."""
        size = "effective_sample_size", "overlap", "n_clipped"
        return make_plain(self, "weights", *size, "is_worthwhile", "advice", "held_out_gain", "held_out_error")

    def plot(self) -> "Picture":
        """Draw the weights from large to small, and the effective sample size.

        Returns
        -------
        Picture
            It shows itself in a notebook; ``save(path)`` writes it to a file.
        """
        from fewratio.weights.report import draw_weights

        return draw_weights(self)

    def _report(
        self, command: str | None = None, names: tuple[str, str] = ("training rows", "target rows")
    ) -> "Report":
        from fewratio.weights.report import report_weights

        return report_weights(self, names, command)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return self.weights.astype(self.weights.dtype if dtype is None else dtype, copy=bool(copy))

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        size, n = self.effective_sample_size, len(self)
        counts = f"{n} rows, effective sample size {size:.1f}, overlap {self.overlap:.2f}, {self.n_clipped} clipped"
        return f"WeightResult: {counts}; {self.advice}"


def importance_weights(
    X_train: Any,
    X_target: Any,
    *,
    estimator: Any = None,
    clip: float | None = None,
    normalise: bool = True,
    random_state: int | np.random.Generator | None = None,
    **columns: Unpack[ColumnOptions],
) -> WeightResult:
    """Weigh training rows by the ratio of the target's density to theirs.

    `WeightResult.advice` says whether to use them: often it is better not to. A warning is given where the overlap
    of the samples is too thin to rely on the weights: if `WeightResult.effective_sample_size` is below a tenth of the
    number of training rows, or if the mean ratio at them (`WeightResult.overlap`) is below 0.1.

    Parameters
    ----------
    X_train : array-like of shape (n_train, n_features)
        The rows to weigh.
    X_target : array-like of shape (n_target, n_features)
        Rows as they come where the model is to be used; no labels are needed.
    estimator : RatioEstimator, optional
        Gives the ratio. By default `ClassifierRatio` at alpha = 0.1, which bounds the ratio by 10 and with it the
        variance of what is learned. Of samples of more than 5,000 rows so many are drawn to fit it to.
    clip : float, optional
        Largest ratio; larger ones are cut to it, before normalising. Lowers variance, adds bias.
    normalise : bool, default=True
        Whether to divide the weights by their mean, which is then 1.
    random_state : int, numpy Generator or None
        Seeds an estimator that has no seed, draws rows, and deals them to folds.
    **columns
        What to do with columns: `columns`, `drop`, `keep`, `id`, `categorical`, `numeric`, `common`
        (`fewratio.ColumnOptions`).

    Returns
    -------
    WeightResult

    Examples
    --------
    A straight line through a curve, fitted where the training rows are and where the target is:

    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from fewratio import importance_weights
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(1, 0.5, (150, 1)), rng.normal(2, 0.25, (150, 1))
    >>> y, y_target = np.sinc(X[:, 0]), np.sinc(X_target[:, 0])
    >>> w = importance_weights(X, X_target, random_state=0)
    >>> models = [LinearRegression().fit(X, y, sample_weight=weight) for weight in (None, w)]
    >>> [round(float(np.mean((model.predict(X_target) - y_target) ** 2)), 3) for model in models]
    [0.306, 0.008]
    """
    needed = "a positive number, the largest ratio"
    inputs.check_switch("normalise", normalise)
    limit = np.inf if clip is None else inputs.check_number("clip", clip, 0, np.inf, needed)
    for_model, rng = inputs.rng_streams(random_state, 2)
    model = inputs.copy_seeded(estimator, ClassifierRatio(alpha=0.1), for_model)
    samples = inputs.read_samples(model, {"X_train": X_train, "X_target": X_target}, columns)
    # Not copied: there may be many, and they may be in files.
    X, target = (table.numbers for table in samples.tables)
    rows, target_rows = (draw_rows(each, _MAX_ROWS, rng) for each in (X, target))
    drawn = [np.ascontiguousarray(each, dtype=np.float64) for each in (target[target_rows], X[rows])]
    fitted = inputs.fit_copy(model, *drawn)
    ratio = np.empty(len(X))
    if len(rows) < len(X):
        with progress_bar(len(X), "weighing", unit="rows") as report:
            ratio = in_blocks(fitted._ratio, X, on_step=report)
    ratio[rows] = fitted.ratio_de_
    weights = np.minimum(ratio, limit)
    if not weights.any():
        raise InputError(
            "The ratio is zero at every row of {}: {} lies elsewhere, and no weights make up for that. Get training "
            "rows from where the target is.".format(*(table.name for table in samples.tables))
        )
    n_clipped = int((ratio > limit).sum())
    weights = weights / weights.mean() if normalise else weights
    settings = {"estimator": estimator, "clip": clip, "normalise": normalise, "random_state": random_state, **columns}
    result = WeightResult(weights, ratio, n_clipped, samples, *_held_out_gain(model, drawn, rng), settings)
    if result._is_thin:
        n, size = len(result), result.effective_sample_size
        names = [str(each.column) for each in samples.non_overlapping]
        drop = name_parameter("drop", ",".join(names), f"drop={names!r}")
        advice = (
            f"To weigh by other columns than those that separate the samples, choose {drop}"
            if names
            else ("Get training rows from where the target is, clip the weights, or raise the estimator's alpha")
        )
        warning = (
            f"The effective sample size of the {n} rows of {samples.tables[0].name} is {size:.1f}, and the mean ratio "
            f"at them is {result.overlap:.2g}; below {_THIN_SIZE * n:.1f} or {_THIN_RATIO} the overlap is too thin to "
            f"rely on. {advice}."
        )
        warnings.warn(FewRatioWarning(warning), stacklevel=2)
    return result


def _held_out_gain(model: RatioEstimator, samples: list[Floats], rng: np.random.Generator) -> tuple[float, float]:
    """Give by how much J is below that of the ratio 1, at folds that were left out, and the standard error."""
    n_folds = min(_N_FOLDS, *map(len, samples))
    if n_folds < 2:
        return np.nan, np.nan
    folds = [deal(len(X), n_folds, rng) for X in samples]
    ratios = [np.empty(len(X)) for X in samples]
    for k in track(range(n_folds), n_folds, "validating", unit="folds"):
        fitted = inputs.fit_copy(model, *(X[fold != k] for X, fold in zip(samples, folds, strict=True)))
        for X, fold, ratio in zip(samples, folds, ratios, strict=True):
            ratio[fold == k] = fitted._ratio(X[fold == k])
    alpha = float(getattr(model, "alpha", 0.0))
    # The terms of -J, row by row; -J of the ratio 1 is a half.
    terms = ratios[0] - alpha / 2 * ratios[0] ** 2, (alpha - 1) / 2 * ratios[1] ** 2
    gain = sum(float(each.mean()) for each in terms) - 0.5
    return gain, sum(float(each.var()) / len(each) for each in terms) ** 0.5
