"""KLIEP: the ratio with the smallest Kullback-Leibler divergence."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fewratio.core.arrays import equal_shares, masked_shares
from fewratio.core.divergence import kullback_leibler_divergence
from fewratio.core.draws import deal, in_row_order
from fewratio.core.kernels import check_squares, gaussian_kernel
from fewratio.core.objectives import UnnormalisedKL, shares_of_expectations
from fewratio.core.shapes import Floats
from fewratio.core.units import ColumnScaling
from fewratio.errors import TrainingError
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.kernel.gaussian_basis import GaussianBasis, choose_centres
from fewratio.estimators.kernel.selection import kernel_widths
from fewratio.estimators.parameters import POSITIVE, StrOptions, common

# A kernel that is 0 at all denominator rows would get an infinite weight. The mean of a kernel is at least this value,
# so that the ratio stays below its inverse.
LEAST_MEAN = 1e-8
# A numerator row at which all kernels are below this does not affect the weights.
LEAST_KERNEL = 1e-150
TOLERANCE = 1e-9
MAX_STEPS = 200


@dataclass(eq=False, repr=False)
class KLIEP(RatioEstimator):
    """Kullback-Leibler importance estimation procedure (Sugiyama et al. 2008), for the plain ratio.

    The ratio is a sum of Gaussian kernels ``exp(-|x - c|^2 / sigma^2)`` with weights w >= 0. It maximises the
    likelihood of the numerator subject to a mean of 1 over the denominator, which is the same as the minimum of
    `fewratio.core.objectives.UnnormalisedKL` without that constraint. The problem is convex, and solved to its optimum.
    The divergence is the Kullback-Leibler divergence, the mean log ratio of the numerator.

    Parameters
    ----------
    sigma : "median", "cv", float or sequence of float, default="median"
        Kernel width; "median" is the median distance between the rows of both samples together. From a sequence, or
        with "cv" from multiples of the median (1/8 to 4, as in `RuLSIF`), the width with the smallest loss on held-out
        folds is chosen.
    centres : {"both", "numerator"} or int, default="numerator"
        Rows to use as kernel centres, as in `RuLSIF`.
    n_folds : int, default=5
        Number of folds for choosing the width. If a sample has a single row, the largest width is used.
    scale : {"columns", "none"}, default="none"
        Units of the columns, as in `RuLSIF`.
    random_state : int, numpy Generator or None
        Draws folds, and, if there are many rows, the centres and the rows for the median.

    Attributes
    ----------
    sigma_ : float
        The width that was used.
    centres_ : ndarray of shape (n_centres, n_features)
        The kernel centres.
    weights_ : ndarray of shape (n_centres,)
        Weights of the kernels.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows passed to `fit`.

    Examples
    --------
    >>> from fewratio import KLIEP
    >>> KLIEP(sigma="cv", random_state=0).fit([[0.0], [1.0]], [[1.0], [2.0], [3.0]]).predict([[0.0]]).shape
    (1,)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **common("centres", "n_folds", "scale", "random_state"),
        "sigma": [StrOptions({"median"}), POSITIVE, StrOptions({"cv"}), list, tuple, np.ndarray],
    }

    alpha: float = field(default=0.0, init=False)
    reg: float = field(default=0.0, init=False)
    _: KW_ONLY
    sigma: str | float | Sequence[float] = "median"
    centres: str | int = "numerator"
    n_folds: int = 5
    scale: str = "none"
    random_state: int | np.random.Generator | None = None

    def _divergence_of(self, ratio_nu: Floats, ratio_de: Floats) -> float:
        return float(kullback_leibler_divergence(ratio_nu))

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        rng = np.random.default_rng(self.random_state)
        check_squares(X_nu, X_de)
        nu, de = in_row_order(X_nu), in_row_order(X_de)
        scaling = ColumnScaling.of([nu, de], self.scale)
        basis = GaussianBasis(choose_centres(nu, de, self.centres, rng), scaling)
        widths = kernel_widths(self.sigma, nu, de, scaling, rng)
        rows, centres = scaling(np.concatenate([nu, de])), scaling(basis.centres)
        shares = equal_shares(len(nu), len(de), rows)
        sigma = float(widths[0] if len(widths) == 1 else self._choose(widths, rows, shares, centres, rng))
        self.weights_ = self._weights(gaussian_kernel(rows, centres, sigma), shares)
        self.sigma_, self.centres_, self._basis = sigma, basis.centres, basis
        self.ratio_nu_, self.ratio_de_ = self._ratio(X_nu), self._ratio(X_de)

    def _ratio(self, X: Floats) -> Floats:
        return self._basis.ratios(X, [self.sigma_], self.weights_[None])[0]

    def _choose(self, widths: Floats, rows: Floats, shares: Floats, centres: Floats, rng: np.random.Generator) -> float:
        n_nu, n_de = np.count_nonzero(shares, axis=1).tolist()
        n_folds = min(self.n_folds, n_nu, n_de)
        if n_folds < 2:
            return float(widths.max())
        # Hold out rows of both samples. Sugiyama et al. (2008) hold out only the numerator, which favours narrow
        # kernels between the rows of a small denominator, where the ratio is in the thousands.
        fold = np.concatenate([deal(n, n_folds, rng) for n in (n_nu, n_de)])
        loss = UnnormalisedKL(float(self.alpha))
        losses = np.zeros(len(widths))
        for i, sigma in enumerate(widths):
            phi = gaussian_kernel(rows, centres, float(sigma))
            for k in range(n_folds):
                weights = self._weights(phi, masked_shares(fold != k, shares))
                losses[i] += loss(phi @ weights, masked_shares(fold == k, shares))
        return float(widths[losses.argmin()])

    def _weights(self, phi: Floats, shares: Floats) -> Floats:
        share_nu, mixture = shares_of_expectations(shares, float(self.alpha))
        return minimise(phi[share_nu > 0], mixture @ phi, float(self.reg))


def minimise(phi: Floats, linear: Floats, reg: float) -> Floats:
    """Minimise ``linear'w - mean(log(phi w)) + reg/2 |w|^2`` over w >= 0.

    This is a primal-dual interior-point method (Mehrotra's predictor); z are the multipliers of w >= 0. The Newton
    system is scaled by D = sqrt(w / z), so that no eigenvalue is below 1, however similar the kernels are.

    Parameters
    ----------
    phi : ndarray of shape (n_nu, t)
        Features of the rows of the numerator.
    linear : ndarray of shape (t,)
        Mean features under the (mixed) denominator.
    reg : float
        The regulariser.
    """
    phi = phi[phi.max(1) > LEAST_KERNEL]
    n, t = phi.shape
    if not n:
        return np.zeros(t)
    linear = linear.clip(LEAST_MEAN)
    # Start with equal shares of all kernels, scaled to minimise the loss, and multipliers of equal complementarity.
    w = 1 / (t * linear)
    squares = reg * (w @ w)
    w *= 2 / (1 + np.sqrt(1 + 4 * squares))
    z = 1 / (t * w)
    for _ in range(MAX_STEPS):
        ratio = phi @ w
        gradient = linear - (phi / ratio[:, None]).mean(0) + reg * w
        # Complementarity and feasibility of the multipliers, each in the units of the loss.
        if max((np.abs(gradient) * w).max(), (-gradient / linear).max()) < TOLERANCE:
            return w
        scale = np.sqrt(w / z)
        scaled = phi * scale / (ratio[:, None] * np.sqrt(n))
        hessian = scaled.T @ scaled + np.diag(1 + reg * scale**2)
        # If kernels are nearly equal, the 1 is lost in rounding, so a rounding error is added, which works as well.
        hessian[np.diag_indices(t)] += 10 * np.finfo(np.float64).eps * hessian.trace()
        newton = cho_factor(hessian, lower=True, check_finite=False)

        def direction(mu: float) -> tuple[Floats, Floats]:
            dw = scale * cho_solve(newton, scale * (mu / w - gradient), check_finite=False)  # noqa: B023
            return dw, mu / w - z - z / w * dw  # noqa: B023

        mean_gap = w @ z / t
        dw, dz = direction(0.0)
        aimed = (w + _longest(w, dw) * dw) @ (z + _longest(z, dz) * dz) / t
        dw, dz = direction(mean_gap * (aimed / mean_gap) ** 3)
        w, z = w + _longest(w, dw) * dw, z + _longest(z, dz) * dz
    raise TrainingError(
        f"The Kullback-Leibler weights did not converge in {MAX_STEPS} steps. Use a larger sigma, or fewer centres."
    )


def _longest(value: Floats, change: Floats) -> float:
    """Return the longest step, at most 1, that keeps all values positive."""
    return min(1.0, 0.99 / max((-change / value).max(), 1e-300))
