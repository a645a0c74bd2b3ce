"""Least-squares importance fitting with a Gaussian kernel: RuLSIF and uLSIF."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import squareform

from fewratio.core.arrays import equal_shares
from fewratio.core.blocks import CACHED_VALUES, row_blocks
from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.draws import in_row_order
from fewratio.core.kernels import MEDIAN_ROWS, check_squares, distances_within, median_width
from fewratio.core.ridge import Moments, ridge_weights, ridge_weights_of_moments
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import ColumnScaling
from fewratio.errors import ParameterError
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.kernel.gaussian_basis import MAX_CENTRES, GaussianBasis, choose_centres, estimate_median
from fewratio.estimators.kernel.selection import DEFAULT_REG, REGS, Selection, candidates, kernel_widths, nearest
from fewratio.estimators.parameters import POSITIVE, Interval, StrOptions, common

# The most rows of a table for which all distances are kept in memory: 32 MB.
_TABLE_ROWS = 2**11


@dataclass(eq=False, repr=False)
class RuLSIF(RatioEstimator):
    """Relative unconstrained least-squares importance fitting (Yamada et al. 2013).

    The ratio is a sum of Gaussian kernels ``exp(-|x - c|^2 / sigma^2)`` whose weights solve Eq. 5.

    Width and regulariser can be chosen by the error at left-out rows (J of Eq. 8; the centres stay the same). The
    default is exact leave-one-out: each fit leaves out one row of each sample, as often as the smaller sample has rows
    (at most 2000). It needs one eigendecomposition per width. If a sample has a single row, the candidates closest to
    the median distance and to reg = 0.1 are used.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1; the true ratio is at most 1 / alpha.
    sigma : "median", float, "cv" or sequence of float, default="median"
        Kernel width. "median" is the median distance between the rows of both samples together; "cv" chooses among
        multiples of it (1/8 to 4), and a sequence lists the widths to choose from.
    reg : float, "cv" or sequence of float, default=0.1
        The regulariser lambda; "cv" chooses among 0.001 to 10, and a sequence lists the values to choose from.
    centres : {"both", "numerator"} or int, default="both"
        Rows to use as kernel centres: those of both samples, those of the numerator, or this many random rows of both.
        Unless you pass a number, at most 300 random rows are used.
    clip : {"ratio", "weights"}, default="ratio"
        How to keep the ratio non-negative: ``r = max(0, w'phi)``, or ``w = max(0, w)`` (as in the paper).
    cv : "loo" or int, default="loo"
        How to choose parameters: leave out single pairs of rows, or use this many folds of both samples (at most the
        size of the smaller sample).
    scale : {"columns", "none"}, default="none"
        Units of the columns: "columns" divides each by its standard deviation over both samples together (constant
        columns do not change), and widths are in units of these deviations.
    random_state : int, numpy Generator or None
        Draws folds or pairs, and, if there are many rows, the centres and the rows for the median.

    Attributes
    ----------
    sigma_ : float
        The width that was used.
    reg_ : float
        The regulariser that was used.
    cv_sigmas_, cv_regs_ : ndarray
        The candidate widths and regularisers.
    cv_scores_ : ndarray of shape (n_sigmas, n_regs) or None
        J of each combination at left-out rows, lower is better; None if nothing was chosen.
    centres_ : ndarray of shape (n_centres, n_features)
        The kernel centres.
    weights_ : ndarray of shape (n_centres,)
        Weights of the kernels.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows passed to `fit`.

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
        **common("alpha", "centres", "scale", "random_state"),
        "sigma": [StrOptions({"median", "cv"}), POSITIVE, "array-like"],
        "reg": [StrOptions({"cv"}), POSITIVE, "array-like"],
        "clip": [StrOptions({"ratio", "weights"})],
        "cv": [StrOptions({"loo"}), Interval(Integral, 2, None, closed="left")],
    }

    alpha: float = 0.5
    _: KW_ONLY
    sigma: str | float | Sequence[float] = "median"
    reg: str | float | Sequence[float] = DEFAULT_REG
    centres: str | int = "both"
    clip: str = "ratio"
    cv: str | int = "loo"
    scale: str = "none"
    random_state: int | np.random.Generator | None = None

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        rng = np.random.default_rng(self.random_state)
        check_squares(X_nu, X_de)
        nu, de = X_nu, X_de
        if self._draws(len(nu) + len(de)):
            nu, de = in_row_order(nu), in_row_order(de)
        scaling = ColumnScaling.of([nu, de], self.scale)
        basis = GaussianBasis(choose_centres(nu, de, self.centres, rng), scaling)
        alpha = float(self.alpha)
        sigmas, regs = kernel_widths(self.sigma, nu, de, scaling, rng), self._regularisers(len(basis.centres))
        moments = basis.moments(nu, de, sigmas.tolist())
        scores = self._scores(Selection(basis, sigmas.tolist(), regs, alpha, self.clip), nu, de, moments, rng)
        if scores is not None:
            width, reg = divmod(int(scores.argmin()), len(regs))
        else:
            width = nearest(sigmas, estimate_median(nu, de, scaling, rng)) if len(sigmas) > 1 else 0
            reg = nearest(regs, DEFAULT_REG)
        self.cv_sigmas_, self.cv_regs_, self.cv_scores_ = sigmas, regs, scores
        self.sigma_, self.reg_ = float(sigmas[width]), float(regs[reg])
        weights = ridge_weights_of_moments(moments[width].K(alpha), moments[width].k, self.reg_)
        self.weights_ = weights.clip(min=0) if self.clip == "weights" else weights
        self.centres_, self._basis = basis.centres, basis
        self.ratio_nu_, self.ratio_de_ = self._ratio(X_nu), self._ratio(X_de)

    def _ratio(self, X: Floats) -> Floats:
        return self._basis.ratios(X, [self.sigma_], self.weights_[None])[0]

    def _divergences(self, rows: Floats, nu: Numbers, de: Numbers) -> Floats:
        if self._fits_alone(nu, de):
            return super()._divergences(rows, nu, de)
        return self._of_directions(rows, nu, de, 1)[0]

    def _both_divergences(self, rows: Floats, first: Numbers, second: Numbers) -> Floats:
        if self._fits_alone(first, second):
            return super()._both_divergences(rows, first, second)
        return self._of_directions(rows, first, second, 2)

    def _fits_alone(self, nu: Numbers, de: Numbers) -> bool:
        """Return whether each pair needs a separate fit."""
        return self.centres == "numerator" or self._draws(nu.shape[1] + de.shape[1]) or not len(nu)

    def _of_directions(self, rows: Floats, nu: Numbers, de: Numbers, n_directions: int) -> Floats:
        """Fit many pairs at once with fixed parameters, in one or both directions; return the divergences."""
        alpha, reg = float(self.alpha), float(self._regularisers(nu.shape[1] + de.shape[1])[0])
        check_squares(rows)
        found = []
        for phi, shares in self._kernels(rows, np.concatenate([nu, de], axis=1), nu.shape[1]):
            # Both directions have the same kernels, with the samples swapped.
            directions = np.stack([shares, shares[:, ::-1]][:n_directions])
            weights = ridge_weights(phi, directions, alpha, reg)
            if self.clip == "weights":
                weights = weights.clip(min=0)
            ratio = (phi @ weights[..., None])[..., 0].clip(min=0)
            found.append(relative_pearson_divergence(ratio, directions, alpha))
        return np.concatenate(found, axis=1)

    def _kernels(self, rows: Floats, pairs: Numbers, n_nu: int) -> Iterator[tuple[Floats, Floats]]:
        """Yield, for blocks of pairs of samples, the kernels between the rows of each pair, and the shares of the rows.

        One of them has an axis of pairs of length 1: if all pairs consist of the same rows, as in a permutation test,
        only the shares differ, otherwise only the kernels.
        """
        n_pairs, n_rows = pairs.shape
        shares = equal_shares(n_nu, n_rows - n_nu, rows)
        blocks = row_blocks(n_pairs, n_rows**2, CACHED_VALUES)
        used, numbers = np.unique(pairs, return_inverse=True)
        per_pair = isinstance(self.scale, str) and self.scale == "columns"
        if len(used) == n_rows and (np.sort(numbers, axis=1) == np.arange(n_rows)).all():
            phi = self._kernel(distances_within(ColumnScaling.of([rows[used]], self.scale)(rows[used]))[None], n_rows)
            place = np.argsort(numbers, axis=1)
            for block in blocks:
                yield phi, np.moveaxis(shares[:, place[block]], 0, 1)
        elif not per_pair and len(used) <= _TABLE_ROWS and len(used) ** 2 <= 16 * n_pairs * n_rows**2:
            # Compute each distance once instead of once per pair, even if some distances are not needed.
            table = squareform(distances_within(ColumnScaling.of([rows[used]], self.scale)(rows[used])), checks=False)
            first, second = np.triu_indices(n_rows, 1)
            for block in blocks:
                yield self._kernel(table[numbers[block][:, first], numbers[block][:, second]], n_rows), shares[None]
        else:
            for block in blocks:
                samples = rows[pairs[block]]
                if per_pair:
                    scaled = np.stack([ColumnScaling.of([sample], self.scale)(sample) for sample in samples])
                else:
                    scaled = ColumnScaling.of([rows], self.scale)(samples)
                yield self._kernel(distances_within(scaled), n_rows), shares[None]

    def _kernel(self, distances: Floats, n_rows: int) -> Floats:
        """Return the kernel matrices of rows from the distances above the diagonal, of shape (pairs, n)."""
        if isinstance(self.sigma, str):
            width = median_width(distances)[:, None]
        else:
            width = float(candidates("sigma", self.sigma)[0])
        first, second = np.triu_indices(n_rows, 1)
        phi = np.ones((len(distances), n_rows, n_rows))
        phi[:, first, second] = phi[:, second, first] = np.exp(-((distances / width) ** 2))
        return phi

    def _draws(self, n_rows: int) -> bool:
        """Return whether a fit to this many rows uses random rows, as centres, for the median, or to leave out."""
        at_most = min(MAX_CENTRES if isinstance(self.centres, str) else self.centres, MEDIAN_ROWS)
        given = isinstance(self.sigma, Real) or (isinstance(self.sigma, str) and self.sigma == "median")
        return n_rows > at_most or not given or not isinstance(self.reg, Real)

    def _regularisers(self, n_centres: int) -> Floats:
        regs = REGS.copy() if isinstance(self.reg, str) else candidates("reg", self.reg)
        # The Gram matrix of kernels has eigenvalues up to the number of centres, so smaller regularisers are lost in
        # rounding.
        if regs.min() <= n_centres * np.finfo(np.float64).eps:
            raise ParameterError(
                f"reg is {regs.min()}, which is lost in rounding with {n_centres} centres. Use a larger one."
            )
        return regs

    def _scores(
        self, selection: Selection, nu: Floats, de: Floats, moments: list[Moments], rng: np.random.Generator
    ) -> Floats | None:
        """Score the candidates; None if there is no choice, or if nothing can be left out."""
        if len(selection.sigmas) * len(selection.regs) == 1 or min(len(nu), len(de)) == 1:
            return None
        if isinstance(self.cv, str):
            return selection.leave_one_out(nu, de, moments, rng)
        return selection.k_fold(nu, de, moments, self.cv, rng)


@dataclass(eq=False, repr=False)
class ULSIF(RuLSIF):
    """Unconstrained least-squares importance fitting (Kanamori et al. 2009): RuLSIF at alpha = 0.

    Parameters
    ----------
    sigma, reg, centres, clip, cv, scale, random_state
        As in `RuLSIF`.

    Attributes
    ----------
    sigma_, reg_, cv_sigmas_, cv_regs_, cv_scores_, centres_, weights_, ratio_nu_, ratio_de_
        As in `RuLSIF`.

    Examples
    --------
    >>> from fewratio import ULSIF
    >>> ULSIF().fit([[0.0], [1.0]], [[1.0], [2.0], [3.0]]).predict([[0.0]]).shape
    (1,)
    """

    alpha: float = field(default=0.0, init=False)
