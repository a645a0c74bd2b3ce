"""A table, and how it is written: Markdown, LaTeX, HTML (by the files in ``templates/``) and CSV."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

FORMATS = ("markdown", "latex", "html", "csv")


@dataclass(frozen=True)
class TableCell:
    """What stands in one place of a table.

    Attributes
    ----------
    text : str
        Name or number.
    bold : bool
        Whether that is in bold face.
    after : str
        What follows it and is not.
    """

    text: str
    bold: bool = False
    after: str = ""


@dataclass(frozen=True)
class Grid:
    """Rows under a heading.

    Attributes
    ----------
    heading : str
        What they are about.
    header : sequence of str
        Names of the columns; the first two columns are names, not numbers.
    rows : sequence of sequence of TableCell
        The rows.
    absent : str
        What stands there if there are no rows: why, and what to do.
    note : str
        What is said below the rows.
    """

    heading: str
    header: Sequence[str]
    rows: Sequence[Sequence[TableCell]]
    absent: str
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the paper, made again.

    Attributes
    ----------
    title : str
        What it is about.
    grids : sequence of Grid
        Its parts.
    caption : str
        What the numbers are, and what was run where.
    numbers : sequence of dict
        Every number with its circumstances, for CSV; empty if nothing was measured.
    """

    title: str
    grids: Sequence[Grid]
    caption: str
    numbers: Sequence[dict[str, Any]]


def table_text(table: Table, format: str) -> str:
    """Write a table in one of `FORMATS`; as CSV, every number on a line of its own."""
    if format != "csv":
        return render(f"table.{format}", table=table)
    text = io.StringIO()
    writer = csv.DictWriter(text, table.numbers[0] if table.numbers else (), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.numbers)
    return text.getvalue()


def render(template: str, **values: Any) -> str:
    """Fill in a file of ``templates/``; methods have the names that readers see."""
    return display_name(_environment().get_template(template).render(values))


def display_name(text: str) -> str:
    """Put the name that readers see in place of "Ours", the paper's name of its method and the key of records."""
    return re.sub(r"\bOurs\b", "paper's method", text)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("fewratio_bench"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"latex": _latex, "label": _label}
    return environment


def _latex(text: str) -> str:
    text = text.replace("_", "\\_").replace("%", "\\%").replace("±", "$\\pm$")
    # A sign before a number, not a hyphen.
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", text)


def _label(text: str) -> str:
    """Return a text as a label may have it."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
