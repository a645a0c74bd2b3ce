"""Colours, and figures without decoration that tells nothing."""

from typing import TYPE_CHECKING, Literal

from fewratio.lazy import import_home

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The p-value up to which a difference is called one, in pictures, words and warnings.
LEVEL = 0.05
FIRST, SECOND, OUTLIER, MUTED, GRID = "#009e73", "#9a6fb0", "#d55e00", "#6b7280", "#e5e7eb"


def new_figure(size: tuple[float, float], layout: Literal["constrained", "tight"] | None = "tight") -> "Figure":
    """Give an empty figure of a size in inches."""
    # Not through pyplot, which would keep the figure and choose a backend for the whole program.
    return import_home("matplotlib.figure", "Drawing").Figure(figsize=size, dpi=120, layout=layout)


def tidy(panel: "Axes", title: str, xlabel: str = "", ylabel: str = "") -> None:
    """Title a panel and its axes, and take away what tells nothing."""
    panel.set_title(title, loc="left", fontsize=10)
    panel.set(xlabel=xlabel, ylabel=ylabel)
    panel.tick_params(colors=MUTED, length=0)
    panel.spines[["top", "right"]].set_visible(False)
