"""Units of rows that are permuted together: single rows, or blocks of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.draws import row_order
from fewratio.core.shapes import Floats, Numbers
from fewratio.testing.permutations import Exchange

# Groups of rows to permute: this many in the smaller sample, at most this many groups and values in all, but always at
# least this many groups.
_OF_SMALLER, _MAX_UNITS, _MAX_VALUES, _MIN_UNITS = 1_000, 10_000, 2**23, 200


def select_rows(
    rows: Floats,
    labels: NDArray[Any],
    rng: np.random.Generator,
    pairs: Numbers | None = None,
    order: Numbers | None = None,
) -> Numbers:
    """Select the rows to test with: all rows, or, if there are many, random rows of each sample or random pairs.

    The selection and its order depend only on the values, not on units or on the order of rows, columns or samples.
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
    """Return how many rows to use of each sample, the smallest first, as equal as their sizes allow."""
    counts = list[int]()
    for place, size in enumerate(sizes):
        counts.append(min(size, (most - sum(counts)) // (len(sizes) - place)))
    return counts


def _split_rows(order: Numbers, labels: NDArray[Any]) -> list[Numbers]:
    """Split rows by their samples, in the order of `number_samples`."""
    numbers = number_samples(labels[order])
    return [order[numbers == number] for number in range(numbers.max() + 1)]


def number_samples(labels: NDArray[Any]) -> Numbers:
    """Assign numbers to samples by size, the smallest first; those of equal size are ordered by their first rows."""
    _, first, place, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    return np.argsort(np.lexsort((first, counts)))[place]


def make_exchange(is_first: NDArray[np.bool_], blocks: Numbers | None) -> tuple[Exchange, Numbers]:
    """Return the units to permute, and the unit number of each row; see `number_units`."""
    sizes, unit = number_units(is_first, blocks)
    is_first = is_first[np.unique(unit, return_index=True)[1]]
    counts = np.add.reduceat(is_first, np.cumsum(sizes) - sizes, dtype=np.intp)
    return Exchange(tuple(sizes.tolist()), tuple(counts.tolist())), unit


def number_units(labels: NDArray[Any], blocks: Numbers | None) -> tuple[Numbers, Numbers]:
    """Return the number of units to permute within each block, and the unit number of each row.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        The sample of each row.
    blocks : int ndarray of shape (n,) or None
        Rows are permuted within their block; if each block lies in one sample, whole blocks are permuted.
    """
    n = len(labels)
    if blocks is None:
        return np.array([n]), np.arange(n)
    _, first, blocks, sizes = np.unique(blocks, return_index=True, return_inverse=True, return_counts=True)
    if (labels == labels[first][blocks]).all():
        return np.array([len(sizes)]), blocks
    return sizes, np.argsort(np.argsort(blocks, kind="stable"))


class Units(NamedTuple):
    """The units of a permutation test: rows, or groups of rows.

    Attributes
    ----------
    used : int ndarray of shape (n_used,)
        The numbers of the rows to use, unit by unit.
    starts : int ndarray of shape (n_units,)
        Where each unit begins in `used`.
    labels : int ndarray of shape (n_units,)
        The sample of each unit; see `number_samples`.
    blocks : int ndarray
        Sizes of the blocks of consecutive units whose labels are permuted within the block.
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
        """Make each row a unit, or, if there are many rows, put nearly all of them into random groups of equal size.

        Groups depend only on labels and chance, so they are as exchangeable as rows. The smaller sample determines
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
            # Order them by their values, not by their samples.
            place = np.argsort(np.argsort(order)[used])
            used, numbers = used[place], numbers[place]
        return cls(used, np.arange(0, len(used), size), numbers, np.array([len(numbers)]))

    @property
    def exchange(self) -> Exchange:
        """The permutations of the units between two samples; the smaller sample is counted."""
        counts = np.add.reduceat(self.labels == 0, np.cumsum(self.blocks) - self.blocks, dtype=np.intp)
        return Exchange(tuple(self.blocks.tolist()), tuple(counts.tolist()))

    def draw_labels(self, n: int, rng: np.random.Generator) -> Numbers:
        """Draw permutations of the labels, of shape (n, n_units)."""
        parts = np.split(self.labels, np.cumsum(self.blocks)[:-1])
        return np.concatenate([rng.permuted(np.tile(np.sort(part), (n, 1)), axis=1) for part in parts], axis=1)

    @property
    def sizes(self) -> Numbers:
        """Number of rows of each unit."""
        return np.diff(np.append(self.starts, len(self.used)))

    def some(self, most: int) -> tuple["Units", Numbers]:
        """Return the units with only their first rows, at most `most` rows in all, and the positions of these rows."""
        kept = np.minimum(self.sizes, max(1, most // len(self.starts))) if len(self.used) > most else self.sizes
        starts = np.cumsum(kept) - kept
        places = np.arange(kept.sum()) - np.repeat(starts - self.starts, kept)
        return self._replace(used=self.used[places], starts=starts), places

    def sum_rows(self, features: Floats) -> Floats:
        """Sum features of rows (the last axis) over each unit."""
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
    """Return a mask of the smaller sample, or of the sample with the first row if sizes are equal."""
    more = 2 * int(is_first.sum()) - len(is_first)
    return is_first if more < 0 or (more == 0 and is_first[0]) else ~is_first
