"""The ratio that is nearest in the Kullback-Leibler sense: KLIEP."""

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

# A kernel that reaches no denominator row would get an infinite weight; this is taken for the least mean of a kernel,
# so that the ratio stays below its inverse.
LEAST_MEAN = 1e-8
# A numerator row that no kernel reaches, up to this, says nothing of the weights.
LEAST_KERNEL = 1e-150
TOLERANCE = 1e-9
MAX_STEPS = 200


@dataclass(eq=False, repr=False)
class KLIEP(RatioEstimator):
    """Kullback-Leibler importance estimation procedure (Sugiyama et al. 2008), for the plain ratio.

    The ratio is a sum of Gaussian kernels ``exp(-|x - c|^2 / sigma^2)`` with weights w >= 0. It maximises the
    numerator's likelihood among those whose mean over the denominator is 1. That is the minimum of
    `fewratio.core.objectives.UnnormalisedKL`: scaling w shows that it has that mean by itself. The problem is convex,
    and solved to its optimum. The divergence is the Kullback-Leibler divergence, the numerator's mean log ratio.

    Parameters
    ----------
    sigma : "median", "cv", float or sequence of float, default="median"
        Kernel width; "median" is the median distance between the instances of both samples together. Of a sequence,
        or for "cv" of multiples of the median (1/8 to 4, as in `RuLSIF`), the one with the least loss on held-out
        folds is used.
    centres : {"both", "numerator"} or int, default="numerator"
        Instances that carry a kernel, as in `RuLSIF`.
    n_folds : int, default=5
        Folds for choosing the width. Where a sample has one instance nothing can be held out: the widest is used.
    scale : {"columns", "none"}, default="none"
        Units of the columns, as in `RuLSIF`.
    random_state : int, numpy Generator or None
        Draws folds, and centres and rows for the median where there are many.

    Attributes
    ----------
    sigma_ : float
        The width that was used.
    centres_ : ndarray of shape (n_centres, n_features)
        The kernel centres.
    weights_ : ndarray of shape (n_centres,)
        Their weights.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows given to `fit`.

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
        # Both samples are held out. Sugiyama et al. (2008) hold out the numerator's likelihood only, which rewards
        # narrow kernels that stand between the rows of a small denominator: the ratio there is in the thousands.
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

    A primal-dual interior-point method (Mehrotra's predictor); z are the multipliers of w >= 0. The Newton system is
    scaled by D = sqrt(w / z), after which no eigenvalue is below 1 however alike the kernels are.

    Parameters
    ----------
    phi : ndarray of shape (n_nu, t)
        Features of the numerator's rows.
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
    # Kernels of equal shares, as high as the loss likes best, and multipliers of equal complementarity.
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
        # If kernels are nearly equal, the 1 is lost in rounding, which then replaces it; the step is as good.
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
    """Return the longest step, at most 1, after which everything is still positive."""
    return min(1.0, 0.99 / max((-change / value).max(), 1e-300))
