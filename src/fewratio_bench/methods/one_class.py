"""AE and SD, autoencoder and Deep SVDD: networks that know normal instances only, and give every row an error."""

import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from fewratio.core.draws import seed_for
from fewratio.core.objectives import numerator_mean
from fewratio.data.collection import Collection
from fewratio.errors import TrainingError
from fewratio.estimators.networks.nn.mlp import mlp
from fewratio.estimators.networks.optim import Ensemble, History, TrainingPlan, train, train_in_stages
from fewratio.estimators.networks.pair import Episode
from fewratio.estimators.networks.pretraining import draw_seeds, raise_if_diverged, row_table
from fewratio.estimators.networks.training.keyed_draws import fold, uniform
from fewratio.estimators.networks.training.pools import RowTable
from fewratio_bench.evaluate import Judgement, pad_samples
from fewratio_bench.methods.base import STEPS, Bench, Method, Parameters, Verdict, quick_steps
from fewratio_bench.methods.learned import LATENT_DIMS
from fewratio_bench.problems import ROLES, Problem, Trial
from fewratio_bench.splits import Split

# Ruff et al. (2018) keep the centre's coordinates this far from zero.
CENTRE_MARGIN = 0.1
WIDTH, DEPTH = 100, 4
_BATCH = 128
# Blocks of validation rows, and rows at most.
_N_BLOCKS, _MAX_ROWS = 10, 10_000
# Rows whose outputs are held at a time while the centre is computed.
_BLOCK_ROWS = 8192


class OneClassNetwork(nn.Module):
    """Base of the one-class networks: ``begin(rows)`` once before training, then `errors`."""

    def begin(self, rows: Tensor) -> None:
        """Prepare the training with the normal rows; here, do nothing."""

    @abstractmethod
    def errors(self, rows: Tensor) -> Tensor:
        """Return the error of each row: the larger, the more anomalous."""

    def forward(self, episode: Episode) -> Tensor:
        """Return the errors of the query's rows."""
        return self.errors(episode.query.rows)


class Autoencoder(OneClassNetwork):
    """Encoder and decoder; the error of a row is its squared distance to its reconstruction."""

    def __init__(self, n_features: int, latent_dim: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        hidden = [WIDTH] * (DEPTH - 1)
        self.encoder = mlp([n_features, *hidden, latent_dim], generator)
        self.decoder = mlp([latent_dim, *hidden, n_features], generator)

    def errors(self, rows: Tensor) -> Tensor:
        """Return the squared reconstruction error of each row."""
        return (self.decoder(self.encoder(rows)) - rows).square().sum(-1)


class DeepSVDD(OneClassNetwork):
    """Network that draws normal rows to a fixed centre (Ruff et al. 2018); the error is the squared distance to it.

    The layers have no bias: with one, the network could map everything onto the centre and know nothing. There is no
    weight decay (theirs is 1e-6); how long to train bounds the weights here.
    """

    centre: Tensor

    def __init__(self, n_features: int, latent_dim: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.network = mlp([n_features, *[WIDTH] * (DEPTH - 1), latent_dim], generator, bias=False)
        self.register_buffer("centre", torch.full((latent_dim,), torch.nan))

    @torch.no_grad()
    def begin(self, rows: Tensor) -> None:
        """Put the centre at the mean of the network's outputs on the normal rows, no coordinate too near to zero."""
        total = sum(self.network(block).double().sum(-2) for block in rows.split(_BLOCK_ROWS, dim=-2))
        mean = total / rows.shape[-2]
        sign = torch.where(mean < 0, -1.0, 1.0)
        self.centre.copy_(sign * mean.abs().clamp_min(CENTRE_MARGIN))

    def errors(self, rows: Tensor) -> Tensor:
        """Return the squared distance of each row's output to the centre."""
        return (self.network(rows) - self.centre).square().sum(-1)


NETWORKS = {"autoencoder": Autoencoder, "deep svdd": DeepSVDD}


def new_network(network: str, latent_dim: int, normals: Tensor, seed: int) -> OneClassNetwork:
    """Make an untrained network that has begun with these normal rows, where they are."""
    generator = torch.Generator().manual_seed(draw_seeds(seed).start)
    model = NETWORKS[network](normals.shape[-1], latent_dim, generator).to(normals.device)
    model.begin(normals)
    return model


def train_on_sources(
    network: str, latent_dim: int, splits: Sequence[Split], seeds: Sequence[int], plan: TrainingPlan, device: str
) -> list[tuple[OneClassNetwork, History]]:
    """Train a network on the normal instances of each split's sources, all as one batched program."""
    sources, validations = [split.source for split in splits], [split.validation for split in splits]
    table = row_table([*sources, *validations], torch.device(device), torch.float32)
    pools, held_out = ([_normal_rows(each, table) for each in part] for part in (sources, validations))
    models = [
        new_network(network, latent_dim, table.rows[torch.from_numpy(pool).to(device)], seed)
        for pool, seed in zip(pools, seeds, strict=True)
    ]
    roles = [draw_seeds(seed) for seed in seeds]
    draw = NormalBatches(table.rows, pools, [role.sampling for role in roles])
    validation = NormalBlocks(table.rows, held_out, [role.validation for role in roles])
    histories = train(Ensemble(models, device), draw, validation, numerator_mean, plan)
    if any(history.stopped == "interrupted" for history in histories):
        # Half-trained models are not evaluated.
        raise KeyboardInterrupt
    found = zip(sources, histories, strict=True)
    raise_if_diverged([source.name for source, history in found if not np.isfinite(history.best_validation)])
    return list(zip(models, histories, strict=True))


def errors_by_stage(
    models: Sequence[OneClassNetwork], support: Tensor, query: Tensor, stages: Sequence[int], real: Tensor | None = None
) -> Iterator[tuple[int, Tensor]]:
    """Train networks on the normal rows of a target each, and give the errors of rows after some numbers of steps.

    The models themselves stay as they are; one may be given for several targets.

    Parameters
    ----------
    models : sequence of OneClassNetwork
        The start of each member; all of one architecture.
    support, query : Tensor of shape (member, n, d) and (member, n_query, d)
        The normal rows to train on, and the rows whose errors are given.
    stages : sequence of int
        Numbers of steps, rising; 0 is the start.
    real : bool Tensor of shape (member, n), optional
        False where a support row is padding (finite numbers).
    """
    ensemble = Ensemble(deepcopy(list(models)), support.device)
    training = numerator_only(support.unsqueeze(1), None if real is None else real.unsqueeze(1))
    judged = numerator_only(query.unsqueeze(1))
    for stage in train_in_stages(ensemble, lambda step: training, numerator_mean, stages):
        # Do not wrap the yield, so that the setting does not affect the caller.
        with torch.no_grad():
            errors = ensemble.evaluate(judged).squeeze(1)
        if not errors.isfinite().all():
            raise TrainingError(f"After {stage} steps some errors are not finite. Use a smaller learning rate.")
        yield stage, errors


def _normal_rows(collection: Collection, table: RowTable) -> np.ndarray:
    """Return the row numbers of all instances that are not known outliers."""
    parts = ((table.numbers(each), each.is_outlier) for each in collection)
    return np.concatenate([numbers if outlier is None else numbers[~outlier] for numbers, outlier in parts])


def numerator_only(rows: Tensor, real: Tensor | None = None) -> Episode:
    """Make an episode of a numerator's query rows alone; ``real`` is False where a row is padding."""
    share = rows.new_ones(rows.shape[-2]) if real is None else real.to(rows.dtype)
    share = share / share.sum(-1, keepdim=True)
    shares = torch.stack([share, torch.zeros_like(share)], dim=-2)
    return Episode.from_joined(rows, shares[..., :0], shares, 0, rows.shape[-2])


class NormalBatches:
    """Batches of rows, each drawn from all of a member's, as a pure function of a seed and a step's number."""

    def __init__(self, rows: Tensor, pools: Sequence[np.ndarray], seeds: Sequence[int]) -> None:
        self._rows = rows
        self._seeds = torch.tensor([seed % 2**63 for seed in seeds], device=rows.device)
        self._counts = torch.tensor([[len(pool)] for pool in pools], device=rows.device)
        self._numbers = pad_sequence([torch.from_numpy(pool) for pool in pools], batch_first=True).to(rows.device)

    def __call__(self, step: Tensor) -> Episode:
        """Draw the rows of a step; leading axes (member, 1)."""
        share = uniform(fold(self._seeds, step), _BATCH)
        # In float64: float32 could round the largest share up to the count itself.
        index = (share.double() * self._counts).long()
        return numerator_only(self._rows[self._numbers.gather(-1, index)].unsqueeze(1))


class NormalBlocks:
    """Fixed rows to validate on, dealt out into blocks."""

    tasks = None

    def __init__(self, rows: Tensor, pools: Sequence[np.ndarray], seeds: Sequence[int]) -> None:
        members = []
        for pool, seed in zip(pools, seeds, strict=True):
            shuffled = np.random.default_rng(seed).permutation(pool)[:_MAX_ROWS]
            # No block may be empty.
            members.append(torch.from_numpy(np.resize(shuffled, max(_N_BLOCKS, len(shuffled)))))
        self._rows = rows
        self._numbers = pad_sequence(members, batch_first=True, padding_value=-1).unsqueeze(1).to(rows.device)

    def batches(self) -> Iterator[Episode]:
        """Yield the blocks one by one; leading axes (member, 1)."""
        for block in range(_N_BLOCKS):
            numbers = self._numbers[..., block::_N_BLOCKS]
            yield numerator_only(self._rows[numbers.clamp_min(0)], numbers >= 0)


@dataclass(frozen=True)
class OneClass(Method):
    """An autoencoder or Deep SVDD, trained on a target's normals, on the sources', or first on these, then on those.

    Attributes
    ----------
    network : {"autoencoder", "deep svdd"}
        Kind of the network.
    train_on : {"target", "sources", "sources then target"}
        Data to train on; in the paper, the plain name, -S and -FT.
    latent_dims : tuple of int
        Grid of the length of the output.
    steps : tuple of int
        Grid of numbers of steps on the target; all are recorded, as training curve.
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
        """Return the same with two lengths, three numbers of steps at most and a short training."""
        return replace(self, latent_dims=(8, 32), steps=quick_steps(self.steps), max_steps=500)

    def settings(self, problem: Problem) -> list[Parameters]:
        """Return one setting for each length and number of steps."""
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
        """Return the network of each split, and the time that one took for each trial."""
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
        self, trials: Sequence[Trial], role: str, latent_dim: int, sources: dict[int, OneClassNetwork], seconds: float
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
        (support, real), query = pad_samples(normals), pad_sequence(queries, batch_first=True)
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
