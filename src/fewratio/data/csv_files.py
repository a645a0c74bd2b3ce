"""Delimited text files, read block by block with pyarrow, and the few checks that it lacks."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from fewratio.data.columns import counted, is_number, listed
from fewratio.errors import MissingColumnError

if TYPE_CHECKING:
    import pyarrow

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# Text that is parsed at once, also the longest line. A block costs some time per column: wide files get larger ones.
_BLOCK_BYTES, _COLUMN_BYTES, _MOST_BYTES = 2**22, 2**12, 2**27
# A column takes about 0.1 ms, however few its rows are.
_MOST_COLUMNS = 50_000
_SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
# What pyarrow takes for missing unless told otherwise: "None" may well be a category.
MISSING_MARKS = [
    *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "NULL", "null"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
]
# Excel writes it so that it knows its own files.
_SEPARATOR_LINE = re.compile(rb'"?sep=([\t !#-~])"?\r?\n')
_COMMA_NUMBER = re.compile(r"[-+]?\d+(,\d+)?")


class _Text(NamedTuple):
    """A delimited file: at which byte its lines begin, what divides them, and what the first of them are."""

    path: Path
    start: int
    separator: str
    names: list[str]
    has_header: bool
    has_rows: bool


def read_csv(
    path: Path,
    separator: str,
    decimal: str = ".",
    columns: Sequence[str] | None = None,
    as_text: bool = False,
    block_bytes: int = _BLOCK_BYTES,
) -> pyarrow.Table:
    """Read a delimited file, or raise ``ValueError`` that says in which line it is wrong.

    A column has one type throughout. A first line of nothing but numbers is a row, unless they count three columns or
    more from 0 or 1; columns without a header are named "0", "1" and so on.

    Parameters
    ----------
    path : Path
    separator, decimal : str
        What divides fields (unless a first line ``sep=;`` says it), and the mark within numbers.
    columns : sequence of str, optional
        The only columns to read.
    as_text : bool
        Whether all is text, in which only an empty field is missing: "01" is not "1", "NA" is a name.
    block_bytes : int
        How much text is parsed at once.
    """
    import pyarrow

    text = _read_header(path, separator)
    check_columns(columns, text.names)
    wanted = text.names if columns is None else list(columns)
    if not text.has_rows:
        _check_rows(text)
        return pyarrow.table({name: pyarrow.nulls(0) for name in wanted})
    block_bytes = max(block_bytes, min(_COLUMN_BYTES * len(text.names), _MOST_BYTES))
    options = {
        "include_columns": wanted,
        "null_values": [""] if as_text else MISSING_MARKS,
        "strings_can_be_null": True,
        "decimal_point": decimal,
    }
    string = pyarrow.string()
    tables = list(_parse(text, options, dict.fromkeys(wanted, string) if as_text else {}, block_bytes))
    if len({table.schema for table in tables}) > 1:
        kinds = [set(kinds) - {pyarrow.null()} for kinds in zip(*(table.schema.types for table in tables), strict=True)]
        schema = pyarrow.schema(zip(wanted, map(_common_type, kinds), strict=True))
        if any(kind == string and len(each) > 1 for kind, each in zip(schema.types, kinds, strict=True)):
            # As it was written: a block of numbers has made 1 of "01".
            tables.clear()
            tables = list(_parse(text, options, dict(zip(wanted, schema.types, strict=True)), block_bytes))
        tables = [table.cast(schema, safe=False) for table in tables]
    table = pyarrow.concat_tables(tables)
    if decimal == "." and not as_text:
        _check_no_commas(table)
    return table


def _common_type(kinds: set[Any]) -> Any:
    """Return the type of a column of which blocks have these."""
    import pyarrow

    if len(kinds) < 2:
        return next(iter(kinds), pyarrow.null())
    return pyarrow.float64() if kinds == {pyarrow.int64(), pyarrow.float64()} else pyarrow.string()


def _parse(
    text: _Text, options: Mapping[str, Any], types: Mapping[str, Any], block_bytes: int
) -> Iterator[pyarrow.Table]:
    """Parse a file block by block; a column has the type it had before where that fits."""
    import pyarrow
    from pyarrow import csv as arrow_csv

    known = dict(types)
    n_skipped = int(text.has_header)
    for block in _blocks(text, block_bytes):
        # One thread: with more, a file that is refused can leave one behind that aborts the program at its end.
        read = arrow_csv.ReadOptions(
            use_threads=False, block_size=len(block), column_names=text.names, skip_rows_after_names=n_skipped
        )
        parse = arrow_csv.ParseOptions(delimiter=text.separator, newlines_in_values=b'"' in block)
        for guess in (known, types):
            convert = arrow_csv.ConvertOptions(column_types=guess, **options)
            try:
                table = arrow_csv.read_csv(pyarrow.BufferReader(block), read, parse, convert)
                break
            except pyarrow.ArrowInvalid as error:
                if guess is types or "conversion error" not in str(error):
                    if "UTF8" not in str(error):
                        _check_rows(text)
                        raise
                    _raise_bad_bytes(text.path)
        if any(pyarrow.types.is_binary(kind) for kind in table.schema.types):
            _raise_bad_bytes(text.path)
        known |= {field.name: field.type for field in table.schema if field.type != pyarrow.null()}
        n_skipped = 0
        yield table


def _blocks(text: _Text, block_bytes: int) -> Iterator[bytes]:
    """Cut a file after whole rows; raise if a quote is not closed, which pyarrow would take for a long field."""
    mark = re.escape(text.separator.encode())
    field = rb'(?:"(?:[^"]++|"")*+"|[^"\r\n%b][^\r\n%b]*+|)' % (mark, mark)
    rows = re.compile(rb"(?:(?:%b%b)*+%b(?:\r\n?|\n))*+" % (field, mark, field))

    def end_of_rows(block: bytes) -> int:
        quotes = np.empty(0, np.intp)
        if b'"' in block:
            # Where quotes open after a mark and close before one, they come in pairs; the pattern, which knows of
            # quotes within other text, takes longer than reading the file.
            characters = np.frombuffer(b"\n%b\n" % block, np.uint8)
            quotes = np.flatnonzero(characters == ord('"'))
            beside = characters[np.concatenate([quotes[::2] - 1, quotes[1::2] + 1])]
            if not np.isin(beside, list(b'"\r\n' + text.separator.encode())).all():
                return len((rows.match(block) or [b""])[0])
        end = len(block)
        while end := max(block.rfind(b"\n", 0, end), block.rfind(b"\r", 0, end)) + 1:
            if np.searchsorted(quotes, end) % 2 == 0:
                break
            end -= 1
        return end

    rest = b""
    with text.path.open("rb") as file:
        file.seek(text.start)
        while data := file.read(block_bytes):
            block = rest + data
            end = end_of_rows(block)
            rest = block[end:]
            if len(rest) > block_bytes:
                if b'"' in rest:
                    _check_rows(text)
                raise ValueError(f"a line is longer than {counted(block_bytes >> 20, 'MiB')}")
            if end:
                yield block[:end]
    if rest:
        if end_of_rows(rest + b"\n") <= len(rest):
            _check_rows(text)
            raise ValueError("a quote is not closed, or not where a field ends")
        yield rest


def _read_header(path: Path, separator: str) -> _Text:
    """Find out what the first lines are; raise if columns share a name, or something else divides them."""
    with path.open("rb") as file:
        start = len(codecs.BOM_UTF8) if file.read(3) == codecs.BOM_UTF8 else 0
        file.seek(start)
        excel = _SEPARATOR_LINE.match(file.readline(64))
        if excel:
            separator = excel[1].decode("latin-1")
            start += excel.end()
        file.seek(start)
        rows = csv.reader(io.TextIOWrapper(file, "utf-8", newline=""), delimiter=separator)
        try:
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
    for mark, name in _SEPARATOR_NAMES.items():
        if mark != separator and separator not in header and mark in header and mark in line:
            commas = any("," in value and _COMMA_NUMBER.fullmatch(value) for value in line.split(mark))
            raise ValueError(
                f"its columns are divided by {name} and not by {_SEPARATOR_NAMES.get(separator, repr(separator))}; "
                f"give --separator {mark!r}" + " and --decimal ," * commas
            )
    # A row index that pandas saved has no name.
    given = names[1:] if not names[0] else names
    counts = [str(place) for place in range(len(names) + 1)]
    # Fewer than three may well be a first row.
    is_counted = len(names) > 2 and given in (counts[: len(given)], counts[1 : len(given) + 1])
    if any(names) and all(is_number(name) for name in names if name) and not is_counted:
        return _Text(path, start, separator, complete_names(counts[:-1]), has_header=False, has_rows=True)
    return _Text(path, start, separator, complete_names(names), has_header=True, has_rows=bool(first))


def complete_names(names: Sequence[str]) -> list[str]:
    """Give columns without a name their number as one; raise ``ValueError`` if several share a name."""
    if len(names) > _MOST_COLUMNS:
        raise ValueError(
            f"it has {len(names):,} columns, and at most {_MOST_COLUMNS:,} with names can be read; take fewer, or save "
            "numbers as .npy"
        )
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise ValueError(f"several columns have the name {listed(repeated)}")
    taken, result = set(names), []
    for number, name in enumerate(names, start=1):
        unique = name or f"column {number}"
        while not name and unique in taken:
            unique += "_"
        result.append(unique)
    return result


def check_columns(columns: Sequence[str] | None, names: Sequence[str]) -> None:
    """Raise if a column that is asked for is not there; what the message is about is put before it."""
    known = set(names)
    absent = [name for name in columns or () if name not in known]
    if absent:
        raise MissingColumnError(
            f"has no column {absent[0]!r}; its columns are {listed(names)}. Pass the name of one of them."
        )


def _check_no_commas(table: pyarrow.Table) -> None:
    """Raise if a column of text holds numbers with commas."""
    import pyarrow

    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        # Most text shows at once that it is something else.
        if not pyarrow.types.is_string(kind) or not _are_numbers(table[name][:100].to_pylist()):
            continue
        values = table[name].unique().to_pylist()
        example = next((value for value in values if value and "," in value), None)
        if example is not None and _are_numbers(values):
            raise ValueError(
                f"column {name!r} holds numbers with commas (such as {example!r}); give --decimal , if they are "
                "decimal commas, else remove them"
            )


def _are_numbers(values: Sequence[str | None]) -> bool:
    return all(value is None or _COMMA_NUMBER.fullmatch(value.strip()) for value in values)


def _check_rows(text: _Text) -> None:
    """Raise ``ValueError`` if a line has another number of fields than the first, or a quote that is not closed."""
    with text.path.open("rb") as file:
        before = file.read(text.start).count(b"\n")
        rows = csv.reader(io.TextIOWrapper(file, "utf-8", newline=""), delimiter=text.separator, strict=True)
        n_fields, line = len(text.names), before + 1
        try:
            for row in rows:
                if row and len(row) != n_fields:
                    raise ValueError(
                        f"line {before + 1} has {counted(n_fields, 'field')} but line {line} has {len(row)}"
                    )
                line = before + rows.line_num + 1
        except UnicodeDecodeError:
            _raise_bad_bytes(text.path)
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
