"""How long the trainings behind the paper's Table 1 take: 2 collections x 5 sizes x 10 splits x 7 values of K.

One process a collection, both at once, each training its 350 models of up to 10,000 steps as one ensemble. On a GPU the
two share it best under NVIDIA's multi-process service. The paper states 137.9 s for one training.

    python benchmarks/paper_grid.py --device cuda
"""

import argparse
import json
import multiprocessing
import os
import sys
import time

import torch

from fewratio_bench.experiments import OURS
from fewratio_bench.methods import Bench
from fewratio_bench.problems import ISOLET, MNIST_R, Trial
from fewratio_bench.records import circumstances

PROBLEMS = {problem.data: problem for problem in (MNIST_R, ISOLET)}


def train(data: str, device: str, splits: int) -> dict[str, float]:
    problem, bench = PROBLEMS[data], Bench(device, progress=False)
    cells = [
        Trial(problem, problem.split(number), size, torch.device(device))
        for number in range(splits)
        for size in problem.sizes
    ]
    started = time.time()
    # The first verdict comes when all models are trained.
    next(iter(OURS.judge(cells, bench)))
    (learned,) = bench.trained.values()
    return {
        "models": len(learned),
        "training_seconds": learned[0][1].seconds,
        "started": started,
        "ended": time.time(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--splits", type=int, default=10)
    args = parser.parse_args()
    with multiprocessing.get_context("spawn").Pool(len(PROBLEMS)) as pool:
        found = pool.starmap(train, [(data, args.device, args.splits) for data in PROBLEMS])
    record = {
        "models": sum(part["models"] for part in found),
        **{
            f"{data}, training seconds": round(part["training_seconds"], 1)
            for data, part in zip(PROBLEMS, found, strict=True)
        },
        "both, from first start to last end": round(
            max(part["ended"] for part in found) - min(part["started"] for part in found), 1
        ),
        "multi-process service": "CUDA_MPS_PIPE_DIRECTORY" in os.environ,
        **circumstances(torch.device(args.device)),
    }
    sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
