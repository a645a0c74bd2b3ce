"""Choose a kernel width and a regulariser by the error at left-out rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewratio.core.arrays import equal_shares
from fewratio.core.leave_one_out import LeaveOneOut
from fewratio.core.objectives import RelativeSquaredError
from fewratio.core.ridge import Moments, RidgePath
from fewratio.core.shapes import Floats
from fewratio.core.units import ColumnScaling
from fewratio.errors import ParameterError
from fewratio.estimators.kernel.gaussian_basis import GaussianBasis, estimate_median

# The candidates of "cv": widths as multiples of the median distance, and regularisers; both include the default. With
# an unbounded ratio, smaller regularisers are sometimes chosen by chance: J rewards a peak at a numerator row, and does
# not notice it without a denominator row there.
WIDTH_FACTORS = 2.0 ** np.arange(-3, 2.5, 0.5)
REGS = 10.0 ** np.arange(-3, 1.5, 0.5)
DEFAULT_REG = 0.1

# The most pairs to leave out one by one: more would be slower, and hardly make the score more precise.
MAX_LEFT_OUT = 2000


def candidates(name: str, value: Any) -> Floats:
    """Read a parameter that is a number or a sequence of numbers to choose from."""
    try:
        values = np.array(value, ndmin=1)
        values = values.astype(np.float64) if values.dtype.kind in "iufO" else np.empty(0)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        values = np.empty(0)
    # The same limits as for a single width, and far beyond those of any other parameter.
    if values.ndim != 1 or not len(values) or not ((values >= 1e-150) & (values <= 1e150)).all():
        raise ParameterError(
            f"{name} is {value!r}; of a sequence every candidate must be a positive number (1e-150 to 1e150), and "
            "there must be one at least. Pass such a sequence, a single number or 'cv'."
        )
    return values


def kernel_widths(sigma: Any, nu: Floats, de: Floats, scaling: ColumnScaling, rng: np.random.Generator) -> Floats:
    """Return the widths to choose from: multiples of the median distance ("cv"), the median alone, or the user's."""
    if not isinstance(sigma, str):
        return candidates("sigma", sigma)
    factors = WIDTH_FACTORS if sigma == "cv" else np.ones(1)
    return factors * estimate_median(nu, de, scaling, rng)


def nearest(values: Floats, reference: float) -> int:
    """Return the position of the candidate whose ratio to a reference value is closest to 1."""
    return int(np.abs(np.log(values) - np.log(reference)).argmin())


@dataclass(frozen=True)
class Selection:
    """A grid of widths and regularisers, scored by J of Eq. 8 at left-out rows; lower is better.

    Parameters
    ----------
    basis : GaussianBasis
        The kernels; their centres stay the same when rows are left out.
    sigmas, regs : sequence of float, ndarray
        The grid.
    alpha : float
        Relative parameter.
    clip : {"ratio", "weights"}
        How to keep the ratio non-negative.
    """

    basis: GaussianBasis
    sigmas: Sequence[float]
    regs: Floats
    alpha: float
    clip: str

    def leave_one_out(self, nu: Floats, de: Floats, moments: list[Moments], rng: np.random.Generator) -> Floats:
        """Return scores of shape (n_sigmas, n_regs), leaving out pairs (nu_i, de_i) one at a time.

        Parameters
        ----------
        nu, de : ndarray
            The samples, with at least two rows each, in the order of `row_order`.
        moments : list of Moments
            Moments of all rows, one per width.
        rng : numpy Generator
            Pairs the rows, at most `MAX_LEFT_OUT` pairs.
        """
        n_pairs = min(len(nu), len(de), MAX_LEFT_OUT)
        nu, de = (rows[rng.permutation(len(rows))[:n_pairs]] for rows in (nu, de))
        without = [LeaveOneOut(of_all, self.alpha, self.regs, self.clip) for of_all in moments]
        blocks = [
            np.stack([each.ratios(*pair) for each, *pair in zip(without, *features, strict=True)])
            for features in zip(self.basis.blocks(nu, self.sigmas), self.basis.blocks(de, self.sigmas), strict=True)
        ]
        return self._score(np.concatenate(blocks, -1).reshape(len(self.sigmas), len(self.regs), -1), n_pairs)

    def k_fold(self, nu: Floats, de: Floats, moments: list[Moments], n_folds: int, rng: np.random.Generator) -> Floats:
        """Return scores like `leave_one_out`, leaving out one of k folds of both samples at a time.

        There are at most as many folds as rows in the smaller sample; ``rng`` draws the folds.
        """
        n_folds = min(n_folds, len(nu), len(de))
        folds = zip(*(np.array_split(rng.permutation(len(rows)), n_folds) for rows in (nu, de)), strict=True)
        scores = [self._score_fold(nu[rows_nu], de[rows_de], moments) for rows_nu, rows_de in folds]
        return np.mean(scores, 0)

    def _score_fold(self, nu: Floats, de: Floats, moments: list[Moments]) -> Floats:
        parts = self.basis.moments(nu, de, self.sigmas)
        rest = [of_all - part for of_all, part in zip(moments, parts, strict=True)]
        weights = np.stack([RidgePath.of(each.K(self.alpha), self.regs).solve(each.k) for each in rest])
        if self.clip == "weights":
            weights = weights.clip(min=0)
        return self._score(
            np.concatenate([self.basis.ratios(rows, self.sigmas, weights) for rows in (nu, de)], -1), len(nu)
        )

    def _score(self, ratios: Floats, n_nu: int) -> Floats:
        return RelativeSquaredError(self.alpha)(ratios, equal_shares(n_nu, ratios.shape[-1] - n_nu, ratios))
