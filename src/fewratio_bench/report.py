"""One self-contained page of all tables and figures."""

from collections import Counter
from pathlib import Path

from fewratio.core.container import write_atomically
from fewratio_bench.experiments import EXPERIMENTS
from fewratio_bench.figures import FIGURES, figure_file
from fewratio_bench.rendering import render
from fewratio_bench.tables import make_table, read_records


def write_report(folder: Path, path: Path) -> None:
    """Write the page.

    Parameters
    ----------
    folder : Path
        Where the records are.
    path : Path
        The page; a file that is there is replaced once the new one is complete.
    """
    records = read_records(folder, (problem for each in EXPERIMENTS.values() for problem in each.problems))
    runs: dict[tuple[str, str, str], Counter[str]] = {}
    for record in (record for each in records.values() for record in each):
        runs.setdefault((record.data, record.device, record.commit), Counter())[record.method] += 1
    figures = {}
    for name, (title, _) in FIGURES.items():
        svg = figure_file(name, folder, Path("figure.svg")).decode()
        # Without its declaration: a page has one of its own.
        figures[name] = title, "<svg" + svg.partition("<svg")[2]
    page = render(
        "report.html",
        tables={name: make_table(experiment, folder, records) for name, experiment in EXPERIMENTS.items()},
        figures=figures,
        runs=sorted(runs.items(), key=lambda run: run[0]),
        missing=sorted(data for data, each in records.items() if not each),
    )
    write_atomically(path, page.encode())
