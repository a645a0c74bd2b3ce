"""The two-sample test, which combines several statistics into one exact p-value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammainc, gammaincc, ndtr, ndtri

from fewratio.core.blocks import BLOCK_VALUES
from fewratio.core.shapes import Floats, Numbers
from fewratio.estimators.base import RatioEstimator
from fewratio.progress import OnStep
from fewratio.testing import LEVEL
from fewratio.testing.permutations import ROUNDING, compute_divergences
from fewratio.testing.row_units import Units
from fewratio.testing.statistics import MAX_KERNEL_ROWS, Statistics, standardise_features, standardise_within

# Weights of the statistics (docs/decisions/0009), chosen on simulated pairs of the kinds in
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
# A detectable shift is found in this share of this many draws; how often its range is doubled and halved.
_POWER, _DRAWS, _DOUBLINGS, _HALVINGS = 0.8, 100, 4, 2
# With very few rows: the number of tests, permutations per test, and the change of the logarithm of the shift.
_TESTS, _PERMUTATIONS, _STEP = 12, 299, 0.4


@dataclass(frozen=True, eq=False)
class TwoSampleTest:
    """Result of `two_sample_test`.

    Attributes
    ----------
    statistic : float
        Minus the decimal logarithm of the weighted harmonic mean of the tail probabilities of the statistics.
    null_distribution : ndarray of shape (n_permutations,)
        The test statistic of the permutations: all of them, including the observed one, if `is_enumerated`, else
        random ones.
    is_enumerated : bool
        Whether all permutations were enumerated.
    p_value : float
        The share of permutations, including the observed one, with at least the observed test statistic.
    p_values : dict of str to float
        The p-value of each single statistic.
    smallest_p_value : float
        The smallest possible p-value.
    column_p_values : ndarray of shape (n_columns,)
        P-values of the columns, adjusted for all columns (`step_down`).
    pairs : int ndarray of shape (n_pairs, 2)
        The numbers of the features whose products were compared.
    pair_p_values : ndarray of shape (n_pairs,)
        The share of permutations in which any product differs as much as the product of these features.
    term_p_values : ndarray of shape (n_terms,)
        For each word and phrase, text column by text column, the share of permutations in which any word or phrase
        differs as much.
    n_tested, n_in_kernels : (int, int)
        Number of rows of each sample used for means, and for kernel statistics.
    detectable_shift : float or None
        If no difference was found, the shift of one column that the test finds in four cases out of five, in standard
        deviations (`_find_shift`).
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

    Each statistic is computed for the observed samples and all permutations, and turned into a tail probability: the
    chance of a value as large under a Pearson type III distribution with the mean, variance and skewness of the other
    permutations. The weighted harmonic mean of the tail probabilities is ranked among the permutations. Observed
    samples and permutations are treated in the same way, and everything else that the statistics use, such as units
    and kernel widths, depends only on all rows together; so the test is exact for any number of rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Both samples.
    is_first : bool ndarray of shape (n,)
        Which rows are in the first sample.
    columns : sequence of slice
        The features of each column.
    n_permutations : int
        Number of permutations, at least 1; if fewer exist, each is used once.
    rng : numpy Generator
    blocks : int ndarray of shape (n,), optional
        Blocks of rows, see `make_exchange`.
    levels : mapping of int to int ndarray of shape (n,), optional
        For each categorical column, by its number, the category number of each row; -1 if missing.
    terms : mapping of int to sparse array of shape (n, n_terms), optional
        For each text column, by its number, the words and phrases that each row contains.
    order : int ndarray of shape (n,), optional
        The result of `row_order`, if it is known.
    estimator : RatioEstimator, optional
        Its divergence becomes one more statistic, with as much weight as all others together.
    report : callable
        Called with the number of finished permutations.
    shiftable : sequence of int
        The features to use for `detectable_shift`.
    """
    units = Units.of(rows, is_first, blocks, rng, order)
    in_kernels, _ = units.some(MAX_KERNEL_ROWS)
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
            # Treat the observed samples like a permutation.
            members = np.concatenate([(units.labels == 0)[None], members])
        found.add(*statistics(members))
        if estimator is not None:
            found.values[-1]["estimator"] = _divergences(estimator, rows[in_kernels.used], members[:, unit_of])
        report(start + n_block, None)
    null, values, combined, of_columns = found.combine(is_enumerated, statistics.level_columns)
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
        column_p_values=step_down(of_columns, is_enumerated),
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
        Whether the permutations include the observed samples.
    """

    values: dict[str, Floats]
    levels: Floats
    is_enumerated: bool

    def combine(self, values: dict[str, Floats], levels: Floats) -> tuple[Floats, dict[str, Floats], Floats]:
        """Return the tails of `levels`, the values with the statistic of categories, and the combined statistic."""
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
    """The statistics of the observed samples, then of the permutations, collected in blocks."""

    def __init__(self) -> None:
        self.values = list[dict[str, Floats]]()
        self.of_columns, self.levels, self.any_term = list[Floats](), list[Floats](), list[Floats]()
        self.of_pairs, self.of_terms = np.empty(0), np.empty(0)

    def add(
        self, values: dict[str, Floats], of_columns: Floats, of_levels: Floats, products: Floats, of_terms: Floats
    ) -> None:
        """Add the return value of `Statistics`."""
        if not self.values:
            self.of_pairs, self.of_terms = products[0], of_terms[0]
        self.values.append(values)
        self.of_columns.append(of_columns)
        self.levels.append(of_levels)
        self.any_term.append(of_terms.max(1, initial=0))

    def combine(self, is_enumerated: bool, level_columns: Numbers) -> tuple[_Null, dict[str, Floats], Floats, Floats]:
        """Return the null object, the statistics by name, their combination, and the difference of each column."""
        values = {name: np.concatenate([each[name] for each in self.values]) for name in self.values[0]}
        null, of_columns = _Null(values, np.concatenate(self.levels), is_enumerated), np.concatenate(self.of_columns)
        tails, values, combined = null.combine(null.values, null.levels)
        # Convert to standard errors, like the other differences of columns.
        of_columns[:, level_columns] = np.maximum(of_columns[:, level_columns], -ndtri(tails / 2))
        return null, values, combined, of_columns


def _find_shift(
    X: Floats, units: Units, statistics: Statistics, null: _Null, combined: Floats, rng: np.random.Generator
) -> float | None:
    """Return the shift of one column that the test finds in four cases out of five, in standard deviations.

    The rows are kept, so that features need not be computed again. The first sample is drawn instead: the log odds of
    being in it grow linearly with the value of a random column, as for two normal distributions with different means.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns)
        The columns that may shift.
    units, statistics, null, combined
        Intermediate results of the test of the same rows.
    rng : numpy Generator

    Returns
    -------
    float or None
        None if even samples that do not overlap in one column would be missed too often.
    """
    exchange, sizes = units.exchange, units.sizes
    values = units.sum_rows(standardise_features(X[units.used].T))
    values = rng.choice([-1, 1], (_DRAWS, 1)) * values[rng.integers(len(values), size=_DRAWS)]
    noise, ends = rng.logistic(size=values.shape), np.cumsum(exchange.sizes)
    # Only differences within blocks decide which units are in the first sample.
    tilt = standardise_within(values, np.array(exchange.sizes))

    def draw(slope: float) -> tuple[float, float, float]:
        """Return the slope, the share of draws in which a difference is found, and the distance of the means."""
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
    # Convert to deviations within samples, which are smaller than those of all rows.
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
    """Find a shift beyond the range of the rows, which `_find_shift` cannot and which very few rows may need.

    Samples are drawn from the rows, a column of one sample is shifted, and the whole test is run. The shift rises after
    each difference that is missed, and falls by a quarter of that step after each that is found.
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
        The observed statistic, then those of the permutations.
    is_enumerated : bool
        Whether the permutations include the observed statistic; otherwise it is counted too.
    observed : ndarray, optional
        Values to rank instead of `statistics`.
    """
    reference = np.sort(statistics[int(is_enumerated) :])
    # Rounding must not separate equal permutations.
    least = (statistics if observed is None else observed) - ROUNDING * np.abs(reference).max()
    return (len(reference) - np.searchsorted(reference, least)) / len(reference)


def step_down(statistics: Floats, is_enumerated: bool) -> Floats:
    """Return step-down adjusted p-values of all statistics (Westfall and Young 1993).

    Each statistic is ranked among the maxima, over permutations, of itself and all smaller statistics. Its p-value is
    at least that of every larger statistic.

    Parameters
    ----------
    statistics : ndarray of shape (1 + n_permutations, n)
        The observed statistics, then those of the permutations.
    is_enumerated : bool
        As in `rank_statistics`.
    """
    order = np.argsort(statistics[0], kind="stable")
    largest = np.maximum.accumulate(statistics[:, order], axis=1).T
    p_values = [rank_statistics(each, is_enumerated, each[:1])[0] for each in largest]
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(p_values[::-1])[::-1]
    return adjusted


def _tails(statistic: Floats, null: Floats, is_enumerated: bool) -> Floats:
    """Return the chance of a value at least as large under a Pearson type III distribution with the moments of `null`.

    The moments leave out the permutation itself and its equals, such as the one with the samples swapped, since an
    extreme value would mask itself. A chance below the square of the rank is not used: so few permutations cannot show
    it.
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
