"""Compare all datasets of a collection with each other, a block of pairs at a time."""

import os
import time
import warnings
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from itertools import islice
from numbers import Integral
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from fewratio.applications.blocks import Block, blocks, compare_block
from fewratio.applications.distance_matrix import AllPairsResult
from fewratio.applications.parameters import check_count, check_estimator
from fewratio.applications.permutation import smallest_p_value
from fewratio.applications.unfinished import Unfinished
from fewratio.data.collection import Collection
from fewratio.data.columns import counted
from fewratio.data.tables import as_table
from fewratio.errors import CollectionError, InputError, ParameterError
from fewratio.estimators.base import RatioEstimator
from fewratio.progress import progress_bar

# Blocks that a worker is given at a time; then results are stored.
_BLOCKS_A_WORKER = 4
_SAVE_SECONDS = 60.0
# The level at which the false discoveries of all pairs are usually controlled.
_LEVEL = 0.05


def compare_all(
    collection: Collection | Iterable[Any] | Mapping[Any, Any],
    estimator: RatioEstimator | None = None,
    n_permutations: int = 0,
    n_rows: int | None = 100,
    n_jobs: int = 1,
    random_state: int | np.random.Generator | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> AllPairsResult:
    """Compare all datasets of a collection with each other: the divergences of all ordered pairs.

    Pairs are worked on in blocks, so that memory is that of the result and of a few blocks, and through joblib: inside
    ``joblib.parallel_config(backend=...)`` the work goes to Dask, Ray or another backend.

    Parameters
    ----------
    collection : Collection, or what `Collection.from_arrays` takes
        Two datasets at least. Their sizes may differ.
    estimator : RatioEstimator, optional
        Default: ``RuLSIF()``. A learned one must be pretrained. It stays as it is.
    n_permutations : int, default=0
        Arrangements a pair for p-values, as in `compare_datasets`; 0 for none.
    n_rows : int or None, default=100
        Of a larger dataset so many rows are drawn, once; None for all rows.
    n_jobs : int, default=1
        Number of workers, as joblib counts: -1 for one a core, -2 for one less, and so on.
    random_state : int, numpy Generator or None
        Draws rows and arrangements. The number of workers has no influence.
    checkpoint : path, optional
        File that keeps what was done, every minute and when interrupted. If it is there, the work goes on from it;
        that needs a whole number as `random_state`.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.

    Returns
    -------
    AllPairsResult

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import compare_all
    >>> rng = np.random.default_rng(0)
    >>> samples = {name: rng.normal(mean, 1, (n, 2)) for name, mean, n in (("a", 0, 6), ("b", 3, 5), ("c", 0.1, 6))}
    >>> result = compare_all(samples)
    >>> result.divergences.shape
    (3, 3)
    >>> result.nearest("a", 1)[0][0]
    'c'
    """
    estimator = check_estimator(estimator)
    check_count("n_permutations", n_permutations, 0)
    if n_rows is not None:
        check_count("n_rows", n_rows, 1)
    _check_workers(n_jobs)
    if checkpoint is not None and not isinstance(random_state, int | np.integer):
        raise ParameterError(
            f"random_state is {random_state!r}, but what a checkpoint holds can only be gone on with if the same is "
            "drawn again; needed is a whole number. Pass random_state=0, for instance."
        )
    if not isinstance(collection, Collection):
        collection = Collection.from_arrays(collection)
    if len(collection) < 2:
        raise CollectionError(
            f"collection {collection.name!r} has {counted(len(collection), 'dataset')}; at least two are needed to "
            "compare. Add another."
        )
    seed = int(np.random.default_rng(random_state).integers(2**63))
    samples = [_drawn(dataset.X, n_rows, seed, number) for number, dataset in enumerate(collection)]
    probe = _probe(collection, estimator, samples)
    work = blocks([len(sample) for sample in samples], collection.n_features, n_permutations)
    state = Unfinished(len(collection), n_permutations > 0, checkpoint)
    if checkpoint is not None:
        settings = [type(estimator).__qualname__, repr(estimator), collection.names, n_permutations, seed]
        state.resume(joblib.hash([*settings, samples]), probe)

    size = max(1, _BLOCKS_A_WORKER * joblib.effective_n_jobs(n_jobs))
    todo = islice(work, state.n_done, None)
    saved = time.monotonic()
    with progress_bar(work.total, "comparing", progress) as report, joblib.Parallel(n_jobs=n_jobs) as parallel:
        report(state.n_done, None)
        try:
            while batch := list(islice(todo, size)):
                calls = (
                    joblib.delayed(compare_block)(estimator, *_sides(samples, block), block, n_permutations, seed)
                    for block in batch
                )
                # Not as a generator: not every backend of joblib can give one.
                _store(state, batch, parallel(calls), collection)
                report(state.n_done, None)
                if time.monotonic() - saved > _SAVE_SECONDS:
                    state.save()
                    saved = time.monotonic()
        finally:
            # Also when interrupted: blocks that were not stored are done again.
            state.save()
    result = AllPairsResult(collection.names, state.divergences, state.p_values)
    if n_permutations:
        _warn_of_few_permutations(result, [len(sample) for sample in samples], n_permutations)
    return result


def _check_workers(n_jobs: Any) -> None:
    # None is joblib's word for what `joblib.parallel_config` says.
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ParameterError(
            f"n_jobs is {n_jobs!r}; needed is a number of workers. Pass a whole number from 1, or -1 for one a core."
        )


def _drawn(X: NDArray[Any], n_rows: int | None, seed: int, number: int) -> NDArray[Any]:
    if n_rows is None or len(X) <= n_rows:
        return X
    return X[np.random.default_rng([seed, number]).choice(len(X), n_rows, replace=False)]


def _sides(samples: list[NDArray[Any]], block: Block) -> list[NDArray[Any]]:
    return [np.stack([samples[i] for i in side]) for side in block]


def _probe(collection: Collection, estimator: RatioEstimator, samples: list[NDArray[Any]]) -> float:
    """Let the estimator see two datasets, so that it objects to parameters or columns before the work begins."""
    names = None if collection.feature_names is None else tuple(collection.feature_names)
    pair = [replace(as_table(samples[i], f"dataset {collection.names[i]!r}"), feature_names=names) for i in (0, 1)]
    return copy(estimator).fit(*pair).divergence()


def _warn_of_few_permutations(result: AllPairsResult, sizes: list[int], n_permutations: int) -> None:
    """Warn if more permutations could have shown something: nothing is significant, and hardly could have been."""
    n_pairs = len(sizes) * (len(sizes) - 1) // 2
    # The largest datasets have the most arrangements, so the smallest p-value of all.
    *_, second, first = sorted(sizes)
    smallest = smallest_p_value(first, second, n_permutations)
    if smallest > _LEVEL / n_pairs and not _any_significant(result):
        needed = int(np.ceil(smallest * n_pairs / _LEVEL))
        warnings.warn(
            f"The smallest p-value that {n_permutations} permutations of these datasets can give is {smallest:.2g}. "
            f"Of {n_pairs} pairs none is significant at {_LEVEL} after Benjamini and Hochberg's adjustment, and none "
            f"could be unless {needed} were at once. Use {int(np.ceil(n_pairs / _LEVEL))} permutations, or compare "
            "fewer datasets.",
            stacklevel=3,
        )


def _any_significant(result: AllPairsResult) -> bool:
    return result.adjusted_p_values is not None and bool((result.adjusted_p_values <= _LEVEL).any())


def _store(state: Unfinished, batch: list[Block], results: list[NDArray[np.float64]], collection: Collection) -> None:
    for block, found in zip(batch, results, strict=True):
        i, j = block.pairs()
        unusable = ~np.isfinite(found[:2]).all(0)
        if unusable.any():
            k = int(unusable.argmax())
            raise InputError(
                f"The divergence of the datasets {collection.names[i[k]]!r} and {collection.names[j[k]]!r} is not "
                "finite: their values are too large for this estimator's arithmetic. Rescale the columns."
            )
        state.divergences[i, j], state.divergences[j, i] = found[:2]
        if state.p_values is not None:
            state.p_values[i, j] = state.p_values[j, i] = found[2]
    state.n_done += len(batch)
