"""Methods with nothing to train: the Gaussian kernel on the support instances."""

from dataclasses import dataclass

from fewratio.core.divergence import mmd2
from fewratio.core.kernels import median_distance
from fewratio.core.pair import Episode
from fewratio.nn import GaussianFeatures, NoEncoder, RatioModel, RidgeHead
from fewratio_bench.evaluate import Judgement, judged_ratio
from fewratio_bench.methods.base import REGS, Parameters, Untrained
from fewratio_bench.problems import Problem


@dataclass(frozen=True)
class Kernel(Untrained):
    """RuLSIF (uLSIF at alpha = 0), put together from the parts so that all pairs are solved at once."""

    clip: str = "weights"
    alpha: float = 0.5
    regs: tuple[float, ...] = REGS

    def settings(self, problem: Problem) -> list[Parameters]:
        """Give one setting for each value of lambda."""
        return [{"alpha": self.alpha, "clip": self.clip, "reg": reg} for reg in self.regs]

    def judgement(self, episode: Episode, parameters: Parameters) -> Judgement:
        """Solve every task."""
        head = RidgeHead(self.alpha, parameters["reg"], learn_reg=False)
        model = RatioModel(NoEncoder(), GaussianFeatures(), head, self.clip).to(episode.rows.device)
        return judged_ratio(model.adapt(episode.support), episode, self.alpha)


@dataclass(frozen=True)
class MeanDiscrepancy(Untrained):
    """MMD with the median width: compares datasets, and gives no ratio."""

    name: str = "MMD"
    published: str | None = "MMD"

    def settings(self, problem: Problem) -> list[Parameters]:
        """Give the one setting."""
        return [{"sigma": "median", "biased": True}]

    def judgement(self, episode: Episode, parameters: Parameters) -> Judgement:
        """Compare the two samples of every task."""
        support = episode.support
        width = median_distance(support.rows, support.shares.sum(-2) > 0)
        return Judgement(None, mmd2(support.rows, support.shares, width, biased=True))
