"""Summaries of source datasets: additive sums for closed-form learning, without rows."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fewratio.core.arguments import check_finite_result
from fewratio.core.blocks import BLOCK_VALUES
from fewratio.core.container import Arrays, Fields, Stored, check_arrays
from fewratio.core.shapes import Floats
from fewratio.core.wording import write_count
from fewratio.errors import InputError
from fewratio.estimators.closed_form.feature_map import FeatureMap

# Spreads of datasets are counted on a grid of logarithms, 32 bins per factor of e, from e^-20 to e^20.
_BINS_PER_UNIT, _LARGEST_LOG = 32, 20
_N_BINS = 2 * _LARGEST_LOG * _BINS_PER_UNIT + 1
# Up to this many means are stored unchanged, however few features there are.
_MOST_MEANS = 64
_NUMBERS = ("n_sources", "n_rows", "inverse_sizes", "mean_noise", "epsilon")
_ROUNDING = 1e-6
# Relative error of sums of cosines, which are in float32.
_SINGLE_PRECISION = 1e-4
# Smallest eigenvalue of noisy covariances, as a share of the mean eigenvalue.
_LEAST_VARIANCE = 1e-4
# Eigenvalues below this share of the largest are rounding.
_NEGLIGIBLE = 1e-14
TWO_ROWS = "at least two rows are needed, and many to hide a single one. Add rows, or leave the dataset out."


def _outer(blocks: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sum of outer products of the rows of all blocks."""
    rows = np.concatenate(blocks)
    return rows.T @ rows


def _bin(variance: float) -> int:
    place = round((np.log(max(variance, 1e-300)) + _LARGEST_LOG) * _BINS_PER_UNIT)
    return min(max(place, 0), _N_BINS - 1)


@dataclass(frozen=True, eq=False)
class Summary(Stored):
    """Sums over one or more source datasets; sums of different datasets can be added.

    ``a + b`` is the summary of the sources of both, and ``a - b`` removes those of b. No rows are stored, but a summary
    of very few rows nearly reveals them.

    Attributes
    ----------
    features : FeatureMap
        The map from rows to features, which are summed.
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
    mean_noise : float
        Sum over the datasets of the variance that noise, added to hide single rows, gives each feature of a mean.
    epsilon : float or None
        Largest epsilon of the differential privacy of the datasets; None if a dataset has none, or if it is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio.estimators import SourceMap
    >>> rng = np.random.default_rng(0)
    >>> source_map = SourceMap.from_table(rng.uniform(size=(9, 3)), n_components=0)
    >>> here, there = (source_map.summarise(rng.uniform(size=(n, 3))) for n in (50, 40))
    >>> here + there
    Summary(2 sources, 90 rows, 3 features, map ...)
    """

    _kind = "summary"
    _fields: ClassVar[Fields] = {
        **dict.fromkeys(("n_sources", "n_rows"), (int,)),
        **dict.fromkeys(("inverse_sizes", "mean_noise"), (float,)),
        "epsilon": (float, type(None)),
        "map": (dict,),
    }

    features: FeatureMap
    n_sources: int
    n_rows: int
    inverse_sizes: float
    mean_sum: Floats
    factor: Floats
    signs: Floats
    scatter: Floats
    spreads: np.ndarray
    mean_noise: float = 0.0
    epsilon: float | None = None

    def __repr__(self) -> str:
        counts = f"{write_count(self.n_sources, 'source')}, {write_count(self.n_rows, 'row')}"
        return f"Summary({counts}, {self.features.n_outputs} features, map {self.features.fingerprint[:8]})"

    @classmethod
    def of_sums(cls, features: FeatureMap, n: int, total: Floats, outer: Floats, mean_noise: float = 0.0) -> "Summary":
        """Make the summary of one dataset from the sums of its features and of their outer products."""
        mean, width = total / n, len(total)
        scatter = outer - n * np.outer(mean, mean)
        factor, signs = mean[None], np.ones(1)
        if mean_noise:
            # The noise in a mean is in its square as well; how much is known.
            scatter[np.diag_indices(width)] += n * mean_noise
            factor = np.concatenate([factor, np.sqrt(mean_noise) * np.eye(width)])
            signs = np.append(signs, -np.ones(width))
        variance = max(float(np.trace(scatter)), 0.0) / (max(n - 1, 1) * width)
        counts = np.zeros(_N_BINS, dtype=np.int64)
        if n > 1:
            counts[_bin(variance)] = 1
        return cls(features, 1, n, 1 / n, mean, factor, signs, scatter, counts, mean_noise)

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")
    def of_many(cls, datasets: Iterable[Floats], features: FeatureMap, is_scaled: bool = False) -> "Summary":
        """Summarise datasets one by one, in the memory of one summary and a block of features.

        ``is_scaled`` says that the rows are in the units of the features already.
        """
        total = cls.make_empty(features)
        scatter, spreads, mean_sum = total.scatter, total.spreads, total.mean_sum
        sizes: list[int] = []
        means: list[Floats] = []
        centred: list[np.ndarray] = []
        n_values = 0
        for blocks in features.of_each(datasets, is_scaled):
            n, moved, squares = 0, np.zeros(features.n_outputs), 0.0
            origin = None
            for block in blocks:
                n += len(block)
                if origin is None:
                    origin = block.mean(0, dtype=np.float64)
                # Not in place: features may be the rows themselves.
                block = block - origin.astype(block.dtype)
                moved += block.sum(0, dtype=np.float64)
                squares += float(np.square(block).sum(dtype=np.float64))
                centred.append(block)
                # Products of large matrices are faster than many of small ones.
                n_values += block.size
                if n_values >= BLOCK_VALUES:
                    scatter += _outer(centred)
                    centred, n_values = [], 0
            assert origin is not None
            moved /= n
            if n * features.n_outputs > BLOCK_VALUES:
                # The mean of the first block is not the mean of all rows.
                scatter -= n * np.outer(moved, moved)
            squares = max(squares - n * float(moved @ moved), 0.0)
            check_finite_result("The spread of a source dataset", squares, (origin + moved) @ (origin + moved))
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
    def make_empty(cls, features: FeatureMap) -> "Summary":
        """Return the summary of no datasets."""
        width = features.n_outputs
        empty = np.zeros((0, width)), np.zeros(0), np.zeros((width, width)), np.zeros(_N_BINS, dtype=np.int64)
        return cls(features, 0, 0, 0.0, np.zeros(width), *empty)

    def __add__(self, other: Any) -> "Summary":
        return self._combine(other, 1) if isinstance(other, Summary) else NotImplemented

    def __sub__(self, other: Any) -> "Summary":
        if not isinstance(other, Summary):
            return NotImplemented
        fits = other.n_sources <= self.n_sources and other.n_rows <= self.n_rows
        left = self._combine(other, -1) if fits and (other.spreads <= self.spreads).all() else None
        if left is None or not left._is_sum():
            raise InputError(
                f"To be taken out: {write_count(other.n_sources, 'source')} of {write_count(other.n_rows, 'row')}, "
                f"which are not among the {self.n_sources} that were summed up. Take out only what was added."
            )
        return left

    def _is_sum(self) -> bool:
        """Return whether this can be a sum over datasets: then the sum of outer products has no negative eigenvalue."""
        if self.mean_noise or not len(self.factor):
            return True
        _, triangle = np.linalg.qr(self.factor.T)
        eigenvalues = np.linalg.eigvalsh((triangle * self.signs) @ triangle.T)
        return bool(eigenvalues[0] >= -_SINGLE_PRECISION * float(np.square(self.factor).sum()))

    def __radd__(self, other: Any) -> "Summary":
        # So that sum() works.
        return self if other == 0 else NotImplemented

    def _combine(self, other: "Summary", sign: int) -> "Summary":
        if self.features is not other.features and self.features.fingerprint != other.features.fingerprint:
            raise InputError(
                "The summaries were made with different maps, so they can be neither added nor taken out. Make all of "
                "them with one map."
            )
        combined = replace(
            self,
            n_sources=self.n_sources + sign * other.n_sources,
            n_rows=self.n_rows + sign * other.n_rows,
            inverse_sizes=self.inverse_sizes + sign * other.inverse_sizes,
            mean_sum=self.mean_sum + sign * other.mean_sum,
            scatter=self.scatter + sign * other.scatter,
            spreads=self.spreads + sign * other.spreads,
            mean_noise=max(self.mean_noise + sign * other.mean_noise, 0.0),
            epsilon=None if self.epsilon is None or other.epsilon is None else max(self.epsilon, other.epsilon),
        )
        return combined._with_means(other.factor, sign * other.signs)

    def _with_means(self, factor: Floats, signs: Floats | None = None) -> "Summary":
        """Return the same summary with more means."""
        signs = np.ones(len(factor)) if signs is None else signs
        factor, signs = np.concatenate([self.factor, factor]), np.concatenate([self.signs, signs])
        if len(factor) > 2 * max(factor.shape[1], _MOST_MEANS):
            # As few rows as the outer products need, at most one per column.
            factor, signs = _factorise((factor.T * signs) @ factor)
        return replace(self, factor=factor, signs=signs)

    def _payload(self) -> tuple[Arrays, dict[str, Any]]:
        if self.features.columns is None:
            raise InputError(
                "The summary does not know what its columns are: an estimator made it. Make it with a SourceMap, which "
                "says that."
            )
        triangle, places = np.triu_indices(self.features.n_outputs), np.flatnonzero(self.spreads)
        arrays = {
            "mean_sum": self.mean_sum,
            "scatter": self.scatter[triangle],
            "spread_places": places,
            "spread_counts": self.spreads[places],
        }
        if self.n_sources > 1 or self.mean_noise:
            # For several sources, the sum of outer products, not the single means.
            arrays["outer"] = ((self.factor.T * self.signs) @ self.factor)[triangle]
        return arrays, {name: getattr(self, name) for name in _NUMBERS} | {"map": self.features.to_dict()}

    @classmethod
    def _of_payload(cls, arrays: Arrays, header: dict[str, Any], **changes: Any) -> "Summary":
        features, n = FeatureMap.from_dict(header["map"]), header["n_sources"]
        width, n_spreads = features.n_outputs, len(arrays["spread_places"])
        triangle = dict.fromkeys(("scatter", "outer")[: 1 + ("outer" in arrays)], (width * (width + 1) // 2,))
        spreads = {"spread_places": (n_spreads,), "spread_counts": (n_spreads,)}
        check_arrays(arrays, {"mean_sum": (width,), **triangle, **spreads})
        means = arrays["mean_sum"][None], np.ones(1)
        if "outer" in arrays:
            means = _factorise(_symmetric(arrays["outer"], width))
        counts = np.zeros(_N_BINS, dtype=np.int64)
        counts[arrays["spread_places"]] = arrays["spread_counts"]
        found = cls(
            features,
            mean_sum=arrays["mean_sum"],
            factor=means[0],
            signs=means[1],
            scatter=_symmetric(arrays["scatter"], width),
            spreads=counts,
            **{name: header[name] for name in _NUMBERS},
        )
        fits = (
            features.columns is not None
            and 0 < n <= found.n_rows
            and found.inverse_sizes * found.n_rows >= n * n * (1 - _ROUNDING)
            and (counts >= 0).all()
            and counts.sum() == n
            and 0 <= found.mean_noise < np.inf
            and (found.epsilon is None or 0 < found.epsilon < np.inf)
            and (found.mean_noise or (np.diag(found.scatter) >= -_ROUNDING * found.n_rows).all())
        )
        if not fits:
            raise ValueError("its sums are not those of its map and its numbers of rows")
        return found

    @classmethod
    def _of_file(cls, path: str | os.PathLike[str], *content: Any, **changes: Any) -> "Summary":
        found = super()._of_file(path, *content, **changes)
        if found.n_rows < 2 * found.n_sources or found.inverse_sizes > found.n_sources * (0.5 + _ROUNDING):
            raise InputError(f"{path} sums up a dataset of one row, which is that row itself; {TWO_ROWS}")
        return found

    @property
    def within(self) -> Floats:
        """Covariance of rows about their dataset's mean."""
        found = self.scatter / max(self.n_rows - self.n_sources, 1)
        if not self.mean_noise:
            return found
        # Noise makes eigenvalues negative.
        values, vectors = np.linalg.eigh(found)
        return np.asarray((vectors * values.clip(_LEAST_VARIANCE * np.abs(values).mean())) @ vectors.T)

    def spread_quantiles(self, count: int) -> Floats:
        """Return equally probable spreads of datasets, in units of their mean."""
        counts, grid = self.spreads, np.exp((np.arange(_N_BINS) / _BINS_PER_UNIT) - _LARGEST_LOG)
        if count < 2 or counts.sum() < 2:
            return np.ones(1)
        shares = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
        found = np.flatnonzero(counts)
        values = np.exp(np.interp((np.arange(count) + 0.5) / count, shares[found], np.log(grid[found])))
        return np.asarray(values / ((grid * counts).sum() / counts.sum()))


def _symmetric(triangle: np.ndarray, width: int) -> Floats:
    """Return the matrix of an upper triangle."""
    found = np.zeros((width, width))
    found[np.triu_indices(width)] = triangle
    return found + np.triu(found, 1).T


def _factorise(outer: Floats) -> tuple[Floats, Floats]:
    """Return ``factor`` and ``signs`` of a symmetric matrix, as few rows as it needs."""
    values, vectors = np.linalg.eigh(outer)
    kept = np.abs(values) > _NEGLIGIBLE * np.abs(values).max(initial=0.0)
    return (vectors * np.sqrt(np.abs(values))).T[kept], np.sign(values[kept])
