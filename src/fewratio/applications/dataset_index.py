"""An index of many datasets: which of them differ least from a table, without comparing it with each."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from fewratio.applications import inputs
from fewratio.applications.all_pairs import drawn_rows, samples_of
from fewratio.applications.pair_blocks import PairTest
from fewratio.applications.permutation import both_directions
from fewratio.core.kernels import gaussian_kernel, median_distance
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.tensorfile import Arrays, read_tensors, write_tensors
from fewratio.data.collection import Collection
from fewratio.data.columns import counted, listed
from fewratio.data.encoding import ColumnOptions, Encoding
from fewratio.errors import CollectionError, ParameterError
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.discriminant import DiscriminantRatioEstimator
from fewratio.estimators.discriminant_model import DiscriminantModel
from fewratio.estimators.learned_file import columns_of, header_of, refused_if_unfit
from fewratio.estimators.least_squares import RuLSIF
from fewratio.estimators.scaling import ColumnScaling
from fewratio.estimators.source_columns import SourceColumns, as_sources
from fewratio.lazy import import_home
from fewratio.progress import progress_bar

# Kernel centres whose kernels are averaged over a dataset, and length of the vector that is made of them.
_N_CENTRES, _LENGTH = 500, 64
# Rows that units and centres, and datasets that axes are learned from.
_LEARNED_ROWS, _LEARNED_DATASETS = 100_000, 5_000
# For each neighbour asked for, vectors whose datasets are compared; and how many at least.
_CANDIDATES, _MIN_CANDIDATES = 10, 100
# More vectors than that are rounded; and how many times the candidates are looked at again as they are.
_MAX_EXACT, _LOOKED_AT_AGAIN = 20_000, 5
# Datasets that are made vectors of at a time, and those compared at a time: kernels of all their rows are taken.
_BLOCK, _COMPARED_ROWS = 1_000, 128
_KIND = "index"


@dataclass(frozen=True, eq=False, repr=False)
class Neighbours:
    """What a search found, the nearest first.

    Attributes
    ----------
    names : tuple of str
        The datasets.
    divergences : ndarray of shape (k,)
        The mean of both directions' divergence from the table; 0 where the estimate is negative.
    p_values : ndarray of shape (k,) or None
        Permutation p-values, not adjusted; None if not asked for.
    """

    names: tuple[str, ...]
    divergences: Floats
    p_values: Floats | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings and lists."""
        return inputs.plain(self, "names", "divergences", "p_values")

    def __repr__(self) -> str:
        found = ", ".join(f"{name} {value:.3g}" for name, value in zip(self.names, self.divergences, strict=True))
        return f"Neighbours({found})"


class DatasetIndex:
    """Find the datasets that differ least from a table among very many.

    Each dataset becomes a vector, the mean of kernel features of its rows, or of the coordinates that a
    `DiscriminantRatioEstimator` has learned. The nearest vectors are looked up (with the library faiss), and their
    datasets are compared with the table as `compare_all` would. Make one with `build` or `load`.

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

    def __init__(
        self, estimator: RatioEstimator, columns: SourceColumns, vectors: "_Vectors", n_rows: int | None, seed: int
    ) -> None:
        self._estimator, self._columns, self._vectors_of = estimator, columns, vectors
        self._n_rows, self._seed = n_rows, seed
        self._names: list[str] = []
        self._samples: list[Floats] = []
        self._vectors: list[NDArray[np.float32]] = []
        self._searcher: Any = None

    @classmethod
    def build(
        cls,
        collection: Collection | Iterable[Any] | Mapping[Any, Any],
        estimator: RatioEstimator | None = None,
        n_rows: int | None = 100,
        random_state: int | np.random.Generator | None = 0,
        progress: bool | None = None,
        **columns: Unpack[ColumnOptions],
    ) -> Self:
        """Make an index of a collection.

        Units, kernel centres and axes are learned from up to 100,000 of its rows and 5,000 of its datasets, and stay
        as they are when datasets are added.

        Parameters
        ----------
        collection : Collection, or what `Collection.from_arrays` takes
            The datasets. Their sizes may differ.
        estimator : RatioEstimator, optional
            What compares datasets. Default: ``RuLSIF(scale="columns")``, in units of all rows together. A learned one
            must be pretrained.
        n_rows : int or None, default=100
            Of a larger dataset so many rows are drawn, once; None for all rows.
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
        seed = int(inputs.as_rng(random_state).integers(2**63))
        for_estimator, for_rows, for_vectors = np.random.default_rng(seed).spawn(3)
        model = inputs.seeded_copy(estimator, inputs.default_estimator(), for_estimator)
        dtype = collection[0].X.dtype
        samples = [sample.astype(dtype) for sample in samples_of(collection, model, n_rows, for_rows)]
        rows = np.concatenate(samples)
        if len(rows) > _LEARNED_ROWS:
            rows = rows[for_vectors.choice(len(rows), _LEARNED_ROWS, replace=False)]
        model = inputs.in_common_units(model, rows)
        vectors = _Vectors.learn(_features(model, rows, for_vectors), samples, for_vectors)
        index = cls(model, SourceColumns.of(collection), vectors, n_rows, seed)
        index._append(collection.names, samples, progress)
        return index

    def add(self, tables: Mapping[str, Any], progress: bool | None = None) -> Self:
        """Add datasets, whose columns are encoded as those of the others; the others are not gone over again.

        Parameters
        ----------
        tables : mapping of str to array-like
            Tables by names that the index does not have yet.
        progress : bool, optional
            Whether to show a progress bar; by default on a terminal.
        """
        if not isinstance(tables, Mapping):
            found = f"tables is a {type(tables).__name__}"
            raise ParameterError(f"{found}; needed are tables by their names. Pass a dict such as {{'name': table}}.")
        known = sorted(set(map(str, tables)) & set(self._names))
        if known:
            raise CollectionError(f"the index has {listed(known)} already; each needs a name of its own. Rename them.")
        samples = [self._sample(X, f"dataset {str(name)!r}") for name, X in tables.items()]
        self._append(list(map(str, tables)), samples, progress)
        return self

    def search(self, table: Any, k: int = 10, n_permutations: int = 0) -> Neighbours:
        """Give the datasets that differ least from a table; if it is in the index itself, it comes first.

        Parameters
        ----------
        table : array-like of shape (n, n_features)
            The table.
        k : int, default=10
            How many at most.
        n_permutations : int, default=0
            Permutations for the p-value of each, as in `compare_datasets`; 0 for none.
        """
        inputs.check_count("k", k)
        inputs.check_count("n_permutations", n_permutations, 0)
        sample = self._sample(table, "table")
        if self._searcher is None:
            self._searcher = _searcher(np.concatenate(self._vectors))
        wanted = min(max(_CANDIDATES * k, _MIN_CANDIDATES), len(self))
        near = self._searcher.search(self._vectors_of([sample]), wanted)[1][0]
        # An estimate below zero is noise; the vectors, nearest first, decide between such datasets.
        divergences = self._divergences(sample, near).clip(min=0)
        order = np.argsort(divergences, kind="stable")[:k]
        nearest, p_values = near[order].tolist(), None
        if n_permutations:
            encoding = self._columns.encoding or Encoding.of_numbers(None, self._columns.n_features)
            test = PairTest(list(encoding.places.values()), None, n_permutations, self._seed)
            p_values = np.array([test.p_value(sample, self._samples[i], [i]) for i in nearest])
        return Neighbours(tuple(self._names[i] for i in nearest), divergences[order], p_values)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the datasets."""
        return tuple(self._names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index, with the rows of its datasets, to a file: safetensors with a JSON header and a checksum.

        Parameters
        ----------
        path : path
            Where to; a file that is there is replaced once the new one is complete.
        """
        model, features = self._estimator, self._vectors_of.features
        if isinstance(model, DiscriminantRatioEstimator):
            arrays, header = model._payload()
        elif isinstance(model, RuLSIF) and isinstance(features, _Kernels):
            # Units of columns are those of the kernels.
            parameters = model.get_params() | ({} if isinstance(model.scale, str) else {"scale": None})
            arrays, header = features._asdict(), header_of("RuLSIF", self._columns, parameters)
        else:
            raise ParameterError(
                f"This index compares with a {type(model).__name__}, which its file cannot hold; needed is the default "
                "or a DiscriminantRatioEstimator. Build it with one of these."
            )
        own = {
            "origin": self._vectors_of.origin,
            "principal_axes": self._vectors_of.axes,
            "rows": np.concatenate(self._samples),
            "sizes": np.array([len(sample) for sample in self._samples]),
            "vectors": np.concatenate(self._vectors),
        }
        header |= {"names": self._names, "n_rows": self._n_rows, "seed": self._seed}
        write_tensors(path, _KIND, own | {f"estimator.{name}": array for name, array in arrays.items()}, header)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an index that `save` wrote. Nothing in the file is executed.

        Parameters
        ----------
        path : path
            The file.
        """
        arrays, header = read_tensors(path, _KIND, finite=True)
        with refused_if_unfit(path, cls.__name__):
            of_model = {name: arrays.pop(name) for name in list(arrays) if name.startswith("estimator.")}
            of_model = {name.partition(".")[2]: array for name, array in of_model.items()}
            model, features = _restored(of_model, header)
            index = cls(
                model,
                columns_of(header),
                _Vectors(features, arrays["origin"], arrays["principal_axes"]),
                header["n_rows"],
                int(header["seed"]),
            )
            ends, names = np.cumsum(arrays["sizes"]), list(map(str, header["names"]))
            if not len(ends) == len(arrays["vectors"]) == len(set(names)) or ends[-1] != len(arrays["rows"]):
                raise ValueError("it does not have a name, a vector and rows of each dataset")
            index._names, index._vectors = names, [arrays["vectors"]]
            index._samples = np.split(arrays["rows"], ends[:-1])
        return index

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"DatasetIndex({counted(len(self), 'dataset')})"

    def _sample(self, table: Any, argument: str) -> Floats:
        numbers = as_sources(self._columns, table, argument, sources="the index").numbers
        return drawn_rows(numbers, self._n_rows, np.random.default_rng(self._seed))

    def _append(self, names: Sequence[str], samples: list[Floats], progress: bool | None) -> None:
        vectors = []
        with progress_bar(len(samples), "indexing", progress) as report:
            for block in gen_batches(len(samples), _BLOCK) if samples else ():
                vectors.append(self._vectors_of(samples[block]))
                report(block.stop, None)
        self._names += names
        self._samples += samples
        self._vectors += vectors
        self._searcher = None

    def _divergences(self, sample: Floats, numbers: Numbers) -> Floats:
        """Give the mean divergence of both directions between a sample and each of these datasets."""
        found = np.empty(len(numbers))
        sizes = np.array([len(self._samples[i]) for i in numbers])
        for size in np.unique(sizes).tolist():
            alike = np.flatnonzero(sizes == size)
            for batch in gen_batches(len(alike), max(1, _COMPARED_ROWS // size)):
                others = np.concatenate([self._samples[numbers[i]] for i in alike[batch]])
                of_others = len(sample) + np.arange(len(others)).reshape(-1, size)
                of_sample = np.tile(np.arange(len(sample)), (len(of_others), 1))
                rows = np.concatenate([sample, others], dtype=np.float64)
                found[alike[batch]] = both_directions(self._estimator, rows, of_sample, of_others).mean(0)
        return found


class _Kernels(NamedTuple):
    """Gaussian kernels of rows with some of them, in units of columns."""

    mean: Floats
    scale: Floats
    centres: Floats
    width: Floats

    @classmethod
    def of(cls, rows: Floats, scale: str | ColumnScaling, rng: np.random.Generator) -> "_Kernels":
        scaling = ColumnScaling.of([rows], scale)
        centres = scaling(rows[rng.choice(len(rows), min(_N_CENTRES, len(rows)), replace=False)])
        return cls(*(np.asarray(each) for each in (scaling.mean, scaling.scale, centres, median_distance(centres))))

    def __call__(self, rows: Floats) -> Floats:
        return gaussian_kernel((rows - self.mean) / self.scale, self.centres, float(self.width))

    def root(self) -> Floats:
        """Give what to multiply by, so that inner products are kernels (Nystrom)."""
        values, vectors = np.linalg.eigh(gaussian_kernel(self.centres, self.centres, float(self.width)))
        kept = values > 1e-8 * values[-1]
        return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


class _Learned(NamedTuple):
    """The coordinates of a closed-form learner."""

    model: DiscriminantModel

    def __call__(self, rows: Floats) -> Floats:
        return self.model(rows)

    def root(self) -> Floats:
        """Give what to multiply by, so that coordinates count by how much datasets differ in them."""
        return np.diag(np.sqrt(self.model.posterior.signal / (1 + self.model.posterior.signal)))


@dataclass(frozen=True, eq=False)
class _Vectors:
    """The vector of a dataset: the mean of its rows' features, on the principal axes of such means."""

    features: _Kernels | _Learned
    origin: Floats
    axes: Floats

    @classmethod
    def learn(cls, features: _Kernels | _Learned, samples: list[Floats], rng: np.random.Generator) -> "_Vectors":
        if len(samples) > _LEARNED_DATASETS:
            samples = [samples[i] for i in rng.choice(len(samples), _LEARNED_DATASETS, replace=False)]
        means = np.concatenate([_means(features, samples[block]) for block in gen_batches(len(samples), _BLOCK)])
        origin, root = means.mean(0), features.root()
        _, _, axes = np.linalg.svd((means - origin) @ root, full_matrices=False)
        return cls(features, origin, root @ axes[:_LENGTH].T)

    def __call__(self, samples: list[Floats]) -> NDArray[np.float32]:
        return ((_means(self.features, samples) - self.origin) @ self.axes).astype(np.float32)


def _means(features: _Kernels | _Learned, samples: list[Floats]) -> Floats:
    """Give the mean of the rows' features of each sample."""
    sizes = np.array([len(sample) for sample in samples])
    starts = np.cumsum(sizes) - sizes
    return np.add.reduceat(features(np.concatenate(samples, dtype=np.float64)), starts) / sizes[:, None]


def _features(model: RatioEstimator, rows: Floats, rng: np.random.Generator) -> _Kernels | _Learned:
    if isinstance(model, DiscriminantRatioEstimator):
        return _Learned(model.model_)
    return _Kernels.of(rows, model.get_params().get("scale", "columns"), rng)


def _restored(arrays: Arrays, header: dict[str, Any]) -> tuple[RatioEstimator, _Kernels | _Learned]:
    """Undo what `DatasetIndex.save` made of an estimator and its features."""
    if header["estimator"] != "RuLSIF":
        model = DiscriminantRatioEstimator._of_payload(arrays, header)
        return model, _Learned(model.model_)
    kernels = _Kernels(**arrays)
    parameters = header["parameters"]
    estimator = RuLSIF(**parameters | {"scale": parameters["scale"] or ColumnScaling(kernels.mean, kernels.scale)})
    estimator._check_parameters()
    return estimator, kernels


def _searcher(vectors: NDArray[np.float32]) -> Any:
    """Give an index of vectors. Many are rounded to 16 values per axis, and the nearest looked at again."""
    faiss: Any = import_home("faiss", "DatasetIndex")
    length = vectors.shape[1]
    if len(vectors) <= _MAX_EXACT:
        searcher = faiss.IndexFlatL2(length)
    else:
        searcher = faiss.index_factory(length, f"PQ{length}x4fs,RFlat")
        searcher.k_factor = _LOOKED_AT_AGAIN
        searcher.train(vectors)
    searcher.add(vectors)
    return searcher
