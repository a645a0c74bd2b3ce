"""Pictures: nothing in them covers anything else, on tables of any size and with names of any length."""

from itertools import combinations

import numpy as np
import pytest

from fewratio.charts import results, style

pytest.importorskip("matplotlib")
from fewratio.charts.changes import draw_changes

LONG = "a measurement of the quantity number {} in the laboratory"
FILES = "a fairly long name of a file of 2024-01-01.csv", "another fairly long name of a file of 2024-02-01.csv"


def comparison(names, sizes, null, statistic, n_columns):
    rng = np.random.default_rng(0)
    ratios = tuple(rng.gamma(2, 0.5, size) for size in sizes)
    columns = [(LONG.format(i), (-1) ** i * 0.9**i, 0.01 * i) for i in range(n_columns)]
    return results.draw_comparison(names, ratios, statistic, null, 0.03 if statistic is not None else None, columns)


def series(n, points, times=None, n_columns=1, scores=None):
    rng = np.random.default_rng(0)
    columns = {LONG.format(i): (rng.normal(size=n), np.zeros(n)) for i in range(n_columns)}
    moments = np.arange(n) if times is None else times
    return draw_changes(columns, np.array(points, dtype=int), moments, scores=scores).figure


def outliers(n, names, n_columns):
    rng = np.random.default_rng(0)
    rows = [{LONG.format(i): value for i, value in enumerate(rng.normal(0, 5, n_columns))} for _ in names]
    return results.draw_outliers(rng.normal(0.5, 1, n), names, rows)


NULL = np.random.default_rng(0).normal(0.01, 0.001, 999)
DAYS = np.arange("2024-01-01", "2025-02-04", dtype="datetime64[D]")
PICTURES = {
    "comparison": lambda: comparison(("a.csv", "b.csv"), (60, 45), NULL, 0.012, 4),
    "comparison of long names": lambda: comparison(FILES, (60, 45), NULL, 0.9, 30),
    "comparison of three rows": lambda: comparison(("a", "b"), (1, 2), np.array([0.1, 0.2, 0.2]), 0.2, 1),
    "comparison of equal rows": lambda: comparison(("a", "b"), (5, 5), np.full(99, 0.5), 0.5, 2),
    "comparison without a test": lambda: comparison(FILES, (5, 4), np.array([]), None, 2),
    "outliers": lambda: outliers(40, [f"bottle number {i} of the delivery" for i in range(10)], 30),
    "outliers of one row": lambda: outliers(1, ["row 0"], 1),
    "outliers of many rows": lambda: outliers(5000, [f"row {i}" for i in range(10)], 3),
    "two datasets": lambda: results.draw_all_pairs(["a", "b"], np.array([[0, 0.3], [0.1, 0]])),
    "sixty datasets": lambda: results.draw_all_pairs(
        [LONG.format(i) for i in range(60)], np.random.default_rng(0).random((60, 60))
    ),
    "many datasets": lambda: results.draw_all_pairs(list(map(str, range(300))), np.zeros((300, 300))),
    "weights": lambda: results.draw_weights(np.linspace(0, 2, 3000), 2000.5, 0.9, 3),
    "two weights": lambda: results.draw_weights(np.array([0.5, 1.5]), 1.6, 0.9, 0),
    "ratios": lambda: results.draw_ratios(np.array([0.1, 2]), np.zeros((2, 3)), None, " over ".join(FILES)),
    "ratios along a column": lambda: results.draw_ratios(
        np.ones(50), np.arange(50.0)[:, None], [LONG.format(0)], "ratio"
    ),
    "changes": lambda: series(400, [50, 60, 70, 80, 300, 399], DAYS, 7, (np.linspace(0, 1, 400), 0.5)),
    "changes by minutes": lambda: series(20, [5, 12], np.datetime64("2024-01-01T08:00", "s") + np.arange(20) * 90),
    "no changes": lambda: series(14, []),
    "very many changes": lambda: series(600, range(20, 600, 20)),
}


@pytest.fixture(scope="module", params=PICTURES)
def figure(request):
    figure = PICTURES[request.param]()
    figure.draw_without_rendering()
    return figure


def boxes(artists):
    return [artist.get_window_extent() for artist in artists if artist.get_text() and artist.get_visible()]


def shared(first, second):
    """How much of a pixel's square two boxes share."""
    width = min(first.x1, second.x1) - max(first.x0, second.x0)
    height = min(first.y1, second.y1) - max(first.y0, second.y0)
    return max(width, 0) * max(height, 0)


def test_titles_and_labels_do_not_cover_each_other(figure):
    texts = [*figure.texts, *figure.findobj(lambda artist: artist in {figure._suptitle, figure._supxlabel})]
    for panel in figure.axes:
        texts += [panel._left_title, panel.xaxis.label, panel.yaxis.label]
        texts += panel.texts
        if panel.get_legend() is not None:
            texts += panel.get_legend().get_texts()
    for first, second in combinations(boxes(set(texts)), 2):
        assert shared(first, second) <= 1


def test_all_titles_are_within_the_picture(figure):
    titles = [text for panel in figure.axes for text in (panel._left_title, panel.xaxis.label, *panel.texts)]
    titles += [figure._suptitle] if figure._suptitle else []
    for box in boxes(titles):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1


def test_names_at_an_axis_do_not_cover_each_other(figure):
    for panel in figure.axes:
        # What is turned has a box that is larger than itself.
        for labels in (panel.get_yticklabels(), [x for x in panel.get_xticklabels() if x.get_rotation() in (0, 90)]):
            for first, second in combinations(boxes(labels), 2):
                assert shared(first, second) <= 1


def test_legends_cover_no_points(figure):
    for panel in figure.axes:
        if panel.get_legend() is not None:
            assert shared(panel.get_legend().get_window_extent(), panel.get_window_extent()) <= 1


def test_a_narrow_null_distribution_fills_its_panel():
    _, test, _ = comparison(("a", "b"), (9, 9), NULL, 0.9, 1).axes
    low, high = test.get_xlim()
    assert np.ptp(NULL) > 0.6 * (high - low)
    assert [text.get_text() for text in test.get_legend().get_texts()] == ["observed: 0.9, far beyond this edge"]


def test_panels_are_not_empty():
    assert len(PICTURES["comparison without a test"]().axes) == 2


def test_dates_of_changes_are_written_out():
    first = PICTURES["changes"]().axes[0]
    assert [text.get_text() for text in first.texts][:2] == ["2024-02-20", "2024-03-01"]
    minutes = PICTURES["changes by minutes"]().axes[0]
    assert [text.get_text() for text in minutes.texts] == ["2024-01-01 08:07:30", "2024-01-01 08:18:00"]


@pytest.mark.parametrize(("name", "expected"), [("short", "short"), ("x" * 40, "x" * 40), (7, "7")])
def test_short_names_stay(name, expected):
    assert style.shortened(name) == expected


def test_long_names_keep_their_ends():
    short = style.shortened(LONG.format(15), 30)
    assert len(short) <= 30
    assert short.startswith("a measurement")
    assert short.endswith("laboratory")
    assert len(style.wrapped(LONG.format(15)).splitlines()) == 2
