"""How far apart two datasets are, read off their ratio."""

from torch import Tensor

from fewratio.core.kernels import gaussian_kernel
from fewratio.core.objectives import NumeratorMean, RelativeSquaredError
from fewratio.core.pair import Pair
from fewratio.core.shapes import Float

# Kernel values held at a time: 8 MB as float64, which a cache holds; four times as many take twice as long.
_BLOCK_VALUES = 2**20


def relative_pearson_divergence(
    ratio: Float[Tensor, "... n"], shares: Float[Tensor, "... 2 n"], alpha: float | Float[Tensor, "..."]
) -> Float[Tensor, "..."]:
    """Relative Pearson divergence from ratio values on both samples: -J - 1/2 with J of Eq. 8.

    Zero for equal distributions (r = 1), at most (1 - alpha) / (2 alpha) for the true ratio.
    """
    return -RelativeSquaredError(alpha)(ratio, shares) - 0.5


def kullback_leibler_divergence(
    ratio: Float[Tensor, "... n"], shares: Float[Tensor, "... 2 n"], floor: float = 1e-6
) -> Float[Tensor, "..."]:
    """Kullback-Leibler divergence from ratio values: the numerator's mean of log r, relative if the ratio is.

    ``floor`` keeps the logarithm of a ratio that is zero finite.
    """
    return NumeratorMean()(ratio.clamp_min(floor).log(), shares)


def mmd2(pair: Pair, sigma: float | Float[Tensor, "..."], biased: bool = False) -> Float[Tensor, "..."]:
    """Squared maximum mean discrepancy with a Gaussian kernel, per task.

    With s the shares of a sample, ``s'Ks`` is the mean of the kernel over all pairs of its rows. The unbiased form
    leaves out the pairs of a row with itself (kernel 1, share sum s^2); it is NaN for a sample of one row.

    Parameters
    ----------
    pair : Pair
        The two samples; padded rows have no share and so no say.
    sigma : float or Tensor of shape (...)
        Kernel width.
    biased : bool
        Whether pairs of a row with itself count.
    """
    n_rows = pair.rows.shape[-2]
    step = max(1, _BLOCK_VALUES // (n_rows * pair.rows.shape[:-2].numel()))
    # Rows in blocks: the kernel matrix of large samples does not fit in memory.
    means = sum(
        shares @ (gaussian_kernel(rows, pair.rows, sigma) @ pair.shares.mT)
        for rows, shares in zip(pair.rows.split(step, -2), pair.shares.split(step, -1), strict=True)
    )
    assert isinstance(means, Tensor)
    within = means.diagonal(dim1=-2, dim2=-1)
    if not biased:
        same = pair.shares.square().sum(-1)
        within = (within - same) / (1 - same)
    return within.sum(-1) - 2 * means[..., 0, 1]
