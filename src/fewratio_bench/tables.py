"""The table of an experiment, from records."""

import shlex
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from fewratio_bench.aggregation import (
    AVERAGE,
    SELECTIONS,
    PanelResult,
    Records,
    Row,
    aggregate,
    measurements,
    standard_error,
)
from fewratio_bench.cost import cost_table
from fewratio_bench.experiments import Experiment
from fewratio_bench.problems import Problem
from fewratio_bench.records import Record
from fewratio_bench.rendering import Grid, Number, Table, TableCell
from fewratio_bench.run import record_file

# What words in the names of rows mean.
_WAYS = {
    "stopped early": (
        "Stopped early: with the number of steps on the target selected as well; otherwise these methods are after all "
        "of them. "
    ),
    "by Adam": "By Adam: the last layer fine-tuned by gradient steps, not in closed form. ",
    "ratio clipped": "Ratio clipped: the ratio is kept from being negative, not its weights. ",
}
_COLUMNS = (
    *("experiment", "data", "metric", "n_support", "method", "selection"),
    *("mean", "standard_error", "n_splits", "best_or_comparable", "published", "difference"),
)


def read_records(folder: Path, problems: Iterable[Problem]) -> Records:
    """Read the records of some problems from a folder."""
    return {problem.data: record_file(folder, problem).read() for problem in problems}


def table_of(experiment: Experiment, folder: Path, records: Records | None = None) -> Table:
    """Make an experiment's table from the records in a folder; those of its problems, if they are read already."""
    records = read_records(folder, experiment.problems) if records is None else records
    if experiment.layout == "seconds":
        return cost_table(experiment, records, folder)
    results = aggregate(experiment, records)
    by_panel = experiment.layout == "panels"
    grids = [_by_panel(experiment, results)] if by_panel else [_by_size(experiment, result) for result in results]
    numbers = [
        _csv_row(experiment, result, row, column)
        for result in results
        for row in result.rows
        for column, values in row.values.items()
        if values
    ]
    return Table(experiment.title, grids, _caption(experiment, results, records, grids), _COLUMNS, numbers)


def _by_size(experiment: Experiment, result: PanelResult) -> Grid:
    """Lay out a panel: methods by numbers of support instances, with the paper's numbers."""
    panel = result.panel
    quick = ["--quick"] if experiment.is_quick else []
    data = [problem.data for problem in panel.problems]
    command = shlex.join(["fewratio-bench", "run", experiment.name, *quick, "--data", *data])
    absent = f"There are no records{f' ({panel.absence})' if panel.absence else ''}. To make them: {command}"
    sizes = [AVERAGE if column == AVERAGE else f"N_S = {column}" for column in result.columns]
    extra = ["published", "difference"] if any(row.published for row in result.rows) else []
    rows = [
        [TableCell(row.method), TableCell(row.selection)]
        + [_number(result, row, column) for column in result.columns]
        + (_comparison(result, row) if extra else [])
        for row in result.rows
    ]
    papers = [name for name, method in experiment.rows if method.published]
    note = result.order(papers) if experiment.is_ranked else ""
    return Grid(_heading(result), ["method", "selected by", *sizes, *extra], rows, absent, note=note)


def _by_panel(experiment: Experiment, results: Sequence[PanelResult]) -> Grid:
    """Lay out all panels: methods by panels, the average over all sizes in each."""
    found = [{(row.method, row.selection): row for row in result.rows} for result in results]
    order = [name for name, _ in experiment.rows]
    keys = sorted({key for rows in found for key in rows}, key=lambda key: (order.index(key[0]), key[1]))
    cells = [
        [TableCell(text) for text in key]
        + [
            _number(result, rows[key], result.columns[-1]) if key in rows else TableCell("no records")
            for result, rows in zip(results, found, strict=True)
        ]
        for key in keys
    ]
    header = ["method", "selected by", *map(_heading, results)]
    absent = f"There are no records. To make them: fewratio-bench run {experiment.name}"
    return Grid("Averages over N_S", header, cells, absent)


def _csv_row(experiment: Experiment, result: PanelResult, row: Row, column: str) -> list[Number]:
    values, published, panel = row.values[column], row.published.get(column), result.panel
    mean = statistics.mean(values)
    return [
        *(experiment.name, panel.data, panel.metric, column, row.method, row.selection),
        f"{mean:.5f}",
        f"{standard_error(values):.5f}" if len(values) > 1 else None,
        len(values),
        int(result.is_best(row, column)),
        published,
        None if published is None else f"{mean - published:.5f}",
    ]


def _heading(result: PanelResult) -> str:
    panel = result.panel
    partly = "" if panel.complete else f" ({' and '.join(problem.data for problem in panel.problems)} only)"
    return f"{panel.data}{partly}: {result.metric.label}"


def _number(result: PanelResult, row: Row, column: str) -> TableCell:
    values, digits = row.values.get(column), result.metric.digits
    if not values:
        return TableCell("-")
    error = f" ± {standard_error(values):.{digits}f}" if len(values) > 1 else ""
    # What the paper says of the last column has columns of its own.
    bracket = column != result.columns[-1] and column in row.published
    after = f" ({row.published[column]:.{digits}f})" if bracket else ""
    return TableCell(f"{statistics.mean(values):.{digits}f}{error}", result.is_best(row, column), after)


def _comparison(result: PanelResult, row: Row) -> list[TableCell]:
    """Give the paper's number for the last column (the average, or the only size) and the difference from it."""
    published, values = row.published.get(result.columns[-1]), row.values.get(result.columns[-1])
    if published is None:
        return [TableCell("-"), TableCell("-")]
    digits = result.metric.digits
    difference = f"{statistics.mean(values) - published:+.{digits}f}" if values else "-"
    return [TableCell(f"{published:.{digits}f}"), TableCell(difference)]


def _caption(experiment: Experiment, results: Sequence[PanelResult], records: Records, grids: Sequence[Grid]) -> str:
    rows = [row for result in results for row in result.rows]
    if not rows:
        return "There are no records."
    counts = sorted({len(values) for row in rows for values in row.values.values()})
    rules = sorted({row.selection for row in rows})
    shown = {row.method for row in rows}
    used = list(_used(experiment, records, shown))
    commits, devices = (sorted({getattr(record, name) for record in used}) for name in ("commit", "device"))
    unseen = "; ".join(name for name, _ in experiment.rows if name not in shown)
    absent = [result.panel for result in results if result.panel.absence and not result.rows]
    parts = [
        f"{experiment.note}Mean and standard error over {' or '.join(map(str, counts))} splits. Bold: the best of a "
        "column and those that are not significantly worse (paired t-test and sign test, p = 0.05). ",
        "In brackets, and under 'published': the paper's number, beside the rule of selection that the paper uses for "
        "the method. " * any(row.published for row in rows),
        "Best and worst are by the average over N_S (or the only one), each method selected as the paper does. "
        * any(grid.note for grid in grids),
        *(meaning for words, meaning in _WAYS.items() if any(words in name for name in shown)),
        f"Selected by: {'; '.join(f'{rule}, {SELECTIONS[rule]}' for rule in rules)}. ",
        f"Without records, and so not shown: {unseen}. " if unseen else "",
        # Where panels are columns, there is no other place to say it.
        *(f"No records of {panel.data}: {panel.absence}. " for panel in absent if experiment.layout == "panels"),
        f"Commit {', '.join(commits)}; device {', '.join(devices)}.",
    ]
    return "".join(parts)


def _used(experiment: Experiment, records: Records, shown: set[str]) -> Iterable[Record]:
    for name, method in experiment.rows:
        for problem in experiment.problems if name in shown else ():
            yield from measurements(records.get(problem.data, ()), method, problem).values()
