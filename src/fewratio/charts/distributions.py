"""Charts of how values are distributed in samples: histograms and shares."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fewratio.charts.chart import (
    PERCENT,
    SHORTENED,
    Chart,
    chart_spec,
    encode_samples,
    layer,
    logarithmic,
    long_form,
    name,
    number,
)
from fewratio.charts.style import BLUE, FIRST, MUTED, OUTLIER, PINK, SECOND
from fewratio.core.effects import write_effect
from fewratio.core.wording import shorten, typeset_minus

COLOURS = (FIRST, SECOND, MUTED, OUTLIER, BLUE, PINK)
# Lines must be distinguishable without colour.
_SHAPES = ("circle", "triangle-up", "square", "diamond", "cross", "triangle-down")
# Nearby dots are moved up and down by a fixed pattern, so that each can be seen: multiples of the golden ratio, without
# their whole part, spread evenly.
_JITTER = {"calculate": "(datum.number * 0.618) % 1", "as": "jitter"}
# Letters of a name beside a histogram.
_STRIP_NAME = 24
_DASHES = [[1, 0], [6, 3]]
# Most names of a legend in a line.
_BESIDE = 2
# The width of charts in cells of tables: hundreds that each measure their cell would be slow.
_SMALL_WIDTH = 148
# Where bars of effects end at the latest (samples so far apart hardly overlap), and the room for numbers in pixels.
_LONGEST, _ROOM = 5.0, 62


def marked_histogram(
    edges: Sequence[float],
    counts: Mapping[str, Sequence[int]],
    titles: tuple[str, str],
    mark: tuple[float, str],
    colours: Sequence[str] = (MUTED,),
    is_logarithmic: bool = False,
) -> Chart:
    """Draw a stacked histogram of samples, and mark a value.

    Parameters
    ----------
    edges : sequence of float
        Edges of the bins.
    counts : mapping of str to sequence of int
        For each sample, the number of values in each bin.
    titles : (str, str)
        What the values are, and what is counted.
    mark : (float, str)
        The value to mark, and its name.
    colours : sequence of str
        Colours of the samples.
    is_logarithmic : bool
        Whether to draw counts on a logarithmic scale.
    """
    values, counted = titles
    value, label = mark
    x = number("low", values)
    # Room above the bars for the name.
    sums = list(map(sum, zip(*counts.values(), strict=True)))
    scale: dict[str, Any] = {"domainMax": (2 if is_logarithmic else 1.2) * max(sums), "nice": False}
    scale |= {"type": "symlog"} if is_logarithmic else {}
    bars = {
        "x": {**x, "bin": {"binned": True}},
        "x2": {"field": "high"},
        "y": number("value", counted + " (logarithmic)" * is_logarithmic, scale=scale, axis={"tickMinStep": 1}),
        "color": encode_samples(list(counts), colours, {} if len(counts) > 1 else None),
        "tooltip": [name("sample", "kind")] * (len(counts) > 1)
        + [number(field, title, format=".3~f") for field, title in (("low",) * 2, ("high",) * 2, ("value", counted))],
    }
    # The name is where there is more room.
    side = {"align": "right", "dx": -6} if value > (edges[0] + edges[-1]) / 2 else {"align": "left", "dx": 6}
    once = [{"low": value}]
    layers = [
        layer("bar", bars, opacity=0.8, binSpacing=0),
        layer("rule", {"x": x}, once, size=2),
        layer("text", {"x": x}, once, y=8, text=label, fontWeight="bold", **side),
    ]
    filled = [place for place, count in enumerate(sums) if count]
    description = (
        f"Histogram of {sum(sums)} {counted}: {values}, from {edges[filled[0]]:.3g} to {edges[filled[-1] + 1]:.3g}; "
        f"{label}: {value:.3g}."
    )
    data = long_form(counts, low=edges[:-1], high=edges[1:])
    return Chart(chart_spec(190, layer=layers), data, description)


def mirrored_bars(labels: Sequence[str], above: Sequence[float], below: Sequence[float], description: str) -> Chart:
    """Draw the shares of two samples in the same bins without axes: the first upwards, the second downwards."""
    # Gaps between bars, in units of a bar.
    sums = {"place": "datum.number - 0.94", "end": "datum.number - 0.06", "down": "-datum.below"}
    transform: list[dict[str, Any]] = [{"window": [{"op": "row_number", "as": "number"}]}]
    transform += [{"calculate": sum, "as": field} for field, sum in sums.items()]
    tooltip = [name("bin", "value"), *(number(field, field, format=".1%") for field in ("above", "below"))]
    x = {"x": number("place", axis=None, scale={"nice": False, "zero": False}), "x2": {"field": "end"}}
    y = {"y2": {"datum": 0}, "tooltip": tooltip}
    layers = [
        layer("rect", {**x, "y": number("above", axis=None), **y}, color=FIRST),
        layer("rect", {**x, "y": number("down", axis=None), **y}, color=SECOND),
        layer("rule", {"y": {"datum": 0}}, opacity=0.6),
    ]
    spec = chart_spec(44, transform=transform, layer=layers, padding=1, width=_SMALL_WIDTH)
    return Chart(spec, {"bin": labels, "above": above, "below": below}, description)


def mirrored_dots(
    above: Sequence[float], below: Sequence[float], description: str, is_logarithmic: bool = False
) -> Chart:
    """Draw each value of two small samples as a dot without axes: the first above the line, the second below it."""
    height = {"calculate": "datum.side * (0.2 + 0.7 * datum.jitter)", "as": "height"}
    x = _axis("value", "", False, is_logarithmic)
    encoding = {
        "x": x | {"axis": None, "scale": x["scale"] | {"padding": 5}},
        "y": number("height", axis=None, scale={"domain": [-1, 1]}),
        "color": {"condition": {"test": "datum.side > 0", "value": FIRST}, "value": SECOND},
        "tooltip": [number("value", "value", format=",.5~r")],
    }
    layers = [
        layer("point", encoding, filled=True, size=26, opacity=0.8),
        layer("rule", {"y": {"datum": 0}}, [{}], opacity=0.6),
    ]
    spec = chart_spec(44, transform=[_JITTER, height], layer=layers, padding=1, width=_SMALL_WIDTH)
    values = [*above, *below]
    sides = [1] * len(above) + [-1] * len(below)
    return Chart(spec, {"value": values, "side": sides, "number": list(range(len(values)))}, description)


def step_lines(
    edges: Sequence[float] | Sequence[str],
    shares: Mapping[str, Sequence[float]],
    title: str,
    description: str,
    is_time: bool = False,
    is_logarithmic: bool = False,
    colours: Sequence[str] = COLOURS,
) -> Chart:
    """Draw histograms of several samples on common bins, each as a line of steps; dates are ISO texts."""
    names = list(shares)
    x = _axis("edge", title, is_time, is_logarithmic)
    strokes = {"symbolType": "stroke", "symbolStrokeWidth": 2.5, "symbolSize": 300}
    legend = strokes if len(names) > 1 else None
    encoding = {
        "x": x,
        "y": number("value", "share of rows", axis=PERCENT | {"tickCount": 4, "grid": False}, stack=None),
        "color": encode_samples(names, colours, legend),
        "strokeDash": encode_samples(names, _DASHES, legend),
    }
    mark = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}
    # The last edge ends the last step.
    data = long_form({label: [*values, values[-1]] for label, values in shares.items()}, edge=edges)
    return Chart(chart_spec(200, mark=mark, encoding=encoding), data, description)


def stacked_histograms(
    edges: Sequence[float] | Sequence[str],
    shares: Mapping[str, Sequence[float]],
    title: str,
    description: str,
    is_time: bool = False,
    is_logarithmic: bool = False,
    colours: Sequence[str] = COLOURS,
) -> Chart:
    """Draw histograms of several samples on common bins, one below the other; dates are ISO texts."""
    names = list(shares)
    largest = max(max(values) for values in shares.values()) or 1.0
    # The name of a sample stands at the foot of its bars.
    called = json.dumps([shorten(label, _STRIP_NAME) for label in names[::-1]])
    axis = {"values": list(range(len(names))), "labelExpr": f"{called}[datum.value]", "domain": False, "ticks": False}
    scale = {"domain": [0, len(names)], "nice": False}
    x = _axis("low", title, is_time, is_logarithmic)
    encoding = {
        "x": x,
        "x2": {"field": "high"},
        "y": number("foot", axis=axis | {"labelBaseline": "bottom"}, scale=scale),
        "y2": {"field": "top"},
        "color": encode_samples(names, colours, None),
        "tooltip": [name("sample", "sample"), number("value", "share of rows", format=".1%")],
    }
    data = long_form(shares, low=edges[:-1], high=edges[1:])
    feet = [len(names) - 1 - place for place, values in enumerate(shares.values()) for _ in values]
    data["foot"] = feet
    data["top"] = [round(foot + 0.9 * value / largest, 3) for foot, value in zip(feet, data["value"], strict=True)]
    spec = chart_spec(60 + 44 * len(names), mark={"type": "rect", "opacity": 0.85}, encoding=encoding)
    return Chart(spec, data, description)


def _axis(field: str, title: str, is_time: bool, is_logarithmic: bool) -> dict[str, Any]:
    """Encode values along a linear or logarithmic axis of numbers, or along one of dates."""
    if is_logarithmic:
        return logarithmic(field, title)
    x = number(field, title, scale={"zero": False, "nice": False})
    # Days are in UTC, whatever the zone of the reader.
    return x | ({"type": "temporal", "scale": {"type": "utc"}} if is_time else {})


def dot_strips(
    values: Mapping[str, Sequence[Any]],
    title: str,
    description: str,
    is_time: bool = False,
    is_logarithmic: bool = False,
    colours: Sequence[str] = COLOURS,
) -> Chart:
    """Draw each value of few rows as a dot, one strip per sample; dates are ISO texts."""
    names = list(values)
    x = _axis("value", title, is_time, is_logarithmic)
    encoding = {
        # Dots at the ends do not touch the names.
        "x": x | {"scale": x["scale"] | {"padding": 12}},
        "y": name("sample", sort=names, axis={"labelExpr": SHORTENED, "domain": False, "ticks": False}),
        "yOffset": {"field": "jitter", "type": "quantitative", "scale": {"domain": [-0.5, 1.5]}},
        "color": encode_samples(names, colours, None),
        "shape": encode_samples(names, _SHAPES, None),
    }
    mark = {"type": "point", "filled": True, "size": 45, "opacity": 0.75}
    data = long_form(values)
    data["number"] = list(range(len(data["value"])))
    spec = chart_spec(70 + 42 * len(names), transform=[_JITTER], mark=mark, encoding=encoding)
    return Chart(spec, data, description)


def grouped_bars(
    labels: Sequence[str],
    shares: Mapping[str, Sequence[float]],
    title: str,
    description: str,
    colours: Sequence[str] = COLOURS,
) -> Chart:
    """Draw the shares of categories in several samples, side by side."""
    names = list(shares)
    # Beside the labels of categories, a phone has no room for three names in a line.
    legend = {"columns": 1} if len(names) > _BESIDE else {}
    encoding = {
        "y": name("category", sort=None, scale={"paddingInner": 0.2}),
        "yOffset": {"field": "sample", "sort": names},
        "x": number("value", f"{title}: share of rows", axis=PERCENT | {"tickCount": 5}),
        "color": encode_samples(names, colours, legend),
        "tooltip": [name("category", "category"), name("sample", "sample"), number("value", "share", format=".1%")],
    }
    # At least one line of text per category.
    height = 70 + 14 * len(names) * bool(legend) + len(labels) * max(18, 8 * (len(names) + 1))
    spec = chart_spec(height, mark="bar", encoding=encoding)
    return Chart(spec, long_form(shares, category=labels), description)


def signed_bars(
    labels: Sequence[str], values: Sequence[float], is_clear: Sequence[bool], title: Sequence[str], description: str
) -> Chart:
    """Draw effects below and above 0 as bars, in the colours of two samples; unclear ones in grey.

    Each has its number at its end. Bars of large effects would make the others invisible, so they end at the same
    place, in an arrow.
    """
    kinds = [
        "neither" if not clear else "above" if value > 0 else "below"
        for value, clear in zip(values, is_clear, strict=True)
    ]
    ends = [max(-_LONGEST, min(_LONGEST, value)) for value in values]
    lines = [*title, *([f"arrow: the bar ends at {_LONGEST:g}"] if ends != list(values) else [])]
    # Effects near 0 must not fill the chart, and numbers need room beside their bars.
    low, high = (max(0.1, end) if end > 0 else 0 for end in (-min(ends), max(ends)))
    scale = {"domainMin": -low, "domainMax": high, "nice": False, "padding": _ROOM}
    encoding = {
        "y": name("label", sort=None, axis={"labelExpr": SHORTENED, "labelLimit": 170}),
        "x": number("end", lines, scale=scale),
        "color": encode_samples(("above", "below", "neither"), (FIRST, SECOND, MUTED), None),
        # Pale on a light page, dark on a dark one: never louder than what is clear.
        "fillOpacity": {"condition": {"test": "datum.sample === 'neither'", "value": 0.25}, "value": 1},
        "tooltip": [name("label", "column"), number("value", "value", format="+.2f")],
    }
    arrow: dict[str, Any] = {
        "size": {"expr": "datum.end === datum.value ? 0 : 500"},
        "shape": {"expr": "datum.end < 0 ? 'triangle-left' : 'triangle-right'"},
        "xOffset": {"expr": "datum.end < 0 ? -4 : 4"},
    }
    beside = {"expr": "(datum.end < 0 ? -4 : 4) * (datum.end === datum.value ? 1 : 4)"}
    layers = [
        layer("bar", encoding, height=16, stroke=MUTED, strokeWidth=0.5),
        layer("point", encoding, filled=True, opacity=1, **arrow),
        layer("rule", {"x": {"datum": 0}}, opacity=0.6),
        layer(
            "text",
            {"y": encoding["y"], "x": encoding["x"], "text": name("text")},
            align={"expr": "datum.end < 0 ? 'right' : 'left'"},
            dx=beside,
        ),
    ]
    spec = chart_spec(30 + 15 * len(lines) + 22 * len(labels), layer=layers)
    texts = [typeset_minus(write_effect(value)) for value in values]
    return Chart(spec, {"label": labels, "value": values, "end": ends, "text": texts, "sample": kinds}, description)
