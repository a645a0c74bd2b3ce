"""Answers beside what a user would pick instead: comparison, changes, weights, outliers and ratios. JSON lines.

pip install -e '.[peers-comparison,peers-outliers,peers-changes]'; export FEWRATIO_DATA=...
python benchmarks/answers.py --jobs 2                         # all tables; about 50 minutes of processor time
python benchmarks/answers.py --only comparison changes --quick
python benchmarks/answers.py --only power --seed 1 --draws 1000 --jobs 16   # as for many_draws.jsonl
"""

import argparse
import json
import sys
from collections.abc import Callable

import torch
from joblib import Parallel, parallel_config

from everyday import changes, comparison, outliers, ratios, weights
from everyday.plan import Plan
from fewratio_bench.records import circumstances

ANSWERS = {module.__name__.split(".")[-1]: module.TABLES for module in (comparison, changes, weights, outliers, ratios)}
TABLES: dict[str, tuple[str, Callable[..., None]]] = {
    table: (answer, measure) for answer, tables in ANSWERS.items() for table, measure in tables.items()
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*ANSWERS, *TABLES], default=list(ANSWERS))
    parser.add_argument("--quick", action="store_true", help="few draws, to see that it runs")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn: pairs, series, divisions of tables")
    parser.add_argument("--draws", type=int, help="pairs, or series, per row of a table")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    args = parser.parse_args()
    torch.set_num_threads(1)
    made_by = {"quick": args.quick, "seed": args.seed, "threads": 1, **circumstances(torch.device("cpu"))}
    chosen = [table for table, (answer, _) in TABLES.items() if {table, answer} & set(args.only)]
    with parallel_config("loky", inner_max_num_threads=1), Parallel(args.jobs) as run:
        plan = Plan(run, args.quick, args.seed, args.draws)
        for table in chosen:
            answer, measure = TABLES[table]

            def report(answer: str = answer, **record: object) -> None:
                rounded = {key: round(value, 4) if isinstance(value, float) else value for key, value in record.items()}
                sys.stdout.write(json.dumps({"answer": answer, **rounded, **made_by}) + "\n")
                sys.stdout.flush()

            measure(report, plan)


if __name__ == "__main__":
    main()
