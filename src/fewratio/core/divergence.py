"""Divergences of two datasets from their ratio."""

import math

from fewratio.core.arrays import namespace
from fewratio.core.blocks import CACHED_VALUES, row_blocks
from fewratio.core.kernels import gaussian_kernel
from fewratio.core.objectives import RelativeSquaredError
from fewratio.core.shapes import Array, Float


def relative_pearson_divergence(
    ratio: Float[Array, "... n"], shares: Float[Array, "... 2 n"], alpha: float | Float[Array, "..."]
) -> Float[Array, "..."]:
    """Relative Pearson divergence from ratio values on both samples: -J - 1/2 with J of Eq. 8.

    Zero for equal distributions (r = 1), at most (1 - alpha) / (2 alpha) for the true ratio.
    """
    return -RelativeSquaredError(alpha)(ratio, shares) - 0.5


def kullback_leibler_divergence(ratio_nu: Float[Array, "... n"], floor: float = 1e-6) -> Float[Array, "..."]:
    """Kullback-Leibler divergence from ratios at the numerator's rows: the mean of log r, relative if the ratio is.

    ``floor`` keeps the logarithm of a ratio that is zero finite.
    """
    return namespace(ratio_nu).log(ratio_nu.clip(min=floor)).mean(-1)


def mmd2(
    rows: Float[Array, "... n d"],
    shares: Float[Array, "... 2 n"],
    sigma: float | Float[Array, "..."],
    biased: bool = False,
) -> Float[Array, "..."]:
    """Squared maximum mean discrepancy with a Gaussian kernel, per task.

    With s the shares of a sample, ``s'Ks`` is the mean of the kernel over all pairs of its rows. The unbiased form
    leaves out the pairs of a row with itself (kernel 1, share sum s^2); it is NaN for a sample of one row.

    Parameters
    ----------
    rows : array of shape (..., n, d)
        Both samples joined.
    shares : array of shape (..., 2, n)
        The rows' shares in the two means; padding has none.
    sigma : float or array of shape (...)
        Kernel width.
    biased : bool
        Whether pairs of a row with itself count.
    """
    n_rows = rows.shape[-2]
    means = 0 * (shares @ shares.mT)
    # Rows in blocks, because the kernel matrix of large samples does not fit in memory, each with the rows from it on:
    # the matrix is symmetric.
    for block in row_blocks(n_rows, n_rows * math.prod(rows.shape[:-2]), CACHED_VALUES):
        kernel = gaussian_kernel(rows[..., block, :], rows[..., block.start :, :], sigma)
        of_block = shares[..., block]
        found = of_block @ (kernel @ shares[..., block.start :].mT)
        means = means + found + found.mT - of_block @ (kernel[..., : of_block.shape[-1]] @ of_block.mT)
    within = means.diagonal(0, -2, -1)
    if not biased:
        same = (shares**2).sum(-1)
        within = (within - same) / (1 - same)
    return within.sum(-1) - 2 * means[..., 0, 1]
