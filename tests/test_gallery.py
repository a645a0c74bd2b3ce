"""The gallery: `make docs` runs it, and an example that fails is an error there. Here: what takes no time."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*/**/plot_*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 15


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_compiles_and_begins_with_a_title(path):
    tree = ast.parse(path.read_text("utf-8"))
    title, line, empty, *text = ast.get_docstring(tree).splitlines()
    assert set(line) == {"="}
    assert len(line) == len(title)
    assert empty == ""
    assert text
    # Each ends in a picture.
    assert ast.unparse(tree.body[-1]) in ("plt.show()", "result.plot()", "monitor.plot()")


def test_pages_show_pictures_that_examples_make():
    names = {path.stem for path in EXAMPLES}
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text("utf-8")
        shown = re.findall(r"sphx_glr_(plot_\w+?)_\d{3}\.png", text) + re.findall(
            r"sphx_glr_gallery_[a-z]+_(plot_\w+)\.py", text
        )
        assert set(shown) <= names, page


def test_drawings_are_current(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import drawings

    for name, draw in drawings.DRAWINGS.items():
        assert (drawings.IMAGES / name).read_text("utf-8") == draw(), "run: python docs/drawings.py"
