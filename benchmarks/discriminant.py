"""The closed-form learner: regret on Gaussians of which the truth is known, speed and memory.

All of it, or some parts by name; each measurement is one JSON line. "gpu" gives none where there is no GPU.
Speed is that of `--threads` threads, the median of `--rounds`; what is compared is interleaved. Peak memory is
beyond what the data take, each in a process of its own.

    python benchmarks/discriminant.py --threads 2 > results/benchmarks/discriminant.jsonl
    python benchmarks/discriminant.py pretrain pairs predict --threads 2
    python benchmarks/discriminant.py gpu --threads 2 > results/benchmarks/discriminant-h200.jsonl
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from fewratio import AutoRatioEstimator, Collection, DiscriminantRatioEstimator
from fewratio.estimators.networks import Pair
from fewratio.estimators.networks.nn import MLPFeatures, RatioModel, RidgeHead, SetEncoder
from fewratio_bench.evaluate import judge_values
from fewratio_bench.methods.closed_form import closed_form_values
from fewratio_bench.problems import ISOLET, MNIST_R, SYNTHETIC
from fewratio_bench.records import circumstances

SOURCES, WAYS = ("Mnist-r", "Isolet", "1000 x 100 x 50"), ("default", "closed form")
Record = dict[str, Any]


def regret(args: argparse.Namespace) -> Iterator[Record]:
    """Ten instances per sample, all pairs of 20 datasets of the paper's synthetic family."""
    found = []
    for number in range(args.splits):
        split = SYNTHETIC.split(number)
        # Three validation datasets are too few to choose by: sources are held out.
        estimator = DiscriminantRatioEstimator().pretrain(split.source, split.validation)
        evaluation = SYNTHETIC.evaluation(split, "target", 10, torch.device("cpu"))
        (support,), (query,) = closed_form_values([estimator.model_], evaluation.episode, 0.5)
        found.append(evaluation.metrics(judge_values(support, query, evaluation.episode, 0.5))["regret"])
    error = float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None
    yield {"splits": args.splits, "regret": float(np.mean(found)), "standard_error": error, "largest": max(found)}


def pretrain(args: argparse.Namespace) -> Iterator[Record]:
    """Seconds and memory of `pretrain`, of the closed form and of the default, with validation datasets and without."""
    # A process never forgets its peak, so each gets one of its own.
    for name, way in product(SOURCES, WAYS):
        command = [sys.executable, __file__, "pretrain", "--sources", name, "--way", way]
        command += ["--threads", str(args.threads), "--rounds", str(args.rounds)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        yield from map(json.loads, done.stdout.splitlines())


def pretrain_on(name: str, args: argparse.Namespace) -> Iterator[Record]:
    if name == SOURCES[2]:
        rng = np.random.default_rng(0)
        rows = [rng.normal(rng.normal(size=50), 1, (100, 50)) for _ in range(1000)]
        source, validation, scale = Collection.from_arrays(rows), None, "columns"
    else:
        split = {"Mnist-r": MNIST_R, "Isolet": ISOLET}[name].split(0)
        source, validation, scale = split.source, split.validation, "none"
    # The first call loads libraries.
    AutoRatioEstimator().pretrain(source[:8])
    estimator: Any = AutoRatioEstimator() if args.way == WAYS[0] else DiscriminantRatioEstimator(scale=scale)
    for held_out in (None,) if validation is None else (None, validation):
        before, seconds, processor = peak_bytes(), [], []
        for _ in range(args.rounds):
            started, started_processor = time.perf_counter(), time.process_time()
            estimator.pretrain(source, held_out)
            seconds.append(time.perf_counter() - started)
            processor.append(time.process_time() - started_processor)
        yield {
            "way": args.way,
            "sources": name,
            "datasets": len(source),
            "columns": source.n_features,
            "validation": held_out is not None,
            "seconds": round(statistics.median(seconds), 2),
            "processor_seconds": round(statistics.median(processor), 2),
            "beyond_data_mb": round((peak_bytes() - before) / 1e6),
            "load": round(os.getloadavg()[0], 1),
        }


def pairs(args: argparse.Namespace) -> Iterator[Record]:
    """Pairs per second: 5 + 5 rows of 256 columns, from one table and all different, beside the paper's network."""
    n_pairs, rng = args.many, np.random.default_rng(0)
    estimator, wide = estimator_of_256(), estimator_of_256_with_background(rng)
    tables = rng.normal(size=(1000, 256)), rng.normal(size=(10 * n_pairs, 256))
    numbers = rng.integers(0, 1000, (2, n_pairs, 5)), np.arange(10 * n_pairs).reshape(2, n_pairs, 5)
    generator = torch.Generator().manual_seed(0)
    encoder = SetEncoder(256, 32, generator=generator)
    network = RatioModel(encoder, MLPFeatures(256, encoder.n_outputs, generator=generator), RidgeHead())
    nu, de = (torch.as_tensor(tables[1][side], dtype=torch.float32) for side in numbers[1])
    ways: dict[str, Callable[[], Any]] = {
        "one table": lambda: estimator.divergences(tables[0], *numbers[0]),
        "all different": lambda: estimator.divergences(tables[1], *numbers[1]),
        "one table, background": lambda: wide.divergences(tables[0], *numbers[0]),
        "all different, background": lambda: wide.divergences(tables[1], *numbers[1]),
        "network, batched": lambda: network.adapt(Pair(nu, de)).weights,
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with torch.inference_mode():
        for _ in range(args.rounds):
            for name, way in ways.items():
                started = time.perf_counter()
                way()
                seconds[name].append(time.perf_counter() - started)
    rates = {name: n_pairs / statistics.median(values) for name, values in seconds.items()}
    yield {
        **{f"{name}, pairs per second": round(rate) for name, rate in rates.items()},
        "one table / network": round(rates["one table"] / rates["network, batched"], 2),
        "coordinates": len(estimator.model_.coordinates.signal),
        "coordinates, background": len(wide.model_.coordinates.signal),
        "load": round(os.getloadavg()[0], 1),
    }


def predict(args: argparse.Namespace) -> Iterator[Record]:
    """Rows per second of `predict`, and memory beyond the rows."""
    rng = np.random.default_rng(0)
    estimator = estimator_of_256()
    estimator.fit(rng.normal(size=(5, 256)), rng.normal(size=(7, 256))).predict(np.zeros((1, 256)))
    X = np.empty((args.rows, 256), dtype=np.float32)
    # Block by block: making the rows must not itself set the peak.
    for row in range(0, args.rows, 10_000):
        X[row : row + 10_000] = rng.normal(size=X[row : row + 10_000].shape)
    before, started = peak_bytes(), time.perf_counter()
    estimator.predict(X)
    took = time.perf_counter() - started
    yield {
        "rows": args.rows,
        "rows_per_second": round(args.rows / took),
        "beyond_rows_mb": round((peak_bytes() - before) / 1e6),
        "load": round(os.getloadavg()[0], 1),
    }


def gpu(args: argparse.Namespace) -> Iterator[Record]:
    """`predict` and `divergences` (pairs of 5 + 5 rows, all different) on a CPU and on a GPU; how far they differ."""
    if not torch.cuda.is_available():
        return
    rng, estimator = np.random.default_rng(0), estimator_of_256()
    X = rng.normal(size=(args.rows, 256)).astype(np.float32)
    rows, numbers = rng.normal(size=(10 * args.many, 256)), np.arange(10 * args.many).reshape(2, args.many, 5)
    ways: dict[str, tuple[int, Callable[[], Any]]] = {
        "rows": (args.rows, lambda: estimator.predict(X)),
        "pairs": (args.many, lambda: estimator.divergences(rows, *numbers)),
    }
    estimator.fit(rng.normal(size=(5, 256)), rng.normal(size=(7, 256)))
    for name, (count, way) in ways.items():
        answers, rates = [], {}
        for device in ("cpu", "cuda"):
            estimator.set_params(device=device).predict(X[:10_000])
            started = time.perf_counter()
            answers.append(way())
            rates[device] = count / (time.perf_counter() - started)
        yield {
            name: count,
            **{f"{device}, per second": round(rate) for device, rate in rates.items()},
            "cuda / cpu": round(rates["cuda"] / rates["cpu"], 1),
            "largest_difference": float(np.abs(answers[0] - answers[1]).max()),
            "gpu": torch.cuda.get_device_name(),
        }


def estimator_of_256() -> DiscriminantRatioEstimator:
    """Learn from Mnist-r: cosines of 256 columns, and as many coordinates as sources but one."""
    split = MNIST_R.split(0)
    return DiscriminantRatioEstimator(scale="none").pretrain(split.source, split.validation)


def estimator_of_256_with_background(rng: np.random.Generator) -> DiscriminantRatioEstimator:
    """Learn from datasets that differ in all of 256 directions: more coordinates than features."""
    sources = Collection.from_arrays([rng.normal(rng.normal(size=256), 1, (100, 256)) for _ in range(40)])
    return DiscriminantRatioEstimator(features="cosines", width=0.8, shrinkage=0.1).pretrain(sources)


def peak_bytes() -> int:
    # Linux counts kilobytes, macOS bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Record]]] = {
    "regret": regret,
    "pretrain": pretrain,
    "pairs": pairs,
    "predict": predict,
    "gpu": gpu,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; by default all")
    parser.add_argument("--splits", type=int, default=10, help="of the synthetic problem")
    parser.add_argument("--many", type=int, default=10_000, help="pairs of samples, for speed")
    parser.add_argument("--rows", type=int, default=1_000_000, help="to predict")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sources", choices=SOURCES, help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    with threadpool_limits(args.threads):
        for part in args.parts or PARTS:
            found = pretrain_on(args.sources, args) if args.sources else PARTS[part](args)
            for record in found:
                if "benchmark" not in record:
                    speed = {"threads": args.threads} if part in ("pretrain", "pairs", "predict", "gpu") else {}
                    record = {"benchmark": part, **record, **speed, **circumstances(torch.device("cpu"))}
                sys.stdout.write(json.dumps(record) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
