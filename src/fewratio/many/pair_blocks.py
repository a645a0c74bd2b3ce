"""Compare all pairs of datasets in blocks of pairs of equal sizes, and save progress to a file."""

import math
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, islice
from typing import NamedTuple

import joblib
import numpy as np

from fewratio.core.arguments import as_path
from fewratio.core.container import read_tensors, write_tensors
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.threads import one_thread
from fewratio.errors import ModelFileError
from fewratio.estimators.base import RatioEstimator
from fewratio.testing.permutations import compute_divergences
from fewratio.testing.two_sample import TwoSampleTest, two_sample_test

# The most rows on one side of a block, so that all distances of a kernel estimator fit into memory; and their values
# (8 MB).
_SIDE_ROWS = 2**9
_SIDE_VALUES = 2**20
# Arrays of at least this many bytes are written to a file that all processes of a machine map into memory.
_MAPPED = 2**14
_KIND = "checkpoint"


class Block(NamedTuple):
    """Dataset numbers on each side, of one size per side; both sides are the same or have no dataset in common."""

    first: tuple[int, ...]
    second: tuple[int, ...]

    def pairs(self) -> tuple[Numbers, Numbers]:
        """Return the dataset numbers of each unordered pair."""
        a, b = self.places()
        return np.array(self.first)[a], np.array(self.second)[b]

    def places(self) -> tuple[Numbers, Numbers]:
        """Return the pairs as positions on each side."""
        apart = np.ones((len(self.first), len(self.second)))
        a, b = np.nonzero(np.triu(apart, 1) if self.first == self.second else apart)
        return a, b


def cut_into_blocks(sizes: Sequence[int], n_features: int, n_permutations: int) -> list[Block]:
    """Cut the pairs of datasets into blocks, in an order that depends only on the arguments.

    Parameters
    ----------
    sizes : sequence of int
        Number of rows of each dataset.
    n_features : int
    n_permutations : int
        With permutations, blocks have fewer pairs, so that each is not too slow.
    """
    of_size: dict[int, list[int]] = defaultdict(list)
    for number, size in enumerate(sizes):
        of_size[size].append(number)
    sides: list[tuple[int, ...]] = []
    for size, numbers in sorted(of_size.items()):
        most = min(_SIDE_ROWS // size, _SIDE_VALUES // (size * n_features))
        step = max(1, int(most / (1 + n_permutations) ** 0.5))
        sides += [tuple(numbers[start : start + step]) for start in range(0, len(numbers), step)]
    return [Block(first, second) for first, second in combinations_with_replacement(sides, 2)]


class PairTest(NamedTuple):
    """The test of `compare_datasets`, for each pair.

    Attributes
    ----------
    columns : sequence of slice
        The features of each column.
    estimator : RatioEstimator or None
        The user's estimator, whose divergence is one more statistic.
    n_permutations, seed : int
        The permutations of a pair depend only on the seed and on the numbers of its datasets.
    """

    columns: Sequence[slice]
    estimator: RatioEstimator | None
    n_permutations: int
    seed: int

    def run(self, first: Floats, second: Floats, pair: Sequence[int]) -> TwoSampleTest:
        """Test the two datasets of a pair."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=pair))
        rows, is_first = np.concatenate([first, second]), np.repeat([True, False], [len(first), len(second)])
        return two_sample_test(rows, is_first, self.columns, self.n_permutations, rng, estimator=self.estimator)


class AllPairs(NamedTuple):
    """The settings shared by all blocks.

    Attributes
    ----------
    estimator : RatioEstimator
        The estimator, seeded if it is random.
    starts : int ndarray of shape (n_datasets + 1,)
        Where each dataset starts in the stacked rows, and where the last one ends.
    test : PairTest or None
    """

    estimator: RatioEstimator
    starts: Numbers
    test: PairTest | None

    def compare(self, rows: Floats, block: Block) -> Floats:
        """Return both divergences of each pair, and its p-value if there is a test, of shape (2 or 3, n_pairs)."""
        is_square = block.first == block.second
        sides = [self._numbers(side) for side in ([block.first] if is_square else block)]
        rows, numbers = rows[np.concatenate(sides, axis=None)], np.arange(sum(side.size for side in sides))
        of_first = numbers[: sides[0].size].reshape(sides[0].shape)
        of_second = numbers[-sides[-1].size :].reshape(sides[-1].shape)
        a, b = block.places()
        # Use one thread: several would wait for each other, and their number would change the last digits.
        with one_thread():
            found = compute_divergences(self.estimator, rows, of_first[a], of_second[b])
            if self.test is None:
                return found
            pairs = zip(rows[of_first[a]], rows[of_second[b]], np.stack(block.pairs(), axis=1).tolist(), strict=True)
            return np.stack([*found, [self.test.run(*pair).p_value for pair in pairs]])

    def _numbers(self, side: Sequence[int]) -> Numbers:
        """Return the row numbers of datasets of one size, of shape (n_datasets, size)."""
        starts = self.starts[list(side)]
        numbers: Numbers = starts[:, None] + np.arange(self.starts[side[0] + 1] - starts[0])
        return numbers


def compare_blocks(pairs: AllPairs, rows: Floats, blocks: Sequence[Block], n_jobs: int | None) -> Iterator[Floats]:
    """Yield ``pairs.compare(rows, block)`` for each block in order, computed by joblib's workers."""
    if joblib.effective_n_jobs(n_jobs) == 1:
        yield from (pairs.compare(rows, block) for block in blocks)
        return
    # The rows are a separate argument: joblib sends a large array to each worker only once.
    calls = (joblib.delayed(AllPairs.compare)(pairs, rows, block) for block in blocks)
    try:
        parallel = joblib.Parallel(n_jobs, return_as="generator", max_nbytes=_MAPPED)
    except ValueError:
        # Ray's backend cannot yield results one by one. Use large batches: all workers wait for the last one.
        with joblib.Parallel(n_jobs, max_nbytes=_MAPPED) as parallel:
            while some := list(islice(calls, 16 * joblib.effective_n_jobs(n_jobs))):
                yield from parallel(some)
    else:
        yield from parallel(calls)


class Checkpoint:
    """The divergences and p-values of all pairs computed so far, and the file they are saved to.

    Parameters
    ----------
    n_datasets : int
    with_p_values : bool
    path : path or None
        The file; None to save no progress.

    Attributes
    ----------
    matrices : dict of ndarray of shape (n, n)
        "divergences" (one row per numerator; 0 on the diagonal) and, with a test, "p_values" (1 on the diagonal).
    n_done : int
        Number of finished blocks.
    """

    def __init__(self, n_datasets: int, with_p_values: bool, path: str | os.PathLike[str] | None) -> None:
        self.matrices: dict[str, Floats] = {"divergences": np.zeros((n_datasets, n_datasets))}
        if with_p_values:
            self.matrices["p_values"] = np.ones((n_datasets, n_datasets))
        self.n_done = 0
        self._path = None if path is None else as_path(path, "checkpoint")
        self._header: dict[str, object] = {}
        self._n_saved = -1

    def resume(self, fingerprint: str, probe: float) -> None:
        """Read the file if it exists; otherwise write it, to check early that this is possible.

        Parameters
        ----------
        fingerprint : str
            Hash of data and settings; a file with a different hash belongs to another comparison.
        probe : float
            The divergence of two of the datasets, since parameters alone do not distinguish learned models.
        """
        self._header = {"compare_all": fingerprint, "probe": probe}
        if self._path is None or not self._path.exists():
            self.save()
            return
        found, header = read_tensors(self._path, _KIND)
        same = math.isclose(header.get("probe", math.nan), probe, rel_tol=1e-4, abs_tol=1e-6)
        if header.get("compare_all") != fingerprint or not same:
            raise ModelFileError(
                f"{self._path} was written for another comparison (other data, estimator or settings); "
                "expected one of this comparison. Delete it to start afresh, or give another name."
            )
        self.matrices = {name: np.array(found[name]) for name in self.matrices}
        self.n_done = self._n_saved = int(header["n_done"])

    def save(self) -> None:
        """Write the file if there are new results."""
        if self._path is not None and self._n_saved != self.n_done:
            write_tensors(self._path, _KIND, self.matrices, {**self._header, "n_done": self.n_done})
            self._n_saved = self.n_done
