"""`InlierRatioEstimator`, which learns from the sources in closed form: one for all sizes of a split."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from fewratio.data.collection import Collection
from fewratio.data.dataset import as_flags
from fewratio.estimators import InlierRatioEstimator
from fewratio.estimators.networks.pair import Episode
from fewratio_bench.evaluate import Judgement
from fewratio_bench.methods.base import Bench, Method, Parameters, Verdict, by_split
from fewratio_bench.problems import Problem, Trial


@dataclass(frozen=True)
class Pooled(Method):
    """The ratio of the sources' known normals to all their rows, at each row of a target.

    Attributes
    ----------
    outliers_known : bool
        Whether all normals of the sources are known, and so all outliers; else so many normals as the split says, as
        in the paper.
    """

    name: str = "fewratio, pooled"
    published: str | None = None
    outliers_known: bool = False
    alpha: float = 0.5

    def settings(self, problem: Problem) -> list[Parameters]:
        """Return the one setting there is."""
        return [
            {"alpha": self.alpha, "n_components": InlierRatioEstimator().n_components, "marks": self.outliers_known}
        ]

    def judge(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Verdict]:
        """Learn from every split, and judge with what was learned."""
        (setting,) = self.settings(trials[0].problem)
        for group in by_split(trials):
            started, seed = time.perf_counter(), group[0].seed(self.name)
            estimator = InlierRatioEstimator(self.alpha).pretrain(self._sources(group[0], seed))
            learning = (time.perf_counter() - started) / len(group)
            for trial in group:
                for role, evaluation in trial.evaluations.items():
                    started = time.perf_counter()
                    query = self._ratios(estimator, evaluation.episode)
                    seconds = learning + time.perf_counter() - started
                    yield Verdict(trial, role, setting, Judgement(query, alpha=self.alpha), seconds, seed)

    def _ratios(self, estimator: InlierRatioEstimator, episode: Episode) -> Tensor:
        """Return the ratio at the query rows of every task."""
        support, found = episode.support, []
        is_real = support.shares.sum(-2).expand(support.rows.shape[:-1]) > 0
        for rows, query, real in zip(support.rows, episode.query.rows, is_real, strict=True):
            nu, de = rows[: support.n_nu], rows[support.n_nu :][real[support.n_nu :]]
            estimator.fit(nu.double().cpu().numpy(), de.double().cpu().numpy())
            found.append(torch.from_numpy(estimator.predict(query.double().cpu().numpy())))
        return torch.stack(found)

    def _sources(self, trial: Trial, seed: int) -> Collection:
        """Return the sources; unless outliers are known, with every row marked that is not one of the known normals."""
        source, n_known = trial.split.source, trial.split.n_normals
        if self.outliers_known:
            return source
        rng, datasets = np.random.default_rng(seed), []
        for dataset in source:
            normals = np.flatnonzero(~as_flags(dataset.is_outlier, f"is_outlier of {dataset.name!r}"))
            known = rng.permutation(normals)[:n_known]
            datasets.append(replace(dataset, is_outlier=~np.isin(np.arange(len(dataset)), known)))
        return replace(source, datasets=datasets)
