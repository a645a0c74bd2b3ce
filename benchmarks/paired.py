"""The paired t-test between two rows of a table that no table gives, from the committed records.

Rows are named as in the table, each with its selection after a slash. Prints one JSON line: both means, their
difference and the p-value over the splits, by the average over N_S or at one size.

    python benchmarks/paired.py dataset-comparison Mnist-r D3RE-FT/best_on_test "RuLSIF-FT, by Adam/none"
    python benchmarks/paired.py ... >> results/benchmarks/paired.jsonl      # shown in docs/results/row-by-row.md
    python benchmarks/paired.py ablation-relative-dre Isolet NoSadapt/validation NoSadapt-FT/validation --size 1
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from scipy.stats import ttest_rel

from fewratio_bench.aggregation import AVERAGE, aggregate
from fewratio_bench.experiments import EXPERIMENTS
from fewratio_bench.run import record_file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=list(EXPERIMENTS))
    parser.add_argument("data")
    parser.add_argument("rows", nargs=2, metavar="ROW/SELECTION")
    parser.add_argument("--size", default=AVERAGE, help="number of support instances")
    parser.add_argument("--results", type=Path, default=Path("results"))
    args = parser.parse_args()
    experiment = EXPERIMENTS[args.experiment]
    records = {problem.data: record_file(args.results, problem).read() for problem in experiment.problems}
    lines = {
        f"{row.method}/{row.selection}": np.array(row.values[args.size])
        for result in aggregate(experiment, records)
        for row in result.rows
        if result.panel.data == args.data
    }
    unknown = [row for row in args.rows if row not in lines]
    if unknown:
        parser.error(f"{unknown} is not there; there are {', '.join(lines)}")
    first, second = (lines[row] for row in args.rows)
    record = {
        "table": args.experiment,
        "data": args.data,
        "N_S": args.size,
        **{row: round(float(lines[row].mean()), 4) for row in args.rows},
        "difference": round(float((first - second).mean()), 4),
        "paired t-test, p": float(f"{ttest_rel(first, second).pvalue:.2g}"),
        "splits": len(first),
    }
    sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
