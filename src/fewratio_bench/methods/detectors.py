"""Estimators and detectors of other kinds, one task at a time."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import torch
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from torch import Tensor

from fewratio.core.pair import Episode
from fewratio.estimators import UnconstrainedKL
from fewratio_bench.evaluate import Judgement
from fewratio_bench.methods.base import Bench, Method, Parameters, Verdict
from fewratio_bench.problems import ROLES, Problem, Trial

# ``scores(normals, unlabelled, seed, value)``: higher for what is more normal.
Scores = Callable[[np.ndarray, np.ndarray, int, Any], np.ndarray]


@dataclass(frozen=True)
class Detector(Method):
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

    parameter: str
    values: tuple[Any, ...]
    scores: Scores

    def settings(self, problem: Problem) -> list[Parameters]:
        """Give one setting for each value."""
        return [{self.parameter: value} for value in self.values]

    def judge(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Verdict]:
        """Score every dataset of every trial."""
        jobs = [(trial, role, value) for trial in trials for role in ROLES for value in self.values]
        found = joblib.Parallel(bench.n_jobs, return_as="generator")(
            joblib.delayed(self._score)(trial.evaluations[role].episode, trial.seed(self.name), value)
            for trial, role, value in jobs
        )
        for (trial, role, value), (query, seconds) in zip(jobs, found, strict=True):
            yield Verdict(trial, role, {self.parameter: value}, Judgement(query), seconds, trial.seed(self.name))

    def _score(self, episode: Episode, seed: int, value: Any) -> tuple[Tensor, float]:
        started = time.perf_counter()
        support, n_nu = episode.support, episode.query.n_nu
        real = support.shares.sum(-2).expand(support.rows.shape[:-1])[:, support.n_nu :] > 0
        query = torch.zeros(episode.query.rows.shape[:-1])
        for task in range(len(query)):
            unlabelled = support.de[task][real[task]].cpu().double().numpy()
            normals = support.nu[task].cpu().double().numpy()
            found = torch.from_numpy(self.scores(normals, unlabelled, seed, value))
            query[task, n_nu : n_nu + len(found)] = found
        return query, time.perf_counter() - started


def lof_scores(normals: np.ndarray, unlabelled: np.ndarray, seed: int, n_neighbors: int) -> np.ndarray:
    """Local outlier factor of the unlabelled among themselves, as in the paper."""
    fitted = LocalOutlierFactor(min(n_neighbors, len(unlabelled) - 1)).fit(unlabelled)
    return np.asarray(fitted.negative_outlier_factor_)


def forest_scores(normals: np.ndarray, unlabelled: np.ndarray, seed: int, n_estimators: int) -> np.ndarray:
    """Isolation forest of the unlabelled, as in the paper."""
    forest = IsolationForest(n_estimators=n_estimators, random_state=seed % 2**32).fit(unlabelled)
    return np.asarray(forest.score_samples(unlabelled))


def kl_scores(normals: np.ndarray, unlabelled: np.ndarray, seed: int, reg: float) -> np.ndarray:
    """Ratio by the unnormalised Kullback-Leibler loss with kernels."""
    return UnconstrainedKL(reg=reg, random_state=seed % 2**32).fit(normals, unlabelled).predict(unlabelled)
