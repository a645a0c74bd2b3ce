"""Least-squares importance fitting with a Gaussian kernel: RuLSIF and uLSIF."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from torch import Tensor

from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.kernels import gaussian_kernel, median_distance
from fewratio.core.pair import Pair
from fewratio.core.ridge import ridge_weights
from fewratio.errors import InputError, ParameterError
from fewratio.estimators.base import SEEDS, RatioEstimator
from fewratio.nn.ratio_model import CLIPS

# More centres cost much and gain little; so do more rows for a median.
MAX_CENTRES = 300
MEDIAN_ROWS = 1000


class RuLSIF(RatioEstimator):
    """Relative unconstrained least-squares importance fitting (Yamada et al. 2013).

    The ratio is a sum of Gaussian kernels exp(-|x - c|^2 / sigma^2) whose weights solve Eq. 5.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1; the true ratio is at most 1 / alpha.
    sigma : "median" or float, default="median"
        Kernel width; "median" is the median distance between the instances of both samples together.
    reg : float, default=0.1
        The regulariser lambda.
    centres : {"both", "numerator"} or int, default="both"
        Instances that carry a kernel: those of both samples, of the numerator's, or so many drawn from both. Of more
        than 300, 300 are drawn unless a number is given.
    clip : {"ratio", "weights"}, default="ratio"
        What keeps the ratio non-negative: ``r = max(0, w'phi)``, or ``w = max(0, w)`` (the paper's form).
    random_state : int, numpy Generator or None
        Draws centres, and rows for the median, where there are many.

    Attributes
    ----------
    sigma_ : float
        The width that was used.
    centres_ : ndarray of shape (n_centres, n_features)
        The kernel centres.
    weights_ : ndarray of shape (n_centres,)
        Their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import RuLSIF
    >>> rng = np.random.default_rng(0)
    >>> estimator = RuLSIF().fit(rng.normal(0, 1, (10, 1)), rng.normal(1, 1, (12, 1)))
    >>> estimator.predict([[-1.0], [2.0]]).round(2)
    array([1.33, 0.26])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, 1, closed="left")],
        "sigma": [StrOptions({"median"}), Interval(Real, 0, None, closed="neither")],
        "reg": [Interval(Real, 0, None, closed="neither")],
        "centres": [StrOptions({"both", "numerator"}), Interval(Integral, 1, None, closed="left")],
        "clip": [StrOptions(set(CLIPS))],
        "random_state": SEEDS,
    }

    def __init__(
        self,
        alpha: float = 0.5,
        *,
        sigma: str | float = "median",
        reg: float = 0.1,
        centres: str | int = "both",
        clip: str = "ratio",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.alpha = alpha
        self.sigma = sigma
        self.reg = reg
        self.centres = centres
        self.clip = clip
        self.random_state = random_state

    def divergence(self) -> float:
        """Give the relative Pearson divergence (the plain one at alpha = 0) of the fitted samples."""
        self._check_fitted()
        return self._divergence

    def _fit(self, X_nu: NDArray[np.float64], X_de: NDArray[np.float64]) -> None:
        rng = np.random.default_rng(self.random_state)
        pair = Pair(torch.from_numpy(X_nu), torch.from_numpy(X_de))
        if not pair.rows.square().sum().isfinite():
            raise InputError(
                "The samples hold values whose squares, and so whose distances, are beyond float64 (about 1e154). "
                "Rescale the columns (to about unit size) before fitting."
            )
        centres = self._choose_centres(pair, rng)
        # The Gram matrix of kernels has eigenvalues up to the number of centres; beside them this much is rounding.
        if self.reg <= len(centres) * np.finfo(np.float64).eps:
            raise ParameterError(
                f"reg is {self.reg}, which is lost in rounding with {len(centres)} centres. Use a larger one."
            )
        sigma = self._width(pair, rng)
        phi = gaussian_kernel(pair.rows, centres, sigma)
        weights = ridge_weights(phi, pair.shares, float(self.alpha), float(self.reg))
        self.sigma_, self.centres_ = sigma, centres.numpy()
        self.weights_ = (weights.relu() if self.clip == "weights" else weights).numpy()
        ratio = self._combine(phi)
        self._divergence = relative_pearson_divergence(ratio, pair.shares, float(self.alpha)).item()

    def _ratio(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        phi = gaussian_kernel(torch.from_numpy(X), torch.from_numpy(self.centres_), self.sigma_)
        return self._combine(phi).numpy()

    def _combine(self, phi: Tensor) -> Tensor:
        # With clipped weights nothing is negative already.
        return (phi @ torch.from_numpy(self.weights_)).clamp_min(0)

    def _choose_centres(self, pair: Pair, rng: np.random.Generator) -> Tensor:
        candidates = pair.nu if self.centres == "numerator" else pair.rows
        return _some_rows(candidates, MAX_CENTRES if isinstance(self.centres, str) else self.centres, rng)

    def _width(self, pair: Pair, rng: np.random.Generator) -> float:
        if not isinstance(self.sigma, str):
            return float(self.sigma)
        rows = _some_rows(pair.rows, MEDIAN_ROWS, rng)
        return median_distance(Pair(rows[:1], rows[1:])).item()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")


class ULSIF(RuLSIF):
    """Unconstrained least-squares importance fitting (Kanamori et al. 2009): RuLSIF at alpha = 0.

    Parameters
    ----------
    sigma, reg, centres, clip, random_state
        As in `RuLSIF`.

    Examples
    --------
    >>> from fewratio import ULSIF
    >>> ULSIF().fit([[0.0], [1.0]], [[1.0], [2.0], [3.0]]).predict([[0.0]]).shape
    (1,)
    """

    def __init__(
        self,
        *,
        sigma: str | float = "median",
        reg: float = 0.1,
        centres: str | int = "both",
        clip: str = "ratio",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(0.0, sigma=sigma, reg=reg, centres=centres, clip=clip, random_state=random_state)


def _some_rows(rows: Tensor, at_most: int, rng: np.random.Generator) -> Tensor:
    if len(rows) <= at_most:
        return rows
    return rows[torch.from_numpy(np.sort(rng.choice(len(rows), at_most, replace=False)))]
