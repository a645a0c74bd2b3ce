"""Encoded rows of a table that stays in its file, indexed as an array is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fewratio.data.raw import RawTable, naming_rows
from fewratio.data.values import Values

# Rows that are read at once.
_PIECE_ROWS = 2**16


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
        What becomes of its columns.
    """

    ndim = 2

    def __init__(self, raw: RawTable, encoding: Any) -> None:
        self._raw, self._encoding = raw.select(encoding.names), encoding
        self.shape, self.dtype = (raw.n_rows, encoding.n_features), encoding.dtype_of(raw)
        self._column: tuple[str, Values] | None = None
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

    def encoded_by(self, encoding: Any) -> FileNumbers:
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
        kind, numbers, codes, texts = self._column[1]
        for start in range(0, len(self), _PIECE_ROWS):
            rows = slice(start, start + _PIECE_ROWS)
            features = np.zeros((len(result[rows]), len(column.feature_names)), self.dtype)
            column.encode(Values(kind, numbers[rows], codes[rows], texts), features, self._raw.called(column.name))
            result[rows] = features[:, place - encoding.places[column.name].start]
        return result

    def _pieces(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Give the number of the first row of each piece, and its features."""
        start = 0
        for piece in self._raw.pieces(_PIECE_ROWS):
            with naming_rows(piece, start, len(self)):
                yield start, self._encoding.features_of(piece)
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
