"""Pictures of comparisons, outliers, weights and ratios."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fewratio.charts.style import FIRST, GRID, LEVEL, MUTED, OUTLIER, SECOND, new_figure, tidy
from fewratio.core.shapes import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_N_COLUMNS = 10
# More names than that cannot be read.
_N_LABELS = 60


def draw_comparison(
    names: tuple[str, str],
    ratios: tuple[Floats, Floats],
    statistic: float | None,
    null: Floats,
    p_value: float | None,
    columns: Sequence[tuple[str, float, float | None]],
) -> "Figure":
    """Draw the ratio at the rows of both samples, the test, and the columns that differ most.

    Parameters
    ----------
    names : (str, str)
        Of the samples.
    ratios : (ndarray, ndarray)
        The ratio at the rows of either.
    statistic, null, p_value
        The test, as in `ComparisonResult`.
    columns : sequence of (str, float, float or None)
        Name, effect and p-value of each column, the strongest first.
    """
    figure = new_figure((12, 3.8))
    rows, test, bars = figure.subplots(1, 3)
    for values, colour, name in zip(ratios, (FIRST, SECOND), names, strict=True):
        # Where a row stands in its sample from low ratio to high: samples of any size fill the panel.
        share = (np.arange(len(values)) + 0.5) / len(values)
        rows.plot(share, np.sort(values), "o", ms=4, color=colour, label=f"{name} ({len(values)})")
    rows.axhline(1, color=GRID, zorder=0)
    # On a white background: the line of ratio 1 runs where there is room for it.
    rows.legend(facecolor="white", framealpha=1, edgecolor="none")
    tidy(rows, f"ratio {names[0]}/{names[1]} at the rows", "rows of a sample, from low ratio to high")
    if statistic is not None:
        test.hist(null, bins=min(40, max(5, len(null) // 10)), color=GRID, edgecolor=MUTED, lw=0.5)
        test.axvline(statistic, color=FIRST, lw=2, label="observed")
        test.legend(frameon=False)
    title = "no test" if p_value is None else f"p = {p_value:.3g}"
    tidy(test, title, "test statistic: evidence of a difference", "permutations")
    top = columns[:_N_COLUMNS][::-1]
    colours = [SECOND if p is None or p <= LEVEL else GRID for _, _, p in top]
    bars.barh(range(len(top)), [effect for _, effect, _ in top], color=colours)
    bars.axvline(0, color=MUTED, lw=0.8)
    bars.set_yticks(range(len(top)), [name for name, _, _ in top])
    tested = "" if p_value is None else f" (grey: p > {LEVEL})"
    tidy(bars, f"effect sizes of columns{tested}", f"above 0: more in {names[0]}")
    figure.suptitle(f"{names[0]} and {names[1]}", x=0.01, ha="left", weight="bold")
    return figure


def draw_all_pairs(names: Sequence[str], divergences: Floats) -> "Figure":
    """Draw a heat map of the divergences of all pairs of datasets, in the order given."""
    figure = new_figure((7, 6))
    panel = figure.subplots()
    image = panel.imshow(divergences, cmap="viridis", interpolation="nearest")
    figure.colorbar(image, ax=panel, label="divergence")
    if len(names) <= _N_LABELS:
        panel.set_xticks(range(len(names)), names, rotation=90)
        panel.set_yticks(range(len(names)), names)
    panel.set(xlabel="denominator", ylabel="numerator")
    return figure


def draw_outliers(margins: Floats, names: Sequence[str], differences: Sequence[Mapping[str | int, float]]) -> "Figure":
    """Draw all rows from outliers to normal ones, and in what the most anomalous differ from their nearest normals.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        Scores less the threshold: negative for outliers.
    names : sequence of str
        What the most anomalous rows are called.
    differences : sequence of dict
        Of each of these rows: by column, how far it is from its nearest normals.
    """
    figure = new_figure((12, 4.2))
    ranks, reasons = figure.subplots(1, 2, width_ratios=[1, 1.25])
    values = np.sort(margins)
    places, low = np.arange(len(values)), values < 0
    ranks.axhline(0, color=MUTED, lw=1, ls="--", zorder=0)
    ranks.text(len(values) - 1, 0, "threshold", color=MUTED, fontsize=9, ha="right", va="bottom")
    for which, colour, size, name in ((~low, FIRST, 4, "normal"), (low, OUTLIER, 5, "outlier")):
        ranks.plot(places[which], values[which], "o", ms=size, color=colour, label=f"{name} ({which.sum()})")
    ranks.legend(frameon=False, loc="upper left")
    tidy(ranks, "score of each row, less the threshold", "rows, the most anomalous first")
    columns = sorted(differences[0], key=lambda column: -max(abs(row[column]) for row in differences))[:_N_COLUMNS]
    table = np.array([[row[column] for column in columns] for row in differences])
    limit = max(float(np.abs(table).max()), 1e-9)
    image = reasons.imshow(table, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
    reasons.set_yticks(range(len(names)), names)
    reasons.set_xticks(range(len(columns)), [str(column) for column in columns], rotation=35, ha="right")
    tidy(reasons, "the most anomalous rows less their nearest normals, in deviations of a column")
    figure.colorbar(image, ax=reasons, pad=0.02).outline.set_visible(False)
    return figure


def draw_weights(weights: Floats, effective_size: float, overlap: float, n_clipped: int) -> "Figure":
    """Draw weights from large to small, and what they are worth."""
    figure = new_figure((6.4, 3.8))
    panel = figure.subplots()
    places, values = np.arange(1, len(weights) + 1), np.sort(weights)[::-1]
    panel.fill_between(places, values, step="mid", color=SECOND, alpha=0.35, lw=0)
    panel.plot(places, values, "o", ms=3, color=SECOND)
    panel.axvline(effective_size, color=FIRST, lw=2, label=f"worth {effective_size:.1f} rows")
    panel.axhline(values.mean(), color=GRID, zorder=0)
    panel.set_ylim(bottom=0)
    panel.legend(frameon=False)
    title = f"weights of {len(weights)} rows; overlap {overlap:.2f}, {n_clipped} clipped"
    tidy(panel, title, "training rows, the heaviest first")
    return figure


def draw_ratios(ratios: Floats, X: Floats, feature_names: Sequence[str] | None, title: str) -> "Figure":
    """Draw ratios at rows: along the column where there is one, else from low to high.

    Parameters
    ----------
    ratios : ndarray of shape (n,)
        The ratios.
    X : ndarray of shape (n, d)
        The rows.
    feature_names : sequence of str or None
        Names of the columns.
    title : str
        What is drawn.
    """
    figure = new_figure((6.4, 3.8))
    panel = figure.subplots()
    single = X.shape[1] == 1
    places, values = (X[:, 0], ratios) if single else (np.arange(len(ratios)), np.sort(ratios))
    panel.axhline(1, color=GRID, zorder=0)
    panel.plot(places, values, "o", ms=4, color=FIRST)
    tidy(panel, title, (feature_names or ("value",))[0] if single else "rows, from low ratio to high")
    return figure
