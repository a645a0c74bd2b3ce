"""The networks of a meta-learned estimator, and their training."""

import os
from collections.abc import Sequence
from functools import cache, partial
from itertools import accumulate, pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.base import clone

from fewratio.core.draws import seed_for
from fewratio.core.shapes import Floats
from fewratio.data.collection import Collection
from fewratio.estimators.networks import nn
from fewratio.estimators.networks.deviations import draw_trials, measure_network
from fewratio.estimators.networks.optim import History
from fewratio.estimators.networks.pretraining import Job, squared_error, train_jobs
from fewratio.estimators.networks.settings import KINDS, Architecture, Training, as_architecture
from fewratio.estimators.networks.universal import universal_start
from fewratio.estimators.source_columns import SourceColumns

UNIVERSAL = "universal"
# Pretrained networks need smaller steps.
_FINE_TUNING = 0.1


class Network(NamedTuple):
    """A trained network: its kind, model and training history, and the angles of its intervals if it has any."""

    kind: str
    model: nn.RatioModel
    history: History
    angles: Floats | None = None

    def summary(self) -> str:
        """Summarise the training in a line."""
        history = self.history
        steps = history.step[-1] if history.step else 0
        return (
            f"{self.kind}: {steps} steps in {history.seconds:.0f} s; best validation at step {history.best_step} "
            f"(loss {history.best_validation:.4g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return kind, number of features, history and angles as plain values."""
        found = {"kind": self.kind, "width": self.model.features.n_outputs, "history": self.history.to_dict()}
        return found | {"angles": None if self.angles is None else self.angles.tolist()}


class Trained(NamedTuple):
    """The result of a training, and the content of a model file.

    Attributes
    ----------
    parameters : dict
        The parameters of the estimator at the time of the training.
    networks : list of Network
        The networks.
    columns : SourceColumns
        The columns of the sources.
    """

    parameters: dict[str, Any]
    networks: list[Network]
    columns: SourceColumns


def number_networks(architecture: Architecture, init: str) -> dict[str, range]:
    """Return the kinds of networks to train, and the numbers of the networks of each kind."""
    counts = dict.fromkeys(KINDS[architecture.features], architecture.n_networks)
    counts = {UNIVERSAL: 1} if init == UNIVERSAL else counts
    ends = [*accumulate(counts.values(), initial=0)]
    return {kind: range(*span) for kind, span in zip(counts, pairwise(ends), strict=True)}


def train_networks(
    parameters: Sequence[dict[str, Any]],
    collections: Sequence[Collection],
    validations: Sequence[Collection | None],
    checkpoint: str | os.PathLike[str] | None,
) -> list[list[Network]]:
    """Train the networks of several estimators, those of a kind together; an interruption leaves out later kinds.

    Parameters
    ----------
    parameters : sequence of dict
        The parameters of each estimator. They differ in ``random_state`` and in the sizes of the samples at most.
    collections, validations, checkpoint
        As in `pretrain_together`.

    Returns
    -------
    list of list of Network
        The networks of each estimator.
    """
    first, architecture = parameters[0], as_architecture(parameters[0]["network"])
    kinds = number_networks(architecture, first["init"])
    alpha = float(first["alpha"])
    networks: list[list[Network]] = [[] for _ in parameters]
    # Trials are the same for several networks if `validation` is given.
    find_trials = cache(partial(draw_trials, alpha=alpha))
    for kind, numbers in kinds.items():
        training: Training = clone(first["training"])
        if kind == UNIVERSAL:
            training.learning_rate = _FINE_TUNING * training.learning_rate
        jobs = [
            Job(
                collection,
                validation,
                partial(build, kind, architecture, alpha),
                each["episodes"],
                _seed(each["random_state"], number),
            )
            for each, collection, validation in zip(parameters, collections, validations, strict=True)
            for number in numbers
        ]
        learned = train_jobs(
            jobs,
            training,
            squared_error(kind, alpha, float(training.calibration)),
            scale=first["scale"],
            device=first["device"],
            progress=first["progress"],
            checkpoint=checkpoint if checkpoint is None or len(kinds) == 1 else f"{os.fspath(checkpoint)}.{kind}",
            # A training may be resumed with other max_steps, elsewhere; the seeds are compared on their own.
            identity=[kind, *map(_identity, parameters)],
        )
        for place, (model, history, datasets) in enumerate(learned):
            is_sure = alpha > 0 and not first["episodes"].paired and np.isfinite(history.best_validation)
            # After an interruption there may be no time for trials.
            is_sure &= history.stopped != "interrupted"
            angles = measure_network(model, find_trials(*datasets), alpha) if is_sure else None
            networks[place // len(numbers)].append(Network(kind, model, history, angles))
        if any(history.stopped == "interrupted" for _, history, _ in learned):
            break
    return networks


def join_networks(models: Sequence[nn.RatioModel]) -> nn.RatioModel | nn.RatioCommittee:
    """Join trained networks to a committee; return a single network unchanged."""
    return models[0] if len(models) == 1 else nn.RatioCommittee(models)


def build(
    kind: str,
    architecture: Architecture,
    alpha: float,
    n_features: int,
    generator: torch.Generator | None,
    scaler: nn.Standardiser | None,
) -> nn.RatioModel:
    """Build an untrained network.

    Parameters
    ----------
    kind : {"mlp", "relational", "universal"}
        Kind of the network; "universal" has the architecture of the network in the package.
    architecture : Architecture
        Sizes and forms.
    alpha : float
        Relative parameter.
    n_features : int
        Number of columns of an instance.
    generator : torch.Generator, optional
        Draws the initial weights.
    scaler : Standardiser, optional
        Applied to every instance first.
    """
    if kind == UNIVERSAL:
        return universal_start(alpha, scaler)
    width, latent_dim, learn_alpha = architecture.width, architecture.latent_dim, architecture.learn_alpha
    encoder: torch.nn.Module
    features: torch.nn.Module
    first: torch.nn.Module | None = scaler
    if kind == "relational":
        n_learned = 0 if architecture.space == "raw" else width
        space = nn.Space(n_features, architecture.space != "learned", n_learned, width, generator)
        encoder = nn.RelationalEncoder(space.blocks, latent_dim, width, absolute=True, generator=generator)
        features = nn.RelationalFeatures(space.blocks, latent_dim, width, architecture.n_outputs, latent_dim, generator)
        head = nn.RidgeHead(alpha, learn_alpha=learn_alpha, n_latent=latent_dim)
        first = space if scaler is None else torch.nn.Sequential(scaler, space)
    elif kind == "mlp":
        encoder = nn.SetEncoder(n_features, latent_dim, width, pooling=architecture.pooling, generator=generator)
        features = nn.MLPFeatures(
            n_features, encoder.n_outputs, width, architecture.depth, architecture.n_outputs, generator
        )
        head = nn.RidgeHead(alpha, learn_alpha=learn_alpha)
    else:
        raise ValueError(f"a network of the kind {kind!r} is not known here")
    return nn.RatioModel(encoder, features, head, architecture.clip, first, alpha)


def _identity(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that a training must share with the one that it resumes."""
    kept = {name: parameters[name] for name in ("alpha", "init", "scale")}
    training = clone(parameters["training"]).set_params(max_steps=1)
    groups = parameters["episodes"], as_architecture(parameters["network"]), training
    return kept | {type(group).__name__: group.get_params() for group in groups}


def _seed(random_state: int | np.random.Generator | None, number: int) -> int | np.random.Generator | None:
    """Return a different seed for each network after the first; a generator draws different numbers anyway."""
    if number and isinstance(random_state, Integral):
        return seed_for("network", number, int(random_state))
    return random_state
