"""A chart as a Vega-Lite specification, and pictures made of several."""

import base64
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fewratio.charts.style import INK
from fewratio.core.container import new_file, write_atomically
from fewratio.errors import MissingPackageError, ParameterError
from fewratio.lazy import import_home

Data = Mapping[str, Sequence[Any]]

# Text and lines have the colour of the text around the chart, so that one chart is right on light and dark pages.
CURRENT = "currentColor"
_AXIS_COLOURS = ("labelColor", "titleColor", "domainColor", "tickColor", "gridColor")
_AXIS = dict.fromkeys(_AXIS_COLOURS, CURRENT) | dict(
    gridOpacity=0.15, domainOpacity=0.4, tickOpacity=0.4, titleFontWeight="normal", labelLimit=150, labelFontSize=11,
    titleFontSize=12, tickCount=6, labelFlush=False,
)  # fmt: skip
_CONFIG: dict[str, Any] = {
    "font": "system-ui, sans-serif",
    # The element around a chart describes it.
    "aria": False,
    "axis": _AXIS,
    "legend": dict(labelColor=CURRENT, titleColor=CURRENT, titleFontWeight="normal", orient="top", labelLimit=220),
    "header": {"labelColor": CURRENT, "titleColor": CURRENT, "labelFontSize": 12},
    "title": {"color": CURRENT, "anchor": "start", "fontSize": 12, "limit": 420, "offset": 8},
    "view": {"stroke": None},
    "text": {"color": CURRENT},
    "rule": {"color": CURRENT},
}
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_MIME = "application/vnd.vegalite.v6+json"
_OPTIONS: dict[str, dict[str, Any]] = {".png": {"ppi": 144}}
# An unused character, in place of the one that can end a script.
_LESS = "\uf8fe"
_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})
# Letters of names in one line.
_LEGEND_LETTERS = 45
# As `fewratio.core.wording.shorten` does it.
SHORTENED = "length(datum.label) > 24 ? slice(datum.label, 0, 11) + '…' + slice(datum.label, -11) : datum.label"
# Percentages as in texts, with a blank.
PERCENT = {"format": "%", "labelExpr": "replace(datum.label, '%', ' %')"}
PICTURES = (".png", ".svg", ".pdf", ".html", ".json")


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
        What the chart shows, for those who cannot see it.
    caption : str
        Text below the chart.
    max_width : int
        The most pixels to draw it on; 0 for as wide as its element.
    """

    spec: dict[str, Any]
    data: Data
    description: str
    caption: str = ""
    max_width: int = 0

    @property
    def height(self) -> int:
        """Height of the chart in pixels."""
        return int(self.spec["height"])

    @property
    def role(self) -> str:
        """Role for a screen reader: one that has controls is no image."""
        return "group" if self.spec.get("params") else "img"


class Picture:
    """Charts in one picture, which notebooks display.

    Parameters
    ----------
    content : dict
        The content of a Vega-Lite specification; the common style is added.
    description : str
        What the chart shows, for those who cannot see it.

    Attributes
    ----------
    spec : dict
        The whole specification.
    """

    def __init__(self, content: Mapping[str, Any], description: str) -> None:
        self.spec = {
            "$schema": _SCHEMA,
            "description": description,
            **_ink(content),
            "background": "white",
            "padding": 12,
            "config": _ink(_CONFIG | {"legend": _CONFIG["legend"] | {"orient": "bottom"}}),
        }

    def save(self, path: Any) -> None:
        """Write the picture to a file.

        Parameters
        ----------
        path : path
            Path of the file, whose ending determines the format: .png, .svg, .pdf, .html (a self-contained page) or
            .json (the Vega-Lite specification). An existing file is replaced once the new one is complete.
        """
        file = new_file(path, "picture")
        write_atomically(file, self.as_file(file))

    def as_file(self, path: Path) -> bytes:
        """Return the content of a file of the kind that a path ends in."""
        ending = path.suffix.lower()
        if ending not in PICTURES:
            raise ParameterError(
                f"{str(path)!r} is not a picture: it must end in {', '.join(PICTURES)}. Change its name."
            )
        if ending == ".json":
            return json.dumps(self.spec, indent=1, allow_nan=False).encode()
        convert = getattr(import_home("vl_convert", "Drawing a picture"), f"vegalite_to_{ending[1:]}")
        if ending == ".html":
            # vl-convert writes the specification into a script as it is: a name in the data could end that script.
            spec = json.dumps(self.spec, allow_nan=False).replace("<", _LESS)
            return convert(spec, bundle=True).replace(_LESS, "\\u003c").encode()
        payload = convert(self.spec, **_OPTIONS.get(ending, {}))
        return payload if isinstance(payload, bytes) else payload.encode()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what a notebook shows: the specification where it can draw one, else pixels, else text."""
        shown: dict[str, Any] = {_MIME: self.spec, "text/plain": repr(self)}
        try:
            pixels = self.as_file(Path("picture.png"))
        except MissingPackageError:
            return shown, {}
        # Two pixels in the file are one in the notebook.
        width, height = struct.unpack(">II", pixels[16:24])
        size = {"width": width // 2, "height": height // 2}
        return shown | {"image/png": base64.b64encode(pixels).decode()}, {"image/png": size}

    def __repr__(self) -> str:
        return f"Picture: {self.spec['description']} save(path) writes it to a file."


def combine(panels: Sequence[tuple[Chart, str, int]], title: str, direction: str = "hconcat") -> Picture:
    """Put charts side by side, or below each other (vconcat), each with a title and a width, under a common title."""
    drawn = [panel(*each) for each in panels]
    if direction == "hconcat":
        highest = max(each["height"] for each in drawn)
        drawn = [{**each, "height": highest} for each in drawn]
    apart = dict.fromkeys(("color", "shape", "strokeDash"), "independent")
    content = drawn[0] if len(drawn) == 1 else {direction: drawn, "spacing": 30, "resolve": {"scale": apart}}
    content = {**content, "title": heading(title)}
    return Picture(content, " ".join([f"{title}.", *(chart.description for chart, _, _ in panels)]))


def heading(text: str, **more: Any) -> dict[str, Any]:
    """Return the title of a picture."""
    return {"text": text, "fontSize": 15, "offset": 12, "limit": 1000, **more}


def panel(chart: Chart, title: str, width: int) -> dict[str, Any]:
    """Return the specification of a chart as a part of a picture; without a title it keeps its own."""
    rows = [dict(zip(chart.data, row, strict=True)) for row in zip(*chart.data.values(), strict=True)]
    spec = {**chart.spec, "width": width, "data": {"values": rows}} | ({"title": title} if title else {})
    return {key: value for key, value in spec.items() if key not in ("$schema", "autosize", "background", "config")}


def _ink(node: Any) -> Any:
    """Replace the colour of the surrounding text by ink: a picture has no text around it."""
    if isinstance(node, Mapping):
        is_ink = {key: value == CURRENT and key.lower().endswith(("color", "stroke")) for key, value in node.items()}
        return {key: INK if is_ink[key] else _ink(value) for key, value in node.items()}
    return [_ink(each) for each in node] if isinstance(node, list) else node


def chart_spec(height: int, **content: Any) -> dict[str, Any]:
    """Return a specification as wide as its element, in the common style."""
    size = {"width": "container", "height": height, "autosize": {"type": "fit", "contains": "padding"}}
    return {"$schema": _SCHEMA, **size, "background": None, "config": _CONFIG, **content}


def number(field: str, title: str | Sequence[str] | None = None, **more: Any) -> dict[str, Any]:
    """Encode a field of numbers."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def logarithmic(field: str, title: str, **more: Any) -> dict[str, Any]:
    """Encode a field of positive numbers on a logarithmic axis, which its title names."""
    # 20k, 3M and 1bn; lines at each power and between would fill the chart.
    axis = {"format": "~s", "labelExpr": "replace(datum.label, 'G', 'bn')", "tickCount": 5, "grid": False}
    return number(field, f"{title} (logarithmic)", scale={"type": "log", "nice": False, **more}, axis=axis)


def name(field: str, title: str | None = None, **more: Any) -> dict[str, Any]:
    """Encode a field of names."""
    return {"field": field, "type": "nominal", "title": title, **more}


def encode_samples(
    names: Sequence[str], values: Sequence[Any], legend: Mapping[str, Any] | None = _NO_OPTIONS
) -> dict[str, Any]:
    """Encode the sample of each row of the data by a value, such as a colour."""
    if legend is not None and sum(map(len, names)) > _LEGEND_LETTERS:
        # Long names go below each other.
        legend = {"columns": 1, **legend}
    scale = {"domain": list(names), "range": list(values)[: len(names)]}
    return name("sample", scale=scale, legend=None if legend is None else dict(legend))


def layer(mark: str, encoding: Mapping[str, Any], data: Sequence[Mapping[str, Any]] | None = None, **more: Any) -> Any:
    """Return a layer of marks with properties, and with its own rows if given."""
    own = {} if data is None else {"data": {"values": list(data)}}
    return {**own, "mark": {"type": mark, **more}, "encoding": encoding}


def long_form(samples: Mapping[str, Sequence[Any]], **columns: Sequence[Any]) -> dict[str, list[Any]]:
    """Put the values of several samples below each other, beside columns that are the same for all."""
    return {
        "sample": [label for label, values in samples.items() for _ in values],
        "value": [value for values in samples.values() for value in values],
        **{key: list(values) * len(samples) for key, values in columns.items()},
    }
