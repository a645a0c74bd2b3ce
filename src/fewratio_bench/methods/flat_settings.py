"""Settings of training by the flat names that records have, and the estimator whose groups they are in."""

from typing import Any

from fewratio.estimators import MetaRatioEstimator
from fewratio.estimators.networks.settings import architecture_of, grouped


def make_estimator(**flat: Any) -> MetaRatioEstimator:
    """Make an estimator of flat settings; what is not among them is the library's default."""
    return MetaRatioEstimator(**grouped(flat))


def flat_settings(estimator: MetaRatioEstimator) -> dict[str, Any]:
    """Give the settings of an estimator as records have them."""
    groups = estimator.episodes, architecture_of(estimator.network), estimator.training
    found = {"n_inliers": None} | {name: value for group in groups for name, value in group.get_params().items()}
    if found["n_support_de"] == type(estimator.episodes)().n_support_de:
        found["n_support_de"] = None
    episodes = type(estimator.episodes).__name__.lower()
    return found | {"episodes": episodes, "standardise": estimator.scale == "columns"}
