"""Charts of a series with its changes."""

from collections.abc import Sequence
from typing import Any

from fewratio.charts.chart import CURRENT, Chart, Data, chart_spec, layer, name, number
from fewratio.charts.style import FIRST, OUTLIER, SECOND

# Stacked charts have axes of the same width, so that their moments line up.
_WIDTH = 52
# The first date is written in full, on two lines, unless it begins a year; hours are written as in ISO dates.
_DATES = (
    "utchours(datum.value) || utcminutes(datum.value) ? (datum.index ? utcFormat(datum.value, '%H:%M') : "
    "[utcFormat(datum.value, '%H:%M'), utcFormat(datum.value, '%-d %b %Y')]) : (datum.index || "
    "utcdayofyear(datum.value) == 1 ? datum.label : [utcFormat(datum.value, '%-d %b'), utcFormat(datum.value, '%Y')])"
)
_Y: dict[str, Any] = {
    "axis": {"minExtent": _WIDTH, "maxExtent": _WIDTH, "tickCount": 4},
    "scale": {"zero": False},
}


def series_chart(
    data: Data, changes: Sequence[Any], are_own: Sequence[bool], title: str, description: str, axis: str, height: int
) -> Chart:
    """Draw a column of a series, the level of each segment, and the changes.

    Parameters
    ----------
    data : mapping
        Columns x, y, level and segment; low and high too if y is a mean of many rows.
    changes : sequence
        Positions of the changes on the x axis.
    are_own : sequence of bool
        Whether this column changed most at each change; only these changes are coloured.
    title : str
        Name of the column.
    description : str
        Text that describes the chart.
    axis : str
        The values of x: "dates" as ISO texts, "times" that are numbers, or "rows".
    height : int
    """
    # A line that jumps between 0 and 1 would fill the chart: draw ticks at the ones, and their share.
    if set(data["y"]) <= {0, 1, None}:
        vertical = _Y | {"axis": _Y["axis"] | {"format": ".0%"}, "scale": {"domain": [0, 1]}}
        # Many ticks hide each other.
        opacity = max(0.2, min(0.7, 100 / max(1, list(data["y"]).count(1))))
        look: dict[str, Any] = {"orient": "vertical", "size": 12, "thickness": 1, "opacity": opacity}
        values = layer("tick", {"y": number("y", **vertical)}, color=FIRST, **look)
        values["transform"] = [{"filter": "datum.y == 1"}]
    else:
        vertical = _Y
        values = layer("line", {"y": number("y", **vertical)}, color=FIRST, strokeWidth=1)
    levels = {"y": number("level", **vertical), "detail": name("segment")}
    lines = [values, layer("line", levels, color=CURRENT, strokeWidth=2)]
    if "low" in data:
        lines.insert(0, layer("area", {"y": number("low", **_Y), "y2": {"field": "high"}}, color=FIRST, opacity=0.25))
    return Chart(_spec(height, title, lines, changes, are_own, data["x"], axis), data, description)


def change_scores(
    data: Data, changes: Sequence[Any], threshold: float | None, ends: Sequence[Any], description: str, axis: str
) -> Chart:
    """Draw the scores of a test and its threshold, or the scores of the changes of a segmentation.

    Parameters
    ----------
    data : mapping
        Columns x and y.
    changes : sequence
        Positions of the changes on the x axis.
    threshold : float or None
        Threshold of the test; None for a segmentation.
    ends : sequence
        The first and the last x of the series.
    description : str
        Text that describes the chart.
    axis : str
        As in `series_chart`.
    """
    y = {"y": number("y", **_Y | {"scale": {"zero": True}})}
    if threshold is None:
        lines = [
            layer("point", y, filled=True, size=60, color=SECOND, opacity=1),
            layer("rule", y | {"y2": {"datum": 0}}, color=SECOND, size=3),
        ]
    else:
        place = {"y": {"datum": threshold, "type": "quantitative"}, "x": None}
        lines = [
            layer("line", y, color=SECOND, strokeWidth=1.5),
            layer("rule", place, [{}], strokeDash=[2, 2]),
            layer("text", place, [{}], align="left", x=4, dy=-7, text="threshold"),
        ]
    return Chart(_spec(130, "score", lines, changes, [True] * len(changes), ends, axis), data, description)


def _spec(
    height: int,
    title: str,
    lines: list[Any],
    changes: Sequence[Any],
    are_own: Sequence[bool],
    ends: Sequence[Any],
    axis: str,
) -> dict[str, Any]:
    """Return the specification of lines over a common x axis, with the changes as dashed rules."""
    scale: dict[str, Any] = {"domain": [ends[0], ends[-1]], "nice": False}
    x = number("x", "row", scale=scale)
    if axis == "times":
        # Years have no commas.
        x = number("x", scale=scale, axis={"format": ".12~g"})
    elif axis == "dates":
        # Dates are in UTC, whatever the time zone of the reader.
        look: dict[str, Any] = {"labelExpr": _DATES, "labelOverlap": True, "labelSeparation": 8}
        # One label per 90 pixels, so that labels do not overlap on a phone.
        look["tickCount"] = {"expr": "max(2, min(8, floor(width / 90)))"}
        x = {"field": "x", "type": "temporal", "title": None, "scale": {**scale, "type": "utc"}, "axis": look}
    of_own: dict[str, Any] = {"color": {"condition": {"test": "datum.own", "value": OUTLIER}, "value": CURRENT}}
    of_own["opacity"] = {"condition": {"test": "datum.own", "value": 1}, "value": 0.35}
    moments = [{"x": change, "own": own} for change, own in zip(changes, are_own, strict=True)]
    rules = layer("rule", of_own, moments, strokeDash=[6, 3], size=1.5)
    return chart_spec(height, title=title, encoding={"x": x}, layer=[*lines, rules])
