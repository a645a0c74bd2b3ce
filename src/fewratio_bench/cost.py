"""The paper's computation cost: seconds of learning and of judging, beside the published ones."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fewratio_bench.aggregation import Records, measurements, published_numbers, standard_error
from fewratio_bench.experiments import Experiment
from fewratio_bench.rendering import Grid, Table, TableCell

# By name of a column, how what stands there is written.
_COLUMNS = {"what": "", "device": "", "seconds": ".3f", "published": ".2f"}
# The paper's number of support instances.
_N_SUPPORT = 5
_CAPTION = (
    "Published: on a 2.20 GHz CPU; train is learning from the sources once, test is judging the 100 ordered pairs of "
    "the targets. Alone: made by benchmarks/method_cost.py on one split; train is one training of {steps} steps "
    "(K = 32), test is half the time of judging 200 pairs, the targets' and as many of validation datasets, with one "
    "setting. Together: the seconds in the records, mean over settings and splits; judging the 100 pairs of the "
    "targets and, for a method that learns, the training time of an ensemble (splits, sizes and lengths K as one "
    "program) divided by its members; published there: train and test together. {circumstances}"
)


def cost_table(experiment: Experiment, records: Records, folder: Path) -> Table:
    """Make the table of seconds from records, and from what ``benchmarks/method_cost.py`` wrote.

    Parameters
    ----------
    experiment : Experiment
        The methods, and the problem they are timed on.
    records : mapping
        The records of that problem.
    folder : Path
        Where ``benchmarks/method_cost.jsonl`` is.
    """
    (problem,) = experiment.problems
    costs = _read(folder / "benchmarks" / "method_cost.jsonl")
    alone, together, used = [], [], []
    for method in experiment.methods:
        for cost in (cost for cost in costs if cost["method"] == method.name):
            parts = {"": cost["judging 200 pairs, seconds"] / 2}
            if cost["steps of learning"]:
                parts = {" (train)": cost["learning, seconds"], " (test)": parts[""]}
            alone += [_row(problem.data, method.name + part, [seconds], [cost]) for part, seconds in parts.items()]
            used.append(cost)
        mine = measurements(records.get(problem.data, ()), method, problem).values()
        # A record of each metric names the same seconds, so one metric stands for all.
        target = ("target", "auc", _N_SUPPORT)
        timed = [vars(each) for each in mine if (each.role, each.metric, each.n_support) == target]
        for device in sorted({each["device"] for each in timed}):
            here = [each for each in timed if each["device"] == device]
            splits = sorted({each["split"] for each in here})
            seconds = [statistics.mean(each["seconds"] for each in here if each["split"] == split) for split in splits]
            together.append(_row(problem.data, method.name, seconds, here))
        used += timed
    where = f"{problem.data}, N_S = {_N_SUPPORT}"
    steps = " or ".join(map(str, sorted({cost["steps of learning"] for cost in costs} - {0}))) or "so many"
    made = sorted({(each["device"], each["commit"]) for each in used})
    told = {"experiment": experiment.name, "data": problem.data, "n_support": _N_SUPPORT}
    return Table(
        experiment.title,
        [
            _grid(f"{where}: one training alone", alone, "Run benchmarks/method_cost.py."),
            _grid(f"{where}: all trainings together", together, f"Run 'fewratio-bench run {experiment.name}'."),
        ],
        _CAPTION.format(
            steps=steps, circumstances=" ".join(f"Device {device}: commit {commit}." for device, commit in made)
        ),
        [told | row | {"seconds": f"{row['seconds']:.5f}"} for row in (*alone, *together)],
    )


def _row(data: str, label: str, seconds: Sequence[float], sources: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Give what something takes, in some splits."""
    devices, commits = (", ".join(sorted({source[name] for source in sources})) for name in ("device", "commit"))
    threads = {source["threads"] for source in sources if "threads" in source}
    return {
        "what": label,
        "seconds": statistics.mean(seconds),
        "standard_error": f"{standard_error(seconds):.5f}" if len(seconds) > 1 else None,
        "n_splits": len(seconds),
        "published": _published(data, label),
        "device": devices + "".join(f", {n} thread{'s' * (n > 1)}" for n in threads),
        "commit": commits,
    }


def _grid(heading: str, rows: Sequence[dict[str, Any]], advice: str) -> Grid:
    cells = [
        [TableCell("-" if row[name] is None else format(row[name], form)) for name, form in _COLUMNS.items()]
        for row in rows
    ]
    absent = f"There are no records of it, so there is no number. {advice}"
    return Grid(heading, list(_COLUMNS), cells, absent)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _published(data: str, label: str) -> float | None:
    """Give the paper's seconds; of a method that learns, for both parts if the label names neither."""
    parts = (label, f"{label} (train)", f"{label} (test)")
    keys = (("computation-cost", data, str(_N_SUPPORT), part, "seconds") for part in parts)
    found = [published_numbers()[key] for key in keys if key in published_numbers()]
    return sum(found) if found else None
