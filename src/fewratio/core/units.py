"""All units of columns.

`column_scaling` is for estimators, which measure distances, and `RankScaling` for those that learn from related
datasets. `standardise` is for the two-sample test, where categories count as one column. `clip_to_middle` and
`clip_far` keep outliers from setting a unit: the first uses quantiles, the second the median, for samples of a few rows
and for residuals of a series.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arrays import GIVEN, real_deviation
from fewratio.core.blocks import row_blocks
from fewratio.core.shapes import Floats

_KEPT = 0.05, 0.95
# Distances from the median are capped at this multiple of their median, which values of a normal column never reach.
_FARTHEST = 10.0
# Ranks are interpolated between this many values; in models, which are saved in files, between fewer.
_KNOTS, _KNOTS_OF_MODELS = 1_000, 100


# Samples are iterables of Any: otherwise shape checks in tests would draw one, from the global random state.


@dataclass(frozen=True, eq=False)
class ColumnScaling:
    """Scaling of rows before distances are computed: subtract a common origin, and divide columns by their units.

    Attributes
    ----------
    mean : ndarray of shape (d,) or float
        The origin: the mean of the samples together, or 0.
    scale : ndarray of shape (d,) or float
        The columns' units, or 1.
    """

    mean: Floats | float
    scale: Floats | float

    @classmethod
    def of(cls, samples: Iterable[Any], scale: "str | ColumnScaling") -> "ColumnScaling":
        """Learn from all samples together; ``scale`` is "columns" or "none", as in estimators, or a known scaling."""
        if isinstance(scale, ColumnScaling):
            return scale
        if scale != "columns":
            return cls(0.0, 1.0)
        mean, units = _find_units(samples)
        # A column that is constant in all samples says nothing of distances, whatever its unit is.
        return cls(mean, np.where(units > 0, units, np.inf))

    def in_one_unit(self) -> "ColumnScaling":
        """Return the scaling with one unit for all columns: the largest, so that no square overflows."""
        units = np.asarray(self.scale)
        return ColumnScaling(self.mean, float(units[np.isfinite(units)].max(initial=0.0)) or 1.0)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return np.size(self.mean)

    def __call__(self, rows: Floats) -> Floats:
        """Scale rows."""
        return (rows - self.mean) / self.scale


def column_scaling(samples: Iterable[Any]) -> tuple[Floats, Floats]:
    """Return the mean and unit of each column over the rows of all samples; a constant column is only centred.

    The unit is the root mean square distance from the median, with distances capped at ten times their median, so that
    a few outliers do not decide. That median ignores values equal to the median of the column, so that the unit of a
    column that is nearly constant, such as rain or a rare defect, is about its standard deviation, and the column does
    not outweigh all others. The unit of a column of two values is their difference, so that a rare category is not
    farther away than a common one. Deviations that are rounding errors, as for 0.1 repeated, count as 0.

    Parameters
    ----------
    samples : iterable of ndarray of shape (n, d)
        Samples of the same columns.

    Returns
    -------
    mean, scale : ndarray of shape (d,)
        The origin to subtract, and the unit to divide by afterwards.

    Examples
    --------
    >>> import numpy as np
    >>> column_scaling([np.array([[1.0, 7.0, 0.0]]), np.array([[3.0, 7.0, 1.0], [5.0, 7.0, 1.0]])])
    (array([3. , 7. , 0.66666667]), array([1.63299316, 1. , 1. ]))
    """
    mean, units = _find_units(samples)
    return mean, np.where(units > 0, units, 1.0)


def _find_units(samples: Iterable[Any]) -> tuple[Floats, Floats]:
    """Return the mean and unit of each column; 0 if it is constant."""
    samples = list(samples)
    n_rows = sum(len(X) for X in samples)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = sum(X.sum(0, dtype=np.float64) for X in samples) / n_rows
        # Columns in blocks: all together would need a copy of the table.
        blocks = row_blocks(len(mean), n_rows)
        scale = np.concatenate([_units(np.concatenate([X[:, block].T for X in samples], axis=1)) for block in blocks])
    return mean, real_deviation(mean, scale, GIVEN)


def _units(columns: NDArray[np.floating]) -> Floats:
    """Return the unit of each column, of shape (n_columns, n); 0 if it is constant."""
    low, high = columns.min(1, keepdims=True), columns.max(1, keepdims=True)
    has_two_values = ((columns == low) | (columns == high)).all(1)
    apart = np.abs(columns.astype(np.float64) - np.median(columns, axis=1, keepdims=True))
    apart = np.sort(apart, axis=1)
    n, n_zero = apart.shape[1], (apart == 0).sum(1)
    median = apart[np.arange(len(apart)), np.minimum((n_zero + n) // 2, n - 1)]
    units = np.sqrt(np.square(np.minimum(apart, _FARTHEST * median[:, None])).mean(1))
    return np.where(has_two_values, (high - low)[:, 0], units)


def clip_to_middle(values: Floats, margin: float = 0.0, axis: int = 0) -> Floats:
    """Clip columns at `margin` widths of their middle 90 % beyond it, so that outliers do not set a unit.

    Columns whose middle 90 % are equal do not change.
    """
    low, high = np.quantile(values, _KEPT, axis=axis, keepdims=True)
    reach = np.where(high > low, margin * (high - low) if margin else 0.0, np.inf)
    return np.clip(values, low - reach, high + reach)


def clip_far(values: Floats, n_deviations: float, middle: Floats | float = 0.0) -> Floats:
    """Clip columns at `n_deviations` robust standard deviations (1.4826 median absolute deviations) from a middle.

    Columns with half of their values at the middle, as zeros and ones often have, do not change.
    """
    deviations = 1.4826 * np.median(np.abs(values - middle), axis=0)
    limits = n_deviations * np.where(deviations > 0, deviations, np.inf)
    return np.clip(values, middle - limits, middle + limits)


def rank_values(values: Floats) -> Floats:
    """Return the rank of each value, from 1 on; equal values have the mean of their ranks.

    `scipy.stats.rankdata` gives the same, but importing it takes a third of the time of a small comparison.

    Examples
    --------
    >>> rank_values(np.array([3.0, 1.0, 3.0]))
    array([2.5, 1. , 2.5])
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (counts.cumsum() - (counts - 1) / 2)[places]


def rank_knots(values: Floats, most: int = _KNOTS) -> tuple[Floats, Floats]:
    """Return values of a column and their ranks, between 0 and 1, from which to interpolate other ranks.

    Equal values have the mean of their ranks. If there are many values, about ``most`` are kept.
    """
    known, counts = np.unique(values, return_counts=True)
    step = len(known) // most + 1
    return known[::step], ((counts.cumsum() - counts / 2) / len(values))[::step]


@dataclass(frozen=True, eq=False)
class RankScaling:
    """Ranks of values among known ones, between 0 and 1: independent of units, and of any increasing transformation.

    Beyond the known values they continue with the mean slope between these, ever flatter, by at most 0.5: a pixel that
    was nearly always black in the sources must not outweigh all others where it is white.

    Attributes
    ----------
    values, ranks : ndarray of shape (d, n_knots)
        Known values of each column in order, the last repeated if there are fewer, and their ranks.
    """

    values: Floats
    ranks: Floats

    @classmethod
    def of(cls, samples: Iterable[Any]) -> "RankScaling":
        """Learn from the rows of all samples."""
        rows, knots = np.concatenate([np.asarray(X, np.float64) for X in samples]), []
        for column in rows.T:
            values, ranks = rank_knots(column, _KNOTS_OF_MODELS)
            # The largest value may be between two that are kept.
            largest = column.max(), 1 - (column == column.max()).mean() / 2
            short = _KNOTS_OF_MODELS + 2 - len(values)
            knots.append(
                [np.append(each, np.full(short, end)) for each, end in zip((values, ranks), largest, strict=True)]
            )
        return cls(*np.ascontiguousarray(np.swapaxes(knots, 0, 1)))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_columns: int) -> "RankScaling":
        """Restore from the arrays of a file; raise ``ValueError`` if they do not fit together."""
        found = cls(arrays["values"], arrays["ranks"])
        is_whole = found.values.ndim == 2 and found.values.shape == found.ranks.shape and len(found.values) == n_columns
        if not (
            is_whole
            and found.values.size
            and np.isfinite([found.values, found.ranks]).all()
            and (np.diff(found.values) >= 0).all()
        ):
            raise ValueError("its ranks are not those of its columns")
        return found

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.values)

    @property
    def ranges(self) -> tuple[Floats, Floats]:
        """The smallest and the largest known value of each column."""
        return self.values[:, 0], self.values[:, -1]

    def __call__(self, rows: Floats) -> Floats:
        """Scale rows, of shape (..., d)."""
        low, high = self.ranges
        beyond = rows - np.clip(rows, low, high)
        found = beyond / np.maximum(high - low + 2 * np.abs(beyond), np.finfo(np.float64).tiny)
        for place, (values, ranks) in enumerate(zip(self.values, self.ranks, strict=True)):
            found[..., place] += np.interp(rows[..., place], values, ranks)
        return found


def standardise(rows: Floats, columns: Sequence[slice]) -> Floats:
    """Scale columns to median 0 and unit variance; all features of a column count as one.

    So do the zeros and ones of a categorical column together, and the numbers of a text or a vector together.
    ``columns`` holds the places of the features of each column of a table.
    """
    centred = rows - np.median(rows, axis=0)
    variances = real_deviation(rows.mean(0), centred.std(0), GIVEN) ** 2
    is_share = ((rows == 0) | (rows == 1)).all(0)
    starts, widths = [place.start for place in columns], [place.stop - place.start for place in columns]
    of_shares = np.add.reduceat(np.where(is_share, variances, 0), starts)
    n_others = np.add.reduceat(~is_share & (variances > 0), starts, dtype=np.float64)
    together, n_others = np.repeat(of_shares, widths), np.repeat(n_others, widths)
    variances = np.where(is_share, together, variances * n_others)
    return centred / np.sqrt(np.where(variances > 0, variances, 1))
