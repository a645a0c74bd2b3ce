"""Estimators and detectors of other kinds, one task at a time."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from fewratio_bench.evaluate import Judgement
from fewratio_bench.methods.base import Bench, Parameters, Verdict
from fewratio_bench.problems import Cell, Problem

# ``scores(normals, unlabelled, seed, value)``: higher for what is more normal.
Scores = Callable[[np.ndarray, np.ndarray, int, Any], np.ndarray]


@dataclass(frozen=True)
class Detector:
    """Scores the unlabelled instances of one dataset after the other.

    Attributes
    ----------
    parameter : str
        Name of what the grid is of.
    values : tuple
        The grid.
    scores : callable
        Gives a score for every unlabelled instance.
    """

    name: str
    published: str | None
    parameter: str
    values: tuple[Any, ...]
    scores: Scores

    def quick(self) -> "Detector":
        """Give the same: it is quick."""
        return self

    def settings(self, problem: Problem) -> list[Parameters]:
        """Give one setting for each value."""
        return [{self.parameter: value} for value in self.values]

    def judge(self, cells: Sequence[Cell], bench: Bench) -> Iterator[Verdict]:
        """Score every dataset of every cell."""
        for cell in cells:
            seed = cell.seed(self.name)
            for role, evaluation in cell.evaluations.items():
                support = evaluation.episode.support
                real = support.shares.sum(-2).expand(support.rows.shape[:-1])[:, support.n_nu :] > 0
                for value in self.values:
                    started = time.perf_counter()
                    query = torch.zeros(evaluation.episode.query.rows.shape[:-1])
                    for task in range(len(query)):
                        unlabelled = support.de[task][real[task]].cpu().double().numpy()
                        normals = support.nu[task].cpu().double().numpy()
                        found = torch.from_numpy(self.scores(normals, unlabelled, seed, value))
                        query[task, evaluation.episode.query.n_nu :][: len(found)] = found
                    seconds = time.perf_counter() - started
                    yield Verdict(cell, role, {self.parameter: value}, Judgement(query), seconds, seed)


def lof_scores(normals: np.ndarray, unlabelled: np.ndarray, seed: int, n_neighbors: int) -> np.ndarray:
    """Local outlier factor of the unlabelled among themselves, as in the paper."""
    fitted = LocalOutlierFactor(min(n_neighbors, len(unlabelled) - 1)).fit(unlabelled)
    return np.asarray(fitted.negative_outlier_factor_)


def forest_scores(normals: np.ndarray, unlabelled: np.ndarray, seed: int, n_estimators: int) -> np.ndarray:
    """Isolation forest of the unlabelled, as in the paper."""
    forest = IsolationForest(n_estimators=n_estimators, random_state=seed % 2**32).fit(unlabelled)
    return np.asarray(forest.score_samples(unlabelled))
