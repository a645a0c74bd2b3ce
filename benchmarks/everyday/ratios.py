"""Ratios without related datasets: J by the sizes of the samples."""

import time
from collections.abc import Callable, Iterator

import numpy as np

import sizes
from everyday.data import classes
from fewratio import AutoRatioEstimator, ClassifierRatio, RuLSIF, UniversalRatioEstimator
from fewratio.estimators import RatioEstimator

Report = Callable[..., None]
ALPHA = 0.5
# Rows of either sample; beyond 500 the network would take minutes.
SIZES = [(n, n) for n in (2, 3, 5, 10, 20, 50, 100, 199, 200, 500, 1000)] + [(5, 1000)]
NETWORK_AT_MOST = 200


ESTIMATORS: dict[str, Callable[[], RatioEstimator]] = {
    "AutoRatioEstimator": lambda: AutoRatioEstimator(random_state=0),
    "UniversalRatioEstimator": lambda: UniversalRatioEstimator(scale="columns"),
    "ClassifierRatio": lambda: ClassifierRatio(random_state=0),
    "RuLSIF, cv": lambda: RuLSIF(sigma="cv", reg="cv", scale="columns", random_state=0),
}


def class_pairs(n_seeds: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Give pairs of classes of each table: rows to fit to, and rows to judge by."""
    for seed in range(n_seeds):
        for name, parts in classes().items():
            rng = np.random.default_rng([seed, len(name)])
            A, B = (rng.permutation(parts[each]) for each in rng.choice(len(parts), 2, replace=False))
            n_query = min(max(min(len(A), len(B)) // 3, 10), 300)
            yield name, A[:-n_query], B[:-n_query], A[-n_query:], B[-n_query:]


def prior_pairs(n_pairs: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Give the pairs of `benchmarks/sizes.py`."""
    for part in sizes.pairs_of(n_pairs, 2000 + sizes._N_QUERY, 16):
        for rows, log_ratio, d in zip(part.rows.double().numpy(), part.log_ratio, part.n_columns, strict=True):
            if not log_ratio.isnan().any():
                (A, query_A), (B, query_B) = (np.split(X[:, : int(d)], [2000]) for X in rows)
                yield "prior", A, B, query_A, query_B


def j_of(estimator: RatioEstimator, query_nu: np.ndarray, query_de: np.ndarray) -> float:
    r_nu, r_de = estimator.predict(query_nu), estimator.predict(query_de)
    return float(ALPHA / 2 * np.mean(r_nu**2) + (1 - ALPHA) / 2 * np.mean(r_de**2) - np.mean(r_nu))


def by_size(report: Report, quick: bool) -> None:
    """Report the mean J of each estimator by the sizes of the samples, on pairs of the prior and classes of tables."""
    for data, pairs in (("prior", prior_pairs(4 if quick else 24)), ("tables", class_pairs(1 if quick else 20))):
        found: dict[tuple[int, int], dict[str, list[float]]] = {}
        for _, A, B, query_A, query_B in pairs:
            for n, m in SIZES if not quick else SIZES[2:8:2]:
                if n > len(A) or m > len(B):
                    continue
                for name, make in ESTIMATORS.items():
                    if name.startswith("Universal") and max(n, m) > NETWORK_AT_MOST:
                        continue
                    started = time.process_time()
                    J = j_of(make().fit(A[:n], B[:m]), query_A, query_B)
                    record = found.setdefault((n, m), {}).setdefault(name, [])
                    record.append(J)
                    found[n, m].setdefault(f"{name} seconds", []).append(time.process_time() - started)
        for (n, m), of_name in found.items():
            for name in ESTIMATORS:
                if name in of_name:
                    J, seconds = of_name[name], of_name[f"{name} seconds"]
                    report(
                        table="J by size",
                        data=data,
                        rows_nu=n,
                        rows_de=m,
                        estimator=name,
                        J=round(float(np.mean(J)), 4),
                        pairs=len(J),
                        processor_seconds=round(float(np.median(seconds)), 4),
                    )


def tables(report: Report, quick: bool) -> None:
    """Make all tables; `report` takes each record as keywords."""
    by_size(report, quick)
