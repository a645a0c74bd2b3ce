"""What keeps chance in one place: an order of rows that is their own, folds, and seeds for what is inside."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def own_order(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sort the rows by their bytes, so that what is drawn from them, or dealt to folds, is a matter of their values."""
    rows = np.ascontiguousarray(X)
    return rows[np.argsort(rows.view(f"V{rows.itemsize * rows.shape[1]}")[:, 0], kind="stable")]


def deal(n_rows: int, n_folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Deal rows to folds whose sizes differ by one at most: the number of each row's fold."""
    return rng.permutation(np.arange(n_rows) % n_folds)


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """Set the random states of an estimator, and of what it is made of, that are not set."""
    parameters = estimator.get_params()
    names = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state"]
    return estimator.set_params(**{name: int(rng.integers(2**31)) for name in names if parameters[name] is None})
