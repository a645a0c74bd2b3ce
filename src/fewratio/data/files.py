"""One data file of any kind that is known, read whole; a file that cannot be used is refused by name."""

from __future__ import annotations

import gzip
import lzma
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from fewratio.data.columns import counted, listed
from fewratio.data.csv_files import SEPARATORS, check_columns, complete_names, read_csv
from fewratio.data.dataset import as_flags
from fewratio.data.frames import Frame
from fewratio.data.partition import without_flags
from fewratio.data.raw import RawTable, as_raw, raw_of_columns
from fewratio.errors import DataFileError, DataNotFoundError, MissingColumnError

STANDARD_INPUT = "-"
_NEEDED = {
    **dict.fromkeys((".csv", ".tsv"), "UTF-8 text with as many fields in every line, divided by {}"),
    ".parquet": "a Parquet file of plain columns",
    **dict.fromkeys((".arrow", ".feather"), "an Arrow file of plain columns"),
    ".fewratio": "what `fewratio reference` wrote",
    **dict.fromkeys((".jsonl", ".ndjson"), "one JSON object per line, all with the same keys"),
    ".xlsx": "a workbook whose first sheet is a table with a header line",
    ".npy": "one array of numbers with two axes, as numpy.save writes it",
    ".npz": "one array of numbers with two axes, or X and is_outlier, as numpy.savez writes them",
}
ARRAYS = (".npy", ".npz")
TABLES = tuple(suffix for suffix in _NEEDED if suffix not in ARRAYS)
SUFFIXES = tuple(_NEEDED)
COMPRESSED = (".gz", ".xz", ".zip")
_PIECE_ROWS = 2**16
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


def split_name(path: Path) -> tuple[str, str]:
    """Return the name of a file without its ending, and the ending that says what it holds, in lower case."""
    if path.suffix.lower() not in COMPRESSED:
        return path.stem, path.suffix.lower()
    inner = Path(path.stem)
    return (inner.stem, inner.suffix.lower()) if inner.suffix.lower() in SEPARATORS else (inner.name, ".csv")


def find_file(
    path: Path, kinds: Sequence[str] = SUFFIXES, separator: str | None = None, decimal: str = "."
) -> TableFile:
    """Return the file at a path that a user gave, or say why it cannot be one; ``-`` is CSV on standard input."""
    # A tab is hard to type in a shell.
    separator = "\t" if separator == "\\t" else separator
    if str(path) == STANDARD_INPUT:
        return TableFile(path, "standard input", "standard input", None, separator, decimal)
    if not path.exists() or path.is_dir():
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise DataNotFoundError(f"{str(path)!r} {problem}; needed is a table file. Check the path.")
    file = TableFile(path, str(path), split_name(path)[0], None, separator, decimal)
    if path.is_file() and file.suffix not in kinds:
        raise DataFileError(
            f"{file} ends in {path.suffix!r}; it must end in one of {', '.join(kinds)} (text also in "
            f"{', '.join(COMPRESSED)}). Rename or convert it."
        )
    return file


def read_frame(file: TableFile, columns: Sequence[str] | None = None, as_text: bool = False) -> Frame | NDArray[Any]:
    """Read a file whole: a data frame, in which every column has one type, or the array of an .npy or .npz file.

    Parameters
    ----------
    file : TableFile
    columns : sequence of str, optional
        The only columns to read.
    as_text : bool
        Whether columns of text files stay text, in which only an empty field is missing: "01" is not "1".
    """
    import narwhals.stable.v2 as nw

    if file.suffix in ARRAYS:
        if columns is not None:
            raise MissingColumnError(
                f"{file} has no column {columns[0]!r}, for its columns have no names. Leave it out."
            )
        return read_arrays(file)[0]
    with refusing(file):
        return nw.from_native(_read_table(file, columns, as_text), eager_only=True)


def read_arrays(file: TableFile) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Read the array of an .npy or .npz file and, where they are there, the marks of its outliers."""
    with refusing(file):
        return _read_arrays(file.path)


def read_raw(file: TableFile) -> RawTable:
    """Read a file as a table whose columns may be of any kind."""
    if file.suffix in ARRAYS:
        return as_raw(read_arrays(file)[0], str(file))
    with refusing(file):
        table = _read_table(file, None, as_text=False)
    columns = dict(zip(table.column_names, table.columns, strict=True))
    del table
    return raw_of_columns(columns, str(file))


def read_with_flags(file: TableFile, outlier: str | None = None) -> tuple[RawTable, NDArray[np.bool_] | None]:
    """Read a file, and which of its rows are known outliers: a column, or an array beside the rows."""
    if file.suffix not in ARRAYS:
        raw = read_raw(file)
        return (raw, None) if outlier is None else without_flags(raw, outlier)
    X, flags = read_arrays(file)
    if outlier is not None and flags is None:
        raise MissingColumnError(
            f"{file} has no column {outlier!r}, for its columns have no names; needed is an array is_outlier "
            "beside X. Write both with numpy.savez(path, X=X, is_outlier=flags)."
        )
    return as_raw(X, str(file)), None if flags is None else as_flags(flags, f"is_outlier of {file}")


def _read_table(file: TableFile, columns: Sequence[str] | None, as_text: bool) -> Any:
    """Read a file with named columns as a table of pyarrow."""
    if file.suffix in SEPARATORS or not file.path.is_file():
        with _plain(file.path) as path:
            _check_not_empty(path)
            # Where commas are within numbers, something else divides them.
            default = ";" if file.decimal == "," else SEPARATORS[".csv"]
            separator = file.separator or (SEPARATORS[".tsv"] if file.suffix == ".tsv" else default)
            return read_csv(path, separator, file.decimal, columns, as_text)
    _check_not_empty(file.path)
    if file.suffix == ".parquet":
        import pyarrow
        from pyarrow.parquet import ParquetFile

        # Page by page: a row group, which may be the whole file, would otherwise be held at once.
        with ParquetFile(file.path, pre_buffer=False, buffer_size=2**16) as parquet:
            names = complete_names(parquet.schema_arrow.names)
            read = columns if names == parquet.schema_arrow.names else None
            batches = list(parquet.iter_batches(_PIECE_ROWS, columns=read, use_threads=False))
            table = pyarrow.Table.from_batches(batches) if batches else parquet.read(read)
    else:
        table = _read_whole(file.path, file.suffix)
        names = complete_names(table.column_names)
    check_columns(columns, names)
    table = table.rename_columns(complete_names(table.column_names))
    return table if columns is None else table.select(columns)


def _read_whole(path: Path, suffix: str) -> Any:
    """Read an Arrow, JSON or Excel file as a table of pyarrow."""
    import pyarrow

    if suffix in (".arrow", ".feather", ".fewratio"):
        from pyarrow.feather import read_table

        return read_table(path, use_threads=False)
    if suffix in (".jsonl", ".ndjson"):
        from pyarrow.json import ReadOptions, read_json

        return read_json(path, ReadOptions(use_threads=False, block_size=2**24))
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise ImportError("reading Excel files needs the package openpyxl; run pip install openpyxl") from error
    rows = list(load_workbook(path, read_only=True, data_only=True).worksheets[0].iter_rows(values_only=True))
    if not rows:
        raise ValueError("its first sheet is empty")
    columns = list(zip(*rows, strict=True))
    return pyarrow.Table.from_arrays(
        [_as_arrow(values) for _, *values in columns],
        ["" if name is None else str(name) for name, *_ in columns],
    )


def _as_arrow(values: Sequence[Any]) -> Any:
    """Return the cells of a column, as text if they have several types."""
    import pyarrow

    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        return pyarrow.array([None if value is None else str(value) for value in values])


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
    except MissingColumnError as error:
        raise MissingColumnError(f"{file} {error}") from None
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
    if not dtype.itemsize:
        raise ValueError(f"{what} holds values of no bytes")
    if dtype.hasobject:
        raise ValueError(f"{what} holds Python objects, which cannot be loaded without running code")
    if len(shape) != n_axes or min(shape, default=0) < 0:
        raise ValueError(f"the shape of {what} is {shape}")
    promised = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if promised > size - file.tell():
        raise ValueError(f"{what} should have {promised:,} bytes but has {size - file.tell():,}")
