"""How answers look on a terminal: fitted to its width, with the first line in bold."""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator

import typer

# The width of what is printed elsewhere, and at most on a terminal: longer lines are hard to read.
_WIDTH = 120
# A word or two at the start of a line, or blanks under them.
_LABEL = re.compile(r"([^\s]+( [^\s]+)?)? {2,}")


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def find_width() -> int:
    """Return the number of characters that fit in a line."""
    return min(shutil.get_terminal_size((_WIDTH, 24)).columns, _WIDTH) if is_terminal() else _WIDTH


def lay_out(lines: Iterable[str]) -> Iterator[str]:
    """Wrap lines to a terminal, each under the start of its text, and make the first bold; elsewhere keep them.

    ``NO_COLOR`` turns bold off. Rows of tables, which begin with two blanks, are not wrapped.
    """
    width = find_width()
    for number, line in enumerate(lines):
        is_row = line.startswith("  ") and "  " in line.strip()
        if not is_terminal() or is_row:
            yield line
            continue
        label = _LABEL.match(line)
        indent = " " * (label.end() if label else 0)
        text = textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        is_bold = number == 0 and not os.environ.get("NO_COLOR")
        yield typer.style(text, bold=True) if is_bold else text
