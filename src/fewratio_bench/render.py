"""Tables as Markdown, LaTeX, HTML and CSV."""

import csv
import html
import io
import re
from collections.abc import Callable, Sequence

from fewratio_bench.grids import Cell, Table


def markdown(table: Table) -> str:
    """Write a table as Markdown, with what was run where below it."""
    parts = [f"# {table.title}"]
    for grid in table.grids:
        parts += ["", f"## {grid.heading}", ""]
        if not grid.rows:
            parts.append(grid.absent)
            continue
        n_numbers = len(grid.header) - grid.n_names
        parts += [_row(grid.header), _row(["---"] * grid.n_names + ["---:"] * n_numbers)]
        parts += [_row([_decorated(cell, "**", "**") for cell in row]) for row in grid.rows]
        parts += ["", grid.note] if grid.note else []
    return "\n".join([*parts, "", table.caption]) + "\n"


def latex(table: Table) -> str:
    """Write a table as LaTeX, for the package booktabs."""
    parts = [f"% {table.title}"]
    for grid in table.grids:
        if not grid.rows:
            parts.append(f"% {grid.absent}")
            continue
        parts += [
            "\\begin{table}",
            "\\centering",
            f"\\caption{{{_escaped(table.title)}: {_escaped(grid.heading)}.}}",
            f"\\label{{tab:{_slug(table.title)}-{_slug(grid.heading)}}}",
            f"\\begin{{tabular}}{{{'l' * grid.n_names}{'r' * (len(grid.header) - grid.n_names)}}}",
            "\\toprule",
            _line(grid.header),
            "\\midrule",
        ]
        for row in grid.rows:
            cells = [Cell(_escaped(cell.text), cell.bold, _escaped(cell.after)) for cell in row]
            parts.append(" & ".join(_decorated(cell, "\\textbf{", "}") for cell in cells) + " \\\\")
        parts += ["\\bottomrule", "\\end{tabular}", "\\end{table}", *([f"% {grid.note}"] if grid.note else [])]
    return "\n".join([*parts, f"% {table.caption}"]) + "\n"


def as_html(table: Table) -> str:
    """Write a table as HTML; its title is the page's."""
    parts = []
    for grid in table.grids:
        parts.append(f"<h3>{html.escape(grid.heading)}</h3>")
        if not grid.rows:
            parts.append(f'<p class="absent">{html.escape(grid.absent)}</p>')
            continue
        kinds = ["name"] * grid.n_names + ["number"] * (len(grid.header) - grid.n_names)
        head = "".join(
            f'<th class="{kind}">{html.escape(text)}</th>' for kind, text in zip(kinds, grid.header, strict=True)
        )
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>")
        for row in grid.rows:
            # What follows a number goes below it, or a table of five sizes is wider than a page.
            cells = [Cell(html.escape(cell.text), cell.bold, _below(html.escape(cell.after))) for cell in row]
            written = (
                f'<td class="{kind}">{_decorated(cell, "<b>", "</b>")}</td>'
                for kind, cell in zip(kinds, cells, strict=True)
            )
            parts.append(f"<tr>{''.join(written)}</tr>")
        parts.append("</tbody></table>")
        parts += [f"<p>{html.escape(grid.note)}</p>"] if grid.note else []
    return "".join([*parts, f'<p class="caption">{html.escape(table.caption)}</p>'])


def as_csv(table: Table) -> str:
    """Write every number of a table as one line of CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.numbers)
    return text.getvalue()


FORMATS: dict[str, Callable[[Table], str]] = {"markdown": markdown, "latex": latex, "csv": as_csv}


def _decorated(cell: Cell, begin: str, end: str) -> str:
    return f"{begin}{cell.text}{end}{cell.after}" if cell.bold else cell.text + cell.after


def _below(text: str) -> str:
    return f"<br><small>{text.strip()}</small>" if text else ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _line(cells: Sequence[str]) -> str:
    return " & ".join(_escaped(text) for text in cells) + " \\\\"


def _escaped(text: str) -> str:
    text = text.replace("_", "\\_").replace("%", "\\%").replace("±", "$\\pm$")
    # A sign before a number, not a hyphen.
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", text)


def _slug(text: str) -> str:
    """Give a text as a label may have it."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
