"""Ratios and weights without related datasets: J by size, what weighting is worth, and how long a million rows take."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sizes
from everyday.data import classes
from fewratio import AutoRatioEstimator, ClassifierRatio, RuLSIF, UniversalRatioEstimator, importance_weights
from fewratio.estimators import RatioEstimator

Report = Callable[..., None]
ALPHA = 0.5
# Rows of either sample; beyond 500 the network would take minutes.
SIZES = [(n, n) for n in (2, 3, 5, 10, 20, 50, 100, 150, 199, 200, 300, 500, 1000, 2000)] + [(5, 1000), (20, 2000)]
NETWORK_AT_MOST = 200
LEAST_TRAINING_ROWS = 30


def linear() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression())


ESTIMATORS: dict[str, Callable[[], RatioEstimator]] = {
    "AutoRatioEstimator": lambda: AutoRatioEstimator(random_state=0),
    "UniversalRatioEstimator": lambda: UniversalRatioEstimator(scale="columns"),
    "ClassifierRatio": lambda: ClassifierRatio(random_state=0),
    "RuLSIF, cv": lambda: RuLSIF(sigma="cv", reg="cv", scale="columns", random_state=0),
    "logistic regression": lambda: ClassifierRatio(linear(), calibrate=False, random_state=0),
    "logistic regression, calibrated": lambda: ClassifierRatio(linear(), calibrate=True, random_state=0),
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


def shift_tasks(n_seeds: int) -> Iterator[tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Divide tables into training and target rows by chance that depends on a component or column, or on nothing."""
    for seed in range(n_seeds):
        for name, parts in classes().items():
            X, y = np.concatenate(parts), np.repeat(np.arange(len(parts)), list(map(len, parts)))
            X = X[:, np.ptp(X, axis=0) > 0]
            Z = (X - X.mean(0)) / X.std(0)
            for kind in ("component", "column", "none"):
                rng = np.random.default_rng([seed, len(name), len(kind)])
                direction = np.eye(Z.shape[1])[rng.integers(Z.shape[1])]
                if kind == "component":
                    direction = np.linalg.svd(Z, full_matrices=False)[2][0]
                along = Z @ direction
                strength = 0.0 if kind == "none" else float(rng.choice([1, 2, 4]))
                along = (along - np.median(along)) / along.std()
                is_train = rng.random(len(X)) < 1 / (1 + np.exp(strength * along))
                task = {"data": name, "shift": kind, "strength": strength, "seed": seed}
                if is_train.sum() >= LEAST_TRAINING_ROWS and len(np.unique(y[is_train])) > 1:
                    yield task, X[is_train], y[is_train], X[~is_train], y[~is_train]


def errors(weights: Any, X: np.ndarray, y: np.ndarray, target: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Give the error of a classifier of the class, and of a regression of the column that says most of it."""
    classifier = linear().fit(X, y, logisticregression__sample_weight=weights)
    column = int(np.nan_to_num(np.abs(np.corrcoef(np.column_stack([X, y]).T)[-1, :-1])).argmax())
    regression = make_pipeline(StandardScaler(), Ridge())
    regression.fit(np.delete(X, column, 1), X[:, column], ridge__sample_weight=weights)
    residuals = regression.predict(np.delete(target, column, 1)) - target[:, column]
    return {
        "classifier": float(np.mean(classifier.predict(target) != truth)),
        "regression": float(np.mean(residuals**2) / target[:, column].var()),
    }


def weighting(report: Report, quick: bool) -> None:
    """Report what weighting changes in each task, and how often the advice was right."""
    makers: dict[str, Callable[[], RatioEstimator | None]] = {
        "default": lambda: None,
        "RuLSIF, cv": lambda: RuLSIF(0.1, sigma="cv", reg="cv", scale="columns"),
    }
    for name, make in makers.items():
        changes: dict[bool, list[float]] = {True: [], False: []}
        for task, X, y, target, truth in shift_tasks(1 if quick else 3):
            found = importance_weights(X, target, make(), random_state=0)
            plain, weighted = (errors(each, X, y, target, truth) for each in (None, found.weights))
            change = {model: float(np.log((weighted[model] + 0.01) / (plain[model] + 0.01))) for model in plain}
            changes[found.is_worthwhile] += change.values()
            report(
                table="weighting",
                **task,
                estimator=name,
                rows_train=len(X),
                rows_target=len(target),
                effective_sample_size=round(found.effective_sample_size, 1),
                held_out_gain=round(found.held_out_gain, 4),
                held_out_error=round(found.held_out_error, 4),
                advised=found.is_worthwhile,
                **{f"{model} unweighted": round(error, 4) for model, error in plain.items()},
                **{f"{model} weighted": round(error, 4) for model, error in weighted.items()},
            )
        # A change of less than one per cent is neither.
        better, worse = (
            {advised: sum(sign * each > 0.01 for each in of) for advised, of in changes.items()} for sign in (-1, 1)
        )
        decided = sum(better.values()) + sum(worse.values())
        report(
            table="advice",
            estimator=name,
            models=sum(map(len, changes.values())),
            advised=len(changes[True]),
            better_if_advised=better[True],
            worse_if_advised=worse[True],
            better_if_not=better[False],
            worse_if_not=worse[False],
            mean_log_change_if_advised=round(float(np.mean(changes[True] or [np.nan])), 4),
            mean_log_change_if_not=round(float(np.mean(changes[False] or [np.nan])), 4),
            share_right=round((better[True] + worse[False]) / max(decided, 1), 3),
        )


def speed(report: Report, quick: bool) -> None:
    """Report how long the weights of many rows take."""
    n = 20_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    X, target = rng.normal(size=(n, 10)), rng.normal(0.3, 1, (n, 10))
    wall, processor = time.perf_counter(), time.process_time()
    importance_weights(X, target, random_state=0)
    report(
        table="speed of weights",
        rows_a_side=n,
        columns=10,
        seconds=round(time.perf_counter() - wall, 2),
        processor_seconds=round(time.process_time() - processor, 2),
    )


def tables(report: Report, quick: bool) -> None:
    """Make all tables; `report` takes each record as keywords."""
    by_size(report, quick)
    weighting(report, quick)
    speed(report, quick)
