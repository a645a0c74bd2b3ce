"""The estimator that users have, pretrained as they would: one for all sizes of a split."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import torch

from fewratio.estimators import MetaRatioEstimator, pretrain_together
from fewratio.estimators.networks.nn import MeanRatio
from fewratio.estimators.networks.settings import KINDS, as_architecture
from fewratio_bench.methods.base import QUICKER, Bench, Parameters, RatioMethod, Ratios, by_split
from fewratio_bench.methods.flat_settings import flat_settings, make_estimator
from fewratio_bench.problems import Problem, Trial


@dataclass(frozen=True)
class Pretrained(RatioMethod):
    """`MetaRatioEstimator` with these parameters and the defaults of the rest.

    Attributes
    ----------
    parameters : mapping
        Its settings, by the names of `flat_settings`.
    keep_aside : bool
        Whether early stopping goes by some of the sources, held out, instead of the validation datasets.
    """

    published: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    keep_aside: bool = False
    alpha: float = 0.5

    def quick(self) -> Self:
        """Return the same with one network of each kind and a training of a fiftieth."""
        steps = make_estimator(**self.parameters).training.max_steps // QUICKER
        return replace(self, parameters={**self.parameters, "max_steps": steps, "n_networks": 1})

    def settings(self, problem: Problem) -> list[Parameters]:
        """Return the one setting there is, defaults included: with others the records would be others."""
        kept = flat_settings(self._estimator(problem))
        del kept["n_inliers"]
        return [{"alpha": self.alpha, "init": "random"} | kept | ({"keep_aside": True} if self.keep_aside else {})]

    def ratios(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Ratios]:
        """Train on every split, and give the ratios of what was learned."""
        groups = by_split(trials)
        (setting,) = self.settings(trials[0].problem)
        seeds = [group[0].seed(self.name) for group in groups]
        training: tuple[str | int, ...] = self.name, json.dumps(setting), *seeds
        started = time.perf_counter()
        if training not in bench.trained:
            train = partial(self._pretrain, replace(bench, trained={}))
            trained = bench.train(train, groups, _complete, *training)
            bench.trained[training] = trained, (time.perf_counter() - started) / len(trials)
        trained, seconds = bench.trained[training]
        for group, estimator, seed in zip(groups, trained, seeds, strict=True):
            for trial in group:
                model = estimator.model_.to(trial.device)
                for role, evaluation in trial.evaluations.items():
                    episode, started = evaluation.episode, time.perf_counter()
                    with torch.no_grad():
                        adapted = model.adapt(episode.support)
                        members = adapted.ratios if isinstance(adapted, MeanRatio) else [adapted]
                        support = torch.stack([ratio.at_support() for ratio in members])
                        index = episode.support_index
                        query = torch.stack([ratio(episode.query.rows, index) for ratio in members])
                    yield Ratios(trial, role, support, query, seconds + time.perf_counter() - started, seed)

    def _pretrain(
        self, bench: Bench, groups: Sequence[Sequence[Trial]], checkpoint: Path | None
    ) -> list[MetaRatioEstimator]:
        trials = [group[0] for group in groups]
        estimators = [
            self._estimator(
                trial.problem,
                n_inliers=trial.split.n_normals,
                device=bench.device,
                progress=bench.progress,
                random_state=trial.seed(self.name),
            )
            for trial in trials
        ]
        validations = [None if self.keep_aside else trial.split.validation for trial in trials]
        pretrain_together(estimators, [trial.split.source for trial in trials], validations, checkpoint=checkpoint)
        return estimators

    def _estimator(self, problem: Problem, **changes: Any) -> MetaRatioEstimator:
        common = {"alpha": self.alpha, "episodes": problem.episodes, "patience": problem.patience}
        return make_estimator(**(common | changes | dict(self.parameters)))


def _complete(estimator: MetaRatioEstimator) -> bool:
    """Return whether no network was interrupted, or left out for that."""
    architecture = as_architecture(estimator.network)
    finished = [network for network in estimator.networks_ if network.history.stopped != "interrupted"]
    return len(finished) >= len(KINDS[architecture.features]) * architecture.n_networks
