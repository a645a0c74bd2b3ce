"""Importance weights: beside what one would use instead, whether the advice is right, and how long they take."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from everyday.data import classes
from everyday.plan import Plan
from fewratio import ULSIF, importance_weights

Report = Callable[..., None]
LEAST_ROWS, MOST_ROWS = 30, 3_000
BUNDLED = ("breast_cancer", "diabetes", "iris", "wine")
# Added to errors before their logarithm: smaller differences do not matter.
LEAST_ERROR = 0.01


class Problem(NamedTuple):
    """Training rows that were selected by a known chance, target rows, and the true weights."""

    about: dict[str, Any]
    X: NDArray[Any]
    y: NDArray[Any]
    target: NDArray[Any]
    truth: NDArray[Any]
    weights: NDArray[Any]


def tables(half: str) -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Give the rows of tables and what is to be predicted; those of scikit-learn belong to the development half."""
    for name, parts in classes(half).items():
        yield name, np.concatenate(parts), np.repeat(np.arange(len(parts)), list(map(len, parts))).astype(str)
    for name in BUNDLED if half == "development" else ():
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name, X, y if name == "diabetes" else y.astype(str)


def problems(half: str, seeds: range) -> Iterator[Problem]:
    """Select training rows by a chance that depends on a component, a column, or the distance along a component."""
    for seed in seeds:
        for name, X, y in tables(half):
            rng = np.random.default_rng([seed, len(name)])
            drawn = rng.permutation(len(X))[:MOST_ROWS]
            X, y = X[drawn], y[drawn]
            X = X[:, np.ptp(X, axis=0) > 0]
            Z = (X - X.mean(0)) / X.std(0)
            for kind in ("component", "column", "spread"):
                is_column = kind == "column"
                direction = np.eye(Z.shape[1])[rng.integers(Z.shape[1])]
                along = Z @ (direction if is_column else np.linalg.svd(Z, full_matrices=False)[2][0])
                along = along**2 if kind == "spread" else along
                strength = float(rng.choice([1, 2, 4]))
                along = strength * (along - np.median(along)) / along.std()
                is_train = rng.random(len(X)) < 1 / (1 + np.exp(along))
                about = {"data": name, "shift": kind, "strength": strength, "draw": seed}
                is_large = min(is_train.sum(), (~is_train).sum()) >= LEAST_ROWS
                if is_large and len(np.unique(y[is_train])) > 1:
                    rows = X[is_train], y[is_train], X[~is_train], y[~is_train]
                    yield Problem(about, *rows, np.exp(along[is_train]))


def logistic_odds(problem: Problem) -> NDArray[Any]:
    """Give the odds of a logistic regression that separates target from training rows."""
    X = np.concatenate([problem.X, problem.target])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
    chance = model.fit(X, np.arange(len(X)) >= len(problem.X)).predict_proba(problem.X)
    return chance[:, 1] / chance[:, 0]


METHODS: dict[str, Callable[[Problem], NDArray[Any]]] = {
    "fewratio": lambda each: importance_weights(each.X, each.target, random_state=0).weights,
    "odds of a logistic regression": logistic_odds,
    "uLSIF": lambda each: (
        ULSIF(sigma="cv", reg="cv", scale="columns", random_state=0).fit(each.target, each.X).ratio_de_
    ),
    "no weights": lambda each: np.ones(len(each.X)),
    "true weights": lambda each: each.weights,
}


def model_tasks(problem: Problem) -> dict[str, tuple[Any, Any, Any, Any]]:
    """Give a regression and, where there are classes, a classification: rows and values of training and target."""
    X, y, target, truth = problem.X, problem.y, problem.target, problem.truth
    if y.dtype.kind == "f":
        return {"regression": (X, y, target, truth)}
    codes = np.unique(y, return_inverse=True)[1]
    column = int(np.nan_to_num(np.abs(np.corrcoef(np.column_stack([X, codes]).T)[-1, :-1])).argmax())
    rest = np.delete(X, column, 1), X[:, column], np.delete(target, column, 1), target[:, column]
    return {"classification": (X, y, target, truth)} | ({"regression": rest} if X.shape[1] > 1 else {})


def measure(task: str, rows: tuple[Any, Any, Any, Any], weights: NDArray[Any] | None) -> float:
    """Give the error of a linear model at the target rows: wrong predictions, or squares over the variance."""
    X, y, target, truth = rows
    model = LogisticRegression(max_iter=1_000) if task == "classification" else Ridge()
    pipe = make_pipeline(StandardScaler(), model)
    pipe.fit(X, y, **{f"{pipe.steps[-1][0]}__sample_weight": weights})
    predicted = pipe.predict(target)
    return float(
        np.mean(predicted != truth) if task == "classification" else np.mean((predicted - truth) ** 2) / truth.var()
    )


def _compare(problem: Problem) -> dict[str, dict[str, float]]:
    """Give by measure and method the logarithm of the error."""
    found: dict[str, dict[str, float]] = {}
    true = problem.weights / problem.weights.mean()
    for name, method in METHODS.items():
        weights = method(problem)
        weights = weights / weights.mean()
        errors = {"weights": float(np.mean((weights - true) ** 2) ** 0.5)}
        for task, rows in model_tasks(problem).items():
            errors[task] = measure(task, rows, weights)
            if task == "regression":
                values, truth = rows[1], rows[3]
                errors["mean"] = float(abs(np.average(values, weights=weights) - truth.mean()) / truth.std())
        for each, error in errors.items():
            found.setdefault(each, {})[name] = float(np.log(error + LEAST_ERROR))
    return found


def weighting(report: Report, plan: Plan, half: str) -> None:
    """Report the mean log error of weights, means and models, and how it differs from the best rival's."""
    cases = list(problems(half, plan.seeds(plan.count(1, 3))))
    found = plan.run(delayed(_compare)(each) for each in cases)
    n_tables = len({each.about["data"] for each in cases})
    for name in ("weights", "mean", "regression", "classification"):
        errors = {method: np.array([each[name][method] for each in found if name in each]) for method in METHODS}
        rivals = {m: float(each.mean()) for m, each in errors.items() if m not in ("fewratio", "true weights")}
        best = min(rivals, key=lambda each: rivals[each])
        for method, logs in errors.items():
            behind = logs - errors[best]
            report(
                table="weights: mean log error",
                error=name,
                method=method,
                problems=len(logs),
                tables=n_tables,
                mean_log_error=float(logs.mean()),
                best_rival=best,
                behind_best_rival=float(behind.mean()),
                standard_error=float(behind.std(ddof=1) / len(behind) ** 0.5),
            )


def _advise(problem: Problem) -> list[tuple[str, str, float]]:
    """Give of each model its kind, the advice, and the change of the log error at the target rows by the weights."""
    found = []
    for task, rows in model_tasks(problem).items():
        result = importance_weights(rows[0], rows[2], y=rows[1], random_state=0)
        errors = [measure(task, rows, weights) + LEAST_ERROR for weights in (result.weights, None)]
        found.append((task, str(result.advice).partition(":")[0], float(np.log(errors[0] / errors[1]))))
    return found


def advice(report: Report, plan: Plan, half: str) -> None:
    """Report by advice how often the error on the target fell or rose, by more than one per cent."""
    found = plan.run(delayed(_advise)(each) for each in problems(half, plan.seeds(plan.count(1, 3))))
    models = [each for of_problem in found for each in of_problem]
    for said in ("use the weights", "no difference seen", "do not use the weights for this model"):
        changes = np.array([change for _, told, change in models if told == said])
        report(
            table="weights: advice",
            advice=said,
            models=len(models),
            given=len(changes),
            fell=int((changes < -LEAST_ERROR).sum()),
            rose=int((changes > LEAST_ERROR).sum()),
            mean_log_change=float(changes.mean()) if len(changes) else None,
        )


def speed(report: Report, plan: Plan) -> None:
    """Report how long the weights of few and of many rows take; columns are of both kinds, and shift much."""
    import polars as pl

    for n in (150, 5_000, 20_000 if plan.quick else 1_000_000):
        rng = np.random.default_rng(0)
        samples = []
        for shift in (0.0, 1.0):
            size = rng.normal(shift, 1, n)
            numbers = {f"x{i}": size + rng.normal(0, 0.3, n) for i in range(6)}
            texts = {f"c{i}": rng.choice(list("abcdefg"), n) for i in range(3)}
            samples.append(pl.DataFrame(numbers | texts))
        wall, processor = time.perf_counter(), time.process_time()
        importance_weights(*samples, random_state=0)
        report(
            table="speed of weights",
            rows_a_side=n,
            columns="6 of numbers, 3 of categories",
            seconds=round(time.perf_counter() - wall, 2),
            processor_seconds=round(time.process_time() - processor, 2),
        )


ON_HALVES = {"weighting": weighting, "advice": advice}
TABLES = {"million": speed}
