"""What keeps chance in one place: an order of rows that is their own, folds, and seeds for what is inside."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def own_order(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sort the rows by `row_order`, so that what is drawn from them, or dealt to folds, is a matter of their values."""
    return X[row_order(X)]


def row_order(rows: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
    """Give the numbers of the rows in an order that depends on the ranks of their values within the columns alone.

    So neither the given order of rows or columns, nor units, origins or the sign of zero have a say. Ranks are hashed
    and summed over the columns; a second round tells columns apart by how their ranks go with the rows of the first,
    for else rows with the same ranks in other columns would be one.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    """
    order = np.argsort(rows, axis=0, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=0)
    rises = np.zeros(rows.shape, dtype=np.uint64)
    rises[1:] = ordered[1:] != ordered[:-1]
    ranks = np.empty_like(rises)
    np.put_along_axis(ranks, order, rises.cumsum(0, dtype=np.uint64), axis=0)
    of_rows = _hashed(ranks).sum(1)
    of_columns = _hashed(ranks ^ of_rows[:, None]).sum(0)
    return np.argsort(_hashed(ranks ^ of_columns).sum(1), kind="stable")


def _hashed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of each number (splitmix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def deal(n_rows: int, n_folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Deal rows to folds whose sizes differ by one at most: the number of each row's fold."""
    return rng.permutation(np.arange(n_rows) % n_folds)


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """Set the random states of an estimator, and of what it is made of, that are not set."""
    parameters = estimator.get_params()
    names = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state"]
    return estimator.set_params(**{name: int(rng.integers(2**31)) for name in names if parameters[name] is None})
