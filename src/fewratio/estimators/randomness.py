"""What keeps chance in one place: an order of rows that is their own, folds, and seeds for what is inside."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def own_order(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sort the rows by `row_order`, so that what is drawn from them, or dealt to folds, is a matter of their values."""
    return X[row_order(X)]


def row_order(rows: NDArray[np.float64]) -> NDArray[np.intp]:
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
    hashed = np.empty(rows.shape[::-1], dtype=np.uint64)
    for column, values in enumerate(rows.T):
        order = np.argsort(values)
        ordered = values[order]
        ranks = np.concatenate([[0], np.cumsum(ordered[1:] != ordered[:-1])]).astype(np.uint64)
        # Columns are told apart by the place of their mean within their range, which no change of units moves. They
        # need be: by ranks alone, two rows that trade their ranks in two columns would have the same key.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            place = np.nan_to_num((ordered - ordered[0]).mean() / (ordered[-1] - ordered[0]))
        # Rounded in odd steps: means of whole numbers must not fall on the edge between two.
        hashed[column, order] = _mix(ranks + _mix(np.uint64(round(place * 16180.3398875))))
    return np.argsort(_mix(hashed.sum(0, dtype=np.uint64)), kind="stable")


def _mix(keys: Any) -> Any:
    """Scramble 64-bit keys (splitmix64, Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        keys = keys + np.uint64(0x9E3779B97F4A7C15)
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return keys ^ (keys >> np.uint64(31))


def deal(n_rows: int, n_folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Deal rows to folds whose sizes differ by one at most: the number of each row's fold."""
    return rng.permutation(np.arange(n_rows) % n_folds)


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """Set the random states of an estimator, and of what it is made of, that are not set."""
    parameters = estimator.get_params()
    names = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state"]
    return estimator.set_params(**{name: int(rng.integers(2**31)) for name in names if parameters[name] is None})
