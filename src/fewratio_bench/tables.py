"""Tables made from records alone: ours beside the published numbers."""

import csv
import json
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from scipy.stats import binomtest, ttest_rel

from fewratio.errors import DataFileError
from fewratio_bench.experiments import Experiment, Panel
from fewratio_bench.methods import Method
from fewratio_bench.problems import Problem
from fewratio_bench.records import Record

AVERAGE = "avg"
# Of two methods, which is better is said by their numbers.
_FEWEST_IN_ORDER = 3
Records = Mapping[str, Sequence[Record]]
"""The records of each problem, by the name of its data."""
SELECTIONS = {
    "best_on_test": "for all splits the setting with the best mean on the targets themselves",
    "validation": (
        "for every split the setting that is best on its validation datasets (the length of dataset vectors by squared "
        "error and that of AE's and SD's output by the scores of normals, as in the paper; all else by what the table "
        "shows)"
    ),
    "none": "there is nothing to select",
}
# What a metric is called, with how many digits, and whether less is better.
METRICS = {
    "squared_error": ("J", 3, True),
    "regret": ("regret", 3, True),
    "auc": ("AUC [%]", 2, False),
    "normal_score": ("score of normals", 3, False),
}


@dataclass(frozen=True)
class Line:
    """One row under one rule of selection.

    Attributes
    ----------
    method, selection : str
        Which: the name that the table gives the method.
    values : dict
        By column (a number of support instances, or the average), the values of all splits.
    published : dict
        By column, the paper's number, where there is one to compare with; only with the rule by which the paper selects
        this method's setting.
    """

    method: str
    selection: str
    values: dict[str, list[float]]
    published: dict[str, float]


@dataclass(frozen=True)
class Block:
    """One panel of a table: its lines, what they are of, and which of them are best in each column."""

    panel: Panel
    columns: tuple[str, ...]
    lines: list[Line]

    def is_best(self, line: Line, column: str) -> bool:
        """Tell whether no line is significantly better in a column, over the splits.

        That is by the paired t-test (p = 0.05), as in the paper, and by the sign test: a line that explodes in one
        split has so large a variance that the t-test alone would call it as good as any.
        """
        others = [other for other in self.lines if other.values.get(column)]
        best = min(others, key=lambda other: self._loss(statistics.mean(other.values[column])))
        mine, theirs = line.values[column], best.values[column]
        if line is best or len(mine) != len(theirs) or len(mine) < 2:
            return line is best
        worse = "greater" if METRICS[self.panel.metric][2] else "less"
        # Equal lines give no p-value (NaN): they are as good.
        if ttest_rel(mine, theirs, alternative=worse).pvalue <= 0.05:
            return False
        signs = [self._loss(a) > self._loss(b) for a, b in zip(mine, theirs, strict=True) if a != b]
        return not signs or binomtest(sum(signs), len(signs), alternative="greater").pvalue > 0.05

    def order(self, papers: Collection[str]) -> str:
        """Say whether the best and the worst of the paper's methods are the paper's, by the last column.

        Parameters
        ----------
        papers : collection of str
            The rows that are the paper's. If one has no number, here or there, nothing can be said.
        """
        column = self.columns[-1] if self.columns else ""
        lines = [line for line in self.lines if column in line.published and line.values.get(column)]
        if len(lines) < _FEWEST_IN_ORDER or {line.method for line in lines} != set(papers):
            return ""
        here = sorted(lines, key=lambda line: self._loss(statistics.mean(line.values[column])))
        there = sorted(lines, key=lambda line: self._loss(line.published[column]))
        ends = (("best", here[0], there[0], here[1]), ("worst", here[-1], there[-1], here[-2]))
        return " ".join(self._compared(*end, column) for end in ends)

    def _compared(self, word: str, ours: Line, papers: Line, following: Line, column: str) -> str:
        said = f"The {word} of the paper's methods is {ours.method}"
        if ours is papers:
            return f"{said}, as in the paper (the next is {self._beside(ours, following, column)})."
        return f"{said}; in the paper it is {self._beside(ours, papers, column)}."

    def _beside(self, line: Line, other: Line, column: str) -> str:
        """Name another line with its number, and say how surely it is another."""
        mine, theirs = line.values[column], other.values[column]
        number = f"{other.method}, here {statistics.mean(theirs):.{METRICS[self.panel.metric][1]}f}"
        if len(mine) != len(theirs) or len(mine) < 2 or mine == theirs:
            return number
        p = ttest_rel(mine, theirs).pvalue
        return f"{number}, paired t-test p {'< 0.001' if p < 0.001 else f'= {p:.2g}'}"

    def _loss(self, value: float) -> float:
        return value if METRICS[self.panel.metric][2] else -value


def make_blocks(experiment: Experiment, records: Records) -> list[Block]:
    """Make the blocks of an experiment's table.

    Parameters
    ----------
    experiment : Experiment
        Which table.
    records : mapping
        The records of each problem.
    """
    blocks = []
    for panel in experiment.panels:
        lines = []
        for name, method in experiment.rows:
            tables = [_values(records.get(problem.data, ()), method, problem) for problem in panel.problems]
            if not all(tables):
                continue
            n_settings = max(len(table) for table in tables)
            for selection in ("best_on_test", "validation") if n_settings > 1 else ("none",):
                criterion = _criterion(method, panel.metric, selection)
                values = _columns([_select(table, panel.metric, selection, criterion) for table in tables])
                # Numbers of a quick run are none to set beside the paper's.
                comparable = panel.complete and not experiment.is_quick and selection in (method.rule, "none")
                published = _published(experiment.name, panel, method.published, values) if comparable else {}
                lines.append(Line(name, selection, values, published))
        columns = {column for line in lines for column in line.values}
        ordered = sorted(columns - {AVERAGE}, key=int) + [AVERAGE] * (AVERAGE in columns)
        blocks.append(Block(panel, tuple(ordered), lines))
    return blocks


# By setting, role and metric, then by size and split.
_Values = dict[str, dict[tuple[str, str], dict[int, dict[int, float]]]]


def _values(records: Iterable[Record], method: Method, problem: Problem) -> _Values:
    """Give the values of a method's present settings; records of others are left alone."""
    values: _Values = {}
    for key, record in present(records, method, problem):
        sizes = values.setdefault(key, {}).setdefault((record.role, record.metric), {})
        sizes.setdefault(record.n_support, {})[record.split] = record.value
    return values


def present(records: Iterable[Record], method: Method, problem: Problem) -> list[tuple[str, Record]]:
    """Give the records of a method's present settings, each with its setting as text; of a number, the last record."""
    known = {json.dumps(setting, sort_keys=True) for setting in method.settings(problem)}
    found = {}
    for record in records:
        if record.method == method.name and (key := json.dumps(record.parameters, sort_keys=True)) in known:
            found[key, record.split, record.n_support, record.role, record.metric] = key, record
    return list(found.values())


def needed_metrics(experiment: Experiment, method: Method, problem: Problem) -> set[tuple[str, str]]:
    """Give the roles and metrics that a method's records must have for an experiment's table."""
    shown = {panel.measured for panel in experiment.panels if problem in panel.problems}
    # The same records may stand in rows that are selected by other criteria.
    rows = [row for _, row in experiment.rows if row.name == method.name]
    looked_at = {_criterion(row, metric, "validation") for row in rows for metric in shown}
    return {("target", metric) for metric in shown} | {("validation", metric) for metric in looked_at}


def _criterion(method: Method, metric: str, selection: str) -> str:
    """Give what a rule of selection looks at."""
    # The regret to the truth is nothing that a selection could know.
    if metric == "regret":
        return "squared_error"
    return method.criterion or metric if selection == "validation" else metric


def _select(values: _Values, metric: str, selection: str, criterion: str) -> dict[int, dict[int, float]]:
    """Give the values on the targets, by size and split, of the settings that a rule selects."""
    any_setting = next(iter(values.values()))
    role = "validation" if selection == "validation" else "target"
    sign = 1 if METRICS[criterion][2] else -1

    def loss(setting: str, size: int, split: int) -> float:
        found = values[setting][role, criterion][size]
        return sign * (found[split] if selection == "validation" else statistics.mean(found.values()))

    selected: dict[int, dict[int, float]] = {}
    try:
        for size, splits in sorted(any_setting["target", metric].items()):
            for split in sorted(splits):
                losses = {setting: loss(setting, size, split) for setting in values}
                best = min(losses, key=losses.__getitem__)
                selected.setdefault(size, {})[split] = values[best]["target", metric][size][split]
    except KeyError as error:
        raise DataFileError(
            f"Some records are missing that others need beside them ({error.args[0]}). Run the experiment again: it "
            "measures what is missing."
        ) from error
    return selected


def _columns(selected: Sequence[dict[int, dict[int, float]]]) -> dict[str, list[float]]:
    """Give the values of all splits by column: sizes (of a single problem), and the average over sizes and problems."""
    columns = {}
    if len(selected) == 1:
        columns = {str(size): list(splits.values()) for size, splits in selected[0].items()}
    if len(columns) != 1:
        everything = [splits for sizes in selected for splits in sizes.values()]
        # An average is over all of them or it is none.
        complete = sorted(set.intersection(*(set(splits) for splits in everything)))
        columns[AVERAGE] = [statistics.mean(splits[split] for splits in everything) for split in complete]
    return columns


def _published(experiment: str, panel: Panel, method: str | None, values: Mapping[str, object]) -> dict[str, float]:
    """Give the paper's numbers for the columns that we have; its average only if ours is over the same sizes."""
    found = {
        size: value
        for (table, data, size, name, metric), value in published_numbers().items()
        if (table, data, name, metric) == (experiment, panel.data, method, panel.metric)
    }
    sizes = [size for size in values if size != AVERAGE]
    if len(panel.problems) == 1 and set(sizes) != {str(size) for size in panel.problems[0].sizes}:
        found.pop(AVERAGE, None)
        if sizes and all(size in found for size in sizes):
            found[AVERAGE] = statistics.mean(found[size] for size in sizes)
    return found


def standard_error(values: Sequence[float]) -> float:
    """Give the standard error of a mean."""
    return statistics.stdev(values) / len(values) ** 0.5


@cache
def published_numbers() -> dict[tuple[str, str, str, str, str], float]:
    """Give the paper's numbers by experiment, data, size, method and metric."""
    with (files("fewratio_bench") / "published.csv").open(encoding="utf-8") as file:
        return {
            (row["experiment"], row["data"], row["n_support"], row["method"], row["metric"]): float(row["value"])
            for row in csv.DictReader(file)
        }
