"""Compute tables from records: select settings, average over splits, and find the best rows."""

import csv
import json
import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from scipy.stats import binomtest, ttest_rel

from fewratio.errors import DataFileError
from fewratio_bench.experiments import Experiment, Panel
from fewratio_bench.methods import Method
from fewratio_bench.problems import Problem
from fewratio_bench.records import Record

AVERAGE = "avg"
# The records of each problem, by the name of its data.
Records = Mapping[str, Sequence[Record]]
# Records by setting, role, metric, number of support instances and split.
Measurements = dict[tuple[str, str, str, int, int], Record]


class Metric(NamedTuple):
    """A metric: its name in tables, how many digits are shown, and the sign that makes it a loss."""

    label: str
    digits: int
    sign: int


METRICS = {
    "squared_error": Metric("J", 3, 1),
    "regret": Metric("regret", 3, 1),
    "auc": Metric("AUC [%]", 2, -1),
    "normal_score": Metric("score of normals", 3, -1),
}


@dataclass(frozen=True)
class Row:
    """The values of a method under one rule of selection.

    Attributes
    ----------
    method, selection : str
        Name of the method in the table, and rule of selection.
    values : dict
        The values of all splits by column (a number of support instances, or the average).
    published : dict
        The comparable numbers of the paper by column; only for the rule by which the paper selects the setting of this
        method.
    """

    method: str
    selection: str
    values: dict[str, list[float]]
    published: dict[str, float]


class Extreme(NamedTuple):
    """The best or the worst of the published methods.

    Attributes
    ----------
    end : {"best", "worst"}
        Which end of the ranking.
    method : str
        The method at this end of our numbers.
    as_in_paper : bool
        Whether it is also at this end of the numbers in the paper.
    other : str
        The method at this end in the paper, or if it is the same, the next method in our numbers.
    other_mean : float
        The mean of the other method in our numbers.
    p_value : float or None
        P-value of the paired t-test between the two methods; None if there is no test.
    """

    end: str
    method: str
    as_in_paper: bool
    other: str
    other_mean: float
    p_value: float | None


@dataclass(frozen=True)
class PanelResult:
    """The rows of one panel of a table, and which of them are best in each column."""

    panel: Panel
    columns: tuple[str, ...]
    rows: list[Row]

    @property
    def metric(self) -> Metric:
        """The metric of the panel."""
        return METRICS[self.panel.metric]

    def is_best(self, row: Row, column: str) -> bool:
        """Return whether no row is significantly better in a column, over the splits.

        It uses the paired t-test (p = 0.05), as in the paper, and the sign test, since a row that diverges in one split
        has such a large variance that the t-test finds nothing.
        """
        best = self._rank((other for other in self.rows if other.values.get(column)), column)[0]
        sign, mine, theirs = self.metric.sign, row.values[column], best.values[column]
        if row is best or len(mine) != len(theirs) or len(mine) < 2:
            return row is best
        # Equal rows have no p-value (NaN), and count as equally good.
        if ttest_rel(mine, theirs, alternative="greater" if sign > 0 else "less").pvalue <= 0.05:
            return False
        worse = [sign * a > sign * b for a, b in zip(mine, theirs, strict=True) if a != b]
        return not worse or binomtest(sum(worse), len(worse), alternative="greater").pvalue > 0.05

    def extremes(self, papers: Collection[str]) -> list[Extreme]:
        """Compare the best and the worst of the paper's methods with the paper's, by the last column.

        Parameters
        ----------
        papers : collection of str
            Names of the paper's methods. If one of them lacks a number, there are no extremes.
        """
        column = self.columns[-1] if self.columns else ""
        rows = [row for row in self.rows if column in row.published and row.values.get(column)]
        # With only two methods, their numbers show which is better.
        if len(rows) < 3 or {row.method for row in rows} != set(papers):
            return []
        here = self._rank(rows, column)
        there = sorted(rows, key=lambda row: self.metric.sign * row.published[column])
        found = []
        for end, ranked, theirs in (("best", here, there), ("worst", here[::-1], there[::-1])):
            as_in_paper = ranked[0] is theirs[0]
            other = ranked[1] if as_in_paper else theirs[0]
            mine, others = ranked[0].values[column], other.values[column]
            paired = len(mine) == len(others) > 1 and mine != others
            p_value = float(ttest_rel(mine, others).pvalue) if paired else None
            found.append(Extreme(end, ranked[0].method, as_in_paper, other.method, statistics.fmean(others), p_value))
        return found

    def _rank(self, rows: Iterable[Row], column: str) -> list[Row]:
        """Sort rows, the best first."""
        return sorted(rows, key=lambda row: self.metric.sign * statistics.fmean(row.values[column]))


def aggregate(experiment: Experiment, records: Records) -> list[PanelResult]:
    """Select and average, for every panel of an experiment's table.

    Parameters
    ----------
    experiment : Experiment
        The experiment of the table.
    records : mapping
        The records of each problem.
    """
    results = []
    for panel in experiment.panels:
        rows = []
        for name, method in experiment.rows:
            found = [measurements(records.get(problem.data, ()), method, problem) for problem in panel.problems]
            if not all(found):
                continue
            n_settings = max(len({setting for setting, *_ in each}) for each in found)
            for selection in ("best_on_test", "validation") if n_settings > 1 else ("none",):
                criterion = _criterion(method, panel.metric, selection)
                values = _columns([_select(each, panel.metric, selection, criterion) for each in found])
                # Numbers of a quick run cannot be compared with the paper's.
                comparable = panel.complete and not experiment.is_quick and selection in (method.rule, "none")
                published = _find_published(experiment.name, panel, method.published, values) if comparable else {}
                rows.append(Row(name, selection, values, published))
        columns = {column for row in rows for column in row.values}
        ordered = sorted(columns - {AVERAGE}, key=int) + [AVERAGE] * (AVERAGE in columns)
        results.append(PanelResult(panel, tuple(ordered), rows))
    return results


def measurements(records: Iterable[Record], method: Method, problem: Problem) -> Measurements:
    """Find the records of the current settings of a method; the last one if a number was measured again."""
    known = {json.dumps(setting, sort_keys=True) for setting in method.settings(problem)}
    return {
        (record.setting, record.role, record.metric, record.n_support, record.split): record
        for record in records
        if record.method == method.name and record.setting in known
    }


def needed_metrics(experiment: Experiment, method: Method, problem: Problem) -> set[tuple[str, str]]:
    """Return the roles and metrics that a method's records must have for an experiment's table."""
    shown = {panel.metric for panel in experiment.panels if problem in panel.problems}
    # The same records may be used in rows with other selection criteria.
    rows = [row for _, row in experiment.rows if row.name == method.name]
    criteria = {_criterion(row, metric, "validation") for row in rows for metric in shown}
    return {("target", metric) for metric in shown} | {("validation", metric) for metric in criteria}


def _criterion(method: Method, metric: str, selection: str) -> str:
    """Return the metric that a rule of selection uses."""
    # A selection cannot know the regret, which needs the truth.
    if metric == "regret":
        return "squared_error"
    return method.criterion or metric if selection == "validation" else metric


def _select(found: Measurements, metric: str, selection: str, criterion: str) -> dict[int, dict[int, float]]:
    """Return the values on the targets, by size and split, of the settings that a rule selects."""
    by_split = selection == "validation"
    values_by: dict[tuple[str, int, int | None], list[float]] = {}
    for (setting, role, name, size, split), record in found.items():
        if (role, name) == ("validation" if by_split else "target", criterion):
            values_by.setdefault((setting, size, split if by_split else None), []).append(record.value)
    losses = {key: METRICS[criterion].sign * statistics.fmean(values) for key, values in values_by.items()}
    settings = list(dict.fromkeys(setting for setting, *_ in found))
    shown = sorted(key[3:] for key in found if key[:3] == (settings[0], "target", metric))
    selected: dict[int, dict[int, float]] = {}
    for size, split in shown:
        try:
            best = min(settings, key=lambda setting: losses[setting, size, split if by_split else None])
            selected.setdefault(size, {})[split] = found[best, "target", metric, size, split].value
        except KeyError as error:
            raise DataFileError(
                f"Of split {split} at N_S = {size} some records are missing that others need beside them. Run the "
                "experiment again: it measures what is missing."
            ) from error
    return selected


def _columns(selected: Sequence[dict[int, dict[int, float]]]) -> dict[str, list[float]]:
    """Return the values of all splits by column: sizes (for a single problem), and the average of all."""
    columns = {}
    if len(selected) == 1:
        columns = {str(size): list(splits.values()) for size, splits in selected[0].items()}
    if len(columns) != 1:
        everything = [splits for sizes in selected for splits in sizes.values()]
        # Average only if all values exist.
        complete = sorted(set.intersection(*(set(splits) for splits in everything)))
        columns[AVERAGE] = [statistics.fmean(splits[split] for splits in everything) for split in complete]
    return columns


def _find_published(
    experiment: str, panel: Panel, method: str | None, values: Mapping[str, object]
) -> dict[str, float]:
    """Return the paper's numbers for the columns that we have; its average only if ours is over the same sizes."""
    found = {
        size: value
        for (table, data, size, name, metric), value in published_numbers().items()
        if (table, data, name, metric) == (experiment, panel.data, method, panel.metric)
    }
    sizes = [size for size in values if size != AVERAGE]
    if len(panel.problems) == 1 and set(sizes) != {str(size) for size in panel.problems[0].sizes}:
        found.pop(AVERAGE, None)
        if sizes and all(size in found for size in sizes):
            found[AVERAGE] = statistics.fmean(found[size] for size in sizes)
    return found


def standard_error(values: Sequence[float]) -> float:
    """Compute the standard error of a mean; NaN of a single value."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else math.nan


@cache
def published_numbers() -> dict[tuple[str, str, str, str, str], float]:
    """Read the paper's numbers, by experiment, data, size, method and metric."""
    with (files("fewratio_bench") / "published.csv").open(encoding="utf-8") as file:
        return {
            (row["experiment"], row["data"], row["n_support"], row["method"], row["metric"]): float(row["value"])
            for row in csv.DictReader(file)
        }
