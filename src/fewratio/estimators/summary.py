"""Sources as sums: what a closed-form learner needs of related datasets, additive and without their rows."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fewratio.core.shapes import Floats
from fewratio.errors import InputError
from fewratio.estimators.scaling import ColumnScaling

# Values of a block of features: about 30 MB as float64.
_BLOCK_VALUES = 2**22
# Spreads of datasets are counted on a grid of logarithms, 32 bins per factor of e, from e^-20 to e^20.
_BINS_PER_UNIT, _LARGEST_LOG = 32, 20
_N_BINS = 2 * _LARGEST_LOG * _BINS_PER_UNIT + 1
# So many means are kept as they are, however few features there are.
_MOST_MEANS = 64


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """What rows become before their moments are taken: columns in common units, or random cosines of them (Eq. D1).

    Attributes
    ----------
    scaling : ColumnScaling
        Origin and unit of each column.
    n_components : int
        Number of random Fourier features; 0 for the columns themselves.
    width : float
        Width of the Gaussian kernel that the features approximate.
    seed : int
        Seed of the random features: they are the same wherever they are drawn.
    """

    scaling: ColumnScaling
    n_components: int = 0
    width: float = 1.0
    seed: int = 0

    @property
    def n_outputs(self) -> int:
        """Number of features."""
        return self.n_components or np.size(self.scaling.mean)

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """Kind of numbers that the features are: cosines are in single precision."""
        return np.float32 if self.n_components else np.float64

    @cached_property
    def _waves(self) -> tuple[np.ndarray, np.ndarray]:
        # The stream of RandomState is frozen (NEP 19), so that maps with one seed agree between versions of NumPy.
        draws = np.random.RandomState(self.seed)
        directions = draws.standard_normal((np.size(self.scaling.mean), self.n_components)) / self.width
        phases = draws.uniform(0, 2 * np.pi, self.n_components)
        return directions.astype(np.float32), phases.astype(np.float32)

    def __call__(self, rows: Floats) -> np.ndarray:
        """Give the features of rows."""
        scaled = self.scaling(rows)
        if not self.n_components:
            return scaled
        directions, phases = self._waves
        waves = scaled.astype(np.float32) @ directions
        waves += phases
        return np.cos(waves, out=waves)

    def blocks(self, rows: Floats) -> Iterator[np.ndarray]:
        """Give the features of rows a block at a time, so that memory stays bounded."""
        step = max(1, _BLOCK_VALUES // self.n_outputs)
        return (self(rows[start : start + step]) for start in range(0, len(rows), step))

    @cached_property
    def fingerprint(self) -> str:
        """What tells this map from others: summaries of different maps cannot be added."""
        digest = hashlib.sha256(repr((self.n_components, float(self.width), self.seed)).encode())
        for array in (self.scaling.mean, self.scaling.scale):
            digest.update(np.ascontiguousarray(array, dtype=np.float64).tobytes())
        return digest.hexdigest()


def _outer(blocks: Sequence[np.ndarray]) -> np.ndarray:
    """Give the sum of outer products of the rows of all blocks."""
    rows = np.concatenate(blocks)
    return rows.T @ rows


def _bin(variance: float) -> int:
    place = round((np.log(max(variance, 1e-300)) + _LARGEST_LOG) * _BINS_PER_UNIT)
    return min(max(place, 0), _N_BINS - 1)


@dataclass(frozen=True, eq=False)
class Summary:
    """Sums over one or more source datasets; those of different datasets add up.

    ``a + b`` is the summary of the sources of both, ``a - b`` undoes that. No rows are kept, but a summary of very few
    rows nearly is those rows.

    Attributes
    ----------
    map_id : str
        Fingerprint of the feature map.
    n_sources, n_rows : int
        Numbers of datasets and of their rows.
    inverse_sizes : float
        Sum of 1 / n over the datasets.
    mean_sum : ndarray of shape (H,)
        Sum of the datasets' means.
    factor, signs : ndarray of shape (r, H) and (r,)
        The sum of outer products of the means is ``factor.T @ diag(signs) @ factor``.
    scatter : ndarray of shape (H, H)
        Sum of outer products of rows less their dataset's mean.
    spreads : ndarray of int
        Counts of the datasets by their mean variance, on a fixed logarithmic grid.
    """

    map_id: str
    n_sources: int
    n_rows: int
    inverse_sizes: float
    mean_sum: Floats
    factor: Floats
    signs: Floats
    scatter: Floats
    spreads: np.ndarray

    @classmethod
    def of_rows(cls, rows: Floats, features: FeatureMap) -> "Summary":
        """Sum up one dataset."""
        return cls.of_many([rows], features)

    @classmethod
    def of_many(cls, datasets: Iterable[Floats], features: FeatureMap) -> "Summary":
        """Sum up datasets one after the other, in the memory of one summary and a block of features."""
        total = cls.nothing(features)
        scatter, spreads, mean_sum = total.scatter, total.spreads, total.mean_sum
        sizes: list[int] = []
        means: list[Floats] = []
        centred: list[np.ndarray] = []
        n_values = 0
        for rows in datasets:
            n, moved, squares = len(rows), np.zeros(features.n_outputs), 0.0
            origin = None
            for block in features.blocks(rows):
                if origin is None:
                    origin = block.mean(0, dtype=np.float64)
                block -= origin.astype(block.dtype)
                moved += block.sum(0, dtype=np.float64)
                squares += float(np.square(block).sum(dtype=np.float64))
                centred.append(block)
                # Products of large matrices are faster than many of small ones.
                n_values += block.size
                if n_values >= _BLOCK_VALUES:
                    scatter += _outer(centred)
                    centred, n_values = [], 0
            assert origin is not None
            moved /= n
            if n * features.n_outputs > _BLOCK_VALUES:
                # The first block's mean was not yet that of all.
                scatter -= n * np.outer(moved, moved)
            squares = max(squares - n * float(moved @ moved), 0.0)
            if n > 1:
                spreads[_bin(squares / ((n - 1) * features.n_outputs))] += 1
            sizes.append(n)
            means.append(origin + moved)
            mean_sum += means[-1]
            if len(means) > max(features.n_outputs, _MOST_MEANS):
                total, means = total._with_means(np.array(means)), []
        if centred:
            scatter += _outer(centred)
        total = replace(total, n_sources=len(sizes), n_rows=sum(sizes), inverse_sizes=float(sum(1 / n for n in sizes)))
        return total._with_means(np.array(means)) if means else total

    @classmethod
    def nothing(cls, features: FeatureMap) -> "Summary":
        """Give the summary of no datasets."""
        width = features.n_outputs
        empty = np.zeros((0, width)), np.zeros(0), np.zeros((width, width)), np.zeros(_N_BINS, dtype=np.int64)
        return cls(features.fingerprint, 0, 0, 0.0, np.zeros(width), *empty)

    def __add__(self, other: Any) -> "Summary":
        return self._combined(other, 1) if isinstance(other, Summary) else NotImplemented

    def __sub__(self, other: Any) -> "Summary":
        if not isinstance(other, Summary):
            return NotImplemented
        if other.n_sources > self.n_sources or (other.spreads > self.spreads).any():
            raise InputError(
                f"{other.n_sources} sources of {other.n_rows} rows are to be taken out, but they are not among the "
                f"{self.n_sources} that were summed up. Take out only what was added."
            )
        return self._combined(other, -1)

    def __radd__(self, other: Any) -> "Summary":
        # So that sum() works.
        return self if other == 0 else NotImplemented

    def _combined(self, other: "Summary", sign: int) -> "Summary":
        if self.map_id != other.map_id:
            raise InputError(
                "The summaries were made with different maps, so they cannot be added. Make all of them with one map."
            )
        combined = replace(
            self,
            n_sources=self.n_sources + sign * other.n_sources,
            n_rows=self.n_rows + sign * other.n_rows,
            inverse_sizes=self.inverse_sizes + sign * other.inverse_sizes,
            mean_sum=self.mean_sum + sign * other.mean_sum,
            scatter=self.scatter + sign * other.scatter,
            spreads=self.spreads + sign * other.spreads,
        )
        return combined._with_means(other.factor, sign * other.signs)

    def _with_means(self, factor: Floats, signs: Floats | None = None) -> "Summary":
        """Give the same with more means; more rows than columns are replaced by as many rows as columns."""
        signs = np.ones(len(factor)) if signs is None else signs
        factor, signs = np.concatenate([self.factor, factor]), np.concatenate([self.signs, signs])
        if len(factor) > 2 * max(factor.shape[1], _MOST_MEANS):
            values, vectors = np.linalg.eigh((factor.T * signs) @ factor)
            factor, signs = (vectors * np.sqrt(np.abs(values))).T, np.sign(values)
        return replace(self, factor=factor, signs=signs)

    @property
    def within(self) -> Floats:
        """Covariance of rows about their dataset's mean."""
        return self.scatter / max(self.n_rows - self.n_sources, 1)

    def spread_quantiles(self, count: int) -> Floats:
        """Give so many spreads that datasets have, equally probable, in units of their mean."""
        counts, grid = self.spreads, np.exp((np.arange(_N_BINS) / _BINS_PER_UNIT) - _LARGEST_LOG)
        if count < 2 or counts.sum() < 2:
            return np.ones(1)
        shares = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
        found = np.flatnonzero(counts)
        values = np.exp(np.interp((np.arange(count) + 0.5) / count, shares[found], np.log(grid[found])))
        return np.asarray(values / ((grid * counts).sum() / counts.sum()))
