"""The ratio demo: train on the synthetic family, compare with RuLSIF and the truth, draw four unseen pairs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fewratio.data.sources.gaussian import GaussianFamily, gaussian_family
from fewratio.estimators import MetaRatioEstimator, RatioEstimator, RuLSIF
from fewratio.estimators.quantities import gaussian_relative_ratio, relative_squared_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_SOURCES, N_VALIDATION, N_TARGETS, N_SUPPORT = 600, 10, 20, 10
INK, MUTED, GRID = "#1f2328", "#6b7280", "#e5e7eb"
TRUE, LEARNED, KERNEL = "#111827", "#0072b2", "#d55e00"
NUMERATOR, DENOMINATOR = "#009e73", "#9a6fb0"


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
    learned = MetaRatioEstimator(n_support=N_SUPPORT, max_steps=steps, random_state=seed)
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
    """Choose four pairs from hard to tell apart to easy, by the truth and not by anyone's result."""
    ordered = sorted(pairs, key=lambda pair: -pair.error(pair.true_ratio(pair.test)))
    return [ordered[round(share * (len(ordered) - 1))] for share in (0.2, 0.45, 0.7, 0.95)]


def _regret(method: RatioEstimator, pair: UnseenPair) -> float:
    estimate = method.fit(*pair.support).predict(pair.test)
    return pair.error(estimate) - pair.error(pair.true_ratio(pair.test))


def _draw(folder: Path, pairs: list[UnseenPair], methods: dict[str, RatioEstimator]) -> tuple[Path, ...]:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.family": "sans-serif", "font.size": 10, "text.color": INK, "svg.fonttype": "none"}):
        figure, panels = plt.subplots(2, 2, figsize=(9.6, 6.6), sharey=True)
        for panel, pair in zip(panels.flat, pairs, strict=True):
            _draw_pair(panel, pair, methods)
        for panel in panels[:, 0]:
            panel.set_ylabel("relative density ratio", color=MUTED)
        for panel in panels[1]:
            panel.set_xlabel("x", color=MUTED)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.suptitle(
            "Relative density ratio of four unseen pairs, ten instances each", x=0.02, ha="left", weight="bold"
        )
        figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.012, 0.96), ncols=5, frameon=False)
        figure.tight_layout(rect=(0, 0, 1, 0.945))
        paths = tuple(folder / f"ratio.{suffix}" for suffix in ("png", "svg"))
        for path in paths:
            figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
    return paths


def _draw_pair(panel: "Axes", pair: UnseenPair, methods: dict[str, RatioEstimator]) -> None:
    nu, de = pair.support
    nu_mean, nu_std, de_mean, de_std = pair.moments
    low, high = min(nu_mean - 3 * nu_std, de_mean - 3 * de_std), max(nu_mean + 3 * nu_std, de_mean + 3 * de_std)
    x = np.linspace(low, high, 400)[:, None]
    panel.plot(x, pair.true_ratio(x), color=TRUE, lw=2.2, label="true")
    for (name, method), colour, style in zip(methods.items(), (LEARNED, KERNEL), ("-", (0, (5, 2))), strict=True):
        panel.plot(x, method.fit(nu, de).predict(x), color=colour, lw=2, ls=style, label=name)
    for sample, colour, level, name in (
        (nu, NUMERATOR, -0.14, "numerator's"),
        (de, DENOMINATOR, -0.28, "denominator's"),
    ):
        panel.plot(sample, np.full(len(sample), level), "|", ms=9, mew=1.6, color=colour, label=f"{name} instances")
    panel.set_title(
        f"N({nu_mean:.1f}, {nu_std:.1f}²) over N({de_mean:.1f}, {de_std:.1f}²)", loc="left", fontsize=10, color=MUTED
    )
    panel.set_ylim(-0.4, 2.5)
    panel.set_yticks([0, 0.5, 1, 1.5, 2])
    panel.grid(axis="y", color=GRID, lw=0.8)
    panel.set_axisbelow(True)
    panel.tick_params(colors=MUTED, length=0)
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)
    panel.spines["bottom"].set_color(GRID)
