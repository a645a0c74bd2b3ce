"""AE and SD: networks that know normal instances only."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fewratio.core.pair import Episode
from fewratio.estimators import OneClassEstimator, errors_by_stage, pretrain_one_class
from fewratio.nn import OneClassNetwork
from fewratio_bench.evaluate import Judgement
from fewratio_bench.methods.base import STEPS, Bench, Parameters, Verdict
from fewratio_bench.methods.learned import LATENT_DIMS
from fewratio_bench.problems import Cell, Problem


@dataclass(frozen=True)
class OneClass:
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
        Training on the sources: steps at most, between two looks, and looks without a better one.
    """

    name: str
    published: str | None
    network: str
    train_on: str = "target"
    latent_dims: tuple[int, ...] = LATENT_DIMS
    steps: tuple[int, ...] = STEPS
    max_steps: int = 10_000
    validate_every: int = 100
    patience: int = 10

    def quick(self) -> "OneClass":
        """Give the same with two lengths, three numbers of steps and a short training."""
        return replace(self, latent_dims=(8, 32), steps=(10, 50, 200), max_steps=500)

    def settings(self, problem: Problem) -> list[Parameters]:
        """Give one setting for each length and number of steps."""
        return [self._setting(dim, n_steps) for dim in self.latent_dims for n_steps in self._stages]

    @property
    def _stages(self) -> tuple[int, ...]:
        return (0,) if self.train_on == "sources" else self.steps

    def _setting(self, latent_dim: int, n_steps: int) -> Parameters:
        setting: Parameters = {"network": self.network, "train_on": self.train_on, "latent_dim": latent_dim}
        setting |= {"n_steps": n_steps}
        if self.train_on != "target":
            setting |= {name: getattr(self, name) for name in ("max_steps", "validate_every", "patience")}
        return setting

    def judge(self, cells: Sequence[Cell], bench: Bench) -> Iterator[Verdict]:
        """Train on the sources of every split, where that is wanted, and on every dataset of every cell."""
        for latent_dim in self.latent_dims:
            sources, seconds = self._learn(cells, latent_dim, bench)
            for cell in cells:
                for role, evaluation in cell.evaluations.items():
                    start = sources.get(cell.split.number)
                    yield from self._judge_tasks(cell, role, evaluation.episode, latent_dim, start, seconds)

    def _learn(self, cells: Sequence[Cell], latent_dim: int, bench: Bench) -> tuple[dict[int, OneClassNetwork], float]:
        """Give the network of each split, and the time that one took for each cell."""
        if self.train_on == "target":
            return {}, 0.0
        splits = {cell.split.number: cell for cell in cells}
        estimators = [
            self._estimator(latent_dim, bench.device, cell.seed(self.name, latent_dim), bench.progress)
            for cell in splits.values()
        ]
        pretrain_one_class(
            estimators,
            [cell.split.source for cell in splits.values()],
            [cell.split.validation for cell in splits.values()],
        )
        models = {number: estimator.source_model_ for number, estimator in zip(splits, estimators, strict=True)}
        return models, estimators[0].history_.seconds / len(cells)

    def _judge_tasks(
        self,
        cell: Cell,
        role: str,
        episode: Episode,
        latent_dim: int,
        start: OneClassNetwork | None,
        seconds: float,
    ) -> Iterator[Verdict]:
        started = time.perf_counter()
        seed = cell.seed(self.name, latent_dim)
        normals, query = episode.support.nu, episode.query.rows
        if start is None:
            models = [
                self._estimator(latent_dim, str(cell.device), seed + task).new_model(rows.cpu().numpy()).to(cell.device)
                for task, rows in enumerate(normals)
            ]
        else:
            models = [start] * len(normals)
        for n_steps, errors in errors_by_stage(models, normals, query, self._stages):
            took = seconds + time.perf_counter() - started
            # An error is large where an instance is odd; a score is large where it is normal.
            judgement = Judgement(-errors)
            yield Verdict(cell, role, self._setting(latent_dim, n_steps), judgement, took, seed)

    def _estimator(self, latent_dim: int, device: str, seed: int, progress: bool | None = None) -> OneClassEstimator:
        return OneClassEstimator(
            self.network,
            latent_dim=latent_dim,
            train_on=self.train_on,
            max_steps=self.max_steps,
            validate_every=self.validate_every,
            patience=self.patience,
            device=device,
            progress=progress,
            random_state=seed,
        )
