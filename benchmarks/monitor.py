"""How often monitors alarm without reason, after how many rows with one, and what they cost, as JSON lines.

python benchmarks/monitor.py false --streams 2000 --rows 1000 >> results/benchmarks/monitor.jsonl
python benchmarks/monitor.py false --streams 100 --rows 10000 >> results/benchmarks/monitor.jsonl
python benchmarks/monitor.py delay --streams 15 >> results/benchmarks/monitor.jsonl
python benchmarks/monitor.py cost >> results/benchmarks/monitor.jsonl

All methods see the same streams. ``naive`` compares every batch of 20 rows with the reference, by rank tests of all
columns (Mann-Whitney, of values and of distances from the median), and alarms at p < level / number of tests;
``spending`` does so at level 6 / (pi k)^2 for the k-th batch. ``page-hinkley`` (both directions, per column, in units
of the reference) has the threshold that a share `level` of `--null` calm streams of 10,000 rows exceeds; ``adwin`` is
river's, per column at level / number of columns, and promises nothing for a whole stream. A delay counts from the
change; streams that alarmed before it are left out and counted, and what is not found counts as infinite.
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from fewratio import DriftMonitor
from fewratio_bench.records import circumstances

Rows = NDArray[np.float64]
Method = Callable[[Rows, Rows], float]
CATEGORIES = "abcd"
BATCH, PH_ALLOWANCE, PH_ROWS = 20, 0.25, 10_000
# Streams of a record: a run that is stopped has measured something.
BLOCK = 50


# ---------------------------------------------------------------- streams


def shift(size: float) -> Callable[[Rows, np.random.Generator], Rows]:
    return lambda rows, rng: rows + size * (np.arange(rows.shape[1]) == 0)


def everywhere(rows: Rows, rng: np.random.Generator) -> Rows:
    return rows + 0.25


def scale(rows: Rows, rng: np.random.Generator) -> Rows:
    return rows * np.where(np.arange(rows.shape[1]) == 0, 2.0, 1.0)


def correlation(rows: Rows, rng: np.random.Generator) -> Rows:
    changed = rows.copy()
    changed[:, 1] = 0.9 * rows[:, 0] + 0.19**0.5 * rows[:, 1]
    return changed


def slow(rows: Rows, rng: np.random.Generator) -> Rows:
    """Drift by one deviation in a thousand rows."""
    return rows + np.arange(len(rows))[:, None] / 1000 * (np.arange(rows.shape[1]) == 0)


def category(rows: Rows, rng: np.random.Generator) -> Rows:
    """Give a tenth of the rows a category that was not there: the last column holds categories as numbers."""
    changed = rows.copy()
    changed[rng.random(len(rows)) < 0.1, -1] = len(CATEGORIES) - 1
    return changed


CHANGES = {
    **{f"shift {size}": shift(size) for size in (0.25, 0.5, 1.0, 2.0)},
    "shift 0.25 in all": everywhere,
    "scale 2": scale,
    "correlation 0.9": correlation,
    "drift": slow,
    "new category": category,
}


def draw(rng: np.random.Generator, n: int, d: int, has_categories: bool) -> Rows:
    rows = rng.normal(size=(n, d))
    if has_categories:
        rows[:, -1] = rng.choice(len(CATEGORIES) - 1, n, p=[0.5, 0.3, 0.2])
    return rows


# ---------------------------------------------------------------- methods


def fewratio(level: float) -> Method:
    def first_alarm(reference: Rows, rows: Rows) -> float:
        # Categories are the only whole numbers.
        is_category = bool((reference[:, -1] % 1 == 0).all())

        def table(part: Rows) -> Any:
            columns: dict[str, Any] = {f"c{j}": column for j, column in enumerate(part.T)}
            if is_category:
                columns[f"c{part.shape[1] - 1}"] = [CATEGORIES[int(code)] for code in part[:, -1]]
            return columns

        monitor = DriftMonitor(table(reference), level)
        for start in range(0, len(rows), 10 * BATCH):
            if (row := monitor.update(table(rows[start : start + 10 * BATCH])).alarm_row) is not None:
                # Single rows would have given the same.
                return float(row + 1)
        return np.inf

    return first_alarm


def tests(level: float, batch: int, spends: bool) -> Method:
    def first_alarm(reference: Rows, rows: Rows) -> float:
        middle = np.median(reference, axis=0)
        known = np.hstack([reference, np.abs(reference - middle)])
        for number, start in enumerate(range(0, len(rows) - batch + 1, batch)):
            part = rows[start : start + batch]
            p_values = mannwhitneyu(np.hstack([part, np.abs(part - middle)]), known, method="asymptotic").pvalue
            limit = level * 6 / (np.pi * (number + 1)) ** 2 if spends else level
            if np.nanmin(p_values) * known.shape[1] < limit:
                return float(start + batch)
        return np.inf

    return first_alarm


def page_hinkley_path(reference: Rows, rows: Rows) -> Rows:
    scaled = (rows - reference.mean(0)) / reference.std(0)
    sums = np.cumsum(np.hstack([scaled, -scaled]) - PH_ALLOWANCE, axis=0)
    lowest = np.minimum.accumulate(np.vstack([np.zeros(sums.shape[1]), sums]))[:-1]
    return (sums - np.minimum(lowest, sums)).max(1)


def page_hinkley(level: float, n_null: int, n_reference: int, d: int) -> Method:
    rng = np.random.default_rng([7, n_reference, d])
    largest = [
        page_hinkley_path(rng.normal(size=(n_reference, d)), rng.normal(size=(PH_ROWS, d))).max() for _ in range(n_null)
    ]
    limit = np.quantile(largest, 1 - level, method="higher")

    def first_alarm(reference: Rows, rows: Rows) -> float:
        found = np.flatnonzero(page_hinkley_path(reference, rows) > limit)
        return float(found[0] + 1) if len(found) else np.inf

    return first_alarm


def adwin(level: float) -> Method:
    from river.drift import ADWIN

    def first_alarm(reference: Rows, rows: Rows) -> float:
        detectors = [ADWIN(delta=level / rows.shape[1]) for _ in range(rows.shape[1])]
        for number, row in enumerate(np.vstack([reference, rows])):
            for detector, value in zip(detectors, row.tolist(), strict=True):
                detector.update(value)
                if detector.drift_detected and number >= len(reference):
                    return float(number - len(reference) + 1)
        return np.inf

    return first_alarm


def methods(names: list[str], level: float, n_null: int, n_reference: int, d: int) -> Iterator[tuple[str, Method]]:
    known: dict[str, Callable[[], Method]] = {
        "fewratio": lambda: fewratio(level),
        "naive": lambda: tests(level, BATCH, False),
        "spending": lambda: tests(level, BATCH, True),
        "page-hinkley": lambda: page_hinkley(level, n_null, n_reference, d),
        "adwin": lambda: adwin(level),
    }
    for name in names:
        yield name, known[name]()


# ---------------------------------------------------------------- measurements


def measure_false(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Give how many of some calm streams have any alarm."""
    for n_reference in options.reference:
        for d in options.columns:
            for name, method in methods(options.methods, options.level, options.null, n_reference, d):
                for first in range(0, options.streams, BLOCK):
                    numbers = range(first, min(first + BLOCK, options.streams))
                    start, alarms = time.perf_counter(), 0
                    for number in numbers:
                        rng = np.random.default_rng([options.seed, number, n_reference, d])
                        reference = draw(rng, n_reference, d, False)
                        alarms += method(reference, draw(rng, options.rows, d, False)) < np.inf
                    yield {
                        "what": "false alarms", "method": name, "level": options.level, "reference": n_reference,
                        "columns": d, "rows": options.rows, "first": first, "streams": len(numbers),
                        "alarms": int(alarms), "seconds": time.perf_counter() - start,
                    }  # fmt: skip


def measure_delay(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Give the median number of rows from a change to the alarm, over streams that were calm before."""
    for n_reference in options.reference:
        for d in options.columns:
            chosen = list(methods(options.methods, options.level, options.null, n_reference, d))
            for change in options.changes or CHANGES:
                for name, method in chosen:
                    found, early, start = [], 0, time.perf_counter()
                    for number in range(options.streams):
                        rng = np.random.default_rng([options.seed, number, n_reference, d, options.calm])
                        reference = draw(rng, n_reference, d, change == "new category")
                        rows = draw(rng, options.calm + options.rows, d, change == "new category")
                        rows[options.calm :] = CHANGES[change](rows[options.calm :], rng)
                        delay = method(reference, rows) - options.calm
                        early += delay <= 0
                        found += [delay] if delay > 0 else []
                    median = float(np.median(found)) if found else np.inf
                    yield {
                        "what": "delay", "method": name, "level": options.level, "reference": n_reference,
                        "columns": d, "calm": options.calm, "change": change, "streams": options.streams,
                        "early": int(early), "median": median if np.isfinite(median) else None,
                        "found": float(np.mean(np.isfinite(found))) if found else None,
                        "seconds": time.perf_counter() - start,
                    }  # fmt: skip


def measure_cost(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Give rows a second and the size of the state file, with 20 columns."""
    rng = np.random.default_rng(options.seed)
    reference, rows = rng.normal(size=(2000, 20)), rng.normal(size=(3000, 20))
    for batch in (1, 20, 200):
        monitor = DriftMonitor(reference)
        monitor.update(rows[:200])
        n = min(len(rows), 200 + 100 * batch)
        start = time.process_time()
        for first in range(200, n, batch):
            monitor.update(rows[first : first + batch])
        seconds = time.process_time() - start
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.fewratio"
            monitor.save(path)
            size = path.stat().st_size
        yield {"what": "cost", "columns": 20, "batch": batch, "rows_per_second": (n - 200) / seconds, "bytes": size}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("false", "delay", "cost"))
    parser.add_argument("--streams", type=int, default=15)
    parser.add_argument("--rows", type=int, default=1000, help="of a calm stream, or after the change")
    parser.add_argument("--calm", type=int, default=100, help="rows before the change")
    parser.add_argument("--reference", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--columns", type=int, nargs="+", default=[5, 30])
    parser.add_argument("--changes", nargs="+", choices=CHANGES)
    parser.add_argument("--methods", nargs="+", default=["fewratio", "naive", "spending", "page-hinkley"])
    parser.add_argument("--level", type=float, default=0.01)
    parser.add_argument("--null", type=int, default=200, help="calm streams by which thresholds are set")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    measure = {"false": measure_false, "delay": measure_delay, "cost": measure_cost}[options.what]
    for record in measure(options):
        print(json.dumps({**record, "seed": options.seed, **circumstances()}), flush=True)
        print(record, file=sys.stderr)


if __name__ == "__main__":
    main()
