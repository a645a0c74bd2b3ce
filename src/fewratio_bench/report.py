"""One self-contained page of all tables and figures."""

import io
from collections import Counter
from pathlib import Path

from fewratio.core.tensorfile import write_atomically
from fewratio_bench.experiments import EXPERIMENTS
from fewratio_bench.figures import FIGURES
from fewratio_bench.rendering import render
from fewratio_bench.tables import read_records, table_of

_FIGURE_TITLES = {
    "synthetic": "four unseen pairs of the synthetic data",
    "latent-dimension": "dependence on the length K of the dataset vectors",
    "support-size": "dependence on the number of support instances",
    "training-curves": "steps on the target, alone or after the sources (best setting at each)",
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
    records = read_records(folder, (problem for each in EXPERIMENTS.values() for problem in each.problems))
    runs: dict[tuple[str, str, str], Counter[str]] = {}
    for record in (record for each in records.values() for record in each):
        runs.setdefault((record.data, record.device, record.commit), Counter())[record.method] += 1
    page = render(
        "report.html",
        tables={name: table_of(experiment, folder, records) for name, experiment in EXPERIMENTS.items()},
        figures={name: (_FIGURE_TITLES[name], _svg(name, folder)) for name in FIGURES},
        runs=sorted(runs.items(), key=lambda run: run[0]),
        missing=sorted(data for data, each in records.items() if not each),
    )
    write_atomically(path, page.encode())


def _svg(name: str, folder: Path) -> str:
    picture = io.StringIO()
    FIGURES[name](folder).savefig(picture, format="svg", metadata={"Date": None})
    # A page has one declaration of its kind already.
    svg = picture.getvalue()
    return svg[svg.index("<svg") :]
