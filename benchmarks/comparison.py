"""How `compare_datasets` and `compare_all` keep their promises: level, power, seconds, memory. JSON lines.

    python benchmarks/comparison.py level --pairs 2000
    python benchmarks/comparison.py speed
    python benchmarks/comparison.py all-pairs --sizes 100 300 1000
    FEWRATIO_DATA=... python benchmarks/comparison.py power --pairs 300

``level`` is P(p <= t) over pairs of equal law at every t of a few that the test can attain, with the largest count that
chance allows at one in a thousand. ``power`` is the share of pairs of different classes with p <= 0.05, for which the
samples are drawn once and given to all tests.
"""

import argparse
import json
import math
import resource
import sys
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import binom, kstest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from fewratio import RuLSIF, compare_all, compare_datasets, load_collection, mmd2
from fewratio_bench.records import circumstances

Rows = NDArray[np.float64]
N_PERMUTATIONS = 199


def report(**record: object) -> None:
    record |= {"threads": torch.get_num_threads(), **circumstances(torch.device("cpu"))}
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


# ---------------------------------------------------------------- level


def laws() -> dict[str, Callable[[np.random.Generator, int], Rows]]:
    real = load_collection("digits_r")[0].X.astype(np.float64)
    return {
        "gaussian": lambda rng, n: rng.normal(size=(n, 5)),
        "student t, 2 degrees": lambda rng, n: rng.standard_t(2, size=(n, 5)),
        "discrete": lambda rng, n: rng.integers(2, size=(n, 3)).astype(np.float64),
        "digits_r (one dataset)": lambda rng, n: real[rng.choice(len(real), n, replace=False)],
    }


def level(args: argparse.Namespace) -> None:
    for name, draw in laws().items():
        for n in args.sides:
            rng = np.random.default_rng(0)
            started, p_values = time.perf_counter(), []
            for _ in range(args.pairs):
                rows = draw(rng, 2 * n)
                p_values.append(compare_datasets(rows[:n], rows[n:], None, N_PERMUTATIONS, rng).p_value)
            p = np.array(p_values)
            exact = math.comb(2 * n, n) <= N_PERMUTATIONS + 1
            finest = 2 / math.comb(2 * n, n) if exact else 1 / (1 + N_PERMUTATIONS)
            shares, kept = {}, True
            for t in sorted({finest, 0.05, 0.1, 0.2}):
                count = int((p <= t + 1e-12).sum())
                shares[f"{t:.3g}"] = round(count / args.pairs, 4)
                kept &= count <= binom.ppf(0.999, args.pairs, t)
            uniform = kstest(p, "uniform").pvalue if n >= 10 and name in ("gaussian", "student t, 2 degrees") else None
            report(
                benchmark="level",
                law=name,
                rows_a_side=n,
                pairs=args.pairs,
                exact=exact,
                share_of_p_at_most=shares,
                within_binomial_bounds=bool(kept),
                uniformity_p_value=None if uniform is None else round(float(uniform), 4),
                seconds=round(time.perf_counter() - started, 1),
            )


# ---------------------------------------------------------------- speed


def speed(args: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(10, 256)), rng.normal(size=(10, 256))
    times = []
    for _ in range(6):
        started, cpu = time.perf_counter(), time.process_time()
        compare_datasets(A, B, random_state=0)
        times.append((time.perf_counter() - started, time.process_time() - cpu))
    report(
        benchmark="speed",
        what="999 permutations of 10 + 10 rows, 256 columns",
        seconds=round(float(np.median([wall for wall, _ in times[1:]])), 4),
        cpu_seconds=round(float(np.median([cpu for _, cpu in times[1:]])), 4),
        first_call_seconds=round(times[0][0], 4),
    )


def all_pairs(args: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    samples = [rng.normal(size=(5, 64)) for _ in range(max(args.sizes))]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    compare_datasets(samples[0], samples[1], n_permutations=0)
    pairs = [(samples[i], samples[i + 1]) for i in range(100)]
    loops = {
        "compare_datasets": lambda a, b: compare_datasets(a, b, n_permutations=0),
        "RuLSIF().fit(...).divergence()": lambda a, b: RuLSIF().fit(a, b).divergence(),
    }
    # Ratios are of processor time: on a busy machine the clock on the wall tells of others.
    rates = {}
    for name, call in loops.items():
        started = time.process_time()
        for a, b in pairs:
            call(a, b)
        rates[name] = len(pairs) / (time.process_time() - started)
    for n in args.sizes:
        started, cpu = time.perf_counter(), time.process_time()
        compare_all(samples[:n])
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        rate = n * (n - 1) / cpu
        report(
            benchmark="all pairs",
            datasets=n,
            seconds=round(seconds, 2),
            cpu_seconds=round(cpu, 2),
            ordered_pairs_a_second=round(n * (n - 1) / seconds),
            ordered_pairs_a_cpu_second=round(rate),
            peak_memory_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            memory_before_mb=round(before / 1024),
            # A call of compare_datasets gives both directions, so two ordered pairs.
            times_a_loop_over_compare_datasets=round(rate / (2 * rates["compare_datasets"]), 1),
            times_a_loop_over_fits=round(rate / rates["RuLSIF().fit(...).divergence()"], 1),
        )


# ---------------------------------------------------------------- power


def mmd_p_value(A: Rows, B: Rows, rng: np.random.Generator) -> float:
    """Permutation test of `mmd2`, on one kernel matrix: the width is that of the rows of both."""
    rows, n = np.concatenate([A, B]), len(A)
    square = ((rows[:, None] - rows[None]) ** 2).sum(-1)
    width = np.median(np.sqrt(square[np.triu_indices(len(rows), 1)]))
    kernel = np.exp(-square / width**2)
    np.fill_diagonal(kernel, 0)

    def mmd(order: NDArray[np.intp]) -> float:
        a, b = order[:n], order[n:]
        within = kernel[np.ix_(a, a)].sum() / (n * (n - 1)) + kernel[np.ix_(b, b)].sum() / (len(b) * (len(b) - 1))
        return float(within - 2 * kernel[np.ix_(a, b)].mean())

    assert math.isclose(mmd(np.arange(len(rows))), mmd2(A, B), abs_tol=1e-9)
    return permutation_p_value(mmd, n, len(B), 999, rng)


def classifier_p_value(A: Rows, B: Rows, rng: np.random.Generator) -> float:
    """Permutation test of the held-out accuracy of a logistic regression (five folds)."""
    rows, n = np.concatenate([A, B]), len(A)
    sides = np.arange(len(rows)) >= n

    def accuracy(order: NDArray[np.intp]) -> float:
        X, hits = rows[order], 0
        for train, test in StratifiedKFold(5).split(X, sides):
            hits += (
                LogisticRegression(max_iter=50, tol=1e-2).fit(X[train], sides[train]).predict(X[test]) == sides[test]
            ).sum()
        return float(hits)

    # Many arrangements tie, and a regression is slow: a few have to do.
    return permutation_p_value(accuracy, n, len(B), 39, rng)


def permutation_p_value(
    statistic: Callable[[NDArray[np.intp]], float], n: int, m: int, n_permutations: int, rng: np.random.Generator
) -> float:
    """Give the p-value as `compare_datasets` does: of all arrangements if there are few, else of drawn ones."""
    observed = statistic(np.arange(n + m)) - 1e-9
    if math.comb(n + m, n) <= n_permutations + 1:
        dealt = [[*a, *sorted(set(range(n + m)) - set(a))] for a in combinations(range(n + m), n)]
        return float(np.mean([statistic(np.array(order)) >= observed for order in dealt]))
    return (1 + sum(statistic(rng.permutation(n + m)) >= observed for _ in range(n_permutations))) / (
        1 + n_permutations
    )


def power(args: argparse.Namespace) -> None:
    tests: dict[str, Callable[[Rows, Rows, np.random.Generator], float | None]] = {
        "RuLSIF": lambda a, b, rng: compare_datasets(a, b, None, 999, rng).p_value,
        "MMD": mmd_p_value,
    }
    if args.classifier:
        tests["logistic regression"] = classifier_p_value
    for name in args.data:
        datasets = load_collection(name)
        rng = np.random.default_rng(0)
        p_values: dict[str, list[float | None]] = {test: [] for test in tests}
        for _ in range(args.pairs):
            i, j = rng.choice(len(datasets), 2, replace=False)
            A, B = (
                datasets[k].X[rng.choice(len(datasets[k]), args.rows, replace=False)].astype(np.float64) for k in (i, j)
            )
            for test, p_value in tests.items():
                p_values[test].append(p_value(A, B, np.random.default_rng(1)))
        for test, found in p_values.items():
            share = float(np.mean([p <= 0.05 for p in found if p is not None]))
            report(
                benchmark="power",
                data=name,
                rows_a_side=args.rows,
                pairs=args.pairs,
                test=test,
                share_of_p_at_most_0_05=round(share, 4),
                standard_error=round((share * (1 - share) / args.pairs) ** 0.5, 4),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    part = parts.add_parser("level")
    part.add_argument("--pairs", type=int, default=2000)
    part.add_argument("--sides", type=int, nargs="+", default=[3, 5, 10, 30])
    part.set_defaults(run=level)
    parts.add_parser("speed").set_defaults(run=speed)
    part = parts.add_parser("all-pairs")
    part.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000])
    part.set_defaults(run=all_pairs)
    part = parts.add_parser("power")
    part.add_argument("--pairs", type=int, default=300)
    part.add_argument("--rows", type=int, default=5)
    part.add_argument("--data", nargs="+", default=["mnist_r", "isolet"])
    part.add_argument("--classifier", action=argparse.BooleanOptionalAction, default=True)
    part.set_defaults(run=power)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
