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
from joblib import delayed
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest
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
# Seeds 0 to 7 and 100 to 109 chose the default's constants; the others are new to it.
SEEDS = ((0, 1), tuple(range(200, 212)))


class Batch(NamedTuple):
    """A table as one seed divides it."""

    name: str
    seed: int
    normals: Array
    rows: Array
    is_anomaly: NDArray[np.bool_]


def batches(plan: Plan) -> Iterator[Batch]:
    """Go through tables and seeds; quick: five tables, one seed of each kind."""
    paths = sorted(folder("adbench").glob("*.npz"))
    for path in paths[::4][:5] if plan.quick else paths:
        with np.load(path) as file:
            X, y = file["X"].astype(float), file["y"].ravel()
        for seed in (seed for seeds in SEEDS for seed in (seeds[:1] if plan.quick else seeds)):
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
        "distance to the mean": lambda normals, rows: -np.linalg.norm(rows - normals.mean(0), axis=1),
        "RuLSIF": lambda normals, rows: RuLSIF(random_state=0).fit(normals, rows).ratio_de_,
    }
    slow: dict[str, Scorer] = {
        "isolation forest, normals": _isolation,
        "isolation forest, all rows": lambda normals, rows: _isolation(np.concatenate([normals, rows]), rows),
        "RuLSIF, cv": lambda normals, rows: RuLSIF(sigma="cv", reg="cv", random_state=0).fit(normals, rows).ratio_de_,
    }
    try:
        from pyod.models.copod import COPOD
        from pyod.models.ecod import ECOD
        from pyod.models.knn import KNN
    except ImportError:
        return found | slow
    pyod: dict[str, Scorer] = {
        "PyOD ECOD": lambda normals, rows: -ECOD().fit(np.concatenate([normals, rows])).decision_function(rows),
        "PyOD COPOD": lambda normals, rows: -COPOD().fit(np.concatenate([normals, rows])).decision_function(rows),
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
    "rule of thumb": ({"false_discovery_rate": None}, 5),
    "false discovery rate": ({"false_discovery_rate": RATE}, 100),
    "false discovery rate, halves": ({"false_discovery_rate": RATE, "estimator": RuLSIF(scale="columns")}, 200),
}


def order(report: Report, plan: Plan) -> None:
    """Report the AUROC of each method."""
    drawn = list(batches(plan))
    for method in ("fewratio, default", *peers()):
        for size, n_normals in SIZES.items():
            found = plan.run(delayed(_auroc)(method, n_normals, batch) for batch in drawn)
            by_seed: dict[int, dict[str, float]] = {}
            for batch, (auroc, _) in zip(drawn, found, strict=True):
                by_seed.setdefault(batch.seed, {})[batch.name] = auroc
            for seeds in SEEDS:
                chosen = [by_seed[seed] for seed in seeds if seed in by_seed]
                means = [float(np.mean(list(each.values()))) for each in chosen]
                if chosen:
                    report(
                        table="outliers: AUROC",
                        method=method,
                        normals=size,
                        tables=len(chosen[0]),
                        seeds=[seed for seed in seeds if seed in by_seed],
                        auroc=float(np.mean(means)),
                        # Of seeds: the tables are given.
                        standard_error=float(np.std(means, ddof=1) / len(means) ** 0.5) if len(means) > 1 else None,
                        cpu_seconds=float(np.mean([seconds for _, seconds in found])),
                        by_table={
                            name: round(float(np.mean([each[name] for each in chosen])), 4) for name in chosen[0]
                        },
                    )


def _auroc(method: str, n_normals: int, batch: Batch) -> tuple[float, float]:
    """Give the AUROC of a method on a batch, and processor seconds."""
    scorer = _ours if method == "fewratio, default" else _scaled(peers()[method])
    started = time.process_time()
    scores = scorer(batch.normals[:n_normals], batch.rows)
    return float(roc_auc_score(~batch.is_anomaly, scores)), time.process_time() - started


def flags(report: Report, plan: Plan) -> None:
    """Report how many rows are flagged of clean batches, and what of batches with anomalies.

    Tables with fewer normals are left out, but at 1,000 all count that have 200.
    """
    drawn = [batch for batch in batches(plan) if batch.seed in SEEDS[-1]]
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


TABLES = {"order": order, "flags": flags}
