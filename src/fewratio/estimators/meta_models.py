"""Which parts a meta-learned estimator is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from fewratio.nn import (
    MLPFeatures,
    RatioModel,
    RelationalEncoder,
    RelationalFeatures,
    RidgeHead,
    SetEncoder,
    Space,
    Standardiser,
)

if TYPE_CHECKING:
    from fewratio.estimators.meta import MetaRatioEstimator


def build(
    estimator: MetaRatioEstimator,
    n_features: int,
    generator: torch.Generator | None,
    scaler: Standardiser | None,
) -> RatioModel:
    """Put the parts together as the estimator's parameters say, untrained.

    Parameters
    ----------
    estimator : MetaRatioEstimator
        Whose parameters count.
    n_features : int
        Number of columns of an instance.
    generator : torch.Generator, optional
        Where the start is drawn from.
    scaler : Standardiser, optional
        Applied to every instance first.
    """
    if estimator.features == "relational":
        return _of_distances(estimator, n_features, generator, scaler)
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
