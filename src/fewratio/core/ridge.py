"""The ridge solver for Eq. 4-5, the only one in the package, and the sums over rows that it needs."""

import operator
from dataclasses import dataclass
from typing import Any

import numpy

from fewratio.core.arrays import float64, namespace, per_matrix
from fewratio.core.shapes import Array, Float
from fewratio.errors import ParameterError


@dataclass(frozen=True)
class Moments:
    """What Eq. 5 needs from two samples: sums over features, and sizes; `+` and `-` add and remove rows.

    Attributes
    ----------
    squares_nu, squares_de : array of shape (..., t, t)
        Sum of phi phi' over the rows of each sample.
    total_nu : array of shape (..., t)
        Sum of phi over the numerator's rows.
    n_nu, n_de : int
        How many rows were summed.
    """

    squares_nu: Float[Array, "... t t"]
    squares_de: Float[Array, "... t t"]
    total_nu: Float[Array, "... t"]
    n_nu: int
    n_de: int

    @classmethod
    def of(cls, phi_nu: Float[Array, "... n t"], phi_de: Float[Array, "... m t"]) -> "Moments":
        """Sum the features of each sample's rows; there may be none."""
        return cls(phi_nu.mT @ phi_nu, phi_de.mT @ phi_de, phi_nu.sum(-2), n_nu=phi_nu.shape[-2], n_de=phi_de.shape[-2])

    def __add__(self, more: "Moments") -> "Moments":
        return Moments(*map(operator.add, vars(self).values(), vars(more).values()))

    def __sub__(self, part: "Moments") -> "Moments":
        return Moments(*map(operator.sub, vars(self).values(), vars(part).values()))

    def K(self, alpha: float) -> Float[Array, "... t t"]:
        """Return K of Eq. 5: ``alpha mean_nu(phi phi') + (1 - alpha) mean_de(phi phi')``."""
        return alpha / self.n_nu * self.squares_nu + (1 - alpha) / self.n_de * self.squares_de

    @property
    def k(self) -> Float[Array, "... t"]:
        """The numerator's mean of phi."""
        return self.total_nu / self.n_nu


def ridge_weights(
    phi: Float[Array, "... n t"],
    shares: Float[Array, "... 2 n"],
    alpha: float | Array,
    reg: float | Array,
    form: str | None = None,
) -> Float[Array, "... t"]:
    """Solve Eq. 5 for the weights of a linear ratio model, before any clipping.

    The minimiser of Eq. 4 is ``w = (K + reg I)^-1 k`` with ``k`` the numerator's mean of phi and
    ``K = alpha mean_nu(phi phi') + (1 - alpha) mean_de(phi phi')``. With the rows of P scaled so that ``K = P'P``
    and, for alpha > 0, ``k = P'c``, it is also ``w = P'(PP' + reg I)^-1 c`` (the dual), a system of the size of the
    sample. The smaller of the two systems is solved.

    The system is formed and factorised in float64 whatever the features are: duplicate rows make a float32 Gram
    matrix indefinite by about 1e-6 of its trace, which is what a small ``reg`` has to dominate.

    Parameters
    ----------
    phi : array of shape (..., n, t)
        Features of the support, both samples joined.
    shares : array of shape (..., 2, n)
        The rows' shares in the two means (`Pair.shares`).
    alpha : float or array
        Relative parameter, 0 <= alpha < 1. An array (a learned alpha) must be positive.
    reg : float or array of shape (...)
        The regulariser lambda, positive.
    form : {"primal", "dual"}, optional
        Which system to solve; by default the smaller one.

    Returns
    -------
    array of shape (..., t)
        The weights, in the dtype of the features.
    """
    rows, shares, alpha = float64(phi), float64(shares), float64(alpha)
    roots = shares**0.5
    root_nu, root_de = roots[..., 0, :], roots[..., 1, :]
    # Separate roots of alpha and the shares: a learned alpha must not meet the infinite slope at a padded row's zero.
    # No row has both shares, so the sum is the root of alpha * share_nu + (1 - alpha) * share_de.
    p = rows * (alpha**0.5 * root_nu + (1 - alpha) ** 0.5 * root_de)[..., None]
    reg = _above_rounding(per_matrix(reg, rows), (_constant(p) ** 2).sum((-2, -1), keepdims=True))
    n, n_features = p.shape[-2:]
    form = form or ("dual" if n < n_features else "primal")
    if form not in ("primal", "dual"):
        raise ParameterError(f"form is {form!r}; it must be 'primal' or 'dual'. Leave it out to use the smaller one.")

    if form == "dual" and (not isinstance(alpha, float | int) or alpha > 0):
        w = p.mT @ _solve(p @ p.mT, reg, (root_nu / alpha**0.5)[..., None])
        return _as_type(w[..., 0], phi)
    k = rows.mT @ shares[..., 0, :, None]
    if form == "primal":
        return _as_type(_solve(p.mT @ p, reg, k)[..., 0], phi)
    # At alpha = 0, k is not a combination of P's rows: use Woodbury. It loses digits as reg falls; float64 has enough.
    w = (k - p.mT @ _solve(p @ p.mT, reg, p @ k)) / reg
    return _as_type(w[..., 0], phi)


def ridge_weights_of_moments(K: Float[Array, "... t t"], k: Float[Array, "... t"], reg: float) -> Float[Array, "... t"]:
    """Solve Eq. 5 from its two moments: ``w = (K + reg I)^-1 k``, the same as `ridge_weights` for their rows.

    Parameters
    ----------
    K : array of shape (..., t, t)
        Second moment of the features, float64 (`Moments.K`).
    k : array of shape (..., t)
        The numerator's mean of the features (`Moments.k`).
    reg : float
        The regulariser lambda, positive.
    """
    return _solve(K, _above_rounding(reg, _trace(K)), k[..., None])[..., 0]


@dataclass(frozen=True)
class RidgePath:
    """``(K + reg I)^-1 = V diag(1 / (s + reg)) V'`` for a whole path of regularisers, from one decomposition of K.

    Attributes
    ----------
    vectors : array of shape (t, t)
        The eigenvectors V of K, one per column.
    inverse : array of shape (t, n_regs)
        ``1 / (s + reg)``: one row per eigenvalue s of K, one column per regulariser.
    """

    vectors: Float[Array, "t t"]
    inverse: Float[Array, "t n_regs"]

    @classmethod
    def of(cls, K: Float[Array, "t t"], regs: Float[Array, " n_regs"]) -> "RidgePath":
        """Decompose K."""
        values, vectors = namespace(K).linalg.eigh(K)
        # A Gram matrix has no negative eigenvalues, except by rounding.
        return cls(vectors, 1 / (values.clip(min=0)[:, None] + _above_rounding(regs, _trace(K)[0])))

    def solve(self, b: Float[Array, " t"]) -> Float[Array, "n_regs t"]:
        """Return ``(K + reg I)^-1 b`` for each regulariser."""
        return (self.vectors @ (self.inverse * (b @ self.vectors)[:, None])).mT


def _above_rounding(reg: Any, trace: Array) -> Array:
    # If the features are so large that reg is lost in the rounding of a singular Gram matrix, this term replaces it;
    # otherwise the term is negligible.
    return reg + 10 * float(numpy.finfo(numpy.float64).eps) * trace


def _trace(matrix: Array) -> Array:
    """Trace, of shape (..., 1, 1)."""
    return matrix.diagonal(0, -2, -1).sum(-1)[..., None, None]


def _constant(array: Array) -> Array:
    """Return the values without their gradients."""
    return array if namespace(array) is numpy else array.detach()


def _as_type(array: Array, like: Array) -> Array:
    return array.astype(like.dtype, copy=False) if namespace(array) is numpy else array.to(like.dtype)


def _solve(gram: Array, reg: Any, b: Array) -> Array:
    """Solve (gram + reg I) x = b; NaN where the factorisation fails."""
    xp: Any = namespace(gram)
    a = gram + reg * xp.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    b = xp.broadcast_to(b, (*a.shape[:-1], b.shape[-1]))
    if xp is not numpy:
        # It does not wait for the device, so that a training step can be captured as one CUDA graph, and its gradient
        # solves with the same factors: a Cholesky factorisation's own gradient costs 4 % of a step.
        x, failed = xp.linalg.solve_ex(a, b)
        return xp.where(failed[..., None, None] == 0, x, xp.nan)
    from scipy.linalg.lapack import dposv

    x = numpy.empty(b.shape)
    for task in numpy.ndindex(a.shape[:-2]):
        # The transpose of a symmetric matrix is in LAPACK's order already: no copy.
        _, x[task], failed = dposv(a[task].T, b[task], overwrite_a=True)
        if failed:
            x[task] = numpy.nan
    return x
