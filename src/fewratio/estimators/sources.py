"""What trainings on source datasets share: seeds, the division into sources and validation, standardisation."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from fewratio.data.collection import Collection
from fewratio.data.columns import Layout, check_layout, listed
from fewratio.data.pools import RowTable
from fewratio.errors import CollectionError, InputError, ParameterError, TrainingError
from fewratio.estimators.base import TableEstimator
from fewratio.estimators.scaling import column_scaling
from fewratio.nn import Standardiser
from fewratio.optim import History


class Seeds(NamedTuple):
    """Seeds by role, so that none depends on how often another was used."""

    start: int
    sampling: int
    validation: int
    inliers: int
    held_out: int


def check_together(
    estimators: Sequence[TableEstimator],
    collections: Sequence[Collection],
    validations: Sequence[Collection | None],
    free: Sequence[str],
) -> None:
    """Raise unless these estimators, which may differ in the ``free`` parameters, can be trained as one program."""
    if not estimators or not len(estimators) == len(collections) == len(validations):
        raise ParameterError(
            f"Got {len(estimators)} estimators, {len(collections)} collections and {len(validations)} validations; "
            "each estimator needs one of both (None for no validation). Pass lists of equal lengths."
        )
    for estimator in estimators:
        estimator._check_parameters()
        if settings(estimator, free) != settings(estimators[0], free):
            raise ParameterError(
                f"Estimators that are trained together have different settings; only {listed(free)} may differ. "
                "Train them in groups of equal settings."
            )
    check_collections(collections, validations)


def check_collections(collections: Sequence[Collection], validations: Sequence[Collection | None]) -> None:
    """Raise unless models can be trained together on these."""
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


def settings(estimator: TableEstimator, free: Sequence[str]) -> dict[str, object]:
    """Give the parameters of an estimator but for some."""
    return {name: value for name, value in estimator.get_params(deep=False).items() if name not in free}


def draw_seeds(random_state: int | np.random.Generator | None) -> Seeds:
    """Draw the seed of each role."""
    rng = np.random.default_rng(random_state)
    return Seeds(*(int(seed) for seed in rng.integers(2**63, size=len(Seeds._fields))))


def divide(
    collection: Collection, validation: Collection | None, seed: int, pairs: bool
) -> tuple[Collection, Collection]:
    """Give sources and validation datasets."""
    if len(collection) < 2:
        raise CollectionError(
            f"Collection {collection.name!r} has one dataset; learning needs at least two. Add related datasets."
        )
    if validation is not None:
        check_layout(
            Layout("the validation collection", validation.n_features, feature_names(validation)),
            Layout("the source collection", collection.n_features, feature_names(collection)),
            CollectionError,
        )
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


def feature_names(collection: Collection) -> tuple[str, ...] | None:
    """Give the names of a collection's features as a tuple, if they have names."""
    return None if collection.feature_names is None else tuple(collection.feature_names)


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


def warn_if_interrupted(history: History, max_steps: int) -> None:
    """Say where Ctrl-C ended a training."""
    if history.stopped == "interrupted":
        step = history.step[-1] if history.step else 0
        warnings.warn(
            f"Training was interrupted at step {step} of {max_steps}; the best model so far, of step "
            f"{history.best_step}, is kept.",
            RuntimeWarning,
            stacklevel=4,
        )


def warn_if_missing(kinds: Sequence[str], n_planned: int) -> None:
    """Say which networks a model consists of, if there were to be more."""
    if len(kinds) < n_planned:
        warnings.warn(
            f"Of {n_planned} networks {len(kinds)} were trained ({', '.join(kinds)}); the model consists of these.",
            RuntimeWarning,
            stacklevel=4,
        )


def check_none_astray(names: Sequence[str]) -> None:
    """Raise if trainings on collections of these names came to nothing."""
    if names:
        raise TrainingError(
            f"The validation loss was never finite with {listed(names)}, so there is no model to keep. Use "
            "standardise=True if the columns are of very different sizes, or a smaller learning_rate."
        )
