"""Settings of training by the flat names that records have, and the library's groups of them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fewratio.estimators.settings import Architecture, Episodes, Inliers, Pairs, Training

# By the name of a problem's episodes.
EPISODES: dict[str, type[Episodes]] = {"pairs": Pairs, "inliers": Inliers}


class Grouped(NamedTuple):
    """The groups of settings."""

    episodes: Episodes
    network: Architecture
    training: Training
    scale: str

    def flat(self) -> dict[str, Any]:
        """Give the settings as records have them."""
        (name,) = (name for name, kind in EPISODES.items() if isinstance(self.episodes, kind))
        episodes = self.episodes.get_params()
        if episodes["n_support_de"] == EPISODES[name]().n_support_de:
            episodes["n_support_de"] = None
        found = {"n_inliers": None, **episodes, **self.network.get_params(), **self.training.get_params()}
        return found | {"episodes": name, "standardise": self.scale == "columns"}


def grouped(episodes: str, flat: Mapping[str, Any]) -> Grouped:
    """Group settings; what is not among them is the library's default."""
    left = {name: value for name, value in flat.items() if name != "n_inliers" or episodes == "inliers"}
    scale = "columns" if left.pop("standardise", False) else "none"
    kinds = (EPISODES[episodes], Architecture, Training)
    chosen = [{name: left.pop(name) for name in kind._get_param_names() if name in left} for kind in kinds]
    if left:
        raise TypeError(f"{sorted(left)} are no settings of training")
    return Grouped(kinds[0](**chosen[0]), Architecture(**chosen[1]), Training(**chosen[2]), scale)
