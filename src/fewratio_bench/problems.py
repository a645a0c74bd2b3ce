"""Problems: their datasets, splits and evaluations."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import torch

from fewratio.core.draws import seed_for
from fewratio.data import load_collection
from fewratio.data.sources.gaussian import GaussianFamily, gaussian_family
from fewratio_bench.evaluate import Evaluation, OutlierEvaluation, PairEvaluation
from fewratio_bench.sources.table_classes import class_collection
from fewratio_bench.splits import PROTOCOLS, Protocol, Split

ROLES = ("validation", "target")


@dataclass(frozen=True)
class Problem(ABC):
    """Datasets of one source, and the task to solve with them.

    Attributes
    ----------
    source : str
        What `load_collection` takes.
    data : str
        Name of the data in tables and records.
    sizes : tuple of int
        Numbers of support instances.
    protocol : Protocol, optional
        How the datasets are dealt out; by default as in the paper.
    name : {"synthetic", "pairs", "table", "outliers"}
        What is asked: the ratio of any two datasets (or classes of a table), or which instances of one are outliers.
    episodes : {"pairs", "inliers"}
        What a method that learns from the sources is trained on.
    validate_every : int
        Steps between two validations, on which the paper is silent; see
        docs/decisions/0004-one-training-loop.md.
    patience : int or None
        Validations without improvement before training stops.
    """

    source: str
    data: str
    sizes: tuple[int, ...] = (1, 2, 3, 4, 5)
    protocol: Protocol | None = None
    name: str = "pairs"
    episodes: str = "pairs"
    validate_every: int = 500
    patience: int | None = None

    def split(self, number: int) -> Split:
        """Deal the datasets out by the protocol."""
        return (self.protocol or PROTOCOLS[self.source]).split(_load(self.source), number)

    @abstractmethod
    def evaluation(self, split: Split, role: str, n_support: int, device: torch.device) -> Evaluation:
        """Return what a method is judged on; a pure function of split, role and size."""

    def support_seed(self, split: Split, role: str, n_support: int) -> int:
        """Return the seed of the supports: never the method's, since tests are paired."""
        return seed_for(self.name, self.data, split.number, role, n_support, "supports")


class PairProblem(Problem):
    """Relative density ratios, and comparison, of all ordered pairs of the target datasets."""

    def evaluation(self, split: Split, role: str, n_support: int, device: torch.device) -> Evaluation:
        """Return all ordered pairs of the datasets of a role."""
        return PairEvaluation(getattr(split, role), n_support, self.support_seed(split, role, n_support), device)


@dataclass(frozen=True)
class SyntheticProblem(Problem):
    """The paper's synthetic problem: 600 source, 3 validation and 20 target Gaussians of 300 instances."""

    source: str = "gaussian"
    data: str = "Gaussian-1d"
    sizes: tuple[int, ...] = (10,)
    name: str = "synthetic"
    n_source: int = 600
    n_validation: int = 3
    n_target: int = 20
    n_instances: int = 300

    def split(self, number: int) -> Split:
        """Draw the datasets."""
        source, validation, target = (self.family(number, role).collection for role in ("source", *ROLES))
        return Split(source, validation, target, number)

    def evaluation(self, split: Split, role: str, n_support: int, device: torch.device) -> PairEvaluation:
        """Return all ordered pairs, with the true ratio at every instance."""
        seed = seed_for(self.name, self.data, split.number, role, "supports")
        family = self.family(split.number, role)
        moments = np.stack([family.means, family.stds], axis=-1)
        return PairEvaluation(getattr(split, role), n_support, seed, device, moments)

    def family(self, number: int, role: str) -> GaussianFamily:
        """Return the datasets of a role in a split, with the truth behind them."""
        n_datasets = {"source": self.n_source, "validation": self.n_validation, "target": self.n_target}[role]
        return gaussian_family(n_datasets, self.n_instances, seed_for(self.name, self.data, number, role), name=role)


@dataclass(frozen=True)
class TableProblem(PairProblem):
    """The classes of a well-known table against each other, with no sources; columns standardised over the table.

    Validation is other supports of the same classes.
    """

    sizes: tuple[int, ...] = (3, 5, 10)
    name: str = "table"

    def split(self, number: int) -> Split:
        """Return the classes: there is nothing to deal out, but the supports of another split are others."""
        classes = class_collection(self.source)
        return Split(classes, classes, classes, number)


@dataclass(frozen=True)
class OutlierProblem(Problem):
    """Which of a dataset's unlabelled instances are outliers, given a few normal ones."""

    name: str = "outliers"
    episodes: str = "inliers"
    validate_every: int = 100
    patience: int | None = 30

    def evaluation(self, split: Split, role: str, n_support: int, device: torch.device) -> Evaluation:
        """Return the datasets of a role, each with some normals and all its unlabelled instances."""
        # In a target all but the normal support are unlabelled.
        known = n_support if role == "target" or split.n_normals is None else split.n_normals
        seed = self.support_seed(split, role, n_support)
        return OutlierEvaluation(getattr(split, role), n_support, known, seed, device)


_load = cache(load_collection)


@dataclass(frozen=True, eq=False)
class Trial:
    """Where methods are compared: one split of a problem, with so many support instances."""

    problem: Problem
    split: Split
    n_support: int
    device: torch.device

    @property
    def evaluations(self) -> dict[str, Evaluation]:
        """What a method is judged on, by role; made when asked for."""
        return _evaluations(self)

    def seed(self, *role: str | int) -> int:
        """Return a seed for a method's own randomness."""
        return seed_for(self.problem.name, self.problem.data, self.split.number, self.n_support, *role)


# Only the last trial is cached: evaluations of pairs take tens of megabytes each, and tens of milliseconds to make.
@lru_cache(maxsize=1)
def _evaluations(trial: Trial) -> dict[str, Evaluation]:
    problem, split, n_support, device = trial.problem, trial.split, trial.n_support, trial.device
    return {role: problem.evaluation(split, role, n_support, device) for role in ROLES}


SYNTHETIC = SyntheticProblem()
MNIST_R = PairProblem("mnist_r", "Mnist-r")
ISOLET = PairProblem("isolet", "Isolet")
LANDMINE = OutlierProblem("landmine", "Landmine")
SCHOOL = OutlierProblem("school", "School")
IOT = OutlierProblem("iot", "IoT")
TABLES = WINE, DIGITS = TableProblem("Wine", "Wine"), TableProblem("Digits", "Digits")
# Evaluated once, with the final weights of the universal network (at commit c9d3994).
UNSEEN_TABLES = tuple(
    TableProblem(data, data) for data in ("Iris", "Breast cancer", "Diabetes", "Landmine fields", "Schools")
)
