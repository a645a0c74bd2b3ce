"""Changes: annotated series beside ruptures, level and power of the test, and the time that a long series takes.

The series are those of the Turing Change Point Dataset (van den Burg and Williams 2020) in ``everyday/tcpd`` and
``everyday/test/tcpd``. F1 with a
margin of five rows and covering are averaged over annotators, as there. ruptures is measured where it is installed, on
columns in units of their deviations, with its own defaults but for what is named.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from scipy.signal import lfilter

from everyday.data import folder
from everyday.plan import Plan
from fewratio import detect_changes

try:
    import ruptures
except ImportError:
    ruptures = None

Array = NDArray[np.float64]
Method = Callable[[Array], list[int]]
Report = Callable[..., None]
MARGIN, LEVEL = 5, 0.05


def annotated(report: Report, plan: Plan, half: str) -> None:
    files = sorted(folder("tcpd", half).glob("*.json"))[: 3 if plan.quick else None]
    found: dict[str, list[tuple[float, float]]] = {}
    for path, scores in zip(files, plan.run(delayed(_scores)(path) for path in files), strict=True):
        for method, (f1_score, covered) in scores.items():
            found.setdefault(method, []).append((f1_score, covered))
            report(table="annotated series", method=method, series=path.stem, f1=f1_score, covering=covered)
    for method, of_series in found.items():
        f1_score, covered = np.mean(of_series, axis=0).tolist()
        report(table="annotated means", method=method, series=len(files), f1=f1_score, covering=covered)


def _scores(path: Path) -> dict[str, tuple[float, float]]:
    """Give F1 and covering of each method."""
    content = json.loads(path.read_text())
    columns = [np.array(column["raw"], dtype=np.float64) for column in content["series"]["series"]]
    series, annotations = np.column_stack(columns), list(content["annotations"].values())
    found = {method: find(series) for method, find in methods().items()}
    return {
        method: (f1(annotations, points), covering(annotations, points, len(series)))
        for method, points in found.items()
    }


def methods() -> dict[str, Method]:
    """Return what finds changes in a series, by name."""
    known: dict[str, Method] = {
        "fewratio, segmentation": lambda series: detect_changes(series).points.tolist(),
        "fewratio, test at 0.05": lambda series: detect_changes(series, level=LEVEL, random_state=0).points.tolist(),
        "nothing": lambda series: [],
    }
    if ruptures is None:
        return known
    return known | {
        "ruptures Pelt rbf, penalty 10": peer(lambda: ruptures.Pelt("rbf"), lambda n: 10.0),
        "ruptures Pelt l2, BIC": peer(lambda: ruptures.Pelt("l2"), lambda n: 2 * np.log(n)),
        "ruptures Binseg l2, BIC": peer(lambda: ruptures.Binseg("l2"), lambda n: 2 * np.log(n)),
        "ruptures Window rbf, BIC": peer(lambda: ruptures.Window(40, "rbf"), lambda n: 2 * np.log(n)),
    }


def peer(search: Callable[[], Any], penalty: Callable[[int], float]) -> Method:
    def find(series: Array) -> list[int]:
        filled = np.where(np.isnan(series), np.nanmedian(series, axis=0), series)
        scaled = (filled - filled.mean(0)) / filled.std(0)
        # A new object every time: its kernel cost keeps the width of the series that it has seen first.
        return [int(point) for point in search().fit(scaled).predict(pen=penalty(len(scaled)))[:-1]]

    return find


def f1(annotations: Sequence[Sequence[int]], points: Sequence[int]) -> float:
    """Return F1: precision over the changes of all annotators together, recall as their mean."""
    known, found = [{0, *each} for each in annotations], {0, *points}
    precision = n_matched(set().union(*known), found) / len(found)
    recall = float(np.mean([n_matched(each, found) / len(each) for each in known]))
    return 2 * precision * recall / (precision + recall)


def n_matched(known: set[int], found: set[int]) -> int:
    left, count = set(found), 0
    for point in sorted(known):
        near = min(left, key=lambda each: (abs(each - point), each), default=None)
        if near is not None and abs(near - point) <= MARGIN:
            left.remove(near)
            count += 1
    return count


def covering(annotations: Sequence[Sequence[int]], points: Sequence[int], n: int) -> float:
    """Return how well segments cover those of each annotator, in the mean."""
    found = segments(points, n)
    covered = []
    for each in annotations:
        overlaps = [max(overlap(known, other) for other in found) * len(known) for known in segments(each, n)]
        covered.append(sum(overlaps) / n)
    return float(np.mean(covered))


def segments(points: Sequence[int], n: int) -> list[range]:
    ends = sorted({0, n, *points})
    return [range(*pair) for pair in pairwise(ends)]


def overlap(first: range, second: range) -> float:
    common = max(0, min(first.stop, second.stop) - max(first.start, second.start))
    return common / (max(first.stop, second.stop) - min(first.start, second.start))


def level_and_power(report: Report, plan: Plan) -> None:
    """Measure how often a change is reported in autoregressive series with a step, in deviations, at the middle."""
    modes: Mapping[str, Mapping[str, Any]] = {
        "segmentation": {},
        "test at 0.05": {"level": LEVEL, "n_permutations": 99},
    }
    for n, share in ((200, 1), (1000, 8)):
        n_series = -(-plan.count(2, 100) // share)
        for coefficient in (0.0, 0.5, 0.8, 0.9):
            for step in (0, 1, 2, 4):
                # Power needs fewer.
                seeds = plan.seeds(n_series if step == 0 else -(-n_series // 4))
                for mode, options in modes.items():
                    counts = plan.run(delayed(_n_changes)(n, coefficient, step, seed, options) for seed in seeds)
                    report(
                        table="level and power",
                        mode=mode,
                        rows=n,
                        coefficient=coefficient,
                        step=step,
                        share_with_changes=float(np.mean(np.array(counts) > 0)),
                        mean_changes=float(np.mean(counts)),
                        series=len(seeds),
                    )


def _n_changes(n: int, coefficient: float, step: float, seed: int, options: Mapping[str, Any]) -> int:
    series = autoregressive(n, coefficient, step, seed)
    return len(detect_changes(series, random_state=seed, **options).points)


def autoregressive(n: int, coefficient: float, step: float, seed: int) -> Array:
    noise = np.random.default_rng(seed).normal(size=n + 200)
    series = lfilter([np.sqrt(1 - coefficient**2)], [1, -coefficient], noise)[200:]
    return np.asarray(series + step * (np.arange(n) >= n // 2))


def seconds(report: Report, plan: Plan) -> None:
    n, d = (2_000, 10) if plan.quick else (100_000, 10)
    series = np.random.default_rng(0).normal(size=(n, d))
    series[n // 2 :, 0] += 1
    for mode, options in (("segmentation", {}), ("test", {"level": LEVEL})):
        wall, processor = time.perf_counter(), time.process_time()
        points = detect_changes(series, random_state=0, **options).points.tolist()
        report(
            table="time",
            mode=mode,
            rows=n,
            columns=d,
            seconds=time.perf_counter() - wall,
            processor_seconds=time.process_time() - processor,
            found=points,
        )


ON_HALVES = {"annotated": annotated}
TABLES = {"autoregressive": level_and_power, "long": seconds}
