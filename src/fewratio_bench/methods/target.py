"""Networks that are trained on nothing but the target's support."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch

from fewratio.core.draws import seed_for
from fewratio.core.objectives import NonNegativeLSIF, Objective
from fewratio.data.dataset import as_flags
from fewratio.estimators.networks.nn import MLPFeatures, NoEncoder, RatioModel, SharedHead
from fewratio.estimators.networks.optim import Ensemble, train_in_stages
from fewratio.estimators.networks.pair import Episode, Pair
from fewratio_bench.evaluate import Judgement, judge_values
from fewratio_bench.methods.base import STEPS, Bench, Method, Parameters, Verdict, quick_steps
from fewratio_bench.methods.parts import NonNegativePU
from fewratio_bench.problems import Problem, Trial


@dataclass(frozen=True)
class TargetTrained(Method):
    """D3RE or nnPU: a four-layer network trained on the support of each task, all tasks and settings at once.

    How long to train is a parameter with a grid of its own: every number of steps is judged and recorded, which is the
    training curve.

    Attributes
    ----------
    loss : {"lsif", "pu"}
        Non-negative LSIF, or non-negative PU with the mean outlier rate of the sources.
    bounds : tuple of float
        Grid of the bound C of non-negative LSIF.
    steps : tuple of int
        Grid of numbers of steps.
    """

    loss: str = "lsif"
    bounds: tuple[float, ...] = (0.1, 0.5, 1.0, 10.0)
    steps: tuple[int, ...] = STEPS

    def quick(self) -> Self:
        """Return the same with two bounds and three numbers of steps at most."""
        return replace(self, bounds=self.bounds[:2], steps=quick_steps(self.steps))

    def settings(self, problem: Problem) -> list[Parameters]:
        """Return one setting for each bound and number of steps."""
        return [self._setting(bound, n_steps) for bound in self.bounds for n_steps in self.steps]

    def _setting(self, bound: float, n_steps: int) -> Parameters:
        return {"loss": self.loss, "bound": bound, "n_steps": n_steps}

    def judge(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Verdict]:
        """Train on every task of every trial."""
        for trial in trials:
            for role, evaluation in trial.evaluations.items():
                yield from self._judge_tasks(trial, role, evaluation.episode)

    def _judge_tasks(self, trial: Trial, role: str, episode: Episode) -> Iterator[Verdict]:
        n_tasks, n_values = episode.rows.shape[0], len(self.bounds)
        seed = trial.seed(self.name, role)
        started = time.perf_counter()
        # Axes (member, task): every member has one task, and every task one member for each value, from one start.
        tasks = torch.arange(n_tasks).repeat(n_values)[:, None]
        ensemble = Ensemble(self._networks(n_tasks, episode.rows.shape[-1], seed) * n_values, trial.device)
        support = episode.support[tasks]
        training = Episode(support, support)
        # The support is judged too: the divergence is read off it.
        # Nothing is averaged over the joined rows; their shares only have to be there.
        shares = episode.rows.new_zeros(2, episode.rows.shape[-2])
        everything = Pair.from_joined(episode.rows, shares, episode.support.n_nu)
        judged = Episode(support, everything[tasks])
        n_support = episode.support.rows.shape[-2]
        objective, seconds = self._objective(trial, n_tasks), 0.0
        for n_steps in train_in_stages(ensemble, lambda _: training, objective, self.steps):
            with torch.no_grad():
                value = ensemble.evaluate(judged)[:, 0].unflatten(0, (n_values, n_tasks))
            seconds += time.perf_counter() - started
            for number, bound in enumerate(self.bounds):
                at_support, at_query = value[number].split([n_support, value.shape[-1] - n_support], dim=-1)
                is_score = self.loss == "pu"
                judgement = Judgement(at_query) if is_score else judge_values(at_support, at_query, episode, alpha=0.0)
                yield Verdict(trial, role, self._setting(bound, n_steps), judgement, seconds / n_values, seed)
            started = time.perf_counter()

    def _networks(self, n_tasks: int, n_features: int, seed: int) -> list[RatioModel]:
        models = []
        for task in range(n_tasks):
            generator = torch.Generator().manual_seed(seed_for(seed, task))
            features = MLPFeatures(n_features, generator=generator)
            clip = "ratio" if self.loss == "lsif" else "none"
            models.append(RatioModel(NoEncoder(), features, SharedHead(features.n_outputs), clip))
        return models

    def _objective(self, trial: Trial, n_tasks: int) -> Objective:
        if self.loss == "pu":
            rates = [np.mean(as_flags(dataset.is_outlier, dataset.name)) for dataset in trial.split.source]
            return NonNegativePU(1 - float(np.mean(rates)))
        return NonNegativeLSIF(torch.tensor(self.bounds, device=trial.device).repeat_interleave(n_tasks)[:, None])
