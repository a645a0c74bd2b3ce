"""The estimator to take without related datasets: which one it is, the sizes of the samples decide."""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats, Numbers
from fewratio.estimators.base import RatioEstimator, common
from fewratio.estimators.least_squares import RuLSIF
from fewratio.estimators.randomness import row_order
from fewratio.estimators.scaling import ColumnScaling
from fewratio.lazy import torch_is_installed

# From so many rows per sample on, a kernel is as good as the network, and faster (`benchmarks/sizes.py`).
LARGE = 200
# The relative parameters that the network was trained for.
ALPHAS = (0.1, 0.9)


@dataclass(eq=False, repr=False)
class AutoRatioEstimator(RatioEstimator):
    """Relative density ratio without related datasets: the best there is for the sizes of the samples.

    Where either sample has fewer than 200 rows, `UniversalRatioEstimator`, on 200 drawn rows of a larger one; else
    `RuLSIF` with width and regulariser chosen by leave-one-out, which is as good there and faster. Without torch
    (``pip install 'fewratio[networks]'``) it is `RuLSIF` at all sizes, with a warning.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1. The network knows 0.1 to 0.9; for any other RuLSIF is taken at all sizes.
    scale : {"columns", "none"}, default="columns"
        Units of the columns, as in `RuLSIF`.
    random_state : int, numpy Generator or None
        Draws rows of samples that are too large for the network, and centres and pairs of RuLSIF.

    Attributes
    ----------
    estimator_ : UniversalRatioEstimator or RuLSIF
        What was taken.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows given to `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import AutoRatioEstimator
    >>> rng = np.random.default_rng(0)
    >>> AutoRatioEstimator().fit(rng.normal(size=(5, 3)), rng.normal(1, 1, (8, 3))).estimator_
    UniversalRatioEstimator()
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = common("alpha", "scale", "random_state")

    alpha: float = 0.5
    _: KW_ONLY
    scale: str = "columns"
    random_state: int | np.random.Generator | None = None

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        self._scaling = ColumnScaling.of([X_nu, X_de], self.scale)
        X_nu, X_de = self._scaling(X_nu), self._scaling(X_de)
        estimator = self._chosen(len(X_nu), len(X_de))
        rng = np.random.default_rng(self.random_state)
        limit = None if isinstance(estimator, RuLSIF) else LARGE
        rows_nu, rows_de = (_some(X, limit, rng) for X in (X_nu, X_de))
        estimator._fit(X_nu[rows_nu], X_de[rows_de])
        estimator._set_features(X_nu.shape[1], None)
        self.estimator_ = estimator
        self.ratio_nu_ = self._at_all(X_nu, rows_nu, estimator.ratio_nu_)
        self.ratio_de_ = self._at_all(X_de, rows_de, estimator.ratio_de_)

    @property
    def finds_outliers(self) -> bool:
        """Whether what was taken tells outliers from other rows, as RuLSIF does and the network does not."""
        return isinstance(self.estimator_, RuLSIF)

    def _at_all(self, X: Floats, kept: Any, fitted: Floats) -> Floats:
        """Give the ratio at all rows of a sample, of which some were fitted."""
        if len(fitted) == len(X):
            return fitted
        ratio = np.concatenate([self.estimator_._ratio(X[start : start + LARGE]) for start in range(0, len(X), LARGE)])
        ratio[kept] = fitted
        return ratio

    def _ratio(self, X: Floats) -> NDArray[Any]:
        return self.estimator_._ratio(self._scaling(X))

    def _divergences(self, rows: Floats, nu: Numbers, de: Numbers) -> Floats:
        chosen = self._chosen(nu.shape[1], de.shape[1])
        one_by_one = self.scale != "none" or (max(nu.shape[1], de.shape[1]) > LARGE and not isinstance(chosen, RuLSIF))
        return super()._divergences(rows, nu, de) if one_by_one else chosen._divergences(rows, nu, de)

    def _chosen(self, n_nu: int, n_de: int) -> RatioEstimator:
        if min(n_nu, n_de) < LARGE and ALPHAS[0] <= self.alpha <= ALPHAS[1]:
            if torch_is_installed():
                from fewratio.estimators.universal import UniversalRatioEstimator

                return UniversalRatioEstimator(self.alpha)
            warnings.warn(
                "torch is not installed, so RuLSIF is used instead of the universal network, which is better for "
                "samples this small. To use it: pip install 'fewratio[networks]'.",
                stacklevel=2,
            )
        return RuLSIF(self.alpha, sigma="cv", reg="cv", random_state=self.random_state)


def _some(X: Floats, limit: int | None, rng: np.random.Generator) -> Any:
    """Give the rows to fit: all, or so many drawn."""
    return slice(None) if limit is None or len(X) <= limit else row_order(X)[rng.permutation(len(X))[:limit]]
