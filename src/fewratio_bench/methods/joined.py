"""Combine members of several methods by their mean, or by the best weights on the validation datasets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Self

import numpy as np
import torch
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from torch import Tensor

from fewratio.core.objectives import shares_of_expectations
from fewratio_bench.methods.base import Bench, Parameters, RatioMethod, Ratios
from fewratio_bench.problems import Problem, Trial

# As a share of the mean square of ratios, so that equal members have unique weights too.
_RIDGE = 1e-6


@dataclass(frozen=True)
class Joined(RatioMethod):
    """A weighted mean of the members of several methods.

    Attributes
    ----------
    parts : tuple of RatioMethod
        The methods.
    stacked : bool
        Whether to use the non-negative weights that are best on the validation datasets of the trial: stacked
        regressions (Breiman 1996). Otherwise all parts have equal weights, as do the members of each part.
    """

    published: str | None = None
    parts: tuple[RatioMethod, ...] = ()
    stacked: bool = False
    alpha: float = 0.5

    def quick(self) -> Self:
        """Return the same of quick parts."""
        return replace(self, parts=tuple(part.quick() for part in self.parts))

    def settings(self, problem: Problem) -> list[Parameters]:
        """Return the settings of the parts, as one."""
        parts = {part.name: setting for part in self.parts for setting in part.settings(problem)}
        return [{"alpha": self.alpha, "stacked": self.stacked, "parts": parts}]

    def ratios(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Ratios]:
        """Yield the weighted mean as that of a single member."""
        found = zip(*(part.ratios(trials, bench) for part in self.parts), strict=True)
        for trial, of_trial in groupby(found, lambda parts: parts[0].trial):
            roles = {parts[0].role: parts for parts in of_trial}
            weights = self._weights(trial, roles["validation"])
            for role, parts in roles.items():
                support, query = (
                    torch.einsum("m,mtn->tn", weights, torch.cat([each.double() for each in values]))[None]
                    for values in zip(*((part.support, part.query) for part in parts), strict=True)
                )
                yield Ratios(trial, role, support, query, sum(part.seconds for part in parts), parts[0].seed)

    def _weights(self, trial: Trial, parts: Sequence[Ratios]) -> Tensor:
        """Return the weight of each member."""
        if self.stacked:
            members = torch.cat([part.query.double() for part in parts])
            shares = trial.evaluations["validation"].episode.query.shares.double()
            return torch.as_tensor(stacked_weights(members, shares, self.alpha), device=members.device)
        counts = [len(part.query) for part in parts]
        equal = [1 / (len(counts) * count) for count in counts for _ in range(count)]
        return torch.tensor(equal, dtype=torch.float64, device=parts[0].query.device)


def stacked_weights(ratios: Tensor, shares: Tensor, alpha: float) -> np.ndarray:
    """Return the weights, not negative, of ratios (member, task, n) whose sum has the least squared error (Eq. 8)."""
    numerator, mixture = shares_of_expectations(shares, alpha)
    n_tasks = ratios.shape[1]
    squares = (torch.einsum("atn,btn->ab", ratios * mixture, ratios) / n_tasks).cpu().numpy()
    linear = ((ratios * numerator).sum((1, 2)) / n_tasks).cpu().numpy()
    # The error is w'Sw / 2 - w'l, with S = RR' half of |R'w - R^-1 l|^2 and a constant.
    root = cholesky(squares + _RIDGE * np.trace(squares) / len(squares) * np.eye(len(squares)), lower=True)
    return np.asarray(nnls(root.T, solve_triangular(root, linear, lower=True))[0])
