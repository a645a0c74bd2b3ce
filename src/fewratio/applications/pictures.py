"""Pictures of comparisons, and the pen that all pictures share. matplotlib is imported when one is drawn."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fewratio.errors import FewRatioError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fewratio.applications.comparison import ComparisonResult
    from fewratio.applications.distance_matrix import AllPairsResult

FIRST, SECOND, MUTED, GRID = "#009e73", "#9a6fb0", "#6b7280", "#e5e7eb"
_N_COLUMNS = 10
# More names than that cannot be read.
_N_LABELS = 60


def draw_comparison(result: "ComparisonResult") -> "Figure":
    """Draw the ratio at the rows of both samples, the test, and the columns that differ most."""
    figure = new_figure((12, 3.8))
    rows, test, columns = figure.subplots(1, 3)
    _draw_rows(rows, result)
    _draw_test(test, result)
    _draw_columns(columns, result)
    for panel in (rows, test, columns):
        tidy(panel)
    figure.suptitle(f"{result.names[0]} and {result.names[1]}", x=0.01, ha="left", weight="bold")
    figure.tight_layout()
    return figure


def draw_all_pairs(result: "AllPairsResult") -> "Figure":
    """Draw a heat map of the divergences in the order of clustering."""
    order = result.order()
    figure = new_figure((7, 6))
    panel = figure.subplots()
    image = panel.imshow(result.divergences[np.ix_(order, order)], cmap="viridis", interpolation="nearest")
    figure.colorbar(image, ax=panel, label="divergence")
    if len(order) <= _N_LABELS:
        names = [result.names[i] for i in order]
        panel.set_xticks(range(len(order)), names, rotation=90)
        panel.set_yticks(range(len(order)), names)
    panel.set_xlabel("denominator")
    panel.set_ylabel("numerator")
    figure.tight_layout()
    return figure


def new_figure(size: tuple[float, float]) -> "Figure":
    """Give an empty figure of a size in inches."""
    try:
        # Not through pyplot, which would keep the figure and choose a backend for the whole program.
        from matplotlib.figure import Figure
    except ImportError as error:
        raise FewRatioError(
            "Drawing needs matplotlib, which is not installed. pip install 'fewratio[plot]'."
        ) from error
    return Figure(figsize=size, dpi=120)


def _draw_rows(panel: "Axes", result: "ComparisonResult") -> None:
    for ratios, colour, name in zip((result.ratios_a, result.ratios_b), (FIRST, SECOND), _labels(result), strict=True):
        # Where a row stands in its sample from low ratio to high: samples of any size fill the panel.
        share = (np.arange(len(ratios)) + 0.5) / len(ratios)
        panel.plot(share, np.sort(ratios), "o", ms=4, color=colour, label=name)
    panel.axhline(1, color=GRID, zorder=0)
    panel.set_title(f"ratio {result.names[0]}/{result.names[1]} at the rows", loc="left", fontsize=10)
    panel.set_xlabel("rows of a sample, from low ratio to high")
    # On a ground of its own: the line of ratio 1 runs where there is room for it.
    panel.legend(facecolor="white", framealpha=1, edgecolor="none")


def _draw_test(panel: "Axes", result: "ComparisonResult") -> None:
    title = "no test" if result.p_value is None else f"p = {result.p_value:.3g}"
    if len(result.null):
        panel.hist(result.null, bins=min(40, max(5, len(result.null) // 10)), color=GRID, edgecolor=MUTED, lw=0.5)
    panel.axvline(result.statistic, color=FIRST, lw=2, label="observed")
    panel.set_title(title, loc="left", fontsize=10)
    panel.set_xlabel("divergence, mean of both directions")
    panel.set_ylabel("arrangements")
    panel.legend(frameon=False)


def _draw_columns(panel: "Axes", result: "ComparisonResult") -> None:
    scores = result.column_scores
    top = np.argsort(-scores, kind="stable")[:_N_COLUMNS][::-1]
    names: list[Any] = [i if result.feature_names is None else result.feature_names[i] for i in top]
    panel.barh(range(len(top)), scores[top], color=SECOND)
    panel.set_yticks(range(len(top)), [str(name) for name in names])
    panel.set_title("fall of the divergence without a column", loc="left", fontsize=10)


def _labels(result: "ComparisonResult") -> list[str]:
    sizes = (len(result.ratios_a), len(result.ratios_b))
    return [f"{name} ({size})" for name, size in zip(result.names, sizes, strict=True)]


def tidy(panel: "Axes") -> None:
    """Take away what tells nothing."""
    panel.tick_params(colors=MUTED, length=0)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
