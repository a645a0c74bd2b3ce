"""AE and SD: networks that know normal instances only."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from torch.nn.utils.rnn import pad_sequence

from fewratio.data.seeds import seed_for
from fewratio.optim import TrainingPlan
from fewratio_bench.evaluate import Judgement, padded
from fewratio_bench.methods.base import STEPS, Bench, Method, Parameters, Verdict, quick_steps
from fewratio_bench.methods.learned import LATENT_DIMS
from fewratio_bench.methods.one_class_networks import OneClassNetwork, errors_by_stage, new_network, train_on_sources
from fewratio_bench.problems import ROLES, Problem, Trial


@dataclass(frozen=True)
class OneClass(Method):
    """An autoencoder or Deep SVDD, trained on a target's normals, on the sources', or first on these, then on those.

    Attributes
    ----------
    network : {"autoencoder", "deep svdd"}
        Which.
    train_on : {"target", "sources", "sources then target"}
        On what; the paper's plain name, -S and -FT.
    latent_dims : tuple of int
        Grid of the output's length.
    steps : tuple of int
        Grid of numbers of steps on the target; every one is recorded, which is the training curve.
    max_steps, validate_every, patience : int
        Training on the sources: steps at most, steps between validations, and validations without improvement.
    """

    network: str
    train_on: str = "target"
    latent_dims: tuple[int, ...] = LATENT_DIMS
    steps: tuple[int, ...] = STEPS
    max_steps: int = 10_000
    validate_every: int = 100
    patience: int = 10

    @property
    def rule(self) -> str:
        """How the paper selects its setting: the output's length on validation, steps of fine-tuning on the test."""
        return "best_on_test" if len(self._stages) > 1 else "validation"

    @property
    def criterion(self) -> str | None:
        """Select the length by the scores of normals, as the paper does; what is tuned, by what is shown."""
        return "normal_score" if self.rule == "validation" else None

    def quick(self) -> Self:
        """Give the same with two lengths, three numbers of steps at most and a short training."""
        return replace(self, latent_dims=(8, 32), steps=quick_steps(self.steps), max_steps=500)

    def settings(self, problem: Problem) -> list[Parameters]:
        """Give one setting for each length and number of steps."""
        return [self._setting(dim, n_steps) for dim in self.latent_dims for n_steps in self._stages]

    @property
    def _stages(self) -> tuple[int, ...]:
        return (0,) if self.train_on == "sources" else self.steps

    def _setting(self, latent_dim: int, n_steps: int) -> Parameters:
        names = ["network", "train_on"]
        if self.train_on != "target":
            names += ["max_steps", "validate_every", "patience"]
        return {name: getattr(self, name) for name in names} | {"latent_dim": latent_dim, "n_steps": n_steps}

    def judge(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Verdict]:
        """Train on the sources of every split, where that is wanted, and on every dataset of every trial."""
        for latent_dim in self.latent_dims:
            sources, seconds = self._learn(trials, latent_dim, bench)
            for role in ROLES:
                yield from self._judge_trials(trials, role, latent_dim, sources, seconds)

    def _learn(
        self, trials: Sequence[Trial], latent_dim: int, bench: Bench
    ) -> tuple[dict[int, OneClassNetwork], float]:
        """Give the network of each split, and the time that one took for each trial."""
        if self.train_on == "target":
            return {}, 0.0
        splits = {trial.split.number: trial for trial in trials}
        plan = TrainingPlan(
            self.max_steps, validate_every=self.validate_every, patience=self.patience, show_progress=bench.progress
        )
        seeds = [self._seed(trial, latent_dim) for trial in splits.values()]
        parts = [trial.split for trial in splits.values()]
        trained = train_on_sources(self.network, latent_dim, parts, seeds, plan, bench.device)
        models = {number: model for number, (model, _) in zip(splits, trained, strict=True)}
        return models, trained[0][1].seconds / len(trials)

    def _judge_trials(
        self,
        trials: Sequence[Trial],
        role: str,
        latent_dim: int,
        sources: dict[int, OneClassNetwork],
        seconds: float,
    ) -> Iterator[Verdict]:
        """Train on the datasets of all trials at once, samples of different sizes padded."""
        started = time.perf_counter()
        episodes = [trial.evaluations[role].episode for trial in trials]
        normals = [rows for episode in episodes for rows in episode.support.nu]
        queries = [rows for episode in episodes for rows in episode.query.rows]
        models = [
            sources.get(trial.split.number)
            or new_network(self.network, latent_dim, rows, self._seed(trial, latent_dim) + task)
            for trial, episode in zip(trials, episodes, strict=True)
            for task, rows in enumerate(episode.support.nu)
        ]
        (support, real), query = padded(normals), pad_sequence(queries, batch_first=True)
        n_tasks, spent = [len(episode.rows) for episode in episodes], 0.0
        for n_steps, errors in errors_by_stage(models, support, query, self._stages, real=real):
            spent += time.perf_counter() - started
            took = seconds + spent / len(trials)
            setting = self._setting(latent_dim, n_steps)
            for trial, episode, mine in zip(trials, episodes, errors.split(n_tasks), strict=True):
                # An error is large where an instance is an outlier; a score is large where it is normal.
                judgement = Judgement(-mine[:, : episode.query.rows.shape[-2]])
                yield Verdict(trial, role, setting, judgement, took, self._seed(trial, latent_dim))
            started = time.perf_counter()

    def _seed(self, trial: Trial, latent_dim: int) -> int:
        problem, number = trial.problem, trial.split.number
        if self.train_on == "target":
            return trial.seed(self.name, latent_dim)
        # One network per split, whatever sizes it is judged with.
        return seed_for(problem.name, problem.data, number, self.name, latent_dim)
