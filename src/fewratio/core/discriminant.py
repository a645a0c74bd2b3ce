"""Datasets as Gaussians, each about its own mean: the posterior of a dataset given a few rows, in closed form.

In discriminant coordinates rows have unit variance about their dataset's mean, and means are drawn from
N(0, diag(signal)). docs/how/discriminant.md derives the formulas (its equation numbers are cited).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, qr, solve_triangular

from fewratio.core.arrays import log_sum
from fewratio.core.shapes import Floats, Numbers
from fewratio.errors import ParameterError

# Coordinates whose signal is below this share of the largest carry no information.
_FAINT = 1e-3
# Least shrinkage, and the share of the shrunk variance within datasets below which the variance itself is rounding.
_LEAST_SHRINKAGE, _ROUNDING = 1e-8, 1e-6


class Coordinates(NamedTuple):
    """A linear map to discriminant coordinates, ``(features - centre) @ axes``.

    Attributes
    ----------
    centre : ndarray of shape (H,)
        Mean of the datasets' means.
    axes : ndarray of shape (H, K)
        Axes along which the means of the sources differ come first; all others may follow.
    signal : ndarray of shape (K,)
        Variance of means along each axis, in units of the variance of rows about them; zero if no sources differ.
    """

    centre: Floats
    axes: Floats
    signal: Floats


def discriminant_coordinates(
    within: Floats,
    centre: Floats,
    factor: Floats,
    signs: Floats,
    noise: float,
    shrinkage: float,
    complete: bool = False,
) -> Coordinates:
    """Solve the generalised eigenproblem of the covariances between and within datasets (Eq. D2).

    Parameters
    ----------
    within : ndarray of shape (H, H)
        Covariance within datasets.
    centre : ndarray of shape (H,)
        Mean of the datasets' means.
    factor, signs : ndarray of shape (r, H) and (r,)
        The covariance of the means is ``factor.T @ diag(signs) @ factor``; few rows make this fast.
    noise : float
        Mean of 1 / n over the datasets: the share of the within-dataset covariance in the covariance of their means.
    shrinkage : float
        How far the within-dataset covariance is shrunk towards a multiple of the identity, from 0 to 1.
    complete : bool
        Whether to add H coordinates for the part of a row outside the others.
    """
    n_features = len(within)
    shrunk = (1 - shrinkage) * within
    # If no row varies, the root still needs a number; the coordinate is left out below.
    floor = np.trace(within) / n_features or 1.0
    shrunk[np.diag_indices(n_features)] += max(shrinkage, _LEAST_SHRINKAGE) * floor
    try:
        root = cholesky(shrunk, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        found = f"shrinkage is {shrinkage:g}, and with it the covariance within datasets has no inverse ({error})"
        raise ParameterError(f"{found}; expected a larger one. Use 0.01 or 'auto'.") from error
    white = solve_triangular(root, factor.T, lower=True, check_finite=False)
    if len(factor) < n_features:
        basis, triangle = qr(white, mode="economic", check_finite=False)
        between, vectors = np.linalg.eigh((triangle * signs) @ triangle.T)
        directions = basis @ vectors
    else:
        between, directions = np.linalg.eigh((white * signs) @ white.T)
    axes = solve_triangular(root, directions, lower=True, trans="T", check_finite=False)
    # After shrinkage, variances within datasets are not exactly one.
    variance = np.einsum("hk,hk->k", axes, within @ axes)
    is_real = variance > _ROUNDING
    safe = np.where(is_real, variance, 1.0)
    signal = between / safe - noise
    kept = is_real & (signal > _FAINT * signal.max(initial=0.0)) & (signal > 0)
    order = np.flatnonzero(kept)[np.argsort(-signal[kept])]
    axes, signal = axes[:, order] / np.sqrt(safe[order]), signal[order]
    if complete:
        directions = directions[:, order]
        rest = np.eye(n_features) - directions @ directions.T
        others = solve_triangular(root, rest, lower=True, trans="T", check_finite=False)
        axes, signal = np.concatenate([axes, others], axis=1), np.append(signal, np.zeros(n_features))
    # In the memory order of a file, so that a loaded model gives bit-identical answers.
    return Coordinates(centre, np.ascontiguousarray(axes), signal)


class Support(NamedTuple):
    """Sums over the rows of a dataset, which determine its posterior.

    Attributes
    ----------
    n : int
        Number of rows.
    total : ndarray of shape (..., K)
        Sum of the rows.
    squares : ndarray of shape (...)
        Sum of the squares of all coordinates.
    """

    n: int
    total: Floats
    squares: Floats

    @classmethod
    def of(cls, rows: Floats) -> "Support":
        """Sum up rows, of shape (..., n, K)."""
        return cls(rows.shape[-2], rows.sum(-2), np.asarray(np.square(rows).sum((-2, -1))))

    def without_each(self, rows: Floats) -> "Support":
        """Return, for each of the rows, the support without it: shapes (..., n, K)."""
        squares = self.squares[..., None] - np.square(rows).sum(-1)
        return Support(self.n - 1, self.total[..., None, :] - rows, np.maximum(squares, 0.0))

    def for_rows(self) -> "Support":
        """Return the support with an axis for the rows to compare it with."""
        return Support(self.n, self.total[..., None, :], self.squares[..., None])


class Products(NamedTuple):
    """Parts of the log density (Eq. D4) of rows given samples of n others, all from one table of m rows.

    Attributes
    ----------
    single : ndarray of shape (m,)
        The part that depends only on the row.
    cross, square : ndarray of shape (m, m)
        Summed over the sample: the part that depends on both; summed over its pairs: the part that depends only on it.
    """

    single: Floats
    cross: Floats
    square: Floats

    def log_density(self, rows: Numbers, sample: Numbers) -> Floats:
        """Return it for rows and samples by their numbers, of shapes (pairs, q) and (pairs, n): shape (pairs, q)."""
        cross = self.cross[rows[:, :, None], sample[:, None]].sum(2)
        square = self.square[sample[:, :, None], sample[:, None]].sum((1, 2))
        return -0.5 * (self.single[rows] - 2 * cross + square[:, None])

    def log_density_left_out(self, sample: Numbers) -> Floats:
        """Return it for each row of samples given the others, of shape (pairs, n)."""
        blocks = (table[sample[:, :, None], sample[:, None]] for table in (self.cross, self.square))
        (cross, cross_itself), (square, square_itself) = ((each.sum(2), each.diagonal(0, 1, 2)) for each in blocks)
        others = square.sum(1, keepdims=True) - 2 * square + square_itself
        return -0.5 * (self.single[sample] - 2 * (cross - cross_itself) + others)


@dataclass(frozen=True, eq=False)
class DatasetPosterior:
    """The density of new rows of a dataset, given a few of its rows.

    Attributes
    ----------
    signal : ndarray of shape (K,)
        Variance of datasets' means, in units of the variance of rows about them.
    spreads : ndarray of shape (S,)
        Variances of rows about their mean that datasets have, equally probable; 1.0 alone if all have the same.
    """

    signal: Floats
    spreads: Floats

    def log_density(self, rows: Floats, support: Support) -> Floats:
        """Return the logarithm of the predictive density at rows of shape (..., K), up to a constant (Eq. D4, D5)."""
        parts = []
        for spread in self.spreads:
            mean, variance = self._mean(spread, support)
            misfit = rows - mean
            np.square(misfit, out=misfit)
            parts.append(-0.5 * (misfit @ (1 / (spread + variance)) + np.log(spread + variance).sum()))
        return self._mix_densities(parts, support)

    def log_densities(self, rows: Floats, support: Support) -> Floats:
        """Return the same for all rows, of shape (n, K), and all supports, of shape (m, K): shape (n, m)."""
        parts, squares = [], np.square(rows)
        for spread in self.spreads:
            mean, variance = self._mean(spread, support)
            precision = 1 / (spread + variance)
            # The square is expanded, so that rows and means meet in a matrix product.
            misfit = rows @ (-2 * mean * precision).T.astype(rows.dtype)
            misfit += (squares @ precision.astype(rows.dtype))[:, None] + np.square(mean) @ precision
            parts.append(-0.5 * (misfit - np.log(precision).sum()))
        return self._mix_densities(parts, support)

    def products(self, rows: Floats, n: int) -> "Products":
        """Return the terms of the log density of rows given any n of them, for one spread."""
        (spread,) = self.spreads
        mean, variance = self._mean(spread, Support(n, np.ones_like(self.signal), np.zeros(())))
        precision = 1 / (spread + variance)
        # A matrix times its transpose is half the work.
        weighted = (rows * np.sqrt(precision * mean**power) for power in (1, 2))
        cross, square = (each @ each.T for each in weighted)
        return Products(np.square(rows) @ precision - np.log(precision).sum(), cross, square)

    def _mix_densities(self, log_densities: list[Floats], support: Support) -> Floats:
        """Return the log of the mean of densities, weighted by the probability of each spread given the support."""
        if len(log_densities) == 1:
            return np.asarray(log_densities[0])
        return log_sum(np.stack([a + b for a, b in zip(log_densities, self._log_shares(support), strict=True)]))

    def _log_shares(self, support: Support) -> Floats:
        """Return the logarithm of the posterior probability of each spread, the first axis (Eq. D5)."""
        n_free, likelihoods = (support.n - 1) * len(self.signal), []
        for spread in self.spreads:
            total = spread + support.n * self.signal
            misfit = support.squares - np.square(support.total) @ (self.signal / total)
            likelihoods.append(-0.5 * (n_free * np.log(spread) + np.log(total).sum() + misfit / spread))
        stacked = np.stack(likelihoods)
        return stacked - log_sum(stacked)

    def _mean(self, spread: float, support: Support) -> tuple[Floats, Floats]:
        """Return mean and variance of the posterior of the dataset's mean, in each coordinate (Eq. D3)."""
        total = spread + support.n * self.signal
        return support.total * (self.signal / total), self.signal * spread / total
