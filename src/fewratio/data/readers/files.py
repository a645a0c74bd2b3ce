"""Data files of all kinds, alone or in a folder, whole or in pieces; one that cannot be used is refused by name."""

from __future__ import annotations

import gzip
import lzma
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arguments import advise_names, as_path
from fewratio.core.blocks import BLOCK_VALUES, PIECE_ROWS
from fewratio.core.wording import quote_list, write_count, write_list
from fewratio.data import arrow as pa
from fewratio.data.column_kinds import decode_numbers, find_index, is_number
from fewratio.data.dataset import as_flags
from fewratio.data.raw_table import RawTable, as_raw, check_shape, name_index, raw_from_arrow, read_index
from fewratio.data.readers.csv import (
    SEPARATORS,
    FirstLines,
    OtherEncoding,
    OtherSeparator,
    RepeatedNames,
    complete_names,
    find_padded,
    open_csv,
    read_csv,
    read_first_lines,
)
from fewratio.data.readers.excel import read_excel
from fewratio.data.readers.text_file import WINDOWS, Header, as_utf8, guess_header, inspect_text, occurs_below
from fewratio.data.split_table import split_off_flags
from fewratio.errors import DataFileError, DataNotFoundError, ParameterError, name_parameter, warn

STANDARD_INPUT = "-"
ARRAYS = (".npy", ".npz")
COMPRESSED = (".gz", ".xz", ".zip")
# No table of measurements shrinks this much; what claims to is there to fill the memory.
_MOST_SHRUNK, _SMALL_BYTES = 200, 2**28

Batches = Callable[..., Iterable[Any]]


@contextmanager
def _open_parquet(path: Path) -> Iterator[tuple[pa.Schema, int, Batches]]:
    # Page by page: a row group, which may be the whole file, would otherwise be held at once.
    with pa.parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**16) as parquet:

        def read(**options: Any) -> Iterator[pa.RecordBatch]:
            for batch in parquet.iter_batches(PIECE_ROWS, use_threads=False, **options):
                yield from decode_numbers(pa.Table.from_batches([batch])).to_batches()

        schema = decode_numbers(parquet.schema_arrow.empty_table()).schema
        yield schema, parquet.metadata.num_rows, read


def _read_parquet(path: Path) -> pa.Table:
    with _open_parquet(path) as (schema, _, batches):
        return pa.Table.from_batches(batches(), schema)


def _read_arrow(path: Path) -> pa.Table:
    return pa.feather.read_table(path, use_threads=False)


def _read_json(path: Path) -> pa.Table:
    return pa.json.read_json(path, pa.json.ReadOptions(use_threads=False, block_size=2**24))


_TEXT = "UTF-8 text with as many fields in every line, divided by {}"
# What a file of each ending should be, and how it is read if it is neither text nor an array.
_FORMATS: dict[str, tuple[str, Callable[[Path], pa.Table] | None]] = {
    **dict.fromkeys((".csv", ".tsv"), (_TEXT, None)),
    ".parquet": ("a Parquet file of plain columns", _read_parquet),
    **dict.fromkeys((".arrow", ".feather"), ("an Arrow file of plain columns", _read_arrow)),
    ".fewratio": ("what `fewratio reference` wrote", _read_arrow),
    **dict.fromkeys((".jsonl", ".ndjson"), ("one JSON object per line, all with the same keys", _read_json)),
    ".xlsx": ("a workbook whose first sheet is a table with a header line", read_excel),
    ".npy": ("one array of numbers with two axes, as numpy.save writes it", None),
    ".npz": ("one array of numbers with two axes, or X and is_outlier, as numpy.savez writes them", None),
}
SUFFIXES = tuple(_FORMATS)
TABLES = tuple(suffix for suffix in SUFFIXES if suffix not in ARRAYS)


@dataclass(frozen=True)
class Layout:
    """How a text file is written, decided from it and from those that are read with it.

    Attributes
    ----------
    separator, decimal : str
    header : bool
        Whether the first line names the columns.
    encoding : str or None
        If not UTF-8.
    padded : tuple of str
        Columns of digits that are text, as one of them begins with a zero.
    repeats_first : bool
        Whether lines below are the same as the first; those that repeat a header are left out.
    """

    separator: str
    decimal: str
    header: bool
    encoding: str | None = None
    padded: tuple[str, ...] = ()
    repeats_first: bool = False


@dataclass(frozen=True)
class TableFile:
    """One data file: where it is, what messages and the dataset in it are called, and how its text is written.

    What the user did not say of the text is None until `settle_layouts` has read the file.
    """

    path: Path
    relative: str
    name: str
    group: str | None = None
    separator: str | None = None
    decimal: str = "."
    header: bool | None = None
    layout: Layout | None = None

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
    path: Path,
    kinds: Sequence[str] = SUFFIXES,
    separator: str | None = None,
    decimal: str = ".",
    header: bool | None = None,
) -> TableFile:
    """Return the file at a path that a user gave, or say why it cannot be one; ``-`` is CSV on standard input."""
    # A tab is hard to type in a shell.
    separator = "\t" if separator == "\\t" else separator
    if str(path) == STANDARD_INPUT:
        return TableFile(path, "standard input", "standard input", None, separator, decimal, header)
    as_path(path)
    # A device may have no end.
    if not path.is_file() and not path.is_fifo():
        problem = "is a folder" if path.is_dir() else "is a device" if path.exists() else "does not exist"
        raise DataNotFoundError(f"{str(path)!r} {problem}; expected a table file. Check the path.")
    file = TableFile(path, str(path), split_name(path)[0], None, separator, decimal, header)
    if path.is_file() and file.suffix not in kinds:
        endings = f"{', '.join(kinds)} (text also in {', '.join(COMPRESSED)})"
        raise DataFileError(f"{file} ends in {path.suffix!r}; it must end in one of {endings}. Rename or convert it.")
    return file


def find_table_files(folder: Path) -> list[TableFile]:
    """List the data files below a folder, sorted by their relative path.

    A dataset is named by its file's stem; where one stem occurs in several sub-folders, by the path below the folder.
    """
    if not folder.is_dir():
        found = f"{str(folder)!r} {'is not a folder' if folder.exists() else 'does not exist'}"
        raise DataNotFoundError(f"{found}; expected a folder with one data file per dataset. Check the path.")
    paths = sorted(path.relative_to(folder) for path in folder.rglob("*") if _is_table_file(path, folder))
    if not paths:
        found = f"{str(folder)!r} holds no {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} files"
        raise DataNotFoundError(f"{found}; expected one per dataset. Check the path, or convert the files.")
    stems = [split_name(path)[0] for path in paths]
    count = Counter(stems)
    return [
        TableFile(
            path=as_path(folder / path),
            relative=path.as_posix(),
            name=stem if count[stem] == 1 else path.with_name(stem).as_posix(),
            group=path.parent.as_posix() if path.parent.parts else None,
        )
        for path, stem in zip(paths, stems, strict=True)
    ]


def _is_table_file(path: Path, folder: Path) -> bool:
    # What begins with a dot, or lies in such a folder, is a program's own (a notebook's checkpoints, say).
    is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    # Not every archive is a table: a compressed one needs both endings.
    suffix = Path(path.stem).suffix if path.suffix.lower() in COMPRESSED else path.suffix
    return suffix.lower() in SUFFIXES and not is_hidden and path.is_file()


def read_columns(file: TableFile, as_text: Sequence[str] = ()) -> pa.Table:
    """Read a file with named columns whole.

    Parameters
    ----------
    file : TableFile
    as_text : sequence of str
        Columns of a text file that are read as they are written: "01" is not "1".
    """
    with name_file_in_errors(file):
        read = _reader(file)
        if read is not None:
            table = read(file.path)
            # Readers trust offsets and texts; a damaged file would be read beyond its end.
            table.validate(full=True)
            names = complete_names(table.column_names)
            return table.rename_columns(names).replace_schema_metadata(table.schema.metadata)
        with _open_text(file) as (path, layout):
            marks = layout.separator, layout.decimal
            return read_csv(path, *marks, as_text, header=layout.header, padded=layout.padded)


def _reader(file: TableFile) -> Callable[[Path], pa.Table] | None:
    """Return what reads a file that is no text; a stream always is."""
    return _FORMATS.get(file.suffix, (_TEXT, None))[1] if file.path.is_file() else None


class _Inspected(NamedTuple):
    """How a text file is written as far as it shows by itself: `padded` are the places of columns."""

    layout: Layout
    lines: FirstLines
    guess: Header
    padded: list[int]

    def settle(self, is_header: bool) -> Layout:
        """Return the layout with a header or without."""
        padded = tuple(self.lines.names[place] if is_header else str(place) for place in self.padded)
        return replace(self.layout, header=is_header, padded=padded)


def settle_layouts(files: Sequence[TableFile]) -> list[TableFile]:
    """Decide how text files that are read together are written, and warn of what is open.

    Equal first lines are a header. A stream can be read only once, and is left to itself.
    """
    inspected: dict[int, _Inspected] = {}
    for place, file in enumerate(files):
        if file.layout is None and file.path.is_file() and file.suffix not in ARRAYS and _reader(file) is None:
            with name_file_in_errors(file), _unpack(file.path) as path:
                inspected[place] = _inspect(file, path)
    lines = [each.lines for each in inspected.values()]
    # Files whose next lines are equal, too, may be the same; and what occurs again below is a value.
    equal = len({tuple(each.names) for each in lines}) == 1 < len({tuple(map(tuple, each.rows[:1])) for each in lines})
    equal = equal and len(set(lines[0].names)) == len(lines[0].names)
    equal = equal and not all(occurs_below(each.names, each.rows) for each in lines)
    headers = {at: each.layout.header or (equal and files[at].header is None) for at, each in inspected.items()}
    result = list(files)
    for place, each in inspected.items():
        result[place] = replace(files[place], layout=each.settle(headers[place]))
        _warn_of_layout(files[place], each, headers[place])
    return result


def _inspect(file: TableFile, path: Path) -> _Inspected:
    """Find out how the text of a file is written that is at a path by now."""
    encoding, may_be_padded, repeats_first = inspect_text(path)
    # Where commas are within numbers, something else divides them.
    default = ";" if file.decimal == "," else SEPARATORS[".csv"]
    separator, decimal = file.separator or (SEPARATORS[".tsv"] if file.suffix == ".tsv" else default), file.decimal
    with as_utf8(path, encoding) as text:
        try:
            lines = read_first_lines(text, separator)
        except OtherSeparator as found:
            if file.separator is not None:
                raise
            separator, decimal = found.separator, found.decimal if decimal == "." else decimal
            lines = read_first_lines(text, separator)
        guess = guess_header(lines.names, lines.rows, decimal)
        header = guess.is_header if file.header is None else file.header
        padded = find_padded(text, separator, header) if may_be_padded else []
    # A row of numbers may well be the same as numbers that are names.
    repeats_first = repeats_first and not all(map(is_number, lines.names))
    layout = Layout(separator, decimal, header, encoding, repeats_first=repeats_first)
    return _Inspected(layout, lines, guess, padded)


def _warn_of_layout(file: TableFile, found: _Inspected, is_header: bool) -> None:
    """Say what was assumed of a file that could be otherwise, and which option changes it."""
    if found.layout.encoding == WINDOWS:
        _warn(f"{file} is not UTF-8; it is read as Windows-1252 (Latin-1). If letters look wrong, save it as UTF-8.")
    if is_header and found.layout.repeats_first:
        option = name_parameter("header", "False", "header=False")
        _warn(
            f"{file} repeats its first line ({write_list(found.lines.names, 3)}) further below; it is read as names of "
            f"columns once. {option} reads all such lines as rows."
        )
    elif file.header is None and (found.guess.is_open or found.guess.is_header != is_header):
        what, other = ("names of columns", "False") if is_header else ("a row", "True")
        why = ", as it is the same in all files" * (found.guess.is_header != is_header)
        option = name_parameter("header", other, f"header={other}")
        first = f"the first line of {file} ({write_list(found.lines.names, 3)})"
        _warn(f"{first} is read as {what}{why}. {option} changes that.")


def _warn(message: str) -> None:
    warn(message[0].upper() + message[1:])


@contextmanager
def _open_text(file: TableFile) -> Iterator[tuple[Path, Layout]]:
    """Yield a path at which the text of a file is plain UTF-8 and can be read several times, and its layout."""
    with _unpack(file.path) as path:
        layout = file.layout
        if layout is None:
            found = _inspect(file, path)
            layout = found.settle(found.layout.header)
            _warn_of_layout(file, found, layout.header)
        with as_utf8(path, layout.encoding, layout.header and layout.repeats_first) as text:
            yield text, layout


def read_arrays(file: TableFile) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Read the array of an .npy or .npz file and, where they are there, the marks of its outliers."""
    # A damaged header may promise more bytes than an integer can count.
    with name_file_in_errors(file), np.errstate(over="raise"):
        if file.suffix == ".npy":
            # Mapped: it is read once, when the dataset is made.
            return np.lib.format.open_memmap(file.path, mode="r"), None
        with zipfile.ZipFile(file.path) as archive:
            for info in archive.infolist():
                _check_expansion(f"array {info.filename!r}", info.file_size, info.compress_size)
        with np.load(file.path) as arrays:
            names = set(arrays)
            if len(names) != 1 and names != {"X", "is_outlier"}:
                raise ValueError(
                    f"it holds {write_count(len(names), 'array')}{': ' * bool(names)}{quote_list(sorted(names))}"
                )
            flags = arrays["is_outlier"] if len(names) == 2 else None
            return arrays["X" if len(names) == 2 else names.pop()], flags


def read_table(
    *paths: str | PathLike[str],
    separator: str | None = None,
    decimal: str = ".",
    header: bool | None = None,
    **others: Any,
) -> Any:
    r"""Read a table from a file, or several tables that are used together, like the command line.

    Parameters
    ----------
    *paths : path
        A .csv, .tsv, .parquet, .arrow, .feather, .jsonl, .ndjson, .xlsx, .npy or .npz file; text may be compressed
        (.gz, .xz, .zip). Whether the first line is a header is decided for all text files together.
    separator : str, optional
        Column separator of a text file. By default, tabs in .tsv files, and commas in others (semicolons with
        ``decimal=","``).
    decimal : str
        Decimal mark of a text file.
    header : bool, optional
        Whether the first line of a text file names the columns. By default, this is decided from the lines below it,
        with a warning if it is unclear.
    **others
        Not allowed; the error message suggests the option that was probably meant.

    Returns
    -------
    pyarrow.Table or ndarray of shape (n_rows, n_columns)
        A table for the functions of fewratio; an array for .npy and .npz files. A list for several files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import fewratio
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "monday.csv").write_text("size;kind\n1,5;a\n2,5;b\n")
    ...     fewratio.read_table(f"{folder}/monday.csv", decimal=",").to_pylist()
    [{'size': 1.5, 'kind': 'a'}, {'size': 2.5, 'kind': 'b'}]
    """
    if others:
        known = ["separator", "decimal", "header"]
        found = f"read_table has no option {quote_list(list(others))}"
        raise ParameterError(f"{found}; those are {', '.join(known)}. {advise_names(list(others), known)}")
    files = [find_file(Path(path), separator=separator, decimal=decimal, header=header) for path in paths]
    tables = [read_arrays(file)[0] if file.suffix in ARRAYS else read_columns(file) for file in settle_layouts(files)]
    return tables[0] if len(tables) == 1 else tables


def read_raw(file: TableFile, as_text: Sequence[str] = ()) -> RawTable:
    """Read a file as a table whose columns may be of any kind; `as_text` is that of `read_columns`."""
    if file.suffix in ARRAYS:
        return as_raw(read_arrays(file)[0], str(file))
    return raw_from_arrow(read_columns(file, as_text), str(file))


@dataclass(frozen=True, eq=False)
class FileRows:
    """The rows of a file that is never in memory as a whole; used in a `RawTable` instead of a pyarrow table.

    Attributes
    ----------
    file : TableFile
    schema : pyarrow Schema
        The types of the columns, by their names in the file.
    n_rows : int
    batches : callable
        Reads the rows from the first one on; only some columns if ``columns`` names them.
    """

    file: TableFile
    schema: pa.Schema
    n_rows: int
    batches: Batches

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, place: int) -> pa.ChunkedArray:
        return self.select([place]).read()[0]

    def select(self, places: Sequence[int]) -> FileRows:
        """Return some of the columns."""
        schema = pa.schema([self.schema.field(place) for place in places])
        return replace(self, schema=schema, batches=partial(self.batches, columns=schema.names))

    def read(self) -> pa.Table:
        """Read all rows."""
        return pa.Table.from_batches(self._read_valid(), self.schema)

    def take(self, rows: NDArray[np.intp]) -> pa.Table:
        """Read some rows, by their numbers."""
        ordered, start, found = np.sort(rows), 0, []
        for batch in self._read_valid():
            first, last = np.searchsorted(ordered, (start, start + len(batch)))
            found.append(batch.take(pa.array(ordered[first:last] - start)))
            start += len(batch)
        return pa.Table.from_batches(found, self.schema).take(np.argsort(np.argsort(rows, kind="stable")))

    def pieces(self, n_rows: int) -> Iterator[pa.Table]:
        """Yield the rows in tables of equal size; the last has the remaining ones."""
        held, n_held = [], 0
        for batch in self._read_valid():
            held.append(batch)
            n_held += len(batch)
            while n_held >= n_rows:
                table = pa.Table.from_batches(held)
                held, n_held = table[n_rows:].to_batches(), n_held - n_rows
                yield table[:n_rows]
        if n_held:
            yield pa.Table.from_batches(held)

    def _read_valid(self) -> Iterator[pa.RecordBatch]:
        with name_file_in_errors(self.file):
            for batch in self.batches():
                batch.validate(full=True)
                # A name with dots may have brought others with it.
                yield batch.select(self.schema.names)


@contextmanager
def open_rows(file: TableFile, by_column: bool = False) -> Iterator[RawTable]:
    """Open a file whose rows are wanted in pieces: text and Parquet are read as they come, others are held.

    A text file is first read to its end, as no type is certain before that.

    Parameters
    ----------
    file : TableFile
    by_column : bool
        Whether single columns are wanted, too. Then a small file is held, and of a text file a copy is made by columns.
    """
    read = _reader(file)
    if file.suffix in ARRAYS or read not in (None, _read_parquet):
        yield read_raw(file)
        return
    with ExitStack() as stack:
        with name_file_in_errors(file):
            if read is None:
                path, layout = stack.enter_context(_open_text(file))
                table, n_rows, batches = open_csv(
                    path, layout.separator, layout.decimal, header=layout.header, padded=layout.padded
                )
                schema = table.schema
            else:
                schema, n_rows, batches = stack.enter_context(_open_parquet(file.path))
            labels = tuple(complete_names(schema.names))
        rows = FileRows(file, schema, n_rows, batches)
        index = None
        if names := find_index(schema):
            index = read_index(rows.select([schema.names.index(name) for name in names]).read(), names)
            rows = rows.select([place for place, name in enumerate(schema.names) if name not in names])
            labels = tuple(complete_names(rows.schema.names))
        check_shape((n_rows, len(labels)), str(file))
        if by_column and n_rows * len(labels) <= BLOCK_VALUES:  # Held: it need not be read more than once.
            held = raw_from_arrow(rows.read().rename_columns(labels), str(file))
            yield replace(held, index=index, index_name=name_index(names))
            return
        if by_column and read is None:
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "copy"
            with pa.parquet.ParquetWriter(copy, schema, compression="lz4", use_dictionary=False) as writer:
                for piece in rows.pieces(PIECE_ROWS):
                    writer.write_table(piece)
            schema, _, batches = stack.enter_context(_open_parquet(copy))
            rows = replace(rows, schema=schema, batches=batches)
        yield RawTable(str(file), labels, True, rows, index, name_index(names))


def read_with_flags(file: TableFile, outlier: str | None = None) -> tuple[RawTable, NDArray[np.bool_] | None]:
    """Read a file, and which of its rows are known outliers: a column, or an array beside the rows."""
    X, flags = read_arrays(file) if file.suffix in ARRAYS else (read_raw(file), None)
    raw = as_raw(X, str(file))
    if flags is not None:
        return raw, as_flags(flags, f"is_outlier of {file}")
    return (raw, None) if outlier is None else split_off_flags(raw, outlier)


@contextmanager
def _unpack(path: Path) -> Iterator[Path]:
    """Yield a path at which a text file can be read several times: a copy of what is compressed or a stream."""
    suffix = path.suffix.lower()
    if path.is_file() and suffix not in COMPRESSED:
        yield path
        return
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".zip": _open_zip}
    is_stdin = str(path) == STANDARD_INPUT
    if is_stdin and (sys.stdin is None or sys.stdin.closed):
        raise ValueError("standard input is closed")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        with (
            nullcontext(sys.stdin.buffer) if is_stdin else openers.get(suffix, open)(path, "rb") as source,
            copy.open("wb") as target,
        ):
            size = path.stat().st_size if suffix in COMPRESSED else None
            while block := source.read(2**20):
                target.write(block)
                _check_expansion("its text", target.tell(), size)
        yield copy


def _open_zip(path: Path, mode: str) -> IO[bytes]:
    archive = zipfile.ZipFile(path)
    members = [name for name in archive.namelist() if not name.endswith("/")]
    if len(members) != 1:
        raise ValueError(f"it holds {write_count(len(members), 'file')} where one is needed: {quote_list(members)}")
    return archive.open(members[0])


@contextmanager
def name_file_in_errors(file: TableFile) -> Iterator[None]:
    """Turn what a library raises on a file that it cannot parse into the error that names the file."""
    try:
        if file.path.is_file() and not file.path.stat().st_size:
            raise ValueError("it is empty")
        yield
    except OtherSeparator as error:
        raise DataFileError(f"{file} cannot be read ({error}).") from error
    except Warning:
        # Whoever makes errors of warnings wants to see them.
        raise
    # Libraries raise errors of any kind on a file that is damaged.
    except Exception as error:
        # A damaged binary file may claim any size; a text cannot, so memory really is short.
        if isinstance(error, MemoryError) and file.suffix in SEPARATORS:
            raise
        needed, _ = _FORMATS.get(file.suffix, (_TEXT, None))
        marks = repr(file.separator) if file.separator else "tabs" if file.suffix == ".tsv" else "commas"
        found = f"{file} cannot be read ({' '.join(str(error).split())[:500]})"
        advice = "Fix the file or export it again"
        if isinstance(error, RepeatedNames):
            needed, advice = "another name for each column", "Rename one of them"
        if isinstance(error, OtherEncoding):
            advice = "Save it again as UTF-8: in Excel as 'CSV UTF-8', in a text editor as encoding UTF-8"
        raise DataFileError(f"{found}; expected {needed.format(marks)}. {advice}.") from error


def _check_expansion(what: str, size: int, compressed: int | None) -> None:
    """Raise ``ValueError`` if something is far larger than what it was compressed to (None: it was not)."""
    if compressed is not None and size > max(_SMALL_BYTES, _MOST_SHRUNK * compressed):
        raise ValueError(f"{what} of {size:,} bytes was made of {compressed:,}")
