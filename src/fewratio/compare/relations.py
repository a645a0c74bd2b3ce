"""Pairs of columns whose relation differs between two samples."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import rank_values
from fewratio.core.wording import write_count, write_p, write_share
from fewratio.data.column_kinds import BOOLEAN, DATE, FREE, TIME, VECTOR
from fewratio.data.columns import Column
from fewratio.estimators.samples import Samples

# The fewest rows for a normal approximation; and the value that replaces a correlation of 1.
_LEAST_ROWS, _PERFECT = 5, 1 - 1e-6
# Correlations that differ by less count as equal, however many rows there are.
_LEAST_CHANGE = 0.05


class Relation(NamedTuple):
    """Two columns whose relation differs between two samples.

    Attributes
    ----------
    columns : (str or int, str or int)
    first, second : float
        Rank correlation of the columns in each sample; a category is coded as 1, all others as 0.
    where, what : str or None
        If one of the columns is categorical, the category that defines the groups ("city = Oslo"), and what differs
        between them: the mean of a column, or the share of a category of the other column.
    inside, elsewhere : (str, str) or None
        This mean or share in the rows with the category, and in all other rows: in the first sample and in the second.
    n_inside, n_elsewhere : (int, int) or None
        The number of these rows in each sample; rows in which one of the columns is missing do not count.
    p_value : float
        The chance that the relation of any two columns differs as much (adjusted for all pairs). Products of columns
        also change with means and spreads, so it is the larger of two p-values: one from permutations, which compare
        products, and one from a normal approximation (Fisher's test of two correlations; for categories, a test of
        whether a difference of means or an odds ratio is the same in both samples).
    """

    columns: tuple[str | int, str | int]
    first: float
    second: float
    where: str | None
    what: str | None
    inside: tuple[str, str] | None
    elsewhere: tuple[str, str] | None
    n_inside: tuple[int, int] | None
    n_elsewhere: tuple[int, int] | None
    p_value: float

    def write(self, names: Sequence[str]) -> str:
        """Say how the relation differs, given the names of the samples."""
        a, b = names
        p_value = f"(p = {write_p(self.p_value)})"
        cells = self.cells
        if not cells:
            first, second = (f"{round(each, 2) + 0.0:.2f}" for each in (self.first, self.second))
            correlations = f"rank correlation {first} in {a} and {second} in {b}"
            return f"{self.columns[0]} and {self.columns[1]} are related differently: {correlations} {p_value}"
        inside, elsewhere = cells
        means = f"{inside[0]} in {a} and {inside[1]} in {b}, elsewhere {' and '.join(elsewhere)}"
        return f"Where {self.where}, {self.what} is {means} {p_value}"

    @property
    def cells(self) -> list[list[str]]:
        """Means or shares with their numbers of rows, inside the category and elsewhere; empty for correlations."""
        if not (self.inside and self.elsewhere and self.n_inside and self.n_elsewhere):
            return []
        both = (self.inside, self.n_inside), (self.elsewhere, self.n_elsewhere)
        return [
            [f"{text} ({write_count(n, 'row')})" for text, n in zip(texts, counts, strict=True)]
            for texts, counts in both
        ]


class _Feature(NamedTuple):
    """A feature of a column: its values in each sample, where they are known, and the category that it marks."""

    label: str | int
    column: Column
    values: list[Floats]
    is_known: list[NDArray[np.bool_]]
    category: str | None


def describe_relations(samples: Samples, pairs: Numbers, p_values: Floats, level: float) -> list[Relation]:
    """Describe pairs of columns whose relation differs between two encoded samples, the strongest first.

    Parameters
    ----------
    samples : Samples
    pairs : int ndarray of shape (n_pairs, 2)
        The feature numbers of each pair.
    p_values : ndarray of shape (n_pairs,)
    level : float
        The largest p-value of a relation to describe.
    """
    if min(table.n_rows for table in samples.tables) < _LEAST_ROWS:
        return []
    features, found = dict[int, _Feature | None](), dict[tuple[str | int, str | int], Relation]()
    for place in np.flatnonzero(p_values <= level):
        sides = []
        for number in map(int, pairs[place]):
            if number not in features:
                features[number] = _read_feature(samples, number)
            sides.append(features[number])
        one, other = sides
        if one is None or other is None:
            continue
        relation = _describe(one, other, len(pairs), float(p_values[place]))
        if relation is not None and relation.p_value <= level:
            before = found.get(relation.columns)
            if before is None or _strength(relation) < _strength(before):
                found[relation.columns] = relation
    return sorted(found.values(), key=_strength)


def _strength(relation: Relation) -> tuple[float, float]:
    return relation.p_value, -abs(relation.first - relation.second)


def _read_feature(samples: Samples, number: int) -> _Feature | None:
    """Return a feature; None for features of times of day, texts and vectors, which mean nothing alone."""
    label, (column, place) = next(each for each in samples.columns.items() if each[1][1].stop > number)
    if column.kind in (TIME, FREE, VECTOR):
        return None
    values = [np.asarray(table.numbers[:, number]) for table in samples.tables]
    offset, is_known = number - place.start, [np.ones(len(each), dtype=np.bool_) for each in values]
    what, text = column.features[offset]
    category = {"category": f"{column.name} = {text}", "missing": f"{column.name} is missing"}.get(what)
    if column.kind == BOOLEAN and what == "value":
        category = f"{column.name} = True"
    if column.marks_missing and offset < place.stop - place.start - 1:
        is_known = [table.numbers[:, place.stop - 1] == 0 for table in samples.tables]
    return _Feature(label, column, values, is_known, category)


def _describe(one: _Feature, other: _Feature, n_pairs: int, p_value: float) -> Relation | None:
    """Describe the relation of two features; None if it differs too little or cannot be tested."""
    if one.category is None and other.category is not None:
        one, other = other, one
    kept = [first & second for first, second in zip(one.is_known, other.is_known, strict=True)]
    x, y = ([side[mask] for side, mask in zip(each.values, kept, strict=True)] for each in (one, other))
    if min(map(len, x)) < _LEAST_ROWS or any(np.ptp(side) == 0 for side in (*x, *y)):
        return None
    first, second = (float(np.corrcoef(rank_values(x[i]), rank_values(y[i]))[0, 1]) for i in (0, 1))
    if abs(first - second) < _LEAST_CHANGE:
        return None
    columns, category = (one.label, other.label), other.category
    if one.category is None:
        angles = np.arctanh(np.clip([first, second], -_PERFECT, _PERFECT))
        error = sum(1 / (len(side) - 3) for side in x) ** 0.5
        p_value = max(p_value, 2 * n_pairs * float(ndtr(-abs(angles[0] - angles[1]) / error)))
        return Relation(columns, first, second, None, None, None, None, None, None, p_value)
    is_inside = [side > 0 for side in x]
    if min(min(side.sum(), (~side).sum()) for side in is_inside) < _LEAST_ROWS:
        return None
    # Values where the first column has its category, and elsewhere, in each sample.
    cells = [[side[inside], side[~inside]] for side, inside in zip(y, is_inside, strict=True)]
    p_value = max(p_value, 2 * n_pairs * float(ndtr(-abs(_interact(cells, category is not None)))))
    what = f"the mean of {other.label}" if category is None else f"the share of {category}"
    digits = 4 if other.column.kind == DATE else 3

    def write(cell: Floats) -> str:
        mean = float(cell.mean())
        return write_share(mean) if category is not None else other.column.write(mean, digits)

    inside, elsewhere = ((write(cells[0][i]), write(cells[1][i])) for i in (0, 1))
    n_inside, n_elsewhere = ((len(cells[0][i]), len(cells[1][i])) for i in (0, 1))
    return Relation(columns, first, second, one.category, what, inside, elsewhere, n_inside, n_elsewhere, p_value)


def _interact(cells: Sequence[Sequence[Floats]], is_binary: bool) -> float:
    """Return how much the difference between two groups differs between samples, in standard errors."""
    apart, variance = [], 0.0
    if is_binary:
        for side in cells:
            counts = np.array([[each.sum() + 0.5, (1 - each).sum() + 0.5] for each in side])
            odds = np.log(counts[:, 0] / counts[:, 1])
            apart.append(odds[0] - odds[1])
            variance += float((1 / counts).sum())
    else:
        ranks = rank_values(np.concatenate([each for side in cells for each in side]))
        parts = np.split(ranks, np.cumsum([len(each) for side in cells for each in side])[:-1])
        apart = [parts[0].mean() - parts[1].mean(), parts[2].mean() - parts[3].mean()]
        variance = sum(float(each.var(ddof=1)) / len(each) for each in parts)
    return float((apart[0] - apart[1]) / variance**0.5) if variance > 0 else 0.0
