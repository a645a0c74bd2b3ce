"""Columns whose values do not overlap between two tables, such as the one by which a table was split.

A rule of one column assigns each row to a table by its value: a split of the numbers, or a table for each category. The
score of a column is the share of rows that the best rule assigns correctly, where each table counts half.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.wording import shorten, write_list
from fewratio.data.column_kinds import CATEGORY, DATE, VECTOR, unify_booleans
from fewratio.data.columns import DATED, ORDERS, Column
from fewratio.data.encoding import Encoding, warn_of_left_out
from fewratio.data.raw_table import RawTable, freeze
from fewratio.data.table import FileNumbers, Table

# A column separates the tables if at most one row in twenty is on the wrong side, and if any column would separate rows
# assigned at random as well with a chance of at most one in twenty.
_SHARE, _CHANCE = 0.95, 0.05


class NonOverlapping(NamedTuple):
    """A column whose values do not overlap between two tables, at least in nearly all rows.

    Attributes
    ----------
    column : str or int
        Name of the column, or its number if columns have no names.
    first, second : str
        Its values in each table, as text.
    share : float
        The share of rows that it separates; each table counts half.
    n_right, n_rows : int
        The number of rows that it separates, and of all rows.
    """

    column: str | int
    first: str
    second: str
    share: float
    n_right: int
    n_rows: int

    @property
    def name(self) -> str:
        """Name of the column in answers."""
        return f"column {self.column}" if isinstance(self.column, int) else self.column

    @property
    def separates(self) -> str:
        """The tables and rows that the column separates, as text."""
        return f"{self.name} alone separates {self.rows}"

    @property
    def rows(self) -> str:
        """Which rows the column separates, as text."""
        return "all rows" if self.n_right == self.n_rows else f"{self.n_right:,} of {self.n_rows:,} rows"

    def describe(self, names: Sequence[str]) -> str:
        """Describe the rows that the column separates and its values in each table, given the names of the tables."""
        return f"{self.separates}: {self.first} in {names[0]}, {self.second} in {names[1]}"


class Levels(NamedTuple):
    """The categories of the rows of several tables, before rare ones are pooled: codes, -1 where missing, and texts."""

    codes: NDArray[np.intp]
    texts: Sequence[str]


class _Rule(NamedTuple):
    """A rule of one column: rows on the wrong side, how many rules there are (logarithms), and texts of the sides."""

    errors: tuple[int, int]
    log_rules: float
    log_perfect: float
    texts: tuple[str, str]


def pool_levels(label: str, raws: Sequence[RawTable]) -> Levels:
    """Return the categories of a column of several tables, one after the other."""
    number: dict[str, int] = {}
    codes = []
    for values in unify_booleans([raw.values(label) for raw in raws]):
        coded = values.to_levels()
        places = [number.setdefault(text, len(number)) for text in coded.texts]
        # The last place is that of code -1.
        codes.append(np.array([*places, -1], dtype=np.intp)[coded.codes])
    return Levels(np.concatenate(codes), list(number))


def decode_levels(column: Column, features: NDArray[Any]) -> Levels:
    """Return the categories of encoded rows, those that were pooled as one."""
    texts = [*column.categories, *(["other"] if column.pools_others else [])]
    held = features[:, : len(texts)]
    return Levels(np.where(held.any(1), held.argmax(1), -1), texts)


def find_non_overlapping(
    columns: Mapping[Any, tuple[Column, slice]], tables: Sequence[Table], levels: Mapping[Any, Levels]
) -> list[NonOverlapping]:
    """Find the columns whose values do not overlap between two tables, those that separate most rows first.

    Parameters
    ----------
    columns : mapping
        The encoding of each column, and the slice of its features.
    tables : sequence of Table
        The two encoded tables.
    levels : mapping
        For each categorical column, the categories of the rows of both tables.
    """
    found, sizes = [], (tables[0].n_rows, tables[1].n_rows)
    for label, (column, place) in columns.items():
        rule: _Rule | None
        if column.kind == CATEGORY:
            rule = _split_levels(levels[label], sizes[0])
        elif column.kind == VECTOR:
            # No single number of a vector means anything.
            continue
        else:
            rule = _split_numbers(column, *(np.asarray(table.numbers[:, place]) for table in tables))
        if rule is None:
            continue
        share = 1 - sum(wrong / n for wrong, n in zip(rule.errors, sizes, strict=True)) / 2
        if share >= _SHARE and _bound_chance(rule, *sizes) <= _CHANCE / len(columns):
            n_rows = sum(sizes)
            found.append(NonOverlapping(label, *rule.texts, share, n_rows - sum(rule.errors), n_rows))
    return sorted(found, key=lambda each: -each.share)


def leave_out_dates(
    encoding: Encoding, tables: list[Table], keep: Collection[str], all_dates: bool = False
) -> tuple[Encoding, list[Table]]:
    """Leave out dates, after a warning, unless nothing would be left.

    By default, dates that only show which of several tables came first are left out. Leave out all dates if new rows
    are compared with rows of the past, since later rows have later dates.

    Parameters
    ----------
    encoding : Encoding
        How the columns were encoded.
    tables : list of Table
        The encoded tables.
    keep : collection of str
        Columns that are always used.
    all_dates : bool
        Whether to leave out all dates.
    """
    found = {}
    for column in encoding.used:
        if column.kind == DATE and column.name not in keep:
            place = encoding.places[column.name]
            ends = "" if all_dates else _describe_order(column, [t.numbers[:, place] for t in tables], encoding)
            if ends is not None:
                found[column.name] = f"{DATED if all_dates else ORDERS}{ends}"
    if len(found) == len(encoding.used):
        return encoding, tables
    warn_of_left_out(found)
    return leave_out_columns(encoding, tables, list(found), DATED if all_dates else ORDERS)


def _describe_order(column: Column, samples: Sequence[NDArray[Any]], encoding: Encoding) -> str | None:
    """Return the ranges of dates if those of samples do not overlap, unless chance explains it; else None."""
    held = sorted((column.decode(np.asarray(rows)) for rows in samples), key=lambda values: values.min(initial=np.inf))
    if len(held) < 2 or not all(map(len, held)) or any(b.min() <= a.max() for a, b in pairwise(held)):
        return None
    # All orders of the samples, among all ways to deal the rows.
    sizes = list(map(len, held))
    ways = sum(_log_choose(n, size) for n, size in zip(accumulate(sizes), sizes, strict=True))
    if math.lgamma(len(sizes) + 1) - ways > math.log(_CHANCE / len(encoding.used)):
        return None
    return f": {', then '.join(' to '.join(dict.fromkeys(map(column.write, (v.min(), v.max())))) for v in held)}"


def find_constant(encoding: Encoding, samples: Sequence[NDArray[np.float64]]) -> list[str]:
    """Find the columns that have one value within each of several samples, and not the same in all."""
    n_rows, found = sum(map(len, samples)), []
    # The chance that a column of two equally frequent values does so.
    if len(samples) < 2 or 2.0 ** (len(samples) - n_rows) > _CHANCE / len(encoding.used):
        return []
    for name, place in encoding.places.items():
        values = [sample[0, place] for sample in samples]
        if all((sample[:, place] == value).all() for sample, value in zip(samples, values, strict=True)):
            found += [name] if any((value != values[0]).any() for value in values) else []
    return found


def leave_out_columns(
    encoding: Encoding, tables: list[Table], names: Sequence[str], reason: str
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


def _split_levels(levels: Levels, n_first: int) -> _Rule | None:
    """Return the best rule for categories: each goes to the table that it is more frequent in; a gap is one, too.

    None if too many rows have a value that no other row has: nothing says where such a row belongs.
    """
    n_levels = len(levels.texts) + 1
    sides = [np.bincount(codes + 1, minlength=n_levels) for codes in (levels.codes[:n_first], levels.codes[n_first:])]
    is_first = sides[0] / max(1, sides[0].sum()) > sides[1] / max(1, sides[1].sum())
    errors = int(sides[0][~is_first].sum()), int(sides[1][is_first].sum())
    alone = [int(side[sides[0] + sides[1] == 1].sum()) for side in sides]
    if sum(n / max(1, side.sum()) for n, side in zip(alone, sides, strict=True)) / 4 > 1 - _SHARE:
        return None
    n_held, n_least = int((sides[0] + sides[1] > 0).sum()), min(int(side.sum()) for side in sides)
    # A rule gives the smaller table no more categories than it has rows.
    if n_least < n_held / 2:
        log_rules = float(np.logaddexp.reduce([_log_choose(n_held, n) for n in range(n_least + 1)]))
    else:
        log_rules = n_held * math.log(2)
    # The two rules that give all to one table separate nothing.
    perfect = math.log(2**n_held - 2) if 1 < n_held < 60 else n_held * math.log(2)
    names = ["no value", *levels.texts]
    words = []
    for counts, is_sent in zip(sides, (is_first, ~is_first), strict=True):
        held = np.flatnonzero(is_sent & (counts > 0))
        ordered = sorted(held.tolist(), key=lambda level: (-counts[level], names[level]))
        words.append(write_list([shorten(names[level], 30) for level in ordered], 3))
    return _Rule(errors, log_rules, min(perfect, log_rules), (words[0], words[1]))


def _split_numbers(column: Column, first: NDArray[Any], second: NDArray[Any]) -> _Rule | None:
    """Return the best split of numbers, with a table for gaps; None where no split can separate most rows."""
    sizes = len(first), len(second)
    held = [column.decode(side) for side in (first, second)]
    gaps = [n - len(values) for n, values in zip(sizes, held, strict=True)]
    if all(map(len, held)) and not any(gaps) and _cannot_split(*held):
        return None
    values = np.concatenate(held)
    order = np.argsort(values, kind="stable")
    values, is_first = values[order], order < len(held[0])
    # Rows of either table below each place at which a split can be, from below all to above all.
    places = np.flatnonzero(np.r_[True, values[1:] > values[:-1], True]) if len(values) else np.zeros(1, dtype=np.intp)
    low = [np.r_[0, np.cumsum(side)][places] for side in (is_first, ~is_first)]
    gain = low[0] / sizes[0] - low[1] / sizes[1]
    # Which table is below, and how much of both tables is then on its side.
    right = gain + len(held[1]) / sizes[1], len(held[0]) / sizes[0] - gain
    below = int(right[1].max() > right[0].max())
    place = int(right[below].argmax())
    errors = [int(each[place]) for each in low]
    errors[below] = len(held[below]) - errors[below]
    gaps_first = gaps[0] / sizes[0] > gaps[1] / sizes[1]
    errors[int(gaps_first)] += gaps[int(gaps_first)]
    n_choices = math.log(2) if any(gaps) else 0.0
    log_rules = math.log(2 * (len(values) + 1)) + n_choices
    words = []
    for number, (side, n_wrong, size) in enumerate(zip(held, errors, sizes, strict=True)):
        missing = " or missing" if gaps[number] and gaps_first == (number == 0) else ""
        if not len(side):
            words.append("no values")
        elif sum(errors):
            cut = values[min(places[place], len(values) - 1)]
            where = f"below {column.write(cut)}" if number == below else f"from {column.write(cut)} on"
            words.append(f"{_write_share(1 - n_wrong / size)} {where}{missing}")
        else:
            ends = [column.write(end) for end in (side.min(), side.max())]
            words.append(f"{ends[0] if ends[0] == ends[1] else ' to '.join(ends)}{missing}")
    return _Rule((errors[0], errors[1]), log_rules, math.log(2) + n_choices, (words[0], words[1]))


def _cannot_split(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Return whether too many rows are on the wrong side of any split: quicker than to sort them all."""
    # Where the mean of two shares is as large, neither is smaller than this.
    least = 2 * _SHARE - 1
    ends = []
    for side in (first, second):
        n_out = int((1 - least) * len(side))
        part = np.partition(side, (n_out, len(side) - 1 - n_out))
        ends.append((part[n_out], part[len(side) - 1 - n_out]))
    return bool(ends[0][1] > ends[1][0] and ends[1][1] > ends[0][0])


def _write_share(share: float) -> str:
    """Write a share as percent; not rounded up: 99.97 % are not all."""
    return f"{math.floor(1000 * share) / 10:g} %"


def _bound_chance(rule: _Rule, n_first: int, n_second: int) -> float:
    """Bound the chance that rows that are dealt to two tables at random are separated as well by any such rule.

    A rule that sends s rows to the first table has e of that table and f of the other on the wrong side with the chance
    p = C(s, f) C(n - s, e) / C(n, n_first). Each rule has at most m + 1 outcomes of a chance of at most p, where m rows
    are in the smaller table. All rows are right in as many deals as there are perfect rules.
    """
    wrong_first, wrong_second = rule.errors
    n, n_sent = n_first + n_second, n_first - wrong_first + wrong_second
    log_p = _log_choose(n_sent, wrong_second) + _log_choose(n - n_sent, wrong_first) - _log_choose(n, n_first)
    is_perfect = not any(rule.errors)
    log_ways = rule.log_perfect if is_perfect else rule.log_rules + math.log(min(n_first, n_second) + 1)
    return math.exp(min(0.0, log_p + log_ways))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
