"""Tables made from records alone: ours beside the published numbers."""

import csv
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from scipy.stats import ttest_rel

from fewratio_bench.recipes import Method
from fewratio_bench.records import Record

SELECTIONS = ("best_on_test", "validation")


@dataclass(frozen=True)
class Row:
    """One method at its selected setting: the values of each split, and how the setting was selected."""

    method: str
    published: float | None
    selection: str
    squared_error: list[float]
    regret: list[float]


def published_value(experiment: str, data: str, n_support: int, method: str | None) -> float | None:
    """Look a number of the paper up."""
    with (files("fewratio_bench") / "published.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found = row["experiment"], row["data"], row["n_support"], row["method"]
            if found == (experiment, data, str(n_support), method):
                return float(row["value"])
    return None


def make_rows(records: Sequence[Record], methods: Sequence[Method]) -> list[Row]:
    """Select a setting for every method, by every rule that makes a difference."""
    rows = []
    for method in methods:
        mine = [record for record in records if record.method == method.name]
        if not mine:
            continue
        published = published_value(mine[0].experiment, mine[0].data, mine[0].n_support, method.published)
        settings = {json.dumps(record.parameters, sort_keys=True) for record in mine}
        # One setting leaves nothing to select; several are selected by both rules, side by side.
        for selection in SELECTIONS if len(settings) > 1 else ("none",):
            role = "validation" if selection == "validation" else "target"
            best = min(settings, key=lambda setting: _mean(mine, setting, role, "squared_error"))
            errors, regrets = (_values(mine, best, "target", metric) for metric in ("squared_error", "regret"))
            rows.append(Row(method.name, published, selection, errors, regrets))
    return rows


def markdown(rows: Sequence[Row], records: Sequence[Record]) -> str:
    """Write the table as Markdown, with what was run where below it."""
    best = min(rows, key=lambda row: statistics.mean(row.regret))
    lines = [
        "| method | setting selected | published J | our J | difference | regret to the true ratio |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        ours = statistics.mean(row.squared_error)
        published = "-" if row.published is None else f"{row.published:.3f}"
        difference = "-" if row.published is None else f"{ours - row.published:+.3f}"
        regret = _mean_and_error(row.regret)
        if _comparable(row, best):
            regret = f"**{regret}**"
        cells = [row.method, row.selection, published, _mean_and_error(row.squared_error), difference, regret]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", _caption(rows, records)]) + "\n"


def _caption(rows: Sequence[Row], records: Sequence[Record]) -> str:
    n_splits = len(rows[0].squared_error)
    commits, devices = (sorted({getattr(record, name) for record in records}) for name in ("commit", "device"))
    return (
        f"Mean and standard error over {n_splits} draws of all datasets, N_S = {records[0].n_support}; lower is "
        "better. Bold: the lowest regret and those not significantly above it (paired t-test, p = 0.05). Setting "
        "selected: best_on_test takes the regulariser with the best mean on the targets themselves (the paper's rule), "
        "validation the one with the best mean on the validation datasets, none where there is nothing to select. "
        "The paper's targets are its own draw, so J is comparable only roughly; the regret is measured against the "
        f"true ratio on the same test instances. Commit {', '.join(commits)}; device {', '.join(devices)}."
    )


def _mean(records: Sequence[Record], setting: str, role: str, metric: str) -> float:
    return statistics.mean(_values(records, setting, role, metric))


def _values(records: Sequence[Record], setting: str, role: str, metric: str) -> list[float]:
    """Give the values of one setting, in the order of the splits."""
    by_split = {
        record.split: record.value
        for record in records
        if (record.role, record.metric) == (role, metric) and json.dumps(record.parameters, sort_keys=True) == setting
    }
    return [by_split[split] for split in sorted(by_split)]


def _mean_and_error(values: Sequence[float]) -> str:
    if len(values) < 2:
        return f"{values[0]:.3f}"
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values) / len(values) ** 0.5:.3f}"


def _comparable(row: Row, best: Row) -> bool:
    if row is best:
        return True
    if len(row.regret) != len(best.regret) or len(row.regret) < 2:
        return False
    # Equal rows give no p-value (NaN): they are as good.
    return not ttest_rel(row.regret, best.regret, alternative="greater").pvalue <= 0.05
