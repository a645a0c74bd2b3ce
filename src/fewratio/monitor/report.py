"""The report of a monitor, and the picture of its evidence."""

import json
import math
from typing import Any

import numpy as np

from fewratio.charts.chart import Chart, Picture, chart_spec, combine, layer, number
from fewratio.charts.style import FIRST, OUTLIER
from fewratio.core.wording import write_count
from fewratio.monitor.evidence import raise_powers, write_evidence
from fewratio.report import page

# The picture does not show evidence below this share of the stake.
_LOWEST = 0.01
# Most intervals between the labels of its axis, and the factors of ten between them.
_TICKS, _STEPS = 6, (1, 2, 5, 10, 20, 50, 100)
# A logarithm lost in one row that is no bad luck.
_DROP = 5.0


def report_state(state: Any, command: str | None) -> page.Report:
    """Report whether there is an alarm, since when, and which columns caused it.

    Parameters
    ----------
    state : MonitorState
    command : str or None
        The command that makes the report; by default a call in Python.
    """
    level = state.settings["level"]
    facts = {
        "Rows": write_count(state.n_rows, "row"),
        "Evidence": f"{_write(state.evidence)} now; alarm at {_write(1 / level)}",
        "p-value": f"{state.p_value_text}, valid at any moment",
        "Chance of a false alarm": f"{level:.3g}, ever",
    }
    evidence = (
        "how strongly this column alone indicates a change; it starts at 1. Only part of it counts towards the alarm"
    )
    columns = page.Table(
        "Columns with evidence of a change",
        (
            "column",
            "change",
            "reference",
            "since then" if state.since is None else f"since row {state.since.row}",
            "evidence",
        ),
        [[each.column, each.change, *each.numbers, _evidence(each)] for each in state.columns],
        note=f"Numbers are means, unless they are shares or deviations. Evidence: {evidence}.",
    )
    rows = page.Table(
        "Rows of the last batch, the farthest from the reference first",
        ("row", "farther than … of all rows before", "farthest in"),
        [[str(each.row), page.Number(each.rank, _write_rank(each.rank)), each.column] for each in state.rows],
        note="Rows are counted from 0.",
    )
    batches = page.Table(
        "The last batches", ("batch", "first row", "evidence after it"),
        [[each.name, each.first, _evidence(each)] for each in state.batches], True,
    )  # fmt: skip
    about = (
        "The evidence grows as new rows look unlike the reference. A stake of 1 is shared between columns and ways to "
        "change, and the evidence is what the most successful share has become, so it begins below 1. If nothing has "
        f"changed, the chance that it ever reaches {_write(1 / level)} is at most {level:.3g}. This holds if rows that "
        "have not changed come in no particular order, as independent rows do."
    )
    if (np.diff(state.history[:, 1]) < -_DROP).any():
        about += (
            " Where the evidence drops suddenly, a comparison learned from recent rows was probably replaced by a new "
            "one, which has not won anything yet. An alarm stays."
        )
    call = command or "monitor.to_html(path)"
    sections = [
        page.Section("Evidence over time", [page.Text(about), _draw(state)]),
        page.Section("What changed", [columns] if state.columns else [page.Text("No single column shows a change.")]),
        page.Section("Rows and batches", [rows, batches]),
        page.Section("How this was made", page.describe_making(state.settings, call, "", ())),
    ]
    answer, headline = map(raise_powers, (state.summary, state.headline))
    return page.Report("Monitor", answer, facts, sections, headline=headline)


def _write(evidence: float) -> str:
    return raise_powers(write_evidence(evidence))


def _write_rank(rank: float) -> str:
    """Write the rank of a row as a percentage, rounded down: no row is farther than all rows and itself."""
    return f"{math.floor(1e4 * rank) / 100:.2f} %"


def _evidence(found: Any) -> page.Number:
    return page.Number(found.evidence, _write(found.evidence))


def draw_evidence(state: Any) -> Picture:
    """Draw the evidence over time, and the threshold of an alarm."""
    said = "no alarm" if state.alarm_row is None else f"alarm at row {state.alarm_row}"
    return combine([(_draw(state), "", 600)], f"Evidence of {write_count(state.n_rows, 'row')}: {said}")


def _draw(state: Any) -> Chart:
    limit = 1 / state.settings["level"]
    lowest, largest = math.log(_LOWEST), 600.0
    data = {
        "row": state.history[:, 0].tolist(),
        "evidence": np.exp(np.clip(state.history[:, 1], lowest, largest)).tolist(),
    }
    y = {"y": number("evidence", "evidence", scale={"type": "log"}, axis=_label_powers([*data["evidence"], limit]))}
    place = {"y": {"datum": limit, "type": "quantitative"}}
    layers = [
        layer("line", {"x": number("row", "row"), **y}, color=FIRST, strokeWidth=1.5),
        layer("rule", place, [{}], strokeDash=[4, 3], color=OUTLIER),
        layer(
            "text", {**place, "x": {"value": "width"}}, [{}], align="right", dx=-4, dy=-7, text="alarm", color=OUTLIER
        ),
    ]
    if state.since is not None:
        layers.append(layer("rule", {"x": {"datum": state.since.row, "type": "quantitative"}}, [{}], strokeDash=[2, 2]))
    spec = chart_spec(260, layer=layers)
    return Chart(spec, data, f"Line: the evidence after each row, with the alarm at {_write(limit)}. {state.summary}")


def _label_powers(values: list[float]) -> dict[str, Any]:
    """Return a logarithmic axis with a few powers of ten, whose exponents are raised."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    step = next(step for step in _STEPS if high - low <= _TICKS * step)
    exponents = range(-(-low // step) * step, high + 1, step)
    labels = {f"1e{each:+d}": raise_powers(f"10^{each}") if abs(each) > 2 else f"{10.0**each:g}" for each in exponents}
    expression = f"{json.dumps(labels, ensure_ascii=False)}[format(datum.value, '.0e')]"
    return {"values": [10.0**each for each in exponents], "labelExpr": expression}
