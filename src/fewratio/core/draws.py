"""Everything random in one place: a canonical order of rows to draw from, folds, and seeds of nested estimators."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.blocks import CACHED_VALUES, row_blocks
from fewratio.core.shapes import Numbers


def row_order(rows: NDArray[Any]) -> Numbers:
    """Give an order of the rows that depends on their values alone, for drawing from them or dealing them to folds.

    It does not change when the rows or columns come in another order, nor when columns are shifted or scaled by
    positive numbers: a row's key is a hash of its ranks within the columns. Rows of equal keys (equal rows, and those
    that a symmetry of the whole sample exchanges) stay as they came.

    Parameters
    ----------
    rows : ndarray of shape (n, d)

    Returns
    -------
    ndarray of shape (n,)
        ``rows[row_order(rows)]`` are the rows in that order.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[3.0, 1.0], [-0.0, 5.0], [7.0, 2.0]])
    >>> moved = 1000 * rows[:, ::-1] + 8
    >>> (row_order(rows) == row_order(moved)).all()
    np.True_
    """
    keys = np.zeros(len(rows), dtype=np.uint64)
    for block in row_blocks(rows.shape[1], len(rows), CACHED_VALUES):
        columns = np.ascontiguousarray(rows[:, block].T, dtype=np.float64)
        order = np.argsort(columns, axis=1)
        ordered, shape = np.take_along_axis(columns, order, axis=1), columns.shape
        # What is not needed any more goes at once: there may be many rows.
        del columns
        # Columns are told apart by the place of their mean within their range, which no change of units moves. They
        # need be: by ranks alone, two rows that trade their ranks in two columns would have the same key. Rounded in
        # irrational steps, means of whole numbers do not fall on the edge between two.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            first, last = ordered[:, :1], ordered[:, -1:]
            place = np.nan_to_num((ordered - first).mean(1, keepdims=True) / (last - first), posinf=0.0)
        ranks = np.zeros(shape, dtype=np.uint64)
        np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=ranks[:, 1:])
        del ordered
        ranks += np.rint(place * 16180.3398875).astype(np.uint64) << np.uint64(32)
        hashed = np.empty_like(ranks)
        np.put_along_axis(hashed, order, _mix(ranks), axis=1)
        keys += hashed.sum(0, dtype=np.uint64)
    return np.argsort(_mix(keys), kind="stable")


def in_row_order(rows: NDArray[Any]) -> NDArray[Any]:
    """Give the rows in the order of `row_order`."""
    return rows[row_order(rows)]


def dataset_key(rows: NDArray[Any]) -> tuple[float, ...]:
    """Give what datasets are sorted by, so that folds do not depend on the order that they came in: their means."""
    return tuple(np.round(rows.mean(0, dtype=np.float64), 9).tolist())


def draw_rows(rows: NDArray[Any], at_most: int | None, rng: np.random.Generator) -> Numbers:
    """Give the numbers of all rows, or of so many drawn, in the order of `row_order`."""
    order = row_order(rows)
    if at_most is None or len(rows) <= at_most:
        return order
    return order[np.sort(rng.choice(len(rows), at_most, replace=False))]


def _mix(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit keys in place (splitmix64, Steele, Lea and Flood 2014)."""
    keys += np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys ^= keys >> np.uint64(shift)
        keys *= np.uint64(factor)
    keys ^= keys >> np.uint64(31)
    return keys


def deal(n_rows: int, n_folds: int, rng: np.random.Generator) -> Numbers:
    """Deal rows to folds whose sizes differ by one at most: the number of each row's fold."""
    return rng.permutation(np.arange(n_rows) % n_folds)


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """Draw the random states of an estimator, and of the estimators nested in it, that are None; it is changed."""
    parameters = estimator.get_params()
    names = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state"]
    return estimator.set_params(**{name: int(rng.integers(2**31)) for name in names if parameters[name] is None})
