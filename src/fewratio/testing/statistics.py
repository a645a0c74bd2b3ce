"""The statistics of the two-sample test: sums of features over units, for many permutations at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array, hstack
from scipy.spatial.distance import cdist, pdist
from scipy.special import ndtri

from fewratio.core.arrays import COMPUTED, real_deviation
from fewratio.core.blocks import row_blocks
from fewratio.core.kernels import gaussian_kernel, median_width
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import clip_far, rank_knots, rank_values, standardise
from fewratio.testing.permutations import ROUNDING
from fewratio.testing.row_units import Units

# Values are clipped at this many robust deviations from the median before means are computed.
_FAR = 2.5
# The most rows for kernels, and the most centres to approximate kernels with (Nystrom).
MAX_KERNEL_ROWS, _MAX_CENTRES = 10_000, 500
# The ratio's kernel: its width in median distances, and its regulariser.
_WIDTH, _REG = 0.5, 0.01
# The regulariser of the discriminant if there are as many features as units.
_RIDGE = 0.05
# The most pairs of features whose products are compared: all pairs of 60 columns.
_MAX_PAIRS = 1_770


@dataclass(frozen=True)
class Statistics:
    """The two-sample statistics, computed from sums of features over units by matrix products.

    Attributes
    ----------
    sizes, kernel_sizes : ndarray of shape (n_units, 1)
        How many rows of each unit are used for means, and for kernels.
    energy : ndarray of shape (n_units, n_centres)
        Sums of features whose inner products are |x| + |y| - |x - y| (city-block distances).
    norms : ndarray of shape (n_units, 1)
        Sums of the squared lengths of these features.
    ratio : ndarray of shape (n_units, n_centres)
        Sums of Gaussian kernel features, whitened up to the regulariser: the squared difference of their means is the
        divergence of a least-squares ratio at alpha = 0.5 between samples of one size.
    clipped : ndarray of shape (n_units, d)
        Sums of the values, standardised and clipped.
    white : ndarray of shape (n_units, at most d)
        The clipped sums, whitened up to a regulariser: the squared difference of their means is what the best linear
        function of the columns explains.
    marginal, shape : ndarray of shape (n_units, 3 * d) and (n_units, 2 * d)
        Sums of the standardised values, normal scores and squared normal scores of each feature; and of the third and
        fourth Legendre polynomials of its ranks.
    products : ndarray of shape (n_units, n_pairs)
        Sums of the products of two features' clipped normal scores, standardised.
    pairs : int ndarray of shape (n_pairs, 2)
        The feature numbers of each pair.
    levels : sparse array of shape (n_levels, n_units)
        How often each category of a column occurs.
    level_starts, level_columns : int ndarray
        Where the categories of each column start; and the numbers of the columns with categories, then of those with
        terms.
    terms : sparse array of shape (n_terms, n_units)
        How many rows contain each word or phrase of a text column.
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
        in_kernels, kept = units.some(MAX_KERNEL_ROWS)
        energy, ratio = _kernel_features(standardise(rows[in_kernels.used], columns), rng)
        n, d, n_units = len(units.used), rows.shape[1], len(units.starts)
        clipped, marginal, shape = np.empty((d, n_units)), np.empty((d, 3, n_units)), np.empty((d, 2, n_units))
        scores = np.empty((d, n))
        # Features are stored in rows, so that the rows of a unit are contiguous.
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
            features = standardise_features(np.stack([part, normal, normal**2], axis=1))
            marginal[place] = units.sum_rows(features)
            x = 2 * ranks - 1
            square = x * x
            features = standardise_features(np.stack([(5 * square - 3) * x, (35 * square - 30) * square], axis=1))
            # For columns of two values, all functions give the same difference.
            low, high = part.min(1, keepdims=True), part.max(1, keepdims=True)
            has_two = ((part == low) | (part == high)).all(1)
            shape[place] = np.where(has_two[:, None, None], 0, units.sum_rows(features))
            scores[place] = standardise_features(normal.clip(-_FAR, _FAR))
        products, pairs = _sum_products(scores, columns, units)
        counts, level_starts, level_columns = _count_levels(levels, columns, rows, units)
        terms = {number: each for number, each in terms.items() if each.shape[1]}
        of_unit = csr_array(
            (np.ones(n), (np.repeat(np.arange(n_units), units.sizes), units.used)), (n_units, len(rows))
        )
        if n_units < n or len(units.blocks) > 1:
            sizes, n_rows = units.blocks, n / n_units
            clipped, marginal, shape, products = (
                n_rows**0.5 * standardise_within(each, sizes) for each in (clipped, marginal, shape, products)
            )
            # Weight columns equally, whatever their number of categories.
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
        """Number of features that each permutation is multiplied by."""
        sums = self.energy, self.marginal, self.products, self.levels.T, self.terms.T
        return max(each.shape[1] for each in sums)

    def __call__(self, members: NDArray[np.bool_]) -> tuple[dict[str, Floats], Floats, Floats, Floats, Floats]:
        """Return the statistics by name, and the differences of columns, of categories, of products and of terms.

        The differences of categories are chi-square of each categorical column, then the largest of each text column.

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
        # Multiplied by this, the difference of the means of a standardised feature has unit variance.
        unit = np.sqrt(n_first * n_second / n)

        def difference(
            features: Floats, counts: tuple[Floats, Floats] = (n_first, n_second), found: Any = None
        ) -> Floats:
            """Return absolute differences of means; 0 if they are rounding errors."""
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
        # If all rows of a sample are equal, only rounding errors would remain, which differ between equal permutations.
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
        # The variance if rows were permuted, plus one, so that one row is no surprise where hardly any is expected.
        variances = 1 + totals * (1 - totals / n) * n_first * n_second / n**2
        of_terms = np.abs((self.terms @ first.T).T - totals * n_first / n) / np.sqrt(variances)
        if len(self.term_starts):
            chi_square = np.hstack([chi_square, np.maximum.reduceat(of_terms, self.term_starts, axis=1)])
        return values, largest, chi_square, products, of_terms


def standardise_features(features: Floats) -> Floats:
    """Scale features, along the last axis, to mean 0 and variance 1; constant ones to 0."""
    mean = features.mean(-1, keepdims=True)
    return (features - mean) * _invert(real_deviation(mean, features.std(-1, keepdims=True)))


def standardise_within(features: Floats, sizes: Numbers) -> Floats:
    """Scale features, along the last axis, to mean 0 in each block and variance 1; constant ones to 0.

    If units are permuted within blocks, only differences within blocks vary between permutations. The rows of a group
    come from one sample, so if a column separates the samples, sums over groups vary far more than over random rows.

    Parameters
    ----------
    features : ndarray of shape (..., n)
    sizes : int ndarray of shape (n_blocks,)
        Number of consecutive rows in each block.
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
    their relation hardly differs between samples.

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
    """Count the categories of columns by unit; leave out those that occur once, which carry no information."""
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
    """Return features whose inner products equal or approximate a kernel, from its values at some rows.

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
