"""Pretraining of estimators, one or several at once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fewratio.core.objectives import RelativeSquaredError
from fewratio.data.collection import Collection
from fewratio.data.columns import listed
from fewratio.data.episodes import SupportSize
from fewratio.errors import ParameterError, TrainingError
from fewratio.estimators.learning import Lesson, learn_together, names_of

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
        They may differ in ``random_state``, ``n_support``, ``n_support_de`` and ``latent_dim`` only.
    collections : sequence of Collection
        The sources of each.
    validations : sequence of Collection or None
        The validation datasets of each.
    checkpoint : path, optional
        As in `MetaRatioEstimator.pretrain`.
    """
    if not estimators or not len(estimators) == len(collections) == len(validations):
        raise ParameterError(
            f"Got {len(estimators)} estimators, {len(collections)} collections and {len(validations)} validations; "
            "each estimator needs one of both (None for no validation). Pass lists of equal lengths."
        )
    first = estimators[0]
    for estimator in estimators:
        estimator._check_parameters()
        if _settings(estimator, _FREE_TOGETHER) != _settings(first, _FREE_TOGETHER):
            raise ParameterError(
                f"Estimators that are trained together have different settings; only {listed(_FREE_TOGETHER)} may "
                "differ. Train them in groups of equal settings."
            )
    lessons = [
        Lesson(collection, validation, estimator.build_model, _support_sizes(estimator), estimator.random_state)
        for estimator, collection, validation in zip(estimators, collections, validations, strict=True)
    ]
    identity = [_settings(estimator, _FREE_LATER) for estimator in estimators]
    objective = RelativeSquaredError(float(first.alpha))
    learned = learn_together(lessons, first, objective, checkpoint=checkpoint, identity=identity)
    if learned[0][1].stopped == "interrupted":
        history = learned[0][1]
        warnings.warn(
            f"Training was interrupted at step {history.step[-1]} of {first.max_steps}; the best model so far, of "
            f"step {history.best_step}, is kept.",
            RuntimeWarning,
            stacklevel=3,
        )
    astray = []
    for estimator, collection, (model, history) in zip(estimators, collections, learned, strict=True):
        if np.isfinite(history.best_validation):
            estimator._set_model(model, history, collection.n_features, names_of(collection), collection.encoding)
        else:
            astray.append(collection.name)
    if astray:
        raise TrainingError(
            f"The validation loss was never finite with {listed(astray)}, so there is no model to keep. Use "
            "standardise=True if the columns are of very different sizes, or a smaller learning_rate."
        )


def _settings(estimator: MetaRatioEstimator, free: Sequence[str]) -> dict[str, object]:
    return {name: value for name, value in estimator.get_params(deep=False).items() if name not in free}


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
