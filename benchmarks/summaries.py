"""Sources that stay where they are: J of what summaries alone teach, and the memory that a stream of them takes.

Ways: the closed form learned from rows (with features of its own choice, and with the map's), from separate summaries,
and from one merged summary. The example that the map is made from is a few rows of every source. Prints one JSON line
per way and split; `--stream` prints one for the memory, `--private` one per epsilon, for 40 sources with so many rows
each (drawn again with a jitter of 5 % of the standard deviation where a dataset is smaller), and `--no-sources` one for
the network that needs none.

    python benchmarks/summaries.py > results/benchmarks/summaries.jsonl
    python benchmarks/summaries.py --data digits_r mnist_r --components 0 >> results/benchmarks/summaries.jsonl
    python benchmarks/summaries.py --stream 100000 >> results/benchmarks/summaries.jsonl
    python benchmarks/summaries.py --private 100 1000 10000 --components 128 >> results/benchmarks/summaries.jsonl
    python benchmarks/summaries.py --no-sources >> results/benchmarks/summaries.jsonl
"""

import argparse
import json
import resource
import sys
import time
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import torch

from fewratio import DiscriminantRatioEstimator
from fewratio.core.discriminant import Support
from fewratio.estimators import SourceMap
from fewratio.estimators.closed_form.discriminant_model import DiscriminantModel, ratio_of_log
from fewratio_bench.evaluate import Judgement
from fewratio_bench.methods.untrained import Universal
from fewratio_bench.problems import MNIST_R, SYNTHETIC, PairProblem, Problem, SyntheticProblem
from fewratio_bench.records import circumstances

PROBLEMS = {"digits_r": PairProblem("digits_r", "digits_r"), "mnist_r": MNIST_R, "gaussian": SYNTHETIC}
SUPPORT_SIZES = (1, 3, 5, 10)
_ALPHA = 0.5
# Of each source, in the example; columns are in one unit.
_EXAMPLE_ROWS, _SCALE = 5, "none"
# Sources of a private family.
_N_PRIVATE = 40


def squared_error(problem: Problem, number: int, model: DiscriminantModel, size: int) -> float:
    """Give J on all pairs of the targets of a split."""
    evaluation = problem.evaluation(problem.split(number), "target", size, torch.device("cpu"))
    support, query = evaluation.episode.support, evaluation.episode.query.rows

    def coordinates(rows: torch.Tensor) -> np.ndarray:
        flat = rows.double().numpy().reshape(-1, rows.shape[-1])
        return model(flat).reshape(*rows.shape[:-1], -1)

    nu, de = (Support.of(coordinates(rows)).for_rows() for rows in (support.nu, support.de))
    ratio = ratio_of_log(model.log_ratio(coordinates(query), nu, de), _ALPHA)
    return evaluation.metrics(Judgement(torch.as_tensor(ratio), None, _ALPHA))["squared_error"]


def estimators(problem: Problem, number: int, n_components: int) -> dict[str, DiscriminantRatioEstimator]:
    source = problem.split(number).source
    example = np.concatenate([dataset.X[:_EXAMPLE_ROWS] for dataset in source])
    source_map = SourceMap.from_table(example, n_components=n_components, scale=_SCALE)
    summaries = [source_map.summarise(dataset.X) for dataset in source]
    parameters: dict[str, Any] = {"scale": _SCALE, "n_components": n_components or 1}
    of_map = {"features": "cosines" if n_components else "columns", "width": 0.8}
    return {
        "rows": DiscriminantRatioEstimator(**parameters).pretrain(source),
        "rows, features of the map": DiscriminantRatioEstimator(**parameters, **of_map).pretrain(source),
        "summaries": DiscriminantRatioEstimator().pretrain(summaries),
        "one merged summary": DiscriminantRatioEstimator().pretrain(sum(summaries)),
    }


def compare(data: str, number: int, n_components: int) -> None:
    problem = PROBLEMS[data]
    for way, estimator in estimators(problem, number, n_components).items():
        record = {
            "data": data,
            "split": number,
            "n_components": n_components,
            "way": way,
            "J": {size: squared_error(problem, number, estimator.model_, size) for size in SUPPORT_SIZES},
            "settings": estimator.settings_._asdict(),
            "calibration": estimator.model_.calibration._asdict(),
            **circumstances(torch.device("cpu")),
        }
        print(json.dumps(record), flush=True)


def many_rows(problem: Problem, number: int, n_rows: int) -> list[np.ndarray]:
    """Give rows of the sources of a split, as many as asked for."""
    rng = np.random.default_rng(number)
    if isinstance(problem, SyntheticProblem):
        family = problem.family(number, "source")
        return [
            rng.normal(mean, std, (n_rows, 1))
            for mean, std in zip(family.means[:_N_PRIVATE], family.stds[:_N_PRIVATE], strict=True)
        ]
    sources = [dataset.X for dataset in problem.split(number).source][:_N_PRIVATE]
    drawn = [X[rng.integers(0, len(X), n_rows)] for X in sources]
    jitter = [0.05 * X.std(0) * rng.standard_normal((n_rows, X.shape[1])) for X in sources]
    return [rows + moved for rows, moved in zip(drawn, jitter, strict=True)]


def private(data: str, number: int, n_rows: int, n_components: int) -> None:
    problem = PROBLEMS[data]
    source = problem.split(number).source
    example = np.concatenate([dataset.X[:_EXAMPLE_ROWS] for dataset in source])
    source_map = SourceMap.from_table(example, n_components=n_components, scale=_SCALE)
    tables = many_rows(problem, number, n_rows)
    for epsilon in (1.0, 2.0, 8.0, None):
        summaries = [source_map.summarise(X, epsilon, random_state=place) for place, X in enumerate(tables)]
        estimator = DiscriminantRatioEstimator().pretrain(summaries)
        record = {
            "data": data,
            "split": number,
            "n_components": n_components,
            "rows_per_source": n_rows,
            "epsilon": epsilon,
            "J": {size: squared_error(problem, number, estimator.model_, size) for size in SUPPORT_SIZES},
            "settings": estimator.settings_._asdict(),
            **circumstances(torch.device("cpu")),
        }
        print(json.dumps(record), flush=True)


@torch.no_grad()
def no_sources(data: str, number: int) -> None:
    problem, found = PROBLEMS[data], {}
    for size in SUPPORT_SIZES:
        evaluation = problem.evaluation(problem.split(number), "target", size, torch.device("cpu"))
        found[size] = evaluation.metrics(Universal().judgement(evaluation.episode, {}))["squared_error"]
    record = {"data": data, "split": number, "way": "no sources", "J": found, **circumstances(torch.device("cpu"))}
    print(json.dumps(record), flush=True)


def peak_megabytes() -> float:
    # Linux counts kilobytes, macOS bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def stream(n_sources: int) -> None:
    """Add up summaries of small datasets as they are drawn, and compare the peak memory with that of a hundred."""
    source_map = SourceMap.from_table(np.random.default_rng(0).normal(size=(100, 8)), n_components=64)

    def tables(count: int) -> Any:
        rng = np.random.default_rng(1)
        return (rng.normal(size=(20, 8)) + 0.3 * rng.normal(size=8) for _ in range(count))

    reduce(add, map(source_map.summarise, tables(100)))
    before, started = peak_megabytes(), time.perf_counter()
    total = reduce(add, map(source_map.summarise, tables(n_sources)))
    record = {
        "n_sources": total.n_sources,
        "n_rows": total.n_rows,
        "beyond_a_hundred_mb": round(peak_megabytes() - before, 1),
        "seconds": round(time.perf_counter() - started, 1),
        **circumstances(torch.device("cpu")),
    }
    print(json.dumps(record))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--components", type=int, nargs="+", default=[512])
    parser.add_argument("--stream", type=int, metavar="N", help="measure the memory of so many sources instead")
    parser.add_argument("--private", type=int, nargs="+", metavar="N", help="rows per source, with noise, instead")
    parser.add_argument("--no-sources", action="store_true", help="measure what needs no sources instead")
    args = parser.parse_args()
    if args.stream:
        stream(args.stream)
        return
    for data in args.data:
        if args.no_sources:
            no_sources(data, 0)
            continue
        for n_rows in args.private or ():
            for n_components in args.components:
                private(data, 0, n_rows, n_components)
        if args.private:
            continue
        for number in range(args.splits):
            for n_components in [0] if data == "gaussian" else args.components:
                compare(data, number, n_components)


if __name__ == "__main__":
    main()
