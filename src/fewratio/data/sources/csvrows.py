"""A few rows of a large CSV file: counted and picked line by line, so that only what is picked is kept."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fewratio.data.compressed import open_plain
from fewratio.errors import DataFileError

# A line of 115 numbers has about 3,000 characters. Without a bound, a packed file of zeros would be one endless line.
LONGEST_LINE = 2**16


def count_rows(path: Path, header: Sequence[str]) -> int:
    """Count the rows below the header, which must be as given."""
    return sum(1 for _ in _rows(path, header))


def count_first_rows(path: Path, header: Sequence[str], most: int) -> int:
    """Count the rows below the header up to a number, each with a value for every column, without reading on."""
    rows = islice(_rows(path, header), most)
    return sum(1 for place, line in rows if _parse(line, len(header), f"{path}, line {place}"))


def read_rows(path: Path, header: Sequence[str], wanted: NDArray[np.integer]) -> NDArray[np.float64]:
    """Read the rows of the given numbers (from 0, increasing), one number for each column of the header."""
    numbers = set(wanted.tolist())
    picked = [
        _parse(line, len(header), f"{path}, line {place}")
        for row, (place, line) in enumerate(_rows(path, header))
        if row in numbers
    ]
    return np.array(picked, dtype=np.float64).reshape(len(picked), len(header))


def _rows(path: Path, header: Sequence[str]) -> Iterator[tuple[int, bytes]]:
    """Give number and text of each line below the header that is not blank."""
    lines = _lines(path)
    _, first = next(lines, (1, b""))
    _check_header(first, header, path)
    return ((number, line) for number, line in lines if not line.isspace())


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        with open_plain(path) as file:
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise DataFileError(
                        f"{path}, line {number} is longer than {LONGEST_LINE:,} characters; a row of a table is "
                        "needed. Put the published file there."
                    )
                yield number, line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataFileError(f"{path} is damaged after line {number} ({error}). Put a whole copy there.") from error


def _check_header(line: bytes, header: Sequence[str], path: Path) -> None:
    names = line.decode(errors="replace").strip().split(",")
    if len(names) != len(header):
        raise DataFileError(
            f"{path}, line 1 has {len(names)} columns; the header needs {len(header)}. Put the published file there."
        )
    for place, (name, needed) in enumerate(zip(names, header, strict=True), start=1):
        if name.strip() != needed:
            raise DataFileError(
                f"{path}, line 1 names column {place} {name.strip()[:60]!r}; it must be {needed!r}. "
                "Put the published file there."
            )


def _parse(line: bytes, n_columns: int, place: str) -> list[float]:
    fields = line.split(b",")
    if len(fields) != n_columns:
        raise DataFileError(f"{place} has {len(fields)} values; {n_columns} are needed. Put the published file there.")
    try:
        row = [float(field) for field in fields]
    except ValueError as error:
        raise DataFileError(f"{place} holds something that is not a number ({error}). Repair the line.") from error
    if not np.isfinite(row).all():
        raise DataFileError(f"{place} holds a value that is not finite. Repair the line.")
    return row
