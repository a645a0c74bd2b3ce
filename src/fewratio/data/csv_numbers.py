"""Delimited text files of nothing but finite numbers, read the fast way; any other is left to `csv_files`."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.data.columns import is_number
from fewratio.data.csv_files import LONGEST_LINE, SAMPLE_BYTES, SEPARATORS, head, is_header

if TYPE_CHECKING:
    import polars

    from fewratio.data.frames import Frame

# Small enough for the memory of one piece to serve the next, large enough for the cost of starting to parse not to
# matter; and some more pieces at once than cores, for polars leaves a core idle at the beginning and end of each.
_PIECE_BYTES = 2**22
_PIECES_AT_ONCE = 4
# Room for some more rows than the first piece leads one to expect, so that a table seldom has to be made longer.
_SPARE = 1.02


@dataclass(frozen=True, eq=False)
class NamedArray:
    """Finite numbers in row order, which nobody else holds, and what their columns are called."""

    columns: tuple[str, ...]
    values: NDArray[np.float64]

    def select(self, *columns: str) -> NamedArray:
        """Return some of the columns, or all in another order."""
        places = [self.columns.index(column) for column in columns]
        return NamedArray(columns, np.ascontiguousarray(self.values[:, places]))


class _NotNumbersError(Exception):
    """The file holds something else, or is not well formed: it must be read with care."""


class _Layout(NamedTuple):
    """What is known of a file before its rows are read: how it is divided, its columns, and where each piece ends."""

    path: Path
    separator: str
    names: list[str]
    ends: list[int]


def read_frame(path: Path) -> Frame | None:
    """Read a file of nothing but finite numbers into a data frame; None if it is anything else."""
    import narwhals.stable.v2 as nw
    import polars

    try:
        return nw.from_native(polars.concat(_pieces(_layout(path)), rechunk=False), eager_only=True)
    except _NotNumbersError:
        return None


def read_array(path: Path) -> NamedArray | None:
    """Read a file of nothing but finite numbers into an array; None if it is anything else.

    Faster than a frame that is copied into rows afterwards: each piece is copied while it is still in the cache.
    """
    try:
        layout = _layout(path)
        pieces = _pieces(layout)
        first = next(pieces)
        # The first piece begins after the header, which is left out of account.
        expected = math.ceil(len(first) * _SPARE * layout.ends[-1] / layout.ends[1])
        values = np.empty((expected, len(layout.names)))
        n_rows = _copy_rows(first, values, 0)
        for piece in pieces:
            n_rows = _copy_rows(piece, values, n_rows)
    except _NotNumbersError:
        return None
    values.resize((n_rows, len(layout.names)), refcheck=False)
    return NamedArray(tuple(layout.names), values)


def _copy_rows(piece: polars.DataFrame, values: NDArray[np.float64], start: int) -> int:
    """Write a piece from a row on, make the table longer if it must be, and return the row after it."""
    stop = start + len(piece)
    if stop > len(values):
        values.resize((max(stop, len(values) * 5 // 4), values.shape[1]), refcheck=False)
    values[start:stop] = piece.to_numpy(order="c")
    return stop


def _pieces(layout: _Layout) -> Iterator[polars.DataFrame]:
    """Parse a file piece by piece, some of them at once, in the file's order."""
    spans = list(zip(layout.ends[:-1], layout.ends[1:], strict=True))
    parse = partial(_parse, layout)
    if len(spans) == 1:
        yield parse(spans[0])
        return
    with ThreadPoolExecutor(_PIECES_AT_ONCE) as pool:
        yield from pool.map(parse, spans)


def _parse(layout: _Layout, span: tuple[int, int]) -> polars.DataFrame:
    """Return the rows in a span of bytes.

    polars, told that all columns are numbers and nothing is quoted, is the fastest reader; it refuses long lines but
    fills short lines and blank ones with missing values.
    """
    import polars
    from polars.exceptions import PolarsError

    with layout.path.open("rb") as file:
        file.seek(span[0])
        text = file.read(span[1] - span[0])
    schema = dict.fromkeys(layout.names, polars.Float64)
    try:
        lines = polars.scan_csv(text, separator=layout.separator, schema=schema, has_header=False, quote_char=None)
        frame = lines.collect()
    except PolarsError as error:
        raise _NotNumbersError from error
    # A sum is the quickest way to see whether all is finite; one that only overflows costs no more than time.
    if any(column.null_count() or not math.isfinite(column.sum()) for column in frame):
        raise _NotNumbersError
    return frame


def _layout(path: Path) -> _Layout:
    separator = SEPARATORS[path.suffix.lower()]
    with path.open("rb") as file:
        sample = file.read(SAMPLE_BYTES)
        size = path.stat().st_size
        if b"\n" not in sample or (size > SAMPLE_BYTES and sample.count(b"\n") < 2):
            raise _NotNumbersError
        try:
            names, first = head(path, separator)
        except (ValueError, csv.Error) as error:
            raise _NotNumbersError from error
        if not is_header(names) or len(first) != len(names) or not all(map(is_number, first)):
            raise _NotNumbersError
        ends = [sample.index(b"\n") + 1]
        while ends[-1] < size:
            ends.append(_line_end(file, ends[-1] + _PIECE_BYTES, size))
    return _Layout(path, separator, names, ends)


def _line_end(file: Any, position: int, size: int) -> int:
    """Return where the line of a byte ends, or the file."""
    for start in range(position, min(position + LONGEST_LINE, size), SAMPLE_BYTES):
        file.seek(start)
        found = file.read(SAMPLE_BYTES).find(b"\n")
        if found >= 0:
            return start + found + 1
    if position + LONGEST_LINE < size:
        raise _NotNumbersError
    return size
