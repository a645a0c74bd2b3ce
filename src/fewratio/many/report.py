"""The report of a comparison of all datasets of a collection."""

from dataclasses import replace
from typing import Any

import numpy as np

from fewratio.charts.chart import Chart, Picture, combine
from fewratio.charts.distributions import marked_histogram
from fewratio.charts.heat_map import heat_map
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.wording import write_count, write_fixed, write_number
from fewratio.report import page
from fewratio.report.distributions import counts_around
from fewratio.testing import LEVEL

# Cells along a side of the heat map; more datasets share cells.
_MOST_CELLS = 80
_NEAREST, _SHOWN, _MOST_ROWS = 3, 10, 2000


def report_all_pairs(result: Any, command: str | None) -> page.Report:
    """Say which datasets are similar.

    Parameters
    ----------
    result : AllPairsResult
    command : str or None
        The command that makes the report; by default a call in Python.
    """
    n = len(result.names)
    # An estimate below 0 says that no difference is seen.
    mean = np.maximum((result.divergences + result.divergences.T) / 2, 0)
    apart = mean[~np.eye(n, dtype=np.bool_)]
    order = result.order()
    facts = {
        "Datasets": f"{n}, so {write_count(n * (n - 1) // 2, 'pair')}",
        "Divergences": f"{apart.min():.2f} to {apart.max():.2f}, median {np.median(apart):.2f}",
        "Most similar": _pair(result, mean, apart.min()),
        "Most different": _pair(result, mean, apart.max()),
    }
    answer = f"The most similar are {facts['Most similar']}; the most different are {facts['Most different']}."
    if result.adjusted_p_values is not None:
        different = int((result.adjusted_p_values <= LEVEL).sum()) // 2
        facts["Test"] = f"{different} pairs differ (adjusted p-value at most {LEVEL})"
        answer = f"{different} of {write_count(n * (n - 1) // 2, 'pair')} differ. {answer}"
    title, judged = f"{write_count(n, 'dataset')} compared", []
    if result.new:
        title = f"{', '.join(result.new)} among {write_count(n - len(result.new), 'dataset')}"
        nearest = {name: ", ".join(other for other, _ in result.nearest(name, _NEAREST)) for name in result.new}
        answer = " ".join(f"{result.verdict(name)} Nearest: {nearest[name]}." for name in result.new)
        facts = {f"Nearest to {name}": "{} ({:.2f})".format(*result.nearest(name, 1)[0]) for name in result.new} | facts
        judged = [page.Section(f"How far {name} is from the others", _show_new(result, name)) for name in result.new]
    call = page.describe_making(result.settings, command, "compare_all", ("collection",))
    sections = [
        *judged,
        page.Section("All pairs", _heat(result, order)),
        page.Section("Nearest neighbours", [_neighbours(result, mean, order)]),
        page.Section("How this was made", call),
    ]
    return page.Report(title, answer, facts, sections)


def _show_new(result: Any, name: str) -> list[page.Block]:
    """Show how unlike the rest a new dataset and the others are, its columns, and the datasets nearest to it."""
    *others, score = result.novelty_scores[name].tolist()
    edges, counts = counts_around(np.array(others), score)
    chart = marked_histogram(edges, {"other datasets": counts}, ("how unlike the rest", "datasets"), (score, name))
    n_far = sum(other >= score for other in others)
    about = (
        f"Bars: how unlike the rest each of the {len(others)} other datasets is; line: how unlike {name} is. It is "
        "the divergence from the nearest dataset, the farthest column or the farthest relation of two columns, "
        "whichever is most unusual. "
        f"{n_far} of them are at least as unlike, so p = (1 + {n_far}) / (1 + {len(others)}). At most "
        f"{result.settings['n_rows']} rows were drawn of each dataset."
    )
    columns = [
        (each.column, each.statistic, *map(_number, (each.value, each.low, each.high, each.score)))
        for each in result.new_columns(name)[:_SHOWN]
    ]
    of_columns = ("column", "statistic", name, "smallest of the others", "largest", "score")
    nearest = [(other, _divergence(max(0.0, far))) for other, far in result.nearest(name, _SHOWN)]
    return [
        replace(chart, caption=about),
        page.Table(f"Columns of {name}, those outside the range of the others first", of_columns, columns),
        page.Table(f"Nearest to {name}", ("dataset", "divergence"), nearest),
    ]


def _number(value: float) -> page.Number:
    return page.Number(float(f"{value:.4g}"), write_number(value, 3))


def _divergence(value: float) -> page.Number:
    return page.Number(float(f"{value:.4g}"), write_fixed(value, 2))


def _pair(result: Any, mean: Floats, value: float) -> str:
    """Name the first pair with this divergence."""
    i, j = next((i, j) for i, j in np.argwhere(mean == value).tolist() if i != j)
    return f"{result.names[i]} and {result.names[j]} ({value:.2f})"


def draw_all_pairs(result: Any) -> Picture:
    """Draw the divergences of all pairs as a heat map."""
    chart, n = _heat_map(result, _groups(result.order())), len(result.names)
    side = max(300, min(640, 26 * n))
    return combine([(replace(chart, spec=chart.spec | {"height": side}), "", side)], f"Divergences of {n} datasets")


def _groups(order: Numbers) -> list[Numbers]:
    """Return the datasets of each row of the heat map, similar ones side by side."""
    return np.array_split(order, min(len(order), _MOST_CELLS))


def _heat_map(result: Any, groups: list[Numbers]) -> Chart:
    order, sizes = np.concatenate(groups), np.array(list(map(len, groups)))
    names = [_name(result, group) for group in groups]
    starts = np.cumsum(sizes) - sizes
    cells = {"divergence": result.divergences}
    if len(groups) == len(order) and result.adjusted_p_values is not None:
        # A mean of p-values says nothing.
        cells["adjusted p"] = result.adjusted_p_values
    # An estimate below 0 says that no difference is seen.
    means = {title: _block_means(matrix[np.ix_(order, order)], starts, sizes) for title, matrix in cells.items()}
    means["divergence"] = [max(0.0, value) for value in means["divergence"]]
    titles = "this dataset", "from this one", "divergence"
    return heat_map((names, names), means, titles, f"Heat map of the divergences of {len(order)} datasets.")


def _heat(result: Any, order: Numbers) -> list[page.Block]:
    groups = _groups(order)
    about = (
        "The divergence of each dataset (row) from each other one (column): 0 if they do not differ. Similar datasets "
        "are side by side, in the order of a hierarchical clustering by average linkage. These divergences "
        "are rough: one model for all pairs gives them, from the rows that it is fitted to. A comparison of two tables "
        "may give others; fewratio compare-all prints those in the terminal for the pairs that it shows."
    )
    if len(groups) < len(order):
        about += (
            f" Each cell is the mean over {len(groups[-1])} to {len(groups[0])} neighbouring datasets of either side; "
            "the table below has every dataset."
        )
    return [page.Text(about), _heat_map(result, groups)]


def _name(result: Any, group: Numbers) -> str:
    first, last = result.names[group[0]], result.names[group[-1]]
    return str(first) if len(group) == 1 else f"{first} to {last} ({len(group)})"


def _block_means(matrix: Floats, starts: Numbers, sizes: Numbers) -> list[float]:
    """Return means over blocks of pairs; a dataset paired with itself counts only if the block has no other pair."""
    is_shared = len(starts) < len(matrix)
    matrix = matrix - np.diag(np.diag(matrix)) if is_shared else matrix
    n_pairs = np.outer(sizes, sizes) - np.diag(sizes) * is_shared
    sums = np.add.reduceat(np.add.reduceat(matrix, starts, axis=0), starts, axis=1)
    return [float(f"{value:.3g}") for value in (sums / np.maximum(n_pairs, 1)).ravel().tolist()]


def _neighbours(result: Any, mean: Floats, order: Numbers) -> page.Table:
    n_nearest = min(_NEAREST, len(order) - 1)
    table = []
    for place in order[:_MOST_ROWS].tolist():
        nearest = [i for i in np.argsort(mean[place], kind="stable")[: n_nearest + 1].tolist() if i != place]
        cells: list[Any] = [result.names[place]]
        for i in nearest[:n_nearest]:
            cells += [result.names[i], _divergence(mean[place, i])]
        table.append([*cells, _divergence(np.median(np.delete(mean[place], place)))])
    words = ("nearest", "second", "third")[:n_nearest]
    headings = ["dataset", *(text for word in words for text in (word, "divergence")), "median to all"]
    note = "Means of the divergences of both directions."
    left = len(order) - len(table)
    note += f" {left} more datasets are left out here; compare_all(...).nearest(name) has them." * (left > 0)
    return page.Table("Nearest neighbours of each dataset, similar ones side by side", headings, table, True, note)
