"""Normal rows alone: what models learn from that compare with nothing."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from fewratio.core.draws import fold, uniform
from fewratio.core.pair import Episode
from fewratio.core.shapes import Float, Int
from fewratio.data.collection import Collection, Dataset
from fewratio.data.pools import RowTable
from fewratio.errors import CollectionError


def normal_parts(collections: Sequence[Collection]) -> list[Collection]:
    """Give the collections without known outliers.

    A dataset that does not know its outliers stays as it is, one that has nothing else is left out, and one that
    several collections hold is still one afterwards.
    """
    parts: dict[int, Dataset | None] = {}
    for dataset in (dataset for collection in collections for dataset in collection):
        if id(dataset) not in parts:
            parts[id(dataset)] = _normal_part(dataset)
    result = []
    for collection in collections:
        datasets = [part for dataset in collection if (part := parts[id(dataset)]) is not None]
        if not datasets:
            raise CollectionError(
                f"All instances of collection {collection.name!r} are outliers; normal ones are needed to learn from. "
                "Add datasets that have some, or check which value marks an outlier."
            )
        result.append(Collection(collection.name, datasets, collection.feature_names, collection.encoding))
    return result


def _normal_part(dataset: Dataset) -> Dataset | None:
    if dataset.is_outlier is None or not dataset.is_outlier.any():
        return dataset
    if dataset.is_outlier.all():
        return None
    return Dataset(dataset.name, dataset.group, dataset.X[~dataset.is_outlier])


def pooled_numbers(collection: Collection, table: RowTable) -> np.ndarray:
    """Give the row numbers of all datasets of a collection."""
    return np.concatenate([table.numbers(dataset) for dataset in collection])


class NormalBatches:
    """Batches of rows, each drawn from all of a member's, as a pure function of a seed and a step's number.

    Parameters
    ----------
    rows : Tensor of shape (n, d)
        The table that the pools number.
    pools : sequence of int arrays
        The row numbers of each member of an ensemble.
    seeds : sequence of int
        One for each member.
    batch_size : int
        Rows a step, drawn with replacement.
    """

    def __init__(
        self, rows: Float[Tensor, "n d"], pools: Sequence[np.ndarray], seeds: Sequence[int], batch_size: int
    ) -> None:
        counts = np.array([len(pool) for pool in pools])
        self._rows, self._batch_size = rows, batch_size
        self._seeds = torch.tensor([seed % 2**63 for seed in seeds], device=rows.device)
        self._numbers = torch.from_numpy(np.concatenate(pools)).to(rows.device)
        self._counts, self._starts = (
            torch.from_numpy(part).unsqueeze(-1).to(rows.device) for part in (counts, counts.cumsum() - counts)
        )

    def __call__(self, step: Int[Tensor, ""]) -> Episode:
        """Draw the rows of a step; leading axes (member, 1)."""
        share = uniform(fold(self._seeds, step), self._batch_size)
        # In float64: float32 could round the largest share up to the count itself.
        index = self._starts + (share.double() * self._counts).long()
        return Episode.numerator_only(self._rows[self._numbers[index]].unsqueeze(1))


class NormalBlocks:
    """Fixed rows to validate on, dealt out into blocks; the mean over blocks has a standard error.

    Parameters
    ----------
    rows : Tensor of shape (n, d)
        The table that the pools number.
    pools : sequence of int arrays
        The row numbers of each member of an ensemble.
    seeds : sequence of int
        One for each member.
    n_blocks : int
        Number of blocks; fewer rows than that are used several times.
    max_rows : int
        Of more rows than this, so many are drawn.
    """

    def __init__(
        self,
        rows: Float[Tensor, "n d"],
        pools: Sequence[np.ndarray],
        seeds: Sequence[int],
        n_blocks: int = 10,
        max_rows: int = 10_000,
    ) -> None:
        members = []
        for pool, seed in zip(pools, seeds, strict=True):
            shuffled = np.random.default_rng(seed).permutation(pool)[:max_rows]
            members.append(np.resize(shuffled, max(n_blocks, len(shuffled))))
        length = -(-max(len(member) for member in members) // n_blocks)
        numbers = np.full((len(members), length * n_blocks), -1)
        for padded, member in zip(numbers, members, strict=True):
            padded[: len(member)] = member
        # Dealt out like cards, so that blocks differ in size by one row at most, and none is empty.
        dealt = torch.from_numpy(numbers.reshape(len(members), length, n_blocks)).mT.to(rows.device)
        self._rows, self._numbers, self._real = rows, dealt.clamp_min(0), dealt >= 0

    def batches(self) -> Iterator[Episode]:
        """Give the blocks one by one; leading axes (member, 1)."""
        for block in range(self._numbers.shape[1]):
            part = slice(block, block + 1)
            yield Episode.numerator_only(self._rows[self._numbers[:, part]], self._real[:, part])
