"""Tables as Markdown, LaTeX and CSV."""

import csv
import html
import io
import statistics
from collections.abc import Callable, Sequence

from fewratio_bench.experiments import Experiment
from fewratio_bench.records import Record
from fewratio_bench.tables import AVERAGE, METRICS, SELECTIONS, Block, Line

_CSV_COLUMNS = (
    *("experiment", "data", "metric", "n_support", "method", "selection"),
    *("mean", "standard_error", "n_splits", "best_or_comparable", "published", "difference"),
)


def markdown(experiment: Experiment, blocks: Sequence[Block], records: Sequence[Record]) -> str:
    """Write a table as Markdown, with what was run where below it."""
    parts = [f"# {experiment.title}"]
    for block in blocks:
        parts += ["", f"## {_heading(block)}", ""]
        if not block.lines:
            parts.append(_absent(block))
            continue
        header = _header(block)
        parts += [_row(header), _row(["---", "---", *["---:"] * (len(header) - 2)])]
        parts += [_row(_cells(block, line, lambda text: f"**{text}**", "±")) for line in block.lines]
    return "\n".join([*parts, "", _caption(blocks, records)]) + "\n"


def latex(experiment: Experiment, blocks: Sequence[Block], records: Sequence[Record]) -> str:
    """Write a table as LaTeX, for the package booktabs."""
    parts = [f"% {experiment.title}"]
    for block in blocks:
        if not block.lines:
            parts.append(f"% {_absent(block)}")
            continue
        header = [_escaped(text) for text in _header(block)]
        parts += [
            "\\begin{table}",
            "\\centering",
            f"\\caption{{{_escaped(experiment.title)}: {_escaped(_heading(block))}.}}",
        ]
        parts += [f"\\begin{{tabular}}{{ll{'r' * (len(header) - 2)}}}", "\\toprule", _line(header), "\\midrule"]
        for line in block.lines:
            cells = _cells(block, line, lambda text: f"\\textbf{{{text}}}", "$\\pm$")
            parts.append(_line([_escaped(cells[0]), _escaped(cells[1]), *cells[2:]]))
        parts += ["\\bottomrule", "\\end{tabular}", "\\end{table}"]
    return "\n".join([*parts, f"% {_caption(blocks, records)}"]) + "\n"


def as_html(experiment: Experiment, blocks: Sequence[Block], records: Sequence[Record]) -> str:
    """Write a table as HTML."""
    parts = []
    for block in blocks:
        parts.append(f"<h3>{html.escape(_heading(block))}</h3>")
        if not block.lines:
            parts.append(f"<p>{html.escape(_absent(block))}</p>")
            continue
        parts.append("<table><tr>" + "".join(f"<th>{html.escape(text)}</th>" for text in _header(block)) + "</tr>")
        for line in block.lines:
            # Only the numbers are written in tags of our own.
            name, rule, *cells = _cells(block, line, lambda text: f"<b>{text}</b>", "±")
            cells = [html.escape(name), html.escape(rule), *cells]
            parts.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        parts.append("</table>")
    return "".join([*parts, f'<p class="caption">{html.escape(_caption(blocks, records))}</p>'])


def as_csv(experiment: Experiment, blocks: Sequence[Block], records: Sequence[Record]) -> str:
    """Write every number of a table as one line of CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS)
    for block in blocks:
        for line in block.lines:
            for column, values in line.values.items():
                if not values:
                    continue
                mean, published = statistics.mean(values), line.published.get(column)
                error = None if len(values) < 2 else f"{_error(values):.5f}"
                difference = None if published is None else f"{mean - published:.5f}"
                where = (experiment.name, block.panel.data, block.panel.metric, column, line.method, line.selection)
                best = int(block.is_best(line, column))
                writer.writerow([*where, f"{mean:.5f}", error, len(values), best, published, difference])
    return text.getvalue()


FORMATS: dict[str, Callable[[Experiment, Sequence[Block], Sequence[Record]], str]] = {
    "markdown": markdown,
    "latex": latex,
    "csv": as_csv,
}


def _heading(block: Block) -> str:
    partly = "" if block.panel.complete else f" ({' and '.join(problem.data for problem in block.panel.problems)} only)"
    return f"{block.panel.data}{partly}: {METRICS[block.panel.metric][0]}"


def _absent(block: Block) -> str:
    return f"{block.panel.data}: there are no records of it, so there is no number. Run it where its data are complete."


def _header(block: Block) -> list[str]:
    sizes = [AVERAGE if column == AVERAGE else f"N_S = {column}" for column in block.columns]
    extra = ["published", "difference"] if any(line.published for line in block.lines) else []
    return ["method", "selected by", *sizes, *extra]


def _cells(block: Block, line: Line, bold: Callable[[str], str], plus_minus: str) -> list[str]:
    digits = METRICS[block.panel.metric][1]
    cells = [line.method, line.selection]
    for column in block.columns:
        values = line.values.get(column)
        if not values:
            cells.append("-")
            continue
        text = f"{statistics.mean(values):.{digits}f}"
        if len(values) > 1:
            text += f" {plus_minus} {_error(values):.{digits}f}"
        text = bold(text) if block.is_best(line, column) else text
        if column != block.columns[-1] and column in line.published:
            text += f" ({line.published[column]:.{digits}f})"
        cells.append(text)
    if any(other.published for other in block.lines):
        # The last column is what the whole line comes to: the average, or the only size.
        last = block.columns[-1]
        published = line.published.get(last)
        values = line.values.get(last)
        difference = None if published is None or not values else statistics.mean(values) - published
        cells += ["-" if published is None else f"{published:.{digits}f}"]
        cells += ["-" if difference is None else f"{difference:+.{digits}f}"]
    return cells


def _error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / len(values) ** 0.5


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + " \\\\"


def _escaped(text: str) -> str:
    return text.replace("_", "\\_").replace("%", "\\%").replace("±", "$\\pm$")


def _caption(blocks: Sequence[Block], records: Sequence[Record]) -> str:
    counts = sorted({len(values) for block in blocks for line in block.lines for values in line.values.values()})
    rules = {line.selection: SELECTIONS[line.selection] for block in blocks for line in block.lines}
    methods = {line.method for block in blocks for line in block.lines}
    mine = [record for record in records if record.method in methods]
    commits, devices = (sorted({getattr(record, name) for record in mine}) for name in ("commit", "device"))
    return (
        f"Mean and standard error over {' or '.join(map(str, counts))} splits. Bold: the best of a column and those "
        "that are not significantly worse (paired t-test, p = 0.05). In brackets, and under 'published': the paper's "
        "number, beside the rule of selection that the paper uses for the method. "
        f"Selected by: {'; '.join(f'{name}, {rule}' for name, rule in sorted(rules.items()))}. "
        f"Commit {', '.join(commits)}; device {', '.join(devices)}."
    )
