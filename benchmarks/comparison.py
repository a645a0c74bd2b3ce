"""How `compare_datasets` and `compare_all` keep their promises: level, power, seconds, memory. JSON lines.

    python benchmarks/comparison.py level
    python benchmarks/comparison.py speed
    python benchmarks/comparison.py all-pairs --sizes 100 300 1000 3000
    pip install -e '.[peers-comparison]'; export FEWRATIO_DATA=...
    python benchmarks/comparison.py train --data isolet --split 0 --model isolet-0.safetensors
    python benchmarks/comparison.py power --data isolet --split 0 --model isolet-0.safetensors

``level`` is P(p <= t) over pairs of equal law at every t that the test can attain, beside the largest count that chance
allows there (one in a thousand, divided among these t); and, for 10 rows per sample or more of a continuous law, a test
of uniformity (Kolmogorov and Smirnov, after spreading each p-value over its step). ``power`` is the share of pairs with
p <= 0.05, of different datasets of a split's target; none of them is among the sources that ``train`` learns from. The
samples are drawn once and given to all tests; differences to ours are paired. ``speed`` and ``all-pairs`` are seconds.
"""

import argparse
import json
import math
import resource
import sys
import time
import warnings
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import binom, kstest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from fewratio import MetaRatioEstimator, RuLSIF, UniversalRatioEstimator, compare_all, compare_datasets
from fewratio.data import load_collection
from fewratio.estimators import mmd2
from fewratio.estimators.networks import Training
from fewratio.estimators.samples import default_estimator
from fewratio_bench.records import circumstances
from fewratio_bench.splits import PROTOCOLS

try:
    from hyppo.ksample import Energy
except ImportError:
    Energy = None

Rows = NDArray[np.float64]
Test = Callable[[Rows, Rows, np.random.Generator], float]
SEED = 0
SHOWN_LEVELS = (0.01, 0.05, 0.1, 0.2, 0.5)


def report(**record: object) -> None:
    record |= {"seed": SEED, "threads": torch.get_num_threads(), **circumstances(torch.device("cpu"))}
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


# ---------------------------------------------------------------- level


def laws() -> dict[str, tuple[bool, Callable[[np.random.Generator, int], Rows]]]:
    """Whether a law is continuous, and how to draw from it."""
    real = load_collection("digits_r")[0].X.astype(np.float64)
    return {
        "gaussian": (True, lambda rng, n: rng.normal(size=(n, 5))),
        "student t, 2 degrees": (True, lambda rng, n: rng.standard_t(2, size=(n, 5))),
        "discrete": (False, lambda rng, n: rng.integers(2, size=(n, 3)).astype(np.float64)),
        "digits_r (one dataset)": (False, lambda rng, n: real[rng.choice(len(real), n, replace=False)]),
    }


def level(args: argparse.Namespace) -> None:
    warnings.filterwarnings("ignore", "With .* the p-value cannot be below")
    for number, (law, (continuous, draw)) in enumerate(laws().items()):
        for n in args.sides:
            rng = np.random.default_rng([SEED, number, n])
            started, p_values = time.process_time(), []
            for _ in range(args.pairs):
                rows = draw(rng, 2 * n)
                p_values.append(
                    compare_datasets(
                        rows[:n], rows[n:], estimator=None, n_permutations=args.permutations, random_state=rng
                    ).p_value
                )
            exact = math.comb(2 * n, n) <= args.permutations + 1
            n_steps = math.comb(2 * n, n) if exact else args.permutations + 1
            # In steps of the test, so that nothing is lost by rounding.
            steps = np.rint(np.array(p_values) * n_steps).astype(int)
            counts = np.array([(steps <= k).sum() for k in range(1, n_steps + 1)])
            levels = np.arange(1, n_steps + 1) / n_steps
            excess = counts - binom.ppf(1 - 0.001 / n_steps, args.pairs, levels)
            spread = (steps - rng.random(args.pairs)) / n_steps
            report(
                benchmark="level",
                estimator=repr(default_estimator()),
                law=law,
                rows_a_side=n,
                pairs=args.pairs,
                exact=exact,
                attainable_levels=n_steps,
                within_binomial_bounds=bool((excess <= 0).all()),
                largest_share_less_level=round(float((counts / args.pairs - levels).max()), 4),
                share_of_p_at_most={
                    str(t): round(float(counts[math.floor(t * n_steps + 1e-9) - 1]) / args.pairs, 4)
                    for t in SHOWN_LEVELS
                    if t * n_steps >= 1
                },
                uniformity_p_value=(
                    round(float(kstest(spread, "uniform").pvalue), 4) if continuous and n >= 10 else None
                ),
                cpu_seconds=round(time.process_time() - started, 1),
            )


# ---------------------------------------------------------------- speed


def speed(args: argparse.Namespace) -> None:
    rng = np.random.default_rng(SEED)
    A, B = rng.normal(size=(10, 256)), rng.normal(size=(10, 256))
    for estimator in (default_estimator(), RuLSIF()):
        times = []
        for _ in range(args.repeats + 1):
            started, cpu = time.perf_counter(), time.process_time()
            compare_datasets(A, B, estimator=estimator, n_permutations=999, random_state=0)
            times.append((time.perf_counter() - started, time.process_time() - cpu))
        report(
            benchmark="speed",
            what="999 permutations of 10 + 10 rows, 256 columns",
            estimator=repr(estimator),
            seconds=round(float(np.median([wall for wall, _ in times[1:]])), 4),
            cpu_seconds=round(float(np.median([cpu for _, cpu in times[1:]])), 4),
            first_call_seconds=round(times[0][0], 4),
        )


def all_pairs(args: argparse.Namespace) -> None:
    rng = np.random.default_rng(SEED)
    samples = [rng.normal(size=(5, 64)) for _ in range(max(args.sizes))]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pairs = [(samples[i], samples[i + 1]) for i in range(min(100, len(samples) - 1))]
    loops: dict[str, Callable[[Rows, Rows], Any]] = {
        "compare_datasets": lambda a, b: compare_datasets(a, b, n_permutations=0),
        "RuLSIF().fit(...).divergence()": lambda a, b: RuLSIF().fit(a, b).divergence(),
    }
    # Ratios are of processor time: on a busy machine the clock on the wall tells of others.
    rates = {}
    for name, call in loops.items():
        call(*pairs[0])
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
            estimator=repr(default_estimator()),
            datasets=n,
            rows=5,
            columns=64,
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


def ours(estimator: Any) -> Test:
    def test(A: Rows, B: Rows, rng: np.random.Generator) -> float:
        p_value = compare_datasets(A, B, estimator=estimator, n_permutations=999, random_state=rng).p_value
        assert p_value is not None
        return p_value

    return test


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


def energy_p_value(A: Rows, B: Rows, rng: np.random.Generator) -> float:
    with warnings.catch_warnings():
        # hyppo warns of fewer than a thousand permutations.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = Energy().test(A, B, reps=999, workers=1, auto=False, random_state=int(rng.integers(2**31)))
    return float(found[1])


def classifier_p_value(A: Rows, B: Rows, rng: np.random.Generator) -> float:
    """Permutation test of a logistic regression: the mean probability of the right side for rows left out (five folds).

    Probabilities, not hits: those of ten rows tie so often that the test would lose for that alone.
    """
    rows, n = np.concatenate([A, B]), len(A)
    sides = (np.arange(len(rows)) >= n).astype(int)
    folds = StratifiedKFold(min(5, n, len(B)))

    def rightness(order: NDArray[np.intp]) -> float:
        X, total = rows[order], 0.0
        for train, test in folds.split(X, sides):
            chances = LogisticRegression(max_iter=50, tol=1e-2).fit(X[train], sides[train]).predict_proba(X[test])
            total += chances[np.arange(len(test)), sides[test]].sum()
        return float(total)

    # A regression is slow; with 39 permutations 0.05 can be attained.
    return permutation_p_value(rightness, n, len(B), 39, rng)


def permutation_p_value(
    statistic: Callable[[NDArray[np.intp]], float], n: int, m: int, n_permutations: int, rng: np.random.Generator
) -> float:
    """Give the p-value as `compare_datasets` does: of all permutations if there are few, else of drawn ones."""
    observed = statistic(np.arange(n + m)) - 1e-9
    if math.comb(n + m, n) <= n_permutations + 1:
        dealt = [[*a, *sorted(set(range(n + m)) - set(a))] for a in combinations(range(n + m), n)]
        return float(np.mean([statistic(np.array(order)) >= observed for order in dealt]))
    return (1 + sum(statistic(rng.permutation(n + m)) >= observed for _ in range(n_permutations))) / (
        1 + n_permutations
    )


OURS, OURS_WITH_SOURCES, OURS_UNIVERSAL = "fewratio", "fewratio, with sources", "fewratio, universal network"
PEERS: dict[str, Test] = {
    "MMD": mmd_p_value,
    "energy (hyppo)": energy_p_value,
    "logistic regression": classifier_p_value,
}


def train(args: argparse.Namespace) -> None:
    split = PROTOCOLS[args.data].split(load_collection(args.data), args.split)
    estimator = MetaRatioEstimator(training=Training(max_steps=args.steps), random_state=SEED)
    estimator.pretrain(split.source, split.validation).save(args.model)
    history = estimator.history_
    report(
        benchmark="train",
        data=args.data,
        split=args.split,
        sources=len(split.source),
        steps=args.steps,
        best_step=history.best_step,
        best_validation=round(history.best_validation, 4),
        seconds=round(history.seconds, 1),
    )


def power(args: argparse.Namespace) -> None:
    tests = {OURS: ours(None), OURS_UNIVERSAL: ours(UniversalRatioEstimator())}
    if args.model is not None:
        tests[OURS_WITH_SOURCES] = ours(MetaRatioEstimator.load(args.model))
    tests |= {name: PEERS[name] for name in args.peers}
    targets = PROTOCOLS[args.data].split(load_collection(args.data), args.split).target
    rng = np.random.default_rng([SEED, args.split])
    found: dict[str, list[bool]] = {test: [] for test in tests}
    for number in range(args.pairs):
        pair = [targets[int(k)].X for k in rng.choice(len(targets), 2, replace=False)]
        A, B = (X[rng.choice(len(X), args.rows, replace=False)].astype(np.float64) for X in pair)
        for name, test in tests.items():
            found[name].append(test(A, B, np.random.default_rng([SEED, args.split, number])) <= 0.05)
    for name, rejected in found.items():
        share = float(np.mean(rejected))
        lead = np.subtract(rejected, found[OURS], dtype=float)
        report(
            benchmark="power",
            data=args.data,
            split=args.split,
            rows_a_side=args.rows,
            pairs=args.pairs,
            test=name,
            estimator=repr(default_estimator()) if name == OURS else None,
            share_of_p_at_most_0_05=round(share, 4),
            standard_error=round((share * (1 - share) / args.pairs) ** 0.5, 4),
            lead_over_ours=round(float(lead.mean()), 4),
            standard_error_of_lead=round(float(lead.std() / args.pairs**0.5), 4),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(run=speed, repeats=5)
    parts = parser.add_subparsers(title="what to measure", description="speed, if nothing is named")
    part = parts.add_parser("level")
    part.add_argument("--pairs", type=int, default=2000)
    part.add_argument("--sides", type=int, nargs="+", default=[3, 5, 10, 30])
    part.add_argument("--permutations", type=int, default=259, help="all 252 permutations of 5 + 5 rows are taken")
    part.set_defaults(run=level)
    part = parts.add_parser("speed")
    part.add_argument("--repeats", type=int, default=5)
    part.set_defaults(run=speed)
    part = parts.add_parser("all-pairs")
    part.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000, 3000])
    part.set_defaults(run=all_pairs)
    for name, run in (("train", train), ("power", power)):
        part = parts.add_parser(name)
        part.add_argument("--data", choices=sorted(PROTOCOLS), default="isolet")
        part.add_argument("--split", type=int, default=0)
        part.add_argument("--model", type=Path, required=name == "train", help="what `train` writes and `power` reads")
        part.set_defaults(run=run)
        if name == "train":
            part.add_argument("--steps", type=int, default=10_000)
        else:
            part.add_argument("--pairs", type=int, default=300)
            part.add_argument("--rows", type=int, default=5)
            part.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    args = parser.parse_args()
    if Energy is None and "energy (hyppo)" in getattr(args, "peers", ()):
        parser.error("hyppo is not installed; pip install 'fewratio[peers-comparison]', or name other --peers")
    args.run(args)


if __name__ == "__main__":
    main()
