"""Heat maps."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fewratio.charts.chart import SHORTENED, Chart, chart_spec, layer, name, number
from fewratio.charts.style import INK, OUTLIER, PALE, SECOND

# Most names that can be read along an axis, most numbers in a row of cells, and their width.
_N_NAMES, _N_NUMBERS, _NUMBER_WIDTH = 40, 12, 30


def heat_map(
    names: tuple[Sequence[str], Sequence[str]],
    cells: Mapping[str, Sequence[Any]],
    titles: tuple[str, str, str],
    description: str,
    reach: float | None = None,
    least: float = 0.0,
) -> Chart:
    """Draw a table as a heat map, with its numbers if there is room.

    Parameters
    ----------
    names : (sequence of str, sequence of str)
        Names of the rows and columns.
    cells : mapping
        Numbers of all cells by title, row by row; the first are drawn, the others are shown when you point at a cell.
    titles : (str, str, str)
        Titles of rows, columns and numbers.
    description : str
        Text that describes the chart.
    reach : float, optional
        Numbers at which the colours below and above 0 end.
    least : float
        Numbers up to at least this one share the colours, so that small ones do not look large.
    """
    n_rows, n_columns = map(len, names)
    fields = {f"v{place}": list(values) for place, values in enumerate(cells.values())}
    data = {"i": [i for i in range(n_rows) for _ in range(n_columns)], "j": list(range(n_columns)) * n_rows, **fields}
    low, high = min(fields["v0"]), max(least, *fields["v0"])
    # White numbers on dark cells.
    is_dark = {"field": "v0", "lt": (low + high) / 2 if reach is None else low - 1}
    scale: dict[str, Any] = {"scheme": "viridis", "domain": [low, high]}
    if reach is not None:
        colours = {"domain": [-reach, 0, reach], "range": [SECOND, PALE, OUTLIER]}
        scale = {**colours, "interpolate": "rgb", "clamp": True}
    # The names are stored once, not with each cell.
    lookups = [
        {"lookup": key, "from": {"data": {"values": _number(key, field, texts)}, "key": key, "fields": [field]}}
        for key, field, texts in (("i", "row", names[0]), ("j", "column", names[1]))
    ]
    is_square = list(names[0]) == list(names[1])
    labels = {"labels": max(n_rows, n_columns) <= _N_NAMES, "labelLimit": 170}
    # Both axes of a map of pairs have the same names, so titles say nothing.
    axis = {
        **({"title": None} if is_square else {}),
        **labels,
        "labelExpr": SHORTENED,
        "labelOverlap": "parity",
        "ticks": False,
        "domain": False,
    }
    encoding = {
        "y": name("row", titles[0], sort=None, axis=axis),
        "x": name("column", titles[1], sort=None, axis={**axis, "labelAngle": -90}),
    }
    shown = [name("row", titles[0]), name("column", titles[1])]
    shown += [number(f"v{i}", title, format=".3~f") for i, title in enumerate(cells)]
    colour = number("v0", titles[2], scale=scale, legend={"gradientLength": 160})
    # Small cells overlap a little, or the page shines through between them.
    side = {"band": 1.06 if n_columns > _N_NUMBERS else 1}
    layers = [layer("rect", {"color": colour, "tooltip": shown}, width=side, height=side)]
    if n_columns <= _N_NUMBERS and n_rows <= _N_NAMES:
        text = number("v0", format=".2f" if reach is None else "+.1f")
        ink = {"condition": {"test": is_dark, "value": "#ffffff"}, "value": INK}
        # In a picture of several charts, which is wide enough, the width is 0.
        room = {"expr": f"width == 0 || width > {_NUMBER_WIDTH * n_columns} ? 1 : 0"}
        layers.append(layer("text", {"text": text, "color": ink}, fontSize=10, opacity=room))
    # Few rows are higher, and names of columns, which are turned, need room below.
    below = 90 + min(170, 7 * max(map(len, names[1])))
    # A map of pairs is about square, with room for the numbers of a few.
    cell = min(56, 480 // n_rows) if is_square and n_rows <= _N_NUMBERS else 22
    height = min(640, max(cell * n_rows, 120) + below) if n_rows <= _N_NAMES else 560
    spec = chart_spec(height, transform=lookups, encoding=encoding, layer=layers)
    # The map without the names, and with those beside it.
    beside = 40 + (min(170, 7 * max(map(len, names[0]))) if n_rows <= _N_NAMES else 0)
    inside = height - (below if n_rows <= _N_NAMES else 90)
    return Chart(spec, data, description, max_width=(inside + beside) * is_square)


def _number(key: str, field: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    # Cells are placed by name, so the second of two equal ones is numbered.
    seen = Counter[str]()
    rows = []
    for place, text in enumerate(texts):
        seen[text] += 1
        rows.append({key: place, field: text if seen[text] == 1 else f"{text} ({seen[text]})"})
    return rows
