"""The mean of what other methods say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Self

import numpy as np

from fewratio.core.objectives import RelativeSquaredError
from fewratio_bench.methods.base import Bench, Parameters, RatioMethod, Ratios
from fewratio_bench.problems import Problem, Trial


@dataclass(frozen=True)
class Mean(RatioMethod):
    """The mean of two methods' ratios.

    Attributes
    ----------
    parts : tuple of RatioMethod
        The methods.
    share : float, optional
        The share of the first; by default what is best on the validation datasets, in every trial.
    """

    published: str | None = None
    parts: tuple[RatioMethod, ...] = ()
    share: float | None = 0.5
    alpha: float = 0.5

    def quick(self) -> Self:
        """Give the mean of quick parts."""
        return replace(self, parts=tuple(part.quick() for part in self.parts))

    def settings(self, problem: Problem) -> list[Parameters]:
        """Give the settings of the parts, as one."""
        parts = {part.name: setting for part in self.parts for setting in part.settings(problem)}
        return [{"alpha": self.alpha, "share": self.share, "parts": parts}]

    def ratios(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Ratios]:
        """Give the mean of the parts' ratios."""
        found = zip(*(part.ratios(trials, bench) for part in self.parts), strict=True)
        for trial, of_trial in groupby(found, lambda parts: parts[0].trial):
            roles = {parts[0].role: parts for parts in of_trial}
            share = self._best_share(trial, *roles["validation"]) if self.share is None else self.share
            for role, (first, second) in roles.items():
                support, query = (
                    share * a + (1 - share) * b
                    for a, b in ((first.support, second.support), (first.query, second.query))
                )
                yield Ratios(trial, role, support, query, first.seconds + second.seconds, first.seed)

    def _best_share(self, trial: Trial, first: Ratios, second: Ratios) -> float:
        """Give the share with the least squared error, which is a parabola of it."""
        shares, loss = trial.evaluations["validation"].episode.query.shares.double(), RelativeSquaredError(self.alpha)
        half = (first.query + second.query) / 2
        at_1, at_half, at_0 = (loss(each.double(), shares).mean().item() for each in (first.query, half, second.query))
        curvature = at_0 + at_1 - 2 * at_half
        # Without one the two are the same.
        return float(np.clip((at_0 - at_1) / (4 * curvature) + 0.5, 0, 1)) if curvature > 0 else 0.5
