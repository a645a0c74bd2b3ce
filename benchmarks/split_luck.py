"""How much of a number is which datasets happen to be the targets: IF and LOF, which learn nothing from the others.

Scores every dataset once, and averages over the targets of very many draws of ten splits. Prints one JSON line a method
and source: the AUC of the hardest and of the easiest dataset, the middle and the spread of the ten splits' mean, and in
how many draws it is at least as far from the middle as the paper's.

    FEWRATIO_DATA=... python benchmarks/split_luck.py > results/benchmarks/split_luck.jsonl
"""

import argparse
import json
import sys

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from fewratio import load_collection
from fewratio.data.splits import PROTOCOLS
from fewratio_bench.experiments import IF, LOF
from fewratio_bench.methods.detectors import Detector
from fewratio_bench.problems import LANDMINE, SCHOOL, OutlierProblem
from fewratio_bench.records import circumstances
from fewratio_bench.run import PAPER_SPLITS
from fewratio_bench.tables import published_numbers

N_TREES, N_NEIGHBOURS = 100, 50


def aucs(method: Detector, problem: OutlierProblem, value: int) -> dict[str, float]:
    found = {}
    for dataset in load_collection(problem.source):
        normal = ~np.asarray(dataset.is_outlier, dtype=bool)
        found[dataset.name] = 100 * float(roc_auc_score(normal, method.scores(dataset.X[:0], dataset.X, 0, value)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=1_000, help="splits to draw ten from")
    parser.add_argument("--draws", type=int, default=20_000)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    for problem in (LANDMINE, SCHOOL):
        collection, protocol = load_collection(problem.source), PROTOCOLS[problem.source]
        targets = [
            [dataset.name for dataset in protocol.split(collection, number).target] for number in range(args.splits)
        ]
        for method, value in ((IF, N_TREES), (LOF, N_NEIGHBOURS)):
            by_name = aucs(method, problem, value)
            by_split = np.array([np.mean([by_name[name] for name in names]) for names in targets])
            means = rng.choice(by_split, (args.draws, PAPER_SPLITS)).mean(1)
            published = published_numbers()["outlier-detection", problem.data, "avg", method.name, "auc"]
            further = np.abs(means - means.mean()) >= abs(published - means.mean())
            record = {
                "method": method.name,
                "data": problem.data,
                method.parameter: value,
                "hardest dataset": round(min(by_name.values()), 1),
                "easiest dataset": round(max(by_name.values()), 1),
                "mean of ten splits": round(float(means.mean()), 2),
                "its standard deviation": round(float(means.std()), 2),
                "published": published,
                "share of draws as far off": round(float(further.mean()), 3),
                **circumstances(torch.device("cpu")),
            }
            sys.stdout.write(json.dumps(record) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
