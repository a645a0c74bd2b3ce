"""Answers beside what a user would pick instead: comparison, changes, weights, outliers and ratios. JSON lines.

Tables of real data are made on two halves: constants of fewratio were chosen on the development half; nothing may be
chosen on the test half. Rivals that are not installed are left out.

pip install -e '.[peers-comparison,peers-outliers,swings]'; export FEWRATIO_DATA=...
python benchmarks/answers.py --only halves --jobs 2 > results/benchmarks/halves.jsonl   # 19 minutes of processor time
python benchmarks/answers.py --only errors --draws 20 > results/benchmarks/errors.jsonl   # 16 minutes
python benchmarks/answers.py --jobs 2                         # all tables
python benchmarks/answers.py --only comparison changes --quick
python benchmarks/answers.py --only weights > results/benchmarks/weights.jsonl            # four minutes
python benchmarks/answers.py --only false power-of-kinds swings --draws 1000 --jobs 16 --seed 71   # > changes.jsonl
python benchmarks/answers.py --only pieces --seed 81 --draws 20 > results/benchmarks/pieces.jsonl
python benchmarks/answers.py --only false   # numpy, scipy and scikit-learn suffice
python benchmarks/answers.py --only limit --draws 2000 --jobs 16            # divergence and its limit; needs no torch
python benchmarks/answers.py --only power --seed 1 --draws 1000 --jobs 16   # as for many_draws.jsonl
"""

import argparse
import json
import sys
from collections.abc import Callable

from joblib import Parallel, parallel_config

from everyday import changes, comparison, errors, outliers, pieces, weights
from everyday.data import HALVES
from everyday.plan import Plan
from fewratio_bench.records import circumstances

try:
    from everyday import ratios
except ImportError:
    # Without torch.
    ratios = None

ANSWERS = {
    module.__name__.split(".")[-1]: module
    for module in (comparison, changes, pieces, weights, outliers, errors, ratios)
    if module
}
# The answer to which a table belongs, what makes it, and the halves of the data that it is made on.
TABLES: dict[str, tuple[str, Callable[..., None], list[str]]] = {
    table: (answer, measure, list(HALVES) if tables is module.ON_HALVES else [])
    for answer, module in ANSWERS.items()
    for tables in (module.ON_HALVES, module.TABLES)
    for table, measure in tables.items()
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=["halves", *ANSWERS, *TABLES], default=list(ANSWERS))
    parser.add_argument("--quick", action="store_true", help="few draws, to see that it runs")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn: pairs, series, divisions of tables")
    parser.add_argument("--draws", type=int, help="pairs, or series, per row of a table")
    parser.add_argument("--kinds", nargs="+", help="kinds of series with or without changes, by default all")
    parser.add_argument("--modes", nargs="+", help="modes in which to look for changes in these, by default all")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    args = parser.parse_args()
    made_by = {"quick": args.quick, "seed": args.seed, "threads": 1, **circumstances()}
    with parallel_config("loky", inner_max_num_threads=1), Parallel(args.jobs) as run:
        plan = Plan(run, args.quick, args.seed, args.draws, args.kinds, args.modes)
        for table, (answer, measure, halves) in TABLES.items():
            if not {table, answer, *(["halves"] if halves else [])} & set(args.only):
                continue
            for half in halves or [None]:
                named = {"half": half} if half else {}

                def report(answer: str = answer, named: dict[str, str] = named, **record: object) -> None:
                    rounded = {key: round(each, 4) if isinstance(each, float) else each for key, each in record.items()}
                    sys.stdout.write(json.dumps({"answer": answer, **named, **rounded, **made_by}) + "\n")
                    sys.stdout.flush()

                measure(report, plan, **named)


if __name__ == "__main__":
    main()
