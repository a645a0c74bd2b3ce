"""The ratio demo: train on the synthetic family, compare with RuLSIF and the truth, draw four unseen pairs."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fewratio.data.sources.gaussian import GaussianFamily, gaussian_family
from fewratio.demos.picture import DrawnPair, draw_pairs, ratio_grid, spread, style
from fewratio.estimators import MetaRatioEstimator, Pairs, RatioEstimator, RuLSIF, Training
from fewratio.estimators.quantities import gaussian_relative_ratio, relative_squared_error

N_SOURCES, N_VALIDATION, N_TARGETS, N_SUPPORT = 600, 10, 20, 10


@dataclass(frozen=True)
class RatioDemo:
    """What the demo found: mean regret to the true ratio by method, and where the pictures are."""

    regrets: dict[str, float]
    n_pairs: int
    pictures: tuple[Path, ...]
    best_step: int
    seconds: float


@dataclass(frozen=True)
class UnseenPair:
    """Two target datasets with the truth behind them, cut into support and test instances."""

    moments: tuple[float, float, float, float]
    nu: NDArray[np.float64]
    de: NDArray[np.float64]

    @property
    def support(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The instances that are shown."""
        return self.nu[:N_SUPPORT], self.de[-N_SUPPORT:]

    def true_ratio(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the true relative ratio."""
        return gaussian_relative_ratio(x, *self.moments)

    def error(self, ratio: NDArray[np.float64]) -> float:
        """Give J of ratios at the test instances, numerator's first."""
        n = len(self.test) // 2
        return relative_squared_error(ratio[:n], ratio[n:])

    @property
    def test(self) -> NDArray[np.float64]:
        """Instances that are shown on neither side, the numerator's first and as many of the denominator's."""
        return np.concatenate([sample[N_SUPPORT:-N_SUPPORT] for sample in (self.nu, self.de)])


def run_ratio_demo(folder: Path, steps: int, seed: int) -> RatioDemo:
    """Train, compare and draw.

    Parameters
    ----------
    folder : Path
        Where the pictures go; it must be there.
    steps : int
        Training steps.
    seed : int
        Seed of data and training.
    """
    rng = np.random.default_rng(seed)
    sources, validation, targets = (gaussian_family(n, random_state=rng) for n in (N_SOURCES, N_VALIDATION, N_TARGETS))
    learned = MetaRatioEstimator(
        episodes=Pairs(n_support=N_SUPPORT), training=Training(max_steps=steps), random_state=seed
    )
    learned.pretrain(sources.collection, validation.collection)
    methods: dict[str, RatioEstimator] = {"meta-learned": learned, "RuLSIF": RuLSIF()}

    pairs = _unseen_pairs(targets)
    regrets = {name: float(np.mean([_regret(method, pair) for pair in pairs])) for name, method in methods.items()}
    pictures = _draw(folder, _spread(pairs), methods)
    return RatioDemo(regrets, len(pairs), pictures, learned.history_.best_step, learned.history_.seconds)


def _unseen_pairs(family: GaussianFamily) -> list[UnseenPair]:
    """Give all ordered pairs; the shown instances of a pair of one dataset with itself do not overlap."""
    datasets, means, stds = family.collection, family.means, family.stds
    return [
        UnseenPair((means[i], stds[i], means[j], stds[j]), datasets[i].X, datasets[j].X)
        for i in range(len(datasets))
        for j in range(len(datasets))
    ]


def _spread(pairs: list[UnseenPair]) -> list[UnseenPair]:
    """Choose four pairs by the truth and not by anyone's result."""
    return [pairs[number] for number in spread([pair.error(pair.true_ratio(pair.test)) for pair in pairs])]


def _regret(method: RatioEstimator, pair: UnseenPair) -> float:
    estimate = method.fit(*pair.support).predict(pair.test)
    return pair.error(estimate) - pair.error(pair.true_ratio(pair.test))


def _draw(folder: Path, pairs: list[UnseenPair], methods: dict[str, RatioEstimator]) -> tuple[Path, ...]:
    figure = draw_pairs(
        [_drawn(pair, methods) for pair in pairs], "Relative density ratio of four unseen pairs, ten instances each"
    )
    paths = tuple(folder / f"ratio.{suffix}" for suffix in ("png", "svg"))
    with style():
        for path in paths:
            figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths


def _drawn(pair: UnseenPair, methods: dict[str, RatioEstimator]) -> DrawnPair:
    nu, de = pair.support
    x = ratio_grid(pair.moments)[:, None]
    curves = {name: method.fit(nu, de).predict(x) for name, method in methods.items()}
    return DrawnPair(pair.moments, nu[:, 0], de[:, 0], curves)
