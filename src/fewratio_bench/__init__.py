"""The reproduction of the paper: experiments, their records, and tables made from the records.

Importing it makes the paper's data known to `fewratio.load_collection`. What is needed to add a method, data or an
experiment of one's own is here (see ``examples/``); it is imported when first used.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewratio.lazy import import_name
from fewratio_bench import sources as sources

if TYPE_CHECKING:
    from fewratio_bench.experiments import Experiment

_HOME = {
    **dict.fromkeys(("EXPERIMENTS", "Experiment", "Panel"), "fewratio_bench.experiments"),
    **dict.fromkeys(("Bench", "Kernel", "Learned", "Method", "Verdict"), "fewratio_bench.methods"),
    **dict.fromkeys(("OutlierProblem", "PairProblem", "Problem", "Trial"), "fewratio_bench.problems"),
    **dict.fromkeys(("Evaluation", "Judgement", "judged_values"), "fewratio_bench.evaluate"),
    **dict.fromkeys(("Protocol", "Split"), "fewratio_bench.splits"),
}

__all__ = [*_HOME, "make_table", "run_experiment"]


def run_experiment(experiment: "str | Experiment", folder: Path, **options: Any) -> None:
    """Measure what is not in the records of a folder yet; options are those of `fewratio_bench.run.run`."""
    from fewratio_bench.run import run

    run(experiment, folder, **options)


def make_table(experiment: "Experiment", folder: Path, format: str = "markdown") -> str:
    """Write the table of an experiment, made from the records of a folder.

    Parameters
    ----------
    experiment : Experiment
        What to show.
    folder : Path
        Where the records are.
    format : {"markdown", "latex", "html", "csv"}
        How to write it.
    """
    from fewratio_bench.rendering import table_text
    from fewratio_bench.tables import table_of

    return table_text(table_of(experiment, folder), format)


def __getattr__(name: str) -> Any:
    return import_name(name, _HOME, "fewratio_bench")
