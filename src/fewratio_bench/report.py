"""One self-contained page of all tables and figures."""

import html
import io
from pathlib import Path

from fewratio.core.tensorfile import write_atomically
from fewratio_bench.experiments import EXPERIMENTS, Experiment
from fewratio_bench.figures import FIGURES
from fewratio_bench.grids import Table
from fewratio_bench.layout import table_of
from fewratio_bench.render import as_html
from fewratio_bench.run import record_file
from fewratio_bench.tables import Records

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 84rem; padding: 0 1rem; color: #1f2328 }
h1 { margin-bottom: .2rem } h2 { margin-top: 2.5rem; border-top: 1px solid #ddd; padding-top: 1rem }
h3 { margin: 1.2rem 0 .2rem; font-size: 15px }
table { border-collapse: collapse; margin: .4rem 0 1.2rem; font-size: 13px; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .4rem; border-bottom: 1px solid #ddd; vertical-align: top; text-align: left }
th { border-bottom: 2px solid #bbb } .name, .number { white-space: nowrap } .number { text-align: right }
small { color: #6b7280 } tbody tr:hover { background: #f4f6f8 }
nav ul { columns: 3 16rem; padding-left: 1.2rem }
.caption, .absent { color: #555; max-width: 60rem; font-size: 13px } .absent { font-style: italic }
figure { margin: 0; overflow-x: auto } section { overflow-x: auto } svg { max-width: 100%; height: auto }
"""
_FIGURE_TITLES = {
    "synthetic": "Figure: four unseen pairs of the synthetic data",
    "latent-dimension": "Figure: dependence on the length K of the dataset vectors",
    "support-size": "Figure: dependence on the number of support instances",
    "training-curves": "Figure: steps on the target, alone or after the sources (best setting at each)",
}


def write_report(folder: Path, path: Path) -> None:
    """Write the page.

    Parameters
    ----------
    folder : Path
        Where the records are.
    path : Path
        The page; a file that is there is replaced once the new one is complete.
    """
    problems = {problem for experiment in EXPERIMENTS.values() for problem in experiment.problems}
    records = {problem.data: record_file(folder, problem).read() for problem in problems}
    tables = {name: table_of(experiment, folder, records) for name, experiment in EXPERIMENTS.items()}
    links = {f"table-{name}": table.title for name, table in tables.items()}
    links |= {f"figure-{name}": _FIGURE_TITLES[name] for name in FIGURES}
    contents = "".join(f'<li><a href="#{anchor}">{html.escape(title)}</a></li>' for anchor, title in links.items())
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>fewratio: the reproduction</title>'
        f"<style>{_STYLE}</style></head><body><h1>The reproduction</h1>"
        "<p>The paper's tables and figures, made again from our own records; the published numbers stand beside ours."
        f"</p><nav><ul>{contents}</ul></nav><h2>What was run where</h2>{_what_was_run(records)}"
        f"{''.join(_section(EXPERIMENTS[name], table) for name, table in tables.items())}"
        f"{''.join(_figure(name, folder) for name in FIGURES)}</body></html>\n"
    )
    write_atomically(path, page.encode())


def _section(experiment: Experiment, table: Table) -> str:
    how = f"fewratio-bench run {experiment.name}"
    body = f'<p class="absent">No records yet: {how}.</p>' if table.is_empty else as_html(table)
    return f'<section id="table-{experiment.name}"><h2>{html.escape(table.title)}</h2>{body}</section>'


def _figure(name: str, folder: Path) -> str:
    picture = io.StringIO()
    FIGURES[name](folder).savefig(picture, format="svg", metadata={"Date": None})
    # A page has one declaration of its kind already.
    svg = picture.getvalue()
    return f'<figure id="figure-{name}"><h2>{_FIGURE_TITLES[name]}</h2>{svg[svg.index("<svg") :]}</figure>'


def _what_was_run(records: Records) -> str:
    methods: dict[tuple[str, str, str], dict[str, int]] = {}
    for record in (record for each in records.values() for record in each):
        counts = methods.setdefault((record.data, record.device, record.commit), {})
        counts[record.method] = counts.get(record.method, 0) + 1
    rows = "".join(
        f'<tr><td class="name">{html.escape(data)}</td><td class="name">{html.escape(device)}</td>'
        f'<td class="name">{html.escape(commit)}</td><td>{html.escape("; ".join(sorted(counts)))}</td>'
        f'<td class="number">{sum(counts.values()):,}</td></tr>'
        for (data, device, commit), counts in sorted(methods.items())
    )
    missing = sorted(data for data, each in records.items() if not each)
    absent = f'<p class="absent">No records of {html.escape(", ".join(missing))}.</p>' if missing else ""
    header = "<tr><th>data</th><th>device</th><th>commit</th><th>methods</th><th class='number'>records</th></tr>"
    return f"<table><thead>{header}</thead><tbody>{rows}</tbody></table>{absent}"
