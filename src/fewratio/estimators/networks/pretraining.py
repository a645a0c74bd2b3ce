"""Training on source datasets: from collections and settings to one call of the training loop."""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from fewratio.core.objectives import CalibratedSquaredError, Objective, RelativeSquaredError
from fewratio.core.units import column_scaling
from fewratio.core.wording import quote_list
from fewratio.data.collection import Collection
from fewratio.data.raw_table import check_features
from fewratio.errors import CollectionError, DataNotFoundError, ParameterError, TrainingError
from fewratio.estimators.networks.network_estimator import resolve_device
from fewratio.estimators.networks.nn import RatioModel, Standardiser
from fewratio.estimators.networks.optim import Ensemble, History, Processes, TrainingPlan, train
from fewratio.estimators.networks.settings import Episodes, Inliers, Training
from fewratio.estimators.networks.training.episodes import EpisodeSampler, EvaluationEpisodes, SupportSize
from fewratio.estimators.networks.training.pools import Pools, RowTable, inlier_pools, pair_pools
from fewratio.estimators.source_columns import SourceColumns, check_collection

# A trained model, how its training went, and the datasets that it was trained and validated on.
TrainedModel = tuple[RatioModel, History, tuple[Collection, Collection]]

# Validation episodes to aim for: few validation datasets are used more often, many only for some pairs.
VALIDATION_EPISODES = 300
VALIDATION_PAIRS = 400
# Tasks that are evaluated at a time: on a GPU the memory is there, and each batch costs the same few dozen launches.
_TASKS_AT_ONCE = {"cpu": 512, "cuda": 4096}


class Job(NamedTuple):
    """The training data and settings of one model.

    Attributes
    ----------
    source : Collection
        The datasets.
    validation : Collection or None
        Datasets for early stopping; if none, some of the sources are held out.
    build : callable
        ``build(n_features, generator, scaler)`` returns the untrained model.
    episodes : Episodes
        The training tasks. Models that are trained together may differ only in the sizes of the samples.
    random_state : int, numpy Generator or None
        Random seed.
    """

    source: Collection
    validation: Collection | None
    build: Callable[[int, torch.Generator, Standardiser | None], RatioModel]
    episodes: Episodes
    random_state: int | np.random.Generator | None


class Seeds(NamedTuple):
    """Seeds by role, so that none depends on how often another was used."""

    start: int
    sampling: int
    validation: int
    inliers: int
    held_out: int


def train_jobs(
    jobs: Sequence[Job],
    training: Training,
    objective: Objective,
    *,
    scale: str = "none",
    device: str = "cpu",
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    identity: object = None,
) -> list[TrainedModel]:
    """Train models of one architecture, made of whatever parts, as one batched program.

    Parameters
    ----------
    jobs : sequence of Job
        One per model.
    training : Training
        Settings of the training of all models.
    objective : Objective
        The query loss.
    scale : {"columns", "none"}
        Whether to standardise the columns by the sources' means and deviations.
    device, progress, checkpoint
        As in `MetaRatioEstimator`.
    identity : JSON value
        Further values that must agree with those of a checkpoint.

    Returns
    -------
    list of TrainedModel
        One per job.
    """
    _check_collections(jobs)
    processes = Processes.from_launch()
    is_identified = checkpoint is not None or not processes.alone
    if is_identified and any(job.random_state is None for job in jobs):
        raise ParameterError(
            "random_state is None, but a training can only resume from a checkpoint, or be shared by processes, if its "
            "random numbers can be had again. Give random_state a number."
        )
    if checkpoint is not None and not (folder := Path(checkpoint).parent).is_dir():
        raise DataNotFoundError(
            f"The folder {folder} does not exist, so no checkpoint can be written there. Create it."
        )
    episodes = jobs[0].episodes
    seeds = [draw_seeds(job.random_state) for job in jobs]
    divided = [
        hold_out(job.source, job.validation, seed.held_out, needs_two=not episodes.paired)
        for job, seed in zip(jobs, seeds, strict=True)
    ]
    scalers = [standardiser(source) if scale == "columns" else None for source, _ in divided]
    models = [
        job.build(job.source.n_features, torch.Generator().manual_seed(seed.start), scaler)
        for job, seed, scaler in zip(jobs, seeds, scalers, strict=True)
    ]
    place = resolve_device(device)
    table = row_table([part for parts in divided for part in parts], place, models[0].row_dtype)
    sources, held_out = (
        [make_pools(job.episodes, part, table, seed.inliers) for job, part, seed in zip(jobs, side, seeds, strict=True)]
        for side in zip(*divided, strict=True)
    )
    sizes = [(SupportSize(*nu), SupportSize(*de)) for nu, de in (job.episodes.sizes for job in jobs)]
    # Features of a support instance that leave that instance out are not what a new one's are. Among unlabelled
    # instances it is the support itself that is evaluated in the end.
    leaves_one_out = models[0].leaves_one_out
    draw = EpisodeSampler(
        table.rows,
        sources,
        [seed.sampling for seed in seeds],
        sizes,
        episodes.n_query,
        training.tasks_per_step,
        (leaves_one_out, leaves_one_out and not episodes.paired),
        part=processes.part,
    )
    n_pairs = min(len(pools.nu) if pools.paired else len(pools.nu) ** 2 for pools in held_out)
    validation = EvaluationEpisodes(
        table.rows,
        held_out,
        [seed.validation for seed in seeds],
        sizes,
        n_draws=max(3, -(-VALIDATION_EPISODES // n_pairs)),
        n_query=episodes.n_query,
        tasks_per_batch=_TASKS_AT_ONCE["cuda" if place.type == "cuda" else "cpu"],
        max_pairs=VALIDATION_PAIRS,
    )
    plan = TrainingPlan(
        max_steps=training.max_steps,
        learning_rate=float(training.learning_rate),
        weight_decay=float(training.weight_decay),
        validate_every=training.validate_every,
        patience=training.patience,
        show_progress=progress,
        checkpoint=checkpoint,
        identity=_identity(identity, seeds, table, [*sources, *held_out]) if is_identified else "",
    )
    histories = train(Ensemble(models, place, float(training.averaging)), draw, validation, objective, plan)
    return list(zip(models, histories, divided, strict=True))


def make_pools(episodes: Episodes, collection: Collection, table: RowTable, seed: int) -> Pools:
    """Return the rows that numerators and denominators are drawn from; the seed draws the inliers that are known."""
    if isinstance(episodes, Inliers):
        return inlier_pools(collection, table, np.random.default_rng(seed), episodes.n_inliers)
    return pair_pools(collection, table)


def squared_error(kind: str, alpha: float, calibration: float) -> Objective:
    """Return the loss that a network of this kind is trained with."""
    if kind != "mlp" and calibration:
        return CalibratedSquaredError(alpha, calibration)
    return RelativeSquaredError(alpha)


def draw_seeds(random_state: int | np.random.Generator | None) -> Seeds:
    """Draw the seed of each role."""
    rng = np.random.default_rng(random_state)
    return Seeds(*(int(seed) for seed in rng.integers(2**63, size=len(Seeds._fields))))


def hold_out(
    collection: Collection, validation: Collection | None, seed: int, needs_two: bool
) -> tuple[Collection, Collection]:
    """Return the datasets to train on and to validate on; without the latter, hold out some of the former.

    ``needs_two``: whether one validation dataset would have nothing but itself to be compared with.
    """
    if len(collection) < 2:
        raise CollectionError(
            f"Collection {collection.name!r} has one dataset; learning needs at least two. Add related datasets."
        )
    if validation is not None:
        names = (each.names or each.n_features for each in map(SourceColumns.of, (validation, collection)))
        check_features("the validation collection", next(names), "the source collection", next(names), CollectionError)
        if len(validation) < 2 and needs_two:
            raise CollectionError(
                f"The validation collection {validation.name!r} has one dataset, which can only be compared with "
                "itself; at least two are needed. Add one, or leave validation out."
            )
        if validation.encoding is not None and validation.encoding != collection.encoding:
            raise CollectionError(
                "The validation collection is encoded in another way than the source collection; the same columns must "
                "mean the same. Make it with encoding=sources.encoding, where sources is the source collection."
            )
        return collection, validation
    if len(collection) < 6:
        return collection, collection
    order = np.random.default_rng(seed).permutation(len(collection))
    n_held_out = min(10, max(2, len(collection) // 10))
    return collection[np.sort(order[n_held_out:])], collection[np.sort(order[:n_held_out])]


def standardiser(collection: Collection) -> Standardiser:
    """Standardise with the means and deviations of the columns over all source rows."""
    mean, scale = column_scaling(dataset.X for dataset in collection)
    if not (np.isfinite(mean).all() and np.isfinite(scale).all()):
        raise CollectionError(
            f"Collection {collection.name!r} has columns too large to be standardised: their sums of squares overflow. "
            "Rescale those columns."
        )
    return Standardiser(torch.from_numpy(mean), torch.from_numpy(scale), torch.float32)


def row_table(collections: Sequence[Collection], device: torch.device, dtype: torch.dtype) -> RowTable:
    """Put the rows of collections on the device, if they can be trained on."""
    table = RowTable(collections, device, dtype)
    if not torch.isfinite(table.rows).all():
        raise CollectionError(
            "Some source values are beyond float32 (about 3e38), in which models are trained. Rescale those columns."
        )
    return table


def raise_if_diverged(names: Sequence[str]) -> None:
    """Raise if trainings on collections of these names gave no model."""
    if names:
        raise TrainingError(
            f"The validation loss was never finite with {quote_list(names)}, so there is no model to keep. Use "
            'scale="columns" if the columns are of very different sizes, or a smaller learning_rate.'
        )


def _check_collections(jobs: Sequence[Job]) -> None:
    for job in jobs:
        check_collection(job.source, "collection")
        check_collection(job.validation, "validation", optional=True)
    counts = sorted({job.source.n_features for job in jobs})
    if len(counts) > 1:
        raise CollectionError(
            f"Models trained together have sources with different numbers of features ({counts}). Train them in groups "
            "of equally many features."
        )


def _identity(settings: object, seeds: Sequence[Seeds], table: RowTable, pools: Sequence[Pools]) -> str:
    """Fingerprint of settings, seeds and data, by which a checkpoint knows its training."""
    digest = hashlib.sha256(json.dumps([settings, seeds], default=str).encode())
    digest.update(table.rows.cpu().numpy().data)
    for pool in (rows for member in pools for rows in (*member.nu, *member.de)):
        digest.update(len(pool).to_bytes(8) + np.ascontiguousarray(pool).data)
    return digest.hexdigest()
