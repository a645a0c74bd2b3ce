"""Splits of a collection into source, validation and target datasets, as the paper makes them."""

from dataclasses import dataclass

import numpy as np

from fewratio.core.draws import seed_for
from fewratio.core.wording import write_count
from fewratio.data.collection import Collection
from fewratio.errors import CollectionError


@dataclass(frozen=True)
class Split:
    """Datasets by what they are for.

    Attributes
    ----------
    source, validation, target : Collection
        To learn from, to choose by, and to be judged on; no dataset is in two of them.
    number : int
        Which of the protocol's splits this is.
    n_normals : int or None
        Outlier problems: how many normal instances of each source and validation dataset are known to be normal; all
        its others are unlabelled. In a target dataset all but the normal support are unlabelled.
    """

    source: Collection
    validation: Collection
    target: Collection
    number: int = 0
    n_normals: int | None = None


@dataclass(frozen=True)
class Protocol:
    """How the datasets of a source are dealt out.

    Attributes
    ----------
    data : str
        Name of the source; part of every seed.
    n_target, n_validation, n_source : int
        How many datasets get each role; together, all.
    one_group : bool
        Whether all targets come from one group, drawn first.
    n_normals : int or None
        See `Split`.

    Examples
    --------
    >>> from fewratio.data import load_collection
    >>> split = PROTOCOLS["digits_r"].split(load_collection("digits_r"), 0)
    >>> len(split.source), len(split.validation), len(split.target), len(set(split.target.groups))
    (40, 10, 10, 1)
    """

    data: str
    n_target: int
    n_validation: int
    n_source: int
    one_group: bool = False
    n_normals: int | None = None

    def split(self, collection: Collection, number: int) -> Split:
        """Deal out the datasets; a pure function of the collection and the number.

        Parameters
        ----------
        collection : Collection
            All datasets of the source.
        number : int
            Which split; the paper makes ten, but any number from 0 will do.
        """
        self._check(collection)
        # A seed for each role: another way of choosing validation datasets would leave the targets as they are.
        target = self._draw_target(collection, np.random.default_rng(seed_for(self.data, number, "target")))
        rest = np.setdiff1d(np.arange(len(collection)), target)
        rng = np.random.default_rng(seed_for(self.data, number, "validation"))
        validation = np.sort(rng.choice(rest, self.n_validation, replace=False))
        source = np.setdiff1d(rest, validation)
        return Split(collection[source], collection[validation], collection[target], number, self.n_normals)

    def _draw_target(self, collection: Collection, rng: np.random.Generator) -> np.ndarray:
        candidates = np.arange(len(collection))
        if self.one_group:
            groups = list(dict.fromkeys(collection.groups))
            chosen = groups[rng.integers(len(groups))]
            candidates = np.flatnonzero([group == chosen for group in collection.groups])
            if len(candidates) < self.n_target:
                raise CollectionError(
                    f"collection {collection.name!r} has a group of {write_count(len(candidates), 'dataset')}; "
                    f"{self.n_target} targets of one group are needed. Lower n_target or leave the group out."
                )
        return np.sort(rng.choice(candidates, self.n_target, replace=False))

    def _check(self, collection: Collection) -> None:
        needed = self.n_target + self.n_validation + self.n_source
        if len(collection) != needed:
            raise CollectionError(
                f"collection {collection.name!r} has {write_count(len(collection), 'dataset')}; the protocol of "
                f"{self.data} deals out {needed} ({self.n_target} target, {self.n_validation} validation, "
                f"{self.n_source} source). Load the complete source, or make a Protocol with other counts."
            )
        for dataset in collection:
            count = 0 if dataset.is_outlier is None else int((~dataset.is_outlier).sum())
            if self.n_normals is not None and count < self.n_normals:
                raise CollectionError(
                    f"dataset {dataset.name!r} has {write_count(count, 'known normal instance')}; {self.n_normals} are "
                    "needed. Leave it out or lower n_normals."
                )


PROTOCOLS: dict[str, Protocol] = {
    protocol.data: protocol
    for protocol in (
        # One task and 10 target datasets of it (for the digits, all ten), so that the targets differ in class and not
        # in rotation or speakers; 10 validation datasets of all others; the rest are sources.
        Protocol("mnist_r", n_target=10, n_validation=10, n_source=40, one_group=True),
        Protocol("isolet", n_target=10, n_validation=10, n_source=110, one_group=True),
        # Not in the paper: the stand-in is dealt out like Mnist-r.
        Protocol("digits_r", n_target=10, n_validation=10, n_source=40, one_group=True),
        # Counts as stated for the outlier problems. 200 and 50 known normals fit the smallest datasets, which have 407
        # normals in Landmine, 61 in School and 475 in IoT.
        Protocol("landmine", n_target=3, n_validation=3, n_source=23, n_normals=200),
        Protocol("school", n_target=10, n_validation=10, n_source=54, n_normals=50),
        Protocol("iot", n_target=1, n_validation=1, n_source=7, n_normals=200),
    )
}
"""The paper's protocols by the name of the source. (Its synthetic datasets are drawn, not dealt out.)"""
