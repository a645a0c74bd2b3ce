"""Delimited text files, read with pyarrow, and the few checks that it lacks."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from fewratio.data.columns import counted, is_number, listed

if TYPE_CHECKING:
    import pyarrow

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# Text that is parsed at once, also the longest line. A block costs some time per column: wide files get larger ones.
_BLOCK_BYTES, _COLUMN_BYTES, _MOST_BYTES = 2**22, 2**12, 2**27
# A column takes about 0.1 ms, however few its rows are.
_MOST_COLUMNS = 50_000
_SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_SEPARATOR_LINE = re.compile(r'"?sep=([\t !#-~])"?\r?\n')
_NO_FIT = re.compile(r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error")
_COMMA_NUMBER = re.compile(r"[-+]?\d+(,\d+)?")


class _Text(NamedTuple):
    """A delimited file: how many lines come before its header, what divides fields, and what its first lines are."""

    path: Path
    n_skipped: int
    separator: str
    names: list[str]
    has_header: bool
    has_rows: bool


def read_csv(
    path: Path,
    separator: str,
    decimal: str = ".",
    as_text: Sequence[str] | None = None,
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
    as_text : sequence of str, optional
        The only columns to read, as text in which only an empty field is missing: "01" is not "1", "NA" is a name.
    block_bytes : int
        How much text is parsed at once.
    """
    import pyarrow
    from pyarrow import csv as arrow_csv

    text = _read_header(path, separator)
    wanted = as_text or text.names
    if not text.has_rows:
        _check_rows(text)
        return pyarrow.table({name: pyarrow.nulls(0) for name in wanted})
    block_bytes = max(block_bytes, min(_COLUMN_BYTES * len(text.names), _MOST_BYTES))
    with path.open("rb") as file:
        n_quotes = sum(block.count(b'"') for block in iter(lambda: file.read(block_bytes), b""))
    # One thread: with more, a file that is refused can leave one behind that aborts the program at its end.
    read = arrow_csv.ReadOptions(
        use_threads=False,
        block_size=block_bytes,
        skip_rows=text.n_skipped,
        column_names=text.names,
        skip_rows_after_names=int(text.has_header),
    )
    parse = arrow_csv.ParseOptions(delimiter=text.separator, newlines_in_values=n_quotes > 0)
    convert = arrow_csv.ConvertOptions(
        include_columns=wanted,
        null_values=[""] if as_text else None,
        strings_can_be_null=True,
        decimal_point=decimal,
        column_types=dict.fromkeys(wanted, pyarrow.string()) if as_text else None,
    )
    try:
        table = _read_typed(path, read, parse, convert)
    except pyarrow.ArrowInvalid as error:
        if "UTF8" in str(error):
            _raise_bad_bytes(path)
        if "straddling" in str(error):
            raise ValueError(f"a line is longer than {counted(block_bytes >> 20, 'MiB')}") from error
        _check_rows(text)
        raise
    if any(pyarrow.types.is_binary(kind) for kind in table.schema.types):
        _raise_bad_bytes(path)
    # A quote that is not closed makes of all lines up to the next quote, or to the end, one field.
    if n_quotes % 2 or (n_quotes and any(map(_has_lines, table.columns))):
        _check_rows(text)
    return table


def _read_typed(path: Path, read: Any, parse: Any, convert: Any) -> pyarrow.Table:
    """Read a file with the types of its first block, or with others where those turn out not to fit.

    pyarrow's own inference would hold the text of the whole file until its end.
    """
    import pyarrow
    from pyarrow import csv as arrow_csv

    with path.open("rb") as file:
        block = file.read(read.block_size)
    if len(block) == read.block_size:
        # Without the line that goes on after it.
        block = block[: max(block.rfind(b"\n"), block.rfind(b"\r")) + 1] or block
    lenient = arrow_csv.ParseOptions(delimiter=parse.delimiter, invalid_row_handler=lambda row: "skip")
    schema = arrow_csv.read_csv(pyarrow.BufferReader(block), read, lenient, convert).schema
    types = dict(zip(schema.names, schema.types, strict=True))
    while True:
        convert.column_types = types
        try:
            return arrow_csv.read_csv(path, read, parse, convert)
        except pyarrow.ArrowInvalid as error:
            found = _NO_FIT.match(str(error))
            if found is None or "UTF8" in str(error):
                raise
            name = read.column_names[int(found[1])]
            kind = types.pop(name)
            if kind == pyarrow.int64():
                # All at once: where one has decimals later, others do.
                types |= {each: pyarrow.float64() for each in (name, *types) if types.get(each, kind) == kind}
            elif kind != pyarrow.null():
                types[name] = pyarrow.string()


def _has_lines(column: pyarrow.ChunkedArray) -> bool:
    """Tell whether a value has several lines."""
    from pyarrow import compute, types

    return types.is_string(column.type) and compute.any(compute.match_substring_regex(column, "[\r\n]")).as_py()


def _read_header(path: Path, separator: str) -> _Text:
    """Find out what the first lines are; raise if columns share a name, or something else divides them."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            # Excel writes it so that it knows its own files.
            excel = _SEPARATOR_LINE.fullmatch(file.readline(64))
            separator = excel[1] if excel else separator
            if not excel:
                file.seek(0)
            rows = csv.reader(file, delimiter=separator)
            names = next(rows, [])
            first = next(filter(None, rows), [])
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
    has_header = is_counted or not any(names) or not all(is_number(name) for name in names if name)
    names = complete_names(names if has_header else counts[:-1])
    return _Text(path, int(excel is not None), separator, names, has_header, bool(first) or not has_header)


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


def _check_rows(text: _Text) -> None:
    """Raise ``ValueError`` if a line has another number of fields than the first, or a quote that is not closed."""
    with text.path.open(encoding="utf-8-sig", newline="") as file:
        for _ in range(text.n_skipped):
            file.readline()
        rows = csv.reader(file, delimiter=text.separator, strict=True)
        n_fields, line = len(text.names), text.n_skipped + 1
        try:
            for row in rows:
                if row and len(row) != n_fields:
                    raise ValueError(
                        f"line {text.n_skipped + 1} has {counted(n_fields, 'field')} but line {line} has {len(row)}"
                    )
                line = text.n_skipped + rows.line_num + 1
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
