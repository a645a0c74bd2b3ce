"""A positive-definite solve that torch can differentiate, map over and capture in a CUDA graph."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def positive_solve(a: Tensor, b: Tensor) -> Tensor:
    """Give a^-1 b for symmetric positive-definite matrices; NaN where the factorisation fails."""
    x, _factor = _PositiveSolve.apply(a, b)
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
