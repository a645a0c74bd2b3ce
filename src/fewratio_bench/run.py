"""Runs an experiment: methods x splits x sizes x settings, into records."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import torch

from fewratio.data.columns import listed
from fewratio.errors import FewRatioError, ParameterError
from fewratio.estimators.learning import resolve_device
from fewratio_bench.experiments import EXPERIMENTS
from fewratio_bench.methods import Bench, Method, Verdict
from fewratio_bench.problems import ROLES, Cell, Problem
from fewratio_bench.records import Record, RecordFile, circumstances

Named = TypeVar("Named")

# The paper's number of splits.
PAPER_SPLITS = 10
QUICK_SPLITS = 2


def record_file(folder: Path, problem: Problem) -> RecordFile:
    """Give the file that a problem's records are in: experiments with methods in common share them."""
    return RecordFile(folder / problem.data.lower() / "records.jsonl")


def run(
    experiment: str,
    folder: Path,
    *,
    n_splits: int | None = None,
    quick: bool = False,
    device: str = "auto",
    progress: bool | None = None,
    n_jobs: int = 1,
    data: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> list[RecordFile]:
    """Measure what is not in the records yet.

    Parameters
    ----------
    experiment : str
        Which one.
    folder : Path
        Where records are kept.
    n_splits : int, optional
        Number of splits into source, validation and target datasets; by default 10, or 2 if quick.
    quick : bool
        Whether to measure only the smallest and the largest support, with small grids and short trainings.
    device : str
        Where to run.
    progress : bool, optional
        Progress bar or not; by default on a terminal.
    n_jobs : int
        Processes to train in, on a CPU.
    data, methods : sequence of str
        Names of the only data and methods to measure; by default all.
    """
    plan = EXPERIMENTS[experiment]
    place = resolve_device(device)
    problems = _named(plan.problems, "data", data)
    rows = [method.quick() if quick else method for method in _named(plan.methods, "name", methods)]
    files = []
    for problem in problems:
        file = record_file(folder, problem)
        file.path.parent.mkdir(parents=True, exist_ok=True)
        bench = Bench(str(place), file.path.parent, progress, n_jobs)
        numbers = range(n_splits or (QUICK_SPLITS if quick else PAPER_SPLITS))
        try:
            splits = [problem.split(number) for number in numbers]
        except FewRatioError as error:
            # A source that is not here, or not all of it, must not keep the others from being measured.
            sys.stderr.write(f"fewratio-bench: {problem.data} is left out: {error}\n")
            continue
        sizes = sorted({min(problem.sizes), max(problem.sizes)}) if quick else problem.sizes
        cells = [Cell(problem, split, size, place) for split in splits for size in sizes]
        for method in rows:
            done = _measured(method, problem, file)
            missing = [cell for cell in cells if (cell.split.number, cell.n_support) not in done]
            if missing:
                file.append(list(measure(method, missing, bench)))
        files.append(file)
    return files


def _named(things: Sequence[Named], attribute: str, names: Sequence[str]) -> list[Named]:
    """Give the things of these names, or all if there are none."""
    known = [getattr(thing, attribute) for thing in things]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ParameterError(f"{listed(unknown)} is not in this experiment; it has {listed(known)}. Use one of these.")
    return [thing for thing, name in zip(things, known, strict=True) if not names or name in names]


def measure(method: Method, cells: Sequence[Cell], bench: Bench) -> Iterator[Record]:
    """Measure a method on some cells of one problem."""
    facts = circumstances(torch.device(bench.device))
    for verdict in method.judge(cells, bench):
        for metric, value in verdict.cell.evaluations[verdict.role].metrics(verdict.judgement).items():
            yield _record(method, verdict, metric, value, facts)


def _record(method: Method, verdict: Verdict, metric: str, value: float, facts: dict[str, str]) -> Record:
    cell = verdict.cell
    return Record(
        experiment=cell.problem.name,
        data=cell.problem.data,
        split=cell.split.number,
        n_support=cell.n_support,
        method=method.name,
        parameters=verdict.parameters,
        role=verdict.role,
        metric=metric,
        value=value,
        seconds=round(verdict.seconds, 6),
        seed=verdict.seed,
        **facts,
    )


def _measured(method: Method, problem: Problem, file: RecordFile) -> set[tuple[int, int]]:
    """Give the splits and sizes that a method has all records of, at its present settings."""
    # A record's parameters have been through JSON, which turns tuples into lists.
    settings = {json.dumps(setting, sort_keys=True) for setting in method.settings(problem)}
    found: dict[tuple[int, int], set[tuple[str, str]]] = {}
    for record in file.read():
        setting = json.dumps(record.parameters, sort_keys=True)
        if record.method == method.name and setting in settings:
            found.setdefault((record.split, record.n_support), set()).add((setting, record.role))
    complete = len(settings) * len(ROLES)
    return {cell for cell, measured in found.items() if len(measured) == complete}
