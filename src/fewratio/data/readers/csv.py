"""Delimited text files, read with pyarrow, and the few checks that it lacks."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TextIO

from fewratio.core.wording import name_columns, quote_list, write_count
from fewratio.data import arrow as pa
from fewratio.data.column_kinds import is_number
from fewratio.data.written_forms import has_decimal_comma
from fewratio.errors import name_parameter

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# Text that is parsed at once, also the longest line. A block costs some time per column: wide files get larger ones.
_BLOCK_BYTES, _COLUMN_BYTES, _MOST_BYTES = 2**22, 2**12, 2**27
# A column takes about 0.1 ms, however few its rows are.
_MOST_COLUMNS = 50_000
# Rows that say whether the line above them names the columns.
_MOST_FIRST_ROWS = 1000
_SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "blanks"}
_SEPARATOR_LINE = re.compile(r'"?sep=([\t !#-~])"?\r?\n')
_NO_FIT = re.compile(r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error")
# Python reads bytes that are not UTF-8 as these.
_NOT_TEXT = re.compile("[\0\udc80-\udcff]")


def read_csv(
    path: Path,
    separator: str,
    decimal: str = ".",
    as_text: Sequence[str] = (),
    block_bytes: int = _BLOCK_BYTES,
    header: bool = True,
    padded: Sequence[str] = (),
) -> pa.Table:
    """Read a delimited file whole; `as_text` names columns in which only an empty field is missing ("01" is not "1").

    The other parameters are those of `open_csv`.
    """
    table, _, _ = open_csv(path, separator, decimal, block_bytes, True, header, padded)
    kinds = {name: pa.string() for name in as_text if name in table.column_names}
    if kinds and len(table):
        read, parse, _ = _read_header(path, separator, block_bytes, header)
        parse.newlines_in_values = True
        options = {"include_columns": list(kinds), "column_types": kinds, "null_values": [""]}
        written = pa.csv.read_csv(path, read, parse, pa.csv.ConvertOptions(strings_can_be_null=True, **options))
        for name in kinds:
            table = table.set_column(table.column_names.index(name), name, written[name])
    return table


def open_csv(
    path: Path,
    separator: str,
    decimal: str = ".",
    block_bytes: int = _BLOCK_BYTES,
    keep: bool = False,
    header: bool = True,
    padded: Sequence[str] = (),
) -> tuple[pa.Table, int, Callable[[], Iterable[pa.RecordBatch]]]:
    """Check a delimited file to its end, or raise ``ValueError`` that says in which line it is wrong.

    A column has one type throughout. Columns without a header are named "0", "1" and so on.

    Parameters
    ----------
    path : Path
    separator, decimal : str
        Column separator (unless a first line ``sep=;`` gives it), and decimal mark.
    block_bytes : int
        How much text is parsed at once.
    keep : bool
        Whether to keep the rows.
    header : bool
        Whether the first line names the columns.
    padded : sequence of str
        Columns of digits that are text, such as those that `find_padded` finds.

    Returns
    -------
    (pyarrow Table, int, callable)
        The rows if they are kept, their number, and what reads them again, a block of text at a time.
    """
    read, parse, has_rows = _read_header(path, separator, block_bytes, header)
    if not has_rows:
        _check_lines(path, read, parse)
        return pa.table({name: pa.nulls(0) for name in read.column_names}), 0, lambda: ()
    with path.open("rb") as file:
        n_quotes = sum(block.count(b'"') for block in iter(lambda: file.read(read.block_size), b""))
    parse.newlines_in_values = n_quotes > 0
    # A quote that is not closed makes of all lines up to the next quote, or to the end, one field.
    if n_quotes % 2:
        _check_lines(path, read, parse)
    convert = pa.csv.ConvertOptions(strings_can_be_null=True, decimal_point=decimal)
    convert.column_types = {name: pa.string() for name in padded if name in read.column_names}
    try:
        table, n_rows, has_lines = _read_typed(path, read, parse, convert, keep)
    except pa.ArrowInvalid as error:
        if "straddling" in str(error):
            raise ValueError(f"a line is longer than {read.block_size >> 20} MiB") from error
        _check_lines(path, read, parse)
        raise
    if has_lines:
        _check_lines(path, read, parse)
    return table, n_rows, lambda: pa.csv.open_csv(path, read, parse, convert)


def find_padded(path: Path, separator: str, header: bool) -> list[int]:
    """Find the places of columns of digits alone of which some begin with zeros (00123), such as postal codes.

    A file that cannot be read has none; what reads it says why.
    """
    read, parse, has_rows = _read_header(path, separator, _BLOCK_BYTES, header)
    if not has_rows:
        return []
    parse.newlines_in_values = True
    kinds = dict.fromkeys(read.column_names, pa.string())
    convert = pa.csv.ConvertOptions(strings_can_be_null=True, column_types=kinds)
    digits, found = list(read.column_names), set()
    try:
        for batch in pa.csv.open_csv(path, read, parse, convert):
            # One value after the other decides: columns that hold anything else are not looked at again.
            digits = [name for name in digits if _all_match(batch[name], "^[0-9]+$")]
            found |= {name for name in digits if not _all_match(batch[name], "^(0|[1-9][0-9]*)$")}
    except pa.ArrowInvalid:
        return []
    return [place for place, name in enumerate(read.column_names) if name in digits and name in found]


def _all_match(column: pa.Array, pattern: str) -> bool:
    return pa.compute.all(pa.compute.match_substring_regex(column, pattern)).as_py() is not False


def _read_typed(
    path: Path, read: pa.csv.ReadOptions, parse: pa.csv.ParseOptions, convert: pa.csv.ConvertOptions, keep: bool
) -> tuple[pa.Table, int, bool]:
    """Read a file with the types of its first block, or with others where those turn out not to fit.

    pyarrow's own inference would hold the text of the whole file until its end.

    Returns
    -------
    (pyarrow Table, int, bool)
        The rows if they are kept, their number, and whether a value has several lines. `convert` has the types.
    """
    with path.open("rb") as file:
        # What is not UTF-8 is found when all is read.
        block = file.read(read.block_size).decode(errors="replace").encode()
        if file.read(1):
            # Without the line that goes on after it.
            block = block[: max(block.rfind(b"\n"), block.rfind(b"\r")) + 1] or block
    lenient = pa.csv.ParseOptions(delimiter=parse.delimiter, invalid_row_handler=lambda row: "skip")
    # Those that are given, of columns of digits that are text, stay.
    schema = pa.csv.read_csv(pa.BufferReader(block), read, lenient, convert).schema
    types = dict(zip(schema.names, schema.types, strict=True))
    # The types that pyarrow would try, in its order, where the first block has nothing but gaps.
    times = (pa.timestamp(unit, zone) for unit in ("s", "ns") for zone in (None, "UTC"))
    inferred = [pa.int64(), pa.bool_(), pa.date32(), pa.time32("s"), *times, pa.float64(), pa.string()]
    empty = {name: iter(inferred) for name, kind in types.items() if kind == pa.null()}
    while True:
        convert.column_types = types
        kept, n_rows, has_lines = [], 0, False
        try:
            for batch in pa.csv.open_csv(path, read, parse, convert):
                n_rows += len(batch)
                has_lines = has_lines or (parse.newlines_in_values and any(map(_has_lines, batch.columns)))
                if keep:
                    kept.append(batch)
            schema = pa.schema([(name, types[name]) for name in read.column_names])
            return pa.Table.from_batches(kept, schema), n_rows, has_lines
        except pa.ArrowInvalid as error:
            found = _NO_FIT.match(str(error))
            if found is None or "UTF8" in str(error):
                raise
            name = read.column_names[int(found[1])]
            if name in empty:
                types[name] = next(empty[name])
            elif types[name] == pa.int64():
                # All at once: where one has decimals later, others do.
                types |= {each: pa.float64() for each in types.keys() - empty if types[each] == pa.int64()}
            else:
                types[name] = pa.string()


def _has_lines(column: pa.Array) -> bool:
    has_text = pa.types.is_string(column.type)
    return has_text and pa.compute.any(pa.compute.match_substring_regex(column, "[\r\n]")).as_py() is True


class OtherEncoding(ValueError):
    """The text is neither UTF-8 nor Windows-1252, or is damaged."""


class RepeatedNames(ValueError):
    """Several columns have one name."""


class OtherSeparator(ValueError):
    """Columns are divided by another mark than was said; nothing is wrong with the file."""

    def __init__(self, message: str, separator: str, decimal: str) -> None:
        super().__init__(message)
        self.separator, self.decimal = separator, decimal


class FirstLines(NamedTuple):
    """The first lines of a file: the separator, whether a separate line names it, the fields and the rows."""

    separator: str
    skip_rows: int
    names: list[str]
    rows: list[list[str]]


def read_first_lines(path: Path, separator: str) -> FirstLines:
    """Read the first lines of a file; raise if its columns are divided by another mark."""
    with _open(path) as file:
        lines = _check_text(file)
        line = next(lines, "")
        # Excel writes it so that it knows its own files.
        excel = _SEPARATOR_LINE.fullmatch(line)
        separator = excel[1] if excel else separator
        rows = csv.reader(lines if excel else chain([line], lines), delimiter=separator)
        try:
            names = next(rows, [])
            first = next(filter(None, rows), [])
        except csv.Error as error:
            raise ValueError(f"its first lines cannot be read ({error})") from error
        if not names:
            raise ValueError("its first line is empty" if line else "it is empty")
        found = [first] if first else []
        # What is wrong further below is found when it is read.
        with suppress(csv.Error, ValueError):
            n_rows = min(_MOST_FIRST_ROWS, _MOST_COLUMNS // len(names))
            found += islice(filter(None, rows), max(n_rows, 1) - 1) if first else []
    header, row = separator.join(names), separator.join(first)
    # Blanks may be within names and texts: they divide columns if every line has as many, and a number is between them.
    words = [separator.join(each).split(" ") for each in (names, *found)]
    by_blanks = len({*map(len, words)}) == 1 and first and any(map(is_number, words[1]))
    for mark, name in _SEPARATOR_NAMES.items():
        is_mark = mark != " " or by_blanks
        if mark != separator and separator not in header and mark in header and mark in row and is_mark:
            divided = f"divided by {name} and not by {_SEPARATOR_NAMES.get(separator, repr(separator))}"
            has_commas = any(map(has_decimal_comma, mark.join(separator.join(each) for each in found).split(mark)))
            advice = f"give {name_parameter('separator', mark)}"
            advice += f" and {name_parameter('decimal', ',')}" if has_commas else ""
            raise OtherSeparator(f"its columns are {divided}; {advice}", mark, "," if has_commas else ".")
    return FirstLines(separator, int(excel is not None), names, found)


def _read_header(
    path: Path, separator: str, block_bytes: int, header: bool
) -> tuple[pa.csv.ReadOptions, pa.csv.ParseOptions, bool]:
    """Return how to read a file, and whether there are rows."""
    separator, skip_rows, names, rows = read_first_lines(path, separator)
    columns = complete_names(names if header else [str(place) for place in range(len(names))])
    # One thread: with more, a file that is refused can leave one behind that aborts the program at its end.
    read = pa.csv.ReadOptions(
        use_threads=False,
        skip_rows=skip_rows,
        column_names=columns,
        block_size=max(block_bytes, min(_COLUMN_BYTES * len(columns), _MOST_BYTES)),
        skip_rows_after_names=int(header),
    )
    return read, pa.csv.ParseOptions(delimiter=separator), bool(rows) or not header


def complete_names(names: Sequence[str]) -> list[str]:
    """Name columns without a name, as pandas does; raise ``ValueError`` if several share a name."""
    if len(names) > _MOST_COLUMNS:
        raise ValueError(f"it has {len(names):,} columns, more than the {_MOST_COLUMNS:,} that can be read; take fewer")
    result = list(name_columns(names))
    repeated = [name for name, count in Counter(result).items() if count > 1]
    if repeated:
        raise RepeatedNames(f"several columns have the name {quote_list(repeated)}")
    return result


def _check_lines(path: Path, read: pa.csv.ReadOptions, parse: pa.csv.ParseOptions) -> None:
    """Raise ``ValueError`` if a line is no text, has more or fewer fields than the first, or a quote left open."""
    first, n_fields = read.skip_rows + 1, len(read.column_names)
    line = first
    with _open(path) as file:
        rows = csv.reader(islice(_check_text(file), read.skip_rows, None), delimiter=parse.delimiter, strict=True)
        try:
            for row in rows:
                if row and len(row) != n_fields:
                    raise ValueError(
                        f"line {first} has {write_count(n_fields, 'field')} but line {line} has {len(row)}"
                    )
                line = first + rows.line_num
        except csv.Error as error:
            problem = "has a quote that is not closed, or not where a field ends"
            raise ValueError(f"line {line} {problem} ({error})") from error


def _open(path: Path) -> TextIO:
    return path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def _check_text(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a file; raise ``ValueError`` that names the first that is not UTF-8 text."""
    for number, line in enumerate(lines, start=1):
        if found := _NOT_TEXT.search(line):
            byte = ord(found[0]) & 0xFF
            if not byte:
                raise ValueError(f"line {number} holds binary data")
            letter = bytes([byte]).decode("cp1252", "replace")
            hint = f"; it would be {letter!r} in Windows-1252" if letter.isprintable() and letter != "\ufffd" else ""
            raise OtherEncoding(f"line {number} holds the byte 0x{byte:02x}, which is not UTF-8{hint}")
        yield line
