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

    def replaced(
        self, values: NDArray[Any], X: NDArray[np.float64], of_own: Callable[[], NDArray[Any]]
    ) -> NDArray[Any]:
        """Put in place what is known of own rows; of several of the same values, their mean.

        Parameters
        ----------
        values : ndarray of shape (m,)
            What was found for the rows of X as if all were new.
        X : ndarray of shape (m, d)
            The rows.
        of_own : callable
            Gives the values of all own rows.
        """
        found = [(place, self._numbers.get(row.tobytes())) for place, row in enumerate(_plain(X))]
        found = [(place, numbers) for place, numbers in found if numbers is not None]
        if found:
            own = of_own()
            values = values.copy()
            for place, numbers in found:
                values[place] = own[numbers].mean()
        return values


def _plain(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    # Adding zero turns -0.0 into 0.0, which has other bytes.
    return np.ascontiguousarray(rows, dtype=np.float64) + 0.0
