"""Test whether a dataset is unlike all others in its nearest neighbour, its columns or the relations of columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, compress
from typing import NamedTuple, Self

import numpy as np

from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import rank_values
from fewratio.core.wording import write_apart, write_number

# The smallest variance of a column, as a share of that of all rows.
_LEAST_VARIANCE = 0.01
# The most pairs of columns to check; with more, each column is paired with the few columns it is most related to.
_MOST_PAIRS, _PARTNERS = 1_000, 3
_TITLES = {"residual": "deviation that the other columns leave unexplained"}
# The most columns to name if a new dataset is not significantly unlike the others.
MOST_BY_CHANCE = 3


class ColumnOfDataset(NamedTuple):
    """How a column, or the relation of two columns, of a new dataset compares with the other datasets.

    Attributes
    ----------
    column : str
        Name of the column, with the category if it has categories; both names for two columns.
    statistic : {"mean", "deviation", "residual", "correlation"}
        The statistic that was compared. A residual is the deviation of the part that the other columns do not predict,
        in deviations of the column within datasets; a correlation is a rank correlation.
    value : float
        The value in the new dataset.
    low, high : float
        The smallest and the largest value in the other datasets.
    score : float
        The distance from the median of all datasets, in mean absolute deviations.
    """

    column: str
    statistic: str
    value: float
    low: float
    high: float
    score: float

    @property
    def is_outside(self) -> bool:
        """Whether the value is outside the range of the others."""
        return not self.low <= self.value <= self.high

    def __str__(self) -> str:
        value, low, high = map(write_number, (self.value, self.low, self.high))
        if self.is_outside and self.value < self.low:
            value, low = write_apart(self.value, self.low)
        elif self.is_outside:
            value, high = write_apart(self.value, self.high)
        others = f"{low} in all others" if low == high else f"{low} to {high} in the others"
        return f"{self.column}, {_TITLES.get(self.statistic, self.statistic)} {value}; {others}"


@dataclass(frozen=True, eq=False)
class Profiles:
    """Statistics of the columns of several datasets, and of their relations; the new dataset comes last.

    Attributes
    ----------
    names : sequence of (str, str)
        Column and statistic of each of k features.
    values : ndarray of shape (n_datasets, k)
        The statistics, as shown to users.
    scores : ndarray of shape (n_datasets, k)
        Distances from the median of all datasets, in mean absolute deviations.
    n_columns : int
        Number of features that describe single columns; the rest describe pairs.
    """

    names: Sequence[tuple[str, str]]
    values: Floats
    scores: Floats
    n_columns: int

    @classmethod
    def of(cls, samples: Sequence[Floats], columns: Iterable[object]) -> Self:
        """Describe samples, all in the same way."""
        labels = tuple(map(str, columns))
        # Scale columns by their largest absolute value, so that squares cannot overflow.
        unit = np.maximum.reduce([np.abs(sample).max(0) for sample in samples])
        unit = np.where(unit > 0, unit, 1.0)
        samples = [sample / unit for sample in samples]
        # The share of a category determines its deviation, which would be an extreme one where the category is rare.
        varies = np.array([len(np.unique(column)) > 2 for column in np.concatenate(samples).T], dtype=bool)
        shown = [np.array([f(each) for each in samples]) * unit for f in (_mean, _deviation)]
        samples = _take_logarithms(samples)
        residuals = np.array([_deviation(each) for each in _compute_residuals(samples)])[:, varies]
        pairs = _choose_pairs(samples)
        correlations = np.array([_correlate(sample, pairs) for sample in samples])
        means, deviations = (np.array([f(each) for each in samples]) for f in (_mean, _deviation))
        # The law of total variance, with equal weight for each dataset.
        least = _LEAST_VARIANCE * (np.square(deviations).mean(0) + means.var(0))
        spreads = [_take_log_deviations(deviations[:, varies], least[varies])]
        spreads.append(_take_log_deviations(residuals, _LEAST_VARIANCE * np.square(residuals).mean(0)))
        # Fisher's transformation; a correlation of 1 in n rows must not be infinitely far from others.
        shrunk = np.array([1 - 1 / len(sample) for sample in samples])[:, None] * correlations
        # The size that chance gives in so many rows, so that no dataset is far off if hardly any has a relation.
        by_chance = (2 / np.pi / np.median([len(sample) for sample in samples])) ** 0.5
        varying = list(compress(labels, varies))
        of_columns = [(label, "mean") for label in labels]
        of_columns += [(label, statistic) for statistic in ("deviation", "residual") for label in varying]
        return cls(
            of_columns + [(f"{labels[i]} and {labels[j]}", "correlation") for i, j in pairs.T],
            np.hstack([shown[0], shown[1][:, varies], residuals, correlations]),
            np.hstack([_scores(np.hstack([means, *spreads])), _scores(np.arctanh(shrunk), by_chance)]),
            len(of_columns),
        )

    def score_novelty(self, nearest: Floats) -> Floats:
        """Return how unlike the rest each dataset is: the largest of three scores.

        They rate the divergence from the nearest dataset, the most extreme column, and the most extreme relation of two
        columns. All datasets are scored in the same way, so if they are exchangeable, each is equally likely to have
        the highest score.

        Parameters
        ----------
        nearest : ndarray of shape (n_datasets,)
            The divergence of each dataset from the nearest other one.
        """
        kinds = [nearest, *(np.abs(part).max(1, initial=0) for part in np.split(self.scores, [self.n_columns], axis=1))]
        return np.max([_scores(kind) for kind in kinds], axis=0)

    def describe(self) -> list[ColumnOfDataset]:
        """Describe the columns of the last dataset, and its relations of columns outside the range of the others.

        Values outside the range of the others come first, with residuals last among them, then the highest scores.
        """
        *others, value = self.values
        low, high, score = np.min(others, axis=0), np.max(others, axis=0), np.abs(self.scores[-1])
        found = [
            ColumnOfDataset(*name, *map(float, numbers))
            for name, *numbers in zip(self.names, value, low, high, score, strict=True)
        ]

        def order(each: ColumnOfDataset) -> tuple[bool, bool, float]:
            # An error in one column also shows in the residuals of others.
            return not each.is_outside, each.is_outside and each.statistic == "residual", -each.score

        first: dict[str, ColumnOfDataset] = {}
        for each in sorted(found, key=order):
            if each.is_outside or each.statistic != "correlation":
                first.setdefault(each.column, each)
        return list(first.values())


def find_outside(samples: Sequence[Floats], columns: Iterable[object]) -> list[ColumnOfDataset]:
    """Describe the columns whose mean in the last sample is outside the range of the others, the farthest first."""
    means = np.array([_mean(sample) for sample in samples])
    numbers = zip(map(str, columns), means[-1], means[:-1].min(0), means[:-1].max(0), _scores(means)[-1], strict=True)
    found = [ColumnOfDataset(column, "mean", *map(float, each)) for column, *each in numbers]
    return sorted((each for each in found if each.is_outside), key=lambda each: -abs(each.score))


def _mean(sample: Floats) -> Floats:
    return np.asarray(sample.mean(0))


def _deviation(sample: Floats) -> Floats:
    return np.asarray(sample.std(0))


def _take_logarithms(samples: Sequence[Floats]) -> list[Floats]:
    """Take logarithms of positive columns if that makes all rows more normal (Box and Cox).

    Means of a skewed column would be skewed too: among populations of countries, no small one would be far from the
    others.
    """
    rows = np.concatenate(samples)
    is_positive = (rows > 0).all(0)
    logarithms = np.log(np.where(is_positive, rows, 1.0))
    with np.errstate(divide="ignore"):
        is_log = is_positive & (np.log(logarithms.std(0)) + logarithms.mean(0) < np.log(rows.std(0)))
    return [np.where(is_log, np.log(np.where(is_log, sample, 1.0)), sample) for sample in samples]


def _compute_residuals(samples: Sequence[Floats]) -> list[Floats]:
    """Return the part of each column that the others do not predict, in deviations within datasets.

    The coefficients, common to all datasets, come from the inverse of the correlations, with a ridge of columns / rows.
    """
    sizes = [len(sample) for sample in samples]
    rows = np.concatenate([sample - sample.mean(0) for sample in samples])
    scale = np.sqrt(np.square(rows).mean(0))
    # A column that is constant up to rounding is not predicted.
    rows = np.divide(rows, scale, out=np.zeros_like(rows), where=scale > 1e-9)
    n_columns = rows.shape[1]
    precision = np.linalg.inv(rows.T @ rows / len(rows) + n_columns / len(rows) * np.eye(n_columns))
    return np.split(rows @ precision / np.diag(precision), np.cumsum(sizes)[:-1])


def _rank(sample: Floats) -> Floats:
    """Return the ranks of each column, centred and scaled to length 1; 0 if all are tied."""
    ranks = np.column_stack([rank_values(column) for column in sample.T])
    ranks -= ranks.mean(0)
    length = np.linalg.norm(ranks, axis=0)
    return np.divide(ranks, length, out=np.zeros_like(ranks), where=length > 0)


def _correlate(sample: Floats, pairs: Numbers) -> Floats:
    """Return the rank correlation of each pair of columns."""
    ranks = _rank(sample)
    return np.asarray(np.einsum("np,np->p", ranks[:, pairs[0]], ranks[:, pairs[1]]))


def _choose_pairs(samples: Sequence[Floats]) -> Numbers:
    """Return pairs of columns, of shape (2, n_pairs): all, or if there are many, the closest relations per column."""
    n_columns = samples[0].shape[1]
    pairs = list(combinations(range(n_columns), 2))
    if n_columns * (n_columns - 1) // 2 > _MOST_PAIRS:
        ranks = np.concatenate([_rank(sample) for sample in samples])
        related = np.abs(ranks.T @ ranks)
        np.fill_diagonal(related, -1)
        partners = np.argsort(-related, axis=1, kind="stable")[:, :_PARTNERS]
        pairs = sorted({(min(i, j), max(i, j)) for i, each in enumerate(partners.tolist()) for j in each})
    return np.array(pairs, dtype=np.intp).reshape(-1, 2).T


def _take_log_deviations(deviations: Floats, least: Floats) -> Floats:
    """Return logarithms of deviations, with a lower bound for those close to zero."""
    return np.asarray(np.log(np.square(deviations) + np.where(least > 0, least, 1.0)) / 2)


def _scores(values: Floats, least: float = 0.0) -> Floats:
    """Return distances from the median in mean absolute deviations, but at least in units of `least`.

    They are 0 if all values are equal up to rounding.
    """
    apart = values - np.median(values, axis=0)
    scale = np.maximum(np.abs(apart).mean(0), least)
    rounding = 1e-9 * np.abs(values).max(0)
    return np.asarray(np.where(scale > rounding, apart, 0.0) / np.where(scale > rounding, scale, 1.0))
