"""Methods with nothing to train: the Gaussian kernel on the support instances."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from fewratio.core.divergence import mmd2
from fewratio.core.kernels import median_distance
from fewratio.nn import GaussianFeatures, NoEncoder, RatioModel, RidgeHead
from fewratio_bench.evaluate import Judgement, judged_values
from fewratio_bench.methods.base import REGS, Bench, Parameters, SelectedOnTest, Verdict
from fewratio_bench.problems import Problem, Trial


@dataclass(frozen=True)
class Kernel(SelectedOnTest):
    """RuLSIF (uLSIF at alpha = 0), put together from the parts so that all pairs are solved at once."""

    name: str
    published: str | None
    clip: str = "weights"
    alpha: float = 0.5
    regs: tuple[float, ...] = REGS

    def settings(self, problem: Problem) -> list[Parameters]:
        """Give one setting for each value of lambda."""
        return [{"alpha": self.alpha, "clip": self.clip, "reg": reg} for reg in self.regs]

    @torch.no_grad()
    def judge(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Verdict]:
        """Solve every task of every trial."""
        for trial in trials:
            for role, evaluation in trial.evaluations.items():
                episode = evaluation.episode
                for parameters in self.settings(trial.problem):
                    started = time.perf_counter()
                    head = RidgeHead(self.alpha, parameters["reg"], learn_reg=False)
                    model = RatioModel(NoEncoder(), GaussianFeatures(), head, self.clip).to(trial.device)
                    ratio = model.adapt(episode.support)
                    verdict = judged_values(ratio(episode.support.rows), ratio(episode.query.rows), episode, self.alpha)
                    yield Verdict(trial, role, parameters, verdict, time.perf_counter() - started, 0)


@dataclass(frozen=True)
class MeanDiscrepancy(SelectedOnTest):
    """MMD with the median width: compares datasets, and gives no ratio."""

    name: str = "MMD"
    published: str | None = "MMD"

    def settings(self, problem: Problem) -> list[Parameters]:
        """Give the one setting."""
        return [{"sigma": "median", "biased": True}]

    @torch.no_grad()
    def judge(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Verdict]:
        """Compare the two samples of every task."""
        for trial in trials:
            for role, evaluation in trial.evaluations.items():
                started = time.perf_counter()
                support = evaluation.episode.support
                width = median_distance(support.rows, support.shares.sum(-2) > 0)
                discrepancy = mmd2(support.rows, support.shares, width, biased=True)
                judgement = Judgement(None, discrepancy)
                yield Verdict(trial, role, self.settings(trial.problem)[0], judgement, time.perf_counter() - started, 0)
