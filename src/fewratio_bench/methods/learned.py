"""Methods that learn from the sources: Ours, its ablations, and what is fine-tuned on the target."""

import json
import time
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor, nn

from fewratio.core.kernels import median_distance
from fewratio.core.objectives import NonNegativeLSIF, Objective, RelativeSquaredError
from fewratio.core.pair import Episode, Pair
from fewratio.data.collection import Collection
from fewratio.estimators.networks import build
from fewratio.estimators.settings import Architecture
from fewratio.estimators.training import Job, squared_error, train_jobs
from fewratio.nn import (
    AdaptedRatio,
    GaussianFeatures,
    MLPFeatures,
    NoEncoder,
    RatioModel,
    RidgeHead,
    SetEncoder,
    SharedHead,
    Standardiser,
)
from fewratio.optim import Ensemble, History, TrainingPlan, train_in_stages
from fewratio_bench.evaluate import judged_ratio
from fewratio_bench.methods.base import QUICKER, REGS, STEPS, Bench, Parameters, Verdict, by_split, quick_steps
from fewratio_bench.methods.flat_settings import Grouped, grouped
from fewratio_bench.methods.parts import DescentHead, set_latent_dim
from fewratio_bench.methods.processes import dealt_out, put_together, use_one_thread_of
from fewratio_bench.problems import Problem, Trial

# The paper's grid of the length K of dataset vectors.
LATENT_DIMS = (4, 8, 16, 32, 64, 128, 256)
# Kernels of a model whose centres do not depend on the task.
N_CENTRES = 100
PAPER_TRAINING: dict[str, Any] = {
    "tasks_per_step": 1,
    "averaging": 0.0,
    "max_steps": 10_000,
    "n_query": 128,
    "weight_decay": 0.0,
}


@dataclass(frozen=True)
class Learned:
    """A row of parts that learns from source episodes, for all trials and settings as one ensemble.

    Attributes
    ----------
    encoder : {"set", "none"}
        Dataset vectors (with a grid of lengths) or not.
    features : {"mlp", "relational", "gaussian"}
        A network, one of distances to the support, or Gaussian kernels at fixed centres.
    shape : dict
        Settings of `Architecture` that say what relational features are made of.
    depth : int
        Layers of the network.
    head : {"ridge", "shared", "descent"}
        How the weights are found while learning.
    target_head : {"same", "adam", "ridge"}
        And on the target: other heads are fine-tuning, by Adam with a grid of numbers of steps, or in closed form with
        one of lambda.
    alpha : float
        Relative parameter.
    learn_alpha : bool
        Whether the head's alpha is learned.
    clip : {"weights", "ratio"}
        What keeps the ratio from being negative.
    bounds : tuple of float
        If given, the loss is non-negative LSIF with each of these bounds.
    latent_dims : tuple of int
        Grid of lengths of the dataset vectors.
    quick_dims : tuple of int
        The same of a quick run.
    sizes : (int, int) or None
        Sizes of the supports to train on, one model for all trials of a split; by default each trial's own size.
    training : dict
        Settings that say how to train, by the names of `flat_settings`.
    keep_aside : bool
        Whether early stopping goes by some of the sources, held out, instead of the validation datasets.
    trained_as : str, optional
        The method whose models these are, before fine-tuning; by default its own.
    """

    name: str
    published: str | None
    encoder: str = "set"
    features: str = "mlp"
    depth: int = 3
    head: str = "ridge"
    target_head: str = "same"
    alpha: float = 0.5
    learn_alpha: bool = False
    clip: str = "weights"
    bounds: tuple[float, ...] = ()
    latent_dims: tuple[int, ...] = LATENT_DIMS
    quick_dims: tuple[int, ...] = (32,)
    sizes: tuple[int, int] | None = None
    regs: tuple[float, ...] = REGS
    steps: tuple[int, ...] = STEPS
    training: dict[str, Any] = field(default_factory=lambda: PAPER_TRAINING)
    shape: dict[str, Any] = field(default_factory=dict)
    trained_as: str | None = None
    keep_aside: bool = False

    @property
    def rule(self) -> str:
        """How the paper selects its setting: the length of the vectors on validation, all else on the test."""
        return "best_on_test" if self.bounds or len(self._tuning_settings()) > 1 else "validation"

    @property
    def criterion(self) -> str | None:
        """Select the length of the vectors by squared error, as the paper does; what is tuned, by what is shown."""
        return "squared_error" if self.rule == "validation" else None

    def quick(self) -> "Learned":
        """Give the same with few lengths of vectors, one bound and a much shorter training."""
        shorter = QUICKER if self.training["tasks_per_step"] > 1 else 10
        training = self.training | {"max_steps": self.training["max_steps"] // shorter, "validate_every": 100}
        return replace(
            self, latent_dims=self.quick_dims, bounds=self.bounds[:1], steps=quick_steps(self.steps), training=training
        )

    def to_the_end(self) -> "Learned":
        """Give the same after all its steps on the target."""
        return replace(self, steps=self.steps[-1:])

    def stopped_early(self) -> "Learned":
        """Give the same with its number of steps on the target selected, which the paper does not do."""
        return replace(self, published=None)

    def settings(self, problem: Problem) -> list[Parameters]:
        """Give one setting for each length of vectors, bound, and way of fine-tuning."""
        return [source | tuning for source, tuning in product(self._source_settings(problem), self._tuning_settings())]

    def _source_settings(self, problem: Problem) -> list[Parameters]:
        settings = self._settings(problem).flat()
        common: Parameters = {name: getattr(self, name) for name in ("encoder", "features", "head", "alpha", "clip")}
        common |= self.shape | ({"keep_aside": True} if self.keep_aside else {})
        common |= {"depth": self.depth, "learn_alpha": self.learn_alpha, "n_support": self.sizes}
        common |= {
            name: settings[name]
            for name in ("tasks_per_step", "averaging", "validate_every", "max_steps", "patience", "standardise")
        }
        if self.features == "relational":
            common |= {name: settings[name] for name in ("n_query", "weight_decay", "calibration")}
        dims = self.latent_dims if self.encoder == "set" else (None,)
        return [
            common | ({} if dim is None else {"latent_dim": dim}) | ({} if bound is None else {"bound": bound})
            for dim, bound in product(dims, self.bounds or (None,))
        ]

    def _tuning_settings(self) -> list[Parameters]:
        if self.target_head == "same":
            return [{}]
        if self.target_head == "ridge":
            return [{"target_head": "ridge", "reg": reg} for reg in self.regs]
        return [{"target_head": "adam", "n_steps": n_steps} for n_steps in self.steps]

    def judge(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Verdict]:
        """Train a model for every trial (or split) and setting, and judge with it."""
        problem = trials[0].problem
        groups = by_split(trials) if self.sizes is not None else [[trial] for trial in trials]
        # Bounds are part of the loss, which an ensemble has in common.
        for bound in self.bounds or (None,):
            settings = [source for source in self._source_settings(problem) if source.get("bound") == bound]
            cases = [(group, source) for group in groups for source in settings]
            learned = self._trained(cases, bound, problem, bench)
            for (group, source), (model, history, seed) in zip(cases, learned, strict=True):
                for trial in group:
                    seconds = history.seconds / len(cases) / len(group)
                    yield from self._judge_trial(trial, source, model.to(trial.device), seconds, seed)

    def _judge_trial(
        self, trial: Trial, source: Parameters, model: RatioModel, seconds: float, seed: int
    ) -> Iterator[Verdict]:
        for role, evaluation in trial.evaluations.items():
            episode = evaluation.episode
            for tuning, ratio, adapting in self._ratios(model, source.get("bound"), trial.problem, episode.support):
                started = time.perf_counter()
                with torch.no_grad():
                    judgement = judged_ratio(ratio, episode, 0.0 if self.bounds else self.alpha)
                took = seconds + adapting + time.perf_counter() - started
                yield Verdict(trial, role, source | tuning, judgement, took, seed)

    def _ratios(
        self, model: RatioModel, bound: float | None, problem: Problem, support: Pair
    ) -> Iterator[tuple[Parameters, AdaptedRatio, float]]:
        """Give the ratio at each setting of fine-tuning, with the seconds that it takes to have it."""
        settings, spent = self._tuning_settings(), 0.0
        if self.target_head == "adam":
            rate = self._settings(problem).training.learning_rate
            ratios = _fine_tuned(model, support, self._objective(bound), self.steps, rate)
        else:
            ratios = (self._tuned(model, tuning).adapt(support) for tuning in settings)
        for tuning in settings:
            started = time.perf_counter()
            # Steps need gradients, all else must do without; where there are steps, they continue from the last.
            with torch.set_grad_enabled(self.target_head == "adam"):
                ratio = next(ratios)
            took = time.perf_counter() - started
            spent = spent + took if self.target_head == "adam" else took
            yield tuning, ratio, spent

    # ------------------------------------------------------------ training

    def _trained(
        self, cases: Sequence[tuple[list[Trial], Parameters]], bound: float | None, problem: Problem, bench: Bench
    ) -> list[tuple[RatioModel, History, int]]:
        trials = tuple((group[0].split.number, group[0].n_support) for group, _ in cases)
        key = (self.trained_as or self.name, problem.data, bound, self.latent_dims, trials)
        if key not in bench.trained:
            bench.trained[key] = self._train(cases, bound, problem, bench)
        learned: list[tuple[RatioModel, History, int]] = bench.trained[key]
        return learned

    def _train(
        self, cases: Sequence[tuple[list[Trial], Parameters]], bound: float | None, problem: Problem, bench: Bench
    ) -> list[tuple[RatioModel, History, int]]:
        settings = self._settings(problem, n_inliers=cases[0][0][0].split.n_normals)
        longest = max((source.get("latent_dim", 0) for _, source in cases), default=0)
        seeds = [group[0].seed(self.trained_as or self.name, source.get("latent_dim", 0)) for group, source in cases]
        jobs = [
            Job(
                group[0].split.source,
                None if self.keep_aside else group[0].split.validation,
                _Build(self, group[0].split.source, source.get("latent_dim"), longest),
                clone(settings.episodes).set_params(n_support=self.sizes or group[0].n_support),
                seed,
            )
            for (group, source), seed in zip(cases, seeds, strict=True)
        ]
        parts = dealt_out(jobs, bench)
        # Loss and parts are in the settings, so no training resumes from another's checkpoint.
        identities = [json.dumps([source for _, source in part]) for part in dealt_out(cases, bench)]
        checkpoints = [
            bench.checkpoint(self.name, identity, *part)
            for identity, part in zip(identities, dealt_out(seeds, bench), strict=True)
        ]
        loss = self._training_loss(settings, bound)
        learned = put_together(
            joblib.Parallel(len(parts))(
                joblib.delayed(_train_part)(
                    part, settings, replace(bench, trained={}), loss, checkpoint, identity, len(parts)
                )
                for part, checkpoint, identity in zip(parts, checkpoints, identities, strict=True)
            )
        )
        if any(history.stopped == "interrupted" for _, history in learned):
            # The checkpoint stays, and a half-trained model is not measured as if it were done.
            raise KeyboardInterrupt
        for checkpoint in checkpoints:
            if checkpoint is not None:
                checkpoint.unlink(missing_ok=True)
        lengths = [source.get("latent_dim", 0) for _, source in cases]
        return [
            (set_latent_dim(model, length), history, seed)
            for (model, history), seed, length in zip(learned, seeds, lengths, strict=True)
        ]

    def _settings(self, problem: Problem, **changes: Any) -> Grouped:
        stopping = {"validate_every": problem.validate_every, "patience": problem.patience}
        return grouped(problem.episodes, changes | stopping | self.training)

    def _training_loss(self, settings: Grouped, bound: float | None) -> Objective:
        if bound is not None:
            return self._objective(bound)
        kind = "relational" if self.features == "relational" else "mlp"
        return squared_error(kind, self.alpha, settings.training.calibration)

    def _objective(self, bound: float | None) -> Objective:
        return RelativeSquaredError(self.alpha) if bound is None else NonNegativeLSIF(bound)

    # ------------------------------------------------------------ parts

    def build(
        self,
        source: Collection,
        latent_dim: int | None,
        n_features: int,
        generator: torch.Generator,
        scaler: Standardiser | None,
    ) -> RatioModel:
        """Put the parts together, untrained."""
        if self.features == "relational":
            made_as: dict[str, Any] = {"clip": self.clip, "latent_dim": latent_dim} | self.shape
            architecture = Architecture("relational", **made_as)
            return build("relational", architecture, self.alpha, n_features, generator, scaler)
        encoder = NoEncoder() if latent_dim is None else SetEncoder(n_features, latent_dim, generator=generator)
        features: nn.Module
        if self.features == "gaussian":
            features, n_outputs = _fixed_kernels(source, generator), N_CENTRES
        else:
            features = MLPFeatures(n_features, encoder.n_outputs, depth=self.depth, generator=generator)
            n_outputs = features.n_outputs
        return RatioModel(encoder, features, self._head(n_outputs), self.clip, scaler, self.alpha)

    def _head(self, n_outputs: int) -> nn.Module:
        if self.head == "ridge":
            return RidgeHead(self.alpha, learn_alpha=self.learn_alpha)
        shared = SharedHead(n_outputs)
        return shared if self.head == "shared" else DescentHead(shared.weights, RelativeSquaredError(self.alpha))

    def _tuned(self, model: RatioModel, tuning: Parameters) -> RatioModel:
        """Give the model with the head that the target gets."""
        if not tuning:
            return model
        tuned = copy(model)
        tuned._modules = dict(model._modules)
        head = RidgeHead(self.alpha, tuning["reg"], learn_reg=False)
        tuned.head = head.to(next(model.parameters()).device)
        return tuned


def _fine_tuned(
    model: RatioModel, support: Pair, objective: Objective, stages: Sequence[int], learning_rate: float
) -> Iterator[AdaptedRatio]:
    """Train the last layer on, for each task on its support; give the ratio after so many steps."""
    with torch.no_grad():
        before = model.adapt(support)
    # All below the last layer stays as it is, so its features are the instances. The weights are shared by the rows of
    # a task, and by no others.
    head = SharedHead(before.weights.shape[-1])
    head.weights = nn.Parameter(before.weights.clone())
    last_layer = RatioModel(NoEncoder(), _GivenFeatures(), head, model.clip)
    features = Pair.joined(before.phi[None], support.shares, support.n_nu)
    training = Episode(features, features)
    ensemble = Ensemble([last_layer], before.weights.device)
    plan = TrainingPlan(learning_rate=learning_rate)
    for _ in train_in_stages(ensemble, lambda _: training, objective, stages, plan):
        with torch.no_grad():
            # The next step changes the weights in place.
            weights = last_layer.adapt(features).weights[0].clone()
        yield replace(before, weights=weights)


class _GivenFeatures(nn.Module):
    """What is given for instances is their features."""

    def forward(self, x: Tensor, support: Pair, z: None, index: Tensor | None = None) -> Tensor:
        return x


@dataclass(frozen=True)
class _Build:
    """A model's maker that can be sent to another process."""

    method: Learned
    source: Collection
    latent_dim: int | None
    longest: int

    def __call__(self, n_features: int, generator: torch.Generator, scaler: Standardiser | None) -> RatioModel:
        model = self.method.build(self.source, self.latent_dim, n_features, generator, scaler)
        # Models whose dataset vectors differ in length are one architecture while they are trained together.
        return set_latent_dim(model, self.longest)


def _train_part(
    jobs: Sequence[Job],
    settings: Grouped,
    bench: Bench,
    objective: Objective,
    checkpoint: Path | None,
    identity: str,
    n_jobs: int,
) -> list[tuple[RatioModel, History]]:
    use_one_thread_of(n_jobs)
    return train_jobs(
        jobs,
        settings.training,
        objective,
        scale=settings.scale,
        device=bench.device,
        progress=bench.progress,
        checkpoint=checkpoint,
        identity=[identity, settings.flat()],
    )


def _fixed_kernels(source: Collection, generator: torch.Generator) -> GaussianFeatures:
    """Kernels at some source rows, as wide as these are apart."""
    rng = np.random.default_rng(generator.initial_seed())
    datasets = rng.integers(len(source), size=N_CENTRES)
    rows = np.stack([source[int(number)].X[rng.integers(len(source[int(number)].X))] for number in datasets])
    centres = torch.tensor(rows, dtype=torch.float32)
    return GaussianFeatures(median_distance(centres).item(), centres)
