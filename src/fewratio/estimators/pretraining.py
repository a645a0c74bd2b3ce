"""Learning from source datasets: from estimators and collections to one call of the training loop."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from fewratio.core.objectives import RelativeSquaredError
from fewratio.data.collection import Collection
from fewratio.data.columns import Layout, feature_mismatch, listed
from fewratio.data.episodes import EpisodeSampler, EvaluationEpisodes, SupportSize
from fewratio.data.pools import Pools, RowTable, inlier_pools, pair_pools
from fewratio.errors import CollectionError, DataNotFoundError, InputError, ParameterError, TrainingError
from fewratio.estimators.scaling import column_scaling
from fewratio.nn import Standardiser
from fewratio.optim import Ensemble, TrainingPlan, train

if TYPE_CHECKING:
    from fewratio.estimators.meta import MetaRatioEstimator

# Validation episodes to aim for: few validation datasets are drawn from more often, of many some pairs are taken.
VALIDATION_EPISODES = 300
VALIDATION_PAIRS = 400
# The paper's size of the unlabelled support while training on inlier episodes.
UNLABELLED_SUPPORT = 100
# What may differ between models that are trained together.
_FREE_TOGETHER = ("random_state",)
# What may differ between a checkpoint and what goes on from it; the seeds are compared on their own.
_FREE_LATER = ("random_state", "max_steps", "device", "progress")


class _Seeds(NamedTuple):
    """Seeds by role, so that none depends on how often another was used."""

    start: int
    sampling: int
    validation: int
    inliers: int
    held_out: int


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
        They may differ in ``random_state`` only.
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
                "Estimators that are trained together have different settings; only random_state may differ. "
                "Train them in groups of equal settings."
            )
    _check_collections(collections, validations)
    if checkpoint is not None and any(estimator.random_state is None for estimator in estimators):
        raise ParameterError(
            "random_state is None, but a training can only go on from a checkpoint if its random numbers can be had "
            "again. Give random_state a number."
        )
    if checkpoint is not None and not Path(checkpoint).parent.is_dir():
        raise DataNotFoundError(
            f"The folder {Path(checkpoint).parent} does not exist, so no checkpoint can be written there. Create it."
        )
    sizes = _support_sizes(first)
    seeds = [_draw_seeds(estimator.random_state) for estimator in estimators]
    divided = [
        _divide(collection, validation, seed.held_out, first.episodes == "pairs")
        for collection, validation, seed in zip(collections, validations, seeds, strict=True)
    ]
    device = resolve_device(first.device)
    table = RowTable([part for parts in divided for part in parts], device, first.row_dtype)
    if not torch.isfinite(table.rows).all():
        raise CollectionError(
            "Some source values are beyond float32 (about 3e38), in which models are trained. Rescale those columns."
        )
    sources, looks = (
        [_pools(first, parts[part], table, seed.inliers) for parts, seed in zip(divided, seeds, strict=True)]
        for part in (0, 1)
    )
    draw = EpisodeSampler(
        table.rows, sources, [seed.sampling for seed in seeds], *sizes, first.n_query, first.tasks_per_step
    )
    n_pairs = min(len(pools.nu) if pools.paired else len(pools.nu) ** 2 for pools in looks)
    validation = EvaluationEpisodes(
        table.rows,
        looks,
        [seed.validation for seed in seeds],
        *sizes,
        n_draws=max(3, -(-VALIDATION_EPISODES // n_pairs)),
        n_query=first.n_query,
        max_pairs=VALIDATION_PAIRS,
    )

    models = [
        estimator.build_model(
            collection.n_features,
            torch.Generator().manual_seed(seed.start),
            _standardiser(parts[0]) if estimator.standardise else None,
        )
        for estimator, collection, parts, seed in zip(estimators, collections, divided, seeds, strict=True)
    ]
    plan = TrainingPlan(
        max_steps=first.max_steps,
        learning_rate=first.learning_rate,
        validate_every=first.validate_every,
        patience=first.patience,
        show_progress=first.progress,
        checkpoint=checkpoint,
        identity=_identity(first, seeds, table, [*sources, *looks]) if checkpoint is not None else "",
    )
    histories = train(
        Ensemble(models, device, first.averaging), draw, validation, RelativeSquaredError(float(first.alpha)), plan
    )
    if histories[0].stopped == "interrupted":
        warnings.warn(
            f"Training was interrupted at step {histories[0].step[-1]} of {first.max_steps}; the best model so far, of "
            f"step {histories[0].best_step}, is kept.",
            RuntimeWarning,
            stacklevel=3,
        )
    astray = []
    for estimator, collection, model, history in zip(estimators, collections, models, histories, strict=True):
        if np.isfinite(history.best_validation):
            estimator._set_model(model, history, collection.n_features, _names(collection), collection.encoding)
        else:
            astray.append(collection.name)
    if astray:
        raise TrainingError(
            f"The validation loss was never finite with {listed(astray)}, so there is no model to keep. Use "
            "standardise=True if the columns are of very different sizes, or a smaller learning_rate."
        )


def resolve_device(device: str) -> torch.device:
    """Turn a device's name into a device; "auto" takes CUDA where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
        if resolved.type == "cuda" and not torch.cuda.is_available():
            raise ParameterError(f"device is {device!r}, but there is no CUDA device here. Use 'auto' or 'cpu'.")
        # Not every device that torch knows is here, or knows the float64 of the ridge solve.
        torch.zeros((), dtype=torch.float64, device=resolved).item()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise ParameterError(
            f"device is {device!r}, which cannot be used here. Use 'auto', 'cpu' or 'cuda'."
        ) from error
    return resolved


def _names(collection: Collection) -> tuple[str, ...] | None:
    return None if collection.feature_names is None else tuple(collection.feature_names)


def _check_collections(collections: Sequence[Collection], validations: Sequence[Collection | None]) -> None:
    for argument, given in (("collection", collections), ("validation", validations)):
        for one in given:
            if not (isinstance(one, Collection) or (one is None and argument == "validation")):
                raise InputError(
                    f"{argument} is a {type(one).__name__}; a Collection of datasets is needed. Make one with "
                    "Collection.from_arrays, from_frame or from_folder."
                )
    counts = sorted({collection.n_features for collection in collections})
    if len(counts) > 1:
        raise CollectionError(
            f"Models trained together have sources with different numbers of features ({counts}). Train them in groups "
            "of equally many features."
        )


def _settings(estimator: MetaRatioEstimator, free: Sequence[str]) -> dict[str, object]:
    return {name: value for name, value in estimator.get_params(deep=False).items() if name not in free}


def _draw_seeds(random_state: int | np.random.Generator | None) -> _Seeds:
    rng = np.random.default_rng(random_state)
    return _Seeds(*(int(seed) for seed in rng.integers(2**63, size=len(_Seeds._fields))))


def _divide(
    collection: Collection, validation: Collection | None, seed: int, pairs: bool
) -> tuple[Collection, Collection]:
    """Give sources and validation datasets."""
    if len(collection) < 2:
        raise CollectionError(
            f"Collection {collection.name!r} has one dataset; learning needs at least two. Add related datasets."
        )
    if validation is not None:
        mismatch = feature_mismatch(
            Layout("the validation collection", validation.n_features, _names(validation)),
            Layout("the source collection", collection.n_features, _names(collection)),
        )
        if mismatch is not None:
            raise CollectionError(mismatch)
        if len(validation) < 2 and pairs:
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


def _pools(estimator: MetaRatioEstimator, collection: Collection, table: RowTable, seed: int) -> Pools:
    if estimator.episodes == "pairs":
        return pair_pools(collection, table)
    return inlier_pools(collection, table, np.random.default_rng(seed), estimator.n_inliers)


def _standardiser(collection: Collection) -> Standardiser:
    """Standardise with the means and deviations of the columns over all source rows."""
    mean, scale = column_scaling(dataset.X for dataset in collection)
    if not (np.isfinite(mean).all() and np.isfinite(scale).all()):
        raise CollectionError(
            f"Collection {collection.name!r} has columns too large to be standardised: their sums of squares overflow. "
            "Rescale those columns."
        )
    return Standardiser(torch.from_numpy(mean), torch.from_numpy(scale), torch.float32)


def _identity(estimator: MetaRatioEstimator, seeds: Sequence[_Seeds], table: RowTable, pools: Sequence[Pools]) -> str:
    """Fingerprint of settings, seeds and data, by which a checkpoint knows its training."""
    digest = hashlib.sha256(json.dumps([_settings(estimator, _FREE_LATER), seeds], default=str).encode())
    digest.update(table.rows.cpu().numpy().data)
    for pool in (rows for member in pools for rows in (*member.nu, *member.de)):
        digest.update(len(pool).to_bytes(8) + np.ascontiguousarray(pool).data)
    return digest.hexdigest()
