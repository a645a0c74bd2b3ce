"""Runs an experiment: methods x splits x sizes x settings, into records."""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

from fewratio.core.wording import quote_list
from fewratio.errors import DataNotFoundError, FewRatioError, ParameterError
from fewratio.estimators.networks.network_estimator import resolve_device
from fewratio_bench.aggregation import measurements, needed_metrics
from fewratio_bench.experiments import EXPERIMENTS, Experiment
from fewratio_bench.methods import Bench, Method
from fewratio_bench.problems import ROLES, Problem, Trial
from fewratio_bench.records import Record, RecordFile, circumstances

Named = TypeVar("Named")

# What a run that is killed may lose.
_SECONDS_UNWRITTEN = 20
# The paper's number of splits.
PAPER_SPLITS = 10
QUICK_SPLITS = 2


def record_file(folder: Path, problem: Problem) -> RecordFile:
    """Return the file that a problem's records are in: experiments with methods in common share them."""
    return RecordFile(folder / problem.data.lower() / "records.jsonl")


def run_experiment(
    experiment: str | Experiment,
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
    experiment : str or Experiment
        One of the paper's by its name, or one of your own.
    folder : Path
        Where records are kept.
    n_splits : int, optional
        Number of splits into source, validation and target datasets; by default 10, or 2 if quick.
    quick : bool
        Whether to measure only the smallest and the largest support, with small grids and short trainings.
    device : str
        Where to run.
    progress : bool, optional
        Progress bar or not; by default on a terminal, and elsewhere a line for each method that is done.
    n_jobs : int
        Processes to train in, on a CPU.
    data, methods : sequence of str
        Names of the only data and methods to measure; by default all.
    """
    plan = EXPERIMENTS[experiment] if isinstance(experiment, str) else experiment
    plan = plan.quick() if quick else plan
    place = resolve_device(device)
    problems = _select_named(plan.problems, "data", data)
    rows = _select_named(plan.methods, "name", methods)
    # A log has no bar that moves: there every method that is done gets a line.
    is_log = progress is None and not sys.stderr.isatty()
    files = []
    for problem in problems:
        numbers = range(n_splits or (QUICK_SPLITS if quick else PAPER_SPLITS))
        try:
            splits = [problem.split(number) for number in numbers]
        except FewRatioError as error:
            # A source that is not here, or not all of it, must not keep the others from being measured.
            sys.stderr.write(f"fewratio-bench: {problem.data} is left out: {error}\n")
            continue
        file = record_file(folder, problem)
        file.path.parent.mkdir(parents=True, exist_ok=True)
        bench = Bench(str(place), file.path.parent, progress, n_jobs)
        sizes = sorted({min(problem.sizes), max(problem.sizes)}) if quick else problem.sizes
        trials = [Trial(problem, split, size, place) for split in splits for size in sizes]
        for method in rows:
            done = _find_measured(method, problem, file, needed_metrics(plan, method, problem))
            missing = [trial for trial in trials if (trial.split.number, trial.n_support) not in done]
            started = time.monotonic()
            if missing:
                _measure_into(file, method, missing, bench)
            if is_log:
                took = f"{len(missing)} trials (a split at a size) measured in {time.monotonic() - started:.1f} s"
                sys.stderr.write(f"{problem.data}, {method.name}: {took if missing else 'measured before'}\n")
                sys.stderr.flush()
        files.append(file)
    if not files:
        names = quote_list([problem.data for problem in problems])
        raise DataNotFoundError(
            f"{names}: not here, or not all of it, so nothing was run. Put the missing files into the folder that "
            "FEWRATIO_DATA names."
        )
    return files


def _measure_into(file: RecordFile, method: Method, trials: Sequence[Trial], bench: Bench) -> None:
    """Measure, and write what is complete now and then, so that a run that is cut off keeps it."""
    n_verdicts = len(method.settings(trials[0].problem)) * len(ROLES)
    begun: dict[tuple[int, int], list[list[Record]]] = {}
    complete: list[Record] = []
    written = time.monotonic()
    try:
        for trial, records in measure(method, trials, bench):
            key = trial.split.number, trial.n_support
            begun.setdefault(key, []).append(records)
            if len(begun[key]) == n_verdicts:
                complete += [record for each in begun.pop(key) for record in each]
            if complete and time.monotonic() - written > _SECONDS_UNWRITTEN:
                file.append(complete)
                complete, written = [], time.monotonic()
    finally:
        if complete:
            file.append(complete)


def _select_named(things: Sequence[Named], attribute: str, names: Sequence[str]) -> list[Named]:
    """Return the things of these names, or all if there are none."""
    known = {getattr(thing, attribute).lower(): getattr(thing, attribute) for thing in things}
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise ParameterError(
            f"{quote_list(unknown)} is not in this experiment; it has {'; '.join(known.values())}. Use one of these."
        )
    wanted = {name.lower() for name in names} or known.keys()
    return [thing for thing in things if getattr(thing, attribute).lower() in wanted]


def measure(method: Method, trials: Sequence[Trial], bench: Bench) -> Iterator[tuple[Trial, list[Record]]]:
    """Measure a method on some trials of one problem; give the records of one verdict after the other."""
    facts = circumstances(torch.device(bench.device))
    for verdict in method.judge(trials, bench):
        trial = verdict.trial
        common: dict[str, Any] = facts | {
            "experiment": trial.problem.name,
            "data": trial.problem.data,
            "split": trial.split.number,
            "n_support": trial.n_support,
            "method": method.name,
            "parameters": verdict.parameters,
            "role": verdict.role,
            "seconds": round(verdict.seconds, 6),
            "seed": verdict.seed,
        }
        numbers = trial.evaluations[verdict.role].metrics(verdict.judgement)
        yield trial, [Record(metric=metric, value=value, **common) for metric, value in numbers.items()]


def _find_measured(
    method: Method, problem: Problem, file: RecordFile, needed: set[tuple[str, str]]
) -> set[tuple[int, int]]:
    """Return the splits and sizes that a method has all needed records of, at its present settings."""
    found: dict[tuple[int, int], set[tuple[str, str, str]]] = {}
    for setting, role, metric, size, split in measurements(file.read(), method, problem):
        if (role, metric) in needed:
            found.setdefault((split, size), set()).add((setting, role, metric))
    complete = len(method.settings(problem)) * len(needed)
    return {trial for trial, measured in found.items() if len(measured) == complete}
