"""Which columns make two samples differ."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fewratio.applications.permutation import permute_pairs
from fewratio.core.shapes import Floats
from fewratio.data.columns import BOOLEAN
from fewratio.data.encoding import CATEGORY, Column, Encoding
from fewratio.data.separating import as_text
from fewratio.estimators.base import RatioEstimator

# Columns left out in one call, and values of their tables (32 MB). More would not be faster: the distances between the
# tables of two columns are of no use.
_BLOCK_COLUMNS = 8
_BLOCK_VALUES = 2**22


def drops_without_columns(
    estimator: RatioEstimator, pooled: Floats, n_first: int, statistic: float, places: Sequence[slice]
) -> Floats:
    """Give how far the statistic falls when a column says nothing: all values of its features become their means.

    Parameters
    ----------
    estimator : RatioEstimator
    pooled : ndarray of shape (n, d)
        The first sample, then the second.
    n_first : int
        Rows of the first sample.
    statistic : float
        The mean of the divergences in both directions, with all columns.
    places : sequence of slice
        Where the features of each column are.

    Returns
    -------
    ndarray of shape (n_columns,)
    """
    n_rows, n_features = pooled.shape
    means, drops = pooled.mean(0), np.empty(len(places))
    step = max(1, min(_BLOCK_COLUMNS, _BLOCK_VALUES // pooled.size))
    for start in range(0, len(places), step):
        columns = np.arange(start, min(start + step, len(places)))
        tables = np.tile(pooled, (len(columns), 1, 1))
        for table, column in zip(tables, columns.tolist(), strict=True):
            table[:, places[column]] = means[places[column]]
        numbers = np.arange(tables.shape[0] * n_rows).reshape(-1, n_rows)
        rows = tables.reshape(-1, n_features)
        without = permute_pairs(estimator, rows, numbers[:, :n_first], numbers[:, n_first:])
        drops[columns] = statistic - without.statistic
    return drops


class ColumnDifference(NamedTuple):
    """How a column differs between two samples.

    Attributes
    ----------
    column : str
    kind : str
    first, second : str
        What it holds in either sample, in words: the mean, or the shares of the category that differs most.
    effect : float
        Cohen's d of numbers and dates (the difference of the means in units of the deviation within the samples,
        positive if the first is larger), h of categories and of gaps (the difference of two shares' arcsines),
        whichever is larger.
    """

    column: str
    kind: str
    first: str
    second: str
    effect: float


def column_differences(encoding: Encoding, first: Floats, second: Floats) -> list[ColumnDifference]:
    """Describe how each column differs between two encoded samples, the largest effect first."""
    used = [column for column in encoding.columns if column.left_out is None]
    found = [
        _difference(column, first[:, encoding.places[column.name]], second[:, encoding.places[column.name]])
        for column in used
    ]
    return sorted(found, key=lambda difference: -abs(difference.effect))


def _difference(column: Column, first: Floats, second: Floats) -> ColumnDifference:
    shares = first.mean(0), second.mean(0)
    is_share = np.full(first.shape[1], column.kind == CATEGORY)
    is_share[-1] |= column.marks_missing
    effects = np.where(is_share, _shares_apart(*shares), 0.0)
    values = [side[side[:, -1] == 0, 0] if column.marks_missing else side[:, 0] for side in (first, second)]
    if not is_share[0] and all(map(len, values)):
        effects[0] = _means_apart(*values)
    largest = int(np.abs(effects).argmax())
    if column.kind == BOOLEAN and largest == 0:
        words = [f"True {side.mean():.0%}" for side in values]
    elif is_share[largest]:
        what = column.feature_names[largest].removeprefix(f"{column.name}=").removeprefix(f"{column.name} is ")
        words = [f"{what} {share[largest]:.0%}" for share in shares]
    else:
        means = [float(side.mean()) for side in values]
        # As many digits as it takes to tell the means apart.
        for digits in (4, 5, 6, 8):
            words = [f"mean {as_text(column, mean, digits)}" for mean in means]
            if words[0] != words[1]:
                break
    return ColumnDifference(column.name, column.kind, words[0], words[1], float(effects[largest]))


def _shares_apart(first: Floats, second: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return 2 * (np.arcsin(np.sqrt(first.clip(0, 1))) - np.arcsin(np.sqrt(second.clip(0, 1))))


def _means_apart(first: Floats, second: Floats) -> float:
    """Give Cohen's d; of constants, however far apart, as many deviations as there are rows."""
    within = np.sqrt((first.var() + second.var()) / 2)
    difference = float(first.mean() - second.mean())
    if within > 1e-12 * max(abs(first.mean()), abs(second.mean())):
        return difference / float(within)
    return float(np.sign(difference) * (len(first) + len(second)))
