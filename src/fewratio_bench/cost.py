"""The paper's computation cost: seconds of learning and of judging, beside the published ones."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fewratio.errors import DataFileError
from fewratio_bench.aggregation import Records, measurements, published_numbers, standard_error
from fewratio_bench.experiments import Experiment
from fewratio_bench.records import Record
from fewratio_bench.rendering import Grid, Number, Table, TableCell

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
    alone, together = _Times(experiment.name, problem.data), _Times(experiment.name, problem.data)
    costs = _read(folder / "benchmarks" / "method_cost.jsonl")
    for method in experiment.methods:
        for cost in (cost for cost in costs if cost["method"] == method.name):
            if cost["steps of learning"]:
                alone.add(f"{method.name} (train)", [cost["learning, seconds"]], [cost])
            label = f"{method.name} (test)" if cost["steps of learning"] else method.name
            alone.add(label, [cost["judging 200 pairs, seconds"] / 2], [cost])
    for method in experiment.methods:
        mine = measurements(records.get(problem.data, ()), method, problem).values()
        for device in sorted({record.device for record in mine}):
            timed = [record for record in mine if record.device == device and _is_timed(record)]
            if timed:
                together.add(method.name, _by_split(timed), [vars(record) for record in timed])
    where = f"{problem.data}, N_S = {_N_SUPPORT}"
    steps = " or ".join(map(str, sorted({cost["steps of learning"] for cost in costs} - {0}))) or "so many"
    everywhere = alone.circumstances | together.circumstances
    return Table(
        experiment.title,
        [
            alone.grid(f"{where}: one training alone", "Run benchmarks/method_cost.py."),
            together.grid(f"{where}: all trainings together", f"Run 'fewratio-bench run {experiment.name}'."),
        ],
        _CAPTION.format(steps=steps, circumstances=_listed(everywhere)),
        [*alone.numbers, *together.numbers],
    )


class _Times:
    """Times of one kind."""

    def __init__(self, experiment: str, data: str) -> None:
        self._where: dict[str, Number] = {"experiment": experiment, "data": data, "n_support": _N_SUPPORT}
        self._data = data
        self._rows: list[list[TableCell]] = []
        self.numbers: list[dict[str, Number]] = []
        self.circumstances: set[tuple[str, str]] = set()

    def add(self, label: str, seconds: Sequence[float], sources: Sequence[dict[str, Any]]) -> None:
        """Add what something takes, in some splits."""
        made = {(source["device"], source["commit"]) for source in sources}
        self.circumstances |= made
        devices, commits = (", ".join(sorted(set(each))) for each in zip(*made, strict=True))
        threads = {source["threads"] for source in sources if "threads" in source}
        device = devices + "".join(f", {n} thread{'s' * (n > 1)}" for n in threads)
        mean, published = statistics.mean(seconds), _published(self._data, label)
        paper = "-" if published is None else f"{published:.2f}"
        self._rows.append([TableCell(text) for text in (label, device, f"{mean:.3f}", paper)])
        error = f"{standard_error(seconds):.5f}" if len(seconds) > 1 else None
        times = {"what": label, "seconds": f"{mean:.5f}", "standard_error": error, "n_splits": len(seconds)}
        self.numbers.append({**self._where, **times, "published": published, "device": device, "commit": commits})

    def grid(self, heading: str, advice: str) -> Grid:
        """Give all of them."""
        absent = f"There are no records of it, so there is no number. {advice}"
        return Grid(heading, ["what", "device", "seconds", "published"], self._rows, absent)


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except json.JSONDecodeError as error:
        raise DataFileError(f"{path} is not JSON lines ({error}). Make it again: benchmarks/method_cost.py.") from error


def _is_timed(record: Record) -> bool:
    # A record of each metric names the same seconds, so one metric stands for all.
    return (record.role, record.metric, record.n_support) == ("target", "auc", _N_SUPPORT)


def _by_split(records: Sequence[Record]) -> list[float]:
    splits: dict[int, list[float]] = {}
    for record in records:
        splits.setdefault(record.split, []).append(record.seconds)
    return [statistics.mean(seconds) for _, seconds in sorted(splits.items())]


def _published(data: str, label: str) -> float | None:
    """Give the paper's seconds; of a method that learns, for both parts if the label names neither."""
    numbers = published_numbers()
    parts = [label] if ("computation-cost", data, str(_N_SUPPORT), label, "seconds") in numbers else []
    parts = parts or [f"{label} (train)", f"{label} (test)"]
    found = [numbers.get(("computation-cost", data, str(_N_SUPPORT), part, "seconds")) for part in parts]
    return None if None in found else sum(value for value in found if value is not None)


def _listed(circumstances: set[tuple[str, str]]) -> str:
    return "".join(f"Device {device}: commit {commit}. " for device, commit in sorted(circumstances)).rstrip()
