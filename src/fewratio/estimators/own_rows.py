"""Rows that an estimator was fitted with, found again among those that it is asked about."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class OwnRows:
    """The rows given to ``fit``, by value.

    A row that was given to ``fit`` is its own nearest neighbour; an estimator that looks at neighbours must not count
    it. A new row with exactly the values of such a row cannot be told from it.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Both samples.
    """

    def __init__(self, rows: NDArray[np.float64]) -> None:
        self._numbers: dict[bytes, list[int]] = {}
        for number, row in enumerate(_plain(rows)):
            self._numbers.setdefault(row.tobytes(), []).append(number)

    def values(
        self,
        X: NDArray[np.float64],
        of_new: Callable[[NDArray[np.float64]], NDArray[Any]],
        of_own: Callable[[], NDArray[Any]],
    ) -> NDArray[Any]:
        """Give a value for each row: of own rows what is known of them (of several that are equal, the mean).

        Parameters
        ----------
        X : ndarray of shape (m, d)
            The rows.
        of_new : callable
            Gives the values of rows that are not own.
        of_own : callable
            Gives the values of all own rows.
        """
        numbers = [self._numbers.get(row.tobytes()) for row in _plain(X)]
        new = np.array([found is None for found in numbers], dtype=bool)
        if new.all():
            return of_new(X)
        own = of_own()
        values = np.array([0.0 if found is None else own[found].mean() for found in numbers], dtype=own.dtype)
        if new.any():
            values[new] = of_new(X[new])
        return values


def _plain(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    # Adding zero turns -0.0 into 0.0, which has other bytes.
    return np.ascontiguousarray(rows, dtype=np.float64) + 0.0
