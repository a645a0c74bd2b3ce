"""Runs an experiment: methods x splits x grid values, into records."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

from fewratio.data.seeds import seed_for
from fewratio.errors import DataFileError
from fewratio.estimators.pretraining import resolve_device
from fewratio_bench.evaluate import PairEvaluation
from fewratio_bench.problems import SyntheticProblem, SyntheticSplit
from fewratio_bench.recipes import SYNTHETIC, Bench, Method
from fewratio_bench.records import Record, RecordFile, circumstances

EXPERIMENTS: dict[str, tuple[SyntheticProblem, tuple[Method, ...]]] = {"synthetic": (SyntheticProblem(), SYNTHETIC)}


def record_file(folder: Path, experiment: str) -> RecordFile:
    """Give the file that an experiment's records are in."""
    return RecordFile(folder / experiment / "records.jsonl")


def run(experiment: str, n_splits: int, folder: Path, device: str = "auto", progress: bool | None = None) -> RecordFile:
    """Measure what is not in the records yet.

    Parameters
    ----------
    experiment : str
        Which one.
    n_splits : int
        Number of draws of source, validation and target datasets.
    folder : Path
        Where records are kept.
    device : str
        Where to run.
    progress : bool, optional
        Progress bar or not; by default on a terminal.
    """
    problem, methods = EXPERIMENTS[experiment]
    file = record_file(folder, experiment)
    file.path.parent.mkdir(parents=True, exist_ok=True)
    bench = Bench(device, file.path.parent, progress)
    runner = Runner(problem, bench)
    for method in methods:
        done = _measured(method, problem, file)
        missing = [number for number in range(n_splits) if number not in done]
        if missing:
            file.append(runner.measure(method, missing))
    return file


def _measured(method: Method, problem: SyntheticProblem, file: RecordFile) -> set[int]:
    """Give the splits that a method has records of; those of other settings must not be mixed with new ones."""
    mine = [record for record in file.read() if record.method == method.name]
    settings = method.parameters(problem)
    # A record's parameters have been through JSON, which turns tuples into lists.
    if any(record.parameters not in json.loads(json.dumps(settings)) for record in mine):
        raise DataFileError(
            f"{file.path} holds records of {method.name!r} made with other settings than it has now. "
            "Move the file away, or give another folder with --results."
        )
    return {record.split for record in mine}


class Runner:
    """Splits and their evaluations, made once and shared by all methods."""

    def __init__(self, problem: SyntheticProblem, bench: Bench) -> None:
        self.problem, self.bench = problem, bench
        self.device = resolve_device(bench.device)
        self._prepared: dict[int, tuple[SyntheticSplit, dict[str, PairEvaluation]]] = {}

    def measure(self, method: Method, numbers: Sequence[int]) -> list[Record]:
        """Measure a method on some splits."""
        splits = [self._prepare(number) for number in numbers]
        facts = circumstances(self.device)
        records = []
        for fitted in method.fit(self.problem, [split for split, _ in splits], self.bench):
            for (split, evaluations), model, seed in zip(splits, fitted.models, fitted.seeds, strict=True):
                for role, evaluation in evaluations.items():
                    started = time.perf_counter()
                    score = evaluation.score(model.to(self.device))
                    seconds = fitted.seconds + time.perf_counter() - started
                    for metric in ("squared_error", "regret"):
                        record = Record(
                            experiment=self.problem.name,
                            data=self.problem.data,
                            split=split.number,
                            n_support=self.problem.n_support,
                            method=method.name,
                            parameters=fitted.parameters,
                            role=role,
                            metric=metric,
                            value=getattr(score, metric),
                            seconds=seconds,
                            seed=seed,
                            **facts,
                        )
                        records.append(record)
        return records

    def _prepare(self, number: int) -> tuple[SyntheticSplit, dict[str, PairEvaluation]]:
        if number not in self._prepared:
            split = self.problem.split(number)
            families = {"validation": split.validation, "target": split.target}
            evaluations = {
                role: PairEvaluation(
                    self.problem,
                    family,
                    seed_for(self.problem.name, self.problem.data, number, role, "supports"),
                    self.device,
                )
                for role, family in families.items()
            }
            self._prepared[number] = split, evaluations
        return self._prepared[number]
