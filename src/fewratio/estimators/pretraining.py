"""Pretraining of estimators, one or several at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fewratio.core.objectives import CalibratedSquaredError, Objective, RelativeSquaredError
from fewratio.data.collection import Collection
from fewratio.data.episodes import SupportSize
from fewratio.errors import ParameterError
from fewratio.estimators.learning import Lesson, learn_together
from fewratio.estimators.networks import Network, network_kinds, trained_alone
from fewratio.estimators.sources import (
    check_none_astray,
    check_together,
    feature_names,
    settings,
    warn_if_interrupted,
    warn_if_missing,
)
from fewratio.nn import RatioModel
from fewratio.optim import History

if TYPE_CHECKING:
    from fewratio.estimators.meta import MetaRatioEstimator

# The paper's size of the unlabelled support while training on inlier episodes.
UNLABELLED_SUPPORT = 100
# What may differ between models that are trained together.
_FREE_TOGETHER = ("random_state", "n_support", "n_support_de", "latent_dim")
# What may differ between a checkpoint and what goes on from it; the seeds are compared on their own.
_FREE_LATER = ("random_state", "max_steps", "device", "progress")


def pretrain_together(
    estimators: Sequence[MetaRatioEstimator],
    collections: Sequence[Collection],
    validations: Sequence[Collection | None],
    *,
    checkpoint: str | os.PathLike[str] | None = None,
) -> None:
    """Train several estimators of the same settings as one batched program, each on its own sources.

    Much faster than one by one, and with the same result up to rounding.

    Parameters
    ----------
    estimators : sequence of MetaRatioEstimator
        They may differ in ``random_state``, ``n_support``, ``n_support_de`` and (but for relational features)
        ``latent_dim`` only.
    collections : sequence of Collection
        The sources of each.
    validations : sequence of Collection or None
        The validation datasets of each.
    checkpoint : path, optional
        As in `MetaRatioEstimator.pretrain`.
    """
    check_together(estimators, collections, validations, _FREE_TOGETHER)
    lengths = sorted({estimator.latent_dim for estimator in estimators})
    if estimators[0].features != "mlp" and len(lengths) > 1:
        raise ParameterError(
            f"latent_dim is {lengths} for models of relational features that are to be trained together; one number is "
            "needed. Train them in groups of equal latent_dim."
        )
    kinds = network_kinds(estimators[0], len(collections[0]))
    if any(network_kinds(estimators[0], len(collection)) != kinds for collection in collections):
        raise ParameterError(
            f'The collections have {sorted(map(len, collections))} datasets, which init="universal" makes different '
            "networks of. Train them in groups of about equally many."
        )
    networks: list[list[Network]] = [[] for _ in estimators]
    interrupted: list[History] = []
    for kind, numbers in kinds.items():
        alone = [[trained_alone(estimator, kind, number) for number in numbers] for estimator in estimators]
        path = checkpoint if checkpoint is None or len(kinds) == 1 else f"{os.fspath(checkpoint)}.{kind}"
        learned = _train_each(alone, collections, validations, path)
        for place, (model, history) in enumerate(learned):
            networks[place // len(numbers)].append(Network(kind, model, history))
        interrupted = [history for _, history in learned if history.stopped == "interrupted"]
        if interrupted:
            break
    astray = []
    for estimator, collection, own in zip(estimators, collections, networks, strict=True):
        # A network that has come to nothing is no reason to lose the others.
        kept = [network for network in own if np.isfinite(network.history.best_validation)]
        if kept:
            estimator._set_networks(kept, collection.n_features, feature_names(collection), collection.encoding)
        else:
            astray.append(collection.name)
    check_none_astray(astray)
    for history in interrupted[:1]:
        warn_if_interrupted(history, estimators[0].max_steps)
    warn_if_missing([network.kind for network in estimators[0].networks_], sum(map(len, kinds.values())))


def _train_each(
    estimators: Sequence[Sequence[MetaRatioEstimator]],
    collections: Sequence[Collection],
    validations: Sequence[Collection | None],
    checkpoint: str | os.PathLike[str] | None,
) -> list[tuple[RatioModel, History]]:
    """Train estimators of one network each, several on every collection."""
    lessons = [
        Lesson(collection, validation, estimator.build_model, _support_sizes(estimator), estimator.random_state)
        for of_one, collection, validation in zip(estimators, collections, validations, strict=True)
        for estimator in of_one
    ]
    identity = [settings(estimator, _FREE_LATER) for of_one in estimators for estimator in of_one]
    first = estimators[0][0]
    return learn_together(lessons, first, squared_error(first), checkpoint=checkpoint, identity=identity)


def squared_error(estimator: MetaRatioEstimator) -> Objective:
    """Give the loss that an estimator of one network is trained with."""
    if estimator.features == "relational" and estimator.calibration:
        return CalibratedSquaredError(float(estimator.alpha), float(estimator.calibration))
    return RelativeSquaredError(float(estimator.alpha))


def _support_sizes(estimator: MetaRatioEstimator) -> tuple[SupportSize, SupportSize]:
    nu = _support_size(estimator.n_support, "n_support")
    if estimator.n_support_de is not None:
        return nu, _support_size(estimator.n_support_de, "n_support_de")
    return nu, nu if estimator.episodes == "pairs" else SupportSize(UNLABELLED_SUPPORT, UNLABELLED_SUPPORT)


def _support_size(value: int | Sequence[int], name: str) -> SupportSize:
    sizes = (value, value) if isinstance(value, int | np.integer) else tuple(value)
    valid = len(sizes) == 2 and all(isinstance(size, int | np.integer) for size in sizes)
    if not valid or not 1 <= sizes[0] <= sizes[1]:
        raise ParameterError(
            f"{name} is {value}; a number of at least 1, or a range (low, high) of such, is needed. Choose such sizes."
        )
    return SupportSize(*(int(size) for size in sizes))
