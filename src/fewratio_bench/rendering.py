"""A table, and how it is written: Markdown, LaTeX, HTML (by the files in ``templates/``) and CSV."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fewratio.errors import FewRatioError

if TYPE_CHECKING:
    from jinja2 import Environment

Number = str | float | None


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
    columns : sequence of str
        What `numbers` holds.
    numbers : sequence of sequence
        Every number with its circumstances, for CSV; empty if nothing was measured.
    """

    title: str
    grids: Sequence[Grid]
    caption: str
    columns: Sequence[str]
    numbers: Sequence[Sequence[Number]]


def as_csv(table: Table) -> str:
    """Write every number of a table as one line of CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.columns, *table.numbers])
    return text.getvalue()


def render(template: str, **values: Any) -> str:
    """Fill in a template of this package.

    Parameters
    ----------
    template : str
        Its name: ``table.md``, ``table.tex``, ``table.html`` or ``report.html``.
    **values
        What it shows.
    """
    return _environment().get_template(template).render(values)


def _table_as(template: str, table: Table) -> str:
    return render(template, table=table)


FORMATS: dict[str, Callable[[Table], str]] = {
    "markdown": partial(_table_as, "table.md"),
    "latex": partial(_table_as, "table.tex"),
    "html": partial(_table_as, "table.html"),
    "csv": as_csv,
}


@cache
def _environment() -> "Environment":
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
    except ModuleNotFoundError as error:
        raise FewRatioError("Tables and the report need jinja2. pip install 'fewratio[bench]'.") from error
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
    """Give a text as a label may have it."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
