"""Delimited text files, read piece by piece with pyarrow, and the few checks that it lacks."""

from __future__ import annotations

import csv
import mmap
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from fewratio.data.columns import counted, is_number, listed

if TYPE_CHECKING:
    import pyarrow

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# A piece of a file; also the longest line (a hundred thousand columns of full precision take two million bytes).
_BLOCK_BYTES = 2**22
_SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
# What pyarrow takes for missing unless told otherwise: "None" may well be a category.
MISSING_MARKS = [
    *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "NULL", "null"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
]
_BAD_VALUE = re.compile(r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to (?!string)")


def read_csv(
    path: Path,
    separator: str,
    decimal: str = ".",
    labels: Sequence[str] | None = None,
    block_bytes: int = _BLOCK_BYTES,
) -> Iterator[pyarrow.RecordBatch]:
    """Read a delimited file piece by piece, or raise ``ValueError`` that says in which line it is wrong.

    A first line of nothing but numbers is a row, unless they count three columns or more from 0 or 1. Columns without
    a header are named "0", "1" and so on.

    Parameters
    ----------
    path : Path
    separator, decimal : str
        What divides fields, and the mark within numbers.
    labels : sequence of str, optional
        The only columns to read, as text, in which only an empty field is missing: "01" is not "1", "NA" is a name.
    block_bytes : int
        Size of a piece.
    """
    import pyarrow
    from pyarrow import csv as arrow_csv

    names, has_header, has_rows = _read_header(path, separator)
    newlines = _check_quotes(path, separator, block_bytes)
    types = dict.fromkeys(labels or (), pyarrow.string())
    done = 0
    while has_rows:
        # One thread: with more, a file that is refused can leave one behind that aborts the program at its end.
        read = arrow_csv.ReadOptions(
            use_threads=False,
            block_size=block_bytes,
            column_names=None if has_header else names,
            skip_rows_after_names=done,
        )
        convert = arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=list(labels or ()),
            null_values=MISSING_MARKS if labels is None else [""],
            strings_can_be_null=True,
            decimal_point=decimal,
        )
        parse = arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=newlines)
        try:
            reader = arrow_csv.open_csv(path, read, parse, convert)
            if not types and path.stat().st_size > block_bytes:
                # pyarrow knows only the first piece: what are whole numbers there may have decimals later.
                wider = (field for field in reader.schema if field.type in (pyarrow.int64(), pyarrow.null()))
                types = {field.name: pyarrow.float64() for field in wider}
                if types:
                    continue
            for batch in reader:
                if any(pyarrow.types.is_binary(kind) for kind in batch.schema.types):
                    _raise_bad_bytes(path)
                yield batch
                done += len(batch)
            return
        except pyarrow.ArrowInvalid as error:
            bad = _BAD_VALUE.search(str(error))
            if bad is None:
                raise _explained(error, path, separator, block_bytes) from error
            # From here on this column is text: whoever expects numbers will say which cell is none.
            types[names[int(bad[1])]] = pyarrow.string()


def _explained(error: Exception, path: Path, separator: str, block_bytes: int) -> Exception:
    """Find the line in which a file is wrong that pyarrow refused; return its own error if all lines seem right."""
    if "UTF8" in str(error):
        _raise_bad_bytes(path)
    if "straddling" in str(error):
        return ValueError(f"a line is longer than {block_bytes >> 20} MiB")
    _check_rows(path, separator)
    return error


def _read_header(path: Path, separator: str) -> tuple[list[str], bool, bool]:
    """Return the names of the columns, whether the first line holds them, and whether there are rows.

    Raise where pyarrow would accept names that cannot be told apart, or fields that something else divides.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter=separator)
            names, first = next(rows, []), next(rows, [])
            while not first and (row := next(rows, None)) is not None:
                first = row
    except UnicodeDecodeError:
        _raise_bad_bytes(path)
    except csv.Error as error:
        raise ValueError(f"its first lines cannot be read ({error})") from error
    if not names:
        raise ValueError("its first line is empty")
    header, line = separator.join(names), separator.join(first)
    if re.fullmatch("sep=.", header):
        raise ValueError(f"its first line is {header!r}, which only Excel understands; remove that line")
    for mark in _SEPARATOR_NAMES:
        if mark != separator and separator not in header and mark in header and mark in line:
            raise ValueError(
                f"its columns are divided by {_SEPARATOR_NAMES[mark]} and not by {_SEPARATOR_NAMES[separator]}"
            )
    counts = [str(place) for place in range(len(names) + 1)]
    given = [name for name in names if name]
    # Fewer than three may well be a first row.
    is_counted = len(names) > 2 and names in (counts[:-1], counts[1:])
    if given and all(map(is_number, given)) and not is_counted:
        return counts[:-1], False, True
    check_names(names)
    return names, True, bool(first)


def check_names(names: Sequence[str]) -> None:
    """Raise ``ValueError`` if columns share a name, have none, or one is a row index that pandas saved."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if "" in names:
        raise ValueError(
            f"column {names.index('') + 1} has no name, as a row index saved by pandas has; write it with index=False"
        )
    if repeated:
        raise ValueError(f"several columns have the name {listed(repeated)}")
    index = next((name for name in names if re.fullmatch(r"__index_level_\d+__", name)), None)
    if index is not None:
        raise ValueError(f"column {index!r} is a row index saved by pandas; write it with index=False")


def _check_quotes(path: Path, separator: str, block_bytes: int) -> bool:
    """Raise if a quote is not closed, which pyarrow would take for a long field; tell whether there are quotes."""
    count = 0
    with path.open("rb") as file:
        while block := file.read(block_bytes):
            count += block.count(b'"')
    if count == 0:
        return False
    # Well-formed fields have their quotes in pairs; looking into each costs more than reading the file.
    mark = re.escape(separator.encode())
    field = re.compile(rb'(?:^|[\n\r%b])"(?:[^"]++|"")*+"(?![\r\n%b]|\Z)' % (mark, mark))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        suspect = count % 2 == 1 or field.search(content) is not None
    if suspect:
        _check_rows(path, separator)
    return True


def _check_rows(path: Path, separator: str) -> None:
    """Raise ``ValueError`` if a line has another number of fields than the first, or a quote that is not closed."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=separator, strict=True)
        n_fields, line = 0, 1
        try:
            for row in rows:
                n_fields = n_fields or len(row)
                if row and len(row) != n_fields:
                    raise ValueError(f"line 1 has {counted(n_fields, 'field')} but line {line} has {len(row)}")
                line = rows.line_num + 1
        except UnicodeDecodeError:
            _raise_bad_bytes(path)
        except csv.Error as error:
            raise ValueError(
                f"line {line} has a quote that is not closed, or not where a field ends ({error})"
            ) from error


def _raise_bad_bytes(path: Path) -> NoReturn:
    """Raise ``ValueError`` that names the first line that is not UTF-8 text."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if b"\0" in line:
                raise ValueError(f"line {number} holds binary data")
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"line {number} holds the byte 0x{line[error.start]:02x}, which is not UTF-8"
                ) from None
    raise ValueError("it holds bytes that are not UTF-8")
