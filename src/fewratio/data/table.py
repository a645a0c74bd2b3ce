"""The table of validated numbers that everything behind the gate trusts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fewratio.data.columns import check_features, counted
from fewratio.data.raw import RawTable, as_raw
from fewratio.data.values import check_numbers
from fewratio.errors import InputError

# A megabyte as float64, which stays in the cache.
_BLOCK_VALUES = 2**17


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of finite numbers, made by `as_table` or by an `Encoding`; immutable.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_features) or FileNumbers
        Read-only; float32 if all of it was given so, else float64. It may be the user's own memory.
    feature_names : tuple of str or None
        None if the columns have no names, or names that are not strings.
    argument : str
        What messages call this table.
    row_names : sequence of str or None
        What the rows are called, where a column or an index says so.

    Examples
    --------
    >>> table = as_table([[1, 2], [3, 4], [5, 6]], argument="X_nu")
    >>> table.n_rows, table.n_features
    (3, 2)
    >>> table.to_numpy().tolist()
    [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    """

    numbers: NDArray[Any]
    feature_names: tuple[str, ...] | None = None
    argument: str = "X"
    row_names: Sequence[str] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.numbers.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.numbers.shape[1])

    def row(self, number: int) -> Table:
        """Return a table of one row."""
        return replace(self, numbers=self.numbers[number : number + 1], row_names=None)

    def take(self, rows: Sequence[int]) -> Table:
        """Return a table of some rows, by their numbers."""
        names = None if self.row_names is None else [self.row_names[row] for row in rows]
        return replace(self, numbers=self.numbers[np.asarray(rows, dtype=np.intp)], row_names=names)

    def to_numpy(self, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return the whole table as a new, writeable array of the given float type in C order."""
        return np.array(self.numbers, dtype=dtype, order="C", copy=True)


def as_table(X: Any, argument: str = "X") -> Table:
    """Validate anything that holds rows of numbers; arrays of floats are not copied.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        What `fewratio.data.raw.as_raw` takes. A `Table` is returned as it is.
    argument : str
        What error messages call the table.

    Raises
    ------
    InputError
        If the table is empty, is not two-dimensional, or holds anything but finite real numbers.
    """
    if isinstance(X, Table):
        return X
    raw = as_raw(X, argument)
    numbers = raw_numbers(raw)
    check_finite(numbers, raw.argument, raw.labels if raw.is_named else range(len(raw.labels)))
    return Table(numbers, raw.labels if raw.is_named else None, raw.argument, raw.index)


def row_of(x: Any) -> Any:
    """Return a single row, or number, as a table of one row; anything else as it is, for `as_table` to refuse."""
    try:
        return np.reshape(x, (1, -1)) if np.ndim(x) < 2 else x
    except (TypeError, ValueError, RuntimeError):
        return x


def raw_numbers(raw: RawTable) -> NDArray[Any]:
    """Return a table of numbers and booleans as read-only floats, or say which column holds anything else."""
    if raw.array is not None:
        return readable(raw.array)
    values = [raw.values(label) for label in raw.labels]
    check_numbers(raw.argument, list(zip(raw.labels if raw.is_named else range(len(values)), values, strict=True)))
    return readable(np.column_stack([column.numbers for column in values]))


def all_finite(numbers: NDArray[Any]) -> bool:
    """Tell whether no value is missing or infinite, a block of rows at a time."""
    step = max(1, _BLOCK_VALUES // numbers.shape[1])
    return all(np.isfinite(numbers[start : start + step]).all() for start in range(0, len(numbers), step))


def check_finite(numbers: NDArray[Any], argument: str, labels: Sequence[object]) -> None:
    """Raise `InputError` if a value is missing or infinite, naming the first and counting all."""
    if not all_finite(numbers):
        rows, columns = np.nonzero(~np.isfinite(numbers))
        n_bad, label = counted(len(rows), "NaN or infinite value"), labels[columns[0]]
        found = f"{argument} has {n_bad}, the first in column {label!r} at row {rows[0]} (counting from 0)"
        raise InputError(f"{found}; every value must be a finite number. Drop those rows or fill the gaps first.")


def check_same_features(table: Table, n_features: int, feature_names: Sequence[str] | None, reference: str) -> None:
    """Raise `InputError` unless a table has the given features.

    Parameters
    ----------
    table : Table
    n_features : int
        How many features there must be.
    feature_names : sequence of str or None
        Their names, in order. If either table has no names, only the counts matter.
    reference : str
        What messages call the other table (in the singular, such as ``"X_nu"``).

    Examples
    --------
    >>> check_same_features(as_table([[1, 2]], "X_de"), 3, None, reference="X_nu")
    Traceback (most recent call last):
    ...
    fewratio.errors.InputError: X_de has 2 columns but X_nu has 3; both must have the same columns. ...
    """
    needed = n_features if feature_names is None else tuple(feature_names)
    check_features(table.argument, table.feature_names or table.n_features, reference, needed)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make a new array read-only, before anyone else sees it."""
    array.flags.writeable = False
    return array


def readable(values: NDArray[Any]) -> NDArray[Any]:
    """Return real numbers of any type as a read-only view of native floats, copied only if they are none yet."""
    kept = values.dtype in (np.float32, np.float64) and values.dtype.isnative
    if kept and not values.flags.writeable and type(values) is np.ndarray:
        return values
    # An extended-precision value beyond float64 becomes infinite, and is refused as that.
    with np.errstate(over="ignore"):
        return frozen((values if kept else values.astype(np.float64)).view(np.ndarray))
