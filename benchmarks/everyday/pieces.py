"""What each piece of the search for changes buys: false changes, changes found and F1 where it is switched off.

Every piece is measured on the same series of noise and of changes that it is about, and on the development half of the
annotated series. The line called "everything" has all pieces. `lines` counts the code of the functions that only this
piece needs.
"""

import inspect
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from joblib import delayed
from numpy.typing import NDArray

from everyday.changes import NEAR, Report, covering, f1, read_annotated
from everyday.plan import Plan
from everyday.series import CHANGED, NILE, ROWS, UNCHANGED
from fewratio import detect_changes
from fewratio.changes import gaps, noise, seasons, segment_costs, segmentation, time_axis

Array = NDArray[np.float64]
_PLACE = "fewratio.changes."
_price = segmentation.change_penalty
EVERYTHING = "everything"


def _beside_gap(rng: np.random.Generator, wave: float = 0.0) -> Array:
    """Make noise, perhaps with a season, with a gap of 40 rows and a few short ones."""
    series = rng.normal(size=ROWS) + wave * np.sin(2 * np.pi * np.arange(ROWS) / 20)
    series[90:130] = np.nan
    series[[20, 50, 51, 160]] = np.nan
    return series


def _with_years(rng: np.random.Generator) -> dict[str, Array]:
    return {"year": 1871.0 + np.arange(len(NILE)), "flow": NILE + rng.normal(size=len(NILE))}


def _repeat(size: float) -> Callable[[np.random.Generator], Array]:
    """Make a season with sharp steps between its phases."""
    return lambda rng: size * (np.arange(ROWS) % 10 >= 7) + rng.normal(size=ROWS)


def _months(rng: np.random.Generator, step: float = 0.0) -> Array:
    """Make a season of twelve rows of any shape, perhaps with a step in the middle."""
    return np.resize(rng.normal(0, 4, 12), ROWS) + rng.normal(size=ROWS) + step * (np.arange(ROWS) >= ROWS // 2)


def _share(rng: np.random.Generator) -> Array:
    return (rng.random(ROWS) < np.where(np.arange(ROWS) < ROWS // 2, 0.2, 0.8)).astype(float)


def _constant_then_noise(rng: np.random.Generator) -> Array:
    return np.concatenate([np.zeros(100), rng.normal(size=100)])


def _wild(rng: np.random.Generator) -> Array:
    series = rng.normal(size=ROWS)
    series[rng.choice(ROWS, 3, replace=False)] += 40
    return series


# Kinds of series that the other tables do not need: without a change, and with one at a row.
_CALM: dict[str, Any] = {
    "gap of 40 rows": _beside_gap,
    "gap of 40 rows in a season": lambda rng: _beside_gap(rng, 3.0),
    "sharp season": _repeat(4.0),
    "months of any shape": _months,
    "two periods of a season": lambda rng: 4 * np.sin(2 * np.pi * np.arange(730) / 365) + rng.normal(size=730),
    "slow curve": lambda rng: 4 * (np.arange(ROWS) / ROWS) ** 2 + rng.normal(size=ROWS),
    "three wild values": _wild,
    "rounded to whole numbers": lambda rng: np.round(rng.normal(size=ROWS)),
}
_CHANGING: dict[str, tuple[Any, int]] = {
    "year beside the Nile": (_with_years, 28),
    "share of ones": (_share, 100),
    "long staircase": (lambda rng: np.repeat([0.0, 1.0, 0.0], [43_456, 40_003, 100_000]), 43_456),
    "constant, then noise": (_constant_then_noise, 100),
    "step beside a sharp season": (lambda rng: _repeat(4.0)(rng) + 3.0 * (np.arange(ROWS) >= 100), 100),
    "step beside months of any shape": (lambda rng: _months(rng, 1.5), 100),
}
_NULLS, _FOUND = UNCHANGED | _CALM, {kind: tuple(each[:2]) for kind, each in CHANGED.items()} | _CHANGING
# What changes, where it is not the level.
_NAMES = {"spread doubled": "spread", "kink": "slope", "season that stops": "season", "share of ones": "share"}
_NAMES |= dict.fromkeys(("constant, then noise", "sensor that dies", "sensor that is stuck"), "standstill")


class Piece(NamedTuple):
    """What stands in for the names of a piece while it is off, the functions it needs, and the series it is about."""

    off: Mapping[str, Any]
    needs: tuple[Any, ...]
    kinds: tuple[str, ...]


def _no_clusters(standardised: Array, least: float = 0.0) -> noise.Swings:
    return noise.Swings(*np.zeros((3, standardised.shape[1])))


def _interpolate(values: Array, is_gap: NDArray[Any]) -> None:
    there = np.flatnonzero(~is_gap)
    if len(there):
        values[is_gap] = np.interp(np.flatnonzero(is_gap), there, values[there])


def _even_price(n: int, degree: int, tails: Array) -> float:
    return _price(n, degree, np.ones_like(tails))


_NILES = tuple(f"Nile beside {n} columns of noise" for n in (0, 10))
PIECES: dict[str, Piece] = {
    "kinks": Piece({"segmentation._MOST_KINKS": 0}, (segmentation._find_kink,), ("white", "slow curve", "kink")),
    "logarithms and square roots": Piece(
        {"segmentation._choose_scale": lambda column, trend: segmentation.PLAIN},
        (segmentation._choose_scale,),
        ("exponential growth", "rain", "growing counts"),
    ),
    "seasons": Piece(
        {"segmentation.propose_seasons": lambda series: iter(())},
        (seasons.propose_seasons, seasons._fit_step, segmentation._find_season, segmentation._measure_columns),
        (
            "two periods of a season",
            "AR(0.9)",
            "sharp season",
            "months of any shape",
            "step beside a sharp season",
            "step beside months of any shape",
            "season that stops",
        ),
    ),
    "seasons that stop": Piece(
        {"segmentation._find_stop": lambda rows, season, *rest: (None, season)},
        (segmentation._find_stop, seasons.resize_season),
        ("season that stops", "sharp season"),
    ),
    "clusters of the spread": Piece(
        {"segmentation.fit_swings": _no_clusters},
        (noise.fit_swings, noise._cluster, noise._swing),
        ("GARCH", "season of the spread", "rain, four years with dry summers", "spread doubled"),
    ),
    "simulated noise": Piece(
        {"segmentation._is_change": lambda *rest: True},
        (segmentation._confirm, segmentation._is_change, segmentation._find_splits, noise.Simulator, noise._stabilise),
        ("white", "AR(0.5)", "rain", "GARCH", "white, 20 rows", "AR(0.5), 20 rows", "shift by one deviation"),
    ),
    "memory of short series": Piece(
        {"noise.SHORT": 0},
        (noise._lengthen_memory,),
        ("white, 20 rows", "AR(0.5), 14 rows", "AR(0.5), 20 rows"),
    ),
    "single columns": Piece({"segmentation._find_sparse": lambda *rest: []}, (segmentation._find_sparse,), _NILES),
    "steps without noise": Piece(
        {"segmentation._has_clear_step": lambda *rest: False},
        (segmentation._has_clear_step,),
        ("constant that moves", "long staircase"),
    ),
    "standstills": Piece(
        {"segmentation._find_standstills": lambda rows: []},
        (segmentation._find_standstills,),
        ("constant, then noise", "sensor that dies", "sensor that is stuck"),
    ),
    "resolution": Piece(
        {"segmentation.rounding_variance": lambda series: np.zeros(series.shape[1])},
        (segment_costs.rounding_variance, segment_costs.is_staircase),
        ("rain", "rounded to whole numbers", "constant that moves"),
    ),
    "shares": Piece(
        {"segment_costs.has_two_values": lambda column: False},
        (segment_costs.has_two_values,),
        ("share of ones",),
    ),
    "far values": Piece(
        {"segmentation.tame": np.copy},
        (segmentation.tame, segment_costs.running_median),
        ("three wild values", "Student t"),
    ),
    "price of heavy tails": Piece({"segmentation.change_penalty": _even_price}, (), ("Student t", "rain")),
    "swings beside changes": Piece(
        {"segmentation._with_swings": lambda series, rounding, proposal: proposal},
        (segmentation._with_swings,),
        ("GARCH", "season of the spread", "spread doubled"),
    ),
    "gaps": Piece(
        {"time_order.fill_gaps": _interpolate},
        (gaps.fill_gaps, seasons.find_period),
        ("gap of 40 rows", "gap of 40 rows in a season"),
    ),
    "time axis": Piece(
        {"time_order.find_time": lambda raw, *rest, **options: (None, raw, None)},
        tuple(each for _, each in inspect.getmembers(time_axis) if inspect.getmodule(each) is time_axis),
        ("year beside the Nile",),
    ),
}
# All pieces, on the series of each.
PIECES = {
    EVERYTHING: Piece({}, (), tuple(dict.fromkeys(kind for each in PIECES.values() for kind in each.kinds)))
} | PIECES


def pieces(report: Report, plan: Plan) -> None:
    """Measure false changes, changes found within ten rows and named right, and F1 without each piece."""
    n = plan.count(2, 50)
    # Before anything runs: by then the files may have been edited.
    lines = {name: sum(map(_count_lines, piece.needs)) for name, piece in PIECES.items()}
    for name, piece in plan.select_modes(PIECES).items():
        record: dict[str, Any] = {"lines": lines[name], "false": {}, "found": {}, "called": {}}
        for kind in plan.select(dict.fromkeys(piece.kinds)):
            found = plan.run(delayed(_find_without)(name, kind, seed) for seed in plan.seeds(n))
            if kind in _NULLS:
                record["false"][kind] = round(float(np.mean([bool(each) for each in found])), 3)
            else:
                row, named = _FOUND[kind][1], _NAMES.get(kind, "level")
                near = [[kind_found for point, kind_found in each if abs(point - row) <= NEAR] for each in found]
                record["found"][kind] = round(float(np.mean(list(map(bool, near)))), 3)
                record["called"][kind] = round(float(np.mean([named in each for each in near])), 3)
        annotated = read_annotated("development")[: 3 if plan.quick else None]
        scores = plan.run(delayed(_score_without)(name, *each) for each in annotated)
        record["f1"], record["covering"] = np.mean(scores, axis=0).tolist()
        report(table="pieces", piece=name, series=n, **record)


def _find_without(name: str, kind: str, seed: int) -> list[tuple[int, str]]:
    make = _NULLS[kind] if kind in _NULLS else _FOUND[kind][0]
    return _detect(name, make(np.random.default_rng(seed)))


def _score_without(piece: str, name: str, series: Array, annotations: list[list[int]]) -> tuple[float, float]:
    points = [point for point, _ in _detect(piece, series)]
    return f1(annotations, points), covering(annotations, points, len(series))


def _detect(name: str, series: Any) -> list[tuple[int, str]]:
    """Return the rows and kinds of the changes that are found while a piece is off."""
    with warnings.catch_warnings(), ExitStack() as patches:
        warnings.simplefilter("ignore")
        for place, each in PIECES[name].off.items():
            patches.enter_context(patch(_PLACE + place, each))
        return [(change["row"], change["kind"]) for change in detect_changes(series).changes]


def _count_lines(function: Any) -> int:
    """Count the lines of a function or class, without comments and docstrings."""
    text = inspect.getsource(function)
    documented = {inspect.getdoc(function), *(inspect.getdoc(each) for each in vars(function).values())}
    n_documented = sum(
        bool(line.strip()) for each in documented if each and each.splitlines()[0] in text for line in each.splitlines()
    )
    lines = [line.strip() for line in text.splitlines()]
    return sum(bool(line) and not line.startswith("#") for line in lines) - n_documented


ON_HALVES: dict[str, Any] = {}
TABLES = {"pieces": pieces}
