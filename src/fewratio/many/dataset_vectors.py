"""Represent datasets by vectors whose distances suggest which datasets differ little, and search them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.blocks import row_blocks
from fewratio.core.kernels import gaussian_kernel, median_distance
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import ColumnScaling
from fewratio.estimators.closed_form.discriminant_model import DiscriminantModel
from fewratio.lazy import import_home

# Number of kernel centres, and the largest length of a vector.
_N_CENTRES, _LENGTH = 500, 64
# If the spread of a dataset, in units of the usual distance of rows, is smaller, or if it has one row, that distance is
# used instead.
_LEAST_SPREAD = 0.1
# The most datasets to learn axes from, and the number of datasets whose features are computed at a time.
_LEARNED_DATASETS, DATASETS = 5_000, 1_000
# More vectors need faiss, which rounds them; and how many candidates per neighbour to check again exactly.
MAX_EXACT, _LOOKED_AT_AGAIN = 20_000, 5


class Kernels(NamedTuple):
    """Two vectors per dataset: mean Gaussian kernels, and the mean in units of the spread.

    RuLSIF uses the median distance of a pair as width, so the distance of two means in units of the spread of the two
    datasets matters. Kernels with a common width do not measure that, but show where datasets lie.
    """

    mean: Floats
    scale: Floats
    centres: Floats
    width: Floats

    @classmethod
    def of(cls, rows: Floats, scale: str | ColumnScaling, rng: np.random.Generator) -> "Kernels":
        """Draw centres from rows."""
        scaling = ColumnScaling.of([rows], scale)
        centres = scaling(rows[rng.choice(len(rows), min(_N_CENTRES, len(rows)), replace=False)])
        return cls(*(np.asarray(each) for each in (scaling.mean, scaling.scale, centres, median_distance(centres))))

    def __call__(self, rows: Floats, sizes: Numbers) -> list[Floats]:
        """Return the features of datasets of these sizes, from their stacked rows: one array per kind of vector."""
        rows, width = (rows - self.mean) / self.scale, float(self.width)
        means = _means(rows, sizes)
        squares = np.square(rows - means.repeat(sizes, axis=0)).sum(1, keepdims=True)
        # The root of the mean squared distance of two rows.
        spreads = np.sqrt(2 * _means(squares, sizes) * (sizes / (sizes - 1).clip(min=1))[:, None])
        spreads = np.where(spreads > _LEAST_SPREAD * width, spreads, width)
        return [_means(gaussian_kernel(rows, self.centres, width), sizes), (means - self.centres.mean(0)) / spreads]

    @property
    def candidates(self) -> tuple[int, ...]:
        """How many datasets to compare per neighbour, for each kind of vector."""
        return 5, 15

    def roots(self) -> list[Floats]:
        """Return the factors that turn inner products of the first kind of features into kernels (Nystrom)."""
        values, vectors = np.linalg.eigh(gaussian_kernel(self.centres, self.centres, float(self.width)))
        kept = values > 1e-8 * values[-1]
        return [vectors[:, kept] / np.sqrt(values[kept]), np.eye(self.centres.shape[1])]


class ModelCoordinates(NamedTuple):
    """The mean of the coordinates of a closed-form learner."""

    model: DiscriminantModel

    def __call__(self, rows: Floats, sizes: Numbers) -> list[Floats]:
        """Return the features of datasets of these sizes, from their stacked rows."""
        return [_means(self.model(rows), sizes)]

    @property
    def candidates(self) -> tuple[int, ...]:
        """How many datasets to compare per neighbour."""
        return (10,)

    def roots(self) -> list[Floats]:
        """Return the factors that weight coordinates by how much datasets differ in them."""
        return [np.diag(np.sqrt(self.model.posterior.signal / (1 + self.model.posterior.signal)))]


@dataclass(frozen=True, eq=False)
class DatasetVectors:
    """Compute the vectors of datasets: features projected on the principal axes of many datasets.

    Attributes
    ----------
    features : Kernels or ModelCoordinates
    origins, axes : list of ndarray
        For each kind of vector, the origin to subtract from the features, and the axes to multiply them by.
    """

    features: Kernels | ModelCoordinates
    origins: list[Floats]
    axes: list[Floats]

    @classmethod
    def learn(
        cls, features: Kernels | ModelCoordinates, samples: list[Floats], rng: np.random.Generator
    ) -> "DatasetVectors":
        """Learn axes from samples of datasets."""
        if len(samples) > _LEARNED_DATASETS:
            samples = [samples[i] for i in rng.choice(len(samples), _LEARNED_DATASETS, replace=False)]
        blocks = [_compute_features(features, samples[block]) for block in row_blocks(len(samples), 1, DATASETS)]
        origins, axes = [], []
        for parts, root in zip(zip(*blocks, strict=True), features.roots(), strict=True):
            values = np.concatenate(parts)
            origins.append(values.mean(0))
            _, _, directions = np.linalg.svd((values - origins[-1]) @ root, full_matrices=False)
            axes.append(root @ directions[:_LENGTH].T)
        return cls(features, origins, axes)

    def __call__(self, samples: list[Floats]) -> list[NDArray[np.float32]]:
        """Return the vectors of samples, one array per kind."""
        kinds = zip(_compute_features(self.features, samples), self.origins, self.axes, strict=True)
        return [((values - origin) @ axes).astype(np.float32) for values, origin, axes in kinds]


class ExactSearcher(NamedTuple):
    """Search for the nearest vectors by comparing all of them."""

    vectors: NDArray[np.float32]

    def search(self, vectors: NDArray[np.float32], k: int) -> tuple[Floats, Numbers]:
        """Return squared distances and numbers of the k nearest vectors, like faiss."""
        distances = np.square(self.vectors - vectors[:, None]).sum(-1)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(distances, nearest, axis=1), nearest


def make_searcher(vectors: NDArray[np.float32]) -> Any:
    """Make a searcher. Many vectors are rounded to 16 values per axis, and the nearest are checked again exactly."""
    if len(vectors) <= MAX_EXACT:
        return ExactSearcher(vectors)
    faiss: Any = import_home("faiss", "DatasetIndex")
    length = vectors.shape[1]
    searcher = faiss.index_factory(length, f"PQ{length}x4fs,RFlat")
    searcher.k_factor = _LOOKED_AT_AGAIN
    searcher.train(vectors)
    searcher.add(vectors)
    return searcher


def _compute_features(features: Kernels | ModelCoordinates, samples: list[Floats]) -> list[Floats]:
    sizes = np.array([len(sample) for sample in samples])
    return features(np.concatenate(samples, dtype=np.float64), sizes)


def _means(values: Floats, sizes: Numbers) -> Floats:
    """Return the mean of the rows of each dataset."""
    return np.add.reduceat(values, np.cumsum(sizes) - sizes) / sizes[:, None]
