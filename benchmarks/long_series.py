"""Changes of a long series by blocks of rows, beside those by all rows: false changes, places and time, as JSON lines.

100,000 rows, the least for which blocks are used. One record per kind of series: without changes, the mean number of
changes that are found; with two, how often just these are found and how many rows they are off. The small ones are a
level by half a deviation and a spread by three tenths.

    python benchmarks/long_series.py > results/benchmarks/long_series.jsonl
"""

import argparse
import json
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from scipy.signal import lfilter

from fewratio import detect_changes
from fewratio.changes.long_series import LONG
from fewratio.changes.segmentation import segment
from fewratio_bench.records import circumstances

Make = Callable[[np.random.Generator], np.ndarray]
_SHAPE = (LONG, 2)
_CHANGES = np.array([31_234, 70_017])


def garch(rng: np.random.Generator) -> np.ndarray:
    noise, series, variance = rng.normal(size=_SHAPE), np.empty(_SHAPE), np.ones(2)
    for row, each in enumerate(noise):
        series[row] = each * np.sqrt(variance)
        variance = 0.05 + 0.1 * series[row] ** 2 + 0.85 * variance
    return series


def changed(rng: np.random.Generator) -> np.ndarray:
    series = rng.normal(size=_SHAPE)
    series[_CHANGES[0] :, 0] += 0.5
    series[_CHANGES[1] :, 1] *= 1.3
    return series


def stepped(rng: np.random.Generator) -> np.ndarray:
    series = 3.0 * (np.arange(LONG) % 24 > 17)[:, None] + rng.normal(size=_SHAPE)
    for number, row in enumerate(_CHANGES):
        series[row:, number] += 12
    return series


def autoregression(coefficient: float) -> Make:
    return lambda rng: lfilter([1], [1, -coefficient], rng.normal(size=_SHAPE), axis=0)


KINDS: dict[str, Make] = {
    "normal": lambda rng: rng.normal(size=_SHAPE),
    "t, 3 degrees": lambda rng: rng.standard_t(3, _SHAPE),
    "lognormal": lambda rng: np.exp(2 * rng.normal(size=_SHAPE)),
    "autoregression 0.9": autoregression(0.9),
    "autoregression 0.99": autoregression(0.99),
    "GARCH": garch,
    "season of 288": lambda rng: rng.normal(size=_SHAPE) + 3.0 * (np.arange(LONG) % 288 > 200)[:, None],
    "counts": lambda rng: rng.poisson(0.3, _SHAPE).astype(float),
    "mostly zero": lambda rng: np.where(rng.random(_SHAPE) < 0.8, 0, rng.gamma(0.7, 3, _SHAPE)),
    "five categories": lambda rng: np.eye(5)[rng.integers(0, 5, LONG)],
    "two small changes": changed,
    "two large steps beside a season": stepped,
}
WAYS: dict[str, Callable[[np.ndarray], list[int]]] = {
    "blocks": lambda series: detect_changes(series).points.tolist(),
    "rows": lambda series: segment(series).points,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=20)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    args = parser.parse_args()
    for kind in args.kinds:
        found: dict[str, list[list[int]]] = {way: [] for way in WAYS}
        seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        for seed in range(args.series):
            series = KINDS[kind](np.random.default_rng(seed))
            for way, find in WAYS.items():
                started = time.process_time()
                found[way].append(find(series))
                seconds[way].append(time.process_time() - started)
        for way, points in found.items():
            record = {"series": kind, "way": way, "rows": LONG, "n_series": args.series}
            if KINDS[kind] in (changed, stepped):
                both = [each for each in points if len(each) == len(_CHANGES)]
                off = np.abs(np.array(both).reshape(-1, len(_CHANGES)) - _CHANGES)
                record["both_found"] = round(len(both) / len(points), 3)
                record["rows_off"] = np.median(off, axis=0).tolist() if len(off) else None
            else:
                record["false_changes"] = round(float(np.mean([len(each) for each in points])), 3)
            record |= {"cpu_seconds": round(float(np.median(seconds[way])), 2), **circumstances(torch.device("cpu"))}
            sys.stdout.write(json.dumps(record) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
