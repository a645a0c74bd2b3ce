"""How the numbers of an experiment are laid out as a table."""

import shlex
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from fewratio_bench.cost import cost_table
from fewratio_bench.experiments import Experiment
from fewratio_bench.grids import Cell, Grid, Table
from fewratio_bench.records import Record
from fewratio_bench.run import record_file
from fewratio_bench.tables import (
    AVERAGE,
    METRICS,
    SELECTIONS,
    Block,
    Line,
    Records,
    make_blocks,
    present,
    standard_error,
)

NO_RECORDS = "no records"
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


def table_of(experiment: Experiment, folder: Path, records: Records | None = None) -> Table:
    """Make an experiment's table from the records in a folder; those of its problems, if they are read already."""
    if records is None:
        records = {problem.data: record_file(folder, problem).read() for problem in experiment.problems}
    mine = {problem.data: records.get(problem.data, ()) for problem in experiment.problems}
    return LAYOUTS[experiment.layout](experiment, mine, folder)


def by_size(experiment: Experiment, records: Records, folder: Path | None = None) -> Table:
    """Lay out a grid for each panel: methods by numbers of support instances, with the paper's numbers."""
    blocks = make_blocks(experiment, records)
    return _table(experiment, blocks, [_panel_grid(block, experiment) for block in blocks], records)


def by_panel(experiment: Experiment, records: Records, folder: Path | None = None) -> Table:
    """Lay out one grid: methods by panels, the average over all sizes in each."""
    blocks = make_blocks(experiment, records)
    found = [{(line.method, line.selection): line for line in block.lines} for block in blocks]
    order = [name for name, _ in experiment.rows]
    rows = sorted({key for lines in found for key in lines}, key=lambda key: (order.index(key[0]), key[1]))
    cells = [
        [Cell(name), Cell(selection)]
        + [
            _number(block, lines[name, selection], block.columns[-1])
            if (name, selection) in lines
            else Cell(NO_RECORDS)
            for block, lines in zip(blocks, found, strict=True)
        ]
        for name, selection in rows
    ]
    header = ["method", "selected by", *(_heading(block) for block in blocks)]
    absent = f"There are no records. To make them: fewratio-bench run {experiment.name}"
    return _table(experiment, blocks, [Grid("Averages over N_S", header, cells, absent)], records)


LAYOUTS: dict[str, Callable[[Experiment, Records, Path], Table]] = {
    "sizes": by_size,
    "panels": by_panel,
    "seconds": cost_table,
}


def _table(experiment: Experiment, blocks: Sequence[Block], grids: Sequence[Grid], records: Records) -> Table:
    shown = {line.method for block in blocks for line in block.lines}
    used = [
        record
        for name, method in experiment.rows
        for problem in experiment.problems
        if name in shown
        for _, record in present(records.get(problem.data, ()), method, problem)
    ]
    caption = _caption(experiment, blocks, used, ranked=any(grid.note for grid in grids))
    return Table(experiment.title, grids, caption, _COLUMNS, _numbers(experiment, blocks))


def _numbers(experiment: Experiment, blocks: Sequence[Block]) -> list[list[str | float | None]]:
    numbers: list[list[str | float | None]] = []
    for block in blocks:
        for line in block.lines:
            for column, values in line.values.items():
                if not values:
                    continue
                mean, published = statistics.mean(values), line.published.get(column)
                error = None if len(values) < 2 else f"{standard_error(values):.5f}"
                difference = None if published is None else f"{mean - published:.5f}"
                where = (experiment.name, block.panel.data, block.panel.metric, column, line.method, line.selection)
                best = int(block.is_best(line, column))
                numbers.append([*where, f"{mean:.5f}", error, len(values), best, published, difference])
    return numbers


def _panel_grid(block: Block, experiment: Experiment) -> Grid:
    quick = ["--quick"] if experiment.is_quick else []
    data = [problem.data for problem in block.panel.problems]
    command = shlex.join(["fewratio-bench", "run", experiment.name, *quick, "--data", *data])
    why = f" ({block.panel.absence})" if block.panel.absence else ""
    absent = f"There are no records{why}. To make them: {command}"
    sizes = [AVERAGE if column == AVERAGE else f"N_S = {column}" for column in block.columns]
    extra = ["published", "difference"] if any(line.published for line in block.lines) else []
    rows = [
        [Cell(line.method), Cell(line.selection)]
        + [_number(block, line, column) for column in block.columns]
        + (_comparison(block, line) if extra else [])
        for line in block.lines
    ]
    papers = [name for name, method in experiment.rows if method.published]
    note = block.order(papers) if experiment.is_ranked else ""
    return Grid(_heading(block), ["method", "selected by", *sizes, *extra], rows, absent, note=note)


def _heading(block: Block) -> str:
    partly = "" if block.panel.complete else f" ({' and '.join(problem.data for problem in block.panel.problems)} only)"
    return f"{block.panel.data}{partly}: {METRICS[block.panel.metric][0]}"


def _number(block: Block, line: Line, column: str) -> Cell:
    values = line.values.get(column)
    if not values:
        return Cell("-")
    digits = METRICS[block.panel.metric][1]
    text = f"{statistics.mean(values):.{digits}f}"
    if len(values) > 1:
        text += f" ± {standard_error(values):.{digits}f}"
    # What the paper says of the last column has columns of its own.
    bracket = column != block.columns[-1] and column in line.published
    return Cell(text, block.is_best(line, column), f" ({line.published[column]:.{digits}f})" if bracket else "")


def _comparison(block: Block, line: Line) -> list[Cell]:
    """Give the paper's number for the last column (the average, or the only size) and how far ours is from it."""
    digits = METRICS[block.panel.metric][1]
    published, values = line.published.get(block.columns[-1]), line.values.get(block.columns[-1])
    difference = None if published is None or not values else statistics.mean(values) - published
    return [
        Cell("-" if published is None else f"{published:.{digits}f}"),
        Cell("-" if difference is None else f"{difference:+.{digits}f}"),
    ]


def _caption(experiment: Experiment, blocks: Sequence[Block], records: Sequence[Record], *, ranked: bool) -> str:
    lines = [line for block in blocks for line in block.lines]
    if not lines:
        return "There are no records."
    counts = sorted({len(values) for line in lines for values in line.values.values()})
    rules = {line.selection: SELECTIONS[line.selection] for line in lines}
    commits, devices = (sorted({getattr(record, name) for record in records}) for name in ("commit", "device"))
    shown = {line.method for line in lines}
    unseen = "; ".join(name for name, _ in experiment.rows if name not in shown)
    # Where panels are columns, there is no other place to say it.
    absent = [block.panel for block in blocks if block.panel.absence and not block.lines]
    why = "".join(f"No records of {panel.data}: {panel.absence}. " for panel in absent)
    published = (
        "In brackets, and under 'published': the paper's number, beside the rule of selection that the paper uses for "
        "the method. "
    )
    order = "Best and worst are by the average over N_S (or the only one), each method selected as the paper does. "
    ways = "".join(meaning for words, meaning in _WAYS.items() if any(words in name for name in shown))
    return (
        f"{experiment.note}Mean and standard error over {' or '.join(map(str, counts))} splits. Bold: the best of a "
        "column and those that are not significantly worse (paired t-test and sign test, p = 0.05). "
        f"{published if any(line.published for line in lines) else ''}"
        f"{order if ranked else ''}{ways}"
        f"Selected by: {'; '.join(f'{name}, {rule}' for name, rule in sorted(rules.items()))}. "
        f"{f'Without records, and so not shown: {unseen}. ' if unseen else ''}"
        f"{why if experiment.layout == 'panels' else ''}"
        f"Commit {', '.join(commits)}; device {', '.join(devices)}."
    )
