"""Report the outliers of a batch."""

from dataclasses import replace
from typing import Any

import numpy as np

from fewratio.charts.chart import Chart, Picture, combine
from fewratio.charts.distributions import marked_histogram
from fewratio.charts.heat_map import heat_map
from fewratio.charts.style import FIRST, MUTED, OUTLIER
from fewratio.core.wording import write_count, write_number, write_signed
from fewratio.report import page, rows
from fewratio.report.columns import column_treatment
from fewratio.report.distributions import by_column

_NAMED, _BINS, _HEAT, _LARGE, _FIRST = 3, 40, 10, 4, 10
# How rows below the outliers are called: they may be anything.
_UNFLAGGED = "not flagged"
# Deviations at which the colours of the heat map end.
_COLOURED = 6
# Counts above this need a logarithmic axis.
_MANY = 200
# The most and the fewest rows in the ranking, and how many rows are explained.
_MOST_RANKED, _LEAST_RANKED, _EXPLAINED = 200, 10, 5


def report_outliers(result: Any, name: str, command: str | None) -> page.Report:
    """Report which rows of a batch are outliers, and why.

    Parameters
    ----------
    result : OutlierResult
    name : str
        Name of the batch.
    command : str or None
        The command that makes the report; by default a call in Python.
    """
    table, detector, n_outliers = result.samples.tables[0], result.detector, int(result.is_outlier.sum())
    lowest = result.order[: min(_MOST_RANKED, max(_LEAST_RANKED, n_outliers))]
    reasons = result.explanations(lowest.tolist())
    names = rows.row_names(table, lowest)
    n_rows = write_count(table.n_rows, "row")
    facts = {
        "Rows": f"{n_rows} of {name}, {write_count(n_outliers, 'outlier')}",
        "Known to be normal": write_count(len(detector._normals), "row"),
        "Threshold": f"{write_number(result.threshold, 3)}: {result.meaning}",
    }
    if result.samples.encoding is not None and result.samples.encoding.is_named:
        facts["Columns"] = result.samples.encoding.summary
    called = "" if table.row_names is not None else "row "
    said = [result.say_why(*each) for each in zip(lowest.tolist(), reasons, strict=True)]
    first = [f"{called}{row}: {why}" for row, why in zip(names, said, strict=True)][: min(_NAMED, n_outliers)]
    found = "is an outlier" if n_outliers == 1 else "are outliers"
    headline = f"{n_outliers} of {n_rows} {found}{result.expectation}."
    answer = f"{headline}\nMost anomalous: {'; '.join(first)}."
    if not n_outliers:
        found = f"All {n_rows} {result.unflagged}." if result.unflagged else f"No outliers were found among {n_rows}."
        answer = headline = found
    if result.shift:
        answer += f"\n{result.shift}"
    if result.errors:
        answer += f"\n{write_count(len(result.errors), 'cell')} to check, listed below."
    for each in result.non_overlapping:
        answer += f"\n{each.describe(['the normal rows', name])}."
    if result.few_normals:
        answer += f"\n{result.few_normals}"
    about = (
        f"A row is an outlier if its score is below {result.threshold:.3g}: {result.meaning}. The scores depend on all "
        "rows that are judged together."
    )
    call = command or f"{detector!r}.fit(X_inlier).detect(X).to_html(path)"
    treatment = column_treatment(result.samples, ("the normal rows", name), result.non_overlapping)
    sections = [
        page.Section("The most anomalous rows", _rank(result, lowest, names, reasons, said)),
        *([page.Section("Cells to check", [_errors(result)])] if result.errors else []),
        page.Section("Scores", [page.Text(about), _scores(result)]),
        page.Section("Beside the normal rows", [_beside(result, reasons)]),
        page.Section("Why these rows", _explain(result, lowest, names, reasons)),
        page.Section("What was done to the columns", treatment),
        page.Section("How this was made", page.describe_making(detector.get_params(deep=False), call, "", ())),
    ]
    return page.Report(f"Outliers of {name}", answer, facts, sections, headline=headline)


def _rank(result: Any, lowest: Any, names: list[str], reasons: list[Any], said: list[str]) -> list[page.Block]:
    table = [
        [text, why, "outlier" if result.is_outlier[row] else _UNFLAGGED, _score(result.scores[row])]
        for text, row, why in zip(names, lowest.tolist(), said, strict=True)
    ]
    left = int(result.is_outlier.sum()) - len(table)
    note = (
        "A signed number after a column: how far the row is from the mean of its nearest normal rows, in standard "
        "deviations of the normal rows."
        + " Rows are counted from 0." * (result.row_names is None)
        + f" {left} more outliers are left out here." * (left > 0)
    )
    headings = ("row", "reason", "judged", "score")
    ranked = page.Table("Rows, the most anomalous first", headings, table, True, note, n_first=_FIRST)
    return [ranked, _reasons(names[:_HEAT], reasons[:_HEAT])]


def _errors(result: Any) -> page.Table:
    """List the cells to check, in flagged rows and in other rows."""
    shown = result.errors[:_MOST_RANKED]
    names = rows.row_names(result.samples.tables[0], np.array([error.row for error in shown]))
    table = [
        [name, error.text, "outlier" if result.is_outlier[error.row] else _UNFLAGGED]
        for name, error in zip(names, shown, strict=True)
    ]
    left = len(result.errors) - len(shown)
    note = "They may be errors, or values of a row of another kind." + f" {left} more are left out here." * (left > 0)
    headings = ("row", "reason", "judged")
    return page.Table("Cells, the strangest first", headings, table, True, note)


def _reasons(names: list[str], reasons: list[Any]) -> Chart:
    """Draw the columns in which rows differ most from their nearest normal rows."""
    found = [dict(zip(reason.columns, reason.differences.tolist(), strict=True)) for reason in reasons]
    columns = sorted(found[0], key=lambda column: -max(abs(each[column]) for each in found))[:_HEAT]
    cells = [round(each[column], 3) for column in columns for each in found]
    description = f"Heat map: how far {', '.join(names)} are from their nearest normal rows in each column."
    titles = "column", "row", "deviations"
    chart = heat_map((list(map(str, columns)), names), {"deviations": cells}, titles, description, reach=_COLOURED)
    return replace(chart, caption=f"Colours end at {_COLOURED} deviations; the numbers do not.")


def draw_outliers(result: Any, n_rows: int) -> Picture:
    """Draw the scores of all rows, and how the most anomalous rows differ from their nearest normal rows."""
    lowest = result.order[:n_rows]
    reasons = _reasons(rows.row_names(result.samples.tables[0], lowest), result.explanations(lowest.tolist()))
    n_outliers = int(result.is_outlier.sum())
    found = "is an outlier" if n_outliers == 1 else "are outliers"
    title = f"{n_outliers} of {write_count(len(result.margins), 'row')} {found}"
    about = "The most anomalous rows, less their nearest normal rows"
    return combine([(_scores(result), "Scores", 300), (reasons, about, max(160, 44 * len(lowest)))], title)


def _score(score: float) -> page.Number:
    """Write a score as the terminal does."""
    return page.Number(float(score), write_number(score, 3))


def _scores(result: Any) -> Chart:
    """Draw a histogram of the scores."""
    # Use the scores that the threshold refers to.
    scores = result.margins + result.threshold
    low, high = float(scores.min()), float(scores.max())
    edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
    parts = {_UNFLAGGED: scores[~result.is_outlier], "outlier": scores[result.is_outlier]}
    counts = {kind: np.histogram(values, edges)[0].tolist() for kind, values in parts.items()}
    ends = [float(f"{edge:.6g}") for edge in edges.tolist()]
    return marked_histogram(
        ends, counts, ("score: higher is more normal", "rows"), (result.threshold, "threshold"), (FIRST, OUTLIER),
        max(map(sum, zip(*counts.values(), strict=True))) > _MANY,
    )  # fmt: skip


def _beside(result: Any, reasons: list[Any]) -> page.Charts:
    """Draw the columns in which the most anomalous rows differ most."""
    normals, batch, columns = result.detector._normals, result.samples.tables[0], result.samples.columns
    places = _places(batch)
    parts = {
        "known normal": (normals, MUTED),
        _UNFLAGGED: (batch.numbers[~result.is_outlier], FIRST),
        "outlier": (batch.numbers[result.is_outlier], OUTLIER),
    }
    parts = {kind: each for kind, each in parts.items() if len(each[0])}
    samples, colours = zip(*parts.values(), strict=True)
    largest = {places[reason.columns[0]] for reason in reasons[:_HEAT]}
    told = {label: each for label, each in columns.items() if largest & set(range(each[1].start, each[1].stop))}
    distributions = list(by_column(told, samples).values())[:_LARGE]
    return page.Charts([each.chart(list(parts), colours) for each in distributions])


def _places(batch: Any) -> dict[Any, int]:
    """Return the index of each feature."""
    return {feature: place for place, feature in enumerate(batch.feature_names or range(batch.n_features))}


def _explain(result: Any, lowest: Any, names: list[str], reasons: list[Any]) -> list[page.Block]:
    """Show the most anomalous rows beside their nearest normal rows, one table per row."""
    normals, batch = result.detector._normals, result.samples.tables[0]
    places, known = _places(batch), result.detector.row_names_
    blocks: list[page.Block] = []
    for text, row, reason in zip(names[:_EXPLAINED], lowest.tolist(), reasons, strict=False):
        both = batch.numbers[row], normals[reason.neighbours].mean(0)
        shown = reason.largest(_HEAT)
        table = [
            [
                str(column),
                # Columns differ in their units, so each number is formatted separately.
                *(page.Number(float(each[places[column]]), write_number(float(each[places[column]]))) for each in both),
                page.Number(abs(difference), write_signed(difference)),
            ]
            for column, difference in zip(shown.columns, shown.differences.tolist(), strict=True)
        ]
        nearest = ", ".join(str(each if known is None else known[each]) for each in reason.neighbours.tolist())
        headings = ("column", "this row", "nearest normal rows, mean", "difference in deviations")
        note = f"Nearest normal rows: {nearest}."
        blocks.append(page.Table(f"Row {text}", headings, table, False, note, is_folded=bool(blocks)))
    return blocks
