"""Weights that make a training sample look like a target sample."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fewratio.applications import inputs
from fewratio.core.shapes import Floats
from fewratio.data.encoding import ColumnOptions
from fewratio.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_THIN_SIZE, _THIN_RATIO = 0.1, 0.1


@dataclass(frozen=True, eq=False, repr=False)
class ImportanceWeights:
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
    """

    weights: Floats
    ratio: Floats
    n_clipped: int
    samples: inputs.Samples

    @property
    def effective_sample_size(self) -> float:
        """Rows that an unweighted sample would have for the same variance of a mean: (sum w)^2 / sum w^2."""
        return float(self.weights.sum() ** 2 / np.square(self.weights).sum())

    @property
    def overlap(self) -> float:
        """Mean ratio at the training rows: about 1 for samples of one law, 0 for samples that do not meet."""
        return float(self.ratio.mean())

    def to_dict(self) -> dict[str, Any]:
        """Give all of it as plain numbers and lists."""
        return inputs.plain(self, "weights", "effective_sample_size", "overlap", "n_clipped")

    def plot(self) -> "Figure":
        """Draw the weights from large to small, and what they are worth.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from fewratio.charts.results import draw_weights

        return draw_weights(self.weights, self.effective_sample_size, self.overlap, self.n_clipped)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return self.weights.astype(self.weights.dtype if dtype is None else dtype, copy=bool(copy))

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        size, n = self.effective_sample_size, len(self)
        return f"ImportanceWeights: {n} rows worth {size:.1f}, overlap {self.overlap:.2f}, {self.n_clipped} clipped"


def importance_weights(
    X_train: Any,
    X_target: Any,
    estimator: Any = None,
    clip: float | None = None,
    normalise: bool = True,
    *,
    random_state: int | np.random.Generator | None = None,
    **columns: Unpack[ColumnOptions],
) -> ImportanceWeights:
    """Weigh training rows by the ratio of the target's density to theirs.

    A warning is given where the overlap of the samples is too thin to rely on the weights: if the training rows are
    worth fewer than a tenth of their number (`ImportanceWeights.effective_sample_size`), or if the mean ratio at them
    (`ImportanceWeights.overlap`) is below 0.1.

    Parameters
    ----------
    X_train : array-like of shape (n_train, n_features)
        The rows to weigh.
    X_target : array-like of shape (n_target, n_features)
        Rows as they come where the model is to be used; no labels are needed.
    estimator : RatioEstimator, optional
        Gives the ratio. By default RuLSIF on columns of a common unit at alpha = 0.1, which bounds the ratio by 10 and
        with it the variance of what is learned; width and regulariser chosen by leave-one-out.
    clip : float, optional
        Largest ratio; larger ones are cut to it, before normalising. Lowers variance, adds bias.
    normalise : bool, default=True
        Whether to divide the weights by their mean, which is then 1.
    random_state : int, numpy Generator or None
        Seeds an estimator that has no seed.
    **columns
        What to do with columns: `columns`, `drop`, `keep`, `id`, `categorical`, `numeric`, `common`
        (`fewratio.ColumnOptions`).

    Returns
    -------
    ImportanceWeights

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
    [0.306, 0.031]
    """
    limit = np.inf
    if clip is not None:
        limit = inputs.check_number("clip", clip, 0, np.inf, "a positive number, the largest ratio")
    model = inputs.seeded_copy(estimator, inputs.default_weights_estimator(), *inputs.rng_streams(random_state, 1))
    samples = inputs.read_samples(model, {"X_train": X_train, "X_target": X_target}, columns)
    train, target = samples.tables
    ratio = inputs.fitted_copy(model, target.to_numpy(), train.to_numpy()).ratio_de_
    weights = np.minimum(ratio, limit)
    if not weights.any():
        raise InputError(
            "The ratio is zero at every row of X_train: X_target lies elsewhere, and no weights make up for that. Get "
            "training rows from where the target is."
        )
    n_clipped = int((ratio > limit).sum())
    result = ImportanceWeights(weights / weights.mean() if normalise else weights, ratio, n_clipped, samples)
    _warn_if_thin(result)
    return result


def _warn_if_thin(result: ImportanceWeights) -> None:
    size, n = result.effective_sample_size, len(result)
    if size < _THIN_SIZE * n or result.overlap < _THIN_RATIO:
        warnings.warn(
            f"The {n} rows of X_train are worth {size:.1f} rows of X_target, and the mean ratio at them is "
            f"{result.overlap:.2g}; below {_THIN_SIZE * n:.1f} or {_THIN_RATIO} the overlap is too thin to rely on. "
            "Get training rows from where the target is, clip the weights, or raise the estimator's alpha.",
            UserWarning,
            stacklevel=3,
        )
