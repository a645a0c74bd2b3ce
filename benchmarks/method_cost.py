"""Seconds a method takes on one split of Mnist-r with five support instances, on a CPU.

Learning from the sources once (one length of dataset vectors), and judging all 100 ordered pairs of the targets and of
the validation datasets at one setting; the paper's own seconds (its computation cost, on a 2.20 GHz CPU) beside them.

    FEWRATIO_DATA=... python benchmarks/method_cost.py > results/benchmarks/method_cost.jsonl
    FEWRATIO_DATA=... python benchmarks/method_cost.py --methods RULSIF_FT
"""

import argparse
import json
import sys
import time
from dataclasses import replace

import torch

from fewratio_bench import experiments
from fewratio_bench.aggregation import published_numbers
from fewratio_bench.methods import Bench, Kernel, Learned, Method, TargetTrained
from fewratio_bench.problems import MNIST_R, Trial
from fewratio_bench.records import circumstances

NAMES = (
    *("RULSIF", "RULSIF_RATIO", "ULSIF", "MMD", "D3RE", "OURS", "NO_LATENT", "NO_SADAPT", "NO_SADAPT_FT"),
    *("RULSIF_FT", "D3RE_FT", "DEEP_OURS", "LEARNED_ALPHA", "OURS_BETTER"),
)


def one_setting(method: Method, max_steps: int) -> Method:
    """Give the method without its grid."""
    if isinstance(method, Learned):
        training = method.training | {"max_steps": max_steps}
        bounds, steps = method.bounds[:1], method.steps[-1:]
        return replace(method, latent_dims=(32,), regs=(0.1,), steps=steps, bounds=bounds, training=training)
    if isinstance(method, TargetTrained):
        return replace(method, bounds=method.bounds[:1], steps=method.steps[-1:])
    return replace(method, regs=(0.1,)) if isinstance(method, Kernel) else method


def published(name: str | None, part: str) -> float | None:
    names = [f"{name} ({part})", *([str(name)] if part == "test" else [])]
    found = [published_numbers().get(("computation-cost", "Mnist-r", "5", each, "seconds")) for each in names]
    return next((value for value in found if value is not None), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-steps", type=int, default=10_000)
    parser.add_argument("--methods", nargs="+", choices=NAMES, default=NAMES, help="only these")
    args = parser.parse_args()
    device = torch.device("cpu")
    cell = Trial(MNIST_R, MNIST_R.split(0), 5, device)
    for name in args.methods:
        method: Method = getattr(experiments, name)
        single, bench = one_setting(method, args.max_steps), Bench("cpu")
        times = []
        # The second time what was learned is there already.
        for _ in range(2):
            started = time.perf_counter()
            for _verdict in single.judge([cell], bench):
                pass
            times.append(time.perf_counter() - started)
        learns = isinstance(single, Learned)
        record = {
            "method": method.name,
            "learning, seconds": round(times[0] - times[1], 2) if learns else 0.0,
            "steps of learning": args.max_steps if learns else 0,
            "judging 200 pairs, seconds": round(times[1], 3),
            "published, train": published(method.published, "train"),
            "published, test (100 pairs)": published(method.published, "test"),
            "threads": torch.get_num_threads(),
            **circumstances(device),
        }
        sys.stdout.write(json.dumps(record) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
