"""How often monitors alarm without reason, after how many rows with one, since when, and what they cost (JSON lines).

python benchmarks/monitor.py false --streams 2000 --rows 1000 --jobs 16 >> results/benchmarks/monitor.jsonl
python benchmarks/monitor.py false --streams 250 --rows 10000 --jobs 16 >> results/benchmarks/monitor.jsonl
python benchmarks/monitor.py since --streams 200 >> results/benchmarks/monitor.jsonl
python benchmarks/monitor.py delay --streams 20 >> results/benchmarks/monitor.jsonl
python benchmarks/monitor.py delay --streams 20 --calm 5000 --changes "shift 1.0" >> results/benchmarks/monitor.jsonl
python benchmarks/monitor.py real --null 100 --methods fewratio adwin page-hinkley naive spending \
    >> results/benchmarks/monitor.jsonl   # needs FEWRATIO_DATA
python benchmarks/monitor.py cost >> results/benchmarks/monitor.jsonl
python benchmarks/monitor.py summary

All methods see the same streams. ``naive`` compares every batch with the reference, by rank tests of all columns
(Mann-Whitney, of values and of distances from the median), and alarms at p < level / number of tests; ``spending`` does
so at level 6 / (pi k)^2 for the k-th batch. ``adwin`` and ``page-hinkley`` are river's, per column, in units of the
reference and after its rows; ``cusum`` is menelaus's, with a slack of a quarter of a deviation; ``mmd`` and ``lsdd``
are the online detectors of alibi-detect with a window of 50 rows. These five have the most sensitive threshold by which
at most the share `--level` of `--null` calm streams of `--null-rows` rows alarms: with fewer than a hundred streams
that is easier for them than what fewratio promises. Where even the least sensitive one alarms more often, it is used.
Rivals need their packages only: ``--methods adwin page-hinkley cusum mmd lsdd`` runs where fewratio's own dependencies
are missing, and ``false`` where only numpy, scipy and scikit-learn are. A delay counts
from the change; streams that alarmed before it are left out and counted. ``real`` draws rows, with replacement, from
tables of the development half of ADBench: of the normal ones, and after the change three in ten anomalies.
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

Rows = NDArray[np.float64]
Method = Callable[[Rows, Rows], float]


class Null(NamedTuple):
    """Calm streams by which thresholds are set, and how many of them may alarm."""

    streams: Callable[[], Iterator[tuple[Rows, Rows]]]
    allowed: int


N_CATEGORIES = 3
WINDOW = 50
# Of real tables: the share of anomalies after the change, and which tables are used.
SHARE, MOST_COLUMNS, LEAST_NORMALS = 0.3, 40, 300
RECORDS = Path("results/benchmarks/monitor.jsonl")


# ---------------------------------------------------------------- streams


def draw_normal(rng: np.random.Generator, n: int, d: int) -> Rows:
    return rng.normal(size=(n, d))


def draw_mixed(rng: np.random.Generator, n: int, d: int) -> Rows:
    """Draw numbers of which a tenth is missing in a column, and categories, as numbers, in the last column."""
    rows = rng.normal(size=(n, d))
    rows[rng.random(n) < 0.1, 0] = np.nan
    rows[:, -1] = rng.choice(N_CATEGORIES, n, p=[0.5, 0.3, 0.2])
    return rows


def draw_tails(rng: np.random.Generator, n: int, d: int) -> Rows:
    return rng.standard_t(1.5, size=(n, d))


def draw_ties(rng: np.random.Generator, n: int, d: int) -> Rows:
    """Draw few values, and a constant column."""
    rows = np.round(rng.normal(size=(n, d))) * 0.1
    rows[:, 0] = 3.0
    return rows


KINDS = {"normal": draw_normal, "mixed": draw_mixed, "heavy tails": draw_tails, "ties": draw_ties}


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
    """Give a tenth of the rows a category that was not there."""
    changed = rows.copy()
    changed[rng.random(len(rows)) < 0.1, -1] = N_CATEGORIES
    return changed


CHANGES = {
    **{f"shift {size}": shift(size) for size in (0.25, 0.5, 1.0, 2.0)},
    "shift 0.25 in all": everywhere,
    "scale 2": scale,
    "correlation 0.9": correlation,
    "drift": slow,
    "new category": category,
}


def draw_change(seed: int, number: int, n_reference: int, d: int, change: str, calm: int, n: int) -> tuple[Rows, Rows]:
    rng = np.random.default_rng([seed, number, n_reference, d, calm])
    draw = draw_mixed if change == "new category" else draw_normal
    reference, rows = draw(rng, n_reference, d), draw(rng, calm + n, d)
    if change == "new category":
        # Rivals read no gaps.
        reference[:, 0], rows[:, 0] = rng.normal(size=n_reference), rng.normal(size=calm + n)
    rows[calm:] = CHANGES[change](rows[calm:], rng)
    return reference, rows


def read_tables() -> Iterator[tuple[str, Rows, Rows]]:
    """Go through tables of ADBench: their names, normal rows and anomalies. Small and wide ones are left out."""
    from everyday.data import folder

    for path in sorted(folder("adbench", "development").glob("*.npz")):
        with np.load(path) as file:
            X, y = file["X"].astype(float), file["y"].ravel()
        if X.shape[1] <= MOST_COLUMNS and (y == 0).sum() >= LEAST_NORMALS:
            yield path.stem, X[y == 0], X[y == 1]


def draw_real(rng: np.random.Generator, normals: Rows, others: Rows, sizes: tuple[int, int, int]) -> tuple[Rows, Rows]:
    """Draw a reference, and a stream with so many calm rows and rows after the change."""
    n_reference, calm, n = sizes
    reference, rows = np.split(rng.choice(normals, n_reference + calm + n), [n_reference])
    is_other = (np.arange(calm + n) >= calm) & (rng.random(calm + n) < SHARE)
    rows[is_other] = rng.choice(others, is_other.sum())
    return reference, rows


# ---------------------------------------------------------------- methods


def make_monitor(reference: Rows, level: float = 0.01) -> Any:
    """Make a monitor; categories are the only column of as many whole numbers."""
    from fewratio import DriftMonitor

    last = reference[:, -1]
    is_category = bool((last % 1 == 0).all()) and len(np.unique(last)) == N_CATEGORIES
    return DriftMonitor(reference, level, **({"categorical": [str(reference.shape[1] - 1)]} if is_category else {}))


def fewratio(level: float) -> Method:
    def first_alarm(reference: Rows, rows: Rows) -> float:
        monitor = make_monitor(reference, level)
        for start in range(0, len(rows), 128):
            if (row := monitor.update(rows[start : start + 128]).alarm_row) is not None:
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


def find_alarm(make: Callable[[float], Any], limit: float, reference: Rows, rows: Rows) -> float:
    """Give the first row at which the detector of any column alarms."""
    first = np.inf
    scaled = (np.vstack([reference, rows]) - reference.mean(0)) / np.maximum(reference.std(0), 1e-12)
    for column in scaled.T.tolist():
        detector = make(limit)
        for number, value in enumerate(column[: int(min(len(column), len(reference) + first))]):
            detector.update(value)
            if detector.drift_detected and number >= len(reference):
                first = number - len(reference) + 1
                break
    return first


def per_column(make: Callable[[float], Any], limits: list[float], null: Null) -> Method:
    """Set the most sensitive limit, of some that fall in sensitivity, by which few enough calm streams alarm."""
    place, alarms = 0, np.zeros(len(limits), dtype=int)
    for reference, rows in null.streams():
        for number in range(place, len(limits)):
            if find_alarm(make, limits[number], reference, rows) == np.inf:
                break
            alarms[number] += 1
        while place < len(limits) - 1 and alarms[place] > null.allowed:
            place += 1
    print(f"limit {limits[place]:.3g}, alarms {alarms[place:].tolist()}", file=sys.stderr)
    return lambda reference, rows: find_alarm(make, limits[place], reference, rows)


def adwin(null: Null) -> Method:
    from river.drift import ADWIN

    return per_column(lambda delta: ADWIN(delta=delta), [10.0**-k for k in range(1, 13)], null)


def page_hinkley(null: Null) -> Method:
    from river.drift import PageHinkley

    return per_column(lambda limit: PageHinkley(threshold=limit), [20 * 1.15**k for k in range(40)], null)


def cusum(null: Null) -> Method:
    from menelaus.change_detection import CUSUM

    class Detector:
        def __init__(self, limit: float) -> None:
            self.detector = CUSUM(target=0.0, sd_hat=1.0, delta=0.25, threshold=limit)

        def update(self, value: float) -> None:
            self.detector.update(np.array([[value]]))

        @property
        def drift_detected(self) -> bool:
            return bool(self.detector.drift_state == "drift")

    return per_column(Detector, [8 * 1.15**k for k in range(40)], null)


def alibi(name: str, null: Null) -> Method:
    from alibi_detect import cd

    def follow(reference: Rows, rows: Rows, limit: float = np.inf) -> tuple[float, float]:
        """Give the first row beyond a limit, and the largest statistic up to there."""
        options = {"ert": 20, "window_size": WINDOW, "backend": "pytorch", "n_bootstraps": 1000, "verbose": False}
        detector = getattr(cd, name)(reference.astype(np.float32), **options)
        largest = -np.inf
        for number, row in enumerate(rows.astype(np.float32)):
            largest = max(largest, float(detector.predict(row)["data"]["test_stat"]))
            if largest > limit:
                return number + 1, largest
        return np.inf, largest

    largest = sorted((follow(reference, rows)[1] for reference, rows in null.streams()), reverse=True)
    limit = largest[null.allowed]
    return lambda reference, rows: follow(reference, rows, limit)[0]


def methods(options: argparse.Namespace, null: Null) -> Iterator[Any]:
    """Give names, rows per batch and methods, with thresholds by calm streams."""
    known: dict[str, Callable[[], Method]] = {
        "fewratio": lambda: fewratio(options.level),
        "adwin": lambda: adwin(null),
        "page-hinkley": lambda: page_hinkley(null),
        "cusum": lambda: cusum(null),
        "mmd": lambda: alibi("MMDDriftOnline", null),
        "lsdd": lambda: alibi("LSDDDriftOnline", null),
    }
    for name in options.methods:
        if name in known:
            yield name, 1, known[name]()
        else:
            for batch in (20, 200):
                yield name, batch, tests(options.level, batch, name == "spending")


# ---------------------------------------------------------------- measurements


def follow_calm(seed: int, number: int, kind: str, n_reference: int, d: int, n_rows: int) -> list[float]:
    """Give the p-values of a calm stream after 1,000 rows, and after all."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, number, n_reference, d, list(KINDS).index(kind)])
    monitor = make_monitor(KINDS[kind](rng, n_reference, d))
    found = []
    for start in range(0, n_rows, 200):
        state = monitor.update(KINDS[kind](rng, min(200, n_rows - start), d))
        if state.n_rows in (1000, n_rows):
            found.append(state.p_value)
    return found


def measure_false(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Give how many of some calm streams have any alarm."""
    from joblib import Parallel, delayed

    d = options.columns[0]
    with Parallel(n_jobs=options.jobs) as run:
        for kind, n in product(KINDS, options.reference):
            start = time.perf_counter()
            numbers = range(options.streams)
            p_values = run(delayed(follow_calm)(options.seed, each, kind, n, d, options.rows) for each in numbers)
            seconds = time.perf_counter() - start
            for (rows, found), level in product(
                zip(sorted({1000, options.rows}), np.transpose(p_values), strict=True), (0.01, 0.05)
            ):
                yield {
                    "what": "false alarms", "method": "fewratio", "level": level, "reference": n, "columns": d,
                    "kind": kind, "rows": rows, "streams": options.streams, "alarms": int((found <= level).sum()),
                    "seconds": seconds,
                }  # fmt: skip


def measure_delay(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Give the rows from a change to the alarm, of streams that were calm before."""
    for n_reference, d in product(options.reference, options.columns):

        def null(n_reference: int = n_reference, d: int = d) -> Iterator[tuple[Rows, Rows]]:
            rng = np.random.default_rng([7, n_reference, d])
            for _ in range(options.null):
                yield rng.normal(size=(n_reference, d)), rng.normal(size=(options.null_rows, d))

        for name, batch, method in methods(options, Null(null, int(options.level * options.null))):
            for change in options.changes or CHANGES:
                cell = {"reference": n_reference, "columns": d, "calm": options.calm, "change": change}
                streams = (
                    draw_change(options.seed, number, n_reference, d, change, options.calm, options.rows)
                    for number in range(options.streams)
                )
                yield _delays(options, name, batch, method, cell, streams)


def measure_real(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Give the same for streams drawn from real tables."""
    for (table, normals, others), n_reference in product(read_tables(), options.reference[:1]):
        sizes = n_reference, options.calm, options.rows

        def null(normals: Rows = normals, n_reference: int = n_reference) -> Iterator[tuple[Rows, Rows]]:
            rng = np.random.default_rng([7, n_reference])
            for _ in range(options.null):
                yield draw_real(rng, normals, normals, (n_reference, options.null_rows, 0))

        for name, batch, method in methods(options, Null(null, int(options.level * options.null))):
            cell = {"reference": n_reference, "columns": normals.shape[1], "calm": options.calm, "change": table}
            streams = (
                draw_real(np.random.default_rng([options.seed, number]), normals, others, sizes)
                for number in range(options.streams)
            )
            yield _delays(options, name, batch, method, cell, streams) | {"what": "real delay"}


def _delays(
    options: argparse.Namespace,
    name: str,
    batch: int,
    method: Method,
    cell: dict[str, Any],
    streams: Iterable[tuple[Rows, Rows]],
) -> dict[str, Any]:
    start = time.perf_counter()
    delays = [method(*stream) - options.calm for stream in streams]
    kept = [delay for delay in delays if delay > 0]
    median, error = summarise(np.array(kept)) if kept else (np.inf, np.inf)
    return {
        "what": "delay", "method": name, "batch": batch, "level": options.level, **cell,
        "null": options.null, "streams": options.streams, "early": len(delays) - len(kept),
        "median": median if np.isfinite(median) else None,
        "error": error if np.isfinite(error) else None,
        "delays": [delay if np.isfinite(delay) else None for delay in kept],
        "seconds": time.perf_counter() - start,
    }  # fmt: skip


def summarise(delays: Rows) -> tuple[float, float]:
    """Give the median and its standard error, by the bootstrap; what is not found is infinite."""
    drawn = np.random.default_rng(0).choice(delays, size=(500, len(delays)))
    medians = np.median(drawn, axis=1)
    finite = medians[np.isfinite(medians)]
    return float(np.median(delays)), float(finite.std()) if len(finite) > len(medians) / 2 else np.inf


def measure_since(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Give how often the range of the start contains it, and how wide it is."""
    for n_reference in options.reference:
        for change in ("shift 0.5", "shift 1.0", "shift 2.0", "correlation 0.9"):
            for calm in (50, 400):
                found, silent = [], 0
                for number in range(options.streams):
                    reference, rows = draw_change(options.seed, number, n_reference, 5, change, calm, 600)
                    monitor, state = make_monitor(reference), None
                    for start in range(0, len(rows), 32):
                        state = monitor.update(rows[start : start + 32])
                        if state.alarm_row is not None and state.n_rows > state.alarm_row + 192:
                            break
                    if state is None or state.since is None or (state.alarm_row or 0) < calm:
                        silent += 1
                        continue
                    row, low, high = state.since
                    found.append((low <= calm <= high, high - low + 1, abs(row - calm)))
                held, widths, errors = np.array(found, dtype=float).T
                yield {
                    "what": "since", "reference": n_reference, "columns": 5, "change": change, "calm": calm,
                    "streams": len(found), "silent_or_early": silent, "held": held.mean(),
                    "median_width": float(np.median(widths)), "median_error": float(np.median(errors)),
                }  # fmt: skip


def measure_cost(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Give rows a second and the size of the state file, with 20 columns."""
    rng = np.random.default_rng(options.seed)
    reference, rows = rng.normal(size=(2000, 20)), rng.normal(size=(3000, 20))
    for batch in (1, 20, 200):
        monitor = make_monitor(reference)
        monitor.update(rows[:200])
        n = min(len(rows), 200 + 512 * batch)
        start = time.process_time()
        for first in range(200, n, batch):
            monitor.update(rows[first : first + batch])
        seconds = time.process_time() - start
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.fewratio"
            monitor.save(path)
            size = path.stat().st_size
        yield {"what": "cost", "columns": 20, "batch": batch, "rows_per_second": (n - 200) / seconds, "bytes": size}


def compare_delays(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Give the ratio of fewratio's median delay to that of each rival, over the cells in which both have one."""
    found = [json.loads(line) for line in RECORDS.read_text().splitlines()]
    cells: dict[Any, dict[Any, Rows]] = {}
    for each in found:
        if each["what"] in ("delay", "real delay") and "delays" in each:
            cell = tuple(each[name] for name in ("reference", "columns", "calm", "change"))
            delays = np.array([np.inf if delay is None else delay for delay in each["delays"]])
            cells.setdefault(cell, {})[each["method"], each["batch"]] = delays
    for method, batch in sorted({key for each in cells.values() for key in each}):
        if method == "fewratio":
            continue
        ratios, only_ours, only_theirs = {}, 0, 0
        for cell, each in cells.items():
            if (method, batch) in each and ("fewratio", 1) in each and len(each[method, batch]):
                # An alarm within a batch is seen at its end.
                ends = [np.median(np.ceil(each[key] / batch) * batch) for key in (("fewratio", 1), (method, batch))]
                only_ours += bool(np.isfinite(ends[0]) and not np.isfinite(ends[1]))
                only_theirs += bool(np.isfinite(ends[1]) and not np.isfinite(ends[0]))
                if np.isfinite(ends).all():
                    ratios[cell] = ends[0] / ends[1]
        if ratios:
            worst = max(ratios, key=lambda cell: ratios[cell])
            yield {
                "rival": method, "batch": batch, "cells": len(ratios), "only_fewratio": only_ours,
                "only_rival": only_theirs, "geometric_mean": float(np.exp(np.mean(np.log(list(ratios.values()))))),
                "worst": ratios[worst], "worst_cell": worst,
            }  # fmt: skip


MEASURES = {
    "false": measure_false, "delay": measure_delay, "real": measure_real, "since": measure_since, "cost": measure_cost,
    "summary": compare_delays,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=MEASURES)
    parser.add_argument("--streams", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1000, help="of a calm stream, or after the change")
    parser.add_argument("--calm", type=int, default=100, help="rows before the change")
    parser.add_argument("--reference", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--columns", type=int, nargs="+", default=[5, 30])
    parser.add_argument("--changes", nargs="+", choices=CHANGES)
    parser.add_argument("--methods", nargs="+", default=["fewratio", "naive", "spending"])
    parser.add_argument("--level", type=float, default=0.01)
    parser.add_argument("--null", type=int, default=20, help="calm streams by which thresholds are set")
    parser.add_argument("--null-rows", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    try:
        from fewratio_bench.records import circumstances
    except ImportError:
        # Where only rivals run.
        circumstances = dict
    for record in MEASURES[options.what](options):
        print(json.dumps({**record, "seed": options.seed, **circumstances()}), flush=True)


if __name__ == "__main__":
    main()
