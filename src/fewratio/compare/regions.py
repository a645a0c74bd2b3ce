"""Regions where two samples differ: rules of up to three conditions, with p-values that account for the search."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.compare.conditions import BinnedColumn, Bins, Condition
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.threads import one_thread
from fewratio.core.wording import write_fixed, write_p, write_share
from fewratio.data.column_kinds import VECTOR
from fewratio.data.columns import Column
from fewratio.testing import LEVEL
from fewratio.testing.permutations import ROUNDING, Exchange
from fewratio.testing.row_units import make_exchange, mark_smaller

# The most regions to name, and the most conditions of each.
_MOST, _CONDITIONS = 5, 3
# Permutations per search, and how many of them run at once.
_PERMUTATIONS, _AT_ONCE = 99, 33
# The most and fewest bins per column, and the most bins of all columns together.
_MOST_BINS, _LEAST_BINS, _ALL_BINS = 24, 8, 1_440
# How many conditions from the best pairs the search starts with, and the most pairs to scan.
_STARTS, _MOST_PAIRS = 2, 1_770
# How often each condition of the strongest region moves to the middle of the likely ones.
_SETTLED = 2
# How much weaker a likely condition may be: the 95 % quantile of chi-square for the two ends of a range.
_LIKELY = 5.99
# Fewest rows of a region.
_LEAST_ROWS = 5
# If regions have similar strength, such as a region and its complement, the smaller one is named: a region of all rows
# would lose this share of its strength. Chosen on planted regions (benchmarks/regions.py planted, seeds 5 to 7).
_SMALLER = 0.5
_CONFIDENCE = 0.95
# Sums over rows in single precision, which is twice as fast.
_Singles = NDArray[np.float32]
# The rule of a region: numbers of columns, and the bins of each.
_Rule = tuple[tuple[int, Bins], ...]
# For a column: its coarse conditions by groups of bins; the rows of each group, with indicators of later columns; and
# for each later column the place of its groups, its conditions, and the weights of both conditions together.
_Pairs = tuple[_Singles, list[tuple[Numbers, _Singles]], list[tuple[slice, _Singles, _Singles]]]


class Region(NamedTuple):
    """A rule on columns that selects a larger share of one sample.

    Attributes
    ----------
    conditions : tuple of Condition
        One to three conditions, joined by "and".
    first, second : float
        The share of rows of each sample in the region, among the rows outside earlier regions.
    ratio : float
        First share / second share; infinite if the second sample has no such row.
    ratio_low, ratio_high : float
        An approximate 95 % interval for the ratio, simultaneous for all regions and adjusted for the search. It never
        extends across 1, since the p-value already shows that the shares differ.
    p_value : float
        The chance that the search finds a region as strong if nothing differs. For later regions, it refers to the
        rows outside earlier regions, and assumes that those are real.
    is_of_rest : bool
        Whether there are earlier regions.
    n_first, n_second : int
        How many rows of each sample the shares refer to.
    """

    conditions: tuple[Condition, ...]
    first: float
    second: float
    ratio: float
    ratio_low: float
    ratio_high: float
    p_value: float
    is_of_rest: bool
    n_first: int
    n_second: int

    @property
    def rule(self) -> str:
        """The conditions as text."""
        return " and ".join(each.text for each in self.conditions)

    def write(self, names: Sequence[str]) -> str:
        """Say what share of each sample is in the region, given the names of the samples."""
        rows = "Of the remaining rows, those" if self.is_of_rest else "Rows"
        gaps = [each.text for each in self.conditions if each.is_gap]
        others = [each.text for each in self.conditions if not each.is_gap]
        parts = [f"{word} {' and '.join(each)}" for word, each in (("with", others), ("where", gaps)) if each]
        shares = [
            f"{share} {'in' if self.is_of_rest else 'of'} {name}"
            for share, name in zip(self.shares, names, strict=True)
        ]
        return f"{rows} {' '.join(parts)} are {' and '.join(shares)} (p = {write_p(self.p_value)})"

    @property
    def shares(self) -> list[str]:
        """The shares as text: "18 %", or with earlier regions "10 of 11" of the remaining rows."""
        sizes = zip((self.first, self.second), (self.n_first, self.n_second), strict=True)
        return [
            f"{write_fixed(round(share * n), 0)} of {write_fixed(n, 0)}" if self.is_of_rest else write_share(share)
            for share, n in sizes
        ]


def find_regions(
    columns: Sequence[BinnedColumn],
    rows: Floats,
    is_first: NDArray[np.bool_],
    used: Numbers,
    blocks: Numbers | None,
    rng: np.random.Generator,
) -> tuple[list[Region], Numbers]:
    """Find the regions where two samples differ, the strongest first, and the region of each row (-1 for none).

    Each is the strongest among the rows outside earlier regions. The same search runs on permutations of the samples,
    and only regions with p-values up to 0.05 are returned.

    Parameters
    ----------
    columns : sequence of BinnedColumn
    rows : ndarray of shape (n, d)
        Both samples.
    is_first : bool ndarray of shape (n,)
    used : int ndarray of shape (n_used,)
        The rows to search.
    blocks : int ndarray of shape (n,) or None
        See `make_exchange`.
    rng : numpy Generator
    """
    codes = np.stack([column.assign(rows[used]) for column in columns], axis=1)
    # The permutations must not depend on which sample comes first.
    marks = mark_smaller(is_first[used])
    found: list[Region] = []
    numbers = np.full(len(rows), -1)
    is_within = len(make_exchange(marks, None if blocks is None else blocks[used])[0].sizes) > 1
    for number in range(_MOST):
        left = numbers[used] < 0
        exchange, unit = make_exchange(marks[left], None if blocks is None else blocks[used][left])
        # No test is possible if no block of the remaining rows has rows of both samples.
        if (len(exchange.sizes) > 1) != is_within or exchange.smallest_p_value(_PERMUTATIONS) > LEVEL:
            break
        with one_thread():
            search = _Search(columns, codes[left], float(marks[left].mean()))
            best = _test_search(search, marks[left], exchange, unit, rng)
        if best is None:
            break
        rule, p_value, quantile = best
        inside = numbers < 0
        n_first, n_second = (int((inside & sample).sum()) for sample in (is_first, ~is_first))
        for place, bins in rule:
            inside[inside] = bins[columns[place].assign(rows[inside])]
        in_first, in_second = (int((inside & sample).sum()) for sample in (is_first, ~is_first))
        low, high = _compute_interval((in_first, in_second), (n_first, n_second), quantile)
        found.append(
            Region(
                tuple(columns[place].describe(bins, rows) for place, bins in sorted(rule, key=lambda each: each[0])),
                in_first / n_first,
                in_second / n_second,
                in_first * n_second / (in_second * n_first) if in_second else math.inf,
                low,
                high,
                p_value,
                number > 0,
                n_first,
                n_second,
            )
        )
        numbers[inside] = number
    return found, numbers


def explain_regions(result: Any) -> list[str]:
    """Say what the p-values of a result's regions mean."""
    regions = result.regions
    said = ["p-values account for the search, which also runs on permutations of the samples"] * bool(regions)
    if any(each.is_of_rest for each in regions):
        said.append(
            "shares and p-values of later regions refer to the rows outside earlier ones, assuming that those are real"
        )
    aside = result.set_aside
    if regions and aside:
        said.append(f"the search leaves {aside} aside")
    if regions and (result.without_non_overlapping or result).p_value > LEVEL:
        which = f"the test without {aside}" if aside else "the test of the whole tables"
        said.append(f"{which} finds no difference: treat the region as a hint")
    return said


def bin_columns(columns: Mapping[str | int, tuple[Column, slice]], rows: Floats) -> list[BinnedColumn]:
    """Bin all columns that vary, except vectors."""
    n_bins = min(max(_ALL_BINS // len(columns), _LEAST_BINS), _MOST_BINS)
    found = [
        BinnedColumn.of(label, column, place, rows, n_bins)
        for label, (column, place) in columns.items()
        if column.kind != VECTOR
    ]
    return [column for column in found if len(column.fine)]


def _compute_interval(counts: Sequence[int], sizes: Sequence[int], quantile: float) -> tuple[float, float]:
    """Return an interval for the ratio of two shares: `quantile` standard errors of its logarithm to either side."""
    n = np.array(counts) + 0.5, np.array(sizes) + 1.0
    middle = float(np.log(n[0] / n[1]) @ [1, -1])
    error = float((1 / n[0] - 1 / n[1]).sum()) ** 0.5
    low = math.exp(middle - quantile * error) if counts[0] else 0.0
    high = math.exp(middle + quantile * error) if counts[1] else math.inf
    return (max(low, 1.0), high) if counts[0] * sizes[1] > counts[1] * sizes[0] else (low, min(high, 1.0))


def _test_search(
    search: "_Search", marks: NDArray[np.bool_], exchange: Exchange, unit: Numbers, rng: np.random.Generator
) -> tuple[_Rule, float, float] | None:
    """Search for the strongest region; return it, its p-value, and the half-width of its interval in standard errors.

    Return None, and stop the permutations early, once the p-value is sure to exceed the level.
    """
    score, deviation, rule = search.find_best(marks[None])[0]
    if deviation == 0:
        return None
    is_enumerated = exchange.is_enumerated(_PERMUTATIONS)
    every = exchange.enumerate_all() if is_enumerated else None
    total = exchange.count_used(_PERMUTATIONS)
    n_above, deviations = int(not is_enumerated), []
    n_all = total + n_above
    for start in range(0, total, _AT_ONCE):
        n = min(_AT_ONCE, total - start)
        members = exchange.draw(n, rng) if every is None else every[start : start + n]
        drawn = search.find_best(members[:, unit])
        n_above += sum(each[0] >= score - ROUNDING * abs(score) for each in drawn)
        deviations += [each[1] for each in drawn]
        if n_above > LEVEL * n_all:
            return None
    return rule, n_above / n_all, float(np.quantile(deviations, _CONFIDENCE, method="higher"))


class _Search:
    """Search for the strongest region in many splits of the same rows at once.

    The score of a region is the squared difference between the observed and the expected number of its rows in one
    sample, in standard errors under permutation. One is added to the variance, so that a single row is no surprise
    where hardly any row of a small sample is expected.
    """

    def __init__(self, columns: Sequence[BinnedColumn], codes: Numbers, share: float) -> None:
        self._codes, self._share, self._scale = codes, share, share * (1 - share) / len(codes)
        self._sets = [column.family for column in columns]
        self._fine = [column.fine for column in columns]
        self._families, _, self._places, self._marks = _group_bins(self._sets, codes)
        # What the best of this many independent bins adds to a squared deviation by chance alone.
        self._penalty = 2 * math.log(self._marks.shape[1])
        self._coarse = [column.coarse for column in columns]
        self._uses_pairs = len(columns) > 1 and len(columns) * (len(columns) - 1) // 2 <= _MOST_PAIRS

    def find_best(self, labels: NDArray[np.bool_]) -> list[tuple[float, float, _Rule]]:
        """Find the strongest region of each split; return its score, its deviation and its rule.

        Parameters
        ----------
        labels : bool ndarray of shape (n_divisions, n)
            Which rows are in one sample; their number must be the same in all splits.
        """
        centred = labels - np.float32(self._share)
        best: list[tuple[float, _Rule]] = [(-math.inf, ())] * len(labels)
        divisions = list(range(len(labels)))
        rules: list[_Rule] = [()] * len(labels)
        for n_kept in (0, 1, 1, 2, 2)[: 2 * len(self._families) - 1]:
            # Keep the last conditions, and add the best one to them.
            found = self._extend([rule[len(rule) - n_kept :] for rule in rules], centred[divisions])
            for place, (strength, rule) in zip(divisions, found, strict=True):
                score = strength - self._penalty * len(rule)
                if score > best[place][0]:
                    best[place] = score, rule
            rules = [rule for _, rule in found]
            if n_kept == 0 and self._uses_pairs:
                starts = self._scan_pairs(centred)
                divisions += [place for place, _ in starts]
                rules += [rule for _, rule in starts]
        return [self._settle(rule, signs) for (_, rule), signs in zip(best, centred, strict=True)]

    # BLAS may read beyond the end of a float32 array, and then warn of invalid values there.
    @np.errstate(invalid="ignore")
    def _settle(self, rule: _Rule, centred: _Singles) -> tuple[float, float, _Rule]:
        """Replace each condition in turn by the middle one of the likely conditions, given the others.

        Half a squared deviation is roughly a log likelihood. The strongest condition overfits. The condition that
        differs from the others in the fewest rows, weighted by their likelihoods, is closer to the truth.
        """
        strength = 0.0
        for _ in range(_SETTLED * len(rule)):
            (column, _), rule = rule[0], rule[1:]
            mask = np.ones(len(centred), dtype=np.bool_)
            for place, bins in rule:
                mask &= bins[self._codes[:, place]]
            sets, codes = self._fine[column], self._codes[mask, column]
            family = sets.T.astype(np.float32)
            counts = np.bincount(codes, minlength=len(family)).astype(np.float32)
            sums = np.bincount(codes, centred[mask], len(family)).astype(np.float32) @ family
            strengths = sums**2 * _weigh(counts @ family, len(self._codes), self._scale)
            # Likely conditions have more rows of the same sample as the strongest one.
            is_likely = (np.sign(sums) == np.sign(sums[strengths.argmax()])) & (strengths >= strengths.max() - _LIKELY)
            likelihoods = is_likely * np.exp((strengths - strengths.max()) / 2)
            chances = family @ (likelihoods / likelihoods.sum())
            chosen = int(((counts * (2 * chances - 1)) @ family).argmax())
            strength, rule = float(strengths[chosen]), (*rule, (column, sets[chosen]))
        return strength - self._penalty * len(rule), strength**0.5, rule

    def _extend(self, rules: Sequence[_Rule], centred: _Singles) -> list[tuple[float, _Rule]]:
        """Add to each rule the best condition on another column; return the strengths and the rules."""
        masks = np.ones(centred.shape, dtype=np.float32)
        is_used = np.zeros((len(rules), len(self._families)), dtype=np.bool_)
        for mask, used, rule in zip(masks, is_used, rules, strict=True):
            for column, bins in rule:
                mask *= bins[self._codes[:, column]]
                used[column] = True
        counts, sums = masks @ self._marks, (masks * centred) @ self._marks
        strongest, which = np.full(len(rules), -1.0), np.zeros((len(rules), 2), dtype=np.intp)
        for number, (family, place) in enumerate(zip(self._families, self._places, strict=True)):
            strengths = (sums[:, place] @ family.T) ** 2 * _weigh(
                counts[:, place] @ family.T, len(self._codes), self._scale
            )
            found = strengths.argmax(1)
            values = strengths[np.arange(len(rules)), found]
            better = (values > strongest) & ~is_used[:, number]
            strongest[better] = values[better]
            which[better, 0], which[better, 1] = number, found[better]
        return [
            (float(strength), (*rule, (int(number), self._sets[number][condition])))
            for strength, rule, (number, condition) in zip(strongest, rules, which, strict=True)
        ]

    def _scan_pairs(self, centred: _Singles) -> list[tuple[int, _Rule]]:
        """Scan coarse conditions on all pairs of columns; return one condition from each of the strongest pairs."""
        n_divisions, strengths, which = len(centred), [], []
        for first, (family, groups, later) in enumerate(self._pairs):
            of_groups = np.stack([centred[:, rows] @ marks for rows, marks in groups], axis=1)
            sums = family @ of_groups
            for place, of_second, weights in later:
                found = np.abs(sums[:, :, place] @ of_second * weights).reshape(n_divisions, -1)
                best = found.argmax(1)
                strengths.append(found[np.arange(n_divisions), best])
                which.append((first, best // weights.shape[1]))
        order = np.argsort(-np.stack(strengths, axis=1), axis=1, kind="stable")[:, :_STARTS]
        return [
            (division, ((which[pair][0], self._coarse[which[pair][0]][which[pair][1][division]]),))
            for division in range(n_divisions)
            for pair in order[division]
        ]

    @cached_property
    def _pairs(self) -> list[_Pairs]:
        """Arrays for `_scan_pairs`, for each column but the last."""
        families, codes, places, marks = _group_bins(self._coarse, self._codes)
        found = []
        for first, family in enumerate(families[:-1]):
            start = places[first].stop
            of_groups = [np.flatnonzero(codes[:, first] == group) for group in range(family.shape[1])]
            parts = [(rows, marks[rows, start:]) for rows in of_groups]
            counts, later = family @ np.stack([part.sum(0) for _, part in parts]), []
            for place, second in zip(places[first + 1 :], families[first + 1 :], strict=True):
                where = slice(place.start - start, place.stop - start)
                later.append(
                    (where, second.T, np.sqrt(_weigh(counts[:, where] @ second.T, len(self._codes), self._scale)))
                )
            found.append((family, parts, later))
        return found


def _group_bins(sets: Sequence[Bins], codes: Numbers) -> tuple[list[_Singles], Numbers, list[slice], _Singles]:
    """Group the bins of each column that no condition separates.

    Return the groups of each condition, the group of each row in each column, the slice of each column's groups, and
    indicators of the groups of each row.
    """
    found = [np.unique(each, axis=1, return_inverse=True) for each in sets]
    families = [family.astype(np.float32) for family, _ in found]
    codes = np.stack([groups[codes[:, place]] for place, (_, groups) in enumerate(found)], axis=1)
    sizes = [family.shape[1] for family in families]
    ends: Numbers = np.cumsum(sizes)
    marks = np.zeros((len(codes), ends[-1]), dtype=np.float32)
    np.put_along_axis(marks, codes + (ends - np.array(sizes)), 1, axis=1)
    return families, codes, [slice(end - size, end) for end, size in zip(ends.tolist(), sizes, strict=True)], marks


def _weigh(counts: NDArray[Any], n: int, scale: float) -> NDArray[Any]:
    """Return the factors that turn squared differences into squared deviations, given the sizes of the regions."""
    weights = (1 - np.float32(_SMALLER / n) * counts) / (np.float32(scale) * counts * (n - counts) + 1)
    return (counts >= _LEAST_ROWS) * weights
