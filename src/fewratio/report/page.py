"""A report in plain structures, and the page rendered from it."""

import base64
import hashlib
import json
import math
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import fewratio
from fewratio.charts.chart import Chart, Picture
from fewratio.core.wording import group_alike, typeset_minus, write_alike, write_fixed, write_number
from fewratio.lazy import import_home
from fewratio.report.bundle import chart_script

_STATIC = Path(__file__).parent / "static"
# Most rows of a table in a notebook.
_FEW_ROWS = 10
_LONGEST_SETTING = 1000
# Cells that say nothing, a date with or without a time, and texts that take more than one line on a phone.
_NOTHING, _DATE, _LONG = ("", "–"), re.compile(r"\d{4}-\d\d-\d\d[\d:. ]*"), 30
# Texts of a chart that recur so often are kept once.
_OFTEN = 4
_FIGURE = re.compile(r"^([\d.,]+(?: of [\d,]+)?) ")
# Blanks at which a line must not break: "p = 0.01", "95 %", "± 2", "0 % / 3 %".
_TOGETHER = re.compile(r"(?<=\bp) (?=[=<>] )|(?<=[=<>]) (?=[\d-])|(?<=\d) (?=%)|(?<=±) |(?<=%) (?=/ )|(?<=% /) (?=\d)")


class Number(NamedTuple):
    """A number, and how it is written; tables are sorted by the number."""

    value: float
    text: str


@dataclass(frozen=True)
class Table:
    """A table; the first cell of each row names it.

    Attributes
    ----------
    caption : str
    headings : sequence of str
    rows : sequence of sequence
        Cells: texts, numbers, `Number`, charts, or None for nothing.
    is_searchable : bool
        Whether rows can be searched and sorted.
    note : str
        Text below the table.
    n_first : int
        How many rows to show until the reader asks for all; 0 for all.
    larger : sequence of Chart
        Charts that open below the first rows, one per row.
    colours : mapping of str to str
        Headings that are marked with the colour of a sample.
    minor : sequence of str
        Headings of columns that a phone shows in small print.
    is_folded : bool
        Whether only the caption is shown until the reader opens the table.
    """

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Any]]
    is_searchable: bool = False
    note: str = ""
    n_first: int = 0
    larger: Sequence[Chart] = ()
    colours: Mapping[str, str] = field(default_factory=dict)
    minor: Sequence[str] = ()
    is_folded: bool = False


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Code:
    """Lines to copy."""

    text: str
    caption: str = ""


@dataclass(frozen=True)
class Charts:
    """Charts side by side, as many as fit."""

    charts: Sequence[Chart]


Block = Chart | Charts | Table | Text | Code


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Report:
    """The content of a report.

    Attributes
    ----------
    title : str
    answer : str
        A few sentences; those after the headline are listed line by line.
    facts : mapping of str to str
        The data and settings behind the answer; the first of two lines is a figure, shown large.
    sections : sequence of Section
    notes : sequence of str
        Warnings raised during the work.
    headline : str
        The beginning of the answer, if only that is written large.
    """

    title: str
    answer: str
    facts: Mapping[str, str]
    sections: Sequence[Section]
    notes: Sequence[str] = ()
    headline: str = ""

    @property
    def parts(self) -> tuple[str, str]:
        """The headline, and the rest of the answer."""
        n = len(self.headline) or len(self.answer)
        return self.answer[:n], self.answer[n:].strip()


def first_sentence(verdict: str) -> str:
    """Return a sentence that ends in brackets, without what follows."""
    sentence, end, _ = verdict.partition("). ")
    return f"{sentence}{end.strip()}"


def with_figure(text: str) -> str:
    """Return a text as a fact: the figure that it begins with, such as "3" or "3 of 5", and the rest below it."""
    return _FIGURE.sub(r"\1\n", text)


def render(report: Report) -> str:
    """Render a report as one self-contained HTML file; the same report gives the same text."""
    charts = _Charts()
    sections = [(section.title, [charts.number(block) for block in section.blocks]) for section in report.sections]
    scripts = [chart_script(), _static("report.js")] if charts.entries else [_static("report.js")]
    return _template("page.html").render(
        report=report,
        sections=sections,
        style=_static("report.css"),
        scripts=scripts,
        hashes=[_hash(script) for script in scripts],
        data=charts.as_json(),
        version=fewratio.__version__,
    )


def render_fragment(report: Report, picture: Picture) -> str:
    """Render a report for a notebook: the answer, the picture and the beginning of its first tables, no scripts."""
    tables = [block for section in report.sections[:3] for block in section.blocks if isinstance(block, Table)][:2]
    return _template("fragment.html").render(
        report=report,
        picture=picture.as_file(Path("picture.svg")).decode(),
        description=picture.spec["description"],
        tables=[_Charts().number(_beginning(table)) for table in tables],
        style=_static("fragment.css"),
    )


def describe_making(
    settings: Mapping[str, Any], command: str | None, function: str, tables: Sequence[str]
) -> list[Block]:
    """Describe how to reproduce a report: the command or Python call, the settings and the versions."""
    given = {name: _as_code(value) for name, value in settings.items() if value is not None}
    if command is None:
        arguments = ", ".join([*tables, *(f"{name}={value}" for name, value in given.items())])
        command = f"{function}({arguments}).to_html(path)"
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    versions = {"fewratio": fewratio.__version__, "Python": platform.python_version(), **packages}
    return [
        Code(command, "This makes the report again:"),
        *([Table("Settings", ("setting", "value"), list(given.items()), is_folded=True)] if given else []),
        Table("Versions", ("package", "version"), list(versions.items()), is_folded=True),
    ]


def _as_code(value: Any) -> str:
    """Write a setting as Python would; write dots for what cannot be copied as text, such as an array."""
    text = repr(value)
    is_plain = isinstance(value, str | int | float | list | tuple) or hasattr(value, "get_params")
    return text if is_plain and len(text) <= _LONGEST_SETTING else "..."


class _Cell(NamedTuple):
    """A cell for the template: its text, the number to sort by, a chart with its number, and the class of its style."""

    text: str
    value: float | None = None
    chart: Chart | None = None
    number: Any = None
    style: str = ""

    def with_style(self, heading: str) -> "_Cell":
        """Align a number, or nothing below a number, with its heading; keep a date on a line."""
        style = "long" if len(self.text) > _LONG else "whole" if _DATE.fullmatch(self.text) else ""
        if self.value is not None or ("number" in heading and self.text in _NOTHING):
            style = "number"
        style += " noted" * ("\n" in self.text)
        return self._replace(style=" ".join([style, "minor"] if "minor" in heading else [style]).strip())


class _Charts:
    """The charts of a page; a specification or column that several charts share is kept once."""

    def __init__(self) -> None:
        self.specs: dict[str, int] = {}
        self.columns: dict[str, int] = {}
        self.entries: list[tuple[int, Any]] = []
        self.config: dict[str, Any] = {}

    def add(self, chart: Chart) -> Any:
        """Add a chart, and return its number for the template."""
        # The style, which all charts share, is kept once.
        content = {key: value for key, value in chart.spec.items() if key != "config"}
        self.config = chart.spec["config"]
        place = self.specs.setdefault(json.dumps(content, sort_keys=True, allow_nan=False), len(self.specs))
        self.entries.append((place, {name: self._place(values) for name, values in chart.data.items()}))
        return len(self.entries) - 1

    def _place(self, values: Sequence[Any]) -> int:
        """Return the place of a column of data; texts that recur are kept once, too."""
        kept: Any = list(values)
        texts = list(dict.fromkeys(kept)) if kept and all(isinstance(value, str) for value in kept) else kept
        if _OFTEN * len(texts) <= len(kept):
            places = {text: place for place, text in enumerate(texts)}
            kept = {"texts": texts, "places": [places[value] for value in kept]}
        written = json.dumps(kept, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return self.columns.setdefault(written, len(self.columns))

    def number(self, block: Block) -> dict[str, Any]:
        """Return a block in the form the template expects."""
        charts = block.charts if isinstance(block, Charts) else [block] if isinstance(block, Chart) else []
        numbered = [(each, self.add(each)) for each in charts]
        item: dict[str, Any] = {"kind": type(block).__name__.lower(), "block": block, "charts": numbered}
        if isinstance(block, Table):
            rows = _group_digits([[self._cell(cell) for cell in row] for row in _write_columns(block.rows)])
            # Headings are aligned with the cells below them; a row's name is text.
            are_numbers = [_is_number(column) for column in zip(*rows, strict=False)] or [False] * len(block.headings)
            classes = [
                " ".join(["number"] * is_number + ["minor"] * (heading in block.minor))
                for heading, is_number in zip(block.headings, [False, *are_numbers[1:]], strict=True)
            ]
            larger: list[Any] = [(self.add(chart), chart.description) for chart in block.larger]
            larger += [None] * (len(rows) - len(larger))
            styled = [[cell.with_style(each) for cell, each in zip(row, classes, strict=False)] for row in rows]
            item |= {
                "rows": list(zip(styled, larger, strict=True)),
                "headings": list(zip(block.headings, classes, strict=True)),
            }
        return item

    def _cell(self, cell: Any) -> _Cell:
        if isinstance(cell, Chart):
            return _Cell(cell.description, chart=cell, number=self.add(cell))
        if isinstance(cell, float | int) and not isinstance(cell, bool):
            cell = Number(cell, write_number(cell) if isinstance(cell, float) else write_fixed(cell, 0))
        if isinstance(cell, Number):
            return _Cell(cell.text, cell.value if math.isfinite(cell.value) else None)
        return _Cell("" if cell is None else str(cell))

    def as_json(self) -> str:
        """Return all charts as JSON that cannot end the element that contains it."""
        specs = f"[{','.join(self.specs)}]"
        columns = f"[{','.join(self.columns)}]"
        entries = json.dumps(self.entries, separators=(",", ":"))
        config = json.dumps(self.config, allow_nan=False)
        whole = f'{{"config":{config},"specs":{specs},"columns":{columns},"charts":{entries}}}'
        return whole.replace("<", "\\u003c")


def _is_number(column: Sequence[_Cell]) -> bool:
    """Return whether the first cell that says anything is a number."""
    return next((cell.value is not None for cell in column if cell.text not in _NOTHING), False)


def _group_digits(rows: Sequence[Sequence[_Cell]]) -> list[tuple[_Cell, ...]]:
    """Return the cells of a table, with the digits of all numbers of a column grouped if those of one are."""
    columns = [
        map(lambda cell, text: cell._replace(text=text), column, group_alike([cell.text for cell in column]))
        for column in zip(*rows, strict=True)
    ]
    return list(zip(*columns, strict=True))


def _write_columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return the rows of a table, with the numbers of a column written alike."""
    written = [list(row) for row in rows]
    for place in range(len(written[0]) if written else 0):
        found = [row for row in written if len(row) > place and isinstance(row[place], float)]
        for row, text in zip(found, write_alike([row[place] for row in found]), strict=True):
            row[place] = Number(row[place], text)
    return written


def _typeset(value: Any) -> Any:
    """Put minus signs into a text, and blanks within its numbers and p-values at which no line breaks."""
    return typeset_minus(_TOGETHER.sub("\u00a0", value)) if type(value) is str else value


def _beginning(table: Table) -> Table:
    """Return the first rows of a table, without charts."""
    rest = len(table.rows) - _FEW_ROWS
    kept = [place for place, cell in enumerate(table.rows[0] if table.rows else ()) if not isinstance(cell, Chart)]
    note = f"and {rest} more; to_html(path) writes all" if rest > 0 else table.note
    rows = [[row[place] for place in kept] for row in table.rows[:_FEW_ROWS]]
    return replace(table, headings=[table.headings[place] for place in kept], rows=rows, note=note)


def _hash(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _static(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")


@cache
def _template(name: str) -> Any:
    jinja2 = import_home("jinja2", "A report")
    # Everything is escaped except what the template marks as safe: our own style and scripts, and JSON.
    loader = jinja2.FileSystemLoader(_STATIC)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=_typeset,
    )  # fmt: skip
    return environment.get_template(name)
