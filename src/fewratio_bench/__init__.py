"""The reproduction of the paper: experiments, their records, and tables made from the records.

Importing it makes the paper's data known to `fewratio.load_collection`. What is needed to add a method, data or an
experiment of one's own is here (see ``examples/``); it is imported when first used.
"""

from typing import Any

from fewratio.lazy import import_name
from fewratio_bench import sources as sources

_HOME = {
    **dict.fromkeys(("EXPERIMENTS", "Experiment", "Panel"), "fewratio_bench.experiments"),
    **dict.fromkeys(("Bench", "Kernel", "Learned", "Method", "Verdict"), "fewratio_bench.methods"),
    **dict.fromkeys(("OutlierProblem", "PairProblem", "Problem", "Trial"), "fewratio_bench.problems"),
    **dict.fromkeys(("Evaluation", "Judgement", "judged_values"), "fewratio_bench.evaluate"),
    **dict.fromkeys(("Protocol", "Split"), "fewratio_bench.splits"),
    "make_table": "fewratio_bench.tables",
    "run_experiment": "fewratio_bench.run",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    return import_name(name, _HOME, "fewratio_bench")
