"""Whether the two best rows of outlier detection are level: Ours and RuLSIF-FT on splits that are in no table.

Prints one JSON line a source: means over N_S = 1..5 with settings selected as in the tables, their difference and its
paired t-test over the splits. Splits have targets in common, so the test is surer of itself than it should be.

    python benchmarks/more_splits.py --device cuda > results/benchmarks/more_splits.jsonl
"""

import argparse
import json
import sys
from dataclasses import replace

import numpy as np
import torch
from scipy.stats import ttest_rel

from fewratio_bench.aggregation import AVERAGE, aggregate
from fewratio_bench.experiments import EXPERIMENTS, OURS, RULSIF_FT
from fewratio_bench.methods import Bench
from fewratio_bench.problems import LANDMINE, SCHOOL, OutlierProblem, Trial
from fewratio_bench.records import Record, circumstances
from fewratio_bench.run import PAPER_SPLITS, measure

METHODS = (OURS, RULSIF_FT)
PROBLEMS = {problem.data: problem for problem in (LANDMINE, SCHOOL)}


def aucs_by_split(problem: OutlierProblem, args: argparse.Namespace) -> list[np.ndarray]:
    """AUC of each method in every split by the rule with which the paper selects, as the table has it."""
    methods = [replace(method, training=method.training | {"max_steps": args.steps}) for method in METHODS]
    device = torch.device(args.device)
    splits = [problem.split(number) for number in range(args.first, args.first + args.splits)]
    cells = [Trial(problem, split, size, device) for split in splits for size in problem.sizes]
    records: list[Record] = []
    for method in methods:
        for _, found in measure(method, cells, Bench(args.device, progress=False)):
            records += found
    table = EXPERIMENTS["outlier-detection"]
    panels = tuple(panel for panel in table.panels if panel.problems == (problem,))
    experiment = replace(table, panels=panels, methods=tuple(methods), shown=())
    (result,) = aggregate(experiment, {problem.data: records})
    rules = {method.name: method.rule for method in methods}
    return [np.array(row.values[AVERAGE]) for row in result.rows if row.selection == rules[row.method]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--first", type=int, default=PAPER_SPLITS, help="number of the first split")
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    facts = {"first split": args.first, "splits": args.splits, **circumstances(torch.device(args.device))}
    for problem in (PROBLEMS[data] for data in args.data):
        values = aucs_by_split(problem, args)
        difference = values[0] - values[1]
        record = {
            "data": problem.data,
            **{method.name: round(float(each.mean()), 3) for method, each in zip(METHODS, values, strict=True)},
            "difference": round(float(difference.mean()), 3),
            "its standard error": round(float(difference.std(ddof=1)) / args.splits**0.5, 3),
            "paired t-test, p": round(float(ttest_rel(*values).pvalue), 4),
        }
        sys.stdout.write(json.dumps(record | facts) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
