"""Search many datasets for those that differ least from a table, without comparing it with each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from fewratio.core.blocks import row_blocks
from fewratio.core.container import Arrays, Fields, Stored
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import ColumnScaling
from fewratio.core.wording import write_count
from fewratio.data.collection import Collection
from fewratio.data.columns import ColumnOptions
from fewratio.data.encoding import Encoding
from fewratio.errors import ParameterError, name_parameter
from fewratio.estimators import samples as inputs
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.closed_form.discriminant import DiscriminantRatioEstimator
from fewratio.estimators.kernel.least_squares import RuLSIF
from fewratio.estimators.learned_file import join_parts, make_header, read_source_columns, select_part
from fewratio.estimators.source_columns import SourceColumns
from fewratio.lazy import import_home
from fewratio.many.all_pairs import draw_samples, draw_some
from fewratio.many.dataset_vectors import DATASETS, MAX_EXACT, DatasetVectors, Kernels, ModelCoordinates, make_searcher
from fewratio.many.novelty import ColumnOfDataset, find_outside
from fewratio.many.pair_blocks import PairTest
from fewratio.progress import progress_bar
from fewratio.report.reported import make_plain
from fewratio.testing.permutations import compute_divergences

# The most rows to learn units and kernel centres from.
_LEARNED_ROWS = 100_000
# Compare at least as many datasets as for this many neighbours.
_MIN_NEIGHBOURS = 10
# Up to this many datasets are compared one by one, which takes a few tenths of a second.
_FEW_DATASETS = 5_000
# Rows of datasets to compare at a time.
_COMPARED_ROWS = 4_096
# The arrays in a file for each kind of vectors.
_ARRAYS = "origin", "axes", "vectors"


@dataclass(frozen=True, eq=False, repr=False)
class Neighbours:
    """Result of `DatasetIndex.search`, the nearest datasets first.

    Attributes
    ----------
    names : tuple of str
        Names of the datasets.
    divergences : ndarray of shape (k,)
        The divergence of each dataset from the table, averaged over both directions; 0 if the estimate is negative.
    p_values : ndarray of shape (k,) or None
        Unadjusted permutation p-values; None without a test.
    outside : tuple of ColumnOfDataset
        The columns whose mean in the table is outside the range of their means in all datasets, the farthest first;
        they may have another unit, for example. Empty if more than 5,000 datasets are searched.
    """

    names: tuple[str, ...]
    divergences: Floats
    p_values: Floats | None = None
    outside: tuple[ColumnOfDataset, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings and lists."""
        return make_plain(self, "names", "divergences", "p_values", "outside")

    def __repr__(self) -> str:
        found = ", ".join(f"{name} {value:.3g}" for name, value in zip(self.names, self.divergences, strict=True))
        return f"Neighbours({found})"


class DatasetIndex(Stored):
    """Find those of many datasets that differ least from a table.

    Each dataset is represented by two vectors, the mean of kernel features of its rows and its mean in units of its
    spread, or by one, the mean of the coordinates that a `DiscriminantRatioEstimator` has learned. The datasets with
    the nearest vectors (found with the library faiss if there are more than 20,000) are compared with the table as in
    `compare_all`. Up to 5,000 datasets are compared one by one. Make an index with `build` or `load`; the file that
    `save` writes contains rows.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import DatasetIndex
    >>> rng = np.random.default_rng(0)
    >>> index = DatasetIndex.build({f"site {i}": rng.normal(i, 1, (5, 2)) for i in range(30)})
    >>> index
    DatasetIndex(30 datasets)
    >>> index.search(rng.normal(12, 1, (8, 2)), k=3).names
    ('site 12', 'site 11', 'site 13')
    """

    _kind = "index"
    _fields: ClassVar[Fields] = {
        **{"estimator": (str,), "parameters": (dict,), "names": (list,), "seed": (int,)},
        "rows_per_dataset": (int, type(None)),
    }

    def __init__(
        self, estimator: RatioEstimator, columns: SourceColumns, vectors: DatasetVectors, n_rows: int | None, seed: int
    ) -> None:
        self._estimator, self._columns, self._vectors_of = estimator, columns, vectors
        self._n_rows, self._seed = n_rows, seed
        self._names: list[str] = []
        self._samples: list[Floats] = []
        # For each kind of vector, blocks of datasets.
        self._vectors: list[list[NDArray[np.float32]]] = [[] for _ in vectors.axes]
        self._searchers: list[Any] = []

    @classmethod
    def build(
        cls,
        collection: Collection | Iterable[Any] | Mapping[Any, Any],
        *,
        estimator: RatioEstimator | None = None,
        n_rows: int | None = 100,
        random_state: int | np.random.Generator | None = 0,
        progress: bool | None = None,
        **columns: Unpack[ColumnOptions],
    ) -> Self:
        """Make an index of a collection.

        Units, kernel centres and axes are learned from at most 100,000 rows and 5,000 datasets of the collection, and
        do not change when datasets are added.

        Parameters
        ----------
        collection : Collection, or what `Collection.from_arrays` accepts
            The datasets. Their sizes may differ.
        estimator : RatioEstimator, optional
            Compares datasets. The default is ``RuLSIF(scale="columns")``, in units of all rows together. An estimator
            that learns from related datasets must be pretrained.
        n_rows : int or None, default=100
            Draw this many rows, once, from larger datasets; None for all rows.
        random_state : int, numpy Generator or None, default=0
            Draws rows and permutations.
        progress : bool, optional
            Whether to show a progress bar; by default on a terminal.
        **columns
            What to do with columns of data frames, as in `Collection.from_arrays`.
        """
        if n_rows is not None:
            inputs.check_count("n_rows", n_rows)
        if not isinstance(collection, Collection):
            collection = Collection.from_arrays(collection, **columns)
        if len(collection) > MAX_EXACT:
            # The search needs faiss; fail now rather than after building the index.
            import_home("faiss", "DatasetIndex")
        seed = int(inputs.as_rng(random_state).integers(2**63))
        for_estimator, _, for_vectors = np.random.default_rng(seed).spawn(3)
        model = inputs.copy_seeded(estimator, inputs.default_estimator(), for_estimator)._for_many_pairs()
        dtype = collection[0].X.dtype
        # All datasets use the same seed, so that the rows drawn depend only on the dataset, and a search finds it.
        rngs = (np.random.default_rng(seed) for _ in collection)
        samples = [sample.astype(dtype) for sample in draw_samples(collection, model, n_rows, rngs)]
        rows = np.concatenate(samples)
        if len(rows) > _LEARNED_ROWS:
            rows = rows[for_vectors.choice(len(rows), _LEARNED_ROWS, replace=False)]
        model = inputs.in_common_units(model, rows)
        vectors = DatasetVectors.learn(_make_features(model, rows, for_vectors), samples, for_vectors)
        index = cls(model, SourceColumns.of(collection), vectors, n_rows, seed)
        index._append(collection.names, samples, progress)
        return index

    def add(self, tables: Mapping[str, Any], *, progress: bool | None = None) -> Self:
        """Add datasets to the index; their columns are encoded like those of the others.

        Parameters
        ----------
        tables : mapping of str to array-like
            Tables by name; the names must be new to the index.
        progress : bool, optional
            Whether to show a progress bar; by default on a terminal.
        """
        inputs.check_named("tables", tables, self._names, "the index")
        samples = [self._sample(X, f"dataset {str(name)!r}") for name, X in tables.items()]
        self._append(list(map(str, tables)), samples, progress)
        return self

    def search(
        self, table: Any, k: int = 10, *, n_permutations: int | None = None, n_compared: int | None = None
    ) -> Neighbours:
        """Return the datasets that differ least from a table; a table in the index finds itself first.

        Parameters
        ----------
        table : array-like of shape (n, n_features)
            The table.
        k : int, default=10
            The most datasets to return.
        n_permutations : int, optional
            Permutations for the p-value of each, as in `compare_datasets`. By default, or with 0, there is no test.
        n_compared : int, optional
            How many datasets, those with the nearest vectors, to compare with the table. A larger number is slower
            but misses fewer neighbours; ``len(index)`` misses none. By default, all of up to 5,000 datasets are
            compared, otherwise 20 (10 with a learned model) times k, with k at least ten.
        """
        inputs.check_count("k", k)
        n_permutations = 0 if n_permutations is None else n_permutations
        inputs.check_count("n_permutations", n_permutations, 0)
        if n_compared is not None:
            inputs.check_count("n_compared", n_compared)
            if n_compared < min(k, len(self)):
                found = f"{name_parameter('n_compared')} is {n_compared} and {name_parameter('k')} is {k}"
                raise ParameterError(f"{found}; at least k datasets must be compared. Raise it, or lower k.")
        sample = self._sample(table, "table")
        candidates = self._candidates(sample, k, n_compared)
        # Negative estimates are noise: set them to 0, so that these datasets stay in the order of their vectors.
        divergences = self._divergences(sample, candidates).clip(min=0)
        order = np.argsort(divergences, kind="stable")[:k]
        nearest, p_values = candidates[order].tolist(), None
        if n_permutations:
            encoding = self._columns.encoding or Encoding.of_numbers(None, self._columns.n_features)
            test = PairTest(list(encoding.places.values()), None, n_permutations, self._seed)
            p_values = np.array([test.run(sample, self._samples[i], [i]).p_value for i in nearest])
        return Neighbours(tuple(self._names[i] for i in nearest), divergences[order], p_values, self._outside(sample))

    def _outside(self, sample: Floats) -> tuple[ColumnOfDataset, ...]:
        if len(self) > _FEW_DATASETS:
            return ()
        labels = self._columns.names or range(self._columns.n_features)
        return tuple(find_outside([*self._samples, sample], labels))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the datasets."""
        return tuple(self._names)

    def _payload(self) -> tuple[Arrays, dict[str, Any]]:
        model, features = self._estimator, self._vectors_of.features
        if isinstance(model, DiscriminantRatioEstimator):
            arrays, header = model._payload()
        elif isinstance(model, RuLSIF) and isinstance(features, Kernels):
            # The kernels contain the units of columns.
            parameters = model.get_params() | ({} if isinstance(model.scale, str) else {"scale": None})
            arrays, header = features._asdict(), make_header("RuLSIF", self._columns, parameters)
        else:
            raise ParameterError(
                f"This index compares with {type(model).__name__}(), which its file cannot hold; expected the default "
                "or a DiscriminantRatioEstimator. Build it with one of these."
            )
        own = {"rows": np.concatenate(self._samples), "sizes": np.array([len(sample) for sample in self._samples])}
        own |= {f"estimator.{name}": array for name, array in arrays.items()}
        kinds = zip(self._vectors_of.origins, self._vectors_of.axes, map(np.concatenate, self._vectors), strict=True)
        parts: list[Arrays] = [dict(zip(_ARRAYS, kind, strict=True)) for kind in kinds]
        header |= {"names": self._names, "rows_per_dataset": self._n_rows, "seed": self._seed}
        return own | join_parts(parts), header

    @classmethod
    def _of_payload(cls, arrays: Arrays, header: dict[str, Any], **changes: Any) -> Self:
        of_model = {name.partition(".")[2]: arrays[name] for name in arrays if name.startswith("estimator.")}
        model, features = _restore(of_model, header)
        parts = [select_part(arrays, number) for number in range(len(features.candidates))]
        origins, axes, vectors = ([part[name] for part in parts] for name in _ARRAYS)
        vectors_of = DatasetVectors(features, origins, axes)
        found = cls(model, read_source_columns(header), vectors_of, header["rows_per_dataset"], header["seed"])
        ends, names = np.cumsum(arrays["sizes"]), list(map(str, header["names"]))
        if {len(ends), len(set(names))} != set(map(len, vectors)) or ends[-1] != len(arrays["rows"]):
            raise ValueError("it does not have a name, vectors and rows of each dataset")
        found._names, found._vectors = names, [[each] for each in vectors]
        found._samples = np.split(arrays["rows"], ends[:-1])
        return found

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"DatasetIndex({write_count(len(self), 'dataset')})"

    def _sample(self, table: Any, argument: str) -> Floats:
        numbers = self._columns.encode(table, argument, sources="the index").numbers
        return draw_some(numbers, self._n_rows, np.random.default_rng(self._seed))

    def _append(self, names: Sequence[str], samples: list[Floats], progress: bool | None) -> None:
        vectors = []
        with progress_bar(len(samples), "indexing", progress) as report:
            for batch in row_blocks(len(samples), 1, DATASETS):
                vectors.append(self._vectors_of(samples[batch]))
                report(batch.stop, None)
        self._names += names
        self._samples += samples
        for block in vectors:
            for known, new in zip(self._vectors, block, strict=True):
                known.append(new)
        self._searchers = []

    def _candidates(self, sample: Floats, k: int, n_compared: int | None) -> Numbers:
        """Return the datasets to compare with a sample, those with the nearest vectors first."""
        self._searchers = self._searchers or [make_searcher(np.concatenate(blocks)) for blocks in self._vectors]
        per_neighbour = self._vectors_of.features.candidates
        is_exact_number = n_compared is not None or len(self) <= _FEW_DATASETS
        if n_compared is None:
            n_compared = len(self) if is_exact_number else max(k, _MIN_NEIGHBOURS) * sum(per_neighbour)
        n_compared = min(n_compared, len(self))
        first: list[int] = []
        others: list[int] = []
        for searcher, vector, number in zip(self._searchers, self._vectors_of([sample]), per_neighbour, strict=True):
            share = -(-number * n_compared // sum(per_neighbour))
            # Datasets found by several kinds of vectors count once, so more candidates of each kind are needed.
            nearest = searcher.search(vector, n_compared if is_exact_number else share)[1][0].tolist()
            first += nearest[:share]
            others += nearest[share:]
        return np.array(list(dict.fromkeys(first + others))[:n_compared])

    def _divergences(self, sample: Floats, numbers: Numbers) -> Floats:
        """Return the mean divergence of both directions between a sample and each of these datasets."""
        found = np.empty(len(numbers))
        sizes = np.array([len(self._samples[i]) for i in numbers])
        for size in np.unique(sizes).tolist():
            alike = np.flatnonzero(sizes == size)
            for batch in row_blocks(len(alike), size, _COMPARED_ROWS):
                others = np.concatenate([self._samples[numbers[i]] for i in alike[batch]])
                of_others = len(sample) + np.arange(len(others)).reshape(-1, size)
                of_sample = np.tile(np.arange(len(sample)), (len(of_others), 1))
                rows = np.concatenate([sample, others], dtype=np.float64)
                found[alike[batch]] = compute_divergences(self._estimator, rows, of_sample, of_others).mean(0)
        return found


def _make_features(model: RatioEstimator, rows: Floats, rng: np.random.Generator) -> Kernels | ModelCoordinates:
    if isinstance(model, DiscriminantRatioEstimator):
        return ModelCoordinates(model.model_)
    return Kernels.of(rows, model.get_params().get("scale", "columns"), rng)


def _restore(arrays: Arrays, header: dict[str, Any]) -> tuple[RatioEstimator, Kernels | ModelCoordinates]:
    """Restore the estimator and features that `DatasetIndex.save` stored."""
    if header["estimator"] != "RuLSIF":
        model = DiscriminantRatioEstimator._of_payload(arrays, header)
        return model, ModelCoordinates(model.model_)
    kernels = Kernels(**arrays)
    parameters = header["parameters"]
    estimator = RuLSIF(**parameters | {"scale": parameters["scale"] or ColumnScaling(kernels.mean, kernels.scale)})
    estimator._check_parameters()
    return estimator, kernels
