"""Pools of rows to draw the numerators and the denominators of episodes from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fewratio.data.collection import Collection, Dataset
from fewratio.errors import CollectionError


@dataclass(frozen=True)
class Pools:
    """Rows that numerators and denominators come from, as row numbers in a table.

    Parameters
    ----------
    nu, de : list of int arrays
        The pools of each dataset.
    names : tuple of str
        Names of the datasets, for messages.
    paired : bool
        Whether numerator i only ever meets denominator i (Alg. 2), or any dataset meets any (Alg. 1). In the second
        case ``nu`` and ``de`` are the same list.
    """

    nu: list[np.ndarray]
    de: list[np.ndarray]
    names: tuple[str, ...]
    paired: bool


class RowTable:
    """The rows of several collections as one tensor; a dataset in several of them is stored once.

    Parameters
    ----------
    collections : sequence of Collection
        The collections.
    device : device
        Device to store the rows on.
    dtype : torch.dtype
        Type of the rows.
    """

    def __init__(
        self, collections: Sequence[Collection], device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
    ) -> None:
        unique = list(dict.fromkeys(dataset for collection in collections for dataset in collection))
        ends = np.cumsum([len(dataset.X) for dataset in unique])
        self._numbers = {
            dataset: np.arange(end - len(dataset.X), end) for dataset, end in zip(unique, ends, strict=True)
        }
        self.rows: Tensor = torch.cat([torch.tensor(dataset.X, dtype=dtype) for dataset in unique]).to(device)

    def numbers(self, dataset: Dataset) -> np.ndarray:
        """Return the row numbers of a dataset."""
        return self._numbers[dataset]


def pair_pools(collection: Collection, table: RowTable) -> Pools:
    """Pools of Alg. 1: any dataset may be the numerator, any the denominator."""
    pools = [table.numbers(dataset) for dataset in collection]
    return Pools(pools, pools, tuple(collection.names), paired=False)


def inlier_pools(
    collection: Collection, table: RowTable, rng: np.random.Generator, n_inliers: int | None = None
) -> Pools:
    """Pools of Alg. 2: a dataset's known normals against its other instances, taken as unlabelled.

    Parameters
    ----------
    collection : Collection
        Datasets with marked outliers.
    table : RowTable
        The table with the rows of the datasets.
    rng : numpy Generator
        Chooses the known normals.
    n_inliers : int, optional
        How many normals count as known; half of them by default.
    """
    nu, de = [], []
    for dataset in collection:
        if dataset.is_outlier is None:
            raise CollectionError(
                f"Dataset {dataset.name!r} does not say which instances are outliers, and inlier episodes need that. "
                "Give an outlier column or array, or use episodes=Pairs()."
            )
        normal = rng.permutation(np.flatnonzero(~dataset.is_outlier))
        count = len(normal) // 2 if n_inliers is None else n_inliers
        if not 0 < count <= len(normal) or count == len(dataset.X):
            raise CollectionError(
                f"Dataset {dataset.name!r} has {len(normal)} normal instances of {len(dataset.X)}, and {count} of them "
                "were to be the known ones; at least one must be known, and at least one instance must remain. "
                "Leave the dataset out or choose another number."
            )
        known = np.isin(np.arange(len(dataset.X)), normal[:count])
        numbers = table.numbers(dataset)
        nu.append(numbers[known])
        de.append(numbers[~known])
    return Pools(nu, de, tuple(collection.names), paired=True)
