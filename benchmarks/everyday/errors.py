"""Planted errors: what a person would call an error, planted in real tables, and how many are among the first rows.

Fifteen tables are read from the development half (``everyday/mixed``, ``everyday/tables`` and the normal rows of three
of ``everyday/adbench``) and from scikit-learn. Per draw a table is shuffled; its first 10, 30, 100 or 700 rows are the
known normals, the next 100 (40 at least) the batch. Three rows of the batch get an error of one kind, each in a column
of its own choice. Recall is the share of them among the 5 % of the batch with the lowest scores; *flagged* and *flagged
or listed* are shares by the detector's own threshold and list of cells, in a batch without errors shares of all rows.
Rivals are fitted to the normals, categories as zeros and ones (those that only the batch has too), columns in units of
the normals' deviation, or of all rows' where that is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import numpy as np
from joblib import delayed
from sklearn import datasets
from sklearn.covariance import LedoitWolf
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from everyday.data import classes, folder
from everyday.outliers import OURS, Array, Report
from everyday.plan import Plan
from fewratio import InlierOutlierDetector
from fewratio.outliers.result import OutlierResult

# All other answers can be measured without it.
with suppress(ModuleNotFoundError):
    import pandas as pd

SIZES = (10, 30, 100, 700)
N_ROWS, LEAST_ROWS, N_ERRORS, SHARE = 100, 40, 3, 0.05
CLEAN, FLAGGED, LISTED = "none", "fewratio, flagged", "fewratio, flagged or listed"
# Scores rows of any batch; higher is more normal.
Fitted = Callable[[Array], Array]


# ---------------------------------------------------------------- tables


@cache
def tables() -> dict[str, pd.DataFrame]:
    """Read the tables: columns of numbers, and of categories as text."""
    mixed = folder("mixed", "development")

    def read(*names: str, drop: tuple[str, ...] = ()) -> pd.DataFrame:
        found = pd.concat([pd.read_csv(mixed / f"{name}.csv") for name in names]).drop(columns=list(drop))
        return found.dropna().drop_duplicates().reset_index(drop=True)

    found = {
        "penguins": read("p2007", "p2009", drop=("year",)),
        "cars": read("cars_usa", "cars_japan", drop=("Name", "Year")),
        "tips": read("tips_non", "tips_smoker"),
        "weather": read("seattle", drop=("date",)),
    }
    for name in ("ecoli", "new-thyroid", "wheat-seeds", "phoneme", "vowel"):
        found[name] = pd.DataFrame(np.concatenate(classes("development")[name])).add_prefix("c")
    for name, load in {"wine": datasets.load_wine, "cancer": datasets.load_breast_cancer}.items():
        found[name] = load(as_frame=True).data
    for name in ("19_landsat", "23_mammography", "47_yeast"):
        with np.load(folder("adbench", "development") / f"{name}.npz") as file:
            found[name.partition("_")[2]] = pd.DataFrame(file["X"][file["y"].ravel() == 0]).add_prefix("c")
    found["diabetes"] = datasets.load_diabetes(as_frame=True, scaled=False).data.drop(columns="sex")
    return found


def numbers_of(table: pd.DataFrame) -> list[str]:
    """Name the columns of numbers with more than two values."""
    return [name for name in table.select_dtypes("number") if table[name].nunique() > 2]


@cache
def best_predicted(name: str) -> str:
    """Name the column that the others predict best."""
    table = tables()[name][numbers_of(tables()[name])]
    table = (table - table.mean()) / table.std()
    fits = {}
    for column in table:
        others = table.drop(columns=column)
        fits[column] = RidgeCV(np.logspace(-2, 2, 5)).fit(others, table[column]).score(others, table[column])
    return max(fits, key=fits.__getitem__)


# ---------------------------------------------------------------- errors

# An error of a row, given the whole table, its name, and the row's place in the batch; None where there can be none.
Plant = Callable[[np.random.Generator, "pd.DataFrame", str, "pd.Series"], "dict[str, object] | None"]


def in_units(factor: float) -> Plant:
    def plant(rng: np.random.Generator, table: pd.DataFrame, name: str, row: pd.Series) -> dict[str, object]:
        choices = [column for column in numbers_of(table) if row[column] != 0]
        column = choices[rng.integers(len(choices))]
        return {column: row[column] * factor}

    return plant


def swap(rng: np.random.Generator, table: pd.DataFrame, name: str, row: pd.Series) -> dict[str, object]:
    first, second = rng.choice(numbers_of(table), 2, replace=False)
    return {first: row[second], second: row[first]}


def misspell(rng: np.random.Generator, table: pd.DataFrame, name: str, row: pd.Series) -> dict[str, object] | None:
    columns = [column for column in table if not pd.api.types.is_numeric_dtype(table[column])]
    if not columns:
        return None
    column = columns[rng.integers(len(columns))]
    text = row[column]
    place = int(rng.integers(len(text) - 1))
    swapped = text[:place] + text[place + 1] + text[place] + text[place + 2 :]
    return {column: swapped if swapped not in set(table[column]) else text + text[-1]}


def shuffle(rng: np.random.Generator, table: pd.DataFrame, name: str, row: pd.Series) -> dict[str, object]:
    return {column: table[column].iloc[rng.integers(len(table))] for column in table}


def break_relation(rng: np.random.Generator, table: pd.DataFrame, name: str, row: pd.Series) -> dict[str, object]:
    column = best_predicted(name)
    return {column: table[column].iloc[rng.integers(len(table))]}


KINDS: dict[str, Plant | None] = {
    **{f"x {factor}": in_units(factor) for factor in (10, 100, 1000)},
    **{f": {factor}": in_units(1 / factor) for factor in (10, 100, 1000)},
    "swapped columns": swap,
    "sign": in_units(-1),
    "typo in a category": misspell,
    # A sensor is stuck at the value of the row before: planted in all rows at once.
    "constant sensor": None,
    "shuffled row": shuffle,
    "broken relation": break_relation,
}


class Planted(NamedTuple):
    """Normals and batches with errors, by kind."""

    normals: pd.DataFrame
    batches: dict[str, pd.DataFrame]
    is_error: np.ndarray


def draw(name: str, n_normals: int, seed: int) -> Planted | None:
    """Draw normals and a batch, and plant errors of each kind; None where the table is too small."""
    table = tables()[name]
    if len(table) < n_normals + LEAST_ROWS:
        return None
    rng = np.random.default_rng([seed, n_normals, list(tables()).index(name)])
    shuffled = table.iloc[rng.permutation(len(table))].reset_index(drop=True)
    # Numbers may become fractions.
    shuffled = shuffled.astype(dict.fromkeys(shuffled.select_dtypes("number"), float))
    normals, batch = shuffled[:n_normals], shuffled[n_normals : n_normals + N_ROWS].reset_index(drop=True)
    places = np.sort(rng.choice(len(batch), N_ERRORS, replace=False))
    batches = {CLEAN: batch}
    for kind, plant in KINDS.items():
        changed = batch.copy()
        stuck = rng.choice(numbers_of(table))
        for place in places:
            error = {stuck: batch[stuck][places[0]]} if plant is None else plant(rng, table, name, batch.loc[place])
            if error is None:
                break
            for column, value in error.items():
                changed.loc[place, column] = value
        else:
            batches[kind] = changed
    return Planted(normals, batches, np.isin(np.arange(len(batch)), places))


# ---------------------------------------------------------------- methods


def rivals(normals: Array) -> dict[str, Fitted]:
    """Fit what a user would pick instead."""
    n = len(normals)
    knn, covariance = NearestNeighbors(n_neighbors=5).fit(normals), LedoitWolf().fit(normals)
    return {
        "KNN": lambda rows: -knn.kneighbors(rows)[0].mean(1),
        "LOF": LocalOutlierFactor(min(20, n - 1), novelty=True).fit(normals).score_samples,
        "Mahalanobis": lambda rows: -covariance.mahalanobis(rows),
        "one-class SVM": OneClassSVM().fit(normals).decision_function,
        "isolation forest": IsolationForest(random_state=0).fit(normals).score_samples,
    }


def encode(normals: pd.DataFrame, batch: pd.DataFrame) -> tuple[Array, Array]:
    """Give both as numbers in the units that rivals need."""
    together = pd.get_dummies(pd.concat([normals, batch])).to_numpy(float)
    deviation, of_all = together[: len(normals)].std(0), together.std(0)
    deviation = np.where(deviation > 0, deviation, np.where(of_all > 0, of_all, 1))
    scaled = (together - together[: len(normals)].mean(0)) / deviation
    return scaled[: len(normals)], scaled[len(normals) :]


def own_flags(result: OutlierResult, is_error: np.ndarray) -> Iterator[tuple[str, float]]:
    """Give the share of some rows that the detector flags, and that it flags or lists."""
    yield FLAGGED, float(result.is_outlier[is_error].mean())
    is_listed = np.isin(np.arange(len(is_error)), [error.row for error in result.errors])
    yield LISTED, float((result.is_outlier | is_listed)[is_error].mean())


def recalls(name: str, n_normals: int, seed: int) -> list[tuple[str, str, float]]:
    """Return the recall of each method for each kind of error, on one draw."""
    return list(_go_through(name, n_normals, seed))


def _go_through(name: str, n_normals: int, seed: int) -> Iterator[tuple[str, str, float]]:
    planted = draw(name, n_normals, seed)
    if planted is None:
        return
    n_flagged = int(np.ceil(SHARE * len(planted.is_error)))
    detector = InlierOutlierDetector().fit(planted.normals)
    clean = planted.batches.pop(CLEAN)
    yield from ((CLEAN, *each) for each in own_flags(detector.detect(clean), np.ones(len(clean), dtype=bool)))
    encoded = {kind: encode(planted.normals, batch) for kind, batch in planted.batches.items()}
    scores: dict[str, dict[str, Array]] = {}
    while encoded:
        # Only a new category, or a column that was constant, changes what the normals are.
        normals = next(iter(encoded.values()))[0]
        kinds = [kind for kind, (known, _) in encoded.items() if np.array_equal(known, normals)]
        together = np.concatenate([encoded.pop(kind)[1] for kind in kinds])
        for method, score in rivals(normals).items():
            parts = np.split(score(together), len(kinds))
            for kind, of in zip(kinds, parts, strict=True):
                scores.setdefault(kind, {})[method] = of
    for kind, batch in planted.batches.items():
        result = detector.detect(batch)
        yield from ((kind, *each) for each in own_flags(result, planted.is_error))
        scores[kind][OURS] = result.scores
        for method, of in scores[kind].items():
            flagged = np.argsort(of, kind="stable")[:n_flagged]
            yield kind, method, float(planted.is_error[flagged].sum() / N_ERRORS)


def plant(report: Report, plan: Plan) -> None:
    """Report the recall of each method for each kind of error and number of normals."""
    seeds = plan.seeds(plan.count(1, 10))
    names = list(tables())[:: 4 if plan.quick else 1]
    for n_normals in SIZES[::2] if plan.quick else SIZES:
        cases = [(name, seed) for name in names for seed in seeds]
        found = plan.run(delayed(recalls)(name, n_normals, seed) for name, seed in cases)
        rows = [(*case, *each) for case, of in zip(cases, found, strict=True) for each in of]
        frame = pd.DataFrame(rows, columns=["name", "seed", "kind", "method", "recall"])
        for (kind, method), part in frame.groupby(["kind", "method"], sort=False):
            # Of draws: the tables are given.
            means = part.groupby("seed")["recall"].mean()
            by_table = part.groupby("name", sort=False)["recall"].mean()
            report(
                table="planted errors",
                error=kind,
                method=method,
                normals=n_normals,
                tables=len(by_table),
                seeds=means.index.tolist(),
                recall=float(means.mean()),
                standard_error=float(means.std() / len(means) ** 0.5) if len(means) > 1 else None,
                by_table=by_table.round(3).to_dict(),
            )


ON_HALVES: dict[str, Callable[..., None]] = {}
TABLES = {"errors": plant}
