"""Scores of a model on the pairs of a split, beside the true ratio on the same instances."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fewratio.core.objectives import RelativeSquaredError
from fewratio.data.episodes import EvaluationEpisodes, SupportSize
from fewratio.data.pools import RowTable, pair_pools
from fewratio.data.sources.gaussian import GaussianFamily
from fewratio.nn import RatioModel
from fewratio_bench.problems import SyntheticProblem, true_ratio


@dataclass(frozen=True)
class Score:
    """Mean over all ordered pairs: Eq. 8 on the test instances, and how much the true ratio is better."""

    squared_error: float
    regret: float


class PairEvaluation:
    """All ordered pairs of a family's datasets, with fixed supports.

    Parameters
    ----------
    problem : SyntheticProblem
        Support size and alpha.
    family : GaussianFamily
        The datasets and the truth behind them.
    seed : int
        Draws the supports.
    device : device
        Where to evaluate.
    """

    def __init__(
        self, problem: SyntheticProblem, family: GaussianFamily, seed: int, device: torch.device | str
    ) -> None:
        table = RowTable([family.collection], device)
        size = SupportSize(problem.n_support, problem.n_support)
        self._episodes = EvaluationEpisodes(table.rows, [pair_pools(family.collection, table)], [seed], size, size)
        self._objective = RelativeSquaredError(problem.alpha)
        self._oracle = self._of_truth(family, problem.alpha)

    @torch.no_grad()
    def score(self, model: RatioModel) -> Score:
        """Score a model on every pair."""
        losses = torch.cat(
            [self._objective(model(episode), episode.query.shares) for episode in self._episodes.batches()], dim=-1
        )
        mean = losses.double().mean().item()
        return Score(mean, mean - self._oracle)

    def _of_truth(self, family: GaussianFamily, alpha: float) -> float:
        losses: list[Tensor] = []
        tasks: np.ndarray = self._episodes.tasks[0]
        for episode in self._episodes.batches():
            first = sum(len(part) for part in losses)
            mine = tasks[first : first + episode.query.rows.shape[1]]
            ratio = true_ratio(family, mine, episode, alpha)
            losses.append(self._objective(ratio, episode.query.shares.double())[0])
        return torch.cat(losses).mean().item()
