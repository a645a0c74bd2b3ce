"""Changes: annotated series beside ruptures, false changes and power by kind, and the time that a long series takes.

The series are those of the Turing Change Point Dataset (van den Burg and Williams 2020) in ``everyday/tcpd`` and
``everyday/test/tcpd``. F1 with a
margin of five rows and covering are averaged over annotators, as there. ruptures is measured where it is installed, on
columns in units of their deviations, with its own defaults but for what is named.
"""

import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import NDArray

from everyday.data import folder
from everyday.plan import Plan
from everyday.series import CHANGED, UNCHANGED, Make
from fewratio import detect_changes
from fewratio.errors import FewRatioWarning

try:
    import ruptures
except ImportError:
    ruptures = None

Array = NDArray[np.float64]
Method = Callable[[Array], list[int]]
Report = Callable[..., None]
MARGIN, NEAR, LEVEL = 5, 10, 0.05
Modes = Mapping[str, Mapping[str, Any]]
MODES: Modes = {"segmentation": {}, "test at 0.05": {"level": LEVEL}}
ALL_MODES: Modes = {**MODES, "segmentation without trend": {"trend": False}}
SWINGS: Modes = {"swings": {"swings": "changes"}}


def annotated(report: Report, plan: Plan, half: str) -> None:
    known = read_annotated(half)[: 3 if plan.quick else None]
    found: dict[str, list[tuple[float, float]]] = {}
    for (name, *_), scores in zip(known, plan.run(delayed(_score)(*each) for each in known), strict=True):
        for method, (f1_score, covered) in scores.items():
            found.setdefault(method, []).append((f1_score, covered))
            report(table="annotated series", method=method, series=name, f1=f1_score, covering=covered)
    for method, of_series in found.items():
        f1_score, covered = np.mean(of_series, axis=0).tolist()
        report(table="annotated means", method=method, series=len(known), f1=f1_score, covering=covered)


def read_annotated(half: str) -> list[tuple[str, Array, list[list[int]]]]:
    """Read annotated series: their names, their values and the changes that each annotator marked."""
    known = []
    for path in sorted(folder("tcpd", half).glob("*.json")):
        content = json.loads(path.read_text())
        columns = [np.array(column["raw"], dtype=np.float64) for column in content["series"]["series"]]
        known.append((path.stem, np.column_stack(columns), list(content["annotations"].values())))
    return known


def _score(name: str, series: Array, annotations: list[list[int]]) -> dict[str, tuple[float, float]]:
    """Give F1 and covering of each method."""
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
        "fewratio, swings": lambda series: detect_changes(series, swings="changes").points.tolist(),
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


def false_changes(report: Report, plan: Plan, modes: Modes = MODES) -> None:
    """Measure how often a change is reported in series without any, by kind of noise."""
    for kind, make in plan.select(UNCHANGED).items():
        for mode, options in plan.select_modes(modes).items():
            seeds = plan.seeds(plan.count(2, 100))
            found = plan.run(delayed(_find)(make, seed, options) for seed in seeds)
            counts = np.array([len(each) for each in found])
            report(
                table="false changes",
                mode=mode,
                series_of=kind,
                share_with_changes=float((counts > 0).mean()),
                mean_changes=float(counts.mean()),
                series=len(seeds),
            )


def power(report: Report, plan: Plan, modes: Modes = ALL_MODES) -> None:
    """Measure how often a change is found within ten rows, alone or among others, and what it is called."""
    for kind, (make, row) in plan.select(CHANGED).items():
        for mode, options in plan.select_modes(modes).items():
            seeds = plan.seeds(plan.count(2, 100))
            found = plan.run(delayed(_find)(make, seed, options) for seed in seeds)
            is_near = [[abs(change["row"] - row) <= NEAR for change in each] for each in found]
            near = [change.get("kind") for each in found for change in each if abs(change["row"] - row) <= NEAR]
            report(
                table="power of kinds",
                mode=mode,
                change=kind,
                share_found=float(np.mean([any(each) for each in is_near])),
                share_alone=float(np.mean([each == [True] for each in is_near])),
                kinds={str(each): near.count(each) for each in sorted(set(near), key=str)},
                series=len(seeds),
            )


def one_shift(report: Report, plan: Plan) -> None:
    """Measure how often a shift is within ten rows of the best single split by least squares."""
    kind, seeds = "shift by one deviation", plan.seeds(plan.count(2, 1000))
    make, row = CHANGED[kind]
    found = [_split_by_least_squares(make(np.random.default_rng(seed))) for seed in seeds]
    share = float(np.mean([abs(point - row) <= NEAR for point in found]))
    report(table="one shift", mode="least squares", change=kind, share_found=share, series=len(seeds))


def _split_by_least_squares(series: Array) -> int:
    counts = np.arange(1, len(series))
    apart = series.cumsum()[:-1] / counts - series[::-1].cumsum()[-2::-1] / counts[::-1]
    return int(counts[(counts * counts[::-1] * apart**2).argmax()])


def swings(report: Report, plan: Plan) -> None:
    """Measure the same where slow swings count as changes; it needs ruptures."""
    for measure in (false_changes, power):
        measure(report, plan, SWINGS)


def _find(make: Make, seed: int, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    series = make(np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewRatioWarning)
        return detect_changes(series, random_state=seed, **options).changes


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
TABLES = {"false": false_changes, "power-of-kinds": power, "one-shift": one_shift, "swings": swings, "long": seconds}
