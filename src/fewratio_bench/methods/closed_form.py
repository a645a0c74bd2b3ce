"""The closed-form method."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import joblib
import numpy as np
import torch
from torch import Tensor

from fewratio.core.discriminant import Support
from fewratio.estimators import DiscriminantRatioEstimator
from fewratio.estimators.closed_form.discriminant_model import DiscriminantModel, ratio_of_log
from fewratio.estimators.networks.pair import Episode
from fewratio_bench.methods.base import Bench, Parameters, RatioMethod, Ratios, by_split
from fewratio_bench.problems import Problem, Trial


@dataclass(frozen=True)
class ClosedForm(RatioMethod):
    """`DiscriminantRatioEstimator` with these parameters, or the mean of several with other random features.

    Attributes
    ----------
    parameters : mapping
        Parameters of the estimator.
    n_draws : int
        Number of estimators.
    keep_aside : bool
        Whether settings are chosen on some of the sources, held out, instead of the validation datasets.
    """

    published: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"scale": "none"})
    n_draws: int = 1
    keep_aside: bool = False
    alpha: float = 0.5

    def quick(self) -> Self:
        """Return the same with one draw of few features."""
        return replace(self, n_draws=1, parameters={**self.parameters, "n_components": 64})

    def settings(self, problem: Problem) -> list[Parameters]:
        """Return the one setting there is, defaults included."""
        kept = self._estimator(0).get_params()
        del kept["random_state"], kept["device"]
        return [kept | {"n_draws": self.n_draws} | ({"keep_aside": True} if self.keep_aside else {})]

    def ratios(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Ratios]:
        """Learn from the sources of every split, and yield the ratios."""
        groups = by_split(trials)
        learning = repr(self), *(trial.seed() for trial in trials)
        if learning not in bench.trained:
            first = [group[0] for group in groups]
            bench.trained[learning] = joblib.Parallel(bench.n_jobs)(map(joblib.delayed(self._learn), first))
        for group, (models, seconds) in zip(groups, bench.trained[learning], strict=True):
            for trial in group:
                for role, evaluation in trial.evaluations.items():
                    started = time.perf_counter()
                    values = closed_form_values(models, evaluation.episode, self.alpha)
                    yield Ratios(trial, role, *values, seconds / len(group) + time.perf_counter() - started, 0)

    def _learn(self, trial: Trial) -> tuple[list[DiscriminantModel], float]:
        started = time.perf_counter()
        split = trial.split
        validation = None if self.keep_aside else split.validation
        models = [self._estimator(draw).pretrain(split.source, validation).model_ for draw in range(self.n_draws)]
        return models, time.perf_counter() - started

    def _estimator(self, draw: int) -> DiscriminantRatioEstimator:
        return DiscriminantRatioEstimator(self.alpha, random_state=draw, **self.parameters)


def closed_form_values(models: Sequence[DiscriminantModel], episode: Episode, alpha: float) -> tuple[Tensor, Tensor]:
    """Return the ratios of models at the support and the query of all tasks, of shape (model, task, n)."""
    support, query = (pair.rows.double().cpu().numpy() for pair in (episode.support, episode.query))
    n_tasks, n_support, n_columns = support.shape
    rows = np.concatenate([support, query], axis=1).reshape(-1, n_columns)
    # A row is in many tasks; comparing rows as bytes is fast.
    _, first, numbers = np.unique(rows.view(f"V{rows.strides[0]}"), return_index=True, return_inverse=True)
    of_support, of_query = [], []
    for model in models:
        placed = model(rows[first])[numbers.reshape(n_tasks, -1)]
        nu, de, others = np.split(placed, [episode.support.n_nu, n_support], axis=1)
        of_support.append(ratio_of_log(np.concatenate(model.fitted_log_ratios(nu, de), axis=1), alpha))
        log_ratio = model.log_ratio(others, Support.of(nu).for_rows(), Support.of(de).for_rows())
        of_query.append(ratio_of_log(log_ratio, alpha))
    device = episode.rows.device
    at_support, at_query = (torch.as_tensor(np.stack(found), device=device) for found in (of_support, of_query))
    return at_support, at_query
