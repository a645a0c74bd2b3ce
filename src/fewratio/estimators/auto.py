"""The estimator to take without related datasets: which one it is, the sizes of the samples decide."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from fewratio.estimators.base import SEEDS, RatioEstimator
from fewratio.estimators.least_squares import RuLSIF
from fewratio.estimators.randomness import own_order
from fewratio.estimators.universal import ALPHAS, UniversalRatioEstimator

# From so many rows a side on a kernel is as good as the network, and faster (`benchmarks/sizes.py`).
LARGE = 200


class AutoRatioEstimator(RatioEstimator):
    """Relative density ratio without related datasets: the best there is for the sizes of the samples.

    Where either sample has fewer than 200 rows, `UniversalRatioEstimator`, on 200 drawn rows of a larger one; else
    `RuLSIF` with width and regulariser chosen by leave-one-out, which is as good there and faster.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1. The network knows 0.1 to 0.9; for any other RuLSIF is taken at all sizes.
    standardise : bool, default=False
        Whether columns are brought to a common unit, by both samples together.
    random_state : int, numpy Generator or None
        Draws rows of samples that are too large for the network, and centres and pairs of RuLSIF.

    Attributes
    ----------
    estimator_ : UniversalRatioEstimator or RuLSIF
        What was taken.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import AutoRatioEstimator
    >>> rng = np.random.default_rng(0)
    >>> AutoRatioEstimator().fit(rng.normal(size=(5, 3)), rng.normal(1, 1, (8, 3))).estimator_
    UniversalRatioEstimator()
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, 1, closed="left")],
        "standardise": ["boolean"],
        "random_state": SEEDS,
    }

    estimator_: UniversalRatioEstimator | RuLSIF

    def __init__(
        self,
        alpha: float = 0.5,
        *,
        standardise: bool = False,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.alpha = alpha
        self.standardise = standardise
        self.random_state = random_state

    def divergence(self) -> float:
        """Give the relative Pearson divergence (the plain one at alpha = 0) of the fitted samples."""
        self._check_fitted()
        return self.estimator_.divergence()

    def _fit(self, X_nu: NDArray[np.float64], X_de: NDArray[np.float64]) -> None:
        estimator = self._chosen(len(X_nu), len(X_de))
        if isinstance(estimator, UniversalRatioEstimator):
            rng = np.random.default_rng(self.random_state)
            X_nu, X_de = (_thinned(X, rng) for X in (X_nu, X_de))
        estimator.fit(X_nu, X_de)
        self.estimator_ = estimator

    def _ratio(self, X: NDArray[np.float64]) -> NDArray[Any]:
        return self.estimator_._ratio(X)

    def _divergences(
        self, rows: NDArray[np.float64], nu: NDArray[np.intp], de: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        chosen = self._chosen(nu.shape[1], de.shape[1])
        if max(nu.shape[1], de.shape[1]) > LARGE and isinstance(chosen, UniversalRatioEstimator):
            return super()._divergences(rows, nu, de)
        return chosen._divergences(rows, nu, de)

    def _chosen(self, n_nu: int, n_de: int) -> UniversalRatioEstimator | RuLSIF:
        if min(n_nu, n_de) < LARGE and ALPHAS[0] <= self.alpha <= ALPHAS[1]:
            return UniversalRatioEstimator(self.alpha, scale="columns" if self.standardise else "none")
        return RuLSIF(self.alpha, sigma="cv", reg="cv", standardise=self.standardise, random_state=self.random_state)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")


def _thinned(X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    return X if len(X) <= LARGE else own_order(X)[rng.permutation(len(X))[:LARGE]]
