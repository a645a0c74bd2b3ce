"""How far apart two datasets are, read off their ratio."""

from torch import Tensor

from fewratio.core.objectives import RelativeSquaredError
from fewratio.core.shapes import Float


def relative_pearson_divergence(
    ratio: Float[Tensor, "... n"], shares: Float[Tensor, "... 2 n"], alpha: float
) -> Float[Tensor, "..."]:
    """Relative Pearson divergence from ratio values on both samples: -J - 1/2 with J of Eq. 8.

    Zero for equal distributions (r = 1), at most (1 - alpha) / (2 alpha) for the true ratio.
    """
    return -RelativeSquaredError(alpha)(ratio, shares) - 0.5
