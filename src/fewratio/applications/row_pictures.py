"""Pictures of rows: odd ones, weights, ratios."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fewratio.applications.pictures import FIRST, GRID, MUTED, SECOND, new_figure, tidy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fewratio.applications.explanation import RowExplanation
    from fewratio.applications.weights import ImportanceWeights
    from fewratio.data.tables import Table

_ODD = "#d55e00"
_N_COLUMNS = 8


def draw_outliers(margins: NDArray[np.float64], explained: "Sequence[tuple[int, RowExplanation]]") -> "Figure":
    """Draw all rows from odd to normal, and in what the oddest differ from their nearest normals.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        Scores less the threshold.
    explained : sequence of (int, RowExplanation)
        The oddest rows, the oddest first, and why.
    """
    figure = new_figure((12, 4.2))
    ranks, reasons = figure.subplots(1, 2, width_ratios=[1, 1.25])
    _draw_ranks(ranks, margins)
    _draw_reasons(reasons, explained)
    figure.tight_layout()
    return figure


def _draw_ranks(panel: "Axes", margins: NDArray[np.float64]) -> None:
    order = np.argsort(margins, kind="stable")
    places, sorted_margins = np.arange(len(order)), margins[order]
    odd = sorted_margins < 0
    panel.axhline(0, color=MUTED, lw=1, ls="--", zorder=0)
    panel.text(len(order) - 1, 0, "threshold", color=MUTED, fontsize=9, ha="right", va="bottom")
    panel.plot(places[~odd], sorted_margins[~odd], "o", ms=4, color=FIRST, label=f"normal ({(~odd).sum()})")
    panel.plot(places[odd], sorted_margins[odd], "o", ms=5, color=_ODD, label=f"odd ({odd.sum()})")
    panel.set_title("score of each row, less the threshold", loc="left", fontsize=10)
    panel.set_xlabel("rows, the oddest first")
    panel.legend(frameon=False, loc="upper left")
    tidy(panel)


def _draw_reasons(panel: "Axes", explained: "Sequence[tuple[int, RowExplanation]]") -> None:
    shown = explained
    differences = [dict(zip(reason.columns, reason.differences, strict=True)) for _, reason in shown]
    largest = {column: max(abs(row[column]) for row in differences) for column in differences[0]}
    columns = sorted(largest, key=lambda column: -largest[column])[:_N_COLUMNS]
    values = np.array([[row[column] for column in columns] for row in differences])
    limit = max(float(np.abs(values).max()), 1e-9)
    image = panel.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
    panel.set_yticks(range(len(shown)), [f"row {row}" for row, _ in shown])
    panel.set_xticks(range(len(columns)), [str(column) for column in columns], rotation=35, ha="right")
    panel.set_title("the oddest rows less their nearest normals, in deviations of a column", loc="left", fontsize=10)
    panel.figure.colorbar(image, ax=panel, pad=0.02).outline.set_visible(False)
    panel.tick_params(colors=MUTED, length=0)


def draw_weights(result: "ImportanceWeights") -> "Figure":
    """Draw the weights from large to small, and what they are worth."""
    figure = new_figure((6.4, 3.8))
    panel = figure.subplots()
    places = np.arange(1, len(result) + 1)
    panel.fill_between(places, np.sort(result.weights)[::-1], step="mid", color=SECOND, alpha=0.35, lw=0)
    panel.plot(places, np.sort(result.weights)[::-1], "o", ms=3, color=SECOND)
    panel.axvline(
        result.effective_sample_size, color=FIRST, lw=2, label=f"worth {result.effective_sample_size:.1f} rows"
    )
    panel.axhline(result.weights.mean(), color=GRID, zorder=0)
    panel.set_title(
        f"weights of {len(result)} rows; overlap {result.overlap:.2f}, {result.n_clipped} clipped",
        loc="left",
        fontsize=10,
    )
    panel.set_xlabel("training rows, the heaviest first")
    panel.set_ylim(bottom=0)
    panel.legend(frameon=False)
    tidy(panel)
    figure.tight_layout()
    return figure


def draw_ratios(ratios: NDArray[np.float64], table: "Table", title: str) -> "Figure":
    """Draw ratios at rows: along the column where there is one, else from low to high.

    Parameters
    ----------
    ratios : ndarray of shape (n,)
        The ratios.
    table : Table of n rows
        The rows.
    title : str
        What is drawn.
    """
    figure = new_figure((6.4, 3.8))
    panel = figure.subplots()
    if table.n_features == 1:
        places = table.to_numpy()[:, 0]
        panel.set_xlabel("value" if table.feature_names is None else table.feature_names[0])
    else:
        places, ratios = np.arange(len(ratios)), np.sort(ratios)
        panel.set_xlabel("rows, from low ratio to high")
    panel.axhline(1, color=GRID, zorder=0)
    panel.plot(places, ratios, "o", ms=4, color=FIRST)
    panel.set_title(title, loc="left", fontsize=10)
    tidy(panel)
    figure.tight_layout()
    return figure
