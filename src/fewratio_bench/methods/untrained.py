"""Methods that learn nothing from the sources: kernels, the universal network, and detectors of other kinds."""

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import torch
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from torch import Tensor

from fewratio.core.divergence import mmd2
from fewratio.core.draws import seed_for
from fewratio.core.kernels import median_distance
from fewratio.estimators.networks.nn import GaussianFeatures, NoEncoder, RatioModel, RidgeHead
from fewratio.estimators.networks.pair import Episode
from fewratio.estimators.networks.universal import shipped_parts
from fewratio_bench.evaluate import Judgement, judge_ratio, judge_values
from fewratio_bench.methods.base import REGS, Bench, Method, Parameters, Verdict
from fewratio_bench.problems import ROLES, Problem, Trial
from fewratio_bench.unconstrained_kl import UnconstrainedKL


class Untrained(Method):
    """A baseline that learns nothing: it judges each evaluation at each of its settings, all tasks at once."""

    @abstractmethod
    def judgement(self, episode: Episode, parameters: Parameters) -> Judgement:
        """Judge the tasks of an evaluation at one setting."""

    @torch.no_grad()
    def judge(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Verdict]:
        """Judge every task of every trial."""
        for trial in trials:
            for role, evaluation in trial.evaluations.items():
                for parameters in self.settings(trial.problem):
                    started = time.perf_counter()
                    judgement = self.judgement(evaluation.episode, parameters)
                    yield Verdict(trial, role, parameters, judgement, time.perf_counter() - started, 0)


@dataclass(frozen=True)
class Kernel(Untrained):
    """RuLSIF (uLSIF at alpha = 0), put together from the parts so that all pairs are solved at once."""

    clip: str = "weights"
    alpha: float = 0.5
    regs: tuple[float, ...] = REGS

    def settings(self, problem: Problem) -> list[Parameters]:
        """Return one setting for each value of lambda."""
        return [{"alpha": self.alpha, "clip": self.clip, "reg": reg} for reg in self.regs]

    def judgement(self, episode: Episode, parameters: Parameters) -> Judgement:
        """Solve every task."""
        head = RidgeHead(self.alpha, parameters["reg"], learn_reg=False)
        model = RatioModel(NoEncoder(), GaussianFeatures(), head, self.clip).to(episode.rows.device)
        return judge_ratio(model.adapt(episode.support), episode, self.alpha)


@dataclass(frozen=True)
class MeanDiscrepancy(Untrained):
    """MMD with the median width: compares datasets, and gives no ratio."""

    name: str = "MMD"
    published: str | None = "MMD"

    def settings(self, problem: Problem) -> list[Parameters]:
        """Return the one setting."""
        return [{"sigma": "median", "biased": True}]

    def judgement(self, episode: Episode, parameters: Parameters) -> Judgement:
        """Compare the two samples of every task."""
        support = episode.support
        width = median_distance(support.rows, support.shares.sum(-2) > 0)
        return Judgement(None, mmd2(support.rows, support.shares, width, biased=True))


_TASKS_AT_ONCE = 25


@dataclass(frozen=True)
class Universal(Untrained):
    """The weights that come with the package, as they are."""

    name: str = "fewratio, no sources"
    published: str | None = None
    alpha: float = 0.5

    def settings(self, problem: Problem) -> list[Parameters]:
        """Return the one setting there is; records of other weights are other settings."""
        model, _ = shipped_parts("cpu")
        values = b"".join(tensor.numpy().tobytes() for tensor in model.state_dict().values())
        return [{"alpha": self.alpha, "weights": f"{seed_for(values.hex()):016x}"}]

    def judgement(self, episode: Episode, parameters: Parameters) -> Judgement:
        """Adapt to every task."""
        model, _ = shipped_parts(str(episode.rows.device))
        support, query = [], []
        for first in range(0, len(episode.rows), _TASKS_AT_ONCE):
            part = slice(first, first + _TASKS_AT_ONCE)
            pair = episode.support[part]
            ratio = model.adapt(pair, pair.rows.new_full(pair.rows.shape[:1], self.alpha))
            support.append(ratio.at_support())
            query.append(ratio(episode.query.rows[part], episode.support_index))
        return judge_values(torch.cat(support), torch.cat(query), episode, self.alpha)


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
        """Return one setting for each value."""
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
