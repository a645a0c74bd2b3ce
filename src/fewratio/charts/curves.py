"""Ratios in one dimension: the truth, what methods say, and the instances they saw."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewratio.charts.style import FIRST, GRID, MUTED, SECOND, new_figure, tidy
from fewratio.core.shapes import Floats
from fewratio.estimators.quantities import gaussian_relative_ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# In the order of the curves; the first one, which matters most, is a solid line.
_CURVES = (("#0072b2", "-"), ("#d55e00", (0, (5, 2))), ("#cc79a7", (0, (1, 1.5))))


@dataclass(frozen=True)
class DrawnPair:
    """Two Gaussians, instances of both, and ratios on a grid.

    Attributes
    ----------
    moments : (float, float, float, float)
        Mean and standard deviation of the numerator, then of the denominator.
    nu, de : sequence of float
        The instances that were shown.
    curves : dict
        By the name of a method, its ratio at every point of `grid`.
    """

    moments: tuple[float, float, float, float]
    nu: Sequence[float] | Floats
    de: Sequence[float] | Floats
    curves: Mapping[str, Sequence[float] | Floats]

    @property
    def grid(self) -> Floats:
        """Where the ratios are drawn."""
        return ratio_grid(self.moments)


def ratio_grid(moments: tuple[float, float, float, float]) -> Floats:
    """Give points that cover both Gaussians."""
    nu_mean, nu_std, de_mean, de_std = moments
    low, high = min(nu_mean - 3 * nu_std, de_mean - 3 * de_std), max(nu_mean + 3 * nu_std, de_mean + 3 * de_std)
    return np.linspace(low, high, 400)


def spread(errors: Sequence[float]) -> list[int]:
    """Choose four of some pairs, from hard to tell apart to easy, by the error of the true ratio (less is easier)."""
    ordered = sorted(range(len(errors)), key=lambda number: -errors[number])
    return [ordered[round(share * (len(ordered) - 1))] for share in (0.2, 0.45, 0.7, 0.95)]


def style() -> AbstractContextManager[None]:
    """Give the context to draw and to save in."""
    import matplotlib

    return matplotlib.rc_context({"font.family": "sans-serif", "font.size": 10, "svg.fonttype": "none"})


def draw_pairs(pairs: Sequence[DrawnPair], title: str, note: str = "") -> "Figure":
    """Draw four pairs, each with the true ratio; a note goes below."""
    with style():
        figure = new_figure((9.6, 6.6), layout=None)
        panels = figure.subplots(2, 2, sharey=True)
        for panel, pair in zip(panels.flat, pairs, strict=True):
            _draw_pair(panel, pair)
        for panel in panels[:, 0]:
            panel.set_ylabel("relative density ratio", color=MUTED)
        for panel in panels[1]:
            panel.set_xlabel("x", color=MUTED)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.suptitle(title, x=0.02, ha="left", weight="bold")
        figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.012, 0.96), ncols=len(labels), frameon=False)
        figure.text(0.02, 0.012, note, color=MUTED, fontsize=8)
        figure.tight_layout(rect=(0, 0.025 * len(note.splitlines()), 1, 0.945))
    return figure


def _draw_pair(panel: "Axes", pair: DrawnPair) -> None:
    nu_mean, nu_std, de_mean, de_std = pair.moments
    true = gaussian_relative_ratio(pair.grid[:, None], *pair.moments)
    panel.plot(pair.grid, true, color="black", lw=2.2, label="true")
    for (name, ratio), (colour, line) in zip(pair.curves.items(), _CURVES, strict=False):
        panel.plot(pair.grid, ratio, color=colour, lw=2, ls=line, label=name)
    for sample, colour, level, name in (
        (pair.nu, FIRST, -0.14, "numerator's"),
        (pair.de, SECOND, -0.28, "denominator's"),
    ):
        panel.plot(sample, np.full(len(sample), level), "|", ms=9, mew=1.6, color=colour, label=f"{name} instances")
    tidy(panel, f"N({nu_mean:.1f}, {nu_std:.1f}²) over N({de_mean:.1f}, {de_std:.1f}²)", legend=False)
    panel.set(ylim=(-0.4, 2.5), yticks=[0, 0.5, 1, 1.5, 2])
    panel.grid(axis="y", color=GRID, lw=0.8)
    panel.set_axisbelow(True)
