"""Least-squares importance fitting with a Gaussian kernel: RuLSIF and uLSIF."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from torch import Tensor

from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.moments import Moments
from fewratio.core.pair import equal_shares
from fewratio.core.ridge import ridge_weights_of_moments
from fewratio.errors import ParameterError
from fewratio.estimators.base import SEEDS, RatioEstimator
from fewratio.estimators.centres import CENTRES, MAX_CENTRES, check_squares, choose_centres, median_width
from fewratio.estimators.gaussian_basis import GaussianBasis
from fewratio.estimators.kernel_selection import DEFAULT_REG, REGS, WIDTH_FACTORS, Selection, candidates, nearest
from fewratio.estimators.many_pairs import adapted_divergences, distances_are_shared, kernel_divergences
from fewratio.estimators.randomness import own_order
from fewratio.estimators.scaling import column_scaling, standardised_samples
from fewratio.nn import GaussianFeatures, NoEncoder, RatioModel, RidgeHead, Standardiser
from fewratio.nn.heads import SMALLEST_REG
from fewratio.nn.ratio_model import CLIPS


class RuLSIF(RatioEstimator):
    """Relative unconstrained least-squares importance fitting (Yamada et al. 2013).

    The ratio is a sum of Gaussian kernels exp(-|x - c|^2 / sigma^2) whose weights solve Eq. 5.

    Width and regulariser can be chosen by how well the ratio fits instances that were left out (J of Eq. 8; the
    centres stay). By default that is exact leave-one-out: of pairs of one instance a side, as many as the smaller
    sample has (at most 2000, drawn). It costs one eigendecomposition a width. A sample of a single instance has
    nothing to leave out: then the candidates nearest to the median distance and to reg = 0.1 are taken.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1; the true ratio is at most 1 / alpha.
    sigma : "median", float, "cv" or sequence of float, default="median"
        Kernel width. "median" is the median distance between the instances of both samples together, "cv" the best
        of multiples of that (1/8 to 4), a sequence the best of these.
    reg : float, "cv" or sequence of float, default=0.1
        The regulariser lambda; "cv" is the best of 0.001 to 10, a sequence the best of these.
    centres : {"both", "numerator"} or int, default="both"
        Instances that carry a kernel: those of both samples, of the numerator's, or so many drawn from both. Of more
        than 300, 300 are drawn unless a number is given.
    clip : {"ratio", "weights"}, default="ratio"
        What keeps the ratio non-negative: ``r = max(0, w'phi)``, or ``w = max(0, w)`` (the paper's form).
    cv : "loo" or int, default="loo"
        What is left out where there is a choice: each pair, or one of so many parts of both samples (at most as many
        as the smaller sample has instances).
    standardise : bool, default=False
        Whether to centre and scale the columns by the means and deviations of both samples together; a constant column
        is only centred. Widths are then in units of these deviations.
    random_state : int, numpy Generator or None
        Draws centres, and rows for the median, where there are many, and what is left out together.

    Attributes
    ----------
    sigma_ : float
        The width that was used.
    reg_ : float
        The regulariser that was used.
    cv_sigmas_, cv_regs_ : ndarray
        The candidates that they were chosen from.
    cv_scores_ : ndarray of shape (n_sigmas, n_regs) or None
        J of each combination on what was left out, lower is better; None where there was no choice.
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
    >>> estimator.set_params(sigma="cv", reg=[0.1, 1.0], random_state=0).fit([[0.0], [1.0]], [[1.0], [2.5]]).reg_
    0.1
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, 1, closed="left")],
        "sigma": [StrOptions({"median", "cv"}), Interval(Real, 0, None, closed="neither"), "array-like"],
        "reg": [StrOptions({"cv"}), Interval(Real, 0, None, closed="neither"), "array-like"],
        "centres": CENTRES,
        "clip": [StrOptions(set(CLIPS))],
        "cv": [StrOptions({"loo"}), Interval(Integral, 2, None, closed="left")],
        "standardise": ["boolean"],
        "random_state": SEEDS,
    }

    def __init__(
        self,
        alpha: float = 0.5,
        *,
        sigma: str | float | Sequence[float] = "median",
        reg: str | float | Sequence[float] = DEFAULT_REG,
        centres: str | int = "both",
        clip: str = "ratio",
        cv: str | int = "loo",
        standardise: bool = False,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.alpha = alpha
        self.sigma = sigma
        self.reg = reg
        self.centres = centres
        self.clip = clip
        self.cv = cv
        self.standardise = standardise
        self.random_state = random_state

    def divergence(self) -> float:
        """Give the relative Pearson divergence (the plain one at alpha = 0) of the fitted samples."""
        self._check_fitted()
        return self._divergence

    def _fit(self, X_nu: NDArray[np.float64], X_de: NDArray[np.float64]) -> None:
        rng = np.random.default_rng(self.random_state)
        given = X_nu, X_de
        X_nu, X_de = own_order(X_nu), own_order(X_de)
        nu, de = torch.from_numpy(X_nu), torch.from_numpy(X_de)
        check_squares(nu, de)
        scaler = None
        if self.standardise:
            mean, scale = column_scaling([X_nu, X_de])
            scaler = Standardiser(torch.from_numpy(mean), torch.from_numpy(scale))
        basis = GaussianBasis(choose_centres(nu, de, self.centres, rng), scaler)
        alpha = float(self.alpha)
        sigmas, regs = self._widths(basis, nu, de, rng), self._regularisers(len(basis.centres))
        moments = basis.moments(nu, de, sigmas.tolist())
        scores = self._scores(Selection(basis, sigmas.tolist(), regs.tolist(), alpha, self.clip), nu, de, moments, rng)
        if scores is not None:
            width, reg = divmod(int(scores.argmin()), len(regs))
        else:
            width = nearest(sigmas, median_width(nu, de, rng, scaler)) if len(sigmas) > 1 else 0
            reg = nearest(regs, DEFAULT_REG)
        self.cv_sigmas_, self.cv_regs_, self.cv_scores_ = sigmas, regs, scores
        self.sigma_, self.reg_ = float(sigmas[width]), float(regs[reg])
        weights = ridge_weights_of_moments(moments[width].K(alpha), moments[width].k, self.reg_)
        if self.clip == "weights":
            weights = weights.relu()
        self.centres_, self.weights_, self._scaler = basis.centres.numpy(), weights.numpy(), scaler
        ratio = torch.cat([self._ratio_of(rows) for rows in (nu, de)])
        self._divergence = relative_pearson_divergence(ratio, equal_shares(len(nu), len(de), nu), alpha).item()
        self.ratio_nu_, self.ratio_de_ = (self._ratio(rows) for rows in given)

    def _divergences(
        self, rows: NDArray[np.float64], nu: NDArray[np.intp], de: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        n_rows = nu.shape[1] + de.shape[1]
        sigma, reg = (float(value) if isinstance(value, Real) else None for value in (self.sigma, self.reg))
        plain = self.centres == "both" and n_rows <= MAX_CENTRES
        if not plain or reg is None or reg < SMALLEST_REG or not (sigma is not None or self.sigma == "median"):
            return super()._divergences(rows, nu, de)
        # All that `_fit` does with nothing to choose, from the parts, for many pairs at once.
        self._regularisers(n_rows)
        check_squares(torch.from_numpy(rows), torch.from_numpy(rows[:0]))
        standardise = self.standardise
        if standardise and (together := _common_rows(nu, de)) is not None:
            # Scaled once for all pairs, as in a permutation test, where every pair is made of the same rows.
            mean, scale = column_scaling([rows[together]])
            rows, standardise = (rows - mean) / scale, False
        if not standardise and distances_are_shared(len(rows), nu, de):
            return kernel_divergences(rows, nu, de, self.alpha, sigma, reg, self.clip)
        head = RidgeHead(float(self.alpha), reg, learn_reg=False)
        model = RatioModel(NoEncoder(), GaussianFeatures(sigma), head, self.clip).double()
        return adapted_divergences(
            model, self.alpha, rows, nu, de, prepare=standardised_samples if standardise else None
        )

    def _ratio(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._ratio_of(torch.from_numpy(X)).numpy()

    def _ratio_of(self, rows: Tensor) -> Tensor:
        basis = GaussianBasis(torch.from_numpy(self.centres_), self._scaler)
        return basis.ratios(rows, [self.sigma_], torch.from_numpy(self.weights_)[None])[0]

    def _widths(self, basis: GaussianBasis, nu: Tensor, de: Tensor, rng: np.random.Generator) -> NDArray[np.float64]:
        if not isinstance(self.sigma, str):
            return candidates("sigma", self.sigma)
        factors = WIDTH_FACTORS if self.sigma == "cv" else np.ones(1)
        return factors * median_width(nu, de, rng, basis.scaler)

    def _regularisers(self, n_centres: int) -> NDArray[np.float64]:
        regs = REGS.copy() if isinstance(self.reg, str) else candidates("reg", self.reg)
        # The Gram matrix of kernels has eigenvalues up to the number of centres; beside them this much is rounding.
        if regs.min() <= n_centres * np.finfo(np.float64).eps:
            raise ParameterError(
                f"reg is {regs.min()}, which is lost in rounding with {n_centres} centres. Use a larger one."
            )
        return regs

    def _scores(
        self, selection: Selection, nu: Tensor, de: Tensor, moments: list[Moments], rng: np.random.Generator
    ) -> NDArray[np.float64] | None:
        """Score the candidates, if there is a choice and if something can be left out."""
        if len(selection.sigmas) * len(selection.regs) == 1 or min(len(nu), len(de)) == 1:
            return None
        if isinstance(self.cv, str):
            return selection.leave_one_out(nu, de, moments, rng).numpy()
        return selection.k_fold(nu, de, moments, self.cv, rng).numpy()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")


def _common_rows(nu: NDArray[np.intp], de: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Give the numbers of the rows that each pair is made of, if they are the same for all pairs."""
    together = np.sort(np.concatenate([nu, de], axis=1), axis=1)
    return together[0] if len(together) and (together == together[0]).all() else None


class ULSIF(RuLSIF):
    """Unconstrained least-squares importance fitting (Kanamori et al. 2009): RuLSIF at alpha = 0.

    Parameters
    ----------
    sigma, reg, centres, clip, cv, standardise, random_state
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
        sigma: str | float | Sequence[float] = "median",
        reg: str | float | Sequence[float] = DEFAULT_REG,
        centres: str | int = "both",
        clip: str = "ratio",
        cv: str | int = "loo",
        standardise: bool = False,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(
            0.0,
            sigma=sigma,
            reg=reg,
            centres=centres,
            clip=clip,
            cv=cv,
            standardise=standardise,
            random_state=random_state,
        )
