"""How long the trainings behind the paper's Table 1 take: 2 collections x 5 sizes x 10 splits x 7 values of K.

One process a collection, both at once, each training its 350 models of up to 10,000 steps as one ensemble. On a GPU the
two share it best under NVIDIA's multi-process service. The paper states 137.9 s for one training. After the clock has
stopped all models are evaluated on the targets: means of J and of AUC, to see what TF32 changes.

    python benchmarks/paper_grid.py --device cuda --tf32
"""

import argparse
import itertools
import json
import multiprocessing
import os
import sys
import time

import numpy as np
import torch

from fewratio_bench.experiments import OURS
from fewratio_bench.methods import Bench
from fewratio_bench.problems import ISOLET, MNIST_R, Trial
from fewratio_bench.records import circumstances

PROBLEMS = {problem.data: problem for problem in (MNIST_R, ISOLET)}


def train(data: str, device: str, splits: int, tf32: bool) -> dict[str, float]:
    if tf32:
        torch.set_float32_matmul_precision("high")
    problem, bench = PROBLEMS[data], Bench(device, progress=False)
    cells = [
        Trial(problem, problem.split(number), size, torch.device(device))
        for number in range(splits)
        for size in problem.sizes
    ]
    started = time.time()
    # The first verdict comes when all models are trained.
    verdicts = iter(OURS.judge(cells, bench))
    first = next(verdicts)
    ended = time.time()
    (learned,) = bench.trained.values()
    found = [
        verdict.trial.evaluations[verdict.role].metrics(verdict.judgement)
        for verdict in itertools.chain([first], verdicts)
        if verdict.role == "target"
    ]
    means = {name: float(np.mean([metrics[name] for metrics in found])) for name in found[0]}
    times = {"training_seconds": learned[0][1].seconds, "started": started, "ended": ended}
    return {"models": len(learned)} | times | means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--tf32", action="store_true", help="let matrix products use TF32")
    args = parser.parse_args()
    with multiprocessing.get_context("spawn").Pool(len(PROBLEMS)) as pool:
        found = pool.starmap(train, [(data, args.device, args.splits, args.tf32) for data in PROBLEMS])
    record = {
        "models": sum(part["models"] for part in found),
        **{
            f"{data}, {name}": round(part[key], digits)
            for data, part in zip(PROBLEMS, found, strict=True)
            for name, key, digits in (
                ("training seconds", "training_seconds", 1),
                ("J", "squared_error", 4),
                ("AUC", "auc", 2),
            )
        },
        "both, from first start to last end": round(
            max(part["ended"] for part in found) - min(part["started"] for part in found), 1
        ),
        "tf32": args.tf32,
        "multi-process service": "CUDA_MPS_PIPE_DIRECTORY" in os.environ,
        **circumstances(torch.device(args.device)),
    }
    sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
