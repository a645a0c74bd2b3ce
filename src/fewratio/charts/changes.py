"""The picture of a series and its changes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewratio.charts.style import FIRST, GRID, MUTED, OUTLIER, SECOND, new_figure, tidy
from fewratio.core.shapes import Floats, Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PANELS = 4
# So many places of changes can be read below a panel.
_MOST_LABELS = 12


def draw_changes(
    columns: Mapping[str, tuple[Floats, Floats]],
    points: Numbers,
    times: NDArray[Any] | None = None,
    scores: tuple[Floats, float] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the columns of a series with the level of each segment, and the scores of a test; give the first panel.

    Parameters
    ----------
    columns : mapping of str to pair of ndarray of shape (n,)
        By name, the values and what is no change in them (season, trend); the first few are drawn.
    points : ndarray of int
        The first rows after changes.
    times : ndarray of shape (n,), optional
        When the rows came; by default they are counted.
    scores : (ndarray of shape (n,), float), optional
        The scores of a test, NaN where there are none, and its threshold.
    ax : matplotlib Axes, optional
        Where to draw the first column alone.
    """
    shown = list(columns)[: 1 if ax is not None else _MOST_PANELS]
    if ax is None:
        n_panels = len(shown) + (scores is not None)
        panels = new_figure((9, 1.2 + 1.6 * n_panels), "constrained").subplots(n_panels, sharex=True, squeeze=False)
        axes = list(panels[:, 0])
    else:
        axes = [ax]
    moments = np.arange(len(columns[shown[0]][0])) if times is None else times
    for panel, name in zip(axes, shown, strict=False):
        _draw_column(panel, moments, *columns[name], points)
        tidy(panel, name)
    if scores is not None and ax is None:
        there = np.flatnonzero(~np.isnan(scores[0]))
        axes[-1].plot(moments[there], scores[0][there], color=SECOND, lw=1)
        axes[-1].axhline(scores[1], color=MUTED, ls="--", lw=1)
        tidy(axes[-1], "score; dashed: threshold")
    for panel in axes:
        for point in points:
            panel.axvline(moments[point], color=OUTLIER, lw=1)
    rest = len(columns) - len(shown)
    if rest and ax is None:
        axes[len(shown) - 1].set_title(f"{shown[-1]} (and {rest} more)", loc="left", fontsize=10)
    if 0 < len(points) <= _MOST_LABELS and ax is None:
        for point in points:
            text = str(moments[point]).partition("T")[0]
            axes[0].annotate(text, (moments[point], 1), xycoords=("data", "axes fraction"), fontsize=7, color=OUTLIER)
    axes[-1].set_xlabel("row" if times is None else "")
    return axes[0]


def _draw_column(panel: "Axes", moments: NDArray[Any], values: Floats, background: Floats, points: Numbers) -> None:
    """Draw a column, and the level of each segment over it."""
    panel.plot(moments, values, color=FIRST, lw=0.8)
    panel.grid(axis="y", color=GRID, lw=0.5)
    for start, stop in zip([0, *points], [*points, len(values)], strict=True):
        part = slice(start, stop)
        level = background[part] + (values - background)[part].mean()
        panel.plot(moments[part], level, color=MUTED, lw=1.5)
