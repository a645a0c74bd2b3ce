"""Colours, names, and figures without decoration that tells nothing."""

from typing import TYPE_CHECKING, Literal

from fewratio.lazy import import_home

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIRST, SECOND, OUTLIER, MUTED, GRID = "#009e73", "#9a6fb0", "#d55e00", "#6b7280", "#e5e7eb"
INK = "#1f2328"
# Besides their colours, so that the samples can be told apart without these.
MARKERS = {FIRST: "o", SECOND: "^", OUTLIER: "X"}


def new_figure(size: tuple[float, float], layout: Literal["constrained", "tight"] | None = "constrained") -> "Figure":
    """Give an empty figure of a size in inches."""
    # Not through pyplot, which would keep the figure and choose a backend for the whole program.
    return import_home("matplotlib.figure", "Drawing").Figure(figsize=size, dpi=120, layout=layout)


def tidy(panel: "Axes", title: str, xlabel: str = "", ylabel: str = "", *, legend: bool = True) -> None:
    """Title a panel and its axes, put its legend below the title, and take away what tells nothing.

    A legend covers no points there. Panels side by side line up if they have a legend, or two lines of title.
    """
    labels = panel.get_legend_handles_labels()[1] if legend else []
    if labels:
        panel.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=len(labels), frameon=False, fontsize=9, borderaxespad=0.2,
            borderpad=0.2, columnspacing=1, handlelength=1.4, handletextpad=0.5,
        )  # fmt: skip
    panel.set_title(title, loc="left", fontsize=10, pad=20 if labels else 6)
    panel.set(xlabel=xlabel, ylabel=ylabel)
    panel.tick_params(colors=MUTED, length=0)
    panel.spines[["top", "right"]].set_visible(False)


def entitle(figure: "Figure", title: str) -> None:
    """Put a title above all panels."""
    figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=11)


def shortened(name: object, length: int = 40) -> str:
    """Cut out the middle of a long name: names of columns and files often differ at their ends."""
    text = str(name)
    half = (length - 1) // 2
    return text if len(text) <= length else f"{text[:half].rstrip()}…{text[-half:].lstrip()}"


def wrapped(name: object, width: int = 22) -> str:
    """Shorten a name and lay it in two lines."""
    text = shortened(name, 2 * width)
    cut = max(text.rfind(" ", width // 2, width + 1), 0) or width
    return text if len(text) <= width else f"{text[:cut]}\n{text[cut:].lstrip()}"
