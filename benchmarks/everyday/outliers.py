"""Outliers: our default beside what a user would pick instead, on the tables of ADBench.

The tables are read from ``everyday/adbench`` and ``everyday/test/adbench`` in the folder that the environment variable
FEWRATIO_DATA names: npz files with ``X`` and ``y``, 1 for an anomaly. Per table and seed, half of the normal rows are
set aside, of which the first 5, 10, 50 or up to 1,000 ("half") are the known normals. The batch is the other half with
all anomalies; of more than 1,000 rows so many are drawn, with the same share of anomalies, but ten at least. Peers are
given columns in units of their standard deviation over normals and batch.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from everyday.data import folder
from everyday.plan import Plan
from fewratio import InlierOutlierDetector, RuLSIF

Array = NDArray[np.float64]
# Scores of the rows of a batch, given normals: higher is more normal.
Scorer = Callable[[Array, Array], Array]
Report = Callable[..., None]

SIZES = {"5": 5, "10": 10, "50": 50, "half": 1000}
FLAG_SIZES = (5, 10, 20, 50, 100, 200, 1000)
N_ROWS, LEAST_ANOMALIES, N_CLEAN = 1000, 10, 300
RATE = 0.1
OURS = "fewratio, default"


class Batch(NamedTuple):
    """A table as one seed divides it."""

    name: str
    seed: int
    normals: Array
    rows: Array
    is_anomaly: NDArray[np.bool_]


def batches(plan: Plan, half: str) -> Iterator[Batch]:
    """Go through tables and seeds; quick: a few tables."""
    paths = sorted(folder("adbench", half).glob("*.npz"))
    for path in paths[::4] if plan.quick else paths:
        with np.load(path) as file:
            X, y = file["X"].astype(float), file["y"].ravel()
        for seed in plan.seeds(plan.count(1, 3)):
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


def _separate(normals: Array, rows: Array) -> Array:
    """Learn from normals and unlabelled rows as Elkan and Noto (2008) do: the order is that of "is it labelled?"."""
    labels = np.arange(len(normals) + len(rows)) < len(normals)
    model = LogisticRegression(class_weight="balanced", max_iter=500).fit(np.concatenate([normals, rows]), labels)
    return model.decision_function(rows)


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
        "distance to the mean": lambda normals, rows: -np.linalg.norm(rows - normals.mean(0), axis=1),
        "RuLSIF": lambda normals, rows: RuLSIF(random_state=0).fit(normals, rows).ratio_de_,
    }
    slow: dict[str, Scorer] = {
        "PU, logistic regression": _separate,
        "isolation forest, normals": _isolation,
        "isolation forest, all rows": lambda normals, rows: _isolation(np.concatenate([normals, rows]), rows),
        "RuLSIF, cv": lambda normals, rows: RuLSIF(sigma="cv", reg="cv", random_state=0).fit(normals, rows).ratio_de_,
    }
    try:
        from pyod.models.ecod import ECOD
        from pyod.models.knn import KNN
    except ImportError:
        return found | slow
    pyod: dict[str, Scorer] = {
        "PyOD ECOD": lambda normals, rows: -ECOD().fit(np.concatenate([normals, rows])).decision_function(rows),
        "PyOD KNN": lambda normals, rows: (
            -KNN(n_neighbors=min(5, len(normals) - 1)).fit(normals).decision_function(rows)
        ),
    }
    return found | pyod | slow


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
    "false positive rate": ({"false_discovery_rate": None}, 5),
    "false discovery rate": ({"false_discovery_rate": RATE}, 100),
    "false discovery rate, halves": ({"false_discovery_rate": RATE, "estimator": RuLSIF(scale="columns")}, 200),
}


def order(report: Report, plan: Plan, half: str) -> None:
    """Report the AUROC of each method."""
    drawn = list(batches(plan, half))
    for method in (OURS, *peers()):
        for size, n_normals in SIZES.items():
            found = plan.run(delayed(_auroc)(method, n_normals, batch) for batch in drawn)
            by_table: dict[str, list[float]] = {}
            by_seed: dict[int, list[float]] = {}
            for batch, (auroc, _) in zip(drawn, found, strict=True):
                by_table.setdefault(batch.name, []).append(auroc)
                by_seed.setdefault(batch.seed, []).append(auroc)
            means = np.mean(list(by_seed.values()), axis=1)
            report(
                table="outliers: AUROC",
                method=method,
                normals=size,
                tables=len(by_table),
                seeds=list(by_seed),
                auroc=float(means.mean()),
                # Of seeds: the tables are given.
                standard_error=float(means.std(ddof=1) / len(means) ** 0.5) if len(means) > 1 else None,
                cpu_seconds=float(np.mean([seconds for _, seconds in found])),
                by_table={name: round(float(np.mean(of)), 4) for name, of in by_table.items()},
            )


def _auroc(method: str, n_normals: int, batch: Batch) -> tuple[float, float]:
    """Give the AUROC of a method on a batch, and processor seconds."""
    scorer = _ours if method == OURS else _scaled(peers()[method])
    started = time.process_time()
    scores = scorer(batch.normals[:n_normals], batch.rows)
    return float(roc_auc_score(~batch.is_anomaly, scores)), time.process_time() - started


def flags(report: Report, plan: Plan, half: str) -> None:
    """Report how many rows are flagged of clean batches, and what of batches with anomalies.

    Tables with fewer normals are left out, but at 1,000 all count that have 200.
    """
    drawn = list(batches(plan, half))
    for method, (options, least) in FLAGS.items():
        for n_normals in FLAG_SIZES:
            enough = [batch for batch in drawn if len(batch.normals) >= min(n_normals, FLAG_SIZES[-2])]
            if n_normals < least or not enough:
                continue
            found = plan.run(delayed(_flagged)(batch, n_normals, options) for batch in enough)
            names = ("clean_flagged", "recall", "false_discoveries", "batches_with_flags")
            report(
                table="outliers: flags",
                method=method,
                normals=n_normals,
                batches=len(found),
                seeds=sorted({batch.seed for batch in drawn}),
                **dict(zip(names, np.mean(found, axis=0).tolist(), strict=True)),
            )


def _flagged(batch: Batch, n_normals: int, options: dict[str, Any]) -> list[float]:
    normals, is_anomaly = batch.normals[:n_normals], batch.is_anomaly
    clean = _flags(normals, batch.rows[~is_anomaly][:N_CLEAN], **options)
    flagged = _flags(normals, batch.rows, **options)
    false = (flagged & ~is_anomaly).sum() / max(1, flagged.sum())
    return [float(clean.mean()), float(flagged[is_anomaly].mean()), float(false), float(flagged.any())]


ON_HALVES = {"order": order, "flags": flags}
TABLES: dict[str, Callable[..., None]] = {}
