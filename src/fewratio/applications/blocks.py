"""All pairs of datasets, cut into blocks of pairs of the same two sizes."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.applications.permutation import permute_pairs
from fewratio.estimators.base import RatioEstimator

# Rows of one side of a block: as many as an estimator with a kernel can hold all distances of. And their values: 8 MB.
_SIDE_ROWS = 2**9
_SIDE_VALUES = 2**20
# Row numbers of the arrangements that are dealt at a time: 16 MB.
_ARRANGED_NUMBERS = 2**21


class Block(NamedTuple):
    """Numbers of the datasets on either side, all of one size a side; the same ones, or no common one."""

    first: tuple[int, ...]
    second: tuple[int, ...]

    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Give the numbers of the datasets of each unordered pair."""
        a, b = self.places()
        return np.array(self.first)[a], np.array(self.second)[b]

    def places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Give the pairs as places on either side."""
        if self.first == self.second:
            a, b = np.triu_indices(len(self.first), 1)
            return a, b
        a, b = np.indices((len(self.first), len(self.second))).reshape(2, -1)
        return a, b


@dataclass(frozen=True)
class Blocks:
    """The blocks of all pairs of these sides, in an order that depends on nothing else."""

    sides: Sequence[tuple[int, ...]]

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.sides) * (len(self.sides) + 1) // 2

    def __iter__(self) -> Iterator[Block]:
        return (Block(first, second) for k, first in enumerate(self.sides) for second in self.sides[k:])


def blocks(sizes: Sequence[int], n_features: int, n_permutations: int) -> Blocks:
    """Cut the pairs of datasets into blocks.

    Parameters
    ----------
    sizes : sequence of int
        Number of rows of each dataset.
    n_features : int
    n_permutations : int
        With permutations a block has fewer pairs, so that it does not take too long.
    """
    of_size: dict[int, list[int]] = defaultdict(list)
    for number, size in enumerate(sizes):
        of_size[size].append(number)
    sides: list[tuple[int, ...]] = []
    for size, numbers in sorted(of_size.items()):
        most = min(_SIDE_ROWS // size, _SIDE_VALUES // (size * n_features))
        step = max(1, int(most / (1 + n_permutations) ** 0.5))
        sides += [tuple(numbers[start : start + step]) for start in range(0, len(numbers), step)]
    return Blocks(sides)


def compare_block(
    estimator: RatioEstimator,
    first: NDArray[Any],
    second: NDArray[Any],
    block: Block,
    n_permutations: int,
    seed: int,
) -> NDArray[np.float64]:
    """Give forward and backward divergence, and the p-value if asked for, of each pair: shape (2 or 3, n_pairs).

    Parameters
    ----------
    estimator : RatioEstimator
    first, second : ndarray of shape (n_sets, n_rows, n_features)
        The datasets of either side.
    block : Block
        Which they are.
    n_permutations, seed : int
        What is drawn for a pair depends on the seed and on the numbers of its datasets only.
    """
    same = block.first == block.second
    n_features = first.shape[2]
    sides = [first] if same else [first, second]
    rows = np.concatenate([side.reshape(-1, n_features) for side in sides]).astype(np.float64)
    of_first = np.arange(first.shape[0] * first.shape[1]).reshape(first.shape[:2])
    of_second = (
        of_first if same else of_first.size + np.arange(second.shape[0] * second.shape[1]).reshape(second.shape[:2])
    )
    a, b = block.places()
    numbers = np.stack(block.pairs(), axis=1)
    n_pooled = first.shape[1] + second.shape[1]
    step = max(1, _ARRANGED_NUMBERS // (n_pooled * (1 + n_permutations)))
    parts = [np.empty((3 if n_permutations else 2, 0))]
    for start in range(0, len(a), step):
        some = slice(start, start + step)
        rngs = [np.random.default_rng([seed, *pair]) for pair in numbers[some].tolist()] if n_permutations else []
        found = permute_pairs(estimator, rows, of_first[a[some]], of_second[b[some]], n_permutations, rngs)
        parts.append(np.stack([found.forward, found.backward, *([found.p_values] if n_permutations else [])]))
    return np.concatenate(parts, axis=1)
