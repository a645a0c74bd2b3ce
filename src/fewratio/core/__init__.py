"""Pure functions on NumPy arrays and torch tensors, of any leading batch axes, and the file that tensors are kept in.

Each is imported when it is first asked for: only those for tensors need torch.
"""

from typing import TYPE_CHECKING, Any

from fewratio.lazy import import_home

if TYPE_CHECKING:
    from fewratio.core.divergence import relative_pearson_divergence
    from fewratio.core.exact import gaussian_relative_ratio, relative_ratio
    from fewratio.core.kernels import gaussian_kernel, median_distance
    from fewratio.core.objectives import Objective, RelativeSquaredError, UnnormalisedKL
    from fewratio.core.pair import Episode, Pair
    from fewratio.core.ridge import ridge_weights

_HOME = {
    "Episode": "pair",
    "Objective": "objectives",
    "Pair": "pair",
    "RelativeSquaredError": "objectives",
    "UnnormalisedKL": "objectives",
    "gaussian_kernel": "kernels",
    "gaussian_relative_ratio": "exact",
    "median_distance": "kernels",
    "relative_pearson_divergence": "divergence",
    "relative_ratio": "exact",
    "ridge_weights": "ridge",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fewratio.core' has no attribute {name!r}")
    return getattr(import_home(f"fewratio.core.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
