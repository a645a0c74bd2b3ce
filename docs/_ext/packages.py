"""The drawing of the rooms, from the import contracts in ``pyproject.toml`` and the first lines of the packages."""

import ast
import tomllib
from html import escape
from pathlib import Path
from textwrap import wrap

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
WIDTH, GAP, MARGIN, LINE = 880, 8, 14, 15
# Width of a letter in small text, in pixels; a name needs more.
LETTER = 6.2
# The packages beside the library, each on top of all of it.
BESIDE = ("fewratio_web", "fewratio_bench")


def layers(contract_id, folder):
    """Give the layers of a contract, the highest first: lists of modules and packages in a folder."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each["id"] == contract_id)
    return [[folder / name.strip(" ()") for name in layer.split("|")] for layer in contract["layers"]]


def first_line(path):
    """Give what a module says it is."""
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.get_docstring(ast.parse(file.read_text("utf-8"))).splitlines()[0].replace("`", "").rstrip(".")


def drawing():
    """Give the drawing as SVG in the colours of the page."""
    boxes, y = _rows([[SOURCE / name for name in BESIDE], *layers("layers", SOURCE / "fewratio")], WIDTH)
    title = "The rooms of fewratio: a module imports only from the rows below its own"
    opening = f'<svg class="packages" viewBox="-1 -1 {WIDTH + 2} {y + 2}" role="img" aria-label="{title}">'
    return opening + boxes + "</svg>"


def _rows(rows, width):
    """Draw rows of modules, one below the other; give the drawing and its height."""
    boxes, y = [], 0
    for row in rows:
        drawn, height = _row(row, y, width)
        boxes.append(drawn)
        y += height + GAP
    return "".join(boxes), y


def _row(paths, y, width):
    """Draw modules side by side, with the kinds of estimators inside theirs; give the drawing and its height."""
    each = (width - GAP * (len(paths) - 1)) / len(paths)
    texts = [wrap(first_line(path), int((each - 2 * MARGIN) / LETTER)) for path in paths]
    top = 24 + LINE * max(map(len, texts)) + 10
    inner, height = "", top
    if [path.name for path in paths] == ["estimators"]:
        kinds = ([path for path in row if path.is_dir()] for row in layers("estimators", paths[0]))
        inner, inner_height = _rows(list(filter(None, kinds)), width - 2 * MARGIN)
        inner, height = f'<g transform="translate({MARGIN} {top})">{inner}</g>', top + inner_height + MARGIN - GAP
    drawn = []
    for place, (path, lines) in enumerate(zip(paths, texts, strict=True)):
        below = "".join(f'<tspan class="line" x="{MARGIN}" dy="{LINE}">{escape(line)}</tspan>' for line in lines)
        drawn.append(
            f'<g transform="translate({place * (each + GAP):.0f} {y})">'
            f'<rect width="{each:.0f}" height="{height}" rx="6"/>'
            f'<text x="{MARGIN}" y="22">{path.name}{below}</text>{inner}</g>'
        )
    return "".join(drawn), height


class Packages(SphinxDirective):
    """Show the drawing."""

    def run(self):
        return [nodes.raw("", drawing(), format="html")]


def setup(app):
    app.add_directive("packages", Packages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
