"""Outliers: our default beside what a user would pick instead, on the tables of ADBench.

The tables are read from ``everyday/adbench`` in the folder that the environment variable FEWRATIO_DATA names: npz files
with ``X`` and ``y``, 1 for an anomaly. Per table and seed, half of the normal rows are set aside, of which the first 5,
10, 50 or up to 1,000 ("half") are the known normals. The batch is the other half with all anomalies; of more than 1,000
rows so many are drawn, with the same share of anomalies, but ten at least. Peers are given columns in units of their
standard deviation over normals and batch.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from everyday.data import folder
from fewratio import InlierOutlierDetector, RuLSIF

Array = NDArray[np.float64]
# Scores of the rows of a batch, given normals: higher is more normal.
Scorer = Callable[[Array, Array], Array]

SIZES = {"5": 5, "10": 10, "50": 50, "half": 1000}
FLAG_SIZES = (5, 10, 20, 50, 100, 200, 1000)
N_ROWS, LEAST_ANOMALIES, N_CLEAN = 1000, 10, 300
RATE = 0.1
# Seeds 0 to 7 chose the default's constants.
SEEDS = (10, 11, 12, 13)


class Batch(NamedTuple):
    """A table as one seed divides it."""

    name: str
    seed: int
    normals: Array
    rows: Array
    is_anomaly: NDArray[np.bool_]


def batches(quick: bool) -> Iterator[Batch]:
    """Go through tables and seeds; quick: five tables, one seed."""
    paths = sorted(folder("adbench").glob("*.npz"))
    for path in paths[::4][:5] if quick else paths:
        with np.load(path) as file:
            X, y = file["X"].astype(float), file["y"].ravel()
        for seed in SEEDS[: 1 if quick else None]:
            rng = np.random.default_rng(seed)
            normal, anomalous = (rng.permutation(np.flatnonzero(y == label)) for label in (0, 1))
            known, rest = np.array_split(normal, [len(normal) // 2])
            n_rows = len(rest) + len(anomalous)
            if n_rows > N_ROWS:
                n_anomalous = max(LEAST_ANOMALIES, round(N_ROWS * len(anomalous) / n_rows))
                anomalous = anomalous[:n_anomalous]
                rest = rest[: N_ROWS - len(anomalous)]
            chosen = np.concatenate([rest, anomalous])
            yield Batch(path.stem, seed, X[known[: SIZES["half"]]], X[chosen], np.arange(len(chosen)) >= len(rest))


def _isolation(fitted: Array, rows: Array) -> Array:
    return IsolationForest(random_state=0).fit(fitted).score_samples(rows)


def peers() -> dict[str, Scorer]:
    """Give what scikit-learn has, and PyOD's if it is installed."""
    found: dict[str, Scorer] = {
        "one-class SVM": lambda normals, rows: OneClassSVM().fit(normals).decision_function(rows),
        "5 nearest normals": lambda normals, rows: (
            -NearestNeighbors(n_neighbors=5).fit(normals).kneighbors(rows)[0].mean(1)
        ),
        "LOF": lambda normals, rows: (
            LocalOutlierFactor(min(20, len(normals) - 1), novelty=True).fit(normals).score_samples(rows)
        ),
        "isolation forest, normals": _isolation,
        "isolation forest, all rows": lambda normals, rows: _isolation(np.concatenate([normals, rows]), rows),
        "distance to the mean": lambda normals, rows: -np.linalg.norm(rows - normals.mean(0), axis=1),
        "RuLSIF": lambda normals, rows: RuLSIF(random_state=0).fit(normals, rows).ratio_de_,
        "RuLSIF, cv": lambda normals, rows: RuLSIF(sigma="cv", reg="cv", random_state=0).fit(normals, rows).ratio_de_,
    }
    try:
        from pyod.models.copod import COPOD
        from pyod.models.ecod import ECOD
        from pyod.models.knn import KNN
    except ImportError:
        return found
    return found | {
        "PyOD ECOD": lambda normals, rows: -ECOD().fit(np.concatenate([normals, rows])).decision_function(rows),
        "PyOD COPOD": lambda normals, rows: -COPOD().fit(np.concatenate([normals, rows])).decision_function(rows),
        "PyOD KNN": lambda normals, rows: (
            -KNN(n_neighbors=min(5, len(normals) - 1)).fit(normals).decision_function(rows)
        ),
    }


def _scaled(scorer: Scorer) -> Scorer:
    def scores(normals: Array, rows: Array) -> Array:
        deviation = np.concatenate([normals, rows]).std(0)
        deviation[deviation == 0] = 1
        return scorer(normals / deviation, rows / deviation)

    return scores


def _ours(normals: Array, rows: Array) -> Array:
    return InlierOutlierDetector().fit(normals).score_samples(rows)


def _flags(normals: Array, rows: Array, **options: Any) -> NDArray[np.bool_]:
    return InlierOutlierDetector(random_state=0, **options).fit(normals).decision_function(rows) < 0


# By name: the options, and from how many normals on the rule holds.
FLAGS: dict[str, tuple[dict[str, Any], int]] = {
    "rule of thumb": ({"false_discovery_rate": None}, 5),
    "false discovery rate": ({"false_discovery_rate": RATE}, 100),
    "false discovery rate, halves": ({"false_discovery_rate": RATE, "estimator": RuLSIF(scale="columns")}, 200),
}


def tables(report: Callable[..., None], quick: bool = False) -> None:
    """Measure and report, one record per row of a table: order (AUROC), false flags on clean batches, and flags.

    Parameters
    ----------
    report : callable
        Called with the values of each record by name.
    quick : bool
        Whether to take five tables and one seed.
    """
    drawn = list(batches(quick))
    common = {"tables": len({batch.name for batch in drawn}), "seeds": sorted({batch.seed for batch in drawn})}
    methods = {"fewratio, default": _ours} | {name: _scaled(scorer) for name, scorer in peers().items()}
    for method, scorer in methods.items():
        for size, n_normals in SIZES.items():
            aurocs: dict[str, list[float]] = {}
            start = time.process_time()
            for batch in drawn:
                scores = scorer(batch.normals[:n_normals], batch.rows)
                aurocs.setdefault(batch.name, []).append(float(roc_auc_score(~batch.is_anomaly, scores)))
            by_table = {name: round(float(np.mean(values)), 4) for name, values in aurocs.items()}
            seconds = (time.process_time() - start) / len(drawn)
            row = {"table": "outliers: AUROC", "method": method, "normals": size, **common}
            report(**row, auroc=float(np.mean(list(by_table.values()))), cpu_seconds=seconds, by_table=by_table)
    for method, (options, least) in FLAGS.items():
        for n_normals in FLAG_SIZES:
            if n_normals >= least:
                _report_flags(report, method, options, n_normals, drawn, common["seeds"])


def _report_flags(
    report: Callable[..., None],
    method: str,
    options: dict[str, Any],
    n_normals: int,
    drawn: list[Batch],
    seeds: Any,
) -> None:
    """Report how many rows are flagged of clean batches, and what of batches with anomalies.

    Tables with fewer normals are left out, but at 1,000 all count that have 200.
    """
    found = []
    for batch in drawn:
        if len(batch.normals) < min(n_normals, FLAG_SIZES[-2]):
            continue
        normals, is_anomaly = batch.normals[:n_normals], batch.is_anomaly
        clean = _flags(normals, batch.rows[~is_anomaly][:N_CLEAN], **options)
        flagged = _flags(normals, batch.rows, **options)
        false = (flagged & ~is_anomaly).sum() / max(1, flagged.sum())
        found.append([clean.mean(), flagged[is_anomaly].mean(), false, flagged.any()])
    names = ("clean_flagged", "recall", "false_discoveries", "batches_with_flags")
    means = dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))
    report(table="outliers: flags", method=method, normals=n_normals, batches=len(found), seeds=seeds, **means)
