"""Charts for reports and notebooks as Vega-Lite specifications, from plain columns of data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fewratio.charts.style import FIRST, MUTED, OUTLIER, SECOND

Data = Mapping[str, Sequence[Any]]

# Text and lines take the colour of the text around the chart, so that one chart is right on light and dark pages.
_INK = "currentColor"
_AXIS = {
    **dict.fromkeys(("labelColor", "titleColor", "domainColor", "tickColor", "gridColor"), _INK),
    **dict(
        gridOpacity=0.15, domainOpacity=0.4, tickOpacity=0.4, titleFontWeight="normal", labelLimit=150, labelFontSize=11
    ),
    **dict(titleFontSize=12, tickCount=6),
}
_CONFIG = {
    "font": "system-ui, sans-serif",
    # The element around a chart describes it.
    "aria": False,
    "axis": _AXIS,
    "legend": {"labelColor": _INK, "titleColor": _INK, "titleFontWeight": "normal", "orient": "top", "labelLimit": 220},
    "header": {"labelColor": _INK, "titleColor": _INK},
    "view": {"stroke": None},
    "text": {"color": _INK},
    "rule": {"color": _INK},
}
# So that lines can be told apart without colour.
_DASHES = [[1, 0], [6, 3], [2, 2]]
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


@dataclass(frozen=True)
class Chart:
    """A chart.

    Attributes
    ----------
    spec : dict
        A Vega-Lite specification without data. Charts of equal ones share it in a page.
    data : mapping of str to sequence
        Columns of equal length.
    description : str
        What is to be seen, for those who do not see it.
    caption : str
        What is written below.
    """

    kind: ClassVar[str] = "chart"
    spec: dict[str, Any]
    data: Data
    description: str
    caption: str = ""

    @property
    def height(self) -> int:
        """Pixels that are kept free for the chart."""
        return int(self.spec["height"])

    def with_data(self) -> dict[str, Any]:
        """Return the whole specification, of a fixed width, for a picture."""
        rows = [dict(zip(self.data, row, strict=True)) for row in zip(*self.data.values(), strict=True)]
        return {**self.spec, "width": 560, "data": {"values": rows}}


def chart_spec(height: int, **content: Any) -> dict[str, Any]:
    """Return a specification as wide as the element it is in, in the style of all."""
    size = {"width": "container", "height": height, "autosize": {"type": "fit", "contains": "padding"}}
    return {"$schema": _SCHEMA, **size, "background": None, "config": _CONFIG, **content}


def _number(field: str, title: str | None, **more: Any) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", "title": title, **more}


def _colours(names: Sequence[str], colours: Sequence[str] = (FIRST, SECOND, MUTED), **more: Any) -> dict[str, Any]:
    scale = {"domain": list(names), "range": list(colours)[: len(names)]}
    return {"field": "sample", "type": "nominal", "title": None, "scale": scale, **more}


def interval_chart(value: float, interval: tuple[float, float] | None, largest: float, what: str) -> Chart:
    """Draw a number on the range it can have, with its interval."""
    low, high = interval or (value, value)
    x = _number("value", what, scale={"domain": [0, largest], "nice": False})
    ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
    layer: list[dict[str, Any]] = [{"mark": {"type": "bar", "height": 12, "color": FIRST, "opacity": 0.35}}]
    layer[0]["encoding"] = ends
    point = {"type": "point", "shape": "diamond", "filled": True, "size": 160, "color": FIRST, "opacity": 1}
    layer.append({"mark": point, "encoding": {"x": x}})
    text = {"type": "text", "dy": -16, "fontWeight": "bold", "fontSize": 13}
    layer.append({"mark": text, "encoding": {"x": x, "text": {"field": "text", "type": "nominal"}}})
    found = "" if interval is None else f", 90 % interval {low:.2g} to {high:.2g}"
    description = f"{what} {value:.3g} on its range from 0 to {largest:.3g}{found}."
    data: Data = {"value": [value], "low": [low], "high": [high], "text": [f"{value:.3g}"]}
    return Chart(chart_spec(84, layer=layer), data, description)


def marked_histogram(
    edges: Sequence[float],
    counts: Sequence[int],
    observed: float,
    statistic: str,
    counted: str = "permutations",
    name: str = "observed",
) -> Chart:
    """Draw a histogram of a statistic, by default of permutations, and mark the observed value."""
    bars = {
        "mark": {"type": "bar", "color": MUTED, "opacity": 0.8, "binSpacing": 0},
        "encoding": {
            "x": _number("low", statistic, bin={"binned": True}),
            "x2": {"field": "high"},
            # Room above the bars for the name.
            "y": _number("count", counted, scale={"domainMax": 1.2 * max(counts)}),
            "tooltip": [_number(field, field, format=".3~f") for field in ("low", "high", "count")],
        },
    }
    once = {"data": {"values": [{"low": observed}]}, "encoding": {"x": _number("low", statistic)}}
    rule = {"mark": {"type": "rule", "color": OUTLIER, "size": 3}, **once}
    is_right = observed > (edges[0] + edges[-1]) / 2
    label = {"type": "text", "y": 8, "text": name, "fontWeight": "bold"}
    label |= {"align": "right", "dx": -6} if is_right else {"align": "left", "dx": 6}
    spec = chart_spec(190, layer=[bars, rule, {"mark": label, **once}])
    low = next((edge for edge, count in zip(edges, counts, strict=False) if count), observed)
    high = max(edge for edge, count in zip(edges[1:], counts, strict=True) if count)
    description = (
        f"Histogram of {sum(counts)} {counted}: {statistic}, from {low:.3g} to {high:.3g}; {name}: {observed:.3g}."
    )
    return Chart(spec, {"low": edges[:-1], "high": edges[1:], "count": counts}, description)


def mirrored_bars(labels: Sequence[str], above: Sequence[float], below: Sequence[float], description: str) -> Chart:
    """Draw the shares of two samples in the same bins without axes: those of the first up, of the second down."""
    # Gaps between bars, in units of a bar.
    sums = {"place": "datum.number - 0.94", "end": "datum.number - 0.06", "down": "-datum.below"}
    transform: list[dict[str, Any]] = [{"window": [{"op": "row_number", "as": "number"}]}]
    transform += [{"calculate": sum, "as": name} for name, sum in sums.items()]
    tooltip = [{"field": "bin", "type": "nominal", "title": "value"}]
    tooltip += [_number(field, field, format=".1%") for field in ("above", "below")]
    x = _number("place", None, axis=None, scale={"nice": False, "zero": False})
    layer: list[dict[str, Any]] = []
    for field, colour in (("above", FIRST), ("down", SECOND)):
        y = {"y": _number(field, None, axis=None), "y2": {"datum": 0}}
        encoding = {"x": x, "x2": {"field": "end"}, **y, "tooltip": tooltip}
        layer.append({"mark": {"type": "rect", "color": colour}, "encoding": encoding})
    layer.append({"mark": {"type": "rule", "opacity": 0.6}, "encoding": {"y": {"datum": 0}}})
    # A fixed width: hundreds of charts that each measure their cell would be slow.
    spec = chart_spec(44, transform=transform, layer=layer, padding=1, width=148)
    return Chart(spec, {"bin": labels, "above": above, "below": below}, description)


def step_lines(
    edges: Sequence[float] | Sequence[str],
    shares: Mapping[str, Sequence[float]],
    title: str,
    description: str,
    is_time: bool = False,
) -> Chart:
    """Draw histograms of several samples on common bins, each as a line of steps; dates are ISO texts."""
    names = list(shares)
    x: dict[str, Any] = {"field": "edge", "type": "temporal" if is_time else "quantitative", "title": title}
    # Days are in UTC, whatever the zone of the reader.
    x["scale"] = {"type": "utc"} if is_time else {"zero": False, "nice": False}
    dashes = {"field": "sample", "type": "nominal", "title": None, "scale": {"domain": names, "range": _DASHES}}
    y = _number("share", "share of rows", axis={"format": "%", "tickCount": 4, "grid": False}, stack=None)
    strokes = {"symbolType": "stroke", "symbolStrokeWidth": 2.5, "symbolSize": 300}
    line = {"color": _colours(names, legend=strokes), "strokeDash": dashes, "x": x, "y": y}
    mark = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}
    data: dict[str, list[Any]] = {"edge": [], "share": [], "sample": []}
    for name, values in shares.items():
        data["edge"] += edges
        # The last edge ends the last step.
        data["share"] += [*values, values[-1]]
        data["sample"] += [name] * len(edges)
    return Chart(chart_spec(200, mark=mark, encoding=line), data, description)


def grouped_bars(labels: Sequence[str], shares: Mapping[str, Sequence[float]], title: str, description: str) -> Chart:
    """Draw the shares of categories in several samples, side by side."""
    names = list(shares)
    encoding = {
        "y": {"field": "category", "type": "nominal", "title": None, "sort": None, "scale": {"paddingInner": 0.2}},
        "yOffset": {"field": "sample", "sort": names},
        "x": _number("share", f"{title}: share of rows", axis={"format": "%", "tickCount": 5}),
        "color": _colours(names),
        "tooltip": [
            {"field": "category", "type": "nominal"},
            {"field": "sample", "type": "nominal"},
            _number("share", "share", format=".1%"),
        ],
    }
    data: dict[str, list[Any]] = {"category": [], "sample": [], "share": []}
    for name, values in shares.items():
        data["category"] += labels
        data["sample"] += [name] * len(labels)
        data["share"] += values
    # A line of text for each category at least.
    spec = chart_spec(70 + len(labels) * max(18, 8 * (len(names) + 1)), mark="bar", encoding=encoding)
    return Chart(spec, data, description)


def map_chart(
    points: Data, axes: tuple[str, str], names: Sequence[str], values: Mapping[str, str], largest: float
) -> Chart:
    """Draw rows as points: where they are, of which sample, coloured by the ratio.

    Parameters
    ----------
    points : mapping
        Columns x, y, ratio, sample, name, and those of `values`.
    axes : (str, str)
        What x and y are.
    names : sequence of str
        The samples.
    values : mapping of str to str
        Further columns that are shown for a point, and what they are called.
    largest : float
        The ratio of the strongest colour.
    """
    scale = {"domain": [0, 1, largest], "range": [SECOND, "#b8bcc4", FIRST], "clamp": True}
    shape: dict[str, Any] = {"field": "sample", "type": "nominal", "title": None}
    shape["scale"] = {"domain": list(names), "range": ["circle", "triangle-up", "square"][: len(names)]}
    texts = {"sample": "sample", "name": "row"}
    tooltip = [{"field": field, "type": "nominal", "title": title} for field, title in (texts | dict(values)).items()]
    tooltip.insert(2, _number("ratio", "ratio", format=".2f"))
    encoding = {
        "x": _number("x", axes[0], scale={"zero": False}),
        "y": _number("y", axes[1], scale={"zero": False}),
        "color": _number("ratio", "ratio", scale=scale, legend={"gradientLength": 120, "tickCount": 3}),
        "shape": shape,
        "tooltip": tooltip,
    }
    # A thin edge keeps points apart, and points of the middle colour visible.
    mark = {"type": "point", "filled": True, "size": 55, "opacity": 0.85, "stroke": _INK, "strokeWidth": 0.4}
    return Chart(
        chart_spec(440, mark=mark, encoding=encoding),
        points,
        f"Map of {len(points['x'])} rows of {' and '.join(names)}; rows that are alike are near each other. The tables "
        "of rows have the same ratios.",
    )


def before_and_after(names: Sequence[str], before: Sequence[float], after: Sequence[float]) -> Chart:
    """Draw how far samples are apart in each column, before and after something was done about it."""
    both = ["before", "after"]
    scale = {"domain": both, "range": ["circle", "diamond"]}
    encoding = {
        "y": {"field": "column", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 130}},
        "x": _number("value", "difference of the means, in deviations"),
        "color": _colours(both, (OUTLIER, FIRST)),
        "shape": {"field": "sample", "type": "nominal", "title": None, "scale": scale},
        "tooltip": [
            {"field": "column", "type": "nominal"},
            {"field": "sample", "type": "nominal"},
            _number("value", "difference", format=".2f"),
        ],
    }
    zero = {"mark": {"type": "rule", "opacity": 0.7}, "encoding": {"x": {"datum": 0}}}
    points = {"mark": {"type": "point", "filled": True, "size": 70, "opacity": 0.9}, "encoding": encoding}
    spec = chart_spec(100 + 20 * len(names), layer=[zero, points])
    data: Data = {"column": [*names, *names], "value": [*before, *after], "sample": [n for n in both for _ in names]}
    largest = max(map(abs, before)), max(map(abs, after))
    description = f"Differences of the means by column: at most {largest[0]:.2f} before, {largest[1]:.2f} after."
    return Chart(spec, data, description, description)
