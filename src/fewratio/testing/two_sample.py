"""The two-sample test: several statistics over the same permutations, combined into one exact p-value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array, hstack
from scipy.spatial.distance import cdist, pdist
from scipy.special import gammainc, gammaincc, ndtr, ndtri

from fewratio.core.arrays import COMPUTED, real_deviation
from fewratio.core.blocks import BLOCK_VALUES, row_blocks
from fewratio.core.draws import row_order
from fewratio.core.kernels import gaussian_kernel, median_width
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import clip_far, rank_knots, rank_values, standardise
from fewratio.estimators.base import RatioEstimator
from fewratio.progress import OnStep
from fewratio.testing import LEVEL
from fewratio.testing.permutations import ROUNDING, Exchange, compute_divergences

# Weight of each statistic (docs/decisions/0009): chosen on simulated pairs of the kinds in
# benchmarks/everyday/comparison.py, with other seeds than those of the records.
WEIGHTS = {
    "energy distance": 4.0,
    "difference of means": 8.0,
    "density ratio": 2.0,
    "largest difference of a column": 4.0,
    "spread": 4.0,
    "linear discriminant": 2.0,
    "largest difference of a product": 1.0,
    "difference of products": 1.0,
    "shape": 1.0,
    "categories": 4.0,
}
# Values are clipped at this many robust deviations from the median before means are computed.
_FAR = 2.5
# Groups of rows to permute: this many in the smaller sample, at most this many in all, at most this many values, but at
# least this many in any case.
_OF_SMALLER, _MAX_UNITS, _MAX_VALUES, _MIN_UNITS = 1_000, 10_000, 2**23, 200
# Most rows for kernels, and centres from which to approximate them (Nystrom).
_MAX_KERNEL_ROWS, _MAX_CENTRES = 10_000, 500
# The ratio's kernel: its width in median distances, and its regulariser.
_WIDTH, _REG = 0.5, 0.01
# The regulariser of the discriminant if there are as many features as units.
_RIDGE = 0.05
# Most pairs of features whose products to compare: all pairs of 60 columns.
_MAX_PAIRS = 1_770
# A shift that would be found: in this share of so many draws; how often its range is doubled and halved.
_POWER, _DRAWS, _DOUBLINGS, _HALVINGS = 0.8, 100, 4, 2
# With very few rows: so many tests, of so many permutations, each with another shift by up to this factor (logarithm).
_TESTS, _PERMUTATIONS, _STEP = 12, 299, 0.4


@dataclass(frozen=True, eq=False)
class TwoSampleTest:
    """What the test found.

    Attributes
    ----------
    statistic : float
        Minus the decimal logarithm of the weighted harmonic mean of the statistics' tails.
    null_distribution : ndarray of shape (n_permutations,)
        The statistic of the permutations: all of them, including the observed one, if `is_enumerated`, else drawn ones.
    is_enumerated : bool
        Whether all permutations were enumerated.
    p_value : float
        The share of permutations, including the observed one, whose statistic is at least the observed one.
    p_values : dict of str to float
        The p-value of each single statistic.
    smallest_p_value : float
        The p-value if no other permutation came near the observed one.
    column_p_values : ndarray of shape (n_columns,)
        The share of permutations in which any column differs as much as this one does: adjusted for all columns.
    pairs : int ndarray of shape (n_pairs, 2)
        The numbers of the features whose products were compared.
    pair_p_values : ndarray of shape (n_pairs,)
        The share of permutations in which any product differs as much as the product of these features.
    term_p_values : ndarray of shape (n_terms,)
        Of all words and phrases of all columns of text, one column after the other: the share of permutations in which
        any of them differs as much.
    n_tested, n_in_kernels : (int, int)
        Rows of each sample used for means, and for kernel statistics.
    detectable_shift : float or None
        If nothing was found, the shift of one column that the test would have found in four of five cases, in
        deviations of the column (`_find_shift`).
    """

    statistic: float
    null_distribution: Floats
    is_enumerated: bool
    p_value: float
    p_values: dict[str, float]
    smallest_p_value: float
    column_p_values: Floats
    pairs: Numbers
    pair_p_values: Floats
    term_p_values: Floats
    n_tested: tuple[int, int]
    n_in_kernels: tuple[int, int]
    detectable_shift: float | None


def select_rows(
    rows: Floats,
    labels: NDArray[Any],
    rng: np.random.Generator,
    pairs: Numbers | None = None,
    order: Numbers | None = None,
) -> Numbers:
    """Select the rows to test with: all of them, or, if there are many, a random part of each sample or of the pairs.

    Their order, and which are drawn, depend only on the values: not on the order of rows, columns or samples, nor on
    units.
    """
    most, order = _most_units(rows), row_order(rows) if order is None else order
    if len(order) <= most:
        return order
    if pairs is not None:
        # Pairs in the order of their first rows.
        ordered = np.array(list(dict.fromkeys(pairs[order].tolist())))
        return order[np.isin(pairs[order], rng.choice(ordered, most // 2, replace=False))]
    samples = _split_rows(order, labels)
    counts = _share_out(most, list(map(len, samples)))
    drawn = [rng.choice(sample, n, replace=False) for sample, n in zip(samples, counts, strict=True)]
    return order[np.isin(order, np.concatenate(drawn))]


def _most_units(rows: Floats) -> int:
    return min(max(_MAX_VALUES // rows.shape[1], _MIN_UNITS), _MAX_UNITS)


def _share_out(most: int, sizes: Sequence[int]) -> list[int]:
    """Return how many rows to use of each sample, the smallest first: as equal parts as their sizes allow."""
    counts = list[int]()
    for place, size in enumerate(sizes):
        counts.append(min(size, (most - sum(counts)) // (len(sizes) - place)))
    return counts


def _split_rows(order: Numbers, labels: NDArray[Any]) -> list[Numbers]:
    """Split rows by their samples, in the order of `number_samples`."""
    numbers = number_samples(labels[order])
    return [order[numbers == number] for number in range(numbers.max() + 1)]


def number_samples(labels: NDArray[Any]) -> Numbers:
    """Assign numbers to samples, the smallest first; if sizes are equal, the one with the first row comes first."""
    _, first, place, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    return np.argsort(np.lexsort((first, counts)))[place]


def make_exchange(is_first: NDArray[np.bool_], blocks: Numbers | None) -> tuple[Exchange, Numbers]:
    """Return the units that may change samples, and the unit number of each row; see `number_units`."""
    sizes, unit = number_units(is_first, blocks)
    is_first = is_first[np.unique(unit, return_index=True)[1]]
    counts = np.add.reduceat(is_first, np.cumsum(sizes) - sizes, dtype=np.intp)
    return Exchange(tuple(sizes.tolist()), tuple(counts.tolist())), unit


def number_units(labels: NDArray[Any], blocks: Numbers | None) -> tuple[Numbers, Numbers]:
    """Return how many units may change samples among themselves, block by block, and the unit number of each row.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        The sample of each row.
    blocks : int ndarray of shape (n,) or None
        Rows are exchanged within their block; if each block lies in one sample, whole blocks are exchanged.
    """
    n = len(labels)
    if blocks is None:
        return np.array([n]), np.arange(n)
    _, first, blocks, sizes = np.unique(blocks, return_index=True, return_inverse=True, return_counts=True)
    if (labels == labels[first][blocks]).all():
        return np.array([len(sizes)]), blocks
    return sizes, np.argsort(np.argsort(blocks, kind="stable"))


class Units(NamedTuple):
    """What is permuted: rows, or groups of rows.

    Attributes
    ----------
    used : int ndarray of shape (n_used,)
        The numbers of the rows to use, unit by unit.
    starts : int ndarray of shape (n_units,)
        Where each unit begins among them.
    labels : int ndarray of shape (n_units,)
        Which sample each unit is in; see `number_samples`.
    blocks : int ndarray
        How many consecutive units change samples among themselves.
    """

    used: Numbers
    starts: Numbers
    labels: Numbers
    blocks: Numbers

    @classmethod
    def of(
        cls,
        rows: Floats,
        labels: NDArray[Any],
        blocks: Numbers | None,
        rng: np.random.Generator,
        order: Numbers | None = None,
    ) -> "Units":
        """Make each row a unit, or, if there are many rows, put nearly all of them into random groups of one size.

        Only labels and chance decide what is in a group, so groups are as exchangeable as rows. The smaller sample sets
        their size; rows that do not fill a group are not used. The order of rows, columns or samples does not matter.
        """
        order = row_order(rows) if order is None else order
        if blocks is not None:
            is_paired = (np.bincount(blocks, labels) == 1).all() and (np.bincount(blocks) == 2).all()
            used = select_rows(rows, labels, rng, blocks if is_paired else None, order)
            numbers = number_samples(labels[used])
            sizes, unit = number_units(numbers, blocks[used])
            order = np.argsort(unit, kind="stable")
            starts = np.searchsorted(unit[order], np.arange(unit.max() + 1))
            return cls(used[order], starts, numbers[order][starts], sizes)
        most = _most_units(rows)
        samples = _split_rows(order, labels)
        size = max(1, len(samples[0]) // min(_OF_SMALLER, most // len(samples)))
        counts = _share_out(most, [len(each) // size for each in samples])
        if size > 1 or sum(counts) < len(order):
            samples = [rng.permutation(each)[: size * n] for each, n in zip(samples, counts, strict=True)]
        used = np.concatenate(samples)
        numbers = np.repeat(np.arange(len(samples)), counts)
        if size == 1:
            # Ordered by the rows only, not by their samples.
            place = np.argsort(np.argsort(order)[used])
            used, numbers = used[place], numbers[place]
        return cls(used, np.arange(0, len(used), size), numbers, np.array([len(numbers)]))

    @property
    def exchange(self) -> Exchange:
        """Which units may be in the smaller of two samples."""
        counts = np.add.reduceat(self.labels == 0, np.cumsum(self.blocks) - self.blocks, dtype=np.intp)
        return Exchange(tuple(self.blocks.tolist()), tuple(counts.tolist()))

    def draw_labels(self, n: int, rng: np.random.Generator) -> Numbers:
        """Draw permutations of the labels, of shape (n, n_units)."""
        parts = np.split(self.labels, np.cumsum(self.blocks)[:-1])
        return np.concatenate([rng.permuted(np.tile(np.sort(part), (n, 1)), axis=1) for part in parts], axis=1)

    @property
    def sizes(self) -> Numbers:
        """How many rows each unit has."""
        return np.diff(np.append(self.starts, len(self.used)))

    def some(self, most: int) -> tuple["Units", Numbers]:
        """Return the same units with only their first rows, at most `most` in all, and the places of these rows."""
        kept = np.minimum(self.sizes, max(1, most // len(self.starts))) if len(self.used) > most else self.sizes
        starts = np.cumsum(kept) - kept
        places = np.arange(kept.sum()) - np.repeat(starts - self.starts, kept)
        return self._replace(used=self.used[places], starts=starts), places

    def sum_rows(self, features: Floats) -> Floats:
        """Sum features of rows, the rows along the last axis, over each unit."""
        if len(self.starts) == len(self.used):
            return features
        size = len(self.used) // len(self.starts)
        if (self.sizes == size).all():
            return features.reshape(*features.shape[:-1], -1, size).sum(-1)
        return np.add.reduceat(features, self.starts, axis=-1)

    def count_rows(self, is_first: NDArray[np.bool_]) -> tuple[int, int]:
        """Count the rows of the first sample and of the second."""
        n_first = int(is_first[self.used].sum())
        return n_first, len(self.used) - n_first


def mark_smaller(is_first: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the smaller sample, or, if sizes are equal, the one with the first row, whichever is called the first."""
    more = 2 * int(is_first.sum()) - len(is_first)
    return is_first if more < 0 or (more == 0 and is_first[0]) else ~is_first


def two_sample_test(
    rows: Floats,
    is_first: NDArray[np.bool_],
    columns: Sequence[slice],
    n_permutations: int,
    rng: np.random.Generator,
    *,
    blocks: Numbers | None = None,
    levels: Mapping[int, Numbers] | None = None,
    terms: Mapping[int, csr_array] | None = None,
    order: Numbers | None = None,
    estimator: RatioEstimator | None = None,
    report: OnStep = lambda step, loss: None,
    shiftable: Sequence[int] = (),
) -> TwoSampleTest:
    """Test whether two samples come from one distribution.

    Every statistic is computed for the observed samples and for all permutations, and turned into a tail: the chance of
    a value as large under a Pearson type III distribution with the mean, variance and skewness of the other
    permutations. The weighted harmonic mean of the tails is ranked among the permutations. The observed samples and
    every permutation are treated in the same way, and everything else that the statistics use, such as units and kernel
    widths, depends only on all rows together; so the test is exact at any size.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Both samples.
    is_first : bool ndarray of shape (n,)
        Which rows are in the first sample.
    columns : sequence of slice
        Where the features of each column are.
    n_permutations : int
        How many to draw, at least 1; if there are no more, each is used once.
    rng : numpy Generator
    blocks : int ndarray of shape (n,), optional
        Blocks of rows, see `make_exchange`.
    levels : mapping of int to int ndarray of shape (n,), optional
        For each categorical column, by its number, the category number of each row; -1 if missing.
    terms : mapping of int to sparse array of shape (n, n_terms), optional
        For each column of text, by its number, which rows have which words and phrases.
    order : int ndarray of shape (n,), optional
        `row_order`, if it is known.
    estimator : RatioEstimator, optional
        Its divergence becomes one more statistic, which counts as much as all others together.
    report : callable
        Called with the number of finished permutations.
    shiftable : sequence of int
        The features whose `detectable_shift` to compute.
    """
    units = Units.of(rows, is_first, blocks, rng, order)
    in_kernels, _ = units.some(_MAX_KERNEL_ROWS)
    statistics = Statistics.of(rows, columns, levels or {}, terms or {}, units, rng)
    exchange, n_units = units.exchange, len(units.starts)
    unit_of = np.repeat(np.arange(n_units), in_kernels.sizes)
    is_enumerated = exchange.is_enumerated(n_permutations)
    every = exchange.enumerate_all() if is_enumerated else None
    total = exchange.count_used(n_permutations)
    # A user's estimator may be slow: use smaller blocks to show progress.
    most = BLOCK_VALUES if estimator is None else BLOCK_VALUES // 64
    step = max(1, most // max(n_units, statistics.n_features))
    found = Found()
    for start in range(0, total, step):
        n_block = min(step, total - start)
        members = exchange.draw(n_block, rng) if every is None else every[start : start + n_block]
        if start == 0:
            # The observed samples are treated like the others.
            members = np.concatenate([(units.labels == 0)[None], members])
        found.add(*statistics(members))
        if estimator is not None:
            found.values[-1]["estimator"] = _divergences(estimator, rows[in_kernels.used], members[:, unit_of])
        report(start + n_block, None)
    null, values, combined, any_column = found.combine(is_enumerated, statistics.level_columns)
    p_value, shift = float(rank_statistics(combined, is_enumerated)[0]), None
    if p_value > LEVEL >= exchange.smallest_p_value(n_permutations) and shiftable and estimator is None:
        shift = _find_shift(rows[:, shiftable], units, statistics, null, combined, rng)
        if shift is None:
            shift = _find_large_shift(rows, columns, shiftable, blocks, levels or {}, units, rng)
    return TwoSampleTest(
        statistic=float(combined[0]),
        null_distribution=combined[1:],
        is_enumerated=is_enumerated,
        p_value=p_value,
        p_values={name: float(rank_statistics(each, is_enumerated)[0]) for name, each in values.items()},
        smallest_p_value=exchange.smallest_p_value(n_permutations),
        column_p_values=rank_statistics(any_column, is_enumerated, found.observed),
        pairs=statistics.pairs,
        pair_p_values=rank_statistics(values["largest difference of a product"], is_enumerated, found.of_pairs),
        term_p_values=rank_statistics(np.concatenate(found.any_term), is_enumerated, found.of_terms),
        n_tested=units.count_rows(is_first),
        n_in_kernels=in_kernels.count_rows(is_first),
        detectable_shift=shift,
    )


class _Null(NamedTuple):
    """The statistics of the observed samples and of the permutations.

    Attributes
    ----------
    values : dict of str to ndarray of shape (1 + n_permutations,)
    levels : ndarray of shape (1 + n_permutations, n_categorical)
        Chi-square of each categorical column, and the largest difference of a word of each text.
    is_enumerated : bool
        Whether the observed samples are among the permutations, too.
    """

    values: dict[str, Floats]
    levels: Floats
    is_enumerated: bool

    def combine(self, values: dict[str, Floats], levels: Floats) -> tuple[Floats, dict[str, Floats], Floats]:
        """Return the tails of `levels`, the values with the statistic of all categories, and the combined statistic."""
        tails = np.empty((len(levels), 0))
        reference = self.values
        if levels.shape[1]:
            sides = [(own, null, self.is_enumerated) for own, null in zip(levels.T, self.levels.T, strict=True)]
            tails = np.stack([_tails(*each) for each in sides], axis=1)
            values = values | {"categories": np.log10((1 / tails).mean(1))}
            if levels is not self.levels:
                of_null = np.stack([_tails(null, null, self.is_enumerated) for _, null, _ in sides], axis=1)
                reference = reference | {"categories": np.log10((1 / of_null).mean(1))}
            else:
                reference = values
        weights = {name: WEIGHTS[name] for name in values if name in WEIGHTS}
        weights |= {name: sum(weights.values()) for name in values if name not in weights}
        total = sum(weights.values())
        sums = sum(
            weights[name] / total / _tails(each, reference[name], self.is_enumerated) for name, each in values.items()
        )
        return tails, values, np.log10(sums)


class Found:
    """The statistics of a division into two samples, the observed one first, then permuted ones, block by block."""

    def __init__(self) -> None:
        self.values = list[dict[str, Floats]]()
        self.any_column, self.levels, self.any_term = list[Floats](), list[Floats](), list[Floats]()
        self.observed, self.of_pairs, self.of_terms = np.empty(0), np.empty(0), np.empty(0)

    def add(
        self, values: dict[str, Floats], of_columns: Floats, of_levels: Floats, products: Floats, of_terms: Floats
    ) -> None:
        """Add what `Statistics` returns."""
        if not self.values:
            self.observed, self.of_pairs, self.of_terms = of_columns[0], products[0], of_terms[0]
        self.values.append(values)
        self.any_column.append(of_columns.max(1))
        self.levels.append(of_levels)
        self.any_term.append(of_terms.max(1, initial=0))

    def combine(self, is_enumerated: bool, level_columns: Numbers) -> tuple[_Null, dict[str, Floats], Floats, Floats]:
        """Return all statistics, those by name, their combination, and the largest difference of a column.

        `observed`, the observed difference of each column, then also counts categories.
        """
        values = {name: np.concatenate([each[name] for each in self.values]) for name in self.values[0]}
        null, any_column = _Null(values, np.concatenate(self.levels), is_enumerated), np.concatenate(self.any_column)
        tails, values, combined = null.combine(null.values, null.levels)
        if tails.shape[1]:
            # In deviations, like the other differences of columns.
            deviations = -ndtri(tails / 2)
            any_column = np.maximum(any_column, deviations.max(1))
            self.observed[level_columns] = np.maximum(self.observed[level_columns], deviations[0])
        return null, values, combined, any_column


def _find_shift(
    X: Floats, units: Units, statistics: "Statistics", null: _Null, combined: Floats, rng: np.random.Generator
) -> float | None:
    """Find the shift of one column that the test would find in four of five cases, in deviations of the column.

    The rows stay as they are, so that nothing has to be prepared again. Which of them are in the first sample is drawn:
    the logarithm of the odds grows with the value of a random column, as it does between two normal distributions with
    different means.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns)
        The columns that may shift.
    units, statistics, null, combined
        Of the test of the same rows.
    rng : numpy Generator

    Returns
    -------
    float or None
        None if samples that do not overlap in one column would be missed too often.
    """
    exchange, sizes = units.exchange, units.sizes
    values = units.sum_rows(_standardise(X[units.used].T))
    values = rng.choice([-1, 1], (_DRAWS, 1)) * values[rng.integers(len(values), size=_DRAWS)]
    noise, ends = rng.logistic(size=values.shape), np.cumsum(exchange.sizes)
    # Only differences within blocks decide who changes samples.
    tilt = _standardise_within(values, np.array(exchange.sizes))

    def draw(slope: float) -> tuple[float, float, float]:
        """Return the slope, how often a difference is found, and how far apart the means are."""
        odds = noise + slope * tilt
        members = np.zeros(odds.shape, dtype=np.bool_)
        for end, size, count in zip(ends, exchange.sizes, exchange.counts, strict=True):
            chosen = np.argsort(odds[:, end - size : end], axis=1)[:, size - count :]
            np.put_along_axis(members[:, end - size : end], chosen, True, axis=1)
        found, _, of_levels, *_ = statistics(members)
        p_values = rank_statistics(combined, null.is_enumerated, null.combine(found, of_levels)[2])
        first, second = ((side * values).sum(1) / (side @ sizes) for side in (members, ~members))
        return slope, float((p_values <= LEVEL).mean()), float((first - second).mean())

    share = float((units.labels == 0).mean())
    low, high = (0.0, LEVEL, 0.0), draw(3 / (len(sizes) * share * (1 - share)) ** 0.5)
    for _ in range(_DOUBLINGS):
        if high[1] < _POWER:
            low, high = high, draw(2 * high[0])
    if high[1] < _POWER:
        return None
    for _ in range(_HALVINGS):
        middle = draw((low[0] + high[0]) / 2)
        low, high = (middle, high) if middle[1] < _POWER else (low, middle)
    apart = float(np.interp(_POWER, (low[1], high[1]), (low[2], high[2])))
    # In deviations within samples, which are smaller than those of all rows.
    return apart / (1 - share * (1 - share) * apart**2) ** 0.5


def _find_large_shift(
    rows: Floats,
    columns: Sequence[slice],
    shiftable: Sequence[int],
    blocks: Numbers | None,
    levels: Mapping[int, Numbers],
    units: Units,
    rng: np.random.Generator,
) -> float:
    """Find what `_find_shift` cannot: a shift by more than the rows are apart, which a few rows may need.

    Samples are drawn from the rows, a column of one of them is shifted, and the whole test is made. The shift rises
    after each difference that is missed, and falls by a quarter of that after each that is found.
    """
    used = units.used
    unit = np.repeat(np.arange(len(units.starts)), units.sizes)
    deviations = rows[used].std(0)
    rest: dict[str, Any] = {"levels": {number: codes[used] for number, codes in levels.items()}}
    rest["blocks"] = None if blocks is None else blocks[used]
    log_shifts = [np.log(3)]
    for _ in range(_TESTS):
        marks, feature = units.exchange.draw(1, rng)[0][unit], rng.choice(shiftable)
        shifted = rows[used]
        shifted[marks, feature] += rng.choice([-1, 1]) * np.exp(log_shifts[-1]) * deviations[feature]
        is_found = two_sample_test(shifted, marks, columns, _PERMUTATIONS, rng, **rest).p_value <= LEVEL
        log_shifts.append(log_shifts[-1] + _STEP * (_POWER - is_found))
    return float(np.exp(np.mean(log_shifts[_TESTS // 4 :])))


def rank_statistics(statistics: Floats, is_enumerated: bool, observed: Floats | None = None) -> Floats:
    """Return, for each statistic, the share of permutations whose statistic is at least as large.

    Parameters
    ----------
    statistics : ndarray of shape (1 + n_permutations,)
        The observed one, and those of the permutations.
    is_enumerated : bool
        Whether the observed one is among the permutations; else it counts as one of them.
    observed : ndarray, optional
        What to rank instead of `statistics` themselves.
    """
    reference = np.sort(statistics[int(is_enumerated) :])
    # Rounding must not separate equal permutations.
    least = (statistics if observed is None else observed) - ROUNDING * np.abs(reference).max()
    return (len(reference) - np.searchsorted(reference, least)) / len(reference)


def _tails(statistic: Floats, null: Floats, is_enumerated: bool) -> Floats:
    """Return the chance of a value as large as each, under a Pearson type III distribution with the moments of `null`.

    The moments leave out the permutation and those equal to it, such as the one with the samples swapped: a far value
    would hide itself. A finite number of permutations cannot show a chance below the square of the rank.
    """
    ranks = rank_statistics(null, is_enumerated, statistic).clip(1 / len(null))
    reference = np.sort(null[int(is_enumerated) :])
    centre, unit = reference.mean(), reference.std()
    reach = ROUNDING * np.abs(reference).max()
    if unit <= reach:
        return np.ones(len(statistic))
    values, reference, reach = (statistic - centre) / unit, (reference - centre) / unit, reach / unit
    powers = reference[:, None] ** np.arange(4)
    sums = np.concatenate([np.zeros((1, 4)), powers.cumsum(0)])
    low, high = np.searchsorted(reference, values - reach), np.searchsorted(reference, values + reach, "right")
    others = sums[-1] - (sums[high] - sums[low])
    n_others, first, second, third = (others / np.maximum(others[:, :1], 1)).T
    n_others = others[:, 0]
    variance = (second - first**2).clip(ROUNDING**2)
    skewness = (third - 3 * first * second + 2 * first**3) / variance**1.5
    tails = _pearson_tail((values - first) / np.sqrt(variance), skewness)
    return np.where(n_others > 0, tails.clip(ranks**2, 1), 1.0)


def _pearson_tail(values: Floats, skewness: Floats) -> Floats:
    """Return the upper tail of the Pearson type III distribution with mean 0, variance 1 and this skewness."""
    root = 2 / np.where(np.abs(skewness) < 1e-3, 1e-3, np.abs(skewness))
    gamma = (root * np.where(skewness < 0, root - values, root + values)).clip(0)
    tail = np.where(skewness < 0, gammainc(root**2, gamma), gammaincc(root**2, gamma))
    return np.where(np.abs(skewness) < 1e-3, ndtr(-values), tail)


def _divergences(estimator: RatioEstimator, rows: Floats, members: NDArray[np.bool_]) -> Floats:
    """Return an estimator's divergence, averaged over both directions, for each row of memberships."""
    sizes, found = members.sum(1), np.empty(len(members))
    for size in np.unique(sizes):
        which = sizes == size
        dealt = [np.nonzero(mask)[1].reshape(len(mask), -1) for mask in (members[which], ~members[which])]
        found[which] = compute_divergences(estimator, rows, *dealt).mean(0)
    return found


@dataclass(frozen=True)
class Statistics:
    """Sums of features over units, all that the statistics need: permuting is then a matrix product.

    Attributes
    ----------
    sizes, kernel_sizes : ndarray of shape (n_units, 1)
        How many rows of each unit are used for means, and for kernels.
    energy : ndarray of shape (n_units, n_centres)
        Sums of features whose inner products are |x| + |y| - |x - y| (city-block distances).
    norms : ndarray of shape (n_units, 1)
        Sums of their squared lengths.
    ratio : ndarray of shape (n_units, n_centres)
        Sums of Gaussian kernel features, whitened up to the regulariser: the squared difference of their means is the
        divergence of a least-squares ratio at alpha = 0.5 between samples of one size.
    clipped : ndarray of shape (n_units, d)
        Sums of the values, standardised; far ones are clipped.
    white : ndarray of shape (n_units, at most d)
        The same, whitened up to a regulariser: the squared difference of their means is what the best linear function
        of the columns explains.
    marginal, shape : ndarray of shape (n_units, 3 * d) and (n_units, 2 * d)
        Sums, for each feature, of its values, their normal scores and the squares of those, standardised; and of the
        third and fourth Legendre polynomials of its ranks.
    products : ndarray of shape (n_units, n_pairs)
        Sums of the products of two features' clipped normal scores, standardised.
    pairs : int ndarray of shape (n_pairs, 2)
        The numbers of these two features.
    levels : sparse array of shape (n_levels, n_units)
        How often each category of a column occurs.
    level_starts, level_columns : int ndarray
        Where the categories of a column start; and which columns have categories, and after these which have terms.
    terms : sparse array of shape (n_terms, n_units)
        How many rows have each word or phrase of a column of text.
    term_starts : int ndarray
        Where the terms of a column start.
    starts : int ndarray of shape (n_columns,)
        Where the marginal features of each column start.
    """

    sizes: Floats
    kernel_sizes: Floats
    energy: Floats
    norms: Floats
    ratio: Floats
    clipped: Floats
    white: Floats
    marginal: Floats
    shape: Floats
    products: Floats
    pairs: Numbers
    levels: csr_array
    level_starts: Numbers
    level_columns: Numbers
    terms: csr_array
    term_starts: Numbers
    starts: Numbers

    @classmethod
    def of(
        cls,
        rows: Floats,
        columns: Sequence[slice],
        levels: Mapping[int, Numbers],
        terms: Mapping[int, csr_array],
        units: Units,
        rng: np.random.Generator,
    ) -> "Statistics":
        """Compute the features of rows, and sum them over units; see `two_sample_test`."""
        in_kernels, kept = units.some(_MAX_KERNEL_ROWS)
        energy, ratio = _kernel_features(standardise(rows[in_kernels.used], columns), rng)
        n, d, n_units = len(units.used), rows.shape[1], len(units.starts)
        clipped, marginal, shape = np.empty((d, n_units)), np.empty((d, 3, n_units)), np.empty((d, 2, n_units))
        scores = np.empty((d, n))
        # Features in rows, so that sums of units are sums of neighbours.
        for block in row_blocks(len(columns), 6 * n * max(place.stop - place.start for place in columns)):
            places = columns[block]
            place = slice(places[0].start, places[-1].stop)
            part = rows[:, place][units.used]
            clipped[place] = units.sum_rows(
                standardise(
                    clip_far(part, _FAR, np.median(part, axis=0)),
                    [slice(each.start - place.start, each.stop - place.start) for each in places],
                ).T
            )
            part = np.ascontiguousarray(part.T)
            ranks, normal = (np.stack(each) for each in zip(*(_rank(row, kept) for row in part), strict=True))
            features = _standardise(np.stack([part, normal, normal**2], axis=1))
            marginal[place] = units.sum_rows(features)
            x = 2 * ranks - 1
            square = x * x
            features = _standardise(np.stack([(5 * square - 3) * x, (35 * square - 30) * square], axis=1))
            # A column of two values has the same difference under any function.
            low, high = part.min(1, keepdims=True), part.max(1, keepdims=True)
            has_two = ((part == low) | (part == high)).all(1)
            shape[place] = np.where(has_two[:, None, None], 0, units.sum_rows(features))
            scores[place] = _standardise(normal.clip(-_FAR, _FAR))
        products, pairs = _sum_products(scores, columns, units)
        counts, level_starts, level_columns = _count_levels(levels, columns, rows, units)
        terms = {number: each for number, each in terms.items() if each.shape[1]}
        of_unit = csr_array(
            (np.ones(n), (np.repeat(np.arange(n_units), units.sizes), units.used)), (n_units, len(rows))
        )
        if n_units < n or len(units.blocks) > 1:
            sizes, n_rows = units.blocks, n / n_units
            clipped, marginal, shape, products = (
                n_rows**0.5 * _standardise_within(each, sizes) for each in (clipped, marginal, shape, products)
            )
            # A column of many categories counts as one.
            widths = [place.stop - place.start for place in columns]
            clipped /= np.sqrt(np.repeat(widths, widths))[:, None]
        return cls(
            sizes=units.sizes[:, None].astype(np.float64),
            kernel_sizes=in_kernels.sizes[:, None].astype(np.float64),
            energy=in_kernels.sum_rows(energy.T).T,
            norms=in_kernels.sum_rows((energy**2).sum(1)[None]).T,
            ratio=in_kernels.sum_rows(ratio.T).T,
            clipped=clipped.T,
            white=_whiten(clipped.T, units.sizes),
            marginal=marginal.reshape(3 * d, -1).T,
            shape=shape.reshape(2 * d, -1).T,
            products=products.T,
            pairs=pairs,
            levels=counts,
            level_starts=level_starts,
            level_columns=np.append(level_columns, np.array(list(terms), dtype=np.intp)),
            terms=csr_array(hstack([of_unit @ each for each in terms.values()]).T)
            if terms
            else csr_array((0, n_units)),
            term_starts=np.cumsum([0, *(each.shape[1] for each in terms.values())])[:-1],
            starts=np.array([place.start for place in columns]),
        )

    @property
    def n_features(self) -> int:
        """The number of features that a permutation is multiplied with."""
        sums = self.energy, self.marginal, self.products, self.levels.T, self.terms.T
        return max(each.shape[1] for each in sums)

    def __call__(self, members: NDArray[np.bool_]) -> tuple[dict[str, Floats], Floats, Floats, Floats, Floats]:
        """Return the statistics by name, and differences: of columns, of categories, of products and of all terms.

        Those of categories are chi-square of each categorical column, and the largest of the terms of each text.

        Parameters
        ----------
        members : bool ndarray of shape (n_permutations, n_units)
            Which units are in the first sample.
        """
        first = members.astype(np.float64)

        def sums(features: Floats) -> tuple[Floats, Floats]:
            of_first = first @ features
            return of_first, features.sum(0) - of_first

        (n_first, n_second), (k_first, k_second) = sums(self.sizes), sums(self.kernel_sizes)
        n = n_first + n_second
        # Times this, the difference of the means of a standardised feature has unit variance.
        unit = np.sqrt(n_first * n_second / n)

        def difference(
            features: Floats, counts: tuple[Floats, Floats] = (n_first, n_second), found: Any = None
        ) -> Floats:
            """Return the sizes of differences of means; 0 if only rounding, as between pairs of equal rows."""
            of_first, of_second = sums(features) if found is None else found
            apart = np.abs(of_first / counts[0] - of_second / counts[1])
            return real_deviation(np.abs(features).sum(0) / (counts[0] + counts[1])[0], apart)

        energy, norms = sums(self.energy), sums(self.norms)
        # The mean city-block distance within each sample; a single row has none.
        within = [
            (k * norm - (total**2).sum(1, keepdims=True)) / np.maximum(k * (k - 1), 1)
            for k, norm, total in zip((k_first, k_second), norms, energy, strict=True)
        ]
        single = (k_first < 2) | (k_second < 2)
        # If all rows of a sample are equal, only rounding would remain, and differ between equal permutations.
        scale = self.norms.sum() / self.kernel_sizes.sum()
        least = ROUNDING * scale + np.finfo(np.float64).tiny
        single |= np.abs(within[0] - within[1]) <= COMPUTED * scale
        spread = np.where(single, 0, np.abs(np.log(within[0].clip(least) / within[1].clip(least))))
        marginal, shape = unit * difference(self.marginal), unit * difference(self.shape)
        largest = np.maximum.reduceat(marginal, 3 * self.starts, axis=1)
        products = unit * difference(self.products)
        values = {
            "energy distance": (difference(self.energy, (k_first, k_second), energy) ** 2).sum(1),
            "difference of means": (difference(self.clipped) ** 2).sum(1),
            "density ratio": (difference(self.ratio, (k_first, k_second)) ** 2).sum(1),
            "largest difference of a column": largest.max(1),
            "spread": spread[:, 0],
            "linear discriminant": (difference(self.white) ** 2).sum(1),
            "largest difference of a product": products.max(1, initial=0),
            "difference of products": (products**2).sum(1),
            "shape": shape.max(1),
        }
        chi_square = np.empty((len(first), len(self.level_starts)))
        if len(self.level_starts):
            counted = (self.levels @ first.T).T
            totals = np.asarray(self.levels.sum(1))
            terms = (counted - totals * n_first / n) ** 2 / totals
            chi_square = np.add.reduceat(terms, self.level_starts, axis=1)
        largest = np.maximum(largest, np.maximum.reduceat(shape, 2 * self.starts, axis=1))
        totals = np.asarray(self.terms.sum(1))
        # As if rows were permuted. One is added: where hardly any row is expected, a single one is no surprise.
        variances = 1 + totals * (1 - totals / n) * n_first * n_second / n**2
        of_terms = np.abs((self.terms @ first.T).T - totals * n_first / n) / np.sqrt(variances)
        if len(self.term_starts):
            chi_square = np.hstack([chi_square, np.maximum.reduceat(of_terms, self.term_starts, axis=1)])
        return values, largest, chi_square, products, of_terms


def _standardise(features: Floats) -> Floats:
    """Scale features, along the last axis, to mean 0 and variance 1; constant ones to 0."""
    mean = features.mean(-1, keepdims=True)
    return (features - mean) * _invert(real_deviation(mean, features.std(-1, keepdims=True)))


def _standardise_within(features: Floats, sizes: Numbers) -> Floats:
    """Scale features, along the last axis, to mean 0 in each block and variance 1; constant ones to 0.

    If units change samples within blocks, only differences within blocks vary between permutations. The rows of a group
    come from one sample: if a column separates the samples, sums over groups vary far more than over as many rows.

    Parameters
    ----------
    features : ndarray of shape (..., n)
    sizes : int ndarray of shape (n_blocks,)
        How many consecutive rows make each block.
    """
    means = np.add.reduceat(features, np.cumsum(sizes) - sizes, axis=-1) / sizes
    centred = features - np.repeat(means, sizes, axis=-1)
    return centred * _invert(real_deviation(np.abs(features).max(-1, keepdims=True), centred.std(-1, keepdims=True)))


def _invert(deviations: Floats) -> Floats:
    """Return 1 / x, and 0 where x is 0."""
    return np.where(deviations > 0, 1 / np.where(deviations > 0, deviations, 1), 0)


def _rank(values: Floats, kept: Numbers) -> tuple[Floats, Floats]:
    """Return the ranks of values, between 0 and 1, and their normal scores; interpolated if there are many."""
    n = len(values)
    ranks = (rank_values(values) - 0.5) / n if len(kept) == n else np.interp(values, *rank_knots(values[kept]))
    return ranks, ndtri(ranks)


def _kernel_features(rows: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the features of the energy distance and of the ratio; see `Statistics`."""
    n = len(rows)
    chosen = rng.choice(n, _MAX_CENTRES, replace=False) if n > _MAX_CENTRES else np.arange(n)
    centres = rows[chosen]
    norms = np.abs(rows).sum(1)
    energy = _factor(norms[:, None] + norms[chosen] - cdist(rows, centres, "cityblock"), chosen)
    width = _WIDTH * 2**0.5 * float(median_width(pdist(centres)))
    kernel = _factor(gaussian_kernel(rows, centres, width), chosen)
    kernel -= kernel.mean(0)
    covariance = kernel.T @ kernel / n + _REG * np.eye(kernel.shape[1])
    return energy, solve_triangular(np.linalg.cholesky(covariance), kernel.T, lower=True).T


def _whiten(sums: Floats, sizes: Numbers) -> Floats:
    """Make the sums of features over units uncorrelated, up to a regulariser that grows with the number of features."""
    centred = sums - sizes[:, None] * (sums.sum(0) / sizes.sum())
    deviations = real_deviation(np.abs(sums).max(0), centred.std(0))
    varies = deviations > 0
    left, values, _ = np.linalg.svd(centred[:, varies] / deviations[varies], full_matrices=False)
    return left * (values / np.sqrt(values**2 / len(sums) + _RIDGE * int(varies.sum()) / len(sums)))


def _sum_products(scores: Floats, columns: Sequence[slice], units: Units) -> tuple[Floats, Numbers]:
    """Sum the standardised products of pairs of features, of different columns, over units.

    If there are many pairs, those whose products vary most are used: if two features are independent over all rows,
    their relation cannot have changed.

    Parameters
    ----------
    scores : ndarray of shape (d, n)
    columns : sequence of slice
    units : Units

    Returns
    -------
    sums : ndarray of shape (n_pairs, n_units)
    pairs : int ndarray of shape (n_pairs, 2)
        The numbers of the features.
    """
    d, n = scores.shape
    column = np.repeat(np.arange(len(columns)), [place.stop - place.start for place in columns])
    squares = scores**2
    mean_squares = np.where(column[:, None] < column, squares @ squares.T / n, -1)
    del squares
    n_pairs = int((mean_squares >= 0).sum())
    least = np.partition(mean_squares, -_MAX_PAIRS, axis=None)[-_MAX_PAIRS] if n_pairs > _MAX_PAIRS else 0
    first, second = np.nonzero(mean_squares >= least)
    means = (scores @ scores.T / n)[first, second]
    variances = mean_squares[first, second] - means**2
    sums = np.empty((len(first), len(units.starts)))
    size = n // len(units.starts)
    if (units.sizes == size).all() and size > d:
        # Fewer operations than row by row.
        for block in row_blocks(len(units.starts), size * d):
            part = scores[:, block.start * size : block.stop * size].reshape(d, -1, size).transpose(1, 0, 2)
            sums[:, block] = (part @ part.transpose(0, 2, 1))[:, first, second].T
    else:
        for block in row_blocks(len(first), 2 * n):
            sums[block] = units.sum_rows(scores[first[block]] * scores[second[block]])
    sums -= means[:, None] * units.sizes
    sums /= np.sqrt(np.where(variances > ROUNDING**2, variances, np.inf))[:, None]
    return sums, np.stack([first, second], axis=1)


def _count_levels(
    levels: Mapping[int, Numbers], columns: Sequence[slice], rows: Floats, units: Units
) -> tuple[csr_array, Numbers, Numbers]:
    """Count the categories of columns by unit; those that occur once carry no information."""
    unit = np.repeat(np.arange(len(units.starts)), units.sizes)
    counts, starts, numbers = [np.empty((0, 2), dtype=np.intp)], [], []
    n_levels = 0
    for number in range(len(columns)):
        if number in levels:
            codes = levels[number][units.used]
        elif columns[number].stop - columns[number].start < 2:
            continue
        else:
            features = rows[:, columns[number]][units.used]
            if not (((features == 0) | (features == 1)).all() and (features.sum(1) <= 1).all()):
                continue
            codes = np.where(features.any(1), features.argmax(1), -1)
        _, codes, totals = np.unique(codes, return_inverse=True, return_counts=True)
        is_kept = totals > 1
        if is_kept.sum() < 2:
            continue
        place = np.cumsum(is_kept) - 1 + n_levels
        some = is_kept[codes]
        counts.append(np.stack([place[codes[some]], unit[some]], axis=1))
        starts.append(n_levels)
        numbers.append(number)
        n_levels += int(is_kept.sum())
    pairs = np.concatenate(counts)
    data = np.ones(len(pairs))
    counted = csr_array((data, (pairs[:, 0], pairs[:, 1])), shape=(n_levels, len(units.starts)))
    return counted, np.array(starts, dtype=np.intp), np.array(numbers, dtype=np.intp)


def _factor(kernel: Floats, chosen: Numbers) -> Floats:
    """Return features whose inner products are a kernel, or approximate it, from its values at some rows.

    Parameters
    ----------
    kernel : ndarray of shape (n, n_centres)
        Kernel between all rows and the chosen ones.
    chosen : int ndarray of shape (n_centres,)
    """
    among = kernel[chosen]
    jitter = 1e-10 * max(float(np.trace(among)), 1e-300)
    lower = np.linalg.cholesky(among + jitter * np.eye(len(chosen)))
    return solve_triangular(lower, kernel.T, lower=True).T
