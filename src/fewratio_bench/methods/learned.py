"""Methods that learn from the sources: Ours, its ablations, and what is fine-tuned on the target."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor, nn

from fewratio.core.kernels import median_distance
from fewratio.core.objectives import NonNegativeLSIF, Objective, RelativeSquaredError
from fewratio.data.collection import Collection
from fewratio.estimators import MetaRatioEstimator
from fewratio.estimators.networks.members import build
from fewratio.estimators.networks.nn import (
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
from fewratio.estimators.networks.optim import Ensemble, History, train_in_stages
from fewratio.estimators.networks.pair import Episode, Pair
from fewratio.estimators.networks.pretraining import Job, squared_error, train_jobs
from fewratio.estimators.networks.settings import Architecture
from fewratio_bench.evaluate import judge_ratio
from fewratio_bench.methods.base import QUICKER, REGS, STEPS, Bench, Method, Parameters, Verdict, by_split, quick_steps
from fewratio_bench.methods.flat_settings import flat_settings, make_estimator
from fewratio_bench.methods.parts import DescentHead, set_latent_dim
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

# A model, how its training went, and its seed.
Learnt = tuple[RatioModel, History, int]


class Case(NamedTuple):
    """What a model is trained for: the trials that it is to judge, and its setting; and the seed of its training."""

    trials: list[Trial]
    source: Parameters
    seed: int


@dataclass(frozen=True)
class Learned(Method):
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

    def quick(self) -> Self:
        """Return the same with few lengths of vectors, one bound and a much shorter training."""
        shorter = QUICKER if self.training["tasks_per_step"] > 1 else 10
        training = self.training | {"max_steps": self.training["max_steps"] // shorter, "validate_every": 100}
        return replace(
            self, latent_dims=self.quick_dims, bounds=self.bounds[:1], steps=quick_steps(self.steps), training=training
        )

    def settings(self, problem: Problem) -> list[Parameters]:
        """Return one setting for each length of vectors, bound, and way of fine-tuning."""
        return [source | tuning for source, tuning in product(self._source_settings(problem), self._tuning_settings())]

    def _source_settings(self, problem: Problem) -> list[Parameters]:
        settings = flat_settings(self._estimator(problem))
        common: Parameters = {name: getattr(self, name) for name in ("encoder", "features", "head", "alpha", "clip")}
        common |= self.shape | ({"keep_aside": True} if self.keep_aside else {})
        common |= {"depth": self.depth, "learn_alpha": self.learn_alpha, "n_support": self.sizes}
        names = ["tasks_per_step", "averaging", "validate_every", "max_steps", "patience", "standardise"]
        if self.features == "relational":
            names += ["n_query", "weight_decay", "calibration"]
        common |= {name: settings[name] for name in names}
        dims = [{"latent_dim": dim} for dim in self.latent_dims] if self.encoder == "set" else [{}]
        bounds = [{"bound": bound} for bound in self.bounds] or [{}]
        return [common | dim | bound for dim, bound in product(dims, bounds)]

    def _tuning_settings(self) -> list[Parameters]:
        if self.target_head == "same":
            return [{}]
        if self.target_head == "ridge":
            return [{"target_head": "ridge", "reg": reg} for reg in self.regs]
        return [{"target_head": "adam", "n_steps": n_steps} for n_steps in self.steps]

    def judge(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Verdict]:
        """Train a model for every trial (or split) and setting, and judge with it."""
        groups = by_split(trials) if self.sizes is not None else [[trial] for trial in trials]
        name = self.trained_as or self.name
        cases = [
            Case(group, source, group[0].seed(name, source.get("latent_dim", 0)))
            for group in groups
            for source in self._source_settings(trials[0].problem)
        ]
        # Bounds are part of the loss, which an ensemble has in common.
        for bound in self.bounds or (None,):
            alike = [case for case in cases if case.source.get("bound") == bound]
            for case, (model, history, seed) in zip(alike, self._find_trained(alike, bench), strict=True):
                for trial in case.trials:
                    seconds = history.seconds / len(alike) / len(case.trials)
                    yield from self._judge_trial(trial, case.source, model.to(trial.device), seconds, seed)

    def _judge_trial(
        self, trial: Trial, source: Parameters, model: RatioModel, seconds: float, seed: int
    ) -> Iterator[Verdict]:
        for role, evaluation in trial.evaluations.items():
            episode, adapting, started = evaluation.episode, 0.0, time.perf_counter()
            ratios = self._ratios(model, source, trial.problem, episode.support)
            for tuning, ratio in zip(self._tuning_settings(), ratios, strict=True):
                # Steps continue from the last.
                adapting = time.perf_counter() - started + (adapting if self.target_head == "adam" else 0.0)
                started = time.perf_counter()
                with torch.no_grad():
                    judgement = judge_ratio(ratio, episode, 0.0 if self.bounds else self.alpha)
                took = seconds + adapting + time.perf_counter() - started
                yield Verdict(trial, role, source | tuning, judgement, took, seed)
                started = time.perf_counter()

    def _ratios(self, model: RatioModel, source: Parameters, problem: Problem, support: Pair) -> Iterator[AdaptedRatio]:
        """Return the ratio at each setting of fine-tuning."""
        if self.target_head != "adam":
            return (self._tune(model, tuning, support) for tuning in self._tuning_settings())
        rate = self._estimator(problem).training.learning_rate
        return _fine_tune(model, support, self._objective(source), self.steps, rate)

    # ------------------------------------------------------------ training

    def _find_trained(self, cases: Sequence[Case], bench: Bench) -> list[Learnt]:
        """Train for cases, unless a method that differs on the target only has done so."""
        sources, seeds = [case.source for case in cases], [case.seed for case in cases]
        key = (sources[0].get("bound"), *seeds)
        if key not in bench.trained:
            longest = max(source.get("latent_dim", 0) for source in sources)
            train = partial(self._train, longest, replace(bench, trained={}))
            # Loss and parts are in the settings, so no training resumes from another's checkpoint.
            training: tuple[str | int, ...] = self.name, json.dumps(sources), *seeds
            bench.trained[key] = bench.train(train, cases, lambda each: each[1].stopped != "interrupted", *training)
        return bench.trained[key]

    def _train(self, longest: int, bench: Bench, cases: Sequence[Case], checkpoint: Path | None) -> list[Learnt]:
        """Train for some cases as one ensemble."""
        (first, *_), source, _ = cases[0]
        estimator = self._estimator(first.problem, n_inliers=first.split.n_normals)
        jobs = [
            Job(
                trial.split.source,
                None if self.keep_aside else trial.split.validation,
                partial(self._build, longest, trial.split.source, source.get("latent_dim")),
                clone(estimator.episodes).set_params(n_support=self.sizes or trial.n_support),
                seed,
            )
            for (trial, *_), source, seed in cases
        ]
        loss = self._objective(source)
        if self.features == "relational":
            loss = squared_error(self.features, self.alpha, estimator.training.calibration)
        learned = train_jobs(
            jobs,
            estimator.training,
            loss,
            scale=estimator.scale,
            device=bench.device,
            progress=bench.progress,
            checkpoint=checkpoint,
            identity=[[case.source for case in cases], flat_settings(estimator)],
        )
        return [
            (set_latent_dim(model, case.source.get("latent_dim", 0)), history, case.seed)
            for case, (model, history, _) in zip(cases, learned, strict=True)
        ]

    def _estimator(self, problem: Problem, **changes: Any) -> MetaRatioEstimator:
        """Return the estimator of the library whose settings of training these are."""
        stopping = {"validate_every": problem.validate_every, "patience": problem.patience}
        return make_estimator(**({"episodes": problem.episodes} | changes | stopping | self.training))

    def _objective(self, source: Parameters) -> Objective:
        return NonNegativeLSIF(source["bound"]) if "bound" in source else RelativeSquaredError(self.alpha)

    # ------------------------------------------------------------ parts

    def _build(
        self,
        longest: int,
        source: Collection,
        latent_dim: int | None,
        n_features: int,
        generator: torch.Generator,
        scaler: Standardiser | None,
    ) -> RatioModel:
        """Put the parts together, untrained; models whose dataset vectors differ in length are one architecture."""
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
        model = RatioModel(encoder, features, self._head(n_outputs), self.clip, scaler, self.alpha)
        return set_latent_dim(model, longest)

    def _head(self, n_outputs: int) -> nn.Module:
        if self.head == "ridge":
            return RidgeHead(self.alpha, learn_alpha=self.learn_alpha)
        shared = SharedHead(n_outputs)
        return shared if self.head == "shared" else DescentHead(shared.weights, RelativeSquaredError(self.alpha))

    @torch.no_grad()
    def _tune(self, model: RatioModel, tuning: Parameters, support: Pair) -> AdaptedRatio:
        """Adapt the model to the target, with the head that the target gets."""
        if tuning:
            head = RidgeHead(self.alpha, tuning["reg"], learn_reg=False).to(support.rows.device)
            model = RatioModel(model.encoder, model.features, head, model.clip, model.scaler, model.alpha)
        return model.adapt(support)


def _fine_tune(
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
    features = Pair.from_joined(before.phi[None], support.shares, support.n_nu)
    training = Episode(features, features)
    ensemble = Ensemble([last_layer], before.weights.device)
    for _ in train_in_stages(ensemble, lambda _: training, objective, stages, learning_rate):
        with torch.no_grad():
            # The next step changes the weights in place.
            weights = last_layer.adapt(features).weights[0].clone()
        yield replace(before, weights=weights)


class _GivenFeatures(nn.Module):
    """What is given for instances is their features."""

    def forward(self, x: Tensor, support: Pair, z: None, index: Tensor | None = None) -> Tensor:
        return x


def _fixed_kernels(source: Collection, generator: torch.Generator) -> GaussianFeatures:
    """Kernels at some source rows, as wide as these are apart."""
    rng = np.random.default_rng(generator.initial_seed())
    datasets = rng.integers(len(source), size=N_CENTRES)
    rows = np.stack([source[int(number)].X[rng.integers(len(source[int(number)].X))] for number in datasets])
    centres = torch.tensor(rows, dtype=torch.float32)
    return GaussianFeatures(median_distance(centres).item(), centres)
