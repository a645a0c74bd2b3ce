"""The estimator to take without related datasets: a mean of several, in shares that the sizes of the samples decide."""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats
from fewratio.estimators.base import RatioEstimator, common, in_blocks
from fewratio.estimators.classifier import ClassifierRatio
from fewratio.estimators.least_squares import RuLSIF
from fewratio.estimators.randomness import draw_rows
from fewratio.estimators.scaling import ColumnScaling
from fewratio.lazy import torch_is_installed

# The network's share up to so many rows per sample, and from where on it has none (docs/design.md).
_SHARE, _FEW, _MANY = 2 / 3, 50, 400
# The relative parameters that the network was trained for.
_ALPHAS = (0.1, 0.9)
# Rows per sample that the network, and RuLSIF, are fitted to at most; the classifier has its own limit.
_MAX_ROWS_NETWORK, _MAX_ROWS = 200, 5_000


@dataclass(eq=False, repr=False)
class AutoRatioEstimator(RatioEstimator):
    """Relative density ratio without related datasets: a mean of the best for the sizes of the samples.

    Up to 50 rows per sample it is two thirds `UniversalRatioEstimator` and one third `ClassifierRatio`, from 400 on
    `ClassifierRatio`; in between, the shares change with the logarithm of the size. Of samples of different sizes the
    harmonic mean counts. Of large samples rows are drawn to fit to: 200 for the network, 5,000 for the classifier.

    Without torch (``pip install 'fewratio[networks]'``) it is `ClassifierRatio` at all sizes, with a warning.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1. The network knows 0.1 to 0.9; for any other RuLSIF is taken at all sizes.
    scale : {"columns", "none"}, default="columns"
        Units of the columns, as in `RuLSIF`; those of `ClassifierRatio` never matter.
    random_state : int, numpy Generator or None
        Draws rows of large samples, and seeds the estimators.

    Attributes
    ----------
    estimators_ : list of RatioEstimator
        What was fitted.
    shares_ : list of float
        The share of each in the mean.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows given to `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import AutoRatioEstimator
    >>> rng = np.random.default_rng(0)
    >>> AutoRatioEstimator(random_state=0).fit(rng.normal(size=(5, 3)), rng.normal(1, 1, (8, 3))).estimators_
    [UniversalRatioEstimator(), ClassifierRatio(random_state=0)]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = common("alpha", "scale", "random_state")

    alpha: float = 0.5
    _: KW_ONLY
    scale: str = "columns"
    random_state: int | np.random.Generator | None = None

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        rng = np.random.default_rng(self.random_state)
        self._scaling = ColumnScaling.of([X_nu, X_de], self.scale)
        samples = self._scaling(X_nu), self._scaling(X_de)
        self.estimators_, self.shares_ = [], []
        ratios = [np.zeros(len(X)) for X in samples]
        for estimator, share, most in self._parts(len(X_nu), len(X_de)):
            drawn = [draw_rows(X, most, rng) if len(X) > most else np.arange(len(X)) for X in samples]
            estimator._fit(*(X[rows] for X, rows in zip(samples, drawn, strict=True)))
            estimator._set_features(X_nu.shape[1], None)
            fitted = estimator.ratio_nu_, estimator.ratio_de_
            for total, X, rows, ratio in zip(ratios, samples, drawn, fitted, strict=True):
                at_all = ratio if len(rows) == len(X) else in_blocks(estimator._ratio, X)
                at_all[rows] = ratio
                total += share * at_all
            self.estimators_.append(estimator)
            self.shares_.append(share)
        self.ratio_nu_, self.ratio_de_ = ratios

    @property
    def finds_outliers(self) -> bool:
        """Whether what was taken tells outliers from other rows, which the network does not."""
        return all(getattr(estimator, "finds_outliers", True) for estimator in self.estimators_)

    def _ratio(self, X: Floats) -> NDArray[Any]:
        X = self._scaling(X)
        parts = zip(self.shares_, self.estimators_, strict=True)
        return np.sum([share * estimator._ratio(X) for share, estimator in parts], axis=0)

    def _parts(self, n_nu: int, n_de: int) -> list[tuple[RatioEstimator, float, int]]:
        """Give the estimators, their shares, and how many rows per sample each is fitted to at most."""
        if not _ALPHAS[0] <= self.alpha <= _ALPHAS[1]:
            return [(RuLSIF(self.alpha, sigma="cv", reg="cv", random_state=self.random_state), 1.0, _MAX_ROWS)]
        classifier = ClassifierRatio(alpha=self.alpha, random_state=self.random_state)
        size = 2 / (1 / n_nu + 1 / n_de)
        share = _SHARE * float(np.clip(np.log(_MANY / size) / np.log(_MANY / _FEW), 0, 1))
        if share and torch_is_installed():
            from fewratio.estimators.universal import UniversalRatioEstimator

            network = UniversalRatioEstimator(self.alpha)
            return [(network, share, _MAX_ROWS_NETWORK), (classifier, 1 - share, _MAX_ROWS)]
        if share:
            warnings.warn(
                "torch is not installed, so a classifier stands in for the universal network, which is better for "
                "samples this small. To use it: pip install 'fewratio[networks]'.",
                stacklevel=2,
            )
        return [(classifier, 1.0, _MAX_ROWS)]
