"""Settings of training by the flat names that records have, and the estimator whose groups they are in."""

from typing import Any

from fewratio.estimators import MetaRatioEstimator
from fewratio.estimators.networks.settings import Architecture, Inliers, Pairs, Training, as_architecture
from fewratio.estimators.parameters import Parameters


def make_estimator(**flat: Any) -> MetaRatioEstimator:
    """Make an estimator of flat settings; what is not among them is the library's default.

    The names of episodes are "pairs" and "inliers", and ``standardise`` says whether columns are scaled.
    """
    left: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in flat.items()}
    scale = "columns" if left.pop("standardise", False) else "none"
    episodes = Inliers if left.pop("episodes", "pairs") == "inliers" else Pairs
    if episodes is Pairs:
        left.pop("n_inliers", None)
    elif left.get("n_support_de") is None:
        left.pop("n_support_de", None)
    groups: dict[str, type[Parameters]] = {"episodes": episodes, "network": Architecture, "training": Training}
    found = {
        name: group(**{key: left.pop(key) for key in group._get_param_names() if key in left})
        for name, group in groups.items()
    }
    return MetaRatioEstimator(**(left | found), scale=scale)


def flat_settings(estimator: MetaRatioEstimator) -> dict[str, Any]:
    """Return the settings of an estimator as records have them."""
    groups = estimator.episodes, as_architecture(estimator.network), estimator.training
    found = {"n_inliers": None} | {name: value for group in groups for name, value in group.get_params().items()}
    if found["n_support_de"] == type(estimator.episodes)().n_support_de:
        found["n_support_de"] = None
    episodes = type(estimator.episodes).__name__.lower()
    return found | {"episodes": episodes, "standardise": estimator.scale == "columns"}
