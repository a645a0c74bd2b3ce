"""The two-sample test: several statistics over the same permutations, combined into one exact p-value."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist, pdist
from scipy.special import ndtri
from scipy.stats import rankdata

from fewratio.core.arrays import real_deviation
from fewratio.core.blocks import BLOCK_VALUES
from fewratio.core.draws import row_order
from fewratio.core.kernels import gaussian_kernel, median_width
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import clip_far, standardise
from fewratio.estimators.base import RatioEstimator
from fewratio.progress import OnStep
from fewratio.testing.permutations import ROUNDING, Exchange, compute_divergences

# How much each statistic counts (docs/decisions/0009).
_COLUMNS = "largest difference of a column"
WEIGHTS = {"energy distance": 4.0, "difference of means": 5.0, "density ratio": 2.0, _COLUMNS: 3.0, "spread": 2.0}
# Where values are clipped of which means are taken: in robust deviations from the median.
_FAR = 2.5
# Rows that are tested with: no more than that, and no more than make so many values, but so many in any case.
_MAX_ROWS, _MAX_VALUES, _MIN_ROWS = 10_000, 2**23, 200
# Kernels of more rows than that are approximated from the kernels with so many of them (Nystrom).
_MAX_CENTRES = 500
# The ratio's kernel: its width in median distances, and its regulariser.
_WIDTH, _REG = 0.5, 0.01
# Columns among which the joint difference is divided: the strongest.
_SHARED_AMONG = 200


@dataclass(frozen=True, eq=False)
class TwoSampleTest:
    """What the test found.

    Attributes
    ----------
    statistic : float
        Minus the decimal logarithm of the weighted harmonic mean of the statistics' own p-values.
    null_distribution : ndarray of shape (n_permutations,)
        The same of the permutations: all of them if `is_enumerated`, the observed one among them, else drawn ones.
    is_enumerated : bool
        Whether all permutations were enumerated.
    p_value : float
        The share of permutations whose statistic is at least the observed one; that counts as one of them.
    p_values : dict of str to float
        The p-value of each statistic by itself.
    smallest_p_value : float
        What the p-value would be if no other permutation came near the observed one.
    column_p_values : ndarray of shape (n_columns,)
        The share of permutations in which any column differs as much as this one does: adjusted for all columns.
    column_contributions : ndarray of shape (n_columns,)
        Each column's share of the joint difference (`_contributions`); zeros where not asked for.
    """

    statistic: float
    null_distribution: Floats
    is_enumerated: bool
    p_value: float
    p_values: dict[str, float]
    smallest_p_value: float
    column_p_values: Floats
    column_contributions: Floats


def select_rows(
    rows: Floats, is_first: NDArray[np.bool_], rng: np.random.Generator, pairs: Numbers | None = None
) -> Numbers:
    """Give the rows to test with: all of them, or where they are many a random part of either sample, or of the pairs.

    They come in an order that depends on the rows alone, and what is drawn too: neither the order of rows and columns,
    nor units, nor which sample is called the first has a say.
    """
    most = min(max(_MAX_VALUES // rows.shape[1], _MIN_ROWS), _MAX_ROWS)
    order = row_order(rows)
    if len(order) <= most:
        return order
    if pairs is not None:
        # In the order in which their first rows come.
        ordered = np.array(list(dict.fromkeys(pairs[order].tolist())))
        return order[np.isin(pairs[order], rng.choice(ordered, most // 2, replace=False))]
    samples = [order[is_first[order]], order[~is_first[order]]]
    samples.sort(key=lambda sample: (len(sample), sample[0] != order[0]))
    n_small = min(len(samples[0]), most // 2)
    drawn = [rng.choice(sample, n, replace=False) for sample, n in zip(samples, (n_small, most - n_small), strict=True)]
    return order[np.isin(order, np.concatenate(drawn))]


def mark_smaller(is_first: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the smaller sample, or of two equal ones that with the first row, no matter which is called the first."""
    more = 2 * int(is_first.sum()) - len(is_first)
    return is_first if more < 0 or (more == 0 and is_first[0]) else ~is_first


def make_exchange(is_first: NDArray[np.bool_], blocks: Numbers | None) -> tuple[Exchange, Numbers]:
    """Give the units that may change samples, and the number of each row's unit.

    Parameters
    ----------
    is_first : bool ndarray of shape (n,)
    blocks : int ndarray of shape (n,) or None
        The rows of a block change places among each other; where each block lies in one sample, whole blocks do.
    """
    n = len(is_first)
    if blocks is None:
        return Exchange((n,), (int(is_first.sum()),)), np.arange(n)
    _, blocks = np.unique(blocks, return_inverse=True)
    sizes = np.bincount(blocks)
    counts = np.bincount(blocks, weights=is_first).astype(np.intp)
    if ((counts == 0) | (counts == sizes)).all():
        return Exchange((len(sizes),), (int((counts > 0).sum()),)), blocks
    order = np.argsort(blocks, kind="stable")
    return Exchange(tuple(sizes.tolist()), tuple(counts.tolist())), np.argsort(order)


def two_sample_test(
    rows: Floats,
    is_first: NDArray[np.bool_],
    columns: Sequence[slice],
    n_permutations: int,
    rng: np.random.Generator,
    blocks: Numbers | None = None,
    estimator: RatioEstimator | None = None,
    report: OnStep = lambda step, loss: None,
    with_contributions: bool = True,
) -> TwoSampleTest:
    """Test whether two samples are of one distribution.

    Every statistic is computed for the observed samples and for all permutations. Its rank among them is its own
    p-value, of the observed samples and of every permutation alike; the weighted harmonic mean of these p-values is the
    statistic that is tested. Whatever else the statistics use, units and kernel widths, is a function of the rows
    together, so the test is exact at any size.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Both samples, in the order of `select_rows`.
    is_first : bool ndarray of shape (n,)
        Which rows are in the first one.
    columns : sequence of slice
        Where the features of each column are.
    n_permutations : int
        How many to draw, at least 1; where there are no more, each is taken once.
    rng : numpy Generator
    blocks : int ndarray of shape (n,), optional
        Blocks of rows, see `make_exchange`.
    estimator : RatioEstimator, optional
        Its divergence becomes one more statistic, which counts as much as all others together.
    report : callable
        Told how many permutations are done.
    with_contributions : bool
        Whether to give `column_contributions`: of few rows that takes longer than the test.
    """
    marked = mark_smaller(is_first)
    exchange, unit = make_exchange(marked, blocks)
    statistics = _Statistics.of(rows, columns, rng)
    weights = WEIGHTS | ({} if estimator is None else {"estimator": sum(WEIGHTS.values())})
    is_enumerated = exchange.is_enumerated(n_permutations)
    every = exchange.enumerate_all() if is_enumerated else None
    total = exchange.count_used(n_permutations)
    # A user's estimator may take long: smaller blocks, so that there is progress to see.
    most = BLOCK_VALUES if estimator is None else BLOCK_VALUES // 64
    step = max(1, most // max(len(rows), statistics.marginal.shape[1]))
    found, observed = [], np.empty(0)
    for start in range(0, total, step):
        n_block = min(step, total - start)
        members = (exchange.draw(n_block, rng) if every is None else every[start : start + n_block])[:, unit]
        if start == 0:
            # The observed samples are computed as the others are.
            members = np.concatenate([marked[None], members])
        values, of_columns = statistics(members)
        if estimator is not None:
            values = np.concatenate([values, _divergences(estimator, rows, members)[:, None]], axis=1)
        observed = of_columns[0] if start == 0 else observed
        found.append(values)
        report(start + n_block, None)
    values = np.concatenate(found)
    p_values = np.stack([_p_values(each, is_enumerated) for each in values.T], axis=1)
    shares = np.array(list(weights.values())) / sum(weights.values())
    combined = np.log10((shares / p_values).sum(1))
    largest = values[:, list(weights).index(_COLUMNS)]
    return TwoSampleTest(
        statistic=float(combined[0]),
        null_distribution=combined[1:],
        is_enumerated=is_enumerated,
        p_value=float(_p_values(combined, is_enumerated)[0]),
        p_values=dict(zip(weights, p_values[0].tolist(), strict=True)),
        smallest_p_value=exchange.smallest_p_value(n_permutations),
        column_p_values=_p_values(np.append(observed, largest), is_enumerated, len(observed))[: len(observed)],
        column_contributions=_contributions(statistics, marked, observed)
        if with_contributions
        else np.zeros(len(observed)),
    )


def _p_values(statistics: Floats, is_enumerated: bool, n_others: int = 0) -> Floats:
    """Give the share of permutations whose statistic is at least each one's.

    Parameters
    ----------
    statistics : ndarray of shape (n_others + 1 + n_permutations,)
        Others to be judged by the same permutations, the observed one, and those of the permutations.
    is_enumerated : bool
        Whether the observed one is among the permutations; else it counts as one of them.
    n_others : int
    """
    reference = np.sort(statistics[n_others + is_enumerated :])
    # Equal permutations must not be told apart by rounding.
    least = statistics - ROUNDING * np.abs(reference).max()
    return (len(reference) - np.searchsorted(reference, least)) / len(reference)


def _divergences(estimator: RatioEstimator, rows: Floats, members: NDArray[np.bool_]) -> Floats:
    """Give an estimator's divergence, the mean of both directions, for each row of memberships."""
    sizes, found = members.sum(1), np.empty(len(members))
    for size in np.unique(sizes):
        which = sizes == size
        dealt = [np.nonzero(mask)[1].reshape(len(mask), -1) for mask in (members[which], ~members[which])]
        found[which] = compute_divergences(estimator, rows, *dealt).mean(0)
    return found


@dataclass(frozen=True)
class _Statistics:
    """Features whose sums over a sample are all that the statistics need, so that permutations are a matrix product.

    Attributes
    ----------
    energy : ndarray of shape (n, n_centres)
        Their inner products are |x| + |y| - |x - y| (city-block distances).
    clipped : ndarray of shape (n, d)
        The values, standardised; far ones are clipped.
    ratio : ndarray of shape (n, n_centres)
        Gaussian kernel features, whitened up to the regulariser: the squared difference of their means is the
        divergence of a least-squares ratio at alpha = 0.5 between samples of one size.
    marginal : ndarray of shape (n, 3 * d)
        Of each feature its values, their normal scores and the squares of those, standardised.
    starts : int ndarray of shape (n_columns,)
        Where those of each column start.
    """

    energy: Floats
    clipped: Floats
    ratio: Floats
    marginal: Floats
    starts: Numbers

    @classmethod
    def of(cls, rows: Floats, columns: Sequence[slice], rng: np.random.Generator) -> "_Statistics":
        standard = standardise(rows, columns)
        n = len(rows)
        chosen = rng.choice(n, _MAX_CENTRES, replace=False) if n > _MAX_CENTRES else np.arange(n)
        centres = standard[chosen]
        norms = np.abs(standard).sum(1)
        energy = _factor(norms[:, None] + norms[chosen] - cdist(standard, centres, "cityblock"), chosen)
        width = _WIDTH * 2**0.5 * float(median_width(pdist(centres)))
        kernel = _factor(gaussian_kernel(standard, centres, width), chosen)
        kernel -= kernel.mean(0)
        covariance = kernel.T @ kernel / n + _REG * np.eye(kernel.shape[1])
        ratio = solve_triangular(np.linalg.cholesky(covariance), kernel.T, lower=True).T
        scores = ndtri((rankdata(rows, axis=0) - 0.5) / n)
        marginal = np.stack([rows, scores, scores**2], axis=2).reshape(n, -1)
        deviations = real_deviation(marginal.mean(0), marginal.std(0))
        marginal -= marginal.mean(0)
        marginal *= np.where(deviations > 0, 1 / np.where(deviations > 0, deviations, 1), 0)
        clipped = standardise(clip_far(rows, _FAR, np.median(rows, axis=0)), columns)
        return cls(energy, clipped, ratio, marginal, np.array([3 * place.start for place in columns]))

    def __call__(self, members: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Give the statistics, in the order of `WEIGHTS`, and the largest difference of each column.

        Parameters
        ----------
        members : bool ndarray of shape (n_permutations, n)
            Which rows are in the first sample.
        """
        first = members.astype(np.float64)
        n_first = first.sum(1)[:, None]
        n_second = len(self.energy) - n_first

        def sums(features: Floats) -> tuple[Floats, Floats]:
            of_first = first @ features
            return of_first, features.sum(0) - of_first

        def difference(features: Floats) -> Floats:
            of_first, of_second = sums(features)
            return of_first / n_first - of_second / n_second

        energy = sums(self.energy)
        squares = (self.energy**2).sum(1, keepdims=True)
        norms = sums(squares)
        # The mean city-block distance within either sample; of a single row there is none.
        within = [
            (n * norm - (total**2).sum(1, keepdims=True)) / np.maximum(n * (n - 1), 1)
            for n, norm, total in zip((n_first, n_second), norms, energy, strict=True)
        ]
        single = (n_first < 2) | (n_second < 2)
        # Where all rows of a sample are equal only rounding would be left, and differ between equal permutations.
        least = ROUNDING * squares.mean() + np.finfo(np.float64).tiny
        spread = np.where(single, 0, np.abs(np.log(within[0].clip(least) / within[1].clip(least))))
        apart = energy[0] / n_first - energy[1] / n_second
        marginal = np.abs(difference(self.marginal)) * np.sqrt(n_first * n_second)
        columns = np.maximum.reduceat(marginal, self.starts, axis=1)
        squared = [(apart**2).sum(1), *((difference(each) ** 2).sum(1) for each in (self.clipped, self.ratio))]
        return np.stack([*squared, columns.max(1), spread[:, 0]], axis=1), columns


def _contributions(statistics: _Statistics, is_first: NDArray[np.bool_], strength: Floats) -> Floats:
    """Divide the joint difference of two samples among the columns.

    The joint difference is the share of the samples' labels that a linear function of the marginal features explains,
    with a ridge penalty. It is divided by relative weights (Johnson 2000): the features are replaced by the
    uncorrelated ones nearest to them, and what each of these explains is given back in proportion to the squared
    correlations. So columns that tell the same thing share it, and one that only corrects others has a part in it too.

    Parameters
    ----------
    statistics : _Statistics
    is_first : bool ndarray of shape (n,)
    strength : ndarray of shape (n_columns,)
        How much each column differs: the joint difference is divided among the strongest.
    """
    n, n_features = statistics.marginal.shape
    ends = np.append(statistics.starts[1:], n_features)
    # A constant column is no part of it: the penalty goes by the number of features.
    varies = np.logical_or.reduceat(statistics.marginal.any(0), statistics.starts)
    n_shared = min(_SHARED_AMONG, int(varies.sum()))
    strongest = np.sort(np.argsort(np.where(varies, -strength, np.inf), kind="stable")[:n_shared])
    if not len(strongest):
        return np.zeros(len(strength))
    places = np.concatenate([np.arange(statistics.starts[i], ends[i]) for i in strongest])
    features = statistics.marginal[:, places]
    label = (is_first - is_first.mean()) / is_first.std()
    values, vectors = np.linalg.eigh(features.T @ features / n)
    roots = np.sqrt(values.clip(min=0))
    explained = (vectors * (roots / (roots**2 + max(0.01, len(places) / n)))) @ (vectors.T @ (features.T @ label / n))
    parts = ((vectors * roots) @ vectors.T) ** 2 @ explained**2
    shares = np.zeros(len(strength))
    shares[strongest] = np.add.reduceat(parts, np.searchsorted(places, statistics.starts[strongest]))
    return shares / max(float(shares.sum()), np.finfo(np.float64).tiny)


def _factor(kernel: Floats, chosen: Numbers) -> Floats:
    """Give features whose inner products are a kernel, or approximate it, from its values at some rows.

    Parameters
    ----------
    kernel : ndarray of shape (n, n_centres)
        Between all rows and the chosen ones.
    chosen : int ndarray of shape (n_centres,)
    """
    among = kernel[chosen]
    jitter = 1e-10 * max(float(np.trace(among)), 1e-300)
    lower = np.linalg.cholesky(among + jitter * np.eye(len(chosen)))
    return solve_triangular(lower, kernel.T, lower=True).T
