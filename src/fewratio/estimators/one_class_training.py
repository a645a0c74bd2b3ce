"""Training one-class networks: many at once, on source datasets or on the normal rows of targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from fewratio.core.objectives import NumeratorMean
from fewratio.core.pair import Episode
from fewratio.data.collection import Collection
from fewratio.data.columns import counted
from fewratio.data.normals import NormalBatches, NormalBlocks, normal_parts, pooled_numbers
from fewratio.errors import ParameterError, TrainingError
from fewratio.estimators.devices import resolve_device
from fewratio.estimators.sources import (
    check_none_astray,
    check_together,
    divide,
    draw_seeds,
    row_table,
    standardiser,
    warn_if_interrupted,
)
from fewratio.nn import OneClassNetwork
from fewratio.optim import Ensemble, TrainingPlan, train, train_in_stages

if TYPE_CHECKING:
    from fewratio.estimators.one_class import OneClassEstimator

# What may differ between models that are trained together.
_FREE_TOGETHER = ("random_state", "train_on", "n_steps")
_ADVICE = "Use standardise=True if the columns are of very different sizes, or a smaller learning_rate."
# Rows that are enough to see whether a network still tells rows apart.
_PROBES = 1000


def pretrain_one_class(
    estimators: Sequence[OneClassEstimator],
    collections: Sequence[Collection],
    validations: Sequence[Collection | None],
) -> None:
    """Train several one-class estimators of the same settings as one batched program, each on its own sources.

    Parameters
    ----------
    estimators : sequence of OneClassEstimator
        They may differ in ``random_state``, and in what is done with targets later (``train_on``, ``n_steps``).
    collections : sequence of Collection
        The sources of each.
    validations : sequence of Collection or None
        The validation datasets of each.
    """
    check_together(estimators, collections, validations, _FREE_TOGETHER)
    if any(estimator.train_on == "target" for estimator in estimators):
        raise ParameterError(
            'train_on is "target", so nothing is learned from sources. Call fit(X_normal) without pretraining, or use '
            'train_on="sources" or "sources then target".'
        )
    first = estimators[0]
    seeds = [draw_seeds(estimator.random_state) for estimator in estimators]
    divided = [
        divide(collection, validation, seed.held_out, pairs=False)
        for collection, validation, seed in zip(collections, validations, seeds, strict=True)
    ]
    device = resolve_device(first.device)
    parts = normal_parts([part for pair in divided for part in pair])
    sources, looks = parts[::2], parts[1::2]
    models = [
        estimator.build_model(source.n_features, seed.start, standardiser(source) if first.standardise else None)
        for estimator, source, seed in zip(estimators, sources, seeds, strict=True)
    ]
    table = row_table(parts, device, models[0].row_dtype)
    pools, look_pools = ([pooled_numbers(part, table) for part in each] for each in (sources, looks))
    draw = NormalBatches(table.rows, pools, [seed.sampling for seed in seeds], first.batch_size)
    validation = NormalBlocks(table.rows, look_pools, [seed.validation for seed in seeds])
    for model, pool in zip(models, pools, strict=True):
        model.to(device).begin(table.rows[torch.from_numpy(pool).to(device)])
    plan = TrainingPlan(
        max_steps=first.max_steps,
        learning_rate=first.learning_rate,
        validate_every=first.validate_every,
        patience=first.patience,
        show_progress=first.progress,
    )
    histories = train(Ensemble(models, device), draw, validation, NumeratorMean(), plan)
    warn_if_interrupted(histories[0], first.max_steps)
    check_none_astray(
        [
            collection.name
            for collection, history in zip(collections, histories, strict=True)
            if not np.isfinite(history.best_validation)
        ]
    )
    for model, pool in zip(models, pools, strict=True):
        check_usable(model, table.rows[torch.from_numpy(pool[:_PROBES]).to(device)])
    for estimator, collection, model, history in zip(estimators, collections, models, histories, strict=True):
        estimator._set_source_model(model, history, collection)


def fit_in_stages(
    ensemble: Ensemble, support: Tensor, stages: Sequence[int], learning_rate: float, real: Tensor | None = None
) -> Iterator[int]:
    """Train every member on all its normal rows at every step, pausing after each of these numbers of steps.

    Parameters
    ----------
    ensemble : Ensemble
        One-class networks that have begun.
    support : Tensor of shape (member, n, d)
        The normal rows.
    stages : sequence of int
        Numbers of steps, rising; 0 pauses before the first.
    learning_rate : float
        Adam's.
    real : bool Tensor of shape (member, n), optional
        False where a row is padding (finite numbers).
    """
    episode = Episode.numerator_only(support.unsqueeze(1), None if real is None else real.unsqueeze(1))
    plan = TrainingPlan(learning_rate=learning_rate)
    return train_in_stages(ensemble, lambda step: episode, NumeratorMean(), stages, plan)


def errors_by_stage(
    models: Sequence[OneClassNetwork],
    support: Tensor,
    query: Tensor,
    stages: Sequence[int],
    learning_rate: float = 1e-3,
    real: Tensor | None = None,
) -> Iterator[tuple[int, Tensor]]:
    """Train one-class networks on the normal rows of a target each, and judge rows after some numbers of steps.

    All of them run as one batched program on the device of the rows. The models themselves stay as they are: they may
    be learned from sources (`OneClassEstimator.source_model_`; one may be given for several targets) or new
    (`OneClassEstimator.new_model`).

    Parameters
    ----------
    models : sequence of OneClassNetwork
        The start of each member; all of one architecture.
    support : Tensor of shape (member, n, d)
        The normal rows to train on.
    query : Tensor of shape (member, n_query, d)
        The rows to judge.
    stages : sequence of int
        Numbers of steps, rising; 0 is the start.
    learning_rate : float
        Adam's.
    real : bool Tensor of shape (member, n), optional
        False where a support row is padding (finite numbers), where members have different numbers of rows.

    Yields
    ------
    stage : int
        The number of steps taken.
    errors : Tensor of shape (member, n_query)
        The errors of the query rows; the larger, the odder.

    Examples
    --------
    >>> import torch
    >>> from fewratio.estimators import OneClassEstimator, errors_by_stage
    >>> normal = torch.zeros(2, 4, 3)  # two targets with four rows of three columns
    >>> models = [OneClassEstimator(random_state=seed).new_model(rows) for seed, rows in enumerate(normal)]
    >>> [(stage, errors.shape) for stage, errors in errors_by_stage(models, normal, torch.ones(2, 5, 3), [1, 10])]
    [(1, torch.Size([2, 5])), (10, torch.Size([2, 5]))]
    """
    if not models or not len(models) == len(support) == len(query):
        raise ParameterError(
            f"Got {len(models)} models, {len(support)} supports and {len(query)} queries; each model needs one of "
            "both. Pass tensors whose first axis is as long as the list of models."
        )
    support, query = (rows.to(models[0].row_dtype) for rows in (support, query))
    ensemble = Ensemble(deepcopy(list(models)), support.device)
    judged = Episode.numerator_only(query.unsqueeze(1))
    for stage in fit_in_stages(ensemble, support, stages, learning_rate, real):
        # Not around the yield: what the caller does meanwhile is none of our business.
        with torch.no_grad():
            errors = ensemble.judge(judged).squeeze(1)
        astray = int((~errors.isfinite()).any(-1).sum())
        if astray:
            raise TrainingError(
                f"After {counted(stage, 'step')} some errors of {astray} of {len(models)} models are not finite, so "
                f"their rows cannot be judged. {_ADVICE}"
            )
        yield stage, errors


def check_usable(model: OneClassNetwork, rows: Tensor) -> None:
    """Raise if a trained network has gone astray, or answers the same whatever it is asked."""
    # Without biases a dead network gives zero along whole rays, so rows of twice the length show it even where all
    # normal rows are one and the same.
    probes = torch.cat([rows, 2 * rows])
    with torch.no_grad():
        errors = model.errors(probes)
    if not errors[: len(rows)].isfinite().all():
        raise TrainingError(
            f"The errors of the normal rows are not finite after training, so there is no model to keep. {_ADVICE}"
        )
    if (errors == errors[0]).all() and not (probes == probes[0]).all():
        raise TrainingError(
            "The network has collapsed: it gives every row the same error, so it can tell nothing apart. Use a smaller "
            "learning_rate or fewer steps, a larger width, or another random_state."
        )
