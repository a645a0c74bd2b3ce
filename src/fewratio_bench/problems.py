"""Problems: where the datasets come from, how they are split, and what is known of the truth."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fewratio.core.exact import gaussian_relative_ratio
from fewratio.core.pair import Episode
from fewratio.data.seeds import seed_for
from fewratio.data.sources.gaussian import GaussianFamily, gaussian_family


@dataclass(frozen=True)
class SyntheticSplit:
    """Source, validation and target datasets of one draw of the synthetic problem."""

    number: int
    source: GaussianFamily
    validation: GaussianFamily
    target: GaussianFamily


@dataclass(frozen=True)
class SyntheticProblem:
    """The paper's synthetic problem: 600 source, 3 validation and 20 target Gaussians of 300 instances."""

    name: str = "synthetic"
    data: str = "Gaussian-1d"
    alpha: float = 0.5
    n_support: int = 10
    n_source: int = 600
    n_validation: int = 3
    n_target: int = 20
    n_instances: int = 300

    def split(self, number: int) -> SyntheticSplit:
        """Draw one split."""

        def draw(role: str, n_datasets: int) -> GaussianFamily:
            seed = seed_for(self.name, self.data, number, role)
            return gaussian_family(n_datasets, self.n_instances, seed, name=role)

        return SyntheticSplit(
            number, draw("source", self.n_source), draw("validation", self.n_validation), draw("target", self.n_target)
        )


def true_ratio(family: GaussianFamily, tasks: np.ndarray, episode: Episode, alpha: float) -> Tensor:
    """Give the true relative ratio at the query rows of episodes whose tasks name datasets of a family."""
    rows = episode.query.rows.double()

    def moment(values: np.ndarray, side: int) -> Tensor:
        return torch.from_numpy(values[tasks[:, side]]).to(rows.device)[:, None, None]

    nu, de = ((moment(family.means, side), moment(family.stds, side)) for side in (0, 1))
    return gaussian_relative_ratio(rows, *nu, *de, alpha)
