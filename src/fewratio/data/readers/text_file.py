"""What a text file is before it is parsed: its encoding, whether its first line names the columns, padded numbers."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from fewratio.data import arrow as pa
from fewratio.data.column_kinds import is_number, read_days

WINDOWS, UTF_16 = "cp1252", "utf-16"
_BLOCK_BYTES = 2**20
_LETTERS = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]")
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
# All digits but 0 as 1, and all that may be before a field as a comma: many times as fast as a regular expression.
_COARSE = bytes.maketrans(b'123456789;\t|"\r\n ', b"111111111,,,,,,,")
_DIGITS = re.compile(r"\d+")
_YEARS = range(1800, 2101)
# A row is outside the range of this many others with a chance of at most 0.05.
_MANY_ROWS = 39


class TextFile(NamedTuple):
    """What a pass over the bytes of a file shows.

    Attributes
    ----------
    encoding : str or None
        `WINDOWS` or `UTF_16`; None if the text is UTF-8, or is damaged.
    may_be_padded : bool
        Whether a field may begin with a zero before another digit.
    repeats_first : bool
        Whether another line is the same as the first, as where files were written one after the other.
    """

    encoding: str | None
    may_be_padded: bool
    repeats_first: bool = False


def inspect_text(path: Path) -> TextFile:
    """Find the encoding of a file, and whether numbers in it may be padded with zeros.

    Text that is not UTF-8 and has no letter that UTF-8 writes in several bytes is Windows-1252, of which Latin-1 is a
    part. If it has such letters, or ends within one, it is damaged UTF-8.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    has_letters, may_be_padded, others, tail = False, False, set[str](), b","
    first, before, repeats_first = b"", b"", False
    with path.open("rb") as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return TextFile(UTF_16, True)
        file.seek(0)
        while block := file.read(_BLOCK_BYTES):
            first = first or b"\n" + block.splitlines(keepends=True)[0].removeprefix(codecs.BOM_UTF8)
            repeats_first = repeats_first or first in before + block
            before = (before + block)[1 - len(first) :]
            if not may_be_padded:
                coarse = (tail + block).translate(_COARSE)
                may_be_padded, tail = b",00" in coarse or b",01" in coarse, block[-2:]
            text = decoder.decode(block)
            if not text.isascii():
                # A mark of the order of bytes is no letter.
                has_letters = has_letters or _LETTERS.search(text.replace("\ufeff", "")) is not None
                others |= set(_NOT_UTF8.findall(text))
            if 0 in block:
                return TextFile(None, False)
    is_windows = bool(others) and not has_letters and not decoder.decode(b"", final=True)
    if is_windows:
        written = bytes(ord(each) & 0xFF for each in others).decode(WINDOWS, "replace")
        is_windows = "\ufffd" not in written
    return TextFile(WINDOWS if is_windows else None, may_be_padded, repeats_first)


@contextmanager
def as_utf8(path: Path, encoding: str | None, without_repeats: bool = False) -> Iterator[Path]:
    """Yield a path at which a text is UTF-8, if need be without lines that repeat the first: its own, or a copy's."""
    if encoding is None and not without_repeats:
        yield path
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "utf8"
        # Bytes that are no text are refused by what reads the copy.
        errors = "surrogateescape" if encoding is None else "strict"
        with (
            path.open(encoding=encoding or "utf-8", errors=errors, newline="") as source,
            copy.open("w", encoding="utf-8", errors=errors, newline="") as target,
        ):
            first = source.readline()
            target.write(first)
            target.writelines(line for line in source if not without_repeats or line != first.lstrip("\ufeff"))
        yield copy


class Header(NamedTuple):
    """How the first line of a file is read.

    Attributes
    ----------
    is_header : bool
        Whether it names the columns; else it is a row.
    is_open : bool
        Whether it could well be the other.
    """

    is_header: bool
    is_open: bool = False


def guess_header(names: Sequence[str], rows: Sequence[Sequence[str]], decimal: str = ".") -> Header:
    """Say whether the first line of a file names the columns, from the first rows below it.

    A text above numbers is a name, also where the whole line stands among them again. Any other text that occurs again
    below itself is a value. Numbers are names if they count the columns, or are all different and are years above other
    numbers, or in equal steps and unlike what is below.

    Parameters
    ----------
    names : sequence of str
        The fields of the first line.
    rows : sequence of sequence of str
        Those of some lines below it.
    decimal : str
        The decimal mark.
    """
    missing = set(pa.csv.ConvertOptions().null_values)
    repeats = list(names) in list(map(list, rows))
    below = [
        [row[place].replace(decimal, ".", 1) for row in rows if place < len(row) and row[place] not in missing]
        for place in range(len(names))
    ]
    filled = [place for place, name in enumerate(names) if name not in missing]
    names = [name.replace(decimal, ".", 1) for name in names]
    numbers = [place for place in filled if is_number(names[place])]
    texts = sorted({*filled} - {*numbers})
    others = [[text for text in below[place] if not repeats or text != names[place]] for place in texts]
    if any(_is_above(names[place], values) for place, values in zip(texts, others, strict=True)):
        return Header(True)
    recurring = [place for place in filled if names[place] in below[place]]
    if not numbers:
        is_row = bool(texts) and recurring == texts
        return Header(not is_row, is_row)
    if _count_columns(names):
        return Header(True)
    if texts and recurring:
        return Header(False, True)
    written = [names[place] for place in numbers]
    if len(set(written)) < len(written) or not all(map(_DIGITS.fullmatch, written)):
        # What no name looks like.
        return Header(False, bool(texts))
    labels, held = list(map(int, written)), [list(map(float, filter(is_number, below[place]))) for place in numbers]
    values = [value for column in held for value in column]
    are_years = all(label in _YEARS for label in labels) and not all(value in _YEARS for value in values)
    outside = all(each and not min(each) <= label <= max(each) for label, each in zip(labels, held, strict=True))
    unlike = len(below[numbers[0]]) >= _MANY_ROWS or any(value % 1 for value in values)
    in_steps = len(labels) > 2 and len({second - first for first, second in pairwise(labels)}) == 1
    if texts or are_years or (in_steps and outside and unlike):
        return Header(True, True)
    return Header(False, outside and len(rows) >= _MANY_ROWS)


def occurs_below(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether every field of a line occurs again below itself."""
    columns = [{row[place] for row in rows if place < len(row)} for place in range(len(names))]
    return all(name in column for name, column in zip(names, columns, strict=True))


def _is_above(name: str, values: Collection[str]) -> bool:
    """Return whether a text is above numbers or dates alone."""
    of_numbers = all(map(is_number, values))
    of_dates = all(read_days(value) is not None for value in values)
    return bool(values) and (of_numbers or (of_dates and read_days(name) is None))


def _count_columns(names: Sequence[str]) -> bool:
    """Return whether names count three columns or more from 0 or 1; fewer may well be a first row."""
    # A row index that pandas saved has no name.
    given = list(names[1:] if not names[0] else names)
    return len(names) > 2 and any(given == [str(start + place) for place in range(len(given))] for start in (0, 1))
