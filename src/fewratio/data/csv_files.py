"""Delimited text files: what is checked before a library reads one, and where a file that it refuses is wrong."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fewratio.data.columns import counted, is_number, listed

if TYPE_CHECKING:
    from fewratio.data.frames import Frame

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# No table has lines of this many bytes (a hundred thousand columns of full precision take two million), and a file
# without line ends must not be swallowed as one.
LONGEST_LINE = 2**22
SAMPLE_BYTES = 2**16
_SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_EXCEL_LINE = re.compile(r"sep=.")
# Said to every library, for each has a list of its own. This one is pyarrow's: "None" may well be a category.
MISSING_MARKS = [
    *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "NULL", "null"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
]
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_PAIRS = re.compile(rf"{_DECIMAL_COMMA.pattern}(?:,{_DECIMAL_COMMA.pattern})*")


def read_csv(path: Path, backend: Any, labels: Sequence[str] = ()) -> Frame:
    """Read a delimited file with a header line, or raise ``ValueError`` that says in which line it is wrong.

    The columns `labels`, if they are there, are read as text, in which only an empty field is missing: "01" is not
    "1", and "NA" is a name.
    """
    separator = SEPARATORS[path.suffix.lower()]
    has_quotes = _scan_bytes(path)
    _check_header(path, separator)
    # polars and pandas fill a short line with missing values; pyarrow takes the rest of a file for an unclosed field.
    blank = _check_rows(path, separator) if has_quotes or backend != "pyarrow" else []
    frame = _parse(path, backend, separator, has_quotes)
    found = [label for label in labels if label in frame.columns]
    if found:
        names = _parse(path, backend, separator, has_quotes, found)
        frame = frame.with_columns(*(names.get_column(label) for label in found))
    if backend == "polars" and blank:
        # It takes a blank line for a row of missing values; the others pass over it.
        is_row = np.ones(len(frame), dtype=np.bool_)
        is_row[blank] = False
        frame = frame.filter(is_row.tolist())
    return frame


def _parse(path: Path, backend: Any, separator: str, has_quotes: bool, labels: Sequence[str] | None = None) -> Frame:
    """Read all columns, each as what it seems to hold, or only some, as text."""
    import narwhals.stable.v2 as nw

    reader = {"pyarrow": _arrow_options, "pandas": _pandas_options, "polars": _polars_options}[backend]
    try:
        return nw.read_csv(str(path), backend=backend, separator=separator, **reader(separator, has_quotes, labels))
    except ValueError:
        _check_rows(path, separator)
        raise


def decimal_commas(path: Path) -> bool:
    """Tell whether the numbers near the head of a file seem to be written with decimal commas."""
    with path.open("rb") as file:
        sample = file.read(SAMPLE_BYTES)
    header, *lines = sample.decode("utf-8", errors="replace").splitlines() or [""]
    if len(sample) == SAMPLE_BYTES:
        # The last line may be cut.
        del lines[-1:]
    divider = next((mark for mark in ";\t" if mark in header), None)
    if divider is not None:
        return any(_DECIMAL_COMMA.fullmatch(field.strip(' "')) for line in lines for field in line.split(divider))
    # Where the comma divides, each number makes two fields.
    n_fields = header.count(",") + 1
    lines = [line for line in lines if line]
    return bool(lines) and all(_PAIRS.fullmatch(line) and line.count(",") + 1 == 2 * n_fields for line in lines)


def first_decimal_comma(values: list[Any]) -> str | None:
    """Return the first number with a decimal comma, if texts are nothing but numbers; those that are not missing."""
    texts = [value.strip() for value in values if isinstance(value, str) and value]
    commas = [text for text in texts if _DECIMAL_COMMA.fullmatch(text)]
    all_numbers = all(_DECIMAL_COMMA.fullmatch(text) or is_number(text) for text in texts)
    return commas[0] if commas and all_numbers else None


def _arrow_options(separator: str, has_quotes: bool, labels: Sequence[str] | None) -> dict[str, Any]:
    arrow, arrow_csv = import_module("pyarrow"), import_module("pyarrow.csv")
    columns = {"include_columns": labels, "column_types": dict.fromkeys(labels, arrow.string())} if labels else {}
    marks = [""] if labels else MISSING_MARKS
    return {
        # One thread: with more, a file that is refused can leave one behind that aborts the program at its end.
        "read_options": arrow_csv.ReadOptions(block_size=2 * LONGEST_LINE, use_threads=False),
        "parse_options": arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=has_quotes),
        "convert_options": arrow_csv.ConvertOptions(null_values=marks, strings_can_be_null=True, **columns),
    }


def _pandas_options(separator: str, has_quotes: bool, labels: Sequence[str] | None) -> dict[str, Any]:
    if labels:
        return {"usecols": labels, "dtype": str, "na_values": [""], "keep_default_na": False}
    options: dict[str, Any] = {"low_memory": False, "na_values": MISSING_MARKS, "keep_default_na": False}
    if int(import_module("pandas").__version__.partition(".")[0]) < 3:
        # Before the third version the parser of numbers may be off in the last digit.
        options["float_precision"] = "round_trip"
    return options


def _polars_options(separator: str, has_quotes: bool, labels: Sequence[str] | None) -> dict[str, Any]:
    if labels:
        return {"columns": labels, "infer_schema": False, "null_values": [""], "glob": False}
    # It guesses the column types from the first rows unless told to look at all of them.
    return {"infer_schema_length": None, "null_values": MISSING_MARKS, "glob": False}


def _scan_bytes(path: Path) -> bool:
    """Raise if the file is not UTF-8 text or has an endless line; tell whether it has quotes."""
    has_quotes = False
    # pyarrow would take a column with other bytes for binary data.
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        for number, block in enumerate(iter(lambda: file.read(LONGEST_LINE), b"")):
            if b"\0" in block:
                line = _line_number(path, number * LONGEST_LINE + block.index(0))
                raise ValueError(f"line {line} holds binary data")
            if len(block) == LONGEST_LINE and b"\n" not in block and b"\r" not in block:
                line = _line_number(path, number * LONGEST_LINE)
                raise ValueError(f"line {line} is longer than {LONGEST_LINE >> 20} MiB")
            _check_utf8(decoder, block, path, number * LONGEST_LINE)
            has_quotes = has_quotes or b'"' in block
        _check_utf8(decoder, b"", path, file.tell(), final=True)
    return has_quotes


def _check_utf8(
    decoder: codecs.IncrementalDecoder, block: bytes, path: Path, position: int, final: bool = False
) -> None:
    """Raise if the bytes from a position on do not continue UTF-8 text."""
    n_kept = len(decoder.getstate()[0])
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError as error:
        line = _line_number(path, position - n_kept + error.start)
        raise ValueError(f"line {line} holds the byte 0x{error.object[error.start]:02x}, which is not UTF-8") from error


def _line_number(path: Path, position: int) -> int:
    """Return the number of the line, from 1, in which a byte lies."""
    line = 1
    with path.open("rb") as file:
        for start in range(0, position, LONGEST_LINE):
            line += file.read(min(LONGEST_LINE, position - start)).count(b"\n")
    return line


def head(path: Path, separator: str) -> tuple[list[str], list[str]]:
    """Return the fields of the first two lines."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=separator)
        return next(rows, []), next(rows, [])


def _check_header(path: Path, separator: str) -> None:
    """Raise where a library would repair a header without a word.

    polars and pandas rename the second of two equal columns, and where the lines have one field more than the header
    pandas takes the first field for row labels.
    """
    names, first = head(path, separator)
    if not names:
        raise ValueError("its first line is empty")
    _check_separator(separator.join(names), separator.join(first), separator)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"several columns have the name {listed(repeated)}")
    if "" in names:
        raise ValueError(
            f"column {names.index('') + 1} has no name, as a row index saved by pandas has; write it with index=False"
        )
    if not is_header(names):
        raise ValueError("its first line holds numbers, where the names of the columns should be")
    if len(first) > len(names):
        raise ValueError(f"line 1 has {counted(len(names), 'field')} but line 2 has {len(first)}")


def _check_separator(header: str, first: str, separator: str) -> None:
    """Raise if other marks than the file's ending promises seem to divide its columns."""
    if _EXCEL_LINE.fullmatch(header):
        raise ValueError(f"its first line is {header!r}, which only Excel understands; remove that line")
    for mark in _SEPARATOR_NAMES:
        if mark != separator and separator not in header and mark in header and mark in first:
            raise ValueError(
                f"its columns are divided by {_SEPARATOR_NAMES[mark]} and not by {_SEPARATOR_NAMES[separator]}"
            )


def is_header(names: list[str]) -> bool:
    """Tell whether these may be names: all different, and not numbers, unless they count the columns from 0 or 1."""
    if not names or "" in names or len(set(names)) < len(names):
        return False
    counts = ([str(first + place) for place in range(len(names))] for first in (0, 1))
    return not all(map(is_number, names)) or names in counts


def _check_rows(path: Path, separator: str) -> list[int]:
    """Raise if a line has another number of fields than the header; return which rows are blank, counted from 0."""
    blank = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        # Strict: otherwise a quote that is left open has no end but the file's.
        rows = csv.reader(file, delimiter=separator, strict=True)
        n_fields, line = 0, 1
        try:
            for number, row in enumerate(rows, start=-1):
                if number < 0:
                    n_fields = len(row)
                elif not row:
                    blank.append(number)
                elif len(row) != n_fields:
                    raise ValueError(f"line 1 has {counted(n_fields, 'field')} but line {line} has {len(row)}")
                line = rows.line_num + 1
        except csv.Error as error:
            raise ValueError(
                f"line {line} has a quote that is not closed, or not where a field ends ({error})"
            ) from error
    return blank
