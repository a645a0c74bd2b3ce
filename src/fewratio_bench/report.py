"""One self-contained page of all tables and figures."""

import html
import io
from collections import Counter
from pathlib import Path

from fewratio.core.tensorfile import write_atomically
from fewratio_bench.experiments import EXPERIMENTS, Experiment
from fewratio_bench.figures import FIGURES
from fewratio_bench.records import Record
from fewratio_bench.render import as_html
from fewratio_bench.run import record_file
from fewratio_bench.tables import make_blocks

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: .6rem 0 1.4rem; font-size: 13px }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left }
nav a { margin-right: 1rem } .caption { color: #555; max-width: 60rem; font-size: 13px }
figure { margin: 1rem 0; overflow-x: auto } section { overflow-x: auto }
"""


def write_report(folder: Path, path: Path) -> None:
    """Write the page.

    Parameters
    ----------
    folder : Path
        Where the records are.
    path : Path
        The page; a file that is there is replaced once the new one is complete.
    """
    parts, records = [], []
    for experiment in EXPERIMENTS.values():
        mine = {problem.data: record_file(folder, problem).read() for problem in experiment.problems}
        everything = [record for each in mine.values() for record in each]
        records += everything
        parts.append(_section(experiment, as_html(experiment, make_blocks(experiment, mine), everything)))
    figures = [_figure(name, folder) for name in FIGURES]
    links = "".join(f'<a href="#{name}">{name}</a> ' for name in (*EXPERIMENTS, *FIGURES))
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>fewratio: the reproduction</title>'
        f"<style>{_STYLE}</style></head><body><h1>The reproduction</h1>{_what_was_run(records)}<nav>{links}</nav>"
        f"{''.join(parts)}{''.join(figures)}</body></html>\n"
    )
    write_atomically(path, page.encode())


def _section(experiment: Experiment, body: str) -> str:
    return f'<section id="{experiment.name}"><h2>{html.escape(experiment.title)}</h2>{body}</section>'


def _figure(name: str, folder: Path) -> str:
    picture = io.StringIO()
    FIGURES[name](folder).savefig(picture, format="svg")
    # A page has one declaration of its kind already.
    svg = picture.getvalue()
    return f'<figure id="{name}"><h2>{name}</h2>{svg[svg.index("<svg") :]}</figure>'


def _what_was_run(records: list[Record]) -> str:
    counts = Counter((record.data, record.device, record.commit) for record in records)
    rows = "".join(
        f"<tr><td>{html.escape(data)}</td><td>{html.escape(device)}</td><td>{html.escape(commit)}</td></tr>"
        for data, device, commit in sorted(counts)
    )
    return f"<table><tr><th>data</th><th>device</th><th>commit</th></tr>{rows}</table>"
