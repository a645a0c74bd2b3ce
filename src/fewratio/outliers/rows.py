"""Single rows of a batch: how unusual they are, and how they differ from their nearest normals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import column_scaling
from fewratio.core.wording import write_signed
from fewratio.report.reported import make_plain

_SHOWN = 3
# Smaller deviations are 0 when rounded.
_ROUNDED = 0.005
# The share of outliers in a large batch that normals must be able to flag.
_RARE = 0.01
# With fewer rows, a majority may be chance.
LEAST_BATCH = 10


@dataclass(frozen=True, eq=False, repr=False)
class RowExplanation:
    """A comparison of a row with its nearest normals.

    Attributes
    ----------
    neighbours : ndarray of int
        Numbers of the nearest normals, the nearest first.
    distances : ndarray
        Euclidean distances of these normals, with each column in units of the normals' standard deviation.
    columns : tuple of str or int
        All columns by name (by number if there are no names), those in which the row differs most first.
    differences : ndarray
        The row less the mean of these normals in each of these columns, in the same units.
    """

    neighbours: Numbers
    distances: Floats
    columns: tuple[str | int, ...]
    differences: Floats

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists."""
        return make_plain(self, "neighbours", "distances", "columns", "differences")

    def largest(self, n: int) -> "RowExplanation":
        """Keep the columns that differ most."""
        return replace(self, columns=self.columns[:n], differences=self.differences[:n])

    @property
    def summary(self) -> str:
        """The columns with their differences, in words."""
        differences = [*zip(self.columns, self.differences.tolist(), strict=True)]
        # Differences that are 0 when rounded explain nothing.
        said = [each for each in differences if abs(each[1]) >= _ROUNDED] or differences[:1]
        return ", ".join(f"{column} ({write_signed(difference)})" for column, difference in said)

    def __repr__(self) -> str:
        numbers, columns = ", ".join(map(str, self.neighbours[:_SHOWN])), self.largest(_SHOWN).summary
        return f"RowExplanation: nearest normals {numbers}; differs most, in deviations, in columns {columns}"


def explain_row(row: Floats, normals: Floats, n_neighbours: int, names: Sequence[str] | None) -> RowExplanation:
    """Compare a row with its nearest normals.

    Parameters
    ----------
    row : ndarray of shape (d,)
        The row.
    normals : ndarray of shape (n, d)
        The normals.
    n_neighbours : int
        How many of the nearest normals to compare with.
    names : sequence of str or None
        Names of the columns.
    """
    scale = column_scaling([normals])[1]
    differences = (row - normals) / scale
    distances = np.sqrt((differences**2).sum(1))
    nearest = np.argsort(distances, kind="stable")[:n_neighbours]
    mean = differences[nearest].mean(0)
    order = np.argsort(-np.abs(mean), kind="stable")
    columns = tuple(int(column) if names is None else names[column] for column in order)
    return RowExplanation(nearest, distances[nearest], columns, mean[order])


def conformal_p_values(scores: Floats, calibration: Floats) -> Floats:
    """Return (1 + k) / (1 + n) for each score, where k of the n calibration scores are at most as high.

    Examples
    --------
    >>> conformal_p_values(np.array([0.0, 0.5]), np.array([0.3, 0.5, 0.9]))
    array([0.25, 0.75])
    """
    no_higher = np.searchsorted(np.sort(calibration), scores, side="right")
    return (1 + no_higher) / (1 + len(calibration))


def discovery_threshold(scores: Floats, calibration: Floats, rate: float) -> float:
    """Return the threshold below which Benjamini and Hochberg's rule rejects scores at a rate.

    If it rejects none, this is the smallest of all scores.

    Examples
    --------
    >>> discovery_threshold(np.array([0.0, 0.5]), np.array([0.3, 0.5, 0.9]), rate=0.5)
    0.3
    """
    # Imported on demand because it is slow.
    from scipy.stats import false_discovery_control

    p_values = conformal_p_values(scores, calibration)
    rejected = scores[false_discovery_control(p_values) <= rate]
    # All scores below the next calibration score have p-values as small as the largest rejected one.
    above = calibration[calibration > rejected.max()] if len(rejected) else np.append(calibration, scores)
    return float(above.min())


def can_discover(n_scores: int, n_rows: int, rate: float) -> bool:
    """Return whether a rate can be controlled and a single outlier, or one per cent of the batch, still be flagged.

    Parameters
    ----------
    n_scores : int
        Number of calibration scores; no p-value is below 1 / (n_scores + 1).
    n_rows : int
        Rows of the batch.
    rate : float
        The false discovery rate.
    """
    fewest = n_rows / (rate * (n_scores + 1))
    return fewest <= max(1.0, _RARE * n_rows)


def prediction_bound(scores: Floats, level: float = 0.98) -> float:
    """Return a lower prediction bound for one more score, assuming a normal distribution.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        At least two scores.
    level : float
        Chance that a new score is above the bound.

    Examples
    --------
    >>> round(prediction_bound(np.array([1.0, 2.0, 3.0, 4.0])), 2)
    -2.53
    """
    from scipy.special import stdtrit

    n = len(scores)
    return float(scores.mean() - stdtrit(n - 1, level) * scores.std(ddof=1) * np.sqrt(1 + 1 / n))


def most_are_outliers(is_outlier: NDArray[np.bool_]) -> bool:
    """Return whether most rows of a batch of ten rows or more are flagged."""
    return len(is_outlier) >= LEAST_BATCH and bool(is_outlier.mean() > 0.5)
