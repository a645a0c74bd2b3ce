"""A table of validated numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fewratio.core.blocks import PIECE_ROWS
from fewratio.core.wording import write_count
from fewratio.data.column_kinds import ColumnValues
from fewratio.data.raw_table import Features, RawTable, all_finite, as_raw, check_features, naming_rows
from fewratio.errors import InputError


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of finite numbers, made by `as_table` or by an `Encoding`; immutable.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_features) or FileNumbers
        The numbers, read-only; float32 if all were passed as such, else float64. It may be the user's own memory.
    feature_names : tuple of str or None
        Names of the columns; None if there are none, or if they are not strings.
    name : str
        Name of the table in messages.
    row_names : sequence of str or None
        Names of the rows, from a column or an index.

    Examples
    --------
    >>> table = as_table([[1, 2], [3, 4], [5, 6]], name="X_nu")
    >>> table.n_rows, table.n_features
    (3, 2)
    >>> table.to_numpy().tolist()
    [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    """

    numbers: NDArray[Any]
    feature_names: tuple[str, ...] | None = None
    name: str = "X"
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

    def check_finite(self) -> Table:
        """Return the table; raise `InputError` if a value is missing or infinite, naming the first and counting all."""
        if not all_finite(self.numbers):
            rows, columns = np.nonzero(~np.isfinite(self.numbers))
            label = int(columns[0]) if self.feature_names is None else self.feature_names[columns[0]]
            n_bad = write_count(len(rows), "NaN or infinite value")
            found = f"{self.name} has {n_bad}, the first in column {label!r} at row {rows[0]} (counting from 0)"
            raise InputError(f"{found}; every value must be a finite number. Drop those rows or fill the gaps first.")
        return self

    def check_features(self, needed: Features, reference: str) -> None:
        """Raise `InputError` unless the table has the features of another, which messages call `reference`.

        Examples
        --------
        >>> as_table([[1, 2]], "X_de").check_features(3, reference="X_nu")
        Traceback (most recent call last):
        ...
        fewratio.errors.InputError: X_de has 2 columns but X_nu has 3; both must have the same columns. ...
        """
        check_features(self.name, self.feature_names or self.n_features, reference, needed)

    def to_numpy(self, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return the whole table as a new, writeable array of the given float type in C order."""
        return np.array(self.numbers, dtype=dtype, order="C", copy=True)


class FileNumbers:
    """The features of a table in a file, computed when they are asked for.

    What is asked for is an array: ``numbers[start:stop]`` some rows, ``numbers[rows]`` those of a list, and
    ``numbers[:, start:stop]`` some columns. Rows are best asked for in their order: for any before the last ones, the
    file is read from its start again.

    Parameters
    ----------
    raw : RawTable
        The table.
    encoding : Encoding
        The encoding of its columns.
    """

    ndim = 2

    def __init__(self, raw: RawTable, encoding: Any) -> None:
        self._raw, self._encoding = raw.select(encoding.names), encoding
        self.shape, self.dtype = (raw.n_rows, encoding.n_features), encoding.find_dtype(raw)
        self._column: tuple[str, ColumnValues] | None = None
        self._restart()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> NDArray[Any]:
        if isinstance(key, tuple):
            return np.column_stack([self._feature(place) for place in range(*key[1].indices(self.shape[1]))])
        if isinstance(key, slice):
            start, stop, _ = key.indices(len(self))
            return self._rows(start, stop)
        order = np.argsort(key, kind="stable")
        ordered, result = np.asarray(key)[order], np.empty((len(order), self.shape[1]), self.dtype)
        for start, piece in self._pieces():
            first, last = np.searchsorted(ordered, (start, start + len(piece)))
            result[order[first:last]] = piece[ordered[first:last] - start]
        return result

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        result = np.empty(self.shape, dtype or self.dtype)
        for start, piece in self._pieces():
            result[start : start + len(piece)] = piece
        return result

    def encode_by(self, encoding: Any) -> FileNumbers:
        """Return the features that another encoding makes of the same columns, or of some of them."""
        return FileNumbers(self._raw, encoding)

    def _feature(self, place: int) -> NDArray[Any]:
        """Return one feature of all rows, a piece at a time: a column may have many."""
        encoding, result = self._encoding, np.empty(len(self), self.dtype)
        column = next(each for each in encoding.used if place < encoding.places[each.name].stop)
        if self._column is None or self._column[0] != column.name:
            # The last column goes first.
            self._column = None
            self._column = column.name, self._raw.values(column.name)
        values = self._column[1]
        for start in range(0, len(self), PIECE_ROWS):
            rows = slice(start, start + PIECE_ROWS)
            features = np.zeros((len(result[rows]), len(column.feature_names)), self.dtype)
            column.encode(values._replace(numbers=values.numbers[rows], codes=values.codes[rows]), features)
            result[rows] = features[:, place - encoding.places[column.name].start]
        return result

    def _pieces(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the number of the first row of each piece, and its features."""
        start = 0
        for piece in self._raw.pieces(PIECE_ROWS):
            with naming_rows(piece, start, len(self)):
                yield start, self._encoding.compute_features(piece)
            start += piece.n_rows

    def _restart(self) -> None:
        self._ahead, self._start = self._pieces(), 0
        self._read = np.empty((0, self.shape[1]), self.dtype)

    def _rows(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows out of what was read last and what follows it."""
        if start < self._start:
            self._restart()
        while self._start + len(self._read) < stop:
            kept = self._read[max(0, start - self._start) :]
            first, piece = next(self._ahead)
            self._start, self._read = first - len(kept), np.concatenate([kept, piece]) if len(kept) else piece
        rows = self._read[start - self._start : stop - self._start]
        if stop == len(self):
            # Nothing follows.
            self._restart()
        return rows


def as_table(X: Any, name: str = "X") -> Table:
    """Validate any table of numbers; arrays of floats are not copied.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Any table that `fewratio.data.raw_table.as_raw` accepts. A `Table` is returned unchanged.
    name : str
        Name of the table in error messages.

    Raises
    ------
    InputError
        If the table is empty, is not two-dimensional, or holds anything but finite real numbers.
    """
    if isinstance(X, Table):
        return X
    raw = as_raw(X, name)
    return Table(raw.to_floats(), raw.labels if raw.is_named else None, raw.name, raw.index).check_finite()


def make_row(x: Any) -> Any:
    """Return a single row, or number, as a table of one row; anything else as it is, for `as_table` to refuse."""
    try:
        return np.reshape(x, (1, -1)) if np.ndim(x) < 2 else x
    except (TypeError, ValueError, RuntimeError):
        return x
