"""What early stopping is worth on School: models as validation chose them, and after all 10,000 steps.

Prints one JSON line a method and way, five normals a dataset, the mean over some splits.

    python benchmarks/late_stopping.py
"""

import argparse
import json
import sys
import time
from dataclasses import replace

import numpy as np
import torch

from fewratio_bench.experiments import OURS, RULSIF_FT
from fewratio_bench.methods import Bench, Learned
from fewratio_bench.problems import SCHOOL, Cell
from fewratio_bench.records import circumstances
from fewratio_bench.run import measure

# One setting each: what is asked is how long to train.
METHODS = (replace(OURS, latent_dims=(32,)), replace(RULSIF_FT, regs=(0.1,)))


def auc(method: Learned, n_splits: int) -> dict[str, float]:
    device = torch.device("cpu")
    cells = [Cell(SCHOOL, SCHOOL.split(number), 5, device) for number in range(n_splits)]
    started = time.perf_counter()
    records = [record for _, found in measure(method, cells, Bench("cpu", progress=False)) for record in found]
    values = [record.value for record in records if record.role == "target" and record.metric == "auc"]
    return {
        "auc": round(float(np.mean(values)), 2),
        "standard_error": round(float(np.std(values, ddof=1)) / len(values) ** 0.5, 2),
        "seconds": round(time.perf_counter() - started, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--steps", type=int, default=10_000)
    args = parser.parse_args()
    torch.set_num_threads(1)
    late = {"max_steps": args.steps, "validate_every": args.steps, "patience": None}
    for method in METHODS:
        for way, training in (("best look of every 100 steps", {"max_steps": args.steps}), ("last step", late)):
            found = auc(replace(method, training=method.training | training), args.splits)
            facts = {"splits": args.splits, "n_support": 5, "threads": 1, **circumstances(torch.device("cpu"))}
            sys.stdout.write(json.dumps({"method": method.name, "weights": way, **found, **facts}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
