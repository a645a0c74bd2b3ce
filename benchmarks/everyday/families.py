"""Families of datasets for the benchmarks of learning from related datasets, as plain arrays."""

import csv
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

import fewratio_bench  # noqa: F401  (it knows the paper's data)
from everyday.data import folder
from fewratio.data import load_collection
from fewratio.data.sources.gaussian import gaussian_family

# Of a large table at most so many rows of a dataset are used, and datasets of fewer rows than this not at all.
_MOST_ROWS, _LEAST_ROWS = 200, 8
_Family = tuple[list[np.ndarray], list[str | None]]


def _collection(name: str) -> _Family:
    collection = load_collection(name)
    return [np.asarray(dataset.X, np.float64) for dataset in collection], list(collection.groups)


def _gaussian() -> _Family:
    collection = gaussian_family(120, n_instances=300, random_state=0).collection
    return [np.asarray(dataset.X) for dataset in collection], [None] * len(collection)


def _by_keys(rows: np.ndarray, keys: Sequence[tuple[str, ...]], n_group: int = 0) -> _Family:
    """Cut a table by keys; the first so many parts of a key are its group, held out together."""
    places = defaultdict(list)
    for place, key in enumerate(keys):
        places[key].append(place)
    rng = np.random.default_rng(0)
    kept = {
        key: rng.permutation(found)[:_MOST_ROWS] for key, found in sorted(places.items()) if len(found) >= _LEAST_ROWS
    }
    groups = [" ".join(key[:n_group]) or None for key in kept]
    return [rows[found] for found in kept.values()], groups


def _csv(files: Sequence[str], key: Callable[[dict[str, str]], tuple[str, ...]], numbers: str, text: str) -> _Family:
    """Read numbers, and categories as zeros and ones; rows with gaps are left out."""
    cells = [
        row
        for name in files
        for row in csv.DictReader((folder("mixed", "development") / name).read_text().splitlines())
    ]
    cells = [row for row in cells if all(row[name] not in ("", "NA") for name in [*numbers.split(), *text.split()])]
    columns = [[float(row[name]) for row in cells] for name in numbers.split()]
    for name in text.split():
        columns += [[row[name] == level for row in cells] for level in sorted({row[name] for row in cells})]
    return _by_keys(np.array(columns, dtype=np.float64).T, [key(row) for row in cells])


def _vowels() -> _Family:
    lines = (folder("tables", "development") / "vowel.arff").read_text().splitlines()
    cells = [line.split(",") for line in lines if line and line[0] not in "%@"]
    speakers = list(dict.fromkeys(row[1] for row in cells))
    # Three speakers together: one alone has six rows of a vowel.
    keys = [(str(speakers.index(row[1]) // 3), row[-1]) for row in cells]
    return _by_keys(np.array([row[3:-1] for row in cells], dtype=np.float64), keys, n_group=1)


def _weather() -> _Family:
    kept = _csv(
        ["seattle.csv"],
        lambda row: (row["date"][:4], row["date"][5:7]),
        "precipitation temp_max temp_min wind",
        "weather",
    )
    return kept[0], [str(2012 + place // 12) for place in range(len(kept[0]))]


def _adbench(name: str, columns: Sequence[int]) -> _Family:
    """Cut a table by the values of some columns, which are then left out."""
    rows = np.load(folder("adbench", "development") / f"{name}.npz")["X"][:100_000].astype(np.float64)
    keys = [tuple(f"{value:g}" for value in row) for row in rows[:, columns]]
    return _by_keys(np.delete(rows, columns, axis=1), keys)


_PENGUINS = "bill_length_mm bill_depth_mm flipper_length_mm body_mass_g"
_CARS = "Miles_per_Gallon Cylinders Displacement Horsepower Weight_in_lbs Acceleration"
FAMILIES: dict[str, Callable[[], _Family]] = {
    "Mnist-r": lambda: _collection("mnist_r"),
    "Isolet": lambda: _collection("isolet"),
    "Digits-r": lambda: _collection("digits_r"),
    "vowels": _vowels,
    "weather": _weather,
    "School": lambda: _collection("school"),
    "Gaussian-1d": _gaussian,
    "penguins": lambda: _csv(
        ["biscoe.csv", "dream.csv"], lambda row: (row["species"], row["sex"], row["year"]), _PENGUINS, "island"
    ),
    "cars": lambda: _csv(["cars_usa.csv", "cars_japan.csv"], lambda row: (row["Origin"], row["Year"]), _CARS, ""),
    "faces": lambda: _adbench("8_celeba", (2, 17, 18, 20, 30)),
    "donors": lambda: _adbench("11_donors", (0, 2, 4, 5, 6)),
    "cardiotocography": lambda: _adbench("6_cardio", (14,)),
}


@lru_cache(maxsize=1)
def family(name: str) -> _Family:
    """Read the datasets of a family, and their groups."""
    return FAMILIES[name]()


def split_family(name: str, number: int, rescaled: bool = False) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Give sources in a random order, and targets: a group, or where there are none every fifth and at most ten."""
    sources, _, targets = split_with_groups(name, number, rescaled)
    return sources, targets


def split_with_groups(
    name: str, number: int, rescaled: bool = False
) -> tuple[list[np.ndarray], list[str | None], list[np.ndarray]]:
    """Give the same, and the group of each source."""
    datasets, groups = family(name)
    rng = np.random.default_rng([sum(map(ord, name)), number])
    if rescaled:
        factors = np.exp(np.random.default_rng(number).normal(0, 2, datasets[0].shape[1]))
        datasets = [rows * factors for rows in datasets]
    order = rng.permutation(len(datasets))
    kinds = list(dict.fromkeys(groups))
    if len(kinds) > 1:
        is_target = np.array([group == kinds[number % len(kinds)] for group in groups])
    else:
        is_target = np.isin(np.arange(len(datasets)), order[: min(10, max(4, len(datasets) // 5))])
    targets = [datasets[place] for place in order if is_target[place]][:10]
    sources = [place for place in order if not is_target[place]]
    return [datasets[place] for place in sources], [groups[place] for place in sources], targets
