"""The report of a monitor, and the picture of its evidence."""

import math
from typing import Any

import numpy as np

from fewratio.charts.chart import Chart, Picture, chart_spec, combine, layer, number
from fewratio.charts.style import FIRST, OUTLIER
from fewratio.core.wording import write_count, write_large, write_share
from fewratio.report import page

# The picture does not show evidence below this share of the stake.
_LOWEST = 0.01


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
        "Evidence": f"{write_large(state.evidence)} now; alarm at {write_large(1 / level)}",
        "p-value": f"{state.p_value_text}, valid at any moment",
        "Chance of a false alarm": f"{level:.3g}, ever",
    }
    evidence = "what bets on this column alone have won; the alarm counts only its share of all columns"
    columns = page.Table(
        "Columns with evidence of a change", ("column", "change", "evidence"),
        [[each.column, each.change, _evidence(each)] for each in state.columns], False, f"Evidence: {evidence}.",
    )  # fmt: skip
    rows = page.Table(
        "Rows of the last batch, the farthest from the reference first",
        ("row", "farther than this share of all rows before", "farthest in"),
        [[str(each.row), page.Number(each.rank, write_share(each.rank)), each.column] for each in state.rows],
        note="Rows are counted from 0.",
    )
    batches = page.Table(
        "The last batches", ("batch", "first row", "evidence after it"),
        [[each.name, each.first, _evidence(each)] for each in state.batches], True,
    )  # fmt: skip
    about = (
        "The evidence starts at 1, and grows as new rows look unlike the reference. If nothing has "
        f"changed, the chance that it ever reaches {write_large(1 / level)} is at most {level:.3g}. Rows must be "
        "exchangeable."
    )
    call = command or "monitor.to_html(path)"
    sections = [
        page.Section("Evidence over time", [page.Text(about), _draw(state)]),
        page.Section("What changed", [columns] if state.columns else [page.Text("No single column shows a change.")]),
        page.Section("Rows and batches", [rows, batches]),
        page.Section("How this was made", page.describe_making(state.settings, call, "", ())),
    ]
    return page.Report("Monitor", state.summary, facts, sections, headline=state.headline)


def _evidence(found: Any) -> page.Number:
    return page.Number(found.evidence, write_large(found.evidence))


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
    y = {"y": number("evidence", "evidence", scale={"type": "log"}, axis={"tickCount": 6, "format": ".0e"})}
    place = {"y": {"datum": limit, "type": "quantitative"}}
    layers = [
        layer("line", {"x": number("row", "row"), **y}, color=FIRST, strokeWidth=1.5),
        layer("rule", place, [{}], strokeDash=[4, 3], color=OUTLIER),
        layer("text", place, [{}], align="left", x=4, dy=-7, text="alarm", color=OUTLIER),
    ]
    if state.since is not None:
        layers.append(layer("rule", {"x": {"datum": state.since.row, "type": "quantitative"}}, [{}], strokeDash=[2, 2]))
    spec = chart_spec(260, layer=layers)
    return Chart(spec, data, f"Line: the evidence after each row, with the alarm at {limit:.3g}. {state.summary}")
