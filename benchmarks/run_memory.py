"""Peak memory of a benchmark run beyond what its datasets take: all splits and sizes, one quick method.

python benchmarks/run_memory.py > results/benchmarks/run_memory.jsonl
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import torch

from fewratio_bench.methods import Bench, Kernel
from fewratio_bench.problems import ISOLET, MNIST_R, Trial
from fewratio_bench.records import circumstances
from fewratio_bench.run import measure

PROBLEMS = {problem.data: problem for problem in (MNIST_R, ISOLET)}


def peak_bytes() -> int:
    # Linux counts kilobytes, macOS bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def run(data: str, n_splits: int) -> None:
    problem, device = PROBLEMS[data], torch.device("cpu")
    splits = [problem.split(number) for number in range(n_splits)]
    trials = [Trial(problem, split, size, device) for split in splits for size in problem.sizes]
    before, started = peak_bytes(), time.perf_counter()
    n_records = sum(len(records) for _, records in measure(Kernel("RuLSIF", None, regs=(0.1,)), trials, Bench("cpu")))
    record = {
        "data": data,
        "splits x sizes": len(trials),
        "records": n_records,
        "beyond_data_gb": round((peak_bytes() - before) / 1e9, 3),
        "seconds": round(time.perf_counter() - started, 1),
        **circumstances(device),
    }
    sys.stdout.write(json.dumps(record) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data", choices=list(PROBLEMS), help="by default both")
    args = parser.parse_args()
    if args.data:
        run(args.data, args.splits)
        return
    # A process never forgets its peak, so each problem gets one of its own.
    for data in PROBLEMS:
        subprocess.run([sys.executable, __file__, "--data", data, "--splits", str(args.splits)], check=True)


if __name__ == "__main__":
    main()
