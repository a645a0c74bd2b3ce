"""Permutations of rows between samples, and the divergences of many pairs of samples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats, Numbers
from fewratio.core.threads import one_thread
from fewratio.estimators.base import RatioEstimator

# Statistics that differ by less count as equal, so that rounding does not separate equal permutations. Learned models
# compute in single precision, which is about as accurate.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Exchange:
    """Blocks of units (rows, or blocks of rows) whose labels are permuted within each block.

    Attributes
    ----------
    sizes : sequence of int
        Number of units in each block.
    counts : sequence of int
        Number of units of each block in one of the two samples, the same sample for all blocks.
    """

    sizes: Sequence[int]
    counts: Sequence[int]

    @property
    def n_permutations(self) -> int:
        """Number of different permutations."""
        return math.prod(map(math.comb, self.sizes, self.counts))

    def is_enumerated(self, n_permutations: int) -> bool:
        """Return whether to enumerate all permutations because there are no more than `n_permutations`."""
        # Check a lower bound first: counting the permutations of a million rows takes a minute.
        most = n_permutations + 1
        if any(size > most and 0 < count < size for size, count in zip(self.sizes, self.counts, strict=True)):
            return False
        return self.n_permutations <= most

    def count_used(self, n_permutations: int) -> int:
        """Return how many permutations the test uses if `n_permutations` are requested."""
        return self.n_permutations if self.is_enumerated(n_permutations) else n_permutations

    def smallest_p_value(self, n_permutations: int) -> float:
        """Return the smallest p-value that the test can reach."""
        if not self.is_enumerated(n_permutations):
            return 1 / (1 + n_permutations)
        # Swapping samples of equal size does not change the statistic.
        alike = 2 if all(size == 2 * count for size, count in zip(self.sizes, self.counts, strict=True)) else 1
        return min(1.0, alike / self.n_permutations)

    def enumerate_all(self) -> NDArray[np.bool_]:
        """Return all permutations as masks of the counted sample, of shape (n_permutations, n_units)."""
        blocks = []
        for size, count in zip(self.sizes, self.counts, strict=True):
            places = np.array(list(combinations(range(size), count)), dtype=np.intp)
            blocks.append(np.zeros((len(places), size), dtype=np.bool_))
            blocks[-1][np.arange(len(places))[:, None], places] = True
        return np.array([np.concatenate(parts) for parts in product(*blocks)])

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw permutations, of shape (n, n_units)."""
        blocks = zip(self.sizes, self.counts, strict=True)
        return np.concatenate([rng.permuted(np.tile(np.arange(s) < k, (n, 1)), axis=1) for s, k in blocks], axis=1)


def compute_divergences(estimator: RatioEstimator, rows: Floats, first: Numbers, second: Numbers) -> Floats:
    """Return the divergences of pairs of samples in both directions, of shape (2, n_pairs).

    Parameters
    ----------
    estimator : RatioEstimator
        The estimator, seeded if it is random.
    rows : ndarray of shape (n, d)
        All rows, already validated.
    first, second : int arrays of shape (n_pairs, n_first) and (n_pairs, n_second)
        Row numbers of both samples of each pair.
    """
    # For thousands of small systems, one thread is faster than several that wait for each other.
    with one_thread():
        return estimator._both_divergences(rows, first, second)
