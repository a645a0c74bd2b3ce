"""Bad inputs, damaged files and faults of the machine, counted: what becomes of each. JSON lines.

python benchmarks/faults.py >> results/benchmarks/faults.jsonl              # all; about half an hour on two idle cores
python benchmarks/faults.py --quick
python benchmarks/faults.py --only kills --count 100

Every part tries so many cases and counts outcomes; whatever must not happen is listed under "failures", and makes the
exit status 1. docs/results/faults.md says what the parts are.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))

from fewratio_bench.records import circumstances
from hostile import damage, kills, python_calls, sizes, workers

FINE = {"answered", "refused", "read", "same answer", "survived", "same bits", "within 1 GB"}
# Cases of a full run, and of a quick one; 0 for a part that has its own number.
COUNTS = {
    "python": (5000, 150),
    "tables": (400, 35),
    "files": (1000, 32),
    "kills": (100, 0),
    "signals": (60, 0),
    "machine": (0, 0),
    "workers": (0, 0),
    **{f"size:{what}": (0, 0) for what in sizes.CASES},
}


def cases(part: str, count: int) -> Iterator[tuple[Any, ...]]:
    """Go through the cases of a part: what was tried, its outcome and, of some, what was measured."""
    match part:
        case "python":
            calls = list(python_calls.calls())
            for number in np.random.default_rng(0).permutation(len(calls))[:count]:
                yield "call", python_calls.outcome(calls[number])
        case "tables":
            yield from damage.bad_tables(count)
        case "files":
            yield from damage.damages(count)
        case "kills":
            yield from kills.kills(count)
        case "signals":
            yield from kills.signals(count)
        case "machine":
            yield from kills.starved()
        case "workers":
            yield from workers.answers()
        case _:
            yield sizes.measured(part.partition(":")[2], count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=COUNTS, default=COUNTS)
    parser.add_argument("--count", type=int, help="cases per part")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop a part after so long, and record it")
    parser.add_argument("--quick", action="store_true", help="a few cases of the parts that take seconds")
    args = parser.parse_args()
    torch.set_num_threads(1)
    failed = False
    for part in args.only:
        full, quick = COUNTS[part]
        if args.quick and not quick:
            continue
        started, outcomes, failures, figures = time.perf_counter(), Counter(), [], []
        for kind, outcome, *measured in cases(part, args.count or (quick if args.quick else full)):
            outcomes[f"{kind}: {outcome if outcome in FINE else 'failed'}"] += 1
            if outcome not in FINE:
                failures.append(outcome)
            figures += measured
            if time.perf_counter() - started > args.seconds:
                break
        record = {"part": part, "cases": outcomes.total(), "outcomes": dict(sorted(outcomes.items()))}
        record |= {"failures": failures, "seconds": round(time.perf_counter() - started, 1), "quick": args.quick}
        record |= {"figures": figures} if figures else {}
        sys.stdout.write(json.dumps(record | circumstances(torch.device("cpu"))) + "\n")
        sys.stdout.flush()
        failed |= bool(failures)
    sys.exit(failed)


if __name__ == "__main__":
    main()
