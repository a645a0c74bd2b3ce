"""The drawing of the packages, from the import contracts in ``pyproject.toml`` and the packages' first lines."""

import ast
import tomllib
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
WIDTH, HEIGHT, GAP = 880, 44, 8


def layers():
    """Give the layers, the highest first: lists of packages and what each says of itself."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each["id"] == "layers")
    return [[(name, _first_line(name)) for name in _names(layer)] for layer in contract["layers"]]


def _names(layer):
    return [name.strip(" ()") for name in layer.split("|")]


def _first_line(name):
    path = ROOT / "src" / "fewratio" / name
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.get_docstring(ast.parse(file.read_text("utf-8"))).splitlines()[0].replace("``", "").rstrip(".")


def drawing():
    """Give the drawing as SVG in the colours of the page."""
    boxes = []
    for level, layer in enumerate(layers()):
        width = (WIDTH - GAP * (len(layer) - 1)) / len(layer)
        for place, (name, line) in enumerate(layer):
            # About six pixels for each letter of the small text.
            most = int(width / 6.1) - (len(name) * 9 + 30) // 6 if len(layer) == 1 else 0
            text = line if len(line) <= most else ""
            x, y = place * (width + GAP), level * (HEIGHT + GAP)
            boxes.append(
                f'<g transform="translate({x:.0f} {y})"><title>{escape(line)}</title>'
                f'<rect width="{width:.0f}" height="{HEIGHT}" rx="6"/><text x="14" y="28">{name}'
                f'<tspan class="line" dx="12">{escape(text)}</tspan></text></g>'
            )
    height = len(layers()) * (HEIGHT + GAP)
    title = "The packages of fewratio: each layer imports only those below it"
    return (
        f'<svg class="rooms" viewBox="-1 -1 {WIDTH + 2} {height + 2}" role="img" aria-label="{title}">'
        + "".join(boxes)
        + "</svg>"
    )


class Rooms(SphinxDirective):
    """Show the drawing."""

    def run(self):
        return [nodes.raw("", drawing(), format="html")]


def setup(app):
    app.add_directive("rooms", Rooms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
