"""The drawing of the packages, from the import contracts in ``pyproject.toml`` and the packages' first lines."""

import ast
import tomllib
from html import escape
from pathlib import Path
from textwrap import wrap

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
WIDTH, HEIGHT, GAP = 880, 44, 8
# A layer of several packages has room for two lines of small text, of about six pixels per letter, below the names.
HIGHER, LETTER = 72, 6.2


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
    return ast.get_docstring(ast.parse(file.read_text("utf-8"))).splitlines()[0].replace("`", "").rstrip(".")


def drawing():
    """Give the drawing as SVG in the colours of the page."""
    boxes, y = [], 0
    for layer in layers():
        single = len(layer) == 1
        width, height = (WIDTH - GAP * (len(layer) - 1)) / len(layer), HEIGHT if single else HIGHER
        for place, (name, line) in enumerate(layer):
            below = [] if single else wrap(line, int((width - 28) / LETTER), max_lines=2, placeholder=" ...")
            rows = [f'<tspan class="line" x="14" dy="17">{escape(each)}</tspan>' for each in below]
            rows += [f'<tspan class="line" dx="12">{escape(line)}</tspan>'] if single else []
            boxes.append(
                f'<g transform="translate({place * (width + GAP):.0f} {y})"><title>{escape(line)}</title>'
                f'<rect width="{width:.0f}" height="{height}" rx="6"/>'
                f'<text x="14" y="{28 if single else 24}">{name}{"".join(rows)}</text></g>'
            )
        y += height + GAP
    title = "The packages of fewratio: each layer imports only those below it"
    opening = f'<svg class="packages" viewBox="-1 -1 {WIDTH + 2} {y + 2}" role="img" aria-label="{title}">'
    return opening + "".join(boxes) + "</svg>"


class Packages(SphinxDirective):
    """Show the drawing."""

    def run(self):
        return [nodes.raw("", drawing(), format="html")]


def setup(app):
    app.add_directive("packages", Packages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
