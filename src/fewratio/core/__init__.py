"""Pure functions on tensors, of any leading batch axes, and the file that tensors are kept in."""

from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.exact import gaussian_relative_ratio, relative_ratio
from fewratio.core.kernels import gaussian_kernel, median_distance
from fewratio.core.objectives import Objective, RelativeSquaredError, UnnormalisedKL
from fewratio.core.pair import Episode, Pair
from fewratio.core.ridge import ridge_weights

__all__ = [
    "Episode",
    "Objective",
    "Pair",
    "RelativeSquaredError",
    "UnnormalisedKL",
    "gaussian_kernel",
    "gaussian_relative_ratio",
    "median_distance",
    "relative_pearson_divergence",
    "relative_ratio",
    "ridge_weights",
]
