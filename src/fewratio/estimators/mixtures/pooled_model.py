"""The model of `PooledRatioEstimator`: features of a row and its dataset, and moments of them over all sources."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arrays import real_deviation
from fewratio.core.blocks import row_blocks
from fewratio.core.draws import dataset_key
from fewratio.core.moments import Moments
from fewratio.core.ridge import RidgePath, ridge_weights_of_moments
from fewratio.core.shapes import Floats
from fewratio.core.units import ColumnScaling
from fewratio.progress import tracked

# Widths of the kernels, from the first to the last, in units of the root mean square distance of rows.
_WIDTHS = 1.0, 8.0
# What is chosen among by cross-validation over the sources: the weight of a dataset's mean, and the regulariser.
_CONTEXTS, _REGS = (0.0, 0.5), np.geomspace(1e-4, 10, 11)
_N_FOLDS, _DEFAULT_REG = 5, 0.1
# A mean farther away than this, in deviations of the sources' means, is taken to be at this distance.
_FARTHEST = 3.0

# Rows of a dataset, and which of them are normal.
Marked = tuple[Floats, NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class RowAndDatasetFeatures:
    """Features of a row and of the dataset that it is from: a constant, the columns, and random cosines of both.

    Attributes
    ----------
    scaling : ColumnScaling
        Origin and units of the columns.
    low, high : ndarray of shape (d,)
        Smallest and largest value of each column in the sources, in these units. Beyond them nothing was learned.
    between, within : ndarray of shape (d,)
        Variances of the sources' means, and of rows about the mean of their dataset, in these units.
    context : float
        Weight of the dataset's mean; 0 leaves it out.
    n_components, seed : int
        Number of cosines, and seed of their draw.
    """

    scaling: ColumnScaling
    low: Floats
    high: Floats
    between: Floats
    within: Floats
    context: float
    n_components: int
    seed: int

    @property
    def n_outputs(self) -> int:
        """Number of features."""
        return 1 + self._n_columns + self.n_components

    @property
    def _n_columns(self) -> int:
        # Of many columns moments are large; the widest kernels are nearly linear anyway.
        return len(self.within) if len(self.within) <= self.n_components else 0

    @cached_property
    def _waves(self) -> tuple[Floats, Floats, Floats]:
        # The stream of RandomState is frozen (NEP 19), so that a file means the same with any version of NumPy.
        draws, d = np.random.RandomState(self.seed), len(self.within)
        of_rows, of_means = draws.standard_normal((2, d, self.n_components)) / np.sqrt(2 * d)
        phases = draws.uniform(0, 2 * np.pi, self.n_components)
        return of_rows / np.geomspace(*_WIDTHS, self.n_components), of_means * self.context, phases

    @cached_property
    def _factor(self) -> float:
        """What makes the mean variance of a column 1."""
        return float(1 / np.sqrt((self.within + self.between).mean() or 1.0))

    def _scaled(self, rows: Floats) -> Floats:
        return np.clip(self.scaling(rows), self.low, self.high)

    def excess(self, rows: Floats) -> Floats:
        """Give by how many units each row is outside of the sources' ranges, summed over the columns."""
        return np.abs(self.scaling(rows) - self._scaled(rows)).sum(1)

    def dataset(self, rows: Floats) -> Floats:
        """Give where a dataset's mean is among those of the sources, drawn to their centre where it has few rows."""
        variance = self.between + self.within / len(rows)
        factor = np.divide(np.sqrt(self.between), variance, out=np.zeros_like(variance), where=self.between > 0)
        return np.clip(self._scaled(rows).mean(0) * factor, -_FARTHEST, _FARTHEST)

    def __call__(self, rows: Floats, dataset: Floats) -> Floats:
        """Give the features of rows, of shape (n, n_outputs), with what `dataset` gave for all rows together."""
        of_rows, of_means, phases = self._waves
        scaled = self._scaled(rows) * self._factor
        cosines = np.cos(scaled @ of_rows + (dataset @ of_means + phases))
        return np.column_stack([np.ones(len(rows)), scaled[:, : self._n_columns], np.sqrt(2) * cosines])


class PooledMoments(NamedTuple):
    """What Eq. 5 needs to know of the sources: means over the rows of a dataset, summed or averaged over datasets.

    Attributes
    ----------
    squares_nu, squares_de : ndarray of shape (t, t)
        Mean of phi phi' over the normal rows, and over all rows, of which those that are marked count as much again as
        all together.
    mean_nu : ndarray of shape (t,)
        Mean of phi over the normal rows.
    """

    squares_nu: Floats
    squares_de: Floats
    mean_nu: Floats

    @classmethod
    def of(cls, source: Marked, features: RowAndDatasetFeatures) -> "PooledMoments":
        """Take the means over one dataset."""
        rows, is_normal = source
        dataset, blocks = features.dataset(rows), row_blocks(len(rows), features.n_outputs)
        values = ((features(rows[block], dataset), is_normal[block]) for block in blocks)
        first, *others = (Moments.of(phi[normal], phi) for phi, normal in values)
        total = sum(others, first)
        squares_de, n_marked = total.squares_de / total.n_de, total.n_de - total.n_nu
        if n_marked:
            # A few marked rows among many say most about what outliers are, so they count as much as all rows together.
            squares_de = (squares_de + (total.squares_de - total.squares_nu) / n_marked) / 2
        return cls(total.squares_nu / total.n_nu, squares_de, total.k)

    def K(self, alpha: float) -> Floats:
        """Give K of Eq. 5."""
        return alpha * self.squares_nu + (1 - alpha) * self.squares_de


class PooledModel(NamedTuple):
    """What was learned from sources.

    Attributes
    ----------
    features : RowAndDatasetFeatures
        What the ratio is linear in; ``features.context`` was chosen.
    moments : PooledMoments
        Averages over the sources.
    reg : float
        The regulariser that was chosen.
    """

    features: RowAndDatasetFeatures
    moments: PooledMoments
    reg: float

    def weights(self, alpha: float) -> Floats:
        """Solve Eq. 5."""
        return np.asarray(ridge_weights_of_moments(self.moments.K(alpha), self.moments.mean_nu, self.reg))


def learn(sources: Sequence[Marked], alpha: float, n_components: int, seed: int) -> PooledModel:
    """Choose settings by the squared error (Eq. 8) on sources held out in turn, then use all of them."""
    sources = sorted(sources, key=lambda source: dataset_key(source[0]))
    scaling = ColumnScaling.of([rows for rows, _ in sources], "columns")
    scaled = [scaling(rows) for rows, _ in sources]
    means, within = np.array([rows.mean(0) for rows in scaled]), np.mean([rows.var(0) for rows in scaled], axis=0)
    low, high = (of([of(rows, 0) for rows in scaled], 0) for of in (np.min, np.max))
    between = real_deviation(means.mean(0), means.std(0)) ** 2
    n_folds = min(_N_FOLDS, len(sources))
    found: list[tuple[float, PooledModel]] = []
    contexts = _CONTEXTS if n_folds > 1 else _CONTEXTS[:1]
    for context in tracked(contexts, len(contexts), "learning", unit="settings"):
        features = RowAndDatasetFeatures(scaling, low, high, between, within, context, n_components, seed)
        folds = [_sum(PooledMoments.of(each, features) for each in sources[fold::n_folds]) for fold in range(n_folds)]
        total = _sum(folds)
        losses = np.abs(np.log(_REGS / _DEFAULT_REG)) if n_folds == 1 else _held_out_losses(folds, total, alpha)
        mean = PooledMoments(*(each / len(sources) for each in total))
        found.append((losses.min(), PooledModel(features, mean, float(_REGS[losses.argmin()]))))
    return min(found, key=lambda each: each[0])[1]


def _sum(parts: Iterable[PooledMoments]) -> PooledMoments:
    return reduce(lambda one, other: PooledMoments(*map(operator.add, one, other)), parts)


def _held_out_losses(folds: Sequence[PooledMoments], total: PooledMoments, alpha: float) -> Floats:
    """Give the squared error (Eq. 8) on sources held out, fold by fold, for each regulariser."""
    losses = np.zeros(len(_REGS))
    for fold in folds:
        others = PooledMoments(*map(operator.sub, total, fold))
        # The square of the constant feature counts the datasets.
        n_others = others.squares_de[0, 0]
        weights = RidgePath.of(others.K(alpha) / n_others, _REGS).solve(others.mean_nu / n_others)
        losses += ((weights @ fold.K(alpha)) * weights).sum(1) / 2 - weights @ fold.mean_nu
    return losses
