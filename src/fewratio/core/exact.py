"""True relative ratios of known densities: the oracle of tests and benchmarks."""

import torch
from torch import Tensor

from fewratio.core.shapes import Float


def relative_ratio(log_nu: Tensor, log_de: Tensor, alpha: float | Tensor) -> Tensor:
    """Give the relative ratio p_nu / (alpha p_nu + (1 - alpha) p_de) from log densities.

    Written as 1 / (alpha + (1 - alpha) p_de / p_nu), so that densities that underflow do no harm.
    """
    return 1 / (alpha + (1 - alpha) * torch.exp(log_de - log_nu))


def true_ratio(log_ratio: Float[Tensor, "... n"], alpha: Float[Tensor, "..."]) -> Float[Tensor, "... n"]:
    """Give the relative ratio of each task's instances from the logarithm of the plain one; NaN stays NaN."""
    # Beyond these bounds the relative ratio is at its own, and an exponential would overflow.
    return relative_ratio(log_ratio.clamp(-60, 60), torch.zeros_like(log_ratio), alpha.unsqueeze(-1))


def gaussian_relative_ratio(
    x: Float[Tensor, "... n d"],
    nu_mean: float | Tensor,
    nu_std: float | Tensor,
    de_mean: float | Tensor,
    de_std: float | Tensor,
    alpha: float | Tensor,
) -> Float[Tensor, "... n"]:
    """Give the true relative ratio of two Gaussians with independent columns.

    Parameters
    ----------
    x : Tensor of shape (..., n, d)
        Where to evaluate it.
    nu_mean, nu_std, de_mean, de_std : float or Tensor broadcastable to x
        Means and standard deviations of the columns.
    alpha : float or Tensor
        Relative parameter.
    """
    return relative_ratio(_log_gaussian(x, nu_mean, nu_std), _log_gaussian(x, de_mean, de_std), alpha)


def _log_gaussian(x: Tensor, mean: float | Tensor, std: float | Tensor) -> Tensor:
    std = torch.as_tensor(std, dtype=x.dtype, device=x.device)
    # The constant of the density cancels in every ratio.
    return (-0.5 * ((x - mean) / std) ** 2 - std.log()).sum(-1)
