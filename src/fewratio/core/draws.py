"""Everything random in one place: a canonical order of rows to draw from, folds, and seeds."""

import hashlib
import operator
from numbers import Integral
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from fewratio.core.blocks import CACHED_VALUES, row_blocks
from fewratio.core.shapes import Numbers


def row_order(rows: NDArray[Any]) -> Numbers:
    """Return an order of the rows that depends only on their values, to draw rows or split them into folds.

    It does not change when rows or columns are reordered, when columns are shifted or scaled by positive numbers, or
    when constant columns are added: the key of a row is a hash of its ranks. Rows with equal keys are ordered by the
    contents of the columns, and finally by their values. The order of the columns matters only if reordering them maps
    the sample onto itself, and then only for the rows that this swaps: nothing else distinguishes them.

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
    keys = _mix(_row_keys(rows)[0])
    order = np.argsort(keys, kind="stable")
    is_tied = keys[order[1:]] == keys[order[:-1]]
    some = np.flatnonzero(np.append(is_tied, False) | np.append(False, is_tied))
    if not len(some):
        return order
    tied = order[some]
    values = np.asarray(rows[tied], dtype=np.float64)
    if (values[1:] == values[:-1])[is_tied[some[:-1]]].all():
        return order
    # Columns with equal places differ in which rows have which ranks; that also separates rows with equal keys.
    finer, columns = _row_keys(rows, keys)
    finer, columns = _row_keys(rows, finer, columns)
    by_values = values[:, np.argsort(columns, kind="stable")].T
    order[some] = tied[np.lexsort((*by_values[::-1], finer[tied], keys[tied]))]
    return order


def _row_keys(
    rows: NDArray[Any], known: NDArray[np.uint64] | None = None, of_columns: NDArray[np.uint64] | None = None
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Hash the ranks of each row in all columns; and for each column, which rows (by known keys) have which ranks."""
    keys, found = np.zeros(len(rows), dtype=np.uint64), np.zeros(rows.shape[1], dtype=np.uint64)
    for block in row_blocks(rows.shape[1], len(rows), CACHED_VALUES):
        columns = np.ascontiguousarray(rows[:, block].T, dtype=np.float64)
        first, last = columns.min(1, keepdims=True), columns.max(1, keepdims=True)
        # Columns are distinguished by the place of their mean within their range, which does not depend on units. By
        # ranks alone, two rows that swap their ranks in two columns would have the same key. With irrational rounding
        # steps, means of whole numbers do not fall on an edge.
        ranks = (columns == last).astype(np.uint64)
        place = ranks.mean(1, keepdims=True)
        # Columns of two values, as categories have, are ranked without sorting.
        others = np.flatnonzero(~((columns == first) | (columns == last)).all(1))
        columns = columns[others]
        order = np.argsort(columns, axis=1)
        ordered = np.take_along_axis(columns, order, axis=1)
        # Free memory at once: there may be many rows.
        del columns
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            mean = (ordered - first[others]).mean(1, keepdims=True)
            place[others] = np.nan_to_num(mean / (last - first)[others], posinf=0.0)
        steps = np.zeros(ordered.shape, dtype=np.uint64)
        np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=steps[:, 1:])
        del ordered
        ranks[others[:, None], order] = steps
        del steps, order
        ranks += np.rint(place * 16180.3398875).astype(np.uint64) << np.uint64(32)
        if of_columns is not None:
            ranks ^= _mix(of_columns[block].copy())[:, None]
        varies = last > first
        hashed = _mix(ranks) * varies
        keys += hashed.sum(0, dtype=np.uint64)
        if known is not None:
            found[block] = _mix(hashed ^ known).sum(1, dtype=np.uint64) * varies[:, 0]
    return keys, found


def in_row_order(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the rows in the order of `row_order`."""
    return rows[row_order(rows)]


def dataset_key(rows: NDArray[Any]) -> tuple[Any, ...]:
    """Return the key to sort datasets by, their means, so that folds do not depend on the order of the datasets."""
    return tuple(np.round(rows.mean(0, dtype=np.float64), 9).tolist())


def draw_rows(rows: NDArray[Any], at_most: int | None, rng: np.random.Generator) -> Numbers:
    """Return the numbers of all rows, or of `at_most` drawn ones, in the order of `row_order`."""
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
    """Split rows at random into folds whose sizes differ by at most one; return the fold of each row."""
    return rng.permutation(np.arange(n_rows) % n_folds)


def set_seed(estimator: Any, rng: np.random.Generator) -> Any:
    """Set the random states of an estimator, and of those nested in it, that are None; this changes it."""
    parameters = estimator.get_params()
    names = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state"]
    return estimator.set_params(**{name: int(rng.integers(2**31)) for name in names if parameters[name] is None})


def seed_for(*role: str | SupportsIndex) -> int:
    """Derive a seed from its role. Seeds of splits and supports never name the method, so that tests are paired.

    Examples
    --------
    >>> import numpy as np
    >>> seed_for("split", np.int64(3)) == seed_for("split", 3)
    True
    """
    # As plain text or integer: equal values of other types are written differently.
    plain = tuple(str(part) if isinstance(part, str) else operator.index(part) for part in role)
    return int.from_bytes(hashlib.sha256(repr(plain).encode()).digest()[:8]) >> 1


def draw_seed(random_state: int | np.random.Generator | None) -> int:
    """Return a 32-bit seed, to keep in a model file: the given integer, or a drawn one."""
    if isinstance(random_state, Integral):
        return int(random_state) % 2**32
    return int(np.random.default_rng(random_state).integers(2**32))
