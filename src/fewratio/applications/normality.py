"""How normal the rows of a batch are, beside rows that are known to be normal: the score of the outlier detector."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arrays import real_deviation
from fewratio.core.shapes import Floats
from fewratio.estimators.gaussian_basis import check_squares
from fewratio.estimators.randomness import row_order
from fewratio.progress import progress_bar

# All measured on 21 tables, docs/design.md.
NEIGHBOURS = 3
_PARTITIONS, _CELLS = 100, 16
_RATIO_WEIGHT, _HALF_WEIGHT = 3.0, 30.0
# The logarithm makes scores of normals symmetric enough for a prediction bound; nearer than that is near.
_NEAR = 0.3
_MIDDLE = 0.05, 0.95
# Farther than that is no farther, so that squares keep their digits.
_FAR = 1e6
# More normals hardly change the distance to the nearest, and cost as much as they are.
_MAX_NORMALS = 5000
# Distances of a block of rows to all centres: 32 MB.
_BLOCK_VALUES = 2**22


class Normality(NamedTuple):
    """Scores, higher where more normal.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Of the rows of the batch.
    left_out : ndarray
        Of the normals, each counted to the batch as if it were not known to be normal; of 5,000 drawn ones if there
        are more. Of a single normal there are none.
    """

    rows: Floats
    left_out: Floats


def normality(normals: Floats, rows: Floats) -> Normality:
    """Score rows by their density ratio to the normals and their distance from them.

    The score is w r - log(0.3 + s). r is the relative density ratio (alpha = 0.5) of the normals to the batch, as
    counts in the cells of 100 random partitions give it: each consists of the Voronoi cells of 16 rows. s is the mean
    distance to the three nearest normals over the square root of the number of columns. Columns are in units of their
    standard deviation over all rows, normals and batch; for that, values farther from the middle 90 % of a column than
    these are wide are moved there. The ratio sees outliers that lie close together or among the normals, the distance
    those that are scattered. Few rows tell little of the ratio, so its weight w grows with them: it is 3 e / (e + 30)
    where e = n_normals n_rows / (n_normals + n_rows).

    The partitions depend on nothing but the values of all rows together, so nothing here is left to chance, and a
    score does not change with the order of the rows.

    Parameters
    ----------
    normals : ndarray of shape (n_normals, d)
        Rows known to be normal.
    rows : ndarray of shape (n_rows, d)
        The batch.

    Examples
    --------
    >>> normality(np.array([[0.0], [0.1], [0.3]]), np.array([[0.2], [9.0]])).rows.round(2)
    array([ 1.09, -1.03])
    """
    check_squares(normals, rows)
    pooled = _in_units(np.concatenate([normals, rows]))
    # Rows that a symmetry of the sample exchanges have one place in `row_order`; their values decide.
    order = np.lexsort(pooled.T) if pooled.shape[1] else np.arange(len(pooled))
    order = order[row_order(pooled[order])]
    cells = _cells(pooled, order)
    n_normals = len(normals)
    s_rows, s_left_out, left_out = _distances(pooled[:n_normals], pooled[n_normals:], order[order < n_normals])
    known, unknown = cells[:n_normals], cells[n_normals:]
    scores = _weighted_ratio(known, unknown, unknown, 0) - np.log(_NEAR + s_rows)
    return Normality(scores, _weighted_ratio(known, unknown, known[left_out], 1) - np.log(_NEAR + s_left_out))


def _in_units(rows: Floats) -> Floats:
    """Return rows, which are overwritten, in units of their columns' deviations, without columns that are constant."""
    n_rows, n_columns = rows.shape
    varies = []
    # A few columns at a time, as there may be many rows; two at least, as a sum of one alone is rounded differently.
    n_parts = max(1, n_columns // max(2, _BLOCK_VALUES // n_rows))
    for part in np.array_split(rows, n_parts, axis=1):
        columns = part.copy()
        low, high = np.quantile(columns, _MIDDLE, axis=0)
        width = np.where(high > low, high - low, np.inf)
        moved = np.clip(columns, low - width, high + width)
        mean, deviation = moved.mean(0), moved.std(0)
        varies.append(real_deviation(mean, deviation) > 0)
        part[:] = ((columns - mean) / np.where(varies[-1], deviation, 1)).clip(-_FAR, _FAR)
    used = np.concatenate(varies)
    return rows if used.all() else rows[:, used]


def _cells(rows: Floats, order: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Return the cell of each row in each partition; centres are drawn from the rows in this order."""
    rng = np.random.default_rng(0)
    centres = rows[order[rng.integers(len(order), size=_PARTITIONS * _CELLS)]]
    norms = (centres**2).sum(1)
    cells = np.empty((len(rows), _PARTITIONS), dtype=np.uint8)
    step = max(1, _BLOCK_VALUES // len(centres))
    with progress_bar(len(rows), "scoring", unit="rows") as report:
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            # Less the squared norm of the row, which does not change which centre is nearest. Of equal distances, as
            # columns with few values have, the first counts, whatever the rounding.
            distances = np.round(norms - 2 * block @ centres.T, 9)
            cells[start : start + step] = distances.reshape(len(block), _PARTITIONS, _CELLS).argmin(2)
            report(start + len(block), None)
    return cells


def _weighted_ratio(
    known: NDArray[np.uint8], unknown: NDArray[np.uint8], at: NDArray[np.uint8], n_moved: int
) -> Floats:
    """Return the ratio at some rows by the shares of known and unknown rows in their cells, times its weight.

    Parameters
    ----------
    known, unknown, at : ndarray of shape (n, n_partitions)
        Cells of the normals, of the batch, and of the rows to judge.
    n_moved : {0, 1}
        Whether each of the rows to judge is a normal that is counted to the batch.
    """
    n_known, n_unknown = len(known), len(unknown)
    ratio = np.zeros(len(at))
    for normals, batch, cells in zip(known.T, unknown.T, at.T, strict=True):
        # The numbers of rows stay: so no score of a normal that changes places with a row of the batch is below the
        # one that it has when left out, which is what makes p-values valid.
        in_normals = (np.bincount(normals, minlength=_CELLS) - n_moved) / n_known
        in_batch = (np.bincount(batch, minlength=_CELLS) + n_moved) / n_unknown
        # A cell without rows has no row to judge.
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio += (2 * in_normals / (in_normals + in_batch))[cells]
    evidence = n_known * n_unknown / (n_known + n_unknown)
    return _RATIO_WEIGHT * evidence / (evidence + _HALF_WEIGHT) * ratio / _PARTITIONS


def _distances(normals: Floats, rows: Floats, order: NDArray[np.intp]) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return the distances of rows to their nearest normals, of normals to the nearest others, and which these are."""
    from sklearn.neighbors import NearestNeighbors

    kept = np.sort(np.random.default_rng(0).permutation(order)[:_MAX_NORMALS])
    # A single normal has no others.
    left_out = kept if len(kept) > 1 else kept[:0]
    n_columns = normals.shape[1]
    if n_columns == 0:
        return np.zeros(len(rows)), np.zeros(len(left_out)), left_out
    nearest = NearestNeighbors().fit(normals[kept] / np.sqrt(n_columns))
    of_rows = nearest.kneighbors(rows / np.sqrt(n_columns), min(NEIGHBOURS, len(kept)))[0].mean(1)
    if not len(left_out):
        return of_rows, np.zeros(0), left_out
    return of_rows, nearest.kneighbors(n_neighbors=min(NEIGHBOURS, len(kept) - 1))[0].mean(1), left_out
