"""Series with their changes for reports, as Vega-Lite specifications."""

from collections.abc import Sequence
from typing import Any

from fewratio.charts.heat import ONCE
from fewratio.charts.style import FIRST, OUTLIER, SECOND
from fewratio.charts.vega import Chart, Data, chart_spec

# Axes of charts below each other have the same width, so that moments are below each other too.
_WIDTH = 52
# The first date in full, in two lines; hours as in ISO dates.
_DATES = (
    "utchours(datum.value) || utcminutes(datum.value) ? (datum.index ? utcFormat(datum.value, '%H:%M') : "
    "[utcFormat(datum.value, '%H:%M'), utcFormat(datum.value, '%-d %b %Y')]) : (datum.index ? datum.label : "
    "[utcFormat(datum.value, '%-d %b'), utcFormat(datum.value, '%Y')])"
)


def series_chart(
    data: Data, changes: Sequence[Any], title: str, description: str, *, is_time: bool, is_binned: bool
) -> Chart:
    """Draw a column of a series, the level of each segment, and the changes.

    Parameters
    ----------
    data : mapping
        Columns x, y, level and segment; low and high too if `is_binned`.
    changes : sequence
        Where on the x axis the changes are.
    title : str
        What the column is called.
    description : str
        What is to be seen.
    is_time : bool
        Whether x holds dates as ISO texts, else numbers.
    is_binned : bool
        Whether y is a mean of many rows, between the lowest and the highest.
    """
    y = {"field": "y", "type": "quantitative", **_Y}
    lines: list[dict[str, Any]] = [
        {"mark": {"type": "line", "color": FIRST, "strokeWidth": 1}, "encoding": {"y": y}},
        {
            "mark": {"type": "line", "strokeWidth": 2, "color": "currentColor"},
            "encoding": {"y": {**y, "field": "level"}, "detail": {"field": "segment", "type": "nominal"}},
        },
    ]
    if is_binned:
        ends = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
        lines.insert(0, {"mark": {"type": "area", "color": FIRST, "opacity": 0.25}, "encoding": ends})
    return Chart(_spec(150, title, lines, changes, data["x"], is_time), data, description)


def change_scores(
    data: Data, changes: Sequence[Any], threshold: float | None, ends: Sequence[Any], description: str, *, is_time: bool
) -> Chart:
    """Draw the scores of a test and its threshold, or those of the changes of a segmentation.

    Parameters
    ----------
    data : mapping
        Columns x and y.
    changes : sequence
        Where on the x axis the changes are.
    threshold : float or None
        Of the test; None of a segmentation.
    ends : sequence
        The first and the last x of the series.
    description : str
        What is to be seen.
    is_time : bool
        Whether x holds dates as ISO texts, else numbers.
    """
    y = {"field": "y", "type": "quantitative", **_Y, "scale": {"zero": True}}
    if threshold is None:
        lines = [
            {"mark": {"type": "point", "filled": True, "size": 60, "color": SECOND}, "encoding": {"y": y}},
            {"mark": {"type": "rule", "color": SECOND, "size": 3}, "encoding": {"y": y, "y2": {"datum": 0}}},
        ]
    else:
        level = {"y": {"datum": threshold, "type": "quantitative"}}
        label = {"type": "text", "align": "left", "x": 4, "dy": -7, "text": "threshold"}
        lines = [
            {"mark": {"type": "line", "color": SECOND, "strokeWidth": 1.5}, "encoding": {"y": y}},
            {"data": ONCE, "mark": {"type": "rule", "strokeDash": [2, 2]}, "encoding": {**level, "x": None}},
            {"data": ONCE, "mark": label, "encoding": {**level, "x": None}},
        ]
    return Chart(_spec(130, "score", lines, changes, ends, is_time), data, description)


_Y: dict[str, Any] = {
    "title": None,
    "axis": {"minExtent": _WIDTH, "maxExtent": _WIDTH, "tickCount": 4},
    "scale": {"zero": False},
}


def _spec(
    height: int, title: str, lines: list[Any], changes: Sequence[Any], ends: Sequence[Any], is_time: bool
) -> dict[str, Any]:
    """Return a specification of lines over a common x axis, with the changes as dashed rules."""
    scale: dict[str, Any] = {"domain": [ends[0], ends[-1]], "nice": False}
    # Dates are in UTC, whatever the zone of the reader.
    axis = {"labelExpr": _DATES, "labelOverlap": True}
    x = {"field": "x", "type": "temporal", "title": None, "scale": {**scale, "type": "utc"}, "axis": axis}
    if not is_time:
        x = {"field": "x", "type": "quantitative", "title": "row", "scale": scale}
    rules = {
        "data": {"values": [{"x": change} for change in changes]},
        "mark": {"type": "rule", "color": OUTLIER, "strokeDash": [6, 3], "size": 1.5},
    }
    above = {"text": title, "anchor": "start", "color": "currentColor", "fontSize": 12, "limit": 320}
    return chart_spec(height, title=above, encoding={"x": x}, layer=[*lines, rules])
