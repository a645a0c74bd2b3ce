"""Ratios without related datasets: J by the sizes of the samples."""

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from joblib import delayed

import sizes
from everyday.data import classes
from everyday.plan import Plan
from fewratio import AutoRatioEstimator, ClassifierRatio, RuLSIF, UniversalRatioEstimator
from fewratio.estimators import RatioEstimator

Report = Callable[..., None]
Pair = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
ALPHA = 0.5
# Rows of either sample; beyond 500 the network would take minutes.
SIZES = [(n, n) for n in (1, 2, 3, 5, 10, 20, 50, 100, 199, 200, 500, 1000, 2000)] + [(5, 1000)]
NETWORK_AT_MOST = 200
SIZES_OF_TABLES = [(n, n) for n in (2, 3, 5, 10, 30)]


ESTIMATORS: dict[str, Callable[[], RatioEstimator]] = {
    "AutoRatioEstimator": lambda: AutoRatioEstimator(random_state=0),
    "UniversalRatioEstimator": lambda: UniversalRatioEstimator(scale="columns"),
    "ClassifierRatio": lambda: ClassifierRatio(random_state=0),
    "RuLSIF, cv": lambda: RuLSIF(sigma="cv", reg="cv", scale="columns", random_state=0),
}


def class_pairs(half: str, seeds: range) -> Iterator[Pair]:
    """Give pairs of classes of each table: rows to fit to, and rows to judge by."""
    for seed in seeds:
        for name, parts in classes(half).items():
            rng = np.random.default_rng([seed, len(name)])
            A, B = (rng.permutation(parts[each]) for each in rng.choice(len(parts), 2, replace=False))
            n_query = min(max(min(len(A), len(B)) // 3, 10), 300)
            yield A[:-n_query], B[:-n_query], A[-n_query:], B[-n_query:]


def prior_pairs(seeds: range) -> Iterator[Pair]:
    """Give pairs as those of `benchmarks/sizes.py`, eight of each seed."""
    for seed in seeds:
        for part in sizes.pairs_of(8, 2000 + sizes._N_QUERY, 16, sizes._SEED + seed):
            for rows, log_ratio, d in zip(part.rows.double().numpy(), part.log_ratio, part.n_columns, strict=True):
                if not log_ratio.isnan().any():
                    (A, query_A), (B, query_B) = (np.split(X[:, : int(d)], [2000]) for X in rows)
                    yield A, B, query_A, query_B


def j_of(name: str, A: np.ndarray, B: np.ndarray, query_nu: np.ndarray, query_de: np.ndarray) -> tuple[float, float]:
    """Give J on rows to judge by, and the processor seconds of fitting and predicting."""
    # Workers come with as many threads as there are cores.
    torch.set_num_threads(1)
    started = time.process_time()
    estimator = ESTIMATORS[name]().fit(A, B)
    r_nu, r_de = estimator.predict(query_nu), estimator.predict(query_de)
    seconds = time.process_time() - started
    return float(ALPHA / 2 * np.mean(r_nu**2) + (1 - ALPHA) / 2 * np.mean(r_de**2) - np.mean(r_nu)), seconds


def by_size(report: Report, plan: Plan, data: str, pairs: Iterator[Pair], sizes: Sequence[tuple[int, int]]) -> None:
    """Report the mean J of each estimator by the sizes of the samples."""
    drawn = list(pairs)
    for n, m in sizes[2:5:2] if plan.quick else sizes:
        enough = [pair for pair in drawn if n <= len(pair[0]) and m <= len(pair[1])]
        names = [name for name in ESTIMATORS if not name.startswith("Universal") or max(n, m) <= NETWORK_AT_MOST]
        tasks = [(name, A[:n], B[:m], *queries) for A, B, *queries in enough for name in names]
        found = np.array(plan.run(delayed(j_of)(*task) for task in tasks)).reshape(len(enough), len(names), 2)
        for name, (J, seconds) in zip(names, found.transpose(1, 2, 0), strict=True):
            report(
                table="J by size",
                data=data,
                rows_nu=n,
                rows_de=m,
                estimator=name,
                J=float(J.mean()),
                pairs=len(J),
                processor_seconds=float(np.median(seconds)),
            )


def of_the_prior(report: Report, plan: Plan) -> None:
    by_size(report, plan, "prior", prior_pairs(plan.seeds(plan.count(1, 5))), SIZES)


def of_tables(report: Report, plan: Plan, half: str) -> None:
    by_size(report, plan, "tables", class_pairs(half, plan.seeds(plan.count(1, 20))), SIZES_OF_TABLES)


ON_HALVES = {"tables": of_tables}
TABLES = {"prior": of_the_prior}
