"""How much of a number is which datasets happen to be the targets: methods that learn nothing from the others.

Scores every dataset once, and averages over the targets of very many draws of ten splits. Prints one JSON line a method
and source: the AUC of the hardest and of the easiest dataset, the middle and the spread of the ten splits' mean, and in
how many draws it is at least as far from the middle as the paper's. Then one for the two methods that are the paper's
worst on School, with their settings selected on each draw as in the tables: in how many LOF is below D3RE.

    FEWRATIO_DATA=... python benchmarks/split_luck.py --jobs 2 > results/benchmarks/split_luck.jsonl
"""

import argparse
import json
import sys

import joblib
import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from fewratio.data import load_collection
from fewratio.data.collection import Collection
from fewratio_bench.aggregation import published_numbers
from fewratio_bench.experiments import D3RE, IF, LOF, to_the_end
from fewratio_bench.methods import Bench
from fewratio_bench.methods.untrained import Detector
from fewratio_bench.problems import LANDMINE, SCHOOL, OutlierProblem, Trial
from fewratio_bench.records import circumstances
from fewratio_bench.run import PAPER_SPLITS, measure
from fewratio_bench.splits import PROTOCOLS, Split

N_TREES, N_NEIGHBOURS = 100, 50


def aucs(method: Detector, collection: Collection, value: int) -> np.ndarray:
    """AUC of every dataset."""
    found = []
    for dataset in collection:
        normal = ~np.asarray(dataset.is_outlier, dtype=bool)
        found.append(100 * float(roc_auc_score(normal, method.scores(dataset.X[:0], dataset.X, 0, value))))
    return np.array(found)


def d3re_aucs(problem: OutlierProblem, collection: Collection, number: int) -> np.ndarray:
    """AUC of D3RE after all its steps on one dataset; axes (number of support instances, bound)."""
    torch.set_num_threads(1)
    method, alone = to_the_end(D3RE), collection[[number]]
    cells = [Trial(problem, Split(alone, alone, alone, number), size, torch.device("cpu")) for size in problem.sizes]
    found = np.zeros((len(cells), len(method.bounds)))
    for cell, records in measure(method, cells, Bench("cpu", progress=False)):
        for record in records:
            if (record.role, record.metric) == ("target", "auc"):
                found[cells.index(cell), method.bounds.index(record.parameters["bound"])] = record.value
    return found


def drawn_means(by_dataset: np.ndarray, targets: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Mean over the targets of each draw's splits; other axes stay."""
    return by_dataset[targets].mean(1)[draws].mean(1)


def drawn_splits(problem: OutlierProblem, args: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of every split's targets, and of the splits of every draw."""
    collection, protocol = load_collection(problem.source), PROTOCOLS[problem.source]
    splits = [protocol.split(collection, number) for number in range(args.splits)]
    targets = np.array([[collection.names.index(name) for name in split.target.names] for split in splits])
    return targets, np.random.default_rng(0).integers(args.splits, size=(args.draws, PAPER_SPLITS))


def luck(method: Detector, problem: OutlierProblem, value: int, args: argparse.Namespace) -> dict[str, object]:
    by_dataset = aucs(method, load_collection(problem.source), value)
    means = drawn_means(by_dataset, *drawn_splits(problem, args))
    published = published_numbers()["outlier-detection", problem.data, "avg", method.name, "auc"]
    further = np.abs(means - means.mean()) >= abs(published - means.mean())
    return {
        "method": method.name,
        "data": problem.data,
        method.parameter: value,
        "hardest dataset": round(by_dataset.min(), 1),
        "easiest dataset": round(by_dataset.max(), 1),
        "mean of ten splits": round(means.mean(), 2),
        "its standard deviation": round(means.std(), 2),
        "published": published,
        "share of draws as far off": round(further.mean(), 3),
    }


def lof_below_d3re(problem: OutlierProblem, args: argparse.Namespace) -> dict[str, object]:
    collection, drawn = load_collection(problem.source), drawn_splits(problem, args)
    lof = np.stack([aucs(LOF, collection, value) for value in LOF.values], axis=-1)
    each = (joblib.delayed(d3re_aucs)(problem, collection, number) for number in range(len(collection)))
    d3re = np.stack(joblib.Parallel(args.jobs)(each))
    lofs, d3res = drawn_means(lof, *drawn).max(-1), drawn_means(d3re, *drawn).max(-1).mean(-1)
    return {
        "method": "LOF and D3RE",
        "data": problem.data,
        "mean of ten splits": [round(lofs.mean(), 2), round(d3res.mean(), 2)],
        "standard deviation of their difference": round((lofs - d3res).std(), 2),
        "share of draws with LOF below": round((lofs < d3res).mean(), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=1_000, help="splits to draw ten from")
    parser.add_argument("--draws", type=int, default=20_000)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()

    def tell(record: dict[str, object]) -> None:
        sys.stdout.write(json.dumps(record | circumstances(torch.device("cpu"))) + "\n")
        sys.stdout.flush()

    for problem in (LANDMINE, SCHOOL):
        tell(luck(IF, problem, N_TREES, args))
        tell(luck(LOF, problem, N_NEIGHBOURS, args))
    tell(lof_below_d3re(SCHOOL, args))


if __name__ == "__main__":
    main()
