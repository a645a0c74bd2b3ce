"""The ridge solve of Eq. 4-5, the only one in the package."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fewratio.core.shapes import Float
from fewratio.errors import ParameterError


def ridge_weights(
    phi: Float[Tensor, "... n t"],
    shares: Float[Tensor, "... 2 n"],
    alpha: float | Tensor,
    reg: float | Tensor,
    form: str | None = None,
) -> Float[Tensor, "... t"]:
    """Solve Eq. 5 for the weights of a linear ratio model, before any clipping.

    The minimiser of Eq. 4 is ``w = (K + reg I)^-1 k`` with ``k`` the numerator's mean of phi and
    ``K = alpha mean_nu(phi phi') + (1 - alpha) mean_de(phi phi')``. With the rows of P scaled so that ``K = P'P``
    and, for alpha > 0, ``k = P'c``, it is also ``w = P'(PP' + reg I)^-1 c`` (the dual), a system of the size of the
    sample. The smaller of the two systems is solved.

    The system is formed and factorised in float64 whatever the features are: duplicate rows make a float32 Gram
    matrix indefinite by about 1e-6 of its trace, which is what a small ``reg`` has to dominate.

    Parameters
    ----------
    phi : Tensor of shape (..., n, t)
        Features of the support, both samples joined.
    shares : Tensor of shape (..., 2, n)
        The rows' shares in the two means (`Pair.shares`).
    alpha : float or Tensor
        Relative parameter, 0 <= alpha < 1. A tensor (a learned alpha) must be positive.
    reg : float or Tensor of shape (...)
        The regulariser lambda, positive.
    form : {"primal", "dual"}, optional
        Which system to solve; by default the smaller one.

    Returns
    -------
    Tensor of shape (..., t)
        The weights, in the dtype of the features.
    """
    rows, shares = phi.double(), shares.double()
    reg = torch.as_tensor(reg, dtype=rows.dtype, device=rows.device)[..., None, None]
    root_nu, root_de = shares.sqrt().unbind(-2)
    # Roots of alpha and of the shares apart: a learned alpha must not meet the infinite slope at a padded row's zero.
    # No row has both shares, so the sum is the root of alpha * share_nu + (1 - alpha) * share_de.
    p = rows * (_sqrt(alpha) * root_nu + _sqrt(1 - alpha) * root_de).unsqueeze(-1)
    reg = _above_rounding(reg, p.detach().square().sum((-2, -1), keepdim=True))
    n, n_features = p.shape[-2:]
    form = form or ("dual" if n < n_features else "primal")
    if form not in ("primal", "dual"):
        raise ParameterError(f"form is {form!r}; it must be 'primal' or 'dual'. Leave it out to take the smaller one.")

    if form == "dual" and (isinstance(alpha, Tensor) or alpha > 0):
        c = (root_nu / _sqrt(alpha)).unsqueeze(-1)
        w = p.mT @ _solve(p @ p.mT, reg, c)
        return w.squeeze(-1).to(phi.dtype)
    k = rows.mT @ shares[..., 0, :].unsqueeze(-1)
    if form == "primal":
        return _solve(p.mT @ p, reg, k).squeeze(-1).to(phi.dtype)
    # At alpha = 0 k is no combination of P's rows: Woodbury. It loses digits as reg falls; float64 has enough.
    w = (k - p.mT @ _solve(p @ p.mT, reg, p @ k)) / reg
    return w.squeeze(-1).to(phi.dtype)


def ridge_weights_of_moments(
    K: Float[Tensor, "... t t"], k: Float[Tensor, "... t"], reg: float
) -> Float[Tensor, "... t"]:
    """Solve Eq. 5 from its two moments: ``w = (K + reg I)^-1 k``, what `ridge_weights` gives for the rows behind them.

    Parameters
    ----------
    K : Tensor of shape (..., t, t)
        Second moment of the features, float64 (`Moments.K`).
    k : Tensor of shape (..., t)
        The numerator's mean of the features (`Moments.k`).
    reg : float
        The regulariser lambda, positive.
    """
    return _solve(K, _above_rounding(reg, _trace(K)), k.unsqueeze(-1)).squeeze(-1)


@dataclass(frozen=True)
class RidgePath:
    """``(K + reg I)^-1 = V diag(1 / (s + reg)) V'`` for a whole path of regularisers, from one decomposition of K.

    Attributes
    ----------
    vectors : Tensor of shape (t, t)
        The eigenvectors V of K, one a column.
    inverse : Tensor of shape (t, n_regs)
        ``1 / (s + reg)``: what each eigenvalue of K is divided by, a column a regulariser.
    """

    vectors: Float[Tensor, "t t"]
    inverse: Float[Tensor, "t n_regs"]

    @classmethod
    def of(cls, K: Float[Tensor, "t t"], regs: Float[Tensor, " n_regs"]) -> "RidgePath":
        """Decompose K."""
        values, vectors = torch.linalg.eigh(K)
        # A Gram matrix has no negative eigenvalues but for rounding.
        return cls(vectors, 1 / (values.clamp_min(0).unsqueeze(-1) + _above_rounding(regs, _trace(K)[0])))

    def solve(self, b: Float[Tensor, " t"]) -> Float[Tensor, "n_regs t"]:
        """Give ``(K + reg I)^-1 b`` for each regulariser."""
        return (self.vectors @ (self.inverse * (b @ self.vectors).unsqueeze(-1))).mT


def _above_rounding(reg: float | Tensor, trace: Tensor) -> Tensor:
    # Where the features are so large that reg is lost in the rounding of a singular Gram matrix, that rounding takes
    # its place; in any other case it is lost beside reg.
    return reg + 10 * torch.finfo(trace.dtype).eps * trace


def _trace(matrix: Tensor) -> Tensor:
    """Trace, of shape (..., 1, 1)."""
    return matrix.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]


def _sqrt(value: float | Tensor) -> float | Tensor:
    return value.double().sqrt() if isinstance(value, Tensor) else value**0.5


def _solve(gram: Tensor, reg: Tensor, b: Tensor) -> Tensor:
    """Solve (gram + reg I) x = b."""
    a = gram + reg * torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    x, _factor = _PositiveSolve.apply(a, b.expand(*a.shape[:-1], b.shape[-1]))
    solution: Tensor = x
    return solution


class _PositiveSolve(torch.autograd.Function):
    """x = a^-1 b with the implicit gradient: one more pair of triangular solves, nothing through the factorisation.

    ``cholesky_ex`` and ``solve_triangular`` do not wait for the device, so that a training step can be captured as
    one CUDA graph.
    """

    @staticmethod
    def forward(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        factor, failed = torch.linalg.cholesky_ex(a)
        # A factorisation that failed must not pass for a solution; the border says so in words.
        factor = torch.where(failed[..., None, None] == 0, factor, torch.nan)
        return _backsubstitute(factor, b), factor

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
        x, factor = output
        ctx.mark_non_differentiable(factor)
        ctx.save_for_backward(x, factor)

    @staticmethod
    @once_differentiable  # the factor carries no gradient, so a second derivative would be wrong: better none
    def backward(ctx: Any, grad_x: Tensor, _grad_factor: Tensor) -> tuple[Tensor, Tensor]:
        x, factor = ctx.saved_tensors
        grad_b = _backsubstitute(factor, grad_x)
        return -grad_b @ x.mT, grad_b

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, int | None], a: Tensor, b: Tensor) -> Any:
        # Leading axes are batch axes already: bring the mapped axis to the front and go on.
        a, b = (_front(t, dim, info.batch_size) for t, dim in zip((a, b), in_dims, strict=True))
        return _PositiveSolve.apply(a, b), (0, 0)


def _front(t: Tensor, dim: int | None, size: int) -> Tensor:
    return t.movedim(dim, 0) if dim is not None else t.expand(size, *t.shape)


def _backsubstitute(factor: Tensor, b: Tensor) -> Tensor:
    half = torch.linalg.solve_triangular(factor, b, upper=False)
    return torch.linalg.solve_triangular(factor.mT, half, upper=True)
