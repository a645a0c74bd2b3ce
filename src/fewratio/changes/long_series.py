"""Long series: find changes among blocks of rows, then locate them among nearby rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.changes.gaps import fill_gaps, find_marks
from fewratio.changes.seasons import average_phases, find_period
from fewratio.changes.segment_costs import Cost, estimate_noise, refine_points, rounding_variance
from fewratio.changes.significance import FoundChanges
from fewratio.core.blocks import row_blocks
from fewratio.core.kernels import check_squares
from fewratio.core.shapes import Floats
from fewratio.data.encoding import Encoding
from fewratio.progress import progress_bar

# A series of this many rows is long, and cut into at most this many blocks.
LONG, _BLOCKS = 100_000, 10_000
# A season is looked for in this many first rows; and the most values in memory at once.
_FIRST_ROWS, _HELD_VALUES = 100_000, 2**21
# Deviations are at least this share of their median, so that a block of equal rows is no outlier.
_LEAST_DEVIATION = 0.3
# The most blocks by which a change may move when it is located, and the blocks on either side used for that.
_REACH, _BESIDE = 3, 30


class RowsOnDemand:
    """Rows computed on demand, ``rows[start:stop]``: they may not fit into memory."""

    def __init__(self, shape: tuple[int, int], compute: Callable[[int, int], Floats]) -> None:
        self.shape, self._compute = shape, compute

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Floats:
        start, stop, _ = rows.indices(len(self))
        return self._compute(start, stop)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        result = np.empty(self.shape, dtype)
        for start in range(0, len(self), _FIRST_ROWS):
            result[start : start + _FIRST_ROWS] = self[start : start + _FIRST_ROWS]
        return result


class LongSeries:
    """A series of many rows, possibly in a file, summarised by blocks of rows.

    Last rows that do not fill a block are left out.

    Parameters
    ----------
    numbers : array of shape (n, d) or FileNumbers
        Rows in order of time.
    encoding : Encoding or None
        Shows which columns mark missing numbers.

    Attributes
    ----------
    size : int
        Rows per block; a multiple of the period if the first rows have a season.
    means, deviations : ndarray of shape (n_blocks, d)
        Means and standard deviations of the rows of each block without the season; missing numbers do not count.
    gaps : dict of int to ndarray of shape (n_blocks,)
        For each feature whose missing numbers are marked, the blocks in which all are missing.
    """

    def __init__(self, numbers: Any, encoding: Encoding | None) -> None:
        n, d = numbers.shape
        self._numbers, self._marks, self._is_used = numbers, find_marks(encoding), np.ones(d, dtype=bool)
        self._season = np.zeros((1, d))
        n_held = max(1, _HELD_VALUES // d)
        first = self._read(0, min(n, _FIRST_ROWS, n_held))
        self.size, period = -(-n // _BLOCKS), round(find_period(first))
        if period:
            self._season, self.size = average_phases(first, period), period * -(-self.size // period)
            self._season[:, list(self._marks.values())] = 0
        del first
        self.means, self.deviations = np.empty((2, n // self.size, d))
        with progress_bar(n, "reading") as report:
            for part in row_blocks(len(self.means), self.size, n_held):
                rows = np.array(numbers[part.start * self.size : part.stop * self.size], dtype=np.float64)
                check_squares(rows)
                rows -= np.resize(self._season, rows.shape)
                self.means[part], self.deviations[part] = _describe_blocks(rows, self.size, self._marks)
                report(part.stop * self.size, None)
        # The mean of zeros and ones determines their deviation.
        shares = self.means * (1 - self.means)
        self.is_binary = np.isclose(self.deviations**2, shares, atol=1e-12).all(0)
        self.gaps = {value: self.means[:, mark] == 1 for value, mark in self._marks.items()}
        for value, is_gap in self.gaps.items():
            fill_gaps(self.means[:, value], is_gap)
            fill_gaps(self.deviations[:, value], is_gap)

    def select(self, is_used: NDArray[np.bool_]) -> None:
        """Keep some of the columns."""
        self._is_used, self.is_binary = is_used, self.is_binary[is_used]
        self.means, self.deviations = self.means[:, is_used], self.deviations[:, is_used]

    @property
    def features(self) -> Floats:
        """The means, and the logarithms of the deviations, in which a change of spread is a change of level."""
        deviations = self.deviations[:, ~self.is_binary]
        usual = np.array([np.median(column[column > 0]) if column.any() else 1.0 for column in deviations.T])
        return np.hstack([self.means, np.log(np.maximum(deviations, _LEAST_DEVIATION * usual))])

    def list_gap(self, is_gap: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the rows of some blocks."""
        rows = np.zeros(len(self._numbers), dtype=bool)
        rows[: len(is_gap) * self.size] = is_gap.repeat(self.size)
        return rows

    def list_rows(self) -> Any:
        """Return all rows without gaps, on demand if the numbers are in a file."""
        return self._list_held(self._read)

    def list_background(self, background: Floats) -> Any:
        """Return the season plus the background, interpolated between blocks, in all rows."""
        return self._list_held(
            lambda start, stop: self._read_season(start, stop) + self._spread(background, start, stop)
        )

    @property
    def columns(self) -> list[int]:
        """The number of the column that each feature describes."""
        return [*range(len(self.is_binary)), *np.flatnonzero(~self.is_binary).tolist()]

    def _list_held(self, compute: Callable[[int, int], Floats]) -> Any:
        rows = RowsOnDemand((len(self._numbers), int(self._is_used.sum())), compute)
        return np.asarray(rows) if isinstance(self._numbers, np.ndarray) else rows

    def _read(self, start: int, stop: int) -> Floats:
        """Return some rows without gaps."""
        rows = np.array(self._numbers[start:stop], dtype=np.float64)
        for value, mark in self._marks.items():
            fill_gaps(rows[:, value], rows[:, mark] == 1)
        return rows if self._is_used.all() else rows[:, self._is_used]

    def _read_season(self, start: int, stop: int) -> Floats:
        season = self._season[np.arange(start, stop) % len(self._season)]
        return season if self._is_used.all() else season[:, self._is_used]

    def _spread(self, blocks: Floats, start: int, stop: int) -> Floats:
        """Interpolate values of blocks, at the middles of the blocks, to some rows."""
        middles = (np.arange(len(self.means)) + 0.5) * self.size - 0.5
        return np.column_stack([np.interp(np.arange(start, stop), middles, column) for column in blocks.T])

    def locate_in_rows(self, found: FoundChanges, background: Floats) -> FoundChanges:
        """Locate changes of blocks among the rows; if several are the same change, keep the highest score.

        Parameters
        ----------
        found : FoundChanges
            Changes of the blocks.
        background : ndarray of shape (n_blocks, d)
            The part of the means that is not a change, such as a season longer than a block.
        """
        ends = [0, *found.points.tolist(), len(self.means)]
        kept: dict[int, int] = {}
        # The highest scores first.
        for number in np.argsort(-found.scores[found.points]).tolist():
            before, point, after = ends[number : number + 3]
            row = self._locate(before, point, after, background)
            # A block that contains a change differs from both sides: its beginning and its end are the same change.
            if all(abs(row - other) >= self.size for other in kept.values()):
                kept[number] = row
        numbers = sorted(kept)
        rows = np.array([kept[number] for number in numbers], dtype=np.intp)
        scores = np.full(len(self._numbers), np.nan)
        scores[np.arange(len(self.means)) * self.size] = found.scores
        scores[found.points * self.size] = np.nan
        scores[rows] = found.scores[found.points[numbers]]
        p_values = None if found.p_values is None else found.p_values[numbers]
        kinds = tuple(found.kinds[number] for number in numbers)
        changed = tuple(found.changed[number] for number in numbers)
        return found._replace(points=rows, scores=scores, p_values=p_values, kinds=kinds, changed=changed)

    def _locate(self, before: int, point: int, after: int, background: Floats) -> int:
        """Return the first row after a change; `before` and `after` are the changes around it."""
        start, stop = max(before, point - _BESIDE) * self.size, min(after, point + _BESIDE) * self.size
        rows = self._read(start, stop) - self._read_season(start, stop) - self._spread(background, start, stop)
        rows = rows[:, rows.std(0) > 0]
        rows = (rows - rows.mean(0)) / rows.std(0)
        cost = Cost(rows, estimate_noise(rows), 0, rounding_variance(rows))
        return start + refine_points(cost, [point * self.size - start], _REACH * self.size)[0]


def _describe_blocks(rows: Floats, size: int, marks: dict[int, int]) -> tuple[Floats, Floats]:
    """Return means and deviations of blocks of rows; both are 0 where all numbers are missing."""
    blocks = rows.reshape(-1, size, rows.shape[1])
    is_there = np.ones(blocks.shape, dtype=bool)
    for value, mark in marks.items():
        is_there[:, :, value] = blocks[:, :, mark] == 0
    counts = np.maximum(is_there.sum(1), 1)
    means = blocks.sum(1, where=is_there) / counts
    blocks -= means[:, None]
    return means, np.sqrt((blocks**2).sum(1, where=is_there) / counts)
