"""Heat maps and histograms of scores for reports, as Vega-Lite specifications."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fewratio.charts.style import FIRST, OUTLIER, SECOND
from fewratio.charts.vega import Chart, chart_spec

# Names that can be read along an axis, and numbers in a row of cells.
_N_NAMES, _N_NUMBERS, _NUMBER_WIDTH = 40, 12, 30
# As `fewratio.charts.style.shortened` does it.
_SHORTENED = "length(datum.label) > 24 ? slice(datum.label, 0, 11) + '…' + slice(datum.label, -11) : datum.label"
# One row without fields, for what is drawn once.
ONCE: dict[str, Any] = {"values": [{}]}
# Counts so far apart need a logarithmic axis to be seen.
_MANY = 200


def heat_map(
    names: tuple[Sequence[str], Sequence[str]],
    cells: Mapping[str, Sequence[Any]],
    titles: tuple[str, str, str],
    description: str,
    reach: float | None = None,
) -> Chart:
    """Draw a table as a heat map; where there is room, with its numbers.

    Parameters
    ----------
    names : (sequence of str, sequence of str)
        Of the rows and of the columns.
    cells : mapping
        By what they are called, the numbers of all cells, row by row; the first are drawn, and the others are shown
        for a cell that is pointed at.
    titles : (str, str, str)
        What rows, columns and numbers are.
    description : str
        What is to be seen.
    reach : float, optional
        Where the colours of numbers below and above 0 end.
    """
    n_rows, n_columns = map(len, names)
    fields = {f"v{place}": list(values) for place, values in enumerate(cells.values())}
    data = {"i": [i for i in range(n_rows) for _ in range(n_columns)], "j": list(range(n_columns)) * n_rows, **fields}
    low, high = min(fields["v0"]), max(fields["v0"])
    if reach is None:
        scale: dict[str, Any] = {"scheme": "viridis", "domain": [low, high]}
        white: dict[str, Any] = {"field": "v0", "lt": (low + high) / 2}
    else:
        scale = {
            "domain": [-reach, 0, reach],
            "range": [SECOND, "#f4f4f5", OUTLIER],
            "interpolate": "rgb",
            "clamp": True,
        }
        white = {"field": "v0", "lt": low - 1}
    # The names are kept once, and not with each cell.
    lookups = [
        {"lookup": key, "from": {"data": {"values": _numbered(key, field, texts)}, "key": key, "fields": [field]}}
        for key, field, texts in (("i", "row", names[0]), ("j", "column", names[1]))
    ]
    labels = {"labels": True, "labelLimit": 130} if max(n_rows, n_columns) <= _N_NAMES else {"labels": False}
    axis = {**labels, "labelExpr": _SHORTENED, "labelOverlap": "parity", "ticks": False, "domain": False}
    band = {"type": "nominal", "sort": None}
    shown = [
        {"field": field, "type": "nominal", "title": title}
        for field, title in zip(("row", "column"), titles, strict=False)
    ]
    shown += [
        {"field": f"v{i}", "type": "quantitative", "title": title, "format": ".3~f"} for i, title in enumerate(cells)
    ]
    encoding = {
        "y": {"field": "row", **band, "title": titles[0], "axis": axis},
        "x": {"field": "column", **band, "title": titles[1], "axis": {**axis, "labelAngle": -40}},
    }
    colour = {
        "field": "v0",
        "type": "quantitative",
        "title": titles[2],
        "scale": scale,
        "legend": {"gradientLength": 160},
    }
    # Small cells overlap a little, or the page shines through between them.
    side = {"band": 1.06 if n_columns > _N_NUMBERS else 1}
    rectangle = {"type": "rect", "width": side, "height": side}
    layer: list[dict[str, Any]] = [{"mark": rectangle, "encoding": {"color": colour, "tooltip": shown}}]
    if n_columns <= _N_NUMBERS and n_rows <= _N_NAMES:
        number = {"field": "v0", "type": "quantitative", "format": ".2~f" if reach is None else "+.1f"}
        room = {"expr": f"width > {_NUMBER_WIDTH * n_columns} ? 1 : 0"}
        ink = {"condition": {"test": white, "value": "#ffffff"}, "value": "#1f2328"}
        layer.append(
            {"mark": {"type": "text", "fontSize": 10, "opacity": room}, "encoding": {"text": number, "color": ink}}
        )
    height = min(640, 22 * n_rows + 150) if n_rows <= _N_NAMES else 560
    spec = chart_spec(height, transform=lookups, encoding=encoding, layer=layer)
    return Chart(spec, data, description)


def _numbered(key: str, field: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    # Cells are placed by name, so the second of two equal ones is numbered.
    seen = Counter[str]()
    rows = []
    for place, text in enumerate(texts):
        seen[text] += 1
        rows.append({key: place, field: text if seen[text] == 1 else f"{text} ({seen[text]})"})
    return rows


def score_chart(
    edges: Sequence[float], counts: Mapping[str, Sequence[int]], threshold: float, title: str, description: str
) -> Chart:
    """Draw how many rows have which score, by what they are taken for, and the threshold."""
    names = list(counts)
    most = max(map(sum, zip(*counts.values(), strict=True)))
    scale = {"type": "symlog" if most > _MANY else "linear"}
    rows = f"rows{' (logarithmic)' if most > _MANY else ''}"
    colours = {"domain": names, "range": [FIRST, OUTLIER]}
    shown = [{"field": field, "type": "quantitative", "format": ".3~f"} for field in ("low", "high", "rows")]
    bars = {
        "mark": {"type": "bar", "binSpacing": 1},
        "encoding": {
            "x": {"field": "low", "type": "quantitative", "title": title, "bin": {"binned": True}},
            "x2": {"field": "high"},
            "y": {"field": "rows", "type": "quantitative", "title": rows, "scale": scale},
            "color": {"field": "kind", "type": "nominal", "title": None, "scale": colours},
            "tooltip": [{"field": "kind", "type": "nominal"}, *shown],
        },
    }
    place = {"x": {"datum": threshold, "type": "quantitative"}}
    rule = {"data": ONCE, "mark": {"type": "rule", "strokeDash": [6, 3], "size": 2}, "encoding": place}
    label = {"type": "text", "align": "left", "dx": 5, "y": 8, "text": "threshold", "fontWeight": "bold"}
    data: dict[str, list[Any]] = {"low": [], "high": [], "rows": [], "kind": []}
    for name, each in counts.items():
        data["low"] += edges[:-1]
        data["high"] += edges[1:]
        data["rows"] += each
        data["kind"] += [name] * len(each)
    return Chart(
        chart_spec(220, layer=[bars, rule, {"data": ONCE, "mark": label, "encoding": place}]), data, description
    )
