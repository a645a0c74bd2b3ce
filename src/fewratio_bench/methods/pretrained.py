"""The estimator that users have, pretrained as they would: one for all sizes of a split."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import joblib
import torch

from fewratio.estimators import MetaRatioEstimator, pretrain_together
from fewratio.estimators.settings import KINDS, architecture_of
from fewratio_bench.evaluate import judged_ratio
from fewratio_bench.methods.base import QUICKER, Bench, Parameters, Verdict, by_split
from fewratio_bench.methods.flat_settings import Grouped, grouped
from fewratio_bench.methods.processes import dealt_out, put_together, use_one_thread_of
from fewratio_bench.problems import Problem, Trial


@dataclass(frozen=True)
class Pretrained:
    """`MetaRatioEstimator` with these parameters and the defaults of the rest.

    Attributes
    ----------
    parameters : mapping
        Its settings, by the names of `flat_settings`.
    keep_aside : bool
        Whether early stopping goes by some of the sources, held out, instead of the validation datasets.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    keep_aside: bool = False
    published: str | None = None
    alpha: float = 0.5
    rule: str = "validation"
    criterion: str | None = None

    def quick(self) -> "Pretrained":
        """Give the same with one network of each kind and a training of a fiftieth."""
        steps = grouped("pairs", self.parameters).training.max_steps // QUICKER
        return replace(self, parameters={**self.parameters, "max_steps": steps, "n_networks": 1})

    def settings(self, problem: Problem) -> list[Parameters]:
        """Give the one setting there is, defaults included: with others the records would be others."""
        kept = {name: value for name, value in self._settings(problem).flat().items() if name != "n_inliers"}
        return [{"alpha": self.alpha, "init": "random"} | kept | ({"keep_aside": True} if self.keep_aside else {})]

    def judge(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Verdict]:
        """Train on every split, and judge with what was learned."""
        groups = by_split(trials)
        (setting,) = self.settings(trials[0].problem)
        parts = dealt_out(groups, bench)
        started = time.perf_counter()
        trained = put_together(
            joblib.Parallel(len(parts))(joblib.delayed(self._pretrained)(part, bench, len(parts)) for part in parts)
        )
        if not all(map(_complete, trained)):
            # The checkpoint stays, and a half-trained model is not measured as if it were done.
            raise KeyboardInterrupt
        seconds = (time.perf_counter() - started) / len(trials)
        for group, estimator in zip(groups, trained, strict=True):
            seed = group[0].seed(self.name)
            for trial in group:
                yield from self._judge_trial(trial, estimator, setting, seconds, seed)

    @torch.no_grad()
    def _judge_trial(
        self, trial: Trial, estimator: MetaRatioEstimator, setting: Parameters, seconds: float, seed: int
    ) -> Iterator[Verdict]:
        model = estimator.model_.to(trial.device)
        for role, evaluation in trial.evaluations.items():
            episode, started = evaluation.episode, time.perf_counter()
            judgement = judged_ratio(model.adapt(episode.support), episode, self.alpha)
            yield Verdict(trial, role, setting, judgement, seconds + time.perf_counter() - started, seed)

    def _pretrained(self, groups: Sequence[Sequence[Trial]], bench: Bench, n_jobs: int) -> list[MetaRatioEstimator]:
        use_one_thread_of(n_jobs)
        problem, splits = groups[0][0].problem, [group[0].split for group in groups]
        seeds = [group[0].seed(self.name) for group in groups]
        estimators = [
            MetaRatioEstimator(
                self.alpha,
                **self._settings(problem, n_inliers=split.n_normals)._asdict(),
                device=bench.device,
                progress=bench.progress,
                random_state=seed,
            )
            for split, seed in zip(splits, seeds, strict=True)
        ]
        validations = [None if self.keep_aside else split.validation for split in splits]
        (setting,) = self.settings(problem)
        checkpoint = bench.checkpoint(self.name, json.dumps(setting), *seeds)
        pretrain_together(estimators, [split.source for split in splits], validations, checkpoint=checkpoint)
        if checkpoint is not None and all(map(_complete, estimators)):
            for file in checkpoint.parent.glob(f"{checkpoint.name}*"):
                file.unlink()
        return estimators

    def _settings(self, problem: Problem, **changes: Any) -> Grouped:
        return grouped(problem.episodes, {"patience": problem.patience} | changes | dict(self.parameters))


def _complete(estimator: MetaRatioEstimator) -> bool:
    """Tell whether no network was interrupted, or left out for that."""
    architecture = architecture_of(estimator.network)
    finished = [network for network in estimator.networks_ if network.history.stopped != "interrupted"]
    return len(finished) >= len(KINDS[architecture.features]) * architecture.n_networks
