"""One data file of any kind that is known, read piece by piece; a file that cannot be used is refused by name."""

from __future__ import annotations

import gzip
import lzma
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.data import frames
from fewratio.data.columns import counted, listed
from fewratio.data.csv_files import SEPARATORS, check_names, read_csv
from fewratio.data.dataset import as_flags
from fewratio.data.frames import Frame
from fewratio.data.raw import RawTable, as_raw
from fewratio.errors import DataFileError, DataNotFoundError, MissingColumnError

STANDARD_INPUT = "-"
_NEEDED = {
    **dict.fromkeys((".csv", ".tsv"), "UTF-8 text with as many fields in every line, divided by {}"),
    ".parquet": "a Parquet file of plain columns",
    **dict.fromkeys((".arrow", ".feather"), "an Arrow file of plain columns"),
    **dict.fromkeys((".jsonl", ".ndjson"), "one JSON object per line, all with the same keys"),
    ".xlsx": "a workbook whose first sheet is a table with a header line",
    ".npy": "one array of numbers with two axes, as numpy.save writes it",
    ".npz": "one array of numbers with two axes, or X and is_outlier, as numpy.savez writes them",
}
ARRAYS = (".npy", ".npz")
TABLES = tuple(suffix for suffix in _NEEDED if suffix not in ARRAYS)
SUFFIXES = tuple(_NEEDED)
COMPRESSED = (".gz", ".xz", ".zip")
# Rows in a piece of a Parquet file, whose labels become Python objects on the way, and values: 8 MB as float64.
_PIECE_ROWS, _PIECE_VALUES = 2**16, 2**20
# No table of measurements shrinks this much; what claims to is there to fill the memory.
_MOST_SHRUNK, _SMALL_BYTES = 200, 2**28
_UNREADABLE = (
    *(OSError, ValueError, TypeError, KeyError, NotImplementedError, ImportError, EOFError, MemoryError, RuntimeError),
    *(SyntaxError, OverflowError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


@dataclass(frozen=True)
class TableFile:
    """One data file: where it is, what messages and the dataset in it are called, and how its text is written."""

    path: Path
    relative: str
    name: str
    group: str | None = None
    separator: str | None = None
    decimal: str = "."

    def __post_init__(self) -> None:
        try:
            str(self.path).encode()
        except UnicodeEncodeError as error:
            raise DataFileError(
                f"the path {str(self.path)!r} is not UTF-8; the libraries that read data files need a path of UTF-8 "
                "text. Rename the file or folder."
            ) from error

    def __str__(self) -> str:
        return f"file {self.relative!r}"

    @property
    def suffix(self) -> str:
        """Ending of the name that says what the file holds, in lower case; that of a compressed file is before .gz."""
        return ".csv" if str(self.path) == STANDARD_INPUT else split_name(self.path)[1]


class Content(NamedTuple):
    """What a file holds: validated rows, and which of them are known outliers."""

    table: RawTable
    flags: NDArray[np.bool_] | None = None


def split_name(path: Path) -> tuple[str, str]:
    """Return the name of a file without its ending, and the ending that says what it holds, in lower case."""
    if path.suffix.lower() not in COMPRESSED:
        return path.stem, path.suffix.lower()
    inner = Path(path.stem)
    return (inner.stem, inner.suffix.lower()) if inner.suffix.lower() in SEPARATORS else (inner.name, ".csv")


def find_file(path: Path, kinds: Sequence[str] = SUFFIXES) -> TableFile:
    """Return the file at a path that a user gave, or say why it cannot be one; ``-`` is CSV on standard input."""
    if str(path) == STANDARD_INPUT:
        return TableFile(path, "standard input", "standard input")
    if not path.exists() or path.is_dir():
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise DataNotFoundError(f"{str(path)!r} {problem}; needed is a table file. Check the path.")
    file = TableFile(path, str(path), split_name(path)[0])
    if path.is_file() and file.suffix not in kinds:
        raise DataFileError(
            f"{file} ends in {path.suffix!r}; it must end in one of {', '.join(kinds)} (text also in "
            f"{', '.join(COMPRESSED)}). Rename or convert it."
        )
    return file


def read_frame(file, columns=None, as_text=False):
    import narwhals.stable.v2 as nw, pyarrow
    if file.suffix in ARRAYS:
        with refusing(file):
            return _read_arrays(file.path)[0]
    parts=[f.to_native() for _, f in pieces(file, columns if as_text else None)]
    if not parts:
        from fewratio.data.raw import check_shape
        check_shape((0,0), str(file))
    table=pyarrow.concat_tables(parts, promote_options="permissive")
    if columns is not None: table=table.select(columns)
    return nw.from_native(table, eager_only=True)


def read_file(file, outlier=None):
    X = read_frame(file)
    raw = as_raw(X, str(file))
    flags = None
    if file.suffix in ARRAYS:
        with refusing(file):
            flags=_read_arrays(file.path)[1]
        if outlier is not None and flags is None:
            raise MissingColumnError(f"{file} has no column {outlier!r}")
        return raw, None if flags is None else as_flags(flags, f"is_outlier of {file}")
    if outlier is None: return raw, None
    raw.check_has([outlier])
    from fewratio.data.partition import _plain
    flags=as_flags(_plain(raw.values(outlier)), f"column {outlier!r} of {file}")
    return raw.select([l for l in raw.labels if l!=outlier]), flags


def pieces(file: TableFile, labels: Sequence[str] | None = None) -> Iterator[tuple[int, Frame]]:
    """Read a file with named columns piece by piece, each with the number of its first row.

    With `labels` only those columns are read, in text files as text.
    """
    import narwhals.stable.v2 as nw
    import pyarrow

    first_row = 0
    with refusing(file):
        for batch in _batches(file, labels):
            if len(batch):
                yield first_row, nw.from_native(pyarrow.Table.from_batches([batch]), eager_only=True)
                first_row += len(batch)


def _batches(file: TableFile, labels: Sequence[str] | None) -> Iterator[Any]:
    """Read a file as record batches of pyarrow."""
    if file.suffix in SEPARATORS or not file.path.is_file():
        with _plain(file.path) as path:
            _check_not_empty(path)
            separator = file.separator or SEPARATORS[file.suffix if file.suffix in SEPARATORS else ".csv"]
            yield from read_csv(path, separator, file.decimal, labels)
        return
    _check_not_empty(file.path)
    if file.suffix == ".parquet":
        from pyarrow.parquet import ParquetFile

        # Page by page: a row group, which may be the whole file, would otherwise be held at once.
        with ParquetFile(file.path, pre_buffer=False, buffer_size=2**16) as parquet:
            names = parquet.schema_arrow.names
            check_names(names)
            n_rows = min(_PIECE_ROWS, max(1, _PIECE_VALUES // max(1, len(labels or names))))
            yield from parquet.iter_batches(n_rows, columns=labels, use_threads=False)
        return
    table = _read_whole(file.path, file.suffix)
    check_names(table.column_names)
    yield from (table if labels is None else table.select(labels)).to_batches()


def _read_whole(path: Path, suffix: str) -> Any:
    """Read a file that has no pieces as a table of pyarrow."""
    if suffix in (".arrow", ".feather"):
        from pyarrow.feather import read_table

        return read_table(path)
    if suffix in (".jsonl", ".ndjson"):
        from pyarrow.json import read_json

        return read_json(path)
    import pyarrow

    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise ImportError("reading Excel files needs the package openpyxl; run pip install openpyxl") from error
    book = load_workbook(path, read_only=True, data_only=True)
    header, *rows = book.worksheets[0].iter_rows(values_only=True)
    names = ["" if name is None else str(name) for name in header]
    check_names(names)
    return pyarrow.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@contextmanager
def _plain(path: Path) -> Iterator[Path]:
    """Give a path at which a text file can be read several times: a copy of what is compressed or a stream."""
    suffix = path.suffix.lower()
    if path.is_file() and suffix not in COMPRESSED:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        with _stream(path, suffix) as source, copy.open("wb") as target:
            size = path.stat().st_size if suffix in COMPRESSED else None
            while block := source.read(2**20):
                target.write(block)
                _check_expansion("its text", target.tell(), size)
        yield copy


@contextmanager
def _stream(path: Path, suffix: str) -> Iterator[IO[bytes]]:
    if str(path) == STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.closed:
            raise ValueError("standard input is closed")
        yield sys.stdin.buffer
    elif suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if not name.endswith("/")]
            if len(members) != 1:
                raise ValueError(f"it holds {counted(len(members), 'file')} where one is needed: {listed(members)}")
            with archive.open(members[0]) as member:
                yield member
    else:
        openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
        with openers.get(suffix, open)(path, "rb") as source:
            yield source


@contextmanager
def refusing(file: TableFile) -> Iterator[None]:
    """Turn what a library raises on a file that it cannot parse into the error that names the file."""
    try:
        yield
    except _UNREADABLE as error:
        needed = _NEEDED.get(file.suffix, _NEEDED[".csv"])
        marks = repr(file.separator) if file.separator else "tabs" if file.suffix == ".tsv" else "commas"
        problem = " ".join(str(error).split())[:500]
        raise DataFileError(
            f"{file} cannot be read ({problem}); needed is {needed.format(marks)}. Repair it or write it anew."
        ) from error


def _check_expansion(what: str, size: int, compressed: int | None) -> None:
    """Raise ``ValueError`` if something is far larger than what it was compressed to (None: it was not)."""
    if compressed is not None and size > max(_SMALL_BYTES, _MOST_SHRUNK * compressed):
        raise ValueError(f"{what} of {size:,} bytes was made of {compressed:,}")


def _check_not_empty(path: Path) -> None:
    with path.open("rb") as file:
        if not file.read(1):
            raise ValueError("it is empty")


def _read_arrays(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Read an array and, where they are there, the marks of its outliers; nothing is allocated on a header's word."""
    _check_not_empty(path)
    if path.suffix.lower() == ".npy":
        with path.open("rb") as file:
            _check_array(file, path.stat().st_size, "its array", 2)
        # Mapped: it is read once, when the dataset is made.
        return np.load(path, mmap_mode="r", allow_pickle=False), None
    if not zipfile.is_zipfile(path):
        raise ValueError("it is no archive of arrays")
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        pair = "X" in members and set(members) <= {"X", "is_outlier"}
        if not pair and len(members) != 1:
            raise ValueError(f"it holds {counted(len(members), 'array')}{': ' * bool(members)}{listed(members)}")
        arrays = {}
        for name, info in members.items():
            _check_expansion(f"array {name!r}", info.file_size, info.compress_size)
            with archive.open(info) as file:
                _check_array(
                    file, info.file_size, name if pair else f"array {name!r}", 1 if name == "is_outlier" else 2
                )
            with archive.open(info) as file:
                arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
    flags = arrays.pop("is_outlier", None) if pair else None
    return next(iter(arrays.values())), flags


def _check_array(file: IO[bytes], size: int, what: str, n_axes: int) -> None:
    """Raise ``ValueError`` unless the header at the beginning of a file fits what follows."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ValueError(f"{what} holds Python objects, which cannot be loaded without running code")
    if len(shape) != n_axes or min(shape, default=0) < 0:
        raise ValueError(f"the shape of {what} is {shape}")
    promised = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if promised > size - file.tell():
        raise ValueError(f"{what} should have {promised:,} bytes but has {size - file.tell():,}")
