"""The universal network: learns nothing from the sources."""

from dataclasses import dataclass

import torch

from fewratio.core.pair import Episode
from fewratio.data.seeds import seed_for
from fewratio.estimators.universal import shipped_parts
from fewratio_bench.evaluate import Judgement, judged_values
from fewratio_bench.methods.base import Parameters, Untrained
from fewratio_bench.problems import Problem

_TASKS_AT_ONCE = 25


@dataclass(frozen=True)
class Universal(Untrained):
    """The weights that come with the package, as they are."""

    name: str = "fewratio, no sources"
    published: str | None = None
    alpha: float = 0.5

    def settings(self, problem: Problem) -> list[Parameters]:
        """Give the one setting there is; records of other weights are other settings."""
        model, _ = shipped_parts("cpu")
        values = b"".join(tensor.numpy().tobytes() for tensor in model.state_dict().values())
        return [{"alpha": self.alpha, "weights": f"{seed_for(values.hex()):016x}"}]

    def judgement(self, episode: Episode, parameters: Parameters) -> Judgement:
        """Adapt to every task."""
        model, _ = shipped_parts(str(episode.rows.device))
        support, query = [], []
        for first in range(0, len(episode.rows), _TASKS_AT_ONCE):
            part = slice(first, first + _TASKS_AT_ONCE)
            pair = episode.support[part]
            ratio = model.adapt(pair, pair.rows.new_full(pair.rows.shape[:1], self.alpha))
            support.append(ratio.at_support())
            query.append(ratio(episode.query.rows[part], episode.support_index))
        return judged_values(torch.cat(support), torch.cat(query), episode, self.alpha)
