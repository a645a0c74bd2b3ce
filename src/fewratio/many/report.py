"""The report of a comparison of all datasets of a collection."""

from dataclasses import replace
from typing import Any

import numpy as np

from fewratio.charts.chart import Chart, Picture, combine
from fewratio.charts.distributions import marked_histogram
from fewratio.charts.heat_map import heat_map
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.wording import write_count, write_fixed, write_number
from fewratio.many.novelty import MOST_BY_CHANCE
from fewratio.report import page
from fewratio.report.distributions import counts_around
from fewratio.testing import LEVEL

# The most cells along a side of the heat map; with more datasets, several share a cell.
_MOST_CELLS = 80
_NEAREST, _SHOWN, _MOST_ROWS = 3, 10, 2000
# With more datasets, single pairs are not tested: each test takes a third of a second.
_MOST_TESTS = 20
# At most this many datasets are each compared with all rows of the others.
_MOST_DESCRIBED = 100
# Divergences up to this one are drawn in pale colours.
_PALE = 0.1


def report_all_pairs(result: Any, command: str | None) -> page.Report:
    """Report which datasets are similar.

    Parameters
    ----------
    result : AllPairsResult
    command : str or None
        The command that makes the report; by default a call in Python.
    """
    n, order = len(result.names), result.order()
    n_pairs = write_count(n * (n - 1) // 2, "pair")
    apart = (result.divergences + result.divergences.T)[np.triu_indices(n, 1)].clip(0) / 2
    facts = {
        "Datasets": f"{n}, so {n_pairs}",
        "Divergences": f"{apart.min():.2f} to {apart.max():.2f}, median {np.median(apart):.2f}",
        **result.data_used,
    }
    answer = result.summary
    headline = result.outstanding if answer.startswith(result.outstanding) else page.first_sentence(answer)
    title, judged = f"{write_count(n, 'dataset')} compared", []
    if result.new:
        title = f"{', '.join(result.new)} among {write_count(n - len(result.new), 'dataset')}"
        nearest = {name: ", ".join(other for other, _ in result.nearest(name, _NEAREST)) for name in result.new}
        answer = " ".join(f"{result.verdict(name)} Nearest: {nearest[name]}." for name in result.new)
        judged = [page.Section(f"How far {name} is from the others", _show_new(result, name)) for name in result.new]
    call = page.describe_making(result.settings, command, "compare_all", ("collection",))
    sections = [
        *judged,
        page.Section("All pairs", _heat(result, order)),
        page.Section("Each dataset", [_describe_each(result)]),
        page.Section("How this was made", call),
    ]
    return page.Report(title, answer, facts, sections, headline="" if result.new else headline)


def _show_new(result: Any, name: str) -> list[page.Block]:
    """Show how unlike the rest a new dataset is, its columns, and the datasets nearest to it."""
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
    is_unlike = result.new_p_values[name] <= LEVEL
    columns = [
        (each.column, each.statistic, *map(_number, (each.value, each.low, each.high, each.score)))
        for each in result.new_columns(name)[: _SHOWN if is_unlike else MOST_BY_CHANCE]
    ]
    of_columns = ("column", "statistic", name, "smallest of the others", "largest", "score")
    nearest = [
        (other, _divergence(max(0.0, far)), result.write_p_value(name, other) if place < _NEAREST else "")
        for place, (other, far) in enumerate(result.nearest(name, _SHOWN))
    ]
    return [
        replace(chart, caption=about),
        page.Table(
            f"Columns of {name}, those outside the range of the others first",
            of_columns,
            columns,
            note="" if is_unlike else "These are the farthest; they may be chance.",
        ),
        page.Table(f"Nearest to {name}", ("dataset", "divergence", "p"), nearest),
    ]


def _number(value: float) -> page.Number:
    return page.Number(float(f"{value:.4g}"), write_number(value, 3))


def _divergence(value: float) -> page.Number:
    return page.Number(float(f"{value:.4g}"), write_fixed(value, 2))


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
        # A mean of p-values is meaningless.
        cells["adjusted p"] = result.adjusted_p_values
    # A negative estimate means that no difference was found.
    means = {title: _block_means(matrix[np.ix_(order, order)], starts, sizes) for title, matrix in cells.items()}
    means["divergence"] = [max(0.0, value) for value in means["divergence"]]
    titles = "dataset", "other dataset", "divergence"
    said = f"Heat map of the divergences of {len(order)} datasets."
    return heat_map((names, names), means, titles, said, least=_PALE)


def _heat(result: Any, order: Numbers) -> list[page.Block]:
    groups = _groups(order)
    about = f"The divergence of each pair: {result.scale} Similar datasets are side by side."
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
    return [float(f"{value:.5g}") for value in (sums / np.maximum(n_pairs, 1)).ravel().tolist()]


def _describe_each(result: Any) -> page.Table:
    """Describe each dataset: its median divergence, the columns that differ, and its nearest and farthest dataset."""
    n = len(result.names)
    rows, has_tests = [], n <= _MOST_TESTS or result.p_values is not None
    for place, (name, median) in enumerate(result.list_datasets(_MOST_ROWS)):
        ordered = result.nearest(name, n)
        (nearest, least), (farthest, most) = ordered[0], ordered[-1]
        p_value = [result.write_p_value(name, nearest)] * has_tests
        ends = [nearest, _divergence(max(0.0, least)), *p_value, farthest, _divergence(max(0.0, most))]
        columns = result.write_columns(name) if place < _MOST_DESCRIBED else ""
        rows.append([name, _divergence(median), columns, *ends])
    # The blank makes the two headings different.
    headings = ["dataset", "median", "stands out by", "nearest", "divergence"]
    headings += [result.p_heading] * has_tests + ["farthest", "divergence "]
    note = (
        "median: of the divergences from all others. stands out by: columns whose mean differs from that of all other "
        "rows, with Cohen's d (above 0: larger here)."
    )
    if n > _MOST_DESCRIBED:
        note += f" Only the first {_MOST_DESCRIBED} are described."
    chance = "how often a difference this large from the nearest dataset would occur by chance"
    note += f" {result.p_heading}: {chance} ({result.p_note})." * has_tests
    note += f" {n - len(rows)} more datasets are left out here; compare_all(...).nearest(name) has them." * (
        n > len(rows)
    )
    minor = ("median", result.p_heading, "farthest", "divergence ")
    return page.Table("Datasets, those that stand out most first", headings, rows, True, note, n_first=20, minor=minor)
