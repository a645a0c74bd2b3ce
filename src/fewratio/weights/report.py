"""The report of importance weights."""

from typing import Any, NamedTuple

import numpy as np

from fewratio.charts.chart import Chart, Picture, combine
from fewratio.charts.points import before_and_after
from fewratio.charts.style import FIRST, MUTED, SECOND
from fewratio.core.effects import means_apart, write_effect
from fewratio.core.wording import start_sentence, write_count, write_fixed, write_list, write_share
from fewratio.report import page, rows
from fewratio.report.columns import column_treatment
from fewratio.report.distributions import by_column, shares_chart

_BINS, _LARGE, _HEAVIEST, _VALUES = 30, 4, 10, 8
# The training rows, the same weighted, and the target rows: small charts show the last two in these colours.
_COLOURS = (MUTED, FIRST, SECOND)
# What a difference must grow by, in deviations, to be said.
_NOTED = 0.05
# Columns of the chart, and of the table.
_DRAWN, _MOST_COLUMNS = 25, 600
# Columns shown until the reader asks for all: about one screen.
_FIRST = 10


def report_weights(result: Any, names: tuple[str, str], command: str | None) -> page.Report:
    """Report whether the samples overlap, whether weights improve a model, and how they change each column.

    Parameters
    ----------
    result : WeightResult
    names : (str, str)
        Names of the training and the target rows.
    command : str or None
        The command that makes the report; by default a call in Python.
    """
    (train, target), n_target = names, result.samples.tables[1].n_rows
    facts = {
        "Rows": f"{write_fixed(len(result), 0)} of {train}, {write_fixed(n_target, 0)} of {target}",
        "Effective sample size": f"{result.effective_sample_size:.1f} of {len(result)} rows",
        "Overlap": f"{result.overlap:.2f} (about 1: no difference; 0: nothing in common)",
        "Clipped": write_count(result.n_clipped, "weight"),
    }
    differences = _differences(result)
    found = [f"{start_sentence(each, result.samples.columns)}." for each in result.findings]
    answer = "\n".join([*found, *_list_worse(differences)])
    chart = _weights(result)
    call = "importance_weights", ("X_train", "X_target")
    sections = [
        page.Section("The weights", [page.Text(chart.description), chart]),
        page.Section("Columns before and after weighting", _columns(result, differences, names)),
        page.Section("The heaviest rows", _rows(result, train)),
        page.Section("What was done to the columns", column_treatment(result.samples, names)),
        page.Section("How this was made", page.describe_making(result.settings, command, *call)),
    ]
    return page.Report(f"Weights of {train} for {target}", answer, facts, sections, headline=found[0])


def draw_weights(result: Any) -> Picture:
    """Draw the distribution of the weights, and the columns before and after weighting."""
    title = (
        f"Weights of {write_count(len(result), 'row')}: effective sample size {result.effective_sample_size:.1f}, "
        f"overlap {result.overlap:.2f}, {result.n_clipped} clipped"
    )
    panels = [
        (_weights(result), "Weights", 300),
        (_difference_chart(_differences(result)), "Columns before and after weighting", 300),
    ]
    return combine(panels, title)


def _weights(result: Any) -> Chart:
    weights = result.weights
    heaviest = np.sort(weights)[::-1][: -(-len(weights) // 10)]
    share = f"The heaviest tenth of the rows has {write_share(heaviest.sum() / weights.sum())} of the weight."
    about = f"Weights from {weights.min():.3g} to {weights.max():.3g}, median {np.median(weights):.3g}. {share}"
    highest = float(weights.max()) * (1 + 1e-9)
    return shares_chart({"weights": weights}, highest, _BINS, "weight of a row", about)


class _Difference(NamedTuple):
    """How much a column differs: its value, the category whose share differs most, or how often it is missing."""

    name: str
    before: float
    after: float


def _differences(result: Any) -> dict[Any, _Difference]:
    """Return how much each column differs before and after weighting, the largest differences first."""
    train, target = (table.numbers for table in result.samples.tables)
    # In units of the deviation within the unweighted samples.
    apart = [
        [means_apart(a, b, weights) for a, b in zip(train.T, target.T, strict=True)]
        for weights in (None, result.weights)
    ]
    names, found = result.samples.tables[0].feature_names, {}
    for label, (_, place) in result.samples.columns.items():
        # The same feature before and after.
        largest = place.start + int(np.abs([each[place] for each in apart]).max(0).argmax())
        name = label if names is None else names[largest]
        found[label] = _Difference(str(name), *(float(each[largest]) for each in apart))
    return dict(sorted(found.items(), key=lambda each: -abs(each[1].before)))


def _difference_chart(found: dict[Any, _Difference]) -> Chart:
    return before_and_after(*zip(*list(found.values())[:_DRAWN], strict=True))


def _list_worse(differences: dict[Any, _Difference]) -> list[str]:
    """Say which columns differ more after weighting than before."""
    worse = [
        f"{each.name} ({write_effect(each.before)} → {write_effect(each.after)})"
        for each in differences.values()
        if abs(each.after) > abs(each.before) + _NOTED
    ]
    return [f"Weighting increases the difference in {write_list(worse)}."] if worse else []


def _columns(result: Any, found: dict[Any, _Difference], names: tuple[str, str]) -> list[page.Block]:
    columns, (train, target) = result.samples.columns, (table.numbers for table in result.samples.tables)
    order = list(found)
    distributions = by_column(
        {label: columns[label] for label in order[:_MOST_COLUMNS]}, (train, train, target), (None, result.weights, None)
    )
    table = [
        [
            found[label].name,
            *(page.Number(abs(value), write_effect(value)) for value in found[label][1:]),
            each._replace(shares=each.shares[1:], missing=each.missing[1:]).small_chart(("weighted rows", names[1])),
            page.Number(result.overlap_by_column[label], write_share(result.overlap_by_column[label])),
            each.column.kind,
        ]
        for label, each in distributions.items()
    ]
    note = (
        f"Differences between the means of {names[0]} and {names[1]}, in units of the deviation within both. "
        "Of categories, the share that differs most is compared, and of missing values, how often they are missing, if "
        f"that differs more. Distributions: weighted {names[0]} above the line, {names[1]} "
        f"below it. In range: rows of {names[1]} whose value lies within the range, or among the categories, of "
        f"{names[0]}."
    )
    left = len(order) - len(table)
    note += f" {left} more columns, which differ less, are left out here." * (left > 0)
    samples = (names[0], f"{names[0]}, weighted", names[1])
    headings = ["column", "before", "after", "distributions", "in range", "kind"]
    return [
        _difference_chart(found),
        page.Table("Columns", headings, table, True, note, n_first=_FIRST, minor=("kind",)),
        page.Charts([distributions[label].chart(samples, _COLOURS) for label in order[:_LARGE]]),
    ]


def _rows(result: Any, name: str) -> list[page.Block]:
    table = result.samples.tables[0]
    raw = rows.restore_given(result.samples.given[0], table)
    heaviest = np.argsort(-result.weights, kind="stable")[:_HEAVIEST]
    labels = [str(label) for label in result.samples.columns][:_VALUES]
    found = {"weight": result.weights}
    return [rows.row_table(f"The rows of {name} with the largest weights", table, raw, heaviest, found, labels)]
