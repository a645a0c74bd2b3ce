"""Which networks a meta-learned estimator is made of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from sklearn.base import clone
from torch import nn

from fewratio.data.seeds import seed_for
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

if TYPE_CHECKING:
    from fewratio.estimators.meta import MetaRatioEstimator

# Networks that an estimator with these features consists of.
KINDS = {"both": ("mlp", "relational"), "mlp": ("mlp",), "relational": ("relational",)}
UNIVERSAL = "universal"
# How many source datasets make networks that start from nothing worth having beside the universal one, and how many
# make it needless (`benchmarks/sources.py`).
SOME_SOURCES, MANY_SOURCES = 20, 40
# What is already good needs smaller steps.
_FINE_TUNING = 0.1


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
            f"{self.kind}: {steps} steps in {history.seconds:.0f} s; best look at step {history.best_step} "
            f"(validation loss {history.best_validation:.4g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give kind, number of features and history as plain values."""
        return {"kind": self.kind, "width": self.model.features.n_outputs, "history": self.history.to_dict()}


def network_kinds(estimator: MetaRatioEstimator, n_sources: int) -> dict[str, range]:
    """Say which kinds of networks to train on so many datasets, and the numbers of those of each kind."""
    counts = dict.fromkeys(KINDS[estimator.features], estimator.n_networks)
    if estimator.init == UNIVERSAL and n_sources < MANY_SOURCES:
        counts = {UNIVERSAL: 1} | (counts if n_sources >= SOME_SOURCES else {})
    ends = [*accumulate(counts.values(), initial=0)]
    return {kind: range(*span) for kind, span in zip(counts, pairwise(ends), strict=True)}


def trained_alone(estimator: MetaRatioEstimator, kind: str, number: int) -> MetaRatioEstimator:
    """Give an estimator that consists of one of the networks, to be trained like any other."""
    alone: MetaRatioEstimator = clone(estimator)
    alone.set_params(n_networks=1, features="relational" if kind == UNIVERSAL else kind)
    if kind == UNIVERSAL:
        alone.set_params(learning_rate=_FINE_TUNING * estimator.learning_rate)
    else:
        alone.set_params(init="random")
    given = estimator.random_state
    # A generator goes on by itself, but its clone would not; of a number each network after the first gets another.
    alone.random_state = seed_for("network", number, int(given)) if number and isinstance(given, Integral) else given
    return alone


def assembled(models: Sequence[RatioModel]) -> RatioModel | RatioCommittee:
    """Put trained networks together; one alone stays what it is."""
    return models[0] if len(models) == 1 else RatioCommittee(models)


def build(
    estimator: MetaRatioEstimator,
    kind: str,
    n_features: int,
    generator: torch.Generator | None,
    scaler: Standardiser | None,
) -> RatioModel:
    """Put the parts of a network together as the estimator's parameters say, untrained.

    Parameters
    ----------
    estimator : MetaRatioEstimator
        Whose parameters count.
    kind : {"mlp", "relational", "universal"}
        Which network; the universal one is as it comes with the package.
    n_features : int
        Number of columns of an instance.
    generator : torch.Generator, optional
        Where the start is drawn from.
    scaler : Standardiser, optional
        Applied to every instance first.
    """
    if kind == UNIVERSAL:
        return universal_start(float(estimator.alpha), scaler)
    if kind == "relational":
        return _of_distances(estimator, n_features, generator, scaler)
    if kind != "mlp":
        raise ValueError(f"it holds a network of the kind {kind!r}, which is not known here")
    width = estimator.width
    encoder = SetEncoder(n_features, estimator.latent_dim, width, pooling=estimator.pooling, generator=generator)
    features = MLPFeatures(n_features, encoder.n_outputs, width, estimator.depth, estimator.n_outputs, generator)
    head = RidgeHead(float(estimator.alpha), learn_alpha=estimator.learn_alpha)
    return RatioModel(encoder, features, head, estimator.clip, scaler, float(estimator.alpha))


def _of_distances(
    estimator: MetaRatioEstimator,
    n_features: int,
    generator: torch.Generator | None,
    scaler: Standardiser | None,
) -> RatioModel:
    width, latent_dim = estimator.width, estimator.latent_dim
    n_learned = 0 if estimator.space == "raw" else width
    space = Space(n_features, estimator.space != "learned", n_learned, width, generator)
    encoder = RelationalEncoder(space.blocks, latent_dim, width, absolute=True, generator=generator)
    features = RelationalFeatures(space.blocks, latent_dim, width, estimator.n_outputs, latent_dim, generator)
    head = RidgeHead(float(estimator.alpha), learn_alpha=estimator.learn_alpha, n_latent=latent_dim)
    first = space if scaler is None else nn.Sequential(scaler, space)
    return RatioModel(encoder, features, head, estimator.clip, first, float(estimator.alpha))
