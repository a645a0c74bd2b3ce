"""Pictures of results: no text covers another or is cut, on tables of any size and with names of any length."""

import math
import re
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from fewratio.changes.report import draw_changes
from fewratio.compare.report import draw_comparison
from fewratio.core.wording import shorten
from fewratio.data.table import Table
from fewratio.many.report import draw_all_pairs
from fewratio.outliers.report import draw_outliers
from fewratio.weights.report import draw_weights

LONG = "a measurement of the quantity number {} in the laboratory"
FILES = "a fairly long name of a file of 2024-01-01.csv", "another fairly long name of a file of 2024-02-01.csv"


def comparison(names, sizes, null, statistic, n_columns):
    rng = np.random.default_rng(0)
    ratios = [rng.gamma(2, 0.5, size).clip(0, 2) for size in sizes]
    columns = [
        SimpleNamespace(column=LONG.format(i), effect=(-1) ** i * 0.9**i, p_value=0.01 * i) for i in range(n_columns)
    ]
    test = dict(statistic=statistic, null_distribution=null, p_value=statistic and 0.03, max_divergence=0.5)
    return draw_comparison(
        SimpleNamespace(names=names, ratios_a=ratios[0], ratios_b=ratios[1], columns=columns, **test)
    )


def series(n, points, times=None, n_columns=1, scores=None):
    rng = np.random.default_rng(0)
    names, points = [LONG.format(i) for i in range(n_columns)], np.array(points, dtype=int)
    there = np.full(n, np.nan) if scores is None else scores
    return draw_changes(
        SimpleNamespace(
            series=rng.normal(size=(n, n_columns)),
            background=np.zeros((n, n_columns)),
            levels=np.zeros((n, n_columns)),
            points=points,
            changed=[((0, "level", 0.0, 1.0),)] * len(points),
            scores=there,
            times=times,
            ranked_columns=names,
            feature_names=names,
            gaps={},
            row_names=None if times is None else times.astype(str),
            threshold=None if scores is None else 0.5,
        )
    )


def outliers(n, n_shown, n_columns, name="row number {} of the delivery"):
    rng = np.random.default_rng(0)
    margins = rng.normal(0.5, 1, n)
    columns = [LONG.format(i) for i in range(n_columns)]
    table = Table(np.zeros((n, 1)), row_names=[name.format(i) for i in range(n)])
    return draw_outliers(
        SimpleNamespace(
            margins=margins, threshold=0.0, is_outlier=margins < 0, order=np.argsort(margins),
            samples=SimpleNamespace(tables=[table]),
            explanations=lambda rows: [
                SimpleNamespace(columns=columns, differences=rng.normal(0, 5, n_columns)) for _ in rows
            ],
        ),
        n_shown,
    )  # fmt: skip


def all_pairs(names, divergences):
    order = np.arange(len(names))
    return draw_all_pairs(
        SimpleNamespace(names=names, divergences=divergences, adjusted_p_values=None, order=lambda: order)
    )


def weights(values, n_columns):
    rng = np.random.default_rng(0)
    tables = [SimpleNamespace(numbers=rng.normal(size=(len(values), n_columns)), feature_names=None) for _ in range(2)]
    columns = {LONG.format(i): (None, slice(i, i + 1)) for i in range(n_columns)}

    class Result(SimpleNamespace):
        def __len__(self):
            return len(self.weights)

    samples = SimpleNamespace(tables=tables, columns=columns)
    return draw_weights(Result(weights=values, samples=samples, effective_sample_size=1.6, overlap=0.9, n_clipped=3))


NULL = np.random.default_rng(0).normal(0.01, 0.001, 999)
DAYS = np.arange("2024-01-01", "2025-02-04", dtype="datetime64[D]")
PICTURES = {
    "comparison": lambda: comparison(("a.csv", "b.csv"), (60, 45), NULL, 0.012, 4),
    "comparison of long names": lambda: comparison(FILES, (60, 45), NULL, 0.9, 30),
    "comparison of three rows": lambda: comparison(("a", "b"), (1, 2), np.array([0.1, 0.2, 0.2]), 0.2, 1),
    "comparison of equal rows": lambda: comparison(("a", "b"), (5, 5), np.full(99, 0.5), 0.5, 2),
    "comparison without a test": lambda: comparison(FILES, (5, 4), np.array([]), None, 2),
    "outliers": lambda: outliers(40, 10, 30),
    "outliers of one row": lambda: outliers(1, 1, 1),
    "outliers of many rows": lambda: outliers(5000, 10, 3, "{}"),
    "two datasets": lambda: all_pairs(["a", "b"], np.array([[0, 0.3], [0.1, 0]])),
    "thirty datasets": lambda: all_pairs(
        [LONG.format(i) for i in range(30)], np.random.default_rng(0).random((30, 30))
    ),
    "many datasets": lambda: all_pairs(list(map(str, range(300))), np.zeros((300, 300))),
    "weights": lambda: weights(np.linspace(0, 2, 3000), 25),
    "two weights": lambda: weights(np.array([0.5, 1.5]), 1),
    "changes": lambda: series(400, [50, 60, 70, 80, 300, 399], DAYS, 7, np.linspace(0, 1, 400)),
    "changes by minutes": lambda: series(20, [5, 12], np.datetime64("2024-01-01T08:00", "s") + np.arange(20) * 90),
    "no changes": lambda: series(14, []),
    "very many changes": lambda: series(600, range(20, 600, 20)),
}


@pytest.fixture(scope="module", params=PICTURES)
def picture(request):
    return PICTURES[request.param]()


def boxes(node, x=0.0, y=0.0, size=11.0):
    """Give the texts below a node of an SVG file with where they are, by the usual width of a letter."""
    moved = re.match(r"translate\(([-\d.e]+),([-\d.e]+)\)(?: rotate\((-?\d+))?", node.get("transform", ""))
    turned = 0
    if moved:
        x, y, turned = x + float(moved[1]), y + float(moved[2]), int(moved[3] or 0)
    text = "".join(node.itertext()).strip() if node.tag.endswith("text") else ""
    if text and float(node.get("opacity", 1)) > 0:
        lines = [each for each in node.itertext() if each.strip()]
        height = float(re.match(r"[\d.]+", node.get("font-size", "11"))[0])
        width = 0.5 * height * max(map(len, lines))
        left = {"middle": width / 2, "end": width}.get(node.get("text-anchor"), 0.0)
        low, high = (-0.7 * height, 0.2 * height + 1.2 * height * (len(lines) - 1))
        if turned:
            yield text, (x + low, y - width + left, x + high, y + left)
        else:
            yield text, (x - left, y + low, x - left + width, y + high)
        return
    for child in node:
        yield from boxes(child, x, y, size)


def test_texts_neither_cover_each_other_nor_are_cut(picture):
    root = ElementTree.fromstring(picture.as_file(Path("picture.svg")).decode())
    found = list(boxes(root))
    assert len(found) > 3
    for (first, a), (second, b) in combinations(found, 2):
        shared = [min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])]
        assert min(shared) <= 2, (first, second)
    width, height = (float(root.get(side)) for side in ("width", "height"))
    for text, (left, top, right, bottom) in found:
        assert left >= 0, text
        assert top >= 0, text
        assert right <= width, text
        assert bottom <= height, text


def test_a_picture_is_described(picture):
    text = picture.spec["description"]
    assert len(text) > 20
    assert "nan" not in text


def test_panels_are_not_empty():
    assert len(PICTURES["comparison"]().spec["hconcat"]) == 3
    assert len(PICTURES["comparison without a test"]().spec["hconcat"]) == 2
    # The first columns, and the scores of a test.
    assert len(PICTURES["changes"]().spec["vconcat"]) == 4 + 1
    assert math.prod(len(panel["data"]["values"]) for panel in PICTURES["weights"]().spec["hconcat"]) > 0


@pytest.mark.parametrize(("name", "expected"), [("short", "short"), ("x" * 40, "x" * 40), (7, "7")])
def test_short_names_stay(name, expected):
    assert shorten(name) == expected


def test_long_names_keep_their_ends():
    short = shorten(LONG.format(15), 30)
    assert len(short) <= 30
    assert short.startswith("a measurement")
    assert short.endswith("laboratory")
