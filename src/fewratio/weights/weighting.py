"""Weight a training sample so that it resembles a target sample."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fewratio.core.blocks import in_blocks, row_blocks
from fewratio.core.draws import draw_rows
from fewratio.core.shapes import Floats
from fewratio.core.wording import write_share
from fewratio.data.column_kinds import CATEGORY
from fewratio.data.columns import ColumnOptions
from fewratio.errors import InputError, name_parameter, warn
from fewratio.estimators import samples as inputs
from fewratio.estimators.classifier.classifier import ClassifierRatio
from fewratio.progress import progress_bar
from fewratio.report.reported import Reported, make_plain
from fewratio.weights.validation import Validation, select_given, split_off_label, validate

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture
    from fewratio.report.page import Report

# The overlap is thin if the effective sample size is below this number and this share of the rows, or if the mean ratio
# is below this.
_THIN_SIZE, _THIN_SHARE, _THIN_RATIO = 10, 0.1, 0.1
# The ratio is fitted to at most this many rows per sample; more would be slow and gain little.
_MAX_ROWS = 5_000


@dataclass(frozen=True, eq=False, repr=False)
class WeightResult(Reported):
    """Result of `importance_weights`; NumPy reads it as the array of weights.

    Attributes
    ----------
    weights : ndarray of shape (n_train,)
        The weights, to pass as ``sample_weight``.
    ratio : ndarray of shape (n_train,)
        The ratio before clipping and normalising.
    n_clipped : int
        How many weights were clipped.
    samples : Samples
        The tables, and how their columns were encoded.
    overlap_by_column : dict
        For each column, the share of target rows with a value in the range, or among the categories, of the training
        rows; the smallest share first.
    validation : Validation or None
        The error of a model with and without weights, if `y` was given.
    settings : dict
        The arguments of `importance_weights`.
    """

    weights: Floats
    ratio: Floats
    n_clipped: int
    samples: inputs.Samples
    overlap_by_column: dict[str | int, float] = field(default_factory=dict)
    validation: Validation | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def effective_sample_size(self) -> float:
        """The size of an unweighted sample whose mean has the same variance: (sum w)^2 / sum w^2."""
        return float(self.weights.sum() ** 2 / np.square(self.weights).sum())

    @property
    def overlap(self) -> float:
        """The mean ratio at the training rows: about 1 if both samples have one distribution, 0 without overlap."""
        return float(self.ratio.mean())

    @property
    def advice(self) -> str | None:
        """Whether to use the weights, from the cross-validated error of the model; None without `y`.

        It says "use", "no difference seen" or "do not use", with the errors. It applies only to the model; to estimate
        a mean over the target, always use the weights.
        """
        return None if self.validation is None else self.validation.advice

    @property
    def findings(self) -> list[str]:
        """What to know before using the weights: columns that do not overlap, the effective sample size, the advice."""
        apart = [f"{each.separates}, and no weights can make up for that" for each in self.samples.non_overlapping]
        size = f"the {len(self)} weighted rows are as precise as {self.effective_sample_size:.1f} unweighted ones"
        least = [
            f"{write_share(share)} of the target rows have a value of {self._describe_overlap(label)}"
            for label, share in self.overlap_by_column.items()
            if round(share, 2) < 1 and label not in {each.column for each in self.samples.non_overlapping}
        ][:1]
        return [*apart, f"{size} (effective sample size)", *least, *([] if self.advice is None else [self.advice])]

    def _describe_overlap(self, label: str | int) -> str:
        name = f"column {label}" if isinstance(label, int) else label
        column, _ = self.samples.columns[label]
        return f"{name} that {'occurs in' if column.kind == CATEGORY else 'is in the range of'} the training rows"

    @property
    def summary(self) -> str:
        """The same in one sentence."""
        return "; ".join(self.findings)

    @property
    def _is_thin(self) -> bool:
        return self.effective_sample_size < self._least_size or self.overlap < _THIN_RATIO

    @property
    def _least_size(self) -> float:
        return min(_THIN_SIZE, _THIN_SHARE * len(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain numbers and lists."""
        size = "effective_sample_size", "overlap", "overlap_by_column", "n_clipped"
        apart = [each.column for each in self.samples.non_overlapping]
        return make_plain(self, "weights", *size, "advice", "validation") | {"non_overlapping": apart}

    def plot(self) -> "Picture":
        """Draw the weights from large to small, and the effective sample size.

        Returns
        -------
        Picture
            A chart that notebooks display; ``save(path)`` writes it to a file.
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
        return f"WeightResult: {self.summary}; overlap {self.overlap:.2f}, {self.n_clipped} clipped"


def importance_weights(
    X_train: Any,
    X_target: Any,
    *,
    y: Any = None,
    model: Any = None,
    estimator: Any = None,
    clip: float | None = None,
    normalise: bool = True,
    random_state: int | np.random.Generator | None = 0,
    **columns: Unpack[ColumnOptions],
) -> WeightResult:
    """Weight training rows by how typical they are of the rows that a model will be used on.

    If you pass `y`, `WeightResult.advice` says whether the weights help a model; often they do not. You are warned if
    the samples overlap too little to rely on the weights: if `WeightResult.effective_sample_size` is below 10 and
    below a tenth of the training rows, or if the mean ratio (`WeightResult.overlap`) is below 0.1.

    Parameters
    ----------
    X_train : array-like of shape (n_train, n_features)
        The rows to weight.
    X_target : array-like of shape (n_target, n_features)
        Rows like those the model will be used on; no labels are needed.
    y : str or array-like of shape (n_train,), optional
        Labels of the training rows, or the name of their column, which the weights do not use. The weighted error of
        the model, fitted with and without weights, is cross-validated on at most 5,000 training rows.
    model : scikit-learn estimator, optional
        The model that you will fit to `X_train`, an array or a data frame as you pass it. By default ridge regression
        if `y` is numeric, else logistic regression, on the columns as numbers.
    estimator : RatioEstimator, optional
        Estimates the ratio; with alpha > 0 it is at most 1 / alpha. By default `ClassifierRatio` at alpha = 0
        (docs/decisions/0013-weights.md). It is fitted to at most 5,000 random rows of each sample.
    clip : float, optional
        Ratios are clipped to this value before normalising, which lowers the variance and adds bias.
    normalise : bool, default=True
        Whether to divide the weights by their mean.
    random_state : int, numpy Generator or None, default=0
        Draws rows and the folds of the validation, and seeds an estimator that has no seed.
    **columns
        What to do with columns: `columns`, `drop`, `keep`, `id`, `categorical`, `numeric`, `common`
        (`fewratio.ColumnOptions`).

    Returns
    -------
    WeightResult

    Examples
    --------
    A straight line fitted to a curve, without weights and with weights:

    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from fewratio import importance_weights
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(1, 0.5, (150, 1)), rng.normal(2, 0.25, (150, 1))
    >>> y, y_target = np.sinc(X[:, 0]), np.sinc(X_target[:, 0])
    >>> w = importance_weights(X, X_target, y=y, random_state=0)
    >>> w.advice.split(":")[0]
    'use the weights'
    >>> models = [LinearRegression().fit(X, y, sample_weight=weight) for weight in (None, w)]
    >>> [round(float(np.mean((model.predict(X_target) - y_target) ** 2)), 3) for model in models]
    [0.306, 0.004]
    """
    needed = "a positive number, the largest ratio"
    inputs.check_switch("normalise", normalise)
    limit = np.inf if clip is None else inputs.check_number("clip", clip, 0, np.inf, needed)
    for_model, rng = inputs.rng_streams(random_state, 2)
    train, to_resemble, label = split_off_label(X_train, X_target, y)
    ratio_model = inputs.copy_seeded(estimator, ClassifierRatio(alpha=0.0), for_model)
    samples = inputs.read_samples(ratio_model, {"X_train": train, "X_target": to_resemble}, columns)
    # Do not copy the rows: there may be many, and they may be in files.
    X, target = (table.numbers for table in samples.tables)
    rows, target_rows = (draw_rows(each, _MAX_ROWS, rng) for each in (X, target))
    drawn = [np.ascontiguousarray(each, dtype=np.float64) for each in (target[target_rows], X[rows])]
    fitted = inputs.fit_copy(ratio_model, *drawn)
    ratio = np.empty(len(X))
    if len(rows) < len(X):
        with progress_bar(len(X), "weighing", unit="rows") as report:
            ratio = in_blocks(fitted._ratio, X, on_step=report)
    ratio[rows] = fitted.ratio_de_
    weights = np.minimum(ratio, limit)
    if not weights.any():
        raise InputError(
            "The ratio is zero at every row of {}: {} does not overlap with it, and no weights can make up for that. "
            "Get training rows from where the target is.".format(*(table.name for table in samples.tables))
        )
    n_clipped = int((ratio > limit).sum())
    weights = weights / weights.mean() if normalise else weights
    settings = {"model": model, "estimator": estimator, "clip": clip, "normalise": normalise}
    settings |= {"random_state": random_state, **columns} | ({"y": y} if isinstance(y, str) else {})
    validation = None
    if label is not None:
        given = None if model is None else select_given(X_train, y, rows)
        validation = validate(model, given, drawn[1], label[rows], weights[rows], rng)
    result = WeightResult(weights, ratio, n_clipped, samples, _measure_overlap(samples), validation, settings)
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
            f"at them is {result.overlap:.2g}; below {result._least_size:.3g} or {_THIN_RATIO} the overlap is too thin "
            f"to rely on. {advice}."
        )
        warn(warning)
    return result


def _measure_overlap(samples: inputs.Samples) -> dict[str | int, float]:
    """Return, for each column, the share of target rows within the range, or the categories, of the training rows."""
    train, target = (table.numbers for table in samples.tables)
    low, high = np.full(train.shape[1], np.inf), np.full(train.shape[1], -np.inf)
    for block in row_blocks(len(train), train.shape[1]):
        rows = train[block]
        low, high = np.minimum(low, rows.min(0)), np.maximum(high, rows.max(0))
    places = {label: place for label, (_, place) in samples.columns.items()}
    counts = dict.fromkeys(places, 0)
    for block in row_blocks(len(target), target.shape[1]):
        rows = target[block]
        is_inside = (rows >= low) & (rows <= high)
        for label, place in places.items():
            counts[label] += int(is_inside[:, place].all(1).sum())
    for label, codes in samples.category_codes.items():
        # Rare categories are encoded together, but they are not the same.
        counts[label] = int(np.isin(codes[len(train) :], codes[: len(train)]).sum())
    return {label: counts[label] / len(target) for label in sorted(places, key=lambda each: counts[each])}
