"""Columns whose values do not overlap between two samples, such as the one by which a table was split."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.blocks import CACHED_VALUES, row_blocks
from fewratio.core.wording import write_list
from fewratio.data.column_kinds import CATEGORY, DATE, NUMBER
from fewratio.data.columns import NO_OVERLAP, Column
from fewratio.data.encoding import Encoding
from fewratio.data.raw_table import freeze
from fewratio.data.table import FileNumbers, Table

# Chances that the values of a column do not overlap although the rows were split at random: for two constants, so that
# five rows per sample are enough; for ranges and sets of categories, over all columns of a table together.
_CONSTANT_CHANCE, _APART_CHANCE = 0.002, 0.001
# Fewer outliers may all have a category that no normal row has.
_LEAST_BATCH = 5


class NonOverlapping(NamedTuple):
    """A column whose values do not overlap between two samples, and what it holds in either."""

    column: str
    first: str
    second: str


def find_non_overlapping(
    encoding: Encoding, first: NDArray[np.float64], second: NDArray[np.float64], is_batch: bool = False
) -> list[NonOverlapping]:
    """Find the columns that are constant in each of two samples but different, or whose values do not overlap.

    Parameters
    ----------
    encoding : Encoding
        What the columns are.
    first, second : ndarray of shape (n, n_features)
        The encoded samples.
    is_batch : bool
        Whether outliers are sought in the second sample. Then only dates are enough if their ranges do not overlap,
        and only dates and categories if they are constant: a batch comes later or from elsewhere, but numbers that are
        far from all others are what is sought.
    """
    found, n_rows = [], (len(first), len(second))
    summaries = zip(_summarise(encoding, first), _summarise(encoding, second), strict=True)
    for column, sides in zip(encoding.used, summaries, strict=True):
        if all(side.n_rows for side in sides):
            constant = all((side.low == side.high).all() for side in sides)
            chance = _constant_chance(*(side.n_rows for side in sides)) if constant else _apart_chance(column, *sides)
            limit = _CONSTANT_CHANCE if constant else _APART_CHANCE / len(encoding.used)
            is_apart = chance <= limit and not _overlap(column, *sides)
        else:
            # Nothing but gaps in one sample, and none in the other.
            constant = True
            is_apart = sum(side.n_rows for side in sides) in n_rows and _constant_chance(*n_rows) <= _CONSTANT_CHANCE
        is_number = column.kind == NUMBER and all(side.n_rows for side in sides)
        is_expected = is_batch and (min(n_rows) < _LEAST_BATCH or is_number if constant else column.kind != DATE)
        if is_apart and not is_expected:
            found.append(NonOverlapping(column.name, *(_describe(column, side) for side in sides)))
    return found


def find_constant(encoding: Encoding, samples: Sequence[NDArray[np.float64]]) -> list[str]:
    """Find the columns that have one value within each of several samples."""
    n_rows, found = sum(map(len, samples)), []
    # The chance that a column of two equally frequent values does so.
    if len(samples) < 2 or 2.0 ** (len(samples) - n_rows) > _CONSTANT_CHANCE:
        return []
    for name, place in encoding.places.items():
        if all((sample[:, place] == sample[0, place]).all() for sample in samples):
            found.append(name)
    return found


def leave_out_columns(
    encoding: Encoding, tables: list[Table], names: Sequence[str], reason: str = NO_OVERLAP
) -> tuple[Encoding, list[Table]]:
    """Leave columns out of tables for a reason, unless nothing would be left."""
    if not names or len(names) == len(encoding.places):
        return encoding, tables
    kept = np.concatenate([np.r_[place] for name, place in encoding.places.items() if name not in names])
    left = encoding.drop(names, reason)
    numbers = [
        table.numbers.encode_by(left) if isinstance(table.numbers, FileNumbers) else freeze(table.numbers[:, kept])
        for table in tables
    ]
    return left, [
        replace(table, numbers=each, feature_names=left.feature_names)
        for table, each in zip(tables, numbers, strict=True)
    ]


class _Summary(NamedTuple):
    """What a column holds where it holds something: in how many rows, and the range of each of its features."""

    n_rows: int
    low: NDArray[Any]
    high: NDArray[Any]


def _summarise(encoding: Encoding, rows: NDArray[Any]) -> list[_Summary]:
    """Summarise the columns of a sample, a block of rows at a time."""
    widths = [len(column.feature_names) - column.marks_missing for column in encoding.used]
    result = [_Summary(0, np.full(width, np.inf), np.full(width, -np.inf)) for width in widths]
    for block in row_blocks(len(rows), rows.shape[1], CACHED_VALUES):
        values = rows[block]
        for number, column in enumerate(encoding.used):
            part = values[:, encoding.places[column.name]]
            if column.marks_missing:
                part = part[part[:, -1] == 0, :-1]
            n_rows, low, high = result[number]
            if len(part):
                result[number] = _Summary(
                    n_rows + len(part), np.minimum(low, part.min(0)), np.maximum(high, part.max(0))
                )
    return result


def _overlap(column: Column, first: _Summary, second: _Summary) -> bool:
    if column.kind == CATEGORY:
        return bool(((first.high > 0) & (second.high > 0)).any())
    return bool(first.high[0] >= second.low[0] and second.high[0] >= first.low[0])


def _constant_chance(n_first: int, n_second: int) -> float:
    """Bound the chance that a column of two values has one in all rows of a sample and the other in all of the other.

    It is largest if the values have the samples' shares.
    """
    n = n_first + n_second
    return 2 * math.exp(n_first * math.log(n_first / n) + n_second * math.log(n_second / n))


def _apart_chance(column: Column, first: _Summary, second: _Summary) -> float:
    """Bound the chance that random dealing separates the values: the ways to do so among all ways to deal."""
    n_first, n = first.n_rows, first.n_rows + second.n_rows
    log_ways = math.lgamma(n + 1) - math.lgamma(n_first + 1) - math.lgamma(n - n_first + 1)
    n_groups = int(((first.high > 0) | (second.high > 0)).sum()) if column.kind == CATEGORY else 1
    return math.exp(min(0.0, n_groups * math.log(2) - log_ways))


def _describe(column: Column, side: _Summary) -> str:
    """Return what a column holds in a sample, in words."""
    if not side.n_rows:
        return "no values"
    if column.kind == CATEGORY:
        names = (*column.categories, *(("other",) if column.pools_others else ()))
        held = [name for place, name in enumerate(names) if side.high[place] > 0]
        return write_list(held or ["other categories"], 3)
    low, high = (column.write(value) for value in (side.low[0], side.high[0]))
    return low if low == high else f"{low} to {high}"
