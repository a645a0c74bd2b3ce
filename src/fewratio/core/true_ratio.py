"""True relative ratios of known densities: the oracle of tests and benchmarks."""

import numpy as np

from fewratio.core.arrays import namespace
from fewratio.core.shapes import Array, Float


def relative_ratio(log_nu: Array, log_de: Array, alpha: float | Array) -> Array:
    """Return the relative ratio p_nu / (alpha p_nu + (1 - alpha) p_de) from log densities.

    Written as 1 / (alpha + (1 - alpha) p_de / p_nu), so that densities that underflow do no harm.
    """
    # An overflow gives a ratio of 0, as it should.
    with np.errstate(over="ignore"):
        return 1 / (alpha + (1 - alpha) * namespace(log_nu).exp(log_de - log_nu))


def true_ratio(log_ratio: Float[Array, "... n"], alpha: Float[Array, "..."]) -> Float[Array, "... n"]:
    """Return the relative ratio of each task's instances from the logarithm of the plain one; NaN stays NaN."""
    # Beyond these bounds the relative ratio is at its limits, and an exponential would overflow.
    return relative_ratio(log_ratio.clip(-60, 60), 0.0, alpha[..., None])


def gaussian_relative_ratio(
    x: Float[Array, "... n d"],
    nu_mean: float | Array,
    nu_std: float | Array,
    de_mean: float | Array,
    de_std: float | Array,
    alpha: float | Array,
) -> Float[Array, "... n"]:
    """Return the true relative ratio of two Gaussians with independent columns.

    Parameters
    ----------
    x : array of shape (..., n, d)
        Rows at which to evaluate the ratio.
    nu_mean, nu_std, de_mean, de_std : float or array broadcastable to x
        Means and standard deviations of the columns.
    alpha : float or array
        Relative parameter.
    """
    return relative_ratio(_log_gaussian(x, nu_mean, nu_std), _log_gaussian(x, de_mean, de_std), alpha)


def _log_gaussian(x: Array, mean: float | Array, std: float | Array) -> Array:
    xp = namespace(x)
    std = xp.asarray(std, dtype=x.dtype, device=x.device)
    # The constant of the density cancels in every ratio.
    return (-0.5 * ((x - mean) / std) ** 2 - xp.log(std)).sum(-1)
