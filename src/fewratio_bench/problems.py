"""Problems: where the datasets come from, how they are dealt out, and what a method is judged on."""

from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Protocol

import torch

from fewratio import load_collection
from fewratio.data.collection import Collection
from fewratio.data.seeds import seed_for
from fewratio.data.sources.gaussian import GaussianFamily, gaussian_family
from fewratio_bench.class_tables import class_collection
from fewratio_bench.evaluate import Evaluation, OutlierEvaluation, PairEvaluation, TrueRatios
from fewratio_bench.splits import PROTOCOLS, Split

ROLES = ("validation", "target")


class Problem(Protocol):
    """Datasets of one source and what is asked about them.

    Attributes
    ----------
    name : {"synthetic", "pairs", "table", "outliers"}
        What is asked: the ratio of any two datasets (or classes of a table), or which instances of one are outliers.
    data : str
        Name of the data in the paper's tables.
    sizes : tuple of int
        Numbers of support instances.
    episodes : {"pairs", "inliers"}
        What a method that learns from the sources practises on.
    validate_every : int
        Steps between its looks at the validation datasets, on which the paper is silent; docs/design.md says how this
        was chosen.
    patience : int or None
        Looks without improvement after which it stops.
    """

    @property
    def name(self) -> str:
        """What is asked."""

    @property
    def data(self) -> str:
        """Name of the data."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of support instances."""

    @property
    def episodes(self) -> str:
        """What to practise on."""

    @property
    def validate_every(self) -> int:
        """Steps between two looks."""

    @property
    def patience(self) -> int | None:
        """Looks without improvement."""

    def split(self, number: int) -> Split:
        """Deal the datasets out."""

    def evaluation(self, split: Split, role: str, n_support: int, device: torch.device) -> Evaluation:
        """Give what a method is judged on; a pure function of split, role and size."""


@dataclass(frozen=True)
class SyntheticProblem:
    """The paper's synthetic problem: 600 source, 3 validation and 20 target Gaussians of 300 instances."""

    name: str = "synthetic"
    data: str = "Gaussian-1d"
    sizes: tuple[int, ...] = (10,)
    n_source: int = 600
    n_validation: int = 3
    n_target: int = 20
    n_instances: int = 300
    episodes: str = "pairs"
    validate_every: int = 500
    patience: int | None = None

    def split(self, number: int) -> Split:
        """Draw the datasets."""
        source, validation, target = (self._family(number, role).collection for role in ("source", *ROLES))
        return Split(source, validation, target, number)

    def evaluation(self, split: Split, role: str, n_support: int, device: torch.device) -> PairEvaluation:
        """Give all ordered pairs, with the true ratio at every instance."""
        seed = seed_for(self.name, self.data, split.number, role, "supports")
        truth = TrueRatios(self._family(split.number, role))
        return PairEvaluation(getattr(split, role), n_support, seed, device, truth)

    def _family(self, number: int, role: str) -> GaussianFamily:
        n_datasets = {"source": self.n_source, "validation": self.n_validation, "target": self.n_target}[role]
        seed = seed_for(self.name, self.data, number, role)
        return gaussian_family(n_datasets, self.n_instances, seed, name=role)


@dataclass(frozen=True)
class PairProblem:
    """Relative density ratios, and comparison, of all ordered pairs of the target datasets."""

    source: str
    data: str
    sizes: tuple[int, ...] = (1, 2, 3, 4, 5)
    name: str = "pairs"
    episodes: str = "pairs"
    validate_every: int = 500
    patience: int | None = None

    def split(self, number: int) -> Split:
        """Deal the datasets out by the paper's protocol."""
        return PROTOCOLS[self.source].split(_load(self.source), number)

    def evaluation(self, split: Split, role: str, n_support: int, device: torch.device) -> Evaluation:
        """Give all ordered pairs of the datasets of a role."""
        seed = seed_for(self.name, self.data, split.number, role, n_support, "supports")
        return PairEvaluation(getattr(split, role), n_support, seed, device)


@dataclass(frozen=True)
class TableProblem:
    """The classes of a well-known table against each other, with no sources; columns standardised over the table."""

    data: str
    sizes: tuple[int, ...] = (3, 5, 10)
    name: str = "table"
    episodes: str = "pairs"
    validate_every: int = 500
    patience: int | None = None

    def split(self, number: int) -> Split:
        """Give the classes: there is nothing to deal out, but the supports of another split are others."""
        classes = class_collection(self.data)
        return Split(classes, classes, classes, number)

    def evaluation(self, split: Split, role: str, n_support: int, device: torch.device) -> Evaluation:
        """Give all ordered pairs of classes; "validation" is other supports."""
        seed = seed_for(self.name, self.data, split.number, role, n_support, "supports")
        return PairEvaluation(split.target, n_support, seed, device)


@dataclass(frozen=True)
class OutlierProblem:
    """Which of a dataset's unlabelled instances are outliers, given a few normal ones."""

    source: str
    data: str
    sizes: tuple[int, ...] = (1, 2, 3, 4, 5)
    name: str = "outliers"
    episodes: str = "inliers"
    validate_every: int = 100
    patience: int | None = 30

    def split(self, number: int) -> Split:
        """Deal the datasets out by the paper's protocol."""
        return PROTOCOLS[self.source].split(_load(self.source), number)

    def evaluation(self, split: Split, role: str, n_support: int, device: torch.device) -> Evaluation:
        """Give the datasets of a role, each with some normals and all its unlabelled instances."""
        seed = seed_for(self.name, self.data, split.number, role, n_support, "supports")
        # In a target all but the normal support are unlabelled.
        known = n_support if role == "target" or split.n_normals is None else split.n_normals
        return OutlierEvaluation(getattr(split, role), n_support, known, seed, device)


@cache
def _load(source: str) -> Collection:
    return load_collection(source)


@dataclass(frozen=True)
class Cell:
    """Where methods are compared: one split of a problem, with so many support instances."""

    problem: Problem
    split: Split
    n_support: int
    device: torch.device = field(compare=False)

    @cached_property
    def evaluations(self) -> dict[str, Evaluation]:
        """What a method is judged on, by role."""
        return {role: self.problem.evaluation(self.split, role, self.n_support, self.device) for role in ROLES}

    def seed(self, *role: str | int) -> int:
        """Give a seed for a method's own randomness."""
        return seed_for(self.problem.name, self.problem.data, self.split.number, self.n_support, *role)


SYNTHETIC = SyntheticProblem()
MNIST_R = PairProblem("mnist_r", "Mnist-r")
ISOLET = PairProblem("isolet", "Isolet")
LANDMINE = OutlierProblem("landmine", "Landmine")
SCHOOL = OutlierProblem("school", "School")
IOT = OutlierProblem("iot", "IoT")
WINE, DIGITS = TableProblem("Wine"), TableProblem("Digits")
# Looked at once, with the final weights of the universal network (at commit c9d3994).
UNSEEN_TABLES = tuple(
    TableProblem(data) for data in ("Iris", "Breast cancer", "Diabetes", "Landmine fields", "Schools")
)
