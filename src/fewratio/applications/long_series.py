"""Long series by blocks of rows: changes are looked for among blocks, and then placed among the rows beside them."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from fewratio.applications.gaps import fill_gaps
from fewratio.applications.seasons import season_period
from fewratio.applications.segment_costs import Cost, moved, noise, rounding_variance
from fewratio.core.shapes import Floats, Numbers
from fewratio.data.encoding import Encoding
from fewratio.estimators.gaussian_basis import check_squares
from fewratio.progress import progress_bar

# Series of as many rows are long. They become so many blocks, or fewer.
LONG, _BLOCKS = 100_000, 10_000
# Rows in which a season is looked for, and rows that are read at once.
_FIRST_ROWS, _PIECE_ROWS = 100_000, 2**16
# Logarithms of deviations are bounded below, by that of this part of the usual one: of few rows some have none.
_LEAST_DEVIATION = 0.3
# Blocks on either side of a change whose rows tell its place, and those among whose rows it is looked for.
_BESIDE, _REACH = 30, 2


class Blocks(NamedTuple):
    """Blocks of consecutive rows. What is left over at the end, less than a block, is not described.

    Attributes
    ----------
    size : int
        Rows of a block. If the first rows have a season, it is a multiple of its period, so that no season is left.
    means, deviations : ndarray of shape (n_blocks, d)
        Means and standard deviations of the rows of each block; missing numbers do not count.
    """

    size: int
    means: Floats
    deviations: Floats

    @property
    def features(self) -> Floats:
        """The means, and beside them logarithms of the deviations, in which a change of spread is one of level."""
        # Of zeros and ones the mean tells all.
        is_binary = np.isclose(self.deviations**2, self.means * (1 - self.means), atol=1e-12).all(0)
        deviations = self.deviations[:, ~is_binary]
        usual = np.array([np.median(column[column > 0]) if column.any() else 1.0 for column in deviations.T])
        return np.hstack([self.means, np.log(np.maximum(deviations, _LEAST_DEVIATION * usual))])


def blocks_of(numbers: Any, encoding: Encoding | None) -> Blocks:
    """Describe a long series, which may be in a file.

    Parameters
    ----------
    numbers : array of shape (n, d) or FileNumbers
        Rows in the order of time.
    encoding : Encoding or None
        Says which columns mark missing numbers.
    """
    n, d = numbers.shape
    size, period = n // _BLOCKS, season_period(np.array(numbers[:_FIRST_ROWS], dtype=np.float64))
    size = period * -(-size // period) if period else size
    means, deviations = np.empty((2, n // size, d))
    marks = _marks(encoding)
    with progress_bar(n, "reading") as report:
        for part in gen_batches(len(means), max(1, _PIECE_ROWS // size)):
            rows = np.array(numbers[part.start * size : part.stop * size], dtype=np.float64)
            check_squares(rows)
            means[part], deviations[part] = _moments(rows, size, marks)
            report(part.stop * size, None)
    for value, mark in marks.items():
        for each in (means, deviations):
            fill_gaps(each[:, value], means[:, mark] == 1)
    return Blocks(size, means, deviations)


def places_of(numbers: Any, blocks: Blocks, points: Numbers) -> Numbers:
    """Return the first rows after changes, given the first blocks after them.

    Parameters
    ----------
    numbers : array of shape (n, d) or FileNumbers
        The series.
    blocks : Blocks
        What was made of it.
    points : ndarray of int
        Numbers of blocks, in order.
    """
    ends, found = [0, *points.tolist(), len(blocks.means)], []
    for before, point, after in zip(ends, ends[1:], ends[2:], strict=False):
        first, last = max(before, point - _BESIDE), min(after, point + _BESIDE)
        start = first * blocks.size
        rows = np.array(numbers[start : last * blocks.size], dtype=np.float64)
        spread = rows.std(0)
        rows = (rows[:, spread > 0] - rows[:, spread > 0].mean(0)) / spread[spread > 0]
        cost = Cost(rows, noise(rows), 0, rounding_variance(rows))
        found.append(start + moved(cost, [point * blocks.size - start], _REACH * blocks.size)[0])
    return np.array(found, dtype=np.intp)


def _marks(encoding: Encoding | None) -> dict[int, int]:
    """Return the feature that marks missing numbers of each feature that has some."""
    if encoding is None:
        return {}
    marking = [column for column in encoding.used if column.marks_missing and column.median is not None]
    places = [encoding.places[column.name] for column in marking]
    return {place.start: place.stop - 1 for place in places}


def _moments(rows: Floats, size: int, marks: dict[int, int]) -> tuple[Floats, Floats]:
    """Return means and deviations of blocks of rows; of a block without any value, those of zeros."""
    blocks = rows.reshape(-1, size, rows.shape[1])
    is_there = np.ones(blocks.shape, dtype=bool)
    for value, mark in marks.items():
        is_there[:, :, value] = blocks[:, :, mark] == 0
    counts = np.maximum(is_there.sum(1), 1)
    means = blocks.sum(1, where=is_there) / counts
    blocks -= means[:, None]
    return means, np.sqrt((blocks**2).sum(1, where=is_there) / counts)
