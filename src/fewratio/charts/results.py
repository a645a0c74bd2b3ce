"""Pictures of comparisons, outliers, weights and ratios."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fewratio.charts.style import (
    FIRST,
    GRID,
    MARKERS,
    MUTED,
    OUTLIER,
    SECOND,
    entitle,
    new_figure,
    shortened,
    tidy,
    wrapped,
)
from fewratio.core.shapes import Floats
from fewratio.testing import LEVEL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_N_COLUMNS = 10
# More names cannot be read, nor more numbers in the cells of a heat map.
_N_LABELS, _N_NUMBERS = 60, 12
# Fewer different values of permutations are no histogram.
_FEWEST_VALUES = 15
# An observed value so many times as far off as the null distribution is wide would make a line of it.
_MOST_WIDTHS = 5


def draw_comparison(
    names: tuple[str, str],
    ratios: tuple[Floats, Floats],
    statistic: float | None,
    null: Floats,
    p_value: float | None,
    columns: Sequence[tuple[str, float, float | None]],
) -> "Figure":
    """Draw the ratio at the rows of both samples, the test if there was one, and the columns that differ most.

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
    figure = new_figure((8.5 if statistic is None else 12, 4.2))
    rows, *tests, bars = figure.subplots(1, 2 if statistic is None else 3)
    for values, colour, name in zip(ratios, (FIRST, SECOND), names, strict=True):
        # Where a row stands in its sample from low ratio to high: samples of any size fill the panel.
        share = 100 * (np.arange(len(values)) + 0.5) / len(values)
        label = f"{shortened(name, 18)} ({len(values)})"
        rows.plot(share, np.sort(values), MARKERS[colour], ms=4, color=colour, label=label)
    rows.axhline(1, color=GRID, zorder=0)
    _show_range(rows, (0, 100), (0.9, 1.1))
    more = f"above 1: more like {shortened(names[0], 20)}"
    tidy(rows, "ratio at each row", "rows of a sample, from low ratio to high (%)", more)
    if statistic is not None:
        _draw_test(tests[0], statistic, null)
        tidy(tests[0], f"p = {p_value:.3g}", "test statistic: evidence of a difference", "permutations")
    top = columns[:_N_COLUMNS][::-1]
    colours = [GRID if p is not None and p > LEVEL else FIRST if effect > 0 else SECOND for _, effect, p in top]
    bars.barh(range(len(top)), [effect for _, effect, _ in top], color=colours, edgecolor=MUTED, lw=0.5)
    bars.axvline(0, color=MUTED, lw=0.8)
    # One or two bars do not fill the panel.
    _show_range(bars, (-0.1, 0.1), (len(top) - 5, 0))
    bars.set_yticks(range(len(top)), [wrapped(name) for name, _, _ in top], fontsize=8)
    bars.locator_params(axis="x", nbins=5)
    note = "" if p_value is None else f"; grey: p > {LEVEL}"
    tidy(bars, f"effect sizes of columns\nstrongest first{note}", f"above 0: more in {shortened(names[0], 24)}")
    entitle(figure, f"{shortened(names[0], 48)} and {shortened(names[1], 48)}")
    return figure


def _draw_test(panel: "Axes", statistic: float, null: Floats) -> None:
    """Draw the null distribution and the observed value, at the edge where it is too far off to draw both."""
    values, counts = np.unique(null.round(12), return_counts=True)
    if len(values) < _FEWEST_VALUES:
        panel.vlines(values, 0, counts, color=MUTED, lw=6)
    else:
        panel.hist(null, bins=min(40, max(5, len(null) // 10)), color=GRID, edgecolor=MUTED, lw=0.5)
    low, high = float(values[0]), float(values[-1])
    width = high - low or abs(high) or 1.0
    margin = width / 20 if high > low else width
    if low - _MOST_WIDTHS * width <= statistic <= high + _MOST_WIDTHS * width:
        panel.axvline(statistic, color=FIRST, lw=2, label=f"observed: {statistic:.3g}")
        _show_range(panel, (low - margin, high + margin), (0, 1))
    else:
        place, marker = (1, ">") if statistic > high else (0, "<")
        label = f"observed: {statistic:.3g}, far beyond this edge"
        panel.plot(place, 0.5, marker, ms=10, color=FIRST, clip_on=False, transform=panel.transAxes, label=label)
        panel.set_xlim(low - 4 * margin, high + 4 * margin)
    panel.locator_params(axis="x", nbins=5)
    panel.locator_params(axis="y", integer=True)


def _show_range(panel: "Axes", x: tuple[float, float], y: tuple[float, float]) -> None:
    """Draw at least these ranges: a panel of nothing but rounding errors would show them as differences."""
    panel.update_datalim(list(zip(x, y, strict=True)))
    panel.autoscale_view()


def draw_all_pairs(names: Sequence[str], divergences: Floats) -> "Figure":
    """Draw a heat map of the divergences of all pairs of datasets, in the order given."""
    n = len(names)
    has_labels = n <= _N_LABELS
    size = max(4.5, 3 + 0.14 * n) if has_labels else 7.5
    figure = new_figure((size + 1, size))
    panel = figure.subplots()
    image = panel.imshow(divergences, cmap="viridis", interpolation="nearest")
    figure.colorbar(image, ax=panel, label="divergence", shrink=0.8).outline.set_visible(False)
    tidy(panel, f"{n} datasets, similar ones side by side", "denominator", "numerator")
    panel.spines[:].set_visible(False)
    labels = {i: shortened(name, 30) for i, name in enumerate(names) if has_labels}
    small = 9 if n <= _N_NUMBERS else 7
    panel.set_xticks(list(labels), list(labels.values()), rotation=90, fontsize=small)
    panel.set_yticks(list(labels), list(labels.values()), fontsize=small)
    if n <= _N_NUMBERS:
        middle = (divergences.min() + divergences.max()) / 2
        _write_numbers(panel, divergences, ".2g", divergences < middle)
    return figure


def _write_numbers(panel: "Axes", table: Floats, how: str, is_dark: NDArray[np.bool_]) -> None:
    """Write the numbers of a heat map into its cells, so that it can be read without colours."""
    for (i, j), value in np.ndenumerate(table):
        colour = "white" if is_dark[i, j] else "black"
        panel.text(j, i, f"{value:{how}}", color=colour, fontsize=7, ha="center", va="center")


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
    figure = new_figure((12, 4.8))
    ranks, reasons = figure.subplots(1, 2, width_ratios=[1, 1.25])
    values = np.sort(margins)
    places, low = np.arange(1, len(values) + 1), values < 0
    for which, colour, name in ((~low, FIRST, "normal"), (low, OUTLIER, "outlier")):
        label = f"{name} ({which.sum()})"
        ranks.plot(places[which], values[which], MARKERS[colour], ms=5, color=colour, label=label)
    ranks.axhline(0, color=MUTED, lw=1, ls="--", zorder=0, label="threshold")
    ranks.locator_params(axis="x", integer=True, min_n_ticks=1)
    tidy(ranks, "score of each row, less the threshold", "rows, the most anomalous first")
    columns = sorted(differences[0], key=lambda column: -max(abs(row[column]) for row in differences))[:_N_COLUMNS]
    table = np.array([[row[column] for row in differences] for column in columns])
    limit = max(float(np.abs(table).max()), 1.0)
    image = reasons.imshow(table, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
    if len(names) <= _N_NUMBERS:
        _write_numbers(reasons, table, "+.1f", np.abs(table) > 0.6 * limit)
    reasons.set_xticks(range(len(names)), [shortened(name, 16) for name in names], rotation=35, ha="right", fontsize=8)
    reasons.set_yticks(range(len(columns)), [wrapped(column) for column in columns], fontsize=8)
    tidy(reasons, "the most anomalous rows less their nearest normals\nin standard deviations of a column")
    reasons.spines[:].set_visible(False)
    figure.colorbar(image, ax=reasons, pad=0.02).outline.set_visible(False)
    return figure


def draw_weights(weights: Floats, effective_size: float, overlap: float, n_clipped: int) -> "Figure":
    """Draw weights from large to small, and what they are worth."""
    figure = new_figure((6.4, 3.8))
    panel = figure.subplots()
    places, values = np.arange(1, len(weights) + 1), np.sort(weights)[::-1]
    panel.bar(places, values, width=1, color=SECOND, alpha=0.35, label="weight")
    panel.plot(places, values, MARKERS[SECOND], ms=3, color=SECOND)
    panel.axvline(effective_size, color=FIRST, lw=2, label=f"worth {effective_size:.1f} rows")
    panel.axhline(values.mean(), color=MUTED, lw=1, ls="--", label="mean")
    panel.locator_params(axis="x", integer=True, min_n_ticks=1)
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
    places, values = (X[:, 0], ratios) if single else (np.arange(1, len(ratios) + 1), np.sort(ratios))
    panel.axhline(1, color=GRID, zorder=0)
    panel.plot(places, values, MARKERS[FIRST], ms=4, color=FIRST)
    _show_range(panel, (places[0], places[0]), (0.9, 1.1))
    if not single:
        panel.locator_params(axis="x", integer=True, min_n_ticks=1)
    xlabel = shortened((feature_names or ("value",))[0]) if single else "rows, from low ratio to high"
    tidy(panel, textwrap.fill(title, 76), xlabel, "ratio")
    return figure
