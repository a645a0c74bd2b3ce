"""Delimited text files: what is checked before a library reads one, and where a file that it refuses is wrong."""

from __future__ import annotations

import csv
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewratio.data.columns import counted, listed

if TYPE_CHECKING:
    from fewratio.data.frames import Frame

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# No table has lines of this many bytes (a hundred thousand columns of full precision take two million), and a file
# without line ends must not be swallowed as one.
_LONGEST_LINE = 2**22
_SAMPLE_BYTES = 2**16
# pyarrow knows these by itself; polars would read them as text.
_MISSING_MARKS = ["", "NA", "N/A", "n/a", "nan", "NaN", "null", "NULL"]
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")


def read_csv(path: Path, backend: Any) -> Frame:
    """Read a delimited file with a header line, or raise ``ValueError`` that says in which line it is wrong."""
    import narwhals.stable.v2 as nw

    separator = SEPARATORS[path.suffix.lower()]
    has_quotes = _scan_bytes(path)
    _check_header(path, separator)
    # Every library guesses the column types from the first rows unless told to look at all of them.
    options: dict[str, Any] = {"infer_schema_length": None, "null_values": _MISSING_MARKS}
    if backend == "pyarrow":
        options = _arrow_options(separator, has_quotes)
    elif backend == "pandas":
        options = {"low_memory": False}
        if int(import_module("pandas").__version__.partition(".")[0]) < 3:
            # Before the third version the parser of numbers may be off in the last digit.
            options["float_precision"] = "round_trip"
    if backend != "pyarrow":
        # Both fill a short line with missing values.
        _check_rows(path, separator)
    try:
        return nw.read_csv(str(path), backend=backend, separator=separator, **options)
    except ValueError:
        _check_rows(path, separator)
        raise


def read_numbers(path: Path) -> Frame | None:
    """Read a file of nothing but numbers the fast way; None if it is anything else and must be read with care.

    polars, told that all columns are numbers, is the fastest reader; but it fills short lines and blank ones with
    missing values, so that whatever is missing is left to the careful way.
    """
    import polars
    from polars.exceptions import PolarsError

    separator = SEPARATORS[path.suffix.lower()]
    _scan_bytes(path)
    _check_header(path, separator)
    names, first = _head(path, separator)
    if len(first) != len(names) or not all(map(_is_number, first)):
        return None
    try:
        frame = polars.read_csv(path, separator=separator, schema=dict.fromkeys(names, polars.Float64))
    except (PolarsError, OSError):
        return None
    if frame.columns != names or any(column.null_count() or column.is_nan().any() for column in frame):
        return None
    import narwhals.stable.v2 as nw

    return nw.from_native(frame, eager_only=True)


def decimal_commas(path: Path) -> bool:
    """Tell whether the numbers near the head of a file seem to be written with decimal commas."""
    with path.open("rb") as file:
        head = file.read(_SAMPLE_BYTES).decode("utf-8", errors="replace")
    fields = [field.strip().strip('"') for line in head.splitlines()[1:] for field in re.split(r'[;\t]|(?<="),', line)]
    return any(_DECIMAL_COMMA.fullmatch(field) for field in fields)


def are_decimal_commas(values: list[Any]) -> bool:
    """Tell whether texts are numbers with decimal commas, all that are not missing."""
    texts = [str(value).strip() for value in values if isinstance(value, str) and value]
    commas = [_DECIMAL_COMMA.fullmatch(text) is not None for text in texts]
    return any(commas) and all(comma or _is_number(text) for comma, text in zip(commas, texts, strict=True))


def _arrow_options(separator: str, has_quotes: bool) -> dict[str, Any]:
    arrow = import_module("pyarrow.csv")
    return {
        # One thread: with more, a file that is refused can leave one behind that aborts the program at its end.
        "read_options": arrow.ReadOptions(block_size=2 * _LONGEST_LINE, use_threads=False),
        "parse_options": arrow.ParseOptions(delimiter=separator, newlines_in_values=has_quotes),
        "convert_options": arrow.ConvertOptions(strings_can_be_null=True),
    }


def _scan_bytes(path: Path) -> bool:
    """Raise if the file is no text at all or has an endless line; tell whether it has quotes."""
    n_lines, has_quotes = 1, False
    with path.open("rb") as file:
        for block in iter(lambda: file.read(_LONGEST_LINE), b""):
            if b"\0" in block:
                n_lines += block.count(b"\n", 0, block.index(0))
                raise ValueError(f"line {n_lines} holds binary data")
            if len(block) == _LONGEST_LINE and b"\n" not in block and b"\r" not in block:
                raise ValueError(f"line {n_lines} is longer than {_LONGEST_LINE >> 20} MiB")
            n_lines += block.count(b"\n")
            has_quotes = has_quotes or b'"' in block
    return has_quotes


def _head(path: Path, separator: str) -> tuple[list[str], list[str]]:
    """Return the fields of the first two lines."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=separator)
        return next(rows, []), next(rows, [])


def _check_header(path: Path, separator: str) -> None:
    """Raise where a library would repair a header without a word.

    polars and pandas rename the second of two equal columns, and where the lines have one field more than the header
    pandas takes the first field for row labels.
    """
    names, first = _head(path, separator)
    if not names:
        raise ValueError("it is empty" if path.stat().st_size == 0 else "its first line is empty")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"several columns have the name {listed(repeated)}")
    if all(map(_is_number, names)) and not all(name.isdecimal() for name in names):
        raise ValueError("its first line holds numbers, where the names of the columns should be")
    if len(first) > len(names):
        raise ValueError(f"line 1 has {counted(len(names), 'field')} but line 2 has {len(first)}")


def _check_rows(path: Path, separator: str) -> None:
    """Raise if a line has another number of fields than the header."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=separator)
        n_fields, line = len(next(rows)), 2
        for row in rows:
            if row and len(row) != n_fields:
                raise ValueError(f"line 1 has {counted(n_fields, 'field')} but line {line} has {len(row)}")
            line = rows.line_num + 1


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
