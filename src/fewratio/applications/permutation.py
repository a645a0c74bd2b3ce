"""The permutation test of a pair of samples, for one pair or for many at once."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fewratio.core.shapes import Floats, Numbers
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.randomness import row_order

# Row numbers in a block of permutations: 32 MB.
_BLOCK_NUMBERS = 2**22
# Statistics that differ by less are the same one: equal permutations must not be told apart by rounding. It is the
# precision of single precision, which learned models compute in.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """What was found for pairs of samples of the same two sizes.

    Attributes
    ----------
    forward, backward : ndarray of shape (n_pairs,)
        Divergences of the first sample from the second, and of the second from the first.
    null : ndarray of shape (n_pairs, n_permutations)
        The statistic of the permutations: all of them if `exact`, the observed one among them, else drawn ones.
    exact : bool
        Whether all permutations were enumerated.
    """

    forward: Floats
    backward: Floats
    null: Floats
    exact: bool

    @property
    def statistic(self) -> Floats:
        """The mean of both directions: it does not matter which sample is called the first."""
        return (self.forward + self.backward) / 2

    @property
    def p_values(self) -> Floats:
        """The share of permutations whose statistic is at least the observed one; that counts as one of them."""
        observed = self.statistic[:, None]
        at_least = (self.null >= observed - ROUNDING * np.maximum(1, np.abs(observed))).sum(1)
        added = 0 if self.exact else 1
        return (at_least + added) / (self.null.shape[1] + added)


@dataclass(frozen=True)
class Exchange:
    """Blocks of units (rows, or groups of rows) that may change their samples within the block.

    Attributes
    ----------
    sizes : sequence of int
        Number of units of each block.
    counts : sequence of int
        How many of them are in one of the two samples, the same one for all blocks.
    """

    sizes: Sequence[int]
    counts: Sequence[int]

    @property
    def n_permutations(self) -> int:
        """How many permutations there are."""
        return math.prod(map(math.comb, self.sizes, self.counts))

    def is_enumerated(self, n_permutations: int) -> bool:
        """Tell whether all permutations are taken: they cost no more than drawn ones would."""
        return self.n_permutations <= n_permutations + 1

    def n_taken(self, n_permutations: int) -> int:
        """How many permutations the test takes, where so many are asked for."""
        return self.n_permutations if self.is_enumerated(n_permutations) else n_permutations

    def smallest_p_value(self, n_permutations: int) -> float:
        """Give the smallest p-value that the test can come to."""
        if not self.is_enumerated(n_permutations):
            return 1 / (1 + n_permutations)
        # Samples of one size can change their names without changing the statistic.
        alike = 2 if all(size == 2 * count for size, count in zip(self.sizes, self.counts, strict=True)) else 1
        return min(1.0, alike / self.n_permutations)

    def enumerated(self) -> NDArray[np.bool_]:
        """Give all permutations, of shape (n_permutations, n_units): which units are in that sample."""
        blocks = []
        for size, count in zip(self.sizes, self.counts, strict=True):
            places = np.array(list(combinations(range(size), count)), dtype=np.intp)
            blocks.append(np.zeros((len(places), size), dtype=np.bool_))
            blocks[-1][np.arange(len(places))[:, None], places] = True
        return np.array([np.concatenate(parts) for parts in product(*blocks)])

    def drawn(self, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw permutations, of shape (n, n_units)."""
        blocks = zip(self.sizes, self.counts, strict=True)
        return np.concatenate([rng.permuted(np.tile(np.arange(s) < k, (n, 1)), axis=1) for s, k in blocks], axis=1)


def permute_pairs(
    estimator: RatioEstimator,
    rows: Floats,
    first: Numbers,
    second: Numbers,
    n_permutations: int = 0,
    rngs: Sequence[np.random.Generator] = (),
) -> PermutationTest:
    """Give the divergences of pairs of samples, and the statistic after dealing each pair's rows anew.

    What is drawn follows `row_order`: neither the order of rows and columns, nor units, nor which sample is first has a
    say. Whatever the estimator chooses it chooses again for every permutation, so that the observed samples have no
    advantage.

    Parameters
    ----------
    estimator : RatioEstimator
        Seeded, if it draws anything.
    rows : ndarray of shape (n, d)
        The table, valid.
    first, second : int arrays of shape (n_pairs, n_first) and (n_pairs, n_second)
        Which rows make the samples; the pairs are permuted apart.
    n_permutations : int
        How many permutations to draw; all are taken instead if there are no more than that. 0 for none.
    rngs : sequence of numpy Generator
        One for each pair, if there is something to draw.
    """
    sizes = first.shape[1], second.shape[1]
    small, pooled = int(np.argmin(sizes)), np.concatenate([first, second], axis=1)
    if n_permutations:
        pooled = np.stack([numbers[row_order(rows[numbers])] for numbers in pooled])
    found = []
    samples = [first[:, None], second[:, None]]
    for members in _permutations(len(first), min(sizes), max(sizes), n_permutations, rngs):
        numbers = np.broadcast_to(pooled[:, None], members.shape)
        masks = (members, ~members) if small == 0 else (~members, members)
        dealt = (numbers[mask].reshape(*members.shape[:2], size) for mask, size in zip(masks, sizes, strict=True))
        # The observed samples are in the first block, so that they are computed as the others are.
        samples = [np.concatenate([kept, new], 1) for kept, new in zip(samples, dealt, strict=True)]
        found.append(both_directions(estimator, rows, *samples))
        samples = [sample[:, :0] for sample in samples]
    forward, backward = np.concatenate(found, axis=2)
    null = (forward[:, 1:] + backward[:, 1:]) / 2
    exact = Exchange((sum(sizes),), (min(sizes),)).is_enumerated(n_permutations)
    return PermutationTest(forward[:, 0], backward[:, 0], null, exact)


def _permutations(
    n_pairs: int, n_small: int, n_large: int, n_permutations: int, rngs: Sequence[np.random.Generator]
) -> Iterator[NDArray[np.bool_]]:
    """Yield blocks of shape (n_pairs, n_block, n): who is in the smaller sample. There is one block at least."""
    n, everyone = n_small + n_large, Exchange((n_small + n_large,), (n_small,))
    if everyone.is_enumerated(n_permutations) and n_permutations:
        members = everyone.enumerated()
        yield np.broadcast_to(members, (n_pairs, *members.shape))
        return
    step = max(1, _BLOCK_NUMBERS // n)
    for start in range(0, max(1, n_permutations), step):
        n_block = min(step, n_permutations - start)
        drawn = [everyone.drawn(n_block, rng) for rng in rngs]
        yield np.array(drawn, dtype=np.bool_).reshape(n_pairs, n_block, n)


def both_directions(estimator: RatioEstimator, rows: Floats, first: Numbers, second: Numbers) -> Floats:
    """Give the divergences of shape (2, n_pairs, n_block): of the first samples from the second, and the reverse."""
    flat = [sample.reshape(-1, sample.shape[-1]) for sample in (first, second)]
    # Thousands of small systems: threads that wait for each other would take longer than one alone.
    with threadpool_limits(1, "blas"):
        if first.shape == second.shape:
            found = estimator._divergences(rows, np.concatenate(flat), np.concatenate(flat[::-1]))
        else:
            found = np.concatenate([estimator._divergences(rows, *flat), estimator._divergences(rows, *flat[::-1])])
    return found.reshape(2, *first.shape[:2])
