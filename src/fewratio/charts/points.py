"""Charts of single numbers and rows: points, and limits."""

from collections.abc import Mapping, Sequence

from fewratio.charts.chart import (
    CURRENT,
    SHORTENED,
    Chart,
    Data,
    chart_spec,
    encode_samples,
    layer,
    logarithmic,
    long_form,
    name,
    number,
)
from fewratio.charts.style import FIRST, MUTED, SECOND
from fewratio.core.wording import write_divergence, write_limit

# What is highlighted on a map if no region is.
_ALL_ROWS = "all rows"


def limit_chart(value: float, at_least: float, largest: float, what: str) -> Chart:
    """Draw a number on the range it can have, and a bar from its lower limit on."""
    x = number("value", what, scale={"domain": [0, largest], "nice": False})
    layers = [
        layer("bar", {"x": {**x, "field": "low"}, "x2": {"field": "value"}}, height=12, color=FIRST, opacity=0.35),
        layer("point", {"x": x}, shape="diamond", filled=True, size=160, color=FIRST, opacity=1),
        layer("text", {"x": x, "text": name("text")}, dy=-16, fontWeight="bold", fontSize=13),
    ]
    found = f", at least {write_limit(at_least)}" if at_least else ""
    description = f"{what} {write_divergence(value)} on its range from 0 to {write_divergence(largest)}{found}."
    data: Data = {"value": [value], "low": [at_least or value], "text": [write_divergence(value)]}
    return Chart(chart_spec(84, layer=layers), data, description)


def map_chart(
    points: Data,
    axes: tuple[str, str],
    names: Sequence[str],
    values: Mapping[str, str],
    largest: float,
    regions: Sequence[str] = (),
) -> Chart:
    """Draw rows as points: where they are, of which sample, coloured by the ratio.

    Parameters
    ----------
    points : mapping
        Columns x, y, ratio, sample, name, and those of `values`; with `regions` also the region of each.
    axes : (str, str)
        Titles of x and y.
    names : sequence of str
        The samples.
    values : mapping of str to str
        More columns to show for a point, and their titles.
    largest : float
        The ratio of the strongest colour.
    regions : sequence of str
        Regions to choose from: the rows of the chosen one are highlighted.
    """
    scale = {"domain": [0, 1, largest], "range": [SECOND, "#b8bcc4", FIRST], "clamp": True}
    further = [name(field, title) for field, title in values.items()]
    encoding = {
        "x": number("x", axes[0], scale={"zero": False}),
        "y": number("y", axes[1], scale={"zero": False}),
        "color": number("ratio", "ratio", scale=scale, legend={"gradientLength": 120, "tickCount": 3}),
        "shape": encode_samples(names, ("circle", "triangle-up", "square")),
        "tooltip": [name("sample", "sample"), name("name", "row"), number("ratio", "ratio", format=".2f"), *further],
    }
    # A thin edge keeps points apart, and points of the middle colour visible.
    mark = {"type": "point", "filled": True, "size": 55, "opacity": 0.85, "stroke": CURRENT, "strokeWidth": 0.4}
    parameters = {}
    if regions:
        options = {"input": "select", "name": "Highlight ", "options": [_ALL_ROWS, *regions]}
        parameters["params"] = [{"name": "region", "value": _ALL_ROWS, "bind": options}]
        is_chosen = f"region === '{_ALL_ROWS}' || datum.region === region"
        encoding["opacity"] = {"condition": {"test": is_chosen, "value": 0.85}, "value": 0.07}
    description = (
        f"Map of {len(points['x'])} rows of {' and '.join(names)}; similar rows are near each other. The tables "
        "of rows have the same ratios."
    )
    return Chart(chart_spec(440, mark=mark, encoding=encoding, **parameters), points, description)


def small_scatter(
    points: Data,
    axes: tuple[str, str],
    domains: Data,
    colour: str,
    texts: tuple[str, str],
    are_logarithmic: Mapping[str, bool],
) -> Chart:
    """Draw points on given domains of both axes, with a description and a caption."""
    encoding = {
        each: logarithmic(each, title, domain=list(domains[each]))
        if are_logarithmic[each]
        else number(
            each, title, scale={"domain": list(domains[each]), "zero": False, "nice": True}, axis={"tickCount": 4}
        )
        for each, title in zip("xy", axes, strict=True)
    }
    mark = {"type": "point", "filled": True, "size": 18, "opacity": 0.5, "color": colour}
    return Chart(chart_spec(180, mark=mark, encoding=encoding), points, *texts)


def before_and_after(labels: Sequence[str], before: Sequence[float], after: Sequence[float]) -> Chart:
    """Draw how much samples differ in each column, before and after a treatment."""
    both = {"before": before, "after": after}
    encoding = {
        "y": name("column", sort=None, axis={"labelExpr": SHORTENED, "labelLimit": 170}),
        "x": number("value", "difference of the means, in deviations"),
        "color": encode_samples(list(both), (MUTED, FIRST)),
        "shape": encode_samples(list(both), ("circle", "diamond")),
        "tooltip": [name("column", "column"), name("sample", "sample"), number("value", "difference", format=".2f")],
    }
    layers = [
        layer("rule", {"x": {"datum": 0}}, opacity=0.7),
        layer("point", encoding, filled=True, size=70, opacity=0.9),
    ]
    largest = max(map(abs, before)), max(map(abs, after))
    description = f"Differences of the means by column: at most {largest[0]:.2f} before, {largest[1]:.2f} after."
    spec = chart_spec(100 + 20 * len(labels), layer=layers)
    return Chart(spec, long_form(both, column=labels), description, description)
