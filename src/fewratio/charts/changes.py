"""The picture of a series and its changes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewratio.charts.style import FIRST, GRID, INK, MUTED, OUTLIER, SECOND, new_figure, shortened, tidy
from fewratio.core.shapes import Floats, Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PANELS = 4
# Changes that can be named above a panel: the lines of text, and the width of a name there.
_N_TIERS, _NAME_SHARE = 4, 0.14


def draw_changes(
    columns: Mapping[str, tuple[Floats, Floats]],
    points: Numbers,
    moments: NDArray[Any],
    x_label: str = "row",
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
    moments : ndarray of shape (n,)
        When the rows came.
    x_label : str
        What the moments are.
    scores : (ndarray of shape (n,), float), optional
        The scores of a test, NaN where there are none, and its threshold.
    ax : matplotlib Axes, optional
        Where to draw the first column alone.
    """
    shown = list(columns)[: 1 if ax is not None else _MOST_PANELS]
    if ax is None:
        n_panels = len(shown) + (scores is not None)
        axes = list(new_figure((9, 1.4 + 1.6 * n_panels)).subplots(n_panels, sharex=True, squeeze=False)[:, 0])
    else:
        axes = [ax]
    for panel, name in zip(axes, shown, strict=False):
        _draw_column(panel, moments, *columns[name], points)
        tidy(panel, shortened(column_title(name), 80))
    if scores is not None and ax is None:
        there = np.flatnonzero(~np.isnan(scores[0]))
        axes[-1].plot(moments[there], scores[0][there], color=SECOND, lw=1, label="score")
        axes[-1].axhline(scores[1], color=MUTED, ls="--", lw=1, label="threshold")
        tidy(axes[-1], "score of the test")
    for panel in axes:
        for point in points:
            panel.axvline(moments[point], color=OUTLIER, lw=1, ls=(0, (6, 2)))
    axes[-1].set_xlabel(x_label)
    if moments.dtype.kind == "M":
        from matplotlib.dates import ConciseDateFormatter

        axis = axes[-1].xaxis
        axis.set_major_formatter(ConciseDateFormatter(axis.get_major_locator()))
    if ax is None:
        _name_changes(axes[0], moments, points)
        rest = len(columns) - len(shown)
        note = f"; {rest} more columns are not shown" if rest else ""
        axes[0].figure.supxlabel(f"black: level of each segment; dashed: changes{note}", fontsize=9, color=MUTED)
    return axes[0]


def _draw_column(panel: "Axes", moments: NDArray[Any], values: Floats, background: Floats, points: Numbers) -> None:
    """Draw a column, and the level of each segment over it."""
    panel.plot(moments, values, color=FIRST, lw=0.8)
    panel.grid(axis="y", color=GRID, lw=0.5)
    for start, stop in zip([0, *points], [*points, len(values)], strict=True):
        part = slice(start, stop)
        level = background[part] + (values - background)[part].mean()
        panel.plot(moments[part], level, color=INK, lw=1.5)


def _name_changes(panel: "Axes", moments: NDArray[Any], points: Numbers) -> None:
    """Write when changes were above a panel and below its title, in several lines where they are near each other."""
    names = names_of_moments(moments[points])
    span, ends = moments[-1] - moments[0], [-np.inf] * _N_TIERS
    used = 0
    for point, name in zip(points, names, strict=True):
        share = float((moments[point] - moments[0]) / span)
        free = [tier for tier in range(_N_TIERS) if share - ends[tier] > _NAME_SHARE]
        if free:
            ends[free[0]], used = share, max(used, free[0] + 1)
            offset, side = (0, 2 + 9 * free[0]), "right" if share > 1 - _NAME_SHARE else "left"
            panel.annotate(
                name, (moments[point], 1), offset, ("data", "axes fraction"), "offset points", fontsize=7,
                color=OUTLIER, ha=side,
            )  # fmt: skip
    panel.set_title(panel.get_title(loc="left"), loc="left", fontsize=10, pad=6 + 9 * used)


def column_title(name: str) -> str:
    """Return what a column is called; those of an array have numbers for names."""
    return f"column {name}" if name.isdecimal() else name


def names_of_moments(moments: NDArray[Any]) -> list[str]:
    """Write dates to the day, minute or second, whichever tells all, and numbers briefly."""
    if moments.dtype.kind != "M":
        return [f"{moment:.6g}" for moment in moments.tolist()]
    unit = next((unit for unit in "Dm" if (moments.astype(f"datetime64[{unit}]") == moments).all()), "s")
    return [str(moment).replace("T", " ") for moment in moments.astype(f"datetime64[{unit}]")]
