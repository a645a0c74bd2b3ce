"""Importance weights: what weighting is worth, whether the advice is right, and how long a million rows take."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from joblib import delayed
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from everyday.data import classes
from everyday.plan import Plan
from fewratio import RuLSIF, importance_weights
from fewratio.estimators import RatioEstimator

Report = Callable[..., None]
Task = tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray, np.ndarray]
LEAST_TRAINING_ROWS = 30


def shift_tasks(half: str, seeds: range) -> Iterator[Task]:
    """Divide tables into training and target rows by chance that depends on a component or column, or on nothing."""
    for seed in seeds:
        for name, parts in classes(half).items():
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
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    classifier.fit(X, y, logisticregression__sample_weight=weights)
    column = int(np.nan_to_num(np.abs(np.corrcoef(np.column_stack([X, y]).T)[-1, :-1])).argmax())
    regression = make_pipeline(StandardScaler(), Ridge())
    regression.fit(np.delete(X, column, 1), X[:, column], ridge__sample_weight=weights)
    residuals = regression.predict(np.delete(target, column, 1)) - target[:, column]
    return {
        "classifier": float(np.mean(classifier.predict(target) != truth)),
        "regression": float(np.mean(residuals**2) / target[:, column].var()),
    }


def _weighted(task: Task, estimator: RatioEstimator | None) -> tuple[Any, ...]:
    """Give the weights of a task's training rows, and the errors of models without and with them."""
    _, X, y, target, truth = task
    found = importance_weights(X, target, estimator=estimator, random_state=0)
    return found, *(errors(each, X, y, target, truth) for each in (None, found.weights))


def weighting(report: Report, plan: Plan, half: str) -> None:
    """Report what weighting changes in each task, and how often the advice was right."""
    makers: dict[str, Callable[[], RatioEstimator | None]] = {
        "default": lambda: None,
        "RuLSIF, cv": lambda: RuLSIF(0.1, sigma="cv", reg="cv", scale="columns"),
    }
    for name, make in makers.items():
        changes: dict[bool, list[float]] = {True: [], False: []}
        tasks = list(shift_tasks(half, plan.seeds(plan.count(1, 2))))
        results = plan.run(delayed(_weighted)(task, make()) for task in tasks)
        for (task, X, _, target, _), (found, plain, weighted) in zip(tasks, results, strict=True):
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


def speed(report: Report, plan: Plan) -> None:
    """Report how long the weights of many rows take."""
    n = 20_000 if plan.quick else 1_000_000
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


ON_HALVES = {"weighting": weighting}
TABLES = {"million": speed}
