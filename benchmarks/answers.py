"""Answers beside what a user would pick instead: comparison, outliers, changes, ratios and weights. JSON lines.

pip install -e '.[peers-outliers,peers-changes]'; export FEWRATIO_DATA=...
python benchmarks/answers.py                                  # all tables; hours on one core
python benchmarks/answers.py --only comparison changes --quick
"""

import argparse
import importlib
import json
import sys

import torch

from fewratio_bench.records import circumstances

TABLES = ("comparison", "outliers", "changes", "ratios")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--quick", action="store_true", help="few draws, to see that it runs")
    args = parser.parse_args()
    torch.set_num_threads(1)
    made_by = {"threads": 1, **circumstances(torch.device("cpu"))}
    for name in args.only:

        def report(answer: str = name, **record: object) -> None:
            rounded = {key: round(value, 4) if isinstance(value, float) else value for key, value in record.items()}
            sys.stdout.write(json.dumps({"answer": answer, **rounded, "quick": args.quick, **made_by}) + "\n")
            sys.stdout.flush()

        importlib.import_module(f"everyday.{name}").tables(report, args.quick)


if __name__ == "__main__":
    main()
