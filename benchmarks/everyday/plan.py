"""How much to measure, and with how many processes."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config


class Plan(NamedTuple):
    """What a run is told.

    Attributes
    ----------
    run : joblib.Parallel
        Runs what may run at once.
    quick : bool
        Whether to measure little, only to see that it runs.
    seed : int
        Which pairs and series are drawn.
    draws : int or None
        How many of them per row of a table, if not as many as usual.
    kinds : sequence of str or None
        Which kinds of series to draw, if not all.
    modes : sequence of str or None
        In which modes to look for changes in them, if not in all.
    """

    run: Parallel
    quick: bool = False
    seed: int = 0
    draws: int | None = None
    kinds: Sequence[str] | None = None
    modes: Sequence[str] | None = None

    def select(self, kinds: Mapping[str, Any]) -> dict[str, Any]:
        """Return the kinds to draw."""
        return {name: each for name, each in kinds.items() if self.kinds is None or name in self.kinds}

    def select_modes(self, modes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the modes to measure."""
        return {name: each for name, each in modes.items() if self.modes is None or name in self.modes}

    def count(self, few: int, usual: int) -> int:
        """Return how many to draw where these are the numbers of a quick and of a usual run."""
        return self.draws or (few if self.quick else usual)

    def seeds(self, n: int) -> range:
        """Return seeds of draws; other runs have none in common."""
        return range(10_000 * self.seed, 10_000 * self.seed + n)


def run_draws(draw: Callable[..., Any], n: int, seed: int, jobs: int, *arguments: Any) -> list[Any]:
    """Return what `draw` returns for `n` random generators, the same for any number of jobs."""
    rngs = np.random.default_rng(seed).spawn(n)
    with parallel_config("loky", inner_max_num_threads=1):
        return Parallel(jobs)(delayed(_run_quietly)(draw, rng, *arguments) for rng in rngs)


def _run_quietly(draw: Callable[..., Any], *arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return draw(*arguments)
