"""Figures of matplotlib without decoration that tells nothing."""

from typing import TYPE_CHECKING

from fewratio.charts.style import MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def new_figure(size: tuple[float, float]) -> "Figure":
    """Return an empty figure of a size in inches."""
    from matplotlib.figure import Figure

    # Not through pyplot, which would keep the figure and choose a backend for the whole program.
    return Figure(figsize=size, dpi=120, layout="constrained")


def tidy(panel: "Axes", title: str, xlabel: str = "", ylabel: str = "") -> None:
    """Title a panel and its axes, and take away what tells nothing."""
    panel.set_title(title, loc="left", fontsize=10)
    panel.set(xlabel=xlabel, ylabel=ylabel)
    panel.tick_params(colors=MUTED, length=0)
    panel.spines[["top", "right"]].set_visible(False)
