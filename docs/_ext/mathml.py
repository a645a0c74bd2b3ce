"""Formulas as MathML, which browsers draw themselves: no script is loaded, so that pages work without a network."""

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def _inline(translator, node):
    translator.body.append(convert(node.astext()))
    raise SkipNode


def _display(translator, node):
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    translator.body.append(f'<div class="math">{number}{convert(node.astext(), display="block")}</div>')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
