"""Which networks a meta-learned estimator is made of."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import torch
from torch import nn

from fewratio.data.encoding import Encoding
from fewratio.estimators.settings import KINDS, Architecture
from fewratio.estimators.universal import universal_start
from fewratio.nn import (
    MLPFeatures,
    RatioCommittee,
    RatioModel,
    RelationalEncoder,
    RelationalFeatures,
    RidgeHead,
    SetEncoder,
    Space,
    Standardiser,
)
from fewratio.optim import History

UNIVERSAL = "universal"
# How many source datasets make networks that start from nothing worth having beside the universal one, and how many
# make it needless (`benchmarks/sources.py`).
SOME_SOURCES, MANY_SOURCES = 20, 40


class Network(NamedTuple):
    """A trained network: its kind, itself, and how the training went."""

    kind: str
    model: RatioModel
    history: History

    def summary(self) -> str:
        """Say in a line how the training went."""
        history = self.history
        steps = history.step[-1] if history.step else 0
        return (
            f"{self.kind}: {steps} steps in {history.seconds:.0f} s; best validation at step {history.best_step} "
            f"(loss {history.best_validation:.4g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give kind, number of features and history as plain values."""
        return {"kind": self.kind, "width": self.model.features.n_outputs, "history": self.history.to_dict()}


class Trained(NamedTuple):
    """What a training gives, and what a model file holds.

    Attributes
    ----------
    parameters : dict
        The estimator's parameters at the time of the training.
    networks : list of Network
        The networks.
    n_features, feature_names
        Of the sources.
    encoding : Encoding or None
        Of the sources' categories and missing values.
    """

    parameters: dict[str, Any]
    networks: list[Network]
    n_features: int
    feature_names: tuple[str, ...] | None
    encoding: Encoding | None


def network_kinds(architecture: Architecture, init: str, n_sources: int) -> dict[str, range]:
    """Say which kinds of networks to train on so many datasets, and the numbers of those of each kind."""
    counts = dict.fromkeys(KINDS[architecture.features], architecture.n_networks)
    if init == UNIVERSAL and n_sources < MANY_SOURCES:
        counts = {UNIVERSAL: 1} | (counts if n_sources >= SOME_SOURCES else {})
    ends = [*accumulate(counts.values(), initial=0)]
    return {kind: range(*span) for kind, span in zip(counts, pairwise(ends), strict=True)}


def assembled(models: Sequence[RatioModel]) -> RatioModel | RatioCommittee:
    """Put trained networks together; one alone stays what it is."""
    return models[0] if len(models) == 1 else RatioCommittee(models)


def build(
    kind: str,
    architecture: Architecture,
    alpha: float,
    n_features: int,
    generator: torch.Generator | None,
    scaler: Standardiser | None,
) -> RatioModel:
    """Put the parts of a network together, untrained.

    Parameters
    ----------
    kind : {"mlp", "relational", "universal"}
        Which network; the universal one is as it comes with the package.
    architecture : Architecture
        Sizes and forms.
    alpha : float
        Relative parameter.
    n_features : int
        Number of columns of an instance.
    generator : torch.Generator, optional
        Where the start is drawn from.
    scaler : Standardiser, optional
        Applied to every instance first.
    """
    if kind == UNIVERSAL:
        return universal_start(alpha, scaler)
    width, latent_dim, learn_alpha = architecture.width, architecture.latent_dim, architecture.learn_alpha
    encoder: nn.Module
    features: nn.Module
    first: nn.Module | None = scaler
    if kind == "relational":
        n_learned = 0 if architecture.space == "raw" else width
        space = Space(n_features, architecture.space != "learned", n_learned, width, generator)
        encoder = RelationalEncoder(space.blocks, latent_dim, width, absolute=True, generator=generator)
        features = RelationalFeatures(space.blocks, latent_dim, width, architecture.n_outputs, latent_dim, generator)
        head = RidgeHead(alpha, learn_alpha=learn_alpha, n_latent=latent_dim)
        first = space if scaler is None else nn.Sequential(scaler, space)
    elif kind == "mlp":
        encoder = SetEncoder(n_features, latent_dim, width, pooling=architecture.pooling, generator=generator)
        features = MLPFeatures(
            n_features, encoder.n_outputs, width, architecture.depth, architecture.n_outputs, generator
        )
        head = RidgeHead(alpha, learn_alpha=learn_alpha)
    else:
        raise ValueError(f"a network of the kind {kind!r} is not known here")
    return RatioModel(encoder, features, head, architecture.clip, first, alpha)
