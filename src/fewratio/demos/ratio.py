"""The ratio demo: train on the synthetic family, compare with RuLSIF and the truth, draw four unseen pairs."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fewratio.charts.curves import DrawnPair, draw_pairs, ratio_grid, spread, style
from fewratio.data.sources.gaussian import gaussian_family
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
class _UnseenPair:
    """Two target datasets, and mean and deviation of the Gaussians that they are drawn from."""

    moments: tuple[float, float, float, float]
    nu: NDArray[np.float64]
    de: NDArray[np.float64]

    @property
    def support(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The instances that are shown; those of a dataset paired with itself do not overlap."""
        return self.nu[:N_SUPPORT], self.de[-N_SUPPORT:]

    def error(self, method: RatioEstimator | None = None) -> float:
        """Give the squared error J of a method, or of the true ratio, at the instances shown on neither side."""
        nu, de = (sample[N_SUPPORT:-N_SUPPORT] for sample in (self.nu, self.de))
        if method is None:
            truth = [gaussian_relative_ratio(x, *self.moments) for x in (nu, de)]
            return relative_squared_error(truth[0], truth[1])
        fitted = method.fit(*self.support)
        return relative_squared_error(fitted.predict(nu), fitted.predict(de))


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
    datasets, means, stds = targets.collection, targets.means, targets.stds
    pairs = [
        _UnseenPair((means[i], stds[i], means[j], stds[j]), datasets[i].X, datasets[j].X)
        for i, j in product(range(N_TARGETS), repeat=2)
    ]
    best = [pair.error() for pair in pairs]
    regrets = {
        name: float(np.mean([pair.error(method) for pair in pairs]) - np.mean(best)) for name, method in methods.items()
    }
    # Chosen by the truth and not by anyone's result.
    pictures = _draw(folder, [pairs[number] for number in spread(best)], methods)
    return RatioDemo(regrets, len(pairs), pictures, learned.history_.best_step, learned.history_.seconds)


def _draw(folder: Path, pairs: list[_UnseenPair], methods: dict[str, RatioEstimator]) -> tuple[Path, ...]:
    drawn = []
    for pair in pairs:
        nu, de = pair.support
        x = ratio_grid(pair.moments)[:, None]
        curves = {name: method.fit(nu, de).predict(x) for name, method in methods.items()}
        drawn.append(DrawnPair(pair.moments, nu[:, 0], de[:, 0], curves))
    figure = draw_pairs(drawn, "Relative density ratio of four unseen pairs, ten instances each")
    paths = tuple(folder / f"ratio.{suffix}" for suffix in ("png", "svg"))
    with style():
        for path in paths:
            figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths
