"""What early stopping is worth where outliers are sought: models as validation chose them, and after all 10,000 steps.

Prints one JSON line a source, method and way: the mean AUC over N_S = 1..5 and the splits. What is fine-tuned on the
target is so by Adam, for all its 500 steps.

    python benchmarks/late_stopping.py --device cuda > results/benchmarks/late_stopping.jsonl
    python benchmarks/late_stopping.py --data School --methods NoLatent NoSadapt --splits 4 --device cpu
"""

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import replace

import numpy as np
import torch

from fewratio_bench.aggregation import published_numbers
from fewratio_bench.experiments import D3RE_FT, NO_LATENT, NO_SADAPT, OURS, RULSIF_FT_BY_ADAM, to_the_end
from fewratio_bench.methods import Bench, Learned
from fewratio_bench.problems import LANDMINE, SCHOOL, OutlierProblem, Trial
from fewratio_bench.records import circumstances
from fewratio_bench.run import measure

# One setting each: what is asked is how long to train.
METHODS = (
    replace(OURS, latent_dims=(32,)),
    NO_LATENT,
    replace(NO_SADAPT, latent_dims=(32,)),
    to_the_end(RULSIF_FT_BY_ADAM),
    to_the_end(replace(D3RE_FT, bounds=(0.5,))),
)
PROBLEMS = {problem.data: problem for problem in (LANDMINE, SCHOOL)}


def auc(method: Learned, problem: OutlierProblem, n_splits: int, device: str) -> dict[str, float]:
    cells = [
        Trial(problem, problem.split(number), size, torch.device(device))
        for number in range(n_splits)
        for size in problem.sizes
    ]
    by_split = defaultdict(list)
    for cell, records in measure(method, cells, Bench(device, progress=False)):
        by_split[cell.split.number] += [r.value for r in records if (r.role, r.metric) == ("target", "auc")]
    means = [np.mean(values) for values in by_split.values()]
    error = np.std(means, ddof=1) / len(means) ** 0.5
    return {"auc": round(float(np.mean(means)), 2), "standard_error": round(float(error), 2)}


def published(problem: OutlierProblem, method: Learned) -> float:
    tables = ("outlier-detection", "ablation-outlier-detection")
    name = method.trained_as or method.name
    found = [published_numbers().get((table, problem.data, "avg", name, "auc")) for table in tables]
    return next(value for value in found if value is not None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--methods", nargs="+", help="only these")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    late = {"max_steps": args.steps, "validate_every": args.steps, "patience": None}
    for problem in (PROBLEMS[data] for data in args.data):
        for method in (method for method in METHODS if not args.methods or method.name in args.methods):
            for way, training in (("best look of every 100 steps", {"max_steps": args.steps}), ("last step", late)):
                found = auc(replace(method, training=method.training | training), problem, args.splits, args.device)
                record = {"data": problem.data, "method": method.name, "weights": way, **found, "splits": args.splits}
                record["published"] = published(problem, method)
                sys.stdout.write(json.dumps(record | circumstances(torch.device(args.device))) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
