"""The default score of the outlier detector."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arrays import GIVEN, real_deviation
from fewratio.core.blocks import row_blocks
from fewratio.core.draws import draw_rows, row_order
from fewratio.core.kernels import check_squares
from fewratio.core.shapes import Floats
from fewratio.core.units import clip_to_middle
from fewratio.outliers.strange_cells import StrangeCells, rate_new_categories
from fewratio.progress import progress_bar

# Chosen on the 21 tables of the development half (benchmarks/answers.py --only order), without a record of the search.
# The weights of the ratio were also chosen on errors planted in 15 tables (--only errors) and on a broken relation in a
# year of weather: 3.5 instead of 2.75 raises the area by .0006 with half of the normals, but lowers that row's rank
# from 3 to 42.
NEIGHBOURS = 3
_PARTITIONS, _CELLS = 100, 16
_RATIO_WEIGHT, _DIFFERENCE_WEIGHT, _HALF_WEIGHT = 2.0, 2.75, 20.0
_TO_ALL_WEIGHT, _FEW = 4.0, 5.0
# Distances to this many random rows are computed, and the 20th nearest of them is used.
_DRAWN, _NEAREST = 400, 20
# Added to distances before the logarithm, which makes the scores of normals symmetric enough for a prediction bound.
_NEAR = 0.3
# Values are clipped at this many deviations, so that squares keep their digits.
_FAR = 1e6
# More normals hardly change the distance to the nearest, but take longer.
_MAX_NORMALS = 5000
# More normals, or rows of the batch, would not improve units and densities.
_MAX_ROWS = 100_000


class Scores(NamedTuple):
    """Scores of rows; higher is more normal.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Scores of the batch.
    left_out : ndarray
        Scores of the normals, each treated as a row of the batch; of 5,000 random normals if there are more, and empty
        for a single normal.
    lowest : ndarray
        Lower bounds of these scores if the normal were swapped with any row of the batch, for p-values.
    """

    rows: Floats
    left_out: Floats
    lowest: Floats


def score_rows(normals: Floats, rows: Floats, codes: Sequence[NDArray[np.intp]] = ()) -> Scores:
    """Score rows by their density ratio to the normals, their distance from them, and their distance from all rows.

    The score is w (r - 1) - log(0.3 + max(s, x)) - v log(0.3 + t).

    r is the relative density ratio (alpha = 0.5) of the normals to the batch, from counts in the cells of 100 random
    partitions. Each partition consists of the Voronoi cells of 16 rows.

    s is a mean distance to the three nearest normals, over the square root of the number of columns: 0.3 + s is the
    harmonic mean of 0.3 + distance, so the nearest normal counts most. Columns are in units of their standard deviation
    over normals and batch, after clipping values that are farther outside the middle 90 % of a column than its width.

    x is how far the strangest cell of the row lies outside all normals, in deviations, by itself or given the other
    columns, times e / (e + 5), because few normals have a narrow range; or how rare its category is, if no normal has
    it (`fewratio.outliers.strange_cells`). One wrong cell among many columns has a large x but a small s.

    t is the distance within which a twentieth of all rows lie, estimated from 400 rows: if there are few normals, it
    helps to know where most rows are. Its weight v is 4 / (e + 5).

    The ratio finds outliers that lie close together or among the normals, the distances find scattered ones. With few
    rows, or hardly any outlier, the ratio is noise, so its weight grows with the number of rows and the difference
    between normals and batch: w = 2 g + 2.75 f g^2, where g = e / (e + 20), e = n_normals n_rows / (n_normals +
    n_rows), and f is the root of the share of chi-square of the cell counts that chance does not explain (as by James
    and Stein: 1 - expected / found, at least 0).

    The partitions depend only on the values of all rows together, so the scores are deterministic and do not depend on
    the order of the rows. If there are more than 100,000 normals, or rows of the batch, that many random rows are used
    for units and densities.

    Parameters
    ----------
    normals : ndarray of shape (n_normals, d)
        Rows known to be normal.
    rows : ndarray of shape (n_rows, d) or FileNumbers
        The batch.
    codes : sequence of ndarray of shape (n_normals + n_rows,)
        For each categorical column, the category numbers of the normals and of the batch; -1 if missing.

    Examples
    --------
    >>> score_rows(np.array([[0.0], [0.1], [0.3]]), np.array([[0.2], [9.0]])).rows.round(2)
    array([ 1.76, -0.36])
    """
    check_squares(normals, rows)
    n_normals = len(normals)
    new = rate_new_categories(codes, n_normals).max(1) if codes else np.zeros(n_normals + len(rows))
    known, batch = _draw(normals), _draw(rows)
    score = _Score(_take(normals, known), _take(rows, batch), new[:n_normals][known])
    found = np.empty(len(rows))
    with progress_bar(len(rows), "scoring", unit="rows") as report:
        for block in row_blocks(len(rows), _PARTITIONS * _CELLS):
            found[block] = score(_take(rows, block), new[n_normals:][block])
            report(block.stop, None)
    return Scores(found, *score.score_left_out())


def _draw(rows: Floats) -> NDArray[np.intp] | slice:
    return slice(None) if len(rows) <= _MAX_ROWS else draw_rows(rows, _MAX_ROWS, np.random.default_rng(0))


def _take(rows: Floats, some: NDArray[np.intp] | slice) -> Floats:
    return np.ascontiguousarray(rows[some], dtype=np.float64)


class Units:
    """Scale columns to standard deviations over all rows, and drop constant columns."""

    def __init__(self, pooled: Floats) -> None:
        clipped = clip_to_middle(pooled, margin=1.0)
        mean, deviation = clipped.mean(0), (clipped - clipped[:1]).std(0)
        self.varies = real_deviation(mean, deviation, GIVEN) > 0
        self._mean, self._deviation = mean[self.varies], deviation[self.varies]

    def __call__(self, rows: Floats) -> Floats:
        """Return scaled rows."""
        return ((rows[:, self.varies] - self._mean) / self._deviation).clip(-_FAR, _FAR)


class _Score:
    """The score of `score_rows`, fitted to normals and a batch; `new` rates the categories of the normals."""

    def __init__(self, normals: Floats, batch: Floats, new: Floats) -> None:
        from sklearn.neighbors import NearestNeighbors

        pooled, n_normals = np.concatenate([normals, batch]), len(normals)
        self._in_units = Units(pooled)
        pooled = self._in_units(pooled)
        order = row_order(pooled)
        self._centres = pooled[order[np.random.default_rng(0).integers(len(order), size=_PARTITIONS * _CELLS)]]
        self._norms = (self._centres**2).sum(1)
        blocks = list(row_blocks(len(pooled), len(self._centres)))
        found = [self._cells_and_distances(pooled[block]) for block in blocks]
        cells, to_all = (np.concatenate(each) for each in zip(*found, strict=True))
        self._counts = [
            np.stack([np.bincount(column, minlength=_CELLS) for column in part.T])
            for part in (cells[:n_normals], cells[n_normals:])
        ]
        self._known = np.sort(np.random.default_rng(0).permutation(order[order < n_normals])[:_MAX_NORMALS])
        self._nearest = NearestNeighbors().fit(self._for_distances(pooled[self._known]))
        self._of_known = cells[self._known], to_all[self._known]
        self._evidence = n_normals * len(batch) / len(pooled)
        self._difference = _Difference(self._counts, [cells[n_normals:][block] for block in blocks])
        self._cells = StrangeCells(pooled, n_normals, order)
        self._strange_known = self._strangeness(pooled[self._known], new[self._known], are_normals=True)

    def __call__(self, rows: Floats, new: Floats) -> Floats:
        """Score rows of the batch."""
        rows = self._in_units(rows)
        n_neighbours = min(NEIGHBOURS, len(self._known))
        distances = self._nearest.kneighbors(self._for_distances(rows), n_neighbours)[0]
        cells, to_all = self._cells_and_distances(rows)
        ratio, strange = self._ratio(cells), self._strangeness(rows, new)
        return self._add_up(ratio, self._difference.found, to_all, distances, strange)

    def score_left_out(self) -> tuple[Floats, Floats]:
        """Score each normal as a row of the batch; return the scores, and their bounds after any swap.

        Both are empty for a single normal.
        """
        if len(self._known) == 1:
            return np.empty(0), np.empty(0)
        distances = self._nearest.kneighbors(n_neighbors=min(NEIGHBOURS, len(self._known) - 1))[0]
        cells, to_all = self._of_known
        ratio = self._ratio(cells, n_moved=1)
        found, lowest = (
            self._add_up(ratio, difference, to_all, distances, self._strange_known)
            for difference in (self._difference.found, self._difference.bound(cells, ratio < 1))
        )
        return found, lowest

    def _for_distances(self, rows: Floats) -> Floats:
        # If no column varies, all distances are 0.
        return rows / np.sqrt(rows.shape[1]) if rows.shape[1] else np.zeros((len(rows), 1))

    def _cells_and_distances(self, rows: Floats) -> tuple[NDArray[np.uint8], Floats]:
        """Return the cell of each row in each partition, and its distance to the nearest twentieth of all rows."""
        # Without the squared norm of the row, which does not change the nearest centre. Rounded, so that the first of
        # equally near centres is chosen in columns with few values.
        squares = np.round(self._norms - 2 * rows @ self._centres.T, 9)
        cells = squares.reshape(len(rows), _PARTITIONS, _CELLS).argmin(2).astype(np.uint8)
        # The first centres are a sample of all rows.
        nearest = np.partition(squares[:, :_DRAWN], _NEAREST, axis=1)[:, _NEAREST] + (rows**2).sum(1)
        return cells, np.sqrt(np.round(nearest, 9).clip(0) / max(1, rows.shape[1]))

    def _strangeness(self, rows: Floats, new: Floats, are_normals: bool = False) -> Floats:
        """Return how strange the strangest cell of each row is, weighted by the numbers of normals and rows."""
        trust = self._evidence / (self._evidence + _FEW)
        return np.maximum(trust * self._cells(rows, are_normals).max(1, initial=0), new)

    def _ratio(self, cells: NDArray[np.uint8], n_moved: int = 0) -> Floats:
        """Return the ratio of rows from their cells; with `n_moved=1`, each is a normal moved to the batch."""
        in_normals, in_batch = self._counts
        n_normals, n_rows = (int(counts[0].sum()) for counts in self._counts)
        # The numbers of rows stay the same. So the ratio of a normal that is swapped with a row of the batch is never
        # below its ratio when left out, which makes the p-values valid.
        of_normals, of_batch = (in_normals - n_moved) / n_normals, (in_batch + n_moved) / n_rows
        # The ratio is 1 in cells without any row that was drawn.
        ratios = np.divide(
            2 * of_normals, of_normals + of_batch, out=np.ones(of_batch.shape), where=of_batch + of_normals > 0
        )
        return _mean_over_partitions(ratios, cells)

    def _add_up(
        self, ratio: Floats, difference: Floats | float, to_all: Floats, distances: Floats, strange: Floats
    ) -> Floats:
        trust = self._evidence / (self._evidence + _HALF_WEIGHT)
        weight = trust * (_RATIO_WEIGHT + _DIFFERENCE_WEIGHT * trust * difference)
        to_all_weight = _TO_ALL_WEIGHT / (self._evidence + _FEW)
        nearness = np.minimum((1 / (_NEAR + distances)).mean(1), 1 / (_NEAR + strange))
        return weight * (ratio - 1) + np.log(nearness) - to_all_weight * np.log(_NEAR + to_all)


class _Difference:
    """How much normals and batch differ: the root of the share of chi-square that chance does not explain.

    Attributes
    ----------
    found : float
        The difference, between 0 and 1.
    """

    def __init__(self, counts: Sequence[NDArray[np.intp]], cells: Sequence[NDArray[np.uint8]]) -> None:
        in_normals, in_batch = counts
        in_both = in_normals + in_batch
        n_rows, share = in_both[0].sum(), in_normals[0].sum() / in_both[0].sum()
        surplus = in_normals - share * in_both
        # Empty cells add nothing.
        unit = share * (1 - share) * np.maximum(in_both, 1)
        self._chi_square = (surplus**2 / unit).sum(1).mean()
        self._expected = max(1.0, ((in_both > 0).sum(1).mean() - 1) * n_rows / (n_rows - 1))
        # The change of chi-square without a normal, and its smallest and largest change with one more row in the batch.
        self._by_less, self._by_both = (1 - 2 * surplus) / unit, 2 / unit
        by_more = [_mean_over_partitions((1 + 2 * surplus) / unit, part) for part in cells if len(part)]
        self._least, self._most = min(each.min() for each in by_more), max(each.max() for each in by_more)
        self.found = self._rate(self._chi_square)

    def bound(self, cells: NDArray[np.uint8], upper: NDArray[np.bool_]) -> Floats:
        """Return a bound of the difference after swapping a normal in these cells with any row of the batch."""
        # If both are in the same cell, chi-square stays the same.
        lowest = self._least - _mean_over_partitions(self._by_both, cells)
        changed = self._chi_square + _mean_over_partitions(self._by_less, cells)
        return self._rate(changed + np.where(upper, self._most, lowest))

    def _rate(self, chi_square: Floats) -> Floats:
        return np.sqrt(1 - self._expected / np.maximum(chi_square, self._expected))


def _mean_over_partitions(values: Floats, cells: NDArray[np.uint8]) -> Floats:
    """Average the values of each row's cells over the partitions."""
    return values[np.arange(len(values)), cells].mean(1)
