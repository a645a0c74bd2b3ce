"""Compare all datasets of a collection with each other, in blocks of pairs."""

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import repeat
from numbers import Integral
from typing import Any, Unpack

import joblib
import numpy as np
from numpy.typing import NDArray

from fewratio.core.draws import draw_rows
from fewratio.core.shapes import Floats
from fewratio.core.wording import write_count
from fewratio.data.collection import Collection
from fewratio.data.columns import ColumnOptions
from fewratio.data.dataset import Dataset
from fewratio.data.encoding import Encoding
from fewratio.data.table import Table
from fewratio.errors import CollectionError, ParameterError, name_parameter, warn
from fewratio.estimators import samples as inputs
from fewratio.estimators.base import RatioEstimator, check_finite_result
from fewratio.estimators.source_columns import SourceColumns
from fewratio.many.novelty import Profiles
from fewratio.many.pair_blocks import AllPairs, Block, Checkpoint, PairTest, compare_blocks, cut_into_blocks
from fewratio.many.result import AllPairsResult
from fewratio.progress import progress_bar
from fewratio.testing import LEVEL, PERMUTATIONS
from fewratio.testing.permutations import Exchange

_SAVE_SECONDS = 60.0


def compare_all(
    collection: Collection | Iterable[Any] | Mapping[Any, Any] | str | os.PathLike[str],
    *,
    estimator: RatioEstimator | None = None,
    n_permutations: int | None = None,
    new: Mapping[str, Any] | None = None,
    n_rows: int | None = 100,
    n_jobs: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    random_state: int | np.random.Generator | None = 0,
    progress: bool | None = None,
    **columns: Unpack[ColumnOptions],
) -> AllPairsResult:
    """Compare all datasets of a collection with each other, to see which are similar and which stand out.

    Pairs are compared in blocks, so only the rows, the result (8 bytes per ordered pair, 16 with p-values) and a few
    blocks are in memory. Workers receive the rows once. The result is bit-identical for any number and kind of workers
    on the same kind of machine.

    All pairs use the same kernel model, which is fast and makes the divergences comparable. For the size of a single
    difference, use `compare_datasets`, which uses all rows, chooses among models, and often finds more.

    Parameters
    ----------
    collection : Collection, folder of files, or what `Collection.from_arrays` accepts
        At least two datasets. Their sizes may differ.
    estimator : RatioEstimator, optional
        The default is ``RuLSIF(scale="columns")``, in units of all rows together. An estimator that learns from related
        datasets must be pretrained. It is not changed. Only the parts of an `AutoRatioEstimator` that learned from
        sources are used; the others would be slow.
    n_permutations : int, optional
        Permutations per pair for p-values, as in `compare_datasets`. By default, or with 0, there is no test.
    n_rows : int or None, default=100
        Draw this many rows, once, from larger datasets; None for all rows.
    n_jobs : int, default=1
        Number of workers, as in joblib: -1 for one per core, -2 for one less, and so on. Workers are processes unless
        you set ``joblib.parallel_config``: ``parallel_config("dask")`` and -1 use all workers of a Dask cluster.
    random_state : int, numpy Generator or None, default=0
        Draws rows and permutations, and seeds an estimator that has no seed. The number of workers does not matter.
    checkpoint : path, optional
        File to save progress to, every minute and when interrupted. If it exists, the work resumes from it, which needs
        an integer `random_state`.
    progress : bool, optional
        Show a progress bar. Default: only on a terminal, after two seconds.
    new : mapping of str to array-like, optional
        New datasets by name, which are encoded like the others and compared with them: `new_p_values` of the result
        shows whether they are unlike all others. From each dataset, at most as many rows are then drawn as the smallest
        new one has, and at most the median number of rows.
    **columns
        What to do with columns of data frames, as in `Collection.from_arrays`.

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
    n_permutations = 0 if n_permutations is None else n_permutations
    inputs.check_count("n_permutations", n_permutations, 0)
    if n_rows is not None:
        inputs.check_count("n_rows", n_rows)
    _check_workers(n_jobs)
    if checkpoint is not None and not isinstance(random_state, int | np.integer):
        raise ParameterError(
            f"random_state is {random_state!r}, but a checkpoint can only be resumed from if the same is drawn again; "
            "expected a whole number. Pass random_state=0, for instance."
        )
    if isinstance(collection, str | os.PathLike):
        collection = Collection.from_folder(collection, **columns)
    elif not isinstance(collection, Collection):
        collection = Collection.from_arrays(collection, **columns)
    if len(collection) < 2:
        raise CollectionError(
            f"collection {collection.name!r} has {write_count(len(collection), 'dataset')}; at least two are needed to "
            "compare. Add another."
        )
    if new is not None:
        inputs.check_named("new", new, collection.names, "the collection")
    if new:
        collection, n_rows = _add_new(collection, new, n_rows)
    seed = int(inputs.as_rng(random_state).integers(2**63))
    for_estimator, for_rows = np.random.default_rng(seed).spawn(2)
    model = inputs.copy_seeded(estimator, inputs.default_estimator(), for_estimator)._for_many_pairs()
    samples = draw_samples(collection, model, n_rows, repeat(for_rows))
    model = inputs.in_common_units(model, np.concatenate(samples))
    work = cut_into_blocks([len(sample) for sample in samples], collection.n_features, n_permutations)
    encoding = collection.encoding or Encoding.of_numbers(None, collection.n_features)
    tested = None if estimator is None else model
    test = PairTest(list(encoding.places.values()), tested, n_permutations or PERMUTATIONS, seed)
    state = Checkpoint(len(collection), n_permutations > 0, checkpoint)
    if checkpoint is not None:
        settings = [type(model).__qualname__, repr(model), collection.names, n_permutations, seed]
        probe = inputs.fit_copy(model, samples[0], samples[1]).divergence()
        state.resume(joblib.hash([*settings, samples]), probe)

    starts = np.cumsum([0, *map(len, samples)])
    pairs, rows = AllPairs(model, starts, test if n_permutations else None), np.concatenate(samples)
    todo = work[state.n_done :]
    saved = time.monotonic()
    with progress_bar(len(work), "comparing", progress) as report:
        report(state.n_done, None)
        try:
            for block, found in zip(todo, compare_blocks(pairs, rows, todo, n_jobs), strict=True):
                _store(state, block, found, collection)
                report(state.n_done, None)
                if time.monotonic() - saved > _SAVE_SECONDS:
                    state.save()
                    saved = time.monotonic()
        finally:
            # Save also when interrupted, so that blocks need not be computed again.
            state.save()
    told: dict[str, Any] = {"estimator": estimator, "n_permutations": n_permutations, "n_rows": n_rows}
    told |= {"random_state": random_state, "new": new or None, **columns}
    names, n_known = collection.feature_names or range(collection.n_features), len(samples) - len(new or ())
    profiles = {
        name: Profiles.of([*samples[:n_known], sample], names)
        for name, sample in zip(collection.names[n_known:], samples[n_known:], strict=True)
    }
    if getattr(model, "alpha", None) == 0.5:
        # Swapping the samples turns r into 2 - r, with the same divergence, so the mean of both estimates is better.
        divergences = state.matrices["divergences"]
        state.matrices["divergences"] = (divergences + divergences.T) / 2
    result = AllPairsResult(
        collection.names,
        **state.matrices,
        settings=told,
        new=tuple(profiles),
        profiles=profiles,
        sizes=collection.sizes,
        encoding=collection.encoding,
        _samples=samples,
        _test=test,
    )
    if n_permutations:
        _warn_of_few_permutations(result, [len(sample) for sample in samples], n_permutations)
    return result


def _add_new(collection: Collection, new: Mapping[str, Any], n_rows: int | None) -> tuple[Collection, int]:
    """Add datasets; also return how many rows to draw from each, since datasets with more rows would seem nearer."""
    columns, named = SourceColumns.of(collection), {str(name): X for name, X in new.items()}
    tables = {name: columns.encode(X, f"dataset {name!r}", sources="the collection") for name, X in named.items()}
    sizes = [int(np.median(collection.sizes)), *(table.n_rows for table in tables.values())]
    added = [Dataset(name, None, table.numbers) for name, table in tables.items()]
    return replace(collection, datasets=[*collection, *added]), min([*sizes, n_rows or max(sizes)])


def _check_workers(n_jobs: Any) -> None:
    # None means what `joblib.parallel_config` sets.
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ParameterError(
            f"{name_parameter('n_jobs')} is {n_jobs!r}; expected a number of workers. Pass a whole number from 1, or "
            "-1 for one per core."
        )


def draw_samples(
    collection: Collection, model: RatioEstimator, n_rows: int | None, rngs: Iterable[np.random.Generator]
) -> list[Floats]:
    """Draw rows from large datasets, and let the estimator check the columns before starting."""
    names = None if collection.feature_names is None else tuple(collection.feature_names)
    samples = []
    # Generators may be infinite.
    for dataset, rng in zip(collection, rngs, strict=False):
        X = draw_some(dataset.X, n_rows, rng)
        argument = f"dataset {dataset.name!r}"
        table = Table(X, names, argument)
        samples.append((model._open(table, argument) if model.has_sources else table).to_numpy())
    return samples


def draw_some(X: NDArray[Any], n_rows: int | None, rng: np.random.Generator) -> NDArray[Any]:
    """Draw `n_rows` rows if there are more; their order does not matter."""
    return X if n_rows is None or len(X) <= n_rows else X[draw_rows(X, n_rows, rng)]


def _warn_of_few_permutations(result: AllPairsResult, sizes: list[int], n_permutations: int) -> None:
    """Warn if no pair is significant, and there are too few permutations for that."""
    n_pairs = len(sizes) * (len(sizes) - 1) // 2
    # The largest datasets have the most permutations, and so the smallest possible p-value.
    *_, second, first = sorted(sizes)
    smallest = Exchange((first + second,), (first,)).smallest_p_value(n_permutations)
    adjusted = result.adjusted_p_values
    if smallest > LEVEL / n_pairs and adjusted is not None and not (adjusted <= LEVEL).any():
        needed = int(np.ceil(smallest * n_pairs / LEVEL))
        warn(
            f"The smallest p-value that {n_permutations} permutations of these datasets can give is {smallest:.2g}. "
            f"None of {n_pairs} pairs is significant at {LEVEL} after Benjamini and Hochberg's adjustment, and none "
            f"could be unless {needed} were at once. Use {int(np.ceil(n_pairs / LEVEL))} permutations, or compare "
            "fewer datasets."
        )


def _store(state: Checkpoint, block: Block, found: Floats, collection: Collection) -> None:
    i, j = block.pairs()
    bad = ~np.isfinite(found[:2]).all(0)
    for first, second, both in zip(i[bad], j[bad], found[:2, bad].T, strict=True):
        check_finite_result(f"The divergence of {collection.names[first]!r} and {collection.names[second]!r}", both)
    divergences = state.matrices["divergences"]
    divergences[i, j], divergences[j, i] = found[:2]
    for p_values in found[2:]:
        state.matrices["p_values"][i, j] = state.matrices["p_values"][j, i] = p_values
    state.n_done += 1
