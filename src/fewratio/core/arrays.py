"""Let one function accept both NumPy arrays and torch tensors, without importing torch for arrays."""

import sys
from types import ModuleType
from typing import Any

import numpy

from fewratio.core.shapes import Array, Bool, Float


def namespace(array: Any) -> ModuleType:
    """Return the module for this array: torch for a tensor, NumPy for everything else."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(array, torch.Tensor) else numpy


def float64(value: Any) -> Any:
    """Return an array or tensor in double precision; a plain number is in it already.

    A number stays a number: made a tensor, it would have to be copied to the device.
    """
    if namespace(value) is not numpy:
        return value.double()
    return value.astype(numpy.float64, copy=False) if isinstance(value, numpy.ndarray) else value


def per_matrix(value: Any, like: Array) -> Any:
    """Add axes to one number per task, so that it broadcasts against the tasks' matrices; a plain number stays one."""
    if namespace(value) is not numpy:
        return value.to(like.device, like.dtype)[..., None, None]
    return value.astype(like.dtype, copy=False)[..., None, None] if isinstance(value, numpy.ndarray) else value


def log_sum(logarithms: numpy.ndarray, axis: int = 0) -> numpy.ndarray:
    """Return the logarithm of the sum of exponentials over an axis; scipy's is slow on small arrays."""
    largest = logarithms.max(axis, keepdims=True)
    return numpy.asarray(largest.squeeze(axis) + numpy.log(numpy.exp(logarithms - largest).sum(axis)))


# The relative rounding error of computed numbers, and of given ones: a few steps between neighbouring floats.
COMPUTED, GIVEN = 1e-12, 8 * float(numpy.finfo(numpy.float64).eps)


def real_deviation(
    mean: Float[Array, "... d"], deviation: Float[Array, "... d"], rounding: float = COMPUTED
) -> Float[Array, "... d"]:
    """Return the deviations of columns; 0 if one may be only rounding, as for 0.1 repeated."""
    xp = namespace(mean)
    rounding = (rounding * abs(mean)).clip(min=xp.finfo(mean.dtype).tiny)
    return xp.where(deviation <= rounding, 0.0, deviation)


def equal_shares(n_nu: int, n_de: int, like: Array) -> Float[Array, "2 n"]:
    """Return the rows' shares in the means of two joined samples without padding: 1/n_nu and 0, or 0 and 1/n_de."""
    shares = namespace(like).zeros((2, n_nu + n_de), dtype=like.dtype, device=like.device)
    shares[0, :n_nu] = 1 / n_nu
    shares[1, n_nu:] = 1 / n_de
    return shares


def masked_shares(real: Bool[Array, "... n"], shares: Float[Array, "2 n"]) -> Float[Array, "... 2 n"]:
    """Return the shares of the rows that are real (or kept), given the shares of all; other rows have none."""
    kept = real[..., None, :] * shares
    return kept / kept.sum(-1, keepdims=True)
