"""The table of an experiment, from records."""

import json
import shlex
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fewratio_bench.aggregation import (
    AVERAGE,
    Extreme,
    Metric,
    PanelResult,
    Records,
    Row,
    aggregate,
    measurements,
    published_numbers,
    standard_error,
)
from fewratio_bench.experiments import Experiment
from fewratio_bench.problems import Problem
from fewratio_bench.rendering import Grid, Table, TableCell, render, table_text
from fewratio_bench.run import record_file

# By name of a column, how what stands there is written.
_COST_COLUMNS = {"what": "", "device": "", "seconds": ".3f", "published": ".2f"}
# The paper's number of support instances.
_N_SUPPORT = 5
_COST_CAPTION = (
    "Published: on a 2.20 GHz CPU; train is learning from the sources once, test is judging the 100 ordered pairs of "
    "the targets. Alone: made by benchmarks/method_cost.py on one split; train is one training of {steps} steps "
    "(K = 32), test is half the time of judging 200 pairs, the targets' and as many of validation datasets, with one "
    "setting. Together: the seconds in the records, mean over settings and splits; judging the 100 pairs of the "
    "targets and, for a method that learns, the training time of an ensemble (splits, sizes and lengths K as one "
    "program) divided by its members; published there: train and test together. {circumstances}"
)


def read_records(folder: Path, problems: Iterable[Problem]) -> Records:
    """Read the records of some problems from a folder."""
    return {problem.data: record_file(folder, problem).read() for problem in problems}


def make_table(experiment: Experiment, folder: Path, records: Records | None = None) -> Table:
    """Make an experiment's table from the records in a folder; those of its problems, if they are read already."""
    records = read_records(folder, experiment.problems) if records is None else records
    if experiment.layout == "seconds":
        return _cost_table(experiment, records, folder)
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
    caption = _caption(experiment, results, records, ranked=any(grid.note for grid in grids))
    return Table(experiment.title, grids, caption, numbers)


def write_table(experiment: Experiment, folder: Path, format: str = "markdown") -> str:
    """Write the table of an experiment, made from the records of a folder.

    Parameters
    ----------
    experiment : Experiment
        What to show.
    folder : Path
        Where the records are.
    format : {"markdown", "latex", "html", "csv"}
        How to write it.
    """
    return table_text(make_table(experiment, folder), format)


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
    note = " ".join(_said(each, result.metric) for each in result.extremes(papers)) if experiment.is_ranked else ""
    return Grid(_heading(result), ["method", "selected by", *sizes, *extra], rows, absent, note=note)


def _said(extreme: Extreme, metric: Metric) -> str:
    beside = f"{extreme.other}, here {extreme.other_mean:.{metric.digits}f}"
    if extreme.p_value is not None:
        beside += f", paired t-test p {'< 0.001' if extreme.p_value < 0.001 else f'= {extreme.p_value:.2g}'}"
    end = f", as in the paper (next: {beside})" if extreme.as_in_paper else f"; in the paper: {beside}"
    return f"{extreme.end.capitalize()} of the published methods: {extreme.method}{end}."


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


def _csv_row(experiment: Experiment, result: PanelResult, row: Row, column: str) -> dict[str, Any]:
    values, published = row.values[column], row.published.get(column)
    mean = statistics.fmean(values)
    row_of = {"experiment": experiment.name, "data": result.panel.data, "metric": result.panel.metric}
    row_of |= {"n_support": column, "method": row.method, "selection": row.selection}
    error = f"{standard_error(values):.5f}" if len(values) > 1 else None
    numbers = {"mean": f"{mean:.5f}", "standard_error": error, "n_splits": len(values)}
    difference = None if published is None else f"{mean - published:.5f}"
    paper = {"published": published, "difference": difference}
    return {**row_of, **numbers, "best_or_comparable": int(result.is_best(row, column)), **paper}


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
    return TableCell(f"{statistics.fmean(values):.{digits}f}{error}", result.is_best(row, column), after)


def _comparison(result: PanelResult, row: Row) -> list[TableCell]:
    """Return the paper's number for the last column (the average, or the only size) and the difference from it."""
    published, values = row.published.get(result.columns[-1]), row.values.get(result.columns[-1])
    if published is None:
        return [TableCell("-"), TableCell("-")]
    digits = result.metric.digits
    difference = f"{statistics.fmean(values) - published:+.{digits}f}" if values else "-"
    return [TableCell(f"{published:.{digits}f}"), TableCell(difference)]


def _caption(experiment: Experiment, results: Sequence[PanelResult], records: Records, *, ranked: bool) -> str:
    rows = [row for result in results for row in result.rows]
    if not rows:
        return "There are no records."
    shown = {row.method for row in rows}
    used = [
        record
        for name, method in experiment.rows
        for problem in experiment.problems
        if name in shown
        for record in measurements(records.get(problem.data, ()), method, problem).values()
    ]
    text = render(
        "caption.txt",
        experiment=experiment,
        rows=rows,
        ranked=ranked,
        counts=sorted({len(values) for row in rows for values in row.values.values()}),
        unseen=[name for name, _ in experiment.rows if name not in shown],
        absent=[result.panel for result in results if result.panel.absence and not result.rows],
        used=used,
    )
    return " ".join(text.split())


# ---------------------------------------------------------------- seconds


def _cost_table(experiment: Experiment, records: Records, folder: Path) -> Table:
    """Make the table of seconds from records, and from what ``benchmarks/method_cost.py`` wrote.

    Parameters
    ----------
    experiment : Experiment
        The methods, and the problem they are timed on.
    records : mapping
        The records of that problem.
    folder : Path
        Where ``benchmarks/method_cost.jsonl`` is.
    """
    (problem,) = experiment.problems
    costs = _read(folder / "benchmarks" / "method_cost.jsonl")
    alone, together, used = [], [], []
    for method in experiment.methods:
        for cost in (cost for cost in costs if cost["method"] == method.name):
            parts = {"": cost["judging 200 pairs, seconds"] / 2}
            if cost["steps of learning"]:
                parts = {" (train)": cost["learning, seconds"], " (test)": parts[""]}
            alone += [_cost_row(problem.data, method.name + part, [seconds], [cost]) for part, seconds in parts.items()]
            used.append(cost)
        mine = measurements(records.get(problem.data, ()), method, problem).values()
        # A record of each metric names the same seconds, so one metric stands for all.
        target = ("target", "auc", _N_SUPPORT)
        timed = [vars(each) for each in mine if (each.role, each.metric, each.n_support) == target]
        for device in sorted({each["device"] for each in timed}):
            here = [each for each in timed if each["device"] == device]
            splits = sorted({each["split"] for each in here})
            seconds = [statistics.fmean(each["seconds"] for each in here if each["split"] == split) for split in splits]
            together.append(_cost_row(problem.data, method.name, seconds, here))
        used += timed
    where = f"{problem.data}, N_S = {_N_SUPPORT}"
    steps = " or ".join(map(str, sorted({cost["steps of learning"] for cost in costs} - {0}))) or "so many"
    made = sorted({(each["device"], each["commit"]) for each in used})
    told = {"experiment": experiment.name, "data": problem.data, "n_support": _N_SUPPORT}
    return Table(
        experiment.title,
        [
            _cost_grid(f"{where}: one training alone", alone, "Run benchmarks/method_cost.py."),
            _cost_grid(f"{where}: all trainings together", together, f"Run 'fewratio-bench run {experiment.name}'."),
        ],
        _COST_CAPTION.format(
            steps=steps, circumstances=" ".join(f"Device {device}: commit {commit}." for device, commit in made)
        ),
        [told | row | {"seconds": f"{row['seconds']:.5f}"} for row in (*alone, *together)],
    )


def _cost_row(data: str, label: str, seconds: Sequence[float], sources: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what something takes, in some splits."""
    devices, commits = (", ".join(sorted({source[name] for source in sources})) for name in ("device", "commit"))
    threads = {source["threads"] for source in sources if "threads" in source}
    return {
        "what": label,
        "seconds": statistics.fmean(seconds),
        "standard_error": f"{standard_error(seconds):.5f}" if len(seconds) > 1 else None,
        "n_splits": len(seconds),
        "published": _published_cost(data, label),
        "device": devices + "".join(f", {n} thread{'s' * (n > 1)}" for n in threads),
        "commit": commits,
    }


def _cost_grid(heading: str, rows: Sequence[dict[str, Any]], advice: str) -> Grid:
    cells = [
        [TableCell("-" if row[name] is None else format(row[name], form)) for name, form in _COST_COLUMNS.items()]
        for row in rows
    ]
    absent = f"There are no records of it, so there is no number. {advice}"
    return Grid(heading, list(_COST_COLUMNS), cells, absent)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _published_cost(data: str, label: str) -> float | None:
    """Return the paper's seconds; of a method that learns, for both parts if the label names neither."""
    parts = (label, f"{label} (train)", f"{label} (test)")
    keys = (("computation-cost", data, str(_N_SUPPORT), part, "seconds") for part in parts)
    found = [published_numbers()[key] for key in keys if key in published_numbers()]
    return sum(found) if found else None
