"""Datasets as Gaussians about means of their own: the posterior of a dataset given a few rows, in closed form.

In discriminant coordinates rows scatter with unit variance about their dataset's mean, and means are drawn from
N(0, diag(signal)). docs/discriminant.md derives what is here (its equation numbers are cited).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, qr, solve_triangular
from scipy.special import logsumexp

from fewratio.core.shapes import Floats

# Coordinates whose signal is below this share of the largest say nothing.
_FAINT = 1e-3


class Coordinates(NamedTuple):
    """A linear map to discriminant coordinates, ``(features - centre) @ axes``.

    Attributes
    ----------
    centre : ndarray of shape (H,)
        Mean of the datasets' means.
    axes : ndarray of shape (H, K)
        Those along which means of the sources differ come first; all others may follow.
    signal : ndarray of shape (K,)
        Variance of means in each, in units of that of rows about them; zero where no source differs from another.
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
        Mean of 1 / n over the datasets: the share of the covariance within that is in the covariance of their means.
    shrinkage : float
        How far the covariance within is drawn to a multiple of the identity, from 0 to 1.
    complete : bool
        Whether to add H coordinates of what is left of a row without the others.
    """
    n_features = len(within)
    shrunk = (1 - shrinkage) * within
    shrunk[np.diag_indices(n_features)] += shrinkage * np.trace(within) / n_features + np.finfo(np.float64).tiny
    root = cholesky(shrunk, lower=True, overwrite_a=True, check_finite=False)
    white = solve_triangular(root, factor.T, lower=True, check_finite=False)
    basis, triangle = qr(white, mode="economic", check_finite=False)
    between, vectors = np.linalg.eigh((triangle * signs) @ triangle.T)
    directions = basis @ vectors
    axes = solve_triangular(root, directions, lower=True, trans="T", check_finite=False)
    # Shrinkage has made variances within a little other than one.
    variance = np.einsum("hk,hk->k", axes, within @ axes)
    safe = np.where(variance > 0, variance, 1.0)
    signal = between / safe - noise
    kept = (variance > 0) & (signal > _FAINT * signal.max(initial=0.0)) & (signal > 0)
    order = np.flatnonzero(kept)[np.argsort(-signal[kept])]
    axes, signal = axes[:, order] / np.sqrt(safe[order]), signal[order]
    if complete:
        directions = directions[:, order]
        rest = np.eye(n_features) - directions @ directions.T
        others = solve_triangular(root, rest, lower=True, trans="T", check_finite=False)
        axes, signal = np.concatenate([axes, others], axis=1), np.append(signal, np.zeros(n_features))
    return Coordinates(centre, axes, signal)


class Support(NamedTuple):
    """What the posterior of a dataset needs of its rows.

    Attributes
    ----------
    n : int
        Number of rows.
    total : ndarray of shape (..., K)
        Their sum.
    squares : ndarray of shape (...)
        Sum of all their squares.
    """

    n: int
    total: Floats
    squares: Floats

    @classmethod
    def of(cls, rows: Floats) -> "Support":
        """Sum up rows, of shape (..., n, K)."""
        return cls(rows.shape[-2], rows.sum(-2), np.asarray(np.square(rows).sum((-2, -1))))

    def without_each(self, rows: Floats) -> "Support":
        """Give, for each of the rows, the support without it: shapes (..., n, K)."""
        squares = self.squares[..., None] - np.square(rows).sum(-1)
        return Support(self.n - 1, self.total[..., None, :] - rows, np.maximum(squares, 0.0))

    def for_rows(self) -> "Support":
        """Give the support with an axis for rows that it is to be compared with."""
        return Support(self.n, self.total[..., None, :], self.squares[..., None])


@dataclass(frozen=True, eq=False)
class DatasetPosterior:
    """The density of new rows of a dataset of which a few rows are known.

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
        """Give the logarithm of the predictive density at rows of shape (..., K), up to a constant (Eq. D4, D5)."""
        parts, weights = zip(*(self._given(spread, rows, support) for spread in self.spreads), strict=True)
        if len(parts) == 1:
            return parts[0]
        joint = [part + weight for part, weight in zip(parts, weights, strict=True)]
        return np.asarray(logsumexp(joint, axis=0) - logsumexp(weights, axis=0))

    def _given(self, spread: float, rows: Floats, support: Support) -> tuple[Floats, Floats]:
        """Give log densities under one spread, and the log likelihood of the support under it."""
        mean, variance = self._mean(spread, support)
        predictive = spread + variance
        # The square is expanded: rows and means of many datasets meet in the middle term alone.
        misfit_of_rows = np.square(rows) @ (1 / predictive) + np.square(mean) @ (1 / predictive)
        misfit_of_rows = misfit_of_rows - 2 * np.einsum("...k,...k->...", rows, mean / predictive)
        log_density = -0.5 * (misfit_of_rows + np.log(predictive).sum())
        total = spread + support.n * self.signal
        misfit = support.squares - (self.signal / total * np.square(support.total)).sum(-1)
        n_free = (support.n - 1) * len(self.signal)
        log_likelihood = -0.5 * (n_free * np.log(spread) + np.log(total).sum() + misfit / spread)
        return np.asarray(log_density), np.asarray(log_likelihood)

    def _mean(self, spread: float, support: Support) -> tuple[Floats, Floats]:
        """Give mean and variance of the posterior of the dataset's mean, in each coordinate."""
        total = spread + support.n * self.signal
        return self.signal * support.total / total, self.signal * spread / total

    def log_ratio_moments(self, rows: Floats, nu: Support, de: Support) -> tuple[Floats, Floats]:
        """Give mean and variance of the log-ratio of two datasets at rows, over their posteriors (Eq. D7)."""
        sides = [self._uncertainty(rows, support) for support in (nu, de)]
        return sides[0][0] - sides[1][0], sides[0][1] + sides[1][1]

    def _uncertainty(self, rows: Floats, support: Support) -> tuple[Floats, Floats]:
        """Give mean and variance of a dataset's log density at rows, over its posterior."""
        means, variances, weights = [], [], []
        for spread in self.spreads:
            mean, variance = self._mean(spread, support)
            square = np.square(rows - mean)
            n = len(self.signal)
            means.append(-0.5 * ((square + variance).sum(-1) / spread + n * np.log(spread)))
            variances.append((variance**2 / 2 + variance * square).sum(-1) / spread**2)
            weights.append(np.broadcast_to(self._given(spread, rows, support)[1], means[-1].shape))
        shares = np.exp(np.stack(weights) - logsumexp(weights, axis=0))
        mean = (shares * means).sum(0)
        return mean, (shares * (np.array(variances) + np.square(np.stack(means) - mean))).sum(0)
