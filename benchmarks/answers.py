"""Answers beside what a user would pick instead: comparison, changes, weights, outliers and ratios. JSON lines.

pip install -e '.[peers-comparison,peers-outliers,peers-changes]'; export FEWRATIO_DATA=...
python benchmarks/answers.py --jobs 2                         # all tables; about 50 minutes of processor time
python benchmarks/answers.py --only comparison changes --quick
"""

import argparse
import importlib
import json
import sys

import torch
from joblib import Parallel, delayed

from fewratio_bench.records import circumstances

TABLES = ("comparison", "changes", "weights", "outliers", "ratios")


def measure(name: str, quick: bool, made_by: dict[str, object]) -> None:
    """Write the records of a table, each as soon as it is there."""
    torch.set_num_threads(1)

    def report(answer: str = name, **record: object) -> None:
        rounded = {key: round(value, 4) if isinstance(value, float) else value for key, value in record.items()}
        # One call, so that lines of several processes do not mix.
        sys.stdout.write(json.dumps({"answer": answer, **rounded, "quick": quick, **made_by}) + "\n")
        sys.stdout.flush()

    importlib.import_module(f"everyday.{name}").tables(report, quick)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--quick", action="store_true", help="few draws, to see that it runs")
    parser.add_argument("--jobs", type=int, default=1, help="tables to measure at once, a process each")
    args = parser.parse_args()
    made_by = {"threads": 1, **circumstances(torch.device("cpu"))}
    Parallel(args.jobs)(delayed(measure)(name, args.quick, made_by) for name in args.only)


if __name__ == "__main__":
    main()
