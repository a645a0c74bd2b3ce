"""Whether the shift that a comparison says it would have found is found in four of five cases (JSON lines).

python benchmarks/detectable.py --draws 120 >> results/benchmarks/detectable.jsonl

Two normal samples from one distribution are tested until the test finds nothing; it then names a shift. That shift is
planted in a random column of two new samples of the same size. ``found`` is the share of draws in which it is found.
``seconds`` are processor seconds of a test that names a shift, ``seconds_without`` of one that does not.
"""

import argparse
import json
import time
from typing import Any

import numpy as np

from fewratio.testing import LEVEL, TwoSampleTest, two_sample_test
from fewratio_bench.records import circumstances

SIZES, COLUMNS = (5, 30, 200), (1, 5, 20)


def test(X: Any, n: int, rng: np.random.Generator, names_shift: bool) -> TwoSampleTest:
    """Test whether the first n rows differ from the others."""
    d = X.shape[1]
    columns = [slice(i, i + 1) for i in range(d)]
    shiftable = range(d) if names_shift else ()
    return two_sample_test(X, np.arange(len(X)) < n, columns, 999, rng, shiftable=shiftable)


def measure(n: int, d: int, draws: int, rng: np.random.Generator) -> dict[str, Any]:
    """Plant the shifts that tests of n + n rows of d columns name."""
    shifts, n_found, seconds = list[float](), 0, np.zeros(2)
    while len(shifts) < draws:
        start = time.process_time()
        result = test(rng.normal(size=(2 * n, d)), n, rng, True)
        if result.p_value <= LEVEL:
            continue
        seconds[0] += time.process_time() - start
        shift = result.detectable_shift
        assert shift is not None
        shifts.append(shift)
        X = rng.normal(size=(2 * n, d))
        X[:n, rng.integers(d)] += shift
        start = time.process_time()
        n_found += test(X, n, rng, False).p_value <= LEVEL
        seconds[1] += time.process_time() - start
    named = {"shift": round(float(np.mean(shifts)), 3), "deviation_of_shift": round(float(np.std(shifts)), 3)}
    times = dict(zip(("seconds", "seconds_without"), (seconds / draws).round(3).tolist(), strict=True))
    return {"rows": n, "columns": d, "draws": draws, **named, "found": round(n_found / draws, 3), **times}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=120)
    parser.add_argument("--rows", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for n in args.rows:
        for d in COLUMNS:
            record = measure(n, d, args.draws, np.random.default_rng((args.seed, n, d)))
            print(json.dumps({**record, "seed": args.seed, **circumstances()}), flush=True)


if __name__ == "__main__":
    main()
