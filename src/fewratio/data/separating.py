"""Columns that tell two samples apart by themselves, such as the one by which a table was split."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.data.columns import BOOLEAN, CATEGORY, DATE, shortened
from fewratio.data.encoding import SEPARATING, Column, Encoding
from fewratio.data.table import Table, frozen
from fewratio.data.values import text_of_days

# Chances that a column is taken for a separating one although the rows were dealt at random: for two constants, so that
# five rows a side are enough; for ranges and sets of categories, over all columns of a table together.
_CONSTANT_CHANCE, _APART_CHANCE = 0.002, 0.001
# Fewer outliers may all have a category that no normal row has.
_LEAST_BATCH = 5


class Separating(NamedTuple):
    """A column that tells two samples apart, and what it holds in either."""

    column: str
    first: str
    second: str


def separating_columns(
    encoding: Encoding, first: NDArray[np.float64], second: NDArray[np.float64], is_batch: bool = False
) -> list[Separating]:
    """Find the columns that are constant in each of two samples but different, or whose values do not overlap.

    Parameters
    ----------
    encoding : Encoding
        What the columns are.
    first, second : ndarray of shape (n, n_features)
        The encoded samples.
    is_batch : bool
        Whether outliers are sought in the second sample. Then only dates are enough if their ranges do not overlap:
        a batch comes later, but numbers that are far from all others are what is sought.
    """
    found = []
    for column in encoding.used:
        sides = [_present(column, rows[:, encoding.places[column.name]]) for rows in (first, second)]
        n_rows = len(first), len(second)
        if all(len(side) for side in sides):
            constant = all((side == side[0]).all() for side in sides)
            chance = _constant_chance(*map(len, sides)) if constant else _apart_chance(column, *sides)
            limit = _CONSTANT_CHANCE if constant else _APART_CHANCE / len(encoding.used)
            is_apart = chance <= limit and not _overlap(column, *sides)
        else:
            # Nothing but gaps in one sample, and none in the other.
            constant, is_apart = True, sum(map(len, sides)) in n_rows and _constant_chance(*n_rows) <= _CONSTANT_CHANCE
        is_expected = is_batch and (min(n_rows) < _LEAST_BATCH if constant else column.kind != DATE)
        if is_apart and not is_expected:
            found.append(Separating(column.name, *(_described(column, side) for side in sides)))
    return found


def constant_columns(encoding: Encoding, samples: Sequence[NDArray[np.float64]]) -> list[str]:
    """Find the columns that have one value within each of several samples."""
    n_rows, found = sum(map(len, samples)), []
    # The chance that a column of two equally frequent values does so.
    if len(samples) < 2 or 2.0 ** (len(samples) - n_rows) > _CONSTANT_CHANCE:
        return []
    for name, place in encoding.places.items():
        if all((sample[:, place] == sample[0, place]).all() for sample in samples):
            found.append(name)
    return found


def without_columns(
    encoding: Encoding, tables: list[Table], names: Sequence[str], reason: str = SEPARATING
) -> tuple[Encoding, list[Table]]:
    """Leave columns out of tables for a reason, unless nothing would be left."""
    if not names or len(names) == len(encoding.places):
        return encoding, tables
    kept = np.concatenate([np.r_[place] for name, place in encoding.places.items() if name not in names])
    left = encoding.without(names, reason)
    return left, [
        replace(table, numbers=frozen(table.numbers[:, kept]), feature_names=left.feature_names) for table in tables
    ]


def _present(column: Column, features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a column holds where it holds something."""
    return features[features[:, -1] == 0, :-1] if column.marks_missing else features


def _overlap(column: Column, first: NDArray[np.float64], second: NDArray[np.float64]) -> bool:
    if column.kind == CATEGORY:
        return bool((first.any(0) & second.any(0)).any())
    return bool(first.max() >= second.min() and second.max() >= first.min())


def _constant_chance(n_first: int, n_second: int) -> float:
    """Bound the chance that a column of two values has one in all rows of a sample and the other in all of the other.

    It is largest if the values have the samples' shares.
    """
    n = n_first + n_second
    return 2 * math.exp(n_first * math.log(n_first / n) + n_second * math.log(n_second / n))


def _apart_chance(column: Column, first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Bound the chance that random dealing separates the values: the ways to do so among all ways to deal."""
    n_first, n = len(first), len(first) + len(second)
    log_ways = math.lgamma(n + 1) - math.lgamma(n_first + 1) - math.lgamma(n - n_first + 1)
    n_groups = int((first.any(0) | second.any(0)).sum()) if column.kind == CATEGORY else 1
    return math.exp(min(0.0, n_groups * math.log(2) - log_ways))


def _described(column: Column, side: NDArray[np.float64]) -> str:
    """Return what a column holds in a sample, in words."""
    if not len(side):
        return "no values"
    if column.kind == CATEGORY:
        names = (*column.categories, *(("other",) if column.pools_others else ()))
        held = [name for place, name in enumerate(names) if side[:, place].any()]
        return shortened(held or ["other categories"], 3)
    low, high = (as_text(column, value) for value in (side.min(), side.max()))
    return low if low == high else f"{low} to {high}"


def as_text(column: Column, value: float, digits: int = 4) -> str:
    """Write a value of a column of numbers, booleans or dates as a user would; a date of few digits has no time."""
    if column.kind == DATE:
        return text_of_days(value).partition(" ")[0] if digits == 4 else text_of_days(value)
    if column.kind == BOOLEAN:
        return str(bool(value))
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
