"""Whether a dataset is unlike all others: farther from the nearest one, or with a column that is far from theirs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from fewratio.core.shapes import Floats

# Of the variance of all rows: a constant column counts as one that varies a little.
_LEAST_VARIANCE = 0.01


class ColumnOfDataset(NamedTuple):
    """How a column of a new dataset lies among those of the others.

    Attributes
    ----------
    column : str
        Its name; of a category, with the category.
    statistic : {"mean", "deviation"}
        What was compared.
    value : float
        That of the new dataset.
    low, high : float
        The smallest and the largest of the others.
    score : float
        The distance from the median of all, in mean absolute deviations.
    """

    column: str
    statistic: str
    value: float
    low: float
    high: float
    score: float


@dataclass(frozen=True, eq=False)
class Profiles:
    """Mean and standard deviation of each column of each dataset, of as many rows.

    Attributes
    ----------
    columns : tuple of str
        Names of the d columns.
    means, deviations : ndarray of shape (n_datasets, d)
    least : ndarray of shape (d,)
        Added to variances before they are compared.
    """

    columns: tuple[str, ...]
    means: Floats
    deviations: Floats
    least: Floats

    @classmethod
    def of(cls, samples: Sequence[Floats], columns: Iterable[object]) -> Self:
        """Describe samples."""
        # In units of the columns' range, so that squares cannot overflow.
        unit = np.maximum.reduce([np.abs(sample).max(0) for sample in samples])
        unit = np.where(unit > 0, unit, 1.0)
        means = np.array([(sample / unit).mean(0) for sample in samples])
        deviations = np.array([(sample / unit).std(0) for sample in samples])
        # The law of total variance, each dataset counted alike.
        least = _LEAST_VARIANCE * (np.square(deviations).mean(0) + means.var(0))
        return cls(tuple(map(str, columns)), means * unit, deviations * unit, least * unit**2)

    def scores(self, places: Sequence[int]) -> Floats:
        """Score the means, then the deviations, of some datasets among them: shape (n_places, 2 d)."""
        positive = self.least > 0
        spread = np.log(np.square(self.deviations[places]) + np.where(positive, self.least, 1.0)) / 2
        return np.hstack([_scores(self.means[places]), _scores(np.where(positive, spread, 0.0))])

    def describe(self, known: Sequence[int], place: int) -> list[ColumnOfDataset]:
        """Describe the columns of a dataset among known ones, the farthest first."""
        scores = np.abs(self.scores([*known, place])[-1])
        values = np.hstack([self.means, self.deviations])
        names = [(column, statistic) for statistic in ("mean", "deviation") for column in self.columns]
        farther: dict[str, ColumnOfDataset] = {}
        for i in np.argsort(-scores, kind="stable").tolist():
            value, others, score = float(values[place, i]), values[known, i], float(scores[i])
            column, statistic = names[i]
            found = ColumnOfDataset(column, statistic, value, float(others.min()), float(others.max()), score)
            farther.setdefault(column, found)
        return list(farther.values())


def score_novelty(profiles: Profiles, nearest: Floats, known: Sequence[int], place: int) -> Floats:
    """Give how unlike the rest known datasets and then another one are.

    It is the larger of two scores: of the divergence from the nearest dataset, and of the farthest column. All datasets
    are scored alike, so that if they were drawn alike, each is equally likely to be the most unlike.
    """
    places = [*known, place]
    columns = np.abs(profiles.scores(places)).max(1)
    return np.asarray(np.maximum(_scores(nearest[places]), _scores(columns)))


def _scores(values: Floats) -> Floats:
    """Give distances from the median in mean absolute deviations; 0 where all values are equal but for rounding."""
    apart = values - np.median(values, axis=0)
    scale = np.abs(apart).mean(0)
    rounding = 1e-9 * np.abs(values).max(0)
    return np.asarray(np.where(scale > rounding, apart, 0.0) / np.where(scale > rounding, scale, 1.0))
