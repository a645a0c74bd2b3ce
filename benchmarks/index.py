"""`DatasetIndex`: how many of the ten nearest datasets it finds, and time and memory with a million. JSON lines.

    python benchmarks/index.py recall >> results/benchmarks/index.jsonl
    python benchmarks/index.py recall --data mnist_r --compared 500 1000 2000 5000 >> results/benchmarks/index.jsonl
    python benchmarks/index.py large --datasets 1000000 >> results/benchmarks/index.jsonl

``recall`` is the share of the ten nearest of 5,000 datasets of 5 rows, by the divergences with all of them, that a
search finds if it compares some of them only; the mean over 100 searches (the dataset itself is among the ten).
Datasets are drawn from families of Gaussians with 64 columns, and from the datasets of Mnist-r and Isolet
(`FEWRATIO_DATA`); of these, "same" is the share of the other nine that are from the same dataset, by the search and by
all divergences. ``large`` adds datasets in ten parts to an index of the first part, saves, loads and searches it.
"""

import argparse
import json
import re
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from fewratio import Collection, DatasetIndex, DiscriminantRatioEstimator
from fewratio.data import load_collection
from fewratio_bench.records import circumstances

N_ROWS, N_COLUMNS = 5, 64
REAL = ("mnist_r", "isolet")
FAMILIES = ("means", "eight directions", "fifty centres", "spreads", *REAL)


def gaussians(family: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Datasets whose means differ in all columns, in eight directions, about 50 centres; or whose spreads differ."""
    noise = rng.normal(size=(n, N_ROWS, N_COLUMNS))
    match family:
        case "means":
            return noise + rng.normal(0, 0.5, (n, 1, N_COLUMNS))
        case "eight directions":
            return 0.7 * noise + rng.normal(size=(n, 1, 8)) @ rng.normal(0, 8**-0.5, (8, N_COLUMNS))
        case "fifty centres":
            centres = rng.normal(size=(50, 1, N_COLUMNS))
            return noise + centres[rng.integers(50, size=n)] + rng.normal(0, 0.3, (n, 1, N_COLUMNS))
        case "spreads":
            return noise * np.exp(rng.normal(0, 0.5, (n, 1, 1))) + rng.normal(0, 0.3, (n, 1, N_COLUMNS))
    raise ValueError(family)


def subsets(data: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Small samples of real datasets, and which these are."""
    datasets = load_collection(data).datasets
    origin = rng.integers(len(datasets), size=n)
    chosen = (datasets[i].X for i in origin)
    return np.stack([X[rng.choice(len(X), N_ROWS, replace=False)] for X in chosen]), origin


def recall(n: int, n_searches: int, families, n_compared: list[int], k: int = 10):
    """Give records of the share of nearest datasets that are found."""
    for family in families:
        rng, estimators = np.random.default_rng(0), {"default": None}
        if family in REAL:
            samples, origin = subsets(family, n, rng)
            learned = DiscriminantRatioEstimator(random_state=0)
            estimators["learned"] = learned.pretrain(load_collection(family))
        else:
            samples, origin = gaussians(family, n, rng), np.arange(n)
        for estimator, model in estimators.items():
            index = DatasetIndex.build(Collection.from_arrays(samples), estimator=model)
            rows: dict[int, list[list[float]]] = {number: [] for number in n_compared}
            for i, sample in enumerate(samples[:n_searches]):
                divergences = index._divergences(sample, np.arange(n)).clip(min=0)
                nearest = np.argsort(divergences, kind="stable")[:k]
                for number in n_compared:
                    start = time.process_time()
                    found = np.array([int(name) for name in index.search(sample, k, n_compared=number).names])
                    seconds = time.process_time() - start
                    # Of equal divergences, such as zero, any will do.
                    right = (divergences[found] <= divergences[nearest[-1]]).mean()
                    same = [(origin[each[each != i][: k - 1]] == origin[i]).mean() for each in (found, nearest)]
                    rows[number].append([right, 1e3 * seconds, *same])
            names = ("recall", "search_processor_ms", "same", "same_by_all_divergences")
            for number, measured in rows.items():
                means = dict(zip(names, np.mean(measured, 0).round(4).tolist(), strict=True))
                means = means if family in REAL else dict(list(means.items())[:2])
                settings = {"data": family, "estimator": estimator, "datasets": n, "searches": n_searches}
                yield {"kind": "recall", **settings, "n_compared": number, **means}


def peak() -> float:
    """Peak memory of this process in MB."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024


def large(n: int, n_searches: int):
    """Give one record of time and memory."""
    rng, before, seconds = np.random.default_rng(0), peak(), {}

    def timed(name, call):
        start, clock = time.perf_counter(), time.process_time()
        result = call()
        seconds[name] = round(time.perf_counter() - start, 2), round(time.process_time() - clock, 2)
        return result

    parts = [gaussians("means", n // 10, rng).astype(np.float32) for _ in range(10)]
    index = timed("build", lambda: DatasetIndex.build(parts[0]))

    def add():
        for part in range(1, 10):
            index.add({str(part * len(parts[0]) + i): rows for i, rows in enumerate(parts[part])})

    timed("add", add)
    timed("first search", lambda: index.search(parts[0][0]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.index"
        timed("save", lambda: index.save(path))
        size, peak_building = path.stat().st_size / 2**20, peak()
        del index
        index = timed("load", lambda: DatasetIndex.load(path))
    index.search(parts[0][0])
    walls, clocks = [], []
    for i in range(n_searches):
        start, clock = time.perf_counter(), time.process_time()
        found = index.search(parts[i % 10][i])
        walls.append(time.perf_counter() - start)
        clocks.append(time.process_time() - clock)
        assert str(i % 10 * len(parts[0]) + i) == found.names[0]
    yield {
        "kind": "large",
        "datasets": n,
        "seconds_and_processor_seconds": seconds,
        "search_ms": round(1e3 * float(np.median(walls)), 2),
        "search_processor_ms": round(1e3 * float(np.median(clocks)), 2),
        "file_mb": round(size),
        "datasets_mb": round(sum(part.nbytes for part in parts) / 2**20),
        "peak_mb_beyond_start": round(peak_building - before),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("recall", "large"))
    parser.add_argument("--datasets", type=int, default=5_000)
    parser.add_argument("--searches", type=int, default=100)
    parser.add_argument("--data", nargs="+", default=FAMILIES, choices=FAMILIES)
    parser.add_argument("--compared", type=int, nargs="+", default=[200], help="n_compared of searches")
    args = parser.parse_args()
    made_by = {"benchmark": "index", **circumstances(torch.device("cpu"))}
    if args.what == "recall":
        records = recall(args.datasets, args.searches, args.data, args.compared)
    else:
        records = large(args.datasets, args.searches)
    for record in records:
        print(json.dumps(record | made_by), flush=True)


if __name__ == "__main__":
    main()
