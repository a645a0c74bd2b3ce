"""Where rows of the reproduction differ from the paper: the same rows with one thing changed at a time.

Prints one JSON line a variant: J and comparison AUC, means over N_S = 1..5 and the splits, with the standard error over
splits. Settings are selected as in the tables; lambda, and a number of steps, are the best on the targets.

    python benchmarks/differences.py --device cuda > results/benchmarks/differences.jsonl
    python benchmarks/differences.py --data Isolet --rows RuLSIF-FT D3RE-FT NoSadapt-FT --device cuda >> the same
"""

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from fewratio_bench.experiments import (
    D3RE_FT,
    NO_SADAPT,
    NO_SADAPT_FT,
    OURS,
    OURS_01,
    RULSIF_FT,
    RULSIF_FT_BY_ADAM,
    to_the_end,
)
from fewratio_bench.methods import Bench, Learned
from fewratio_bench.problems import ISOLET, MNIST_R, PairProblem, Trial
from fewratio_bench.records import circumstances
from fewratio_bench.run import measure

_NO_SADAPT = replace(NO_SADAPT, latent_dims=(32,))
_NO_SADAPT_FT = replace(NO_SADAPT_FT, latent_dims=(32,))
_D3RE_FT = replace(D3RE_FT, bounds=(0.5,))
_RULSIF_FT_BY_ADAM = to_the_end(RULSIF_FT_BY_ADAM)


def trained(method: Learned, **training: Any) -> Learned:
    return replace(method, training=method.training | training)


def fewer_steps(method: Learned) -> dict[str, Learned]:
    counts = {"1 step": 1, "100 steps": 100, "500 steps": 500, "2000 steps": 2_000}
    return {
        f"{words} on the sources": trained(method, max_steps=steps, validate_every=steps)
        for words, steps in counts.items()
    }


VARIANTS: dict[str, dict[str, Learned]] = {
    "NoSadapt": {
        "as it is, K = 32": _NO_SADAPT,
        "a look every 100 steps": trained(_NO_SADAPT, validate_every=100),
        "ratio clipped, weights free": replace(_NO_SADAPT, clip="ratio"),
        "columns standardised": trained(_NO_SADAPT, standardise=True),
        "16 tasks a step": trained(_NO_SADAPT, tasks_per_step=16),
        "learning rate 1e-4": trained(_NO_SADAPT, learning_rate=1e-4),
    },
    "Ours (alpha=0.1)": {
        "as it is, K = 32": OURS_01,
        "a look every 100 steps": trained(OURS_01, validate_every=100),
        "K by validation": replace(OURS_01, latent_dims=OURS.latent_dims),
        "ratio clipped, weights free": replace(OURS_01, clip="ratio"),
        "16 tasks a step": trained(OURS_01, tasks_per_step=16),
        "learning rate 1e-4": trained(OURS_01, learning_rate=1e-4),
    },
    "NoSadapt-FT": {
        "as it is, K = 32": to_the_end(_NO_SADAPT_FT),
        "number of steps selected": _NO_SADAPT_FT,
        "in closed form": replace(_NO_SADAPT_FT, target_head="ridge"),
        "ratio clipped, weights free": to_the_end(replace(_NO_SADAPT_FT, clip="ratio")),
        "in closed form, ratio clipped, weights free": replace(_NO_SADAPT_FT, clip="ratio", target_head="ridge"),
    },
    "RuLSIF-FT": {
        "as it is": RULSIF_FT,
        **fewer_steps(RULSIF_FT),
        "weights clipped": replace(RULSIF_FT, clip="weights"),
        "by Adam": _RULSIF_FT_BY_ADAM,
        **{f"by Adam, {variant}": method for variant, method in fewer_steps(_RULSIF_FT_BY_ADAM).items()},
    },
    "D3RE-FT": {
        "bound 0.5": to_the_end(_D3RE_FT),
        **{f"bound 0.5, {variant}": method for variant, method in fewer_steps(to_the_end(_D3RE_FT)).items()},
    },
}


PROBLEMS = {problem.data: problem for problem in (MNIST_R, ISOLET)}


def judged(method: Learned, problem: PairProblem, args: argparse.Namespace) -> dict[str, float]:
    if args.steps is not None:
        method = trained(method, max_steps=min(args.steps, method.training["max_steps"]))
    device = torch.device(args.device)
    cells = [
        Trial(problem, problem.split(number), size, device) for number in range(args.splits) for size in problem.sizes
    ]
    # By metric, size and setting: the value of each split.
    found: dict[str, Any] = {role: defaultdict(lambda: defaultdict(dict)) for role in ("validation", "target")}
    for cell, records in measure(method, cells, Bench(args.device, progress=False)):
        for record in records:
            setting = json.dumps(record.parameters)
            found[record.role][record.metric, cell.n_support][setting][cell.split.number] = record.value
    numbers = {}
    for metric, sign in (("squared_error", 1), ("auc", -1)):
        by_split = np.zeros(args.splits)
        for size in problem.sizes:
            values = {s: np.array(list(v.values())) for s, v in found["target"][metric, size].items()}
            if method.rule == "validation" and len(values) > 1:
                losses = {s: np.array(list(v.values())) for s, v in found["validation"]["squared_error", size].items()}
                best = [min(losses, key=lambda s: losses[s][split]) for split in range(args.splits)]
                by_split += [values[setting][split] for split, setting in enumerate(best)]
            else:
                by_split += values[min(values, key=lambda s: sign * values[s].mean())]
        by_split /= len(problem.sizes)
        numbers[metric] = round(float(by_split.mean()), 4)
        numbers[f"{metric}_error"] = round(float(by_split.std(ddof=1)) / args.splits**0.5, 4)
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=list(PROBLEMS), default=MNIST_R.data)
    parser.add_argument("--rows", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--variants", nargs="+", help="only these")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--steps", type=int, help="no more steps than this")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    for row in args.rows:
        for variant, method in VARIANTS[row].items():
            if args.variants and variant not in args.variants:
                continue
            numbers = judged(method, PROBLEMS[args.data], args)
            record = {"data": args.data, "row": row, "variant": variant, **numbers, "splits": args.splits}
            sys.stdout.write(json.dumps(record | circumstances(torch.device(args.device))) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
