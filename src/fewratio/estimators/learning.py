"""Learning from source datasets: from collections to one call of the training loop."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import torch

from fewratio.core.objectives import Objective
from fewratio.data.collection import Collection
from fewratio.data.episodes import EpisodeSampler, EvaluationEpisodes, SupportSize
from fewratio.data.pools import Pools, RowTable, inlier_pools, pair_pools
from fewratio.errors import DataNotFoundError, ParameterError
from fewratio.estimators.devices import resolve_device
from fewratio.estimators.sources import Seeds, check_collections, divide, draw_seeds, row_table, standardiser
from fewratio.nn import RatioModel, Standardiser
from fewratio.nn.padding import same_latent_dim
from fewratio.optim import Ensemble, History, TrainingPlan, train

# Validation episodes to aim for: few validation datasets are drawn from more often, of many some pairs are taken.
VALIDATION_EPISODES = 300
VALIDATION_PAIRS = 400
# Tasks that are judged at a time: on a GPU the memory is there, and each batch costs the same few dozen launches.
_TASKS_AT_ONCE = {"cpu": 512, "cuda": 4096}


class Curriculum(Protocol):
    """What models that are trained together have in common; the parameters of `MetaRatioEstimator` of these names."""

    episodes: str
    n_inliers: int | None
    standardise: bool
    tasks_per_step: int
    n_query: int
    max_steps: int
    learning_rate: float
    weight_decay: float
    averaging: float
    validate_every: int
    patience: int | None
    device: str
    progress: bool | None


class Lesson(NamedTuple):
    """What one model learns from.

    Attributes
    ----------
    source : Collection
        The datasets.
    validation : Collection or None
        Datasets to choose the best moment by; if none, some of the sources are kept aside.
    build : callable
        ``build(n_features, generator, scaler)`` gives the untrained model.
    sizes : (SupportSize, SupportSize)
        Of numerator and denominator.
    random_state : int, numpy Generator or None
        Seed of everything random.
    """

    source: Collection
    validation: Collection | None
    build: Callable[[int, torch.Generator, Standardiser | None], RatioModel]
    sizes: tuple[SupportSize, SupportSize]
    random_state: int | np.random.Generator | None


def learn_together(
    lessons: Sequence[Lesson],
    curriculum: Curriculum,
    objective: Objective,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    identity: object = None,
) -> list[tuple[RatioModel, History]]:
    """Train models, made of whatever parts, as one batched program.

    Parameters
    ----------
    lessons : sequence of Lesson
        One a model. The models may differ in the length of their dataset vectors, but not otherwise.
    curriculum : Curriculum
        How all of them are trained.
    objective : Objective
        The query loss.
    checkpoint : path, optional
        As in `MetaRatioEstimator.pretrain`.
    identity : JSON value
        What else a checkpoint must agree in.

    Returns
    -------
    list of (RatioModel, History)
        One a lesson.
    """
    check_collections([lesson.source for lesson in lessons], [lesson.validation for lesson in lessons])
    if checkpoint is not None and any(lesson.random_state is None for lesson in lessons):
        raise ParameterError(
            "random_state is None, but a training can only go on from a checkpoint if its random numbers can be had "
            "again. Give random_state a number."
        )
    if checkpoint is not None and not Path(checkpoint).parent.is_dir():
        raise DataNotFoundError(
            f"The folder {Path(checkpoint).parent} does not exist, so no checkpoint can be written there. Create it."
        )
    seeds = [draw_seeds(lesson.random_state) for lesson in lessons]
    divided = [
        divide(lesson.source, lesson.validation, seed.held_out, curriculum.episodes == "pairs")
        for lesson, seed in zip(lessons, seeds, strict=True)
    ]
    device = resolve_device(curriculum.device)
    table = row_table([part for parts in divided for part in parts], device, row_dtype(curriculum.standardise))
    sources, looks = (
        [_pools(curriculum, parts[part], table, seed.inliers) for parts, seed in zip(divided, seeds, strict=True)]
        for part in (0, 1)
    )
    models = [
        lesson.build(
            lesson.source.n_features,
            torch.Generator().manual_seed(seed.start),
            standardiser(parts[0]) if curriculum.standardise else None,
        )
        for lesson, parts, seed in zip(lessons, divided, seeds, strict=True)
    ]
    sizes = [lesson.sizes for lesson in lessons]
    draw = EpisodeSampler(
        table.rows,
        sources,
        [seed.sampling for seed in seeds],
        sizes,
        curriculum.n_query,
        curriculum.tasks_per_step,
        _held_out(models[0], curriculum),
    )
    n_pairs = min(len(pools.nu) if pools.paired else len(pools.nu) ** 2 for pools in looks)
    validation = EvaluationEpisodes(
        table.rows,
        looks,
        [seed.validation for seed in seeds],
        sizes,
        n_draws=max(3, -(-VALIDATION_EPISODES // n_pairs)),
        n_query=curriculum.n_query,
        tasks_per_batch=_TASKS_AT_ONCE["cuda" if device.type == "cuda" else "cpu"],
        max_pairs=VALIDATION_PAIRS,
    )
    plan = TrainingPlan(
        max_steps=curriculum.max_steps,
        learning_rate=curriculum.learning_rate,
        weight_decay=curriculum.weight_decay,
        validate_every=curriculum.validate_every,
        patience=curriculum.patience,
        show_progress=curriculum.progress,
        checkpoint=checkpoint,
        identity=_identity(identity, seeds, table, [*sources, *looks]) if checkpoint is not None else "",
    )
    with same_latent_dim(models):
        histories = train(Ensemble(models, device, curriculum.averaging), draw, validation, objective, plan)
    return list(zip(models, histories, strict=True))


def row_dtype(standardise: bool) -> torch.dtype:
    """Give what rows are handed to a model as."""
    # A column may need all its digits until its mean is taken off.
    return torch.float64 if standardise else torch.float32


def _pools(curriculum: Curriculum, collection: Collection, table: RowTable, seed: int) -> Pools:
    if curriculum.episodes == "pairs":
        return pair_pools(collection, table)
    return inlier_pools(collection, table, np.random.default_rng(seed), curriculum.n_inliers)


def _held_out(model: RatioModel, curriculum: Curriculum) -> tuple[bool, bool]:
    """Tell whose support is kept out of the query in training."""
    # Features of a support instance that leave that instance out are not what a new one's are. Among unlabelled
    # instances it is the support itself that is judged in the end.
    return model.leaves_out_own, model.leaves_out_own and curriculum.episodes == "pairs"


def _identity(settings: object, seeds: Sequence[Seeds], table: RowTable, pools: Sequence[Pools]) -> str:
    """Fingerprint of settings, seeds and data, by which a checkpoint knows its training."""
    digest = hashlib.sha256(json.dumps([settings, seeds], default=str).encode())
    digest.update(table.rows.cpu().numpy().data)
    for pool in (rows for member in pools for rows in (*member.nu, *member.de)):
        digest.update(len(pool).to_bytes(8) + np.ascontiguousarray(pool).data)
    return digest.hexdigest()
