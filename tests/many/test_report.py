"""The report of all pairs: what it says, and many datasets."""

import numpy as np
import pytest

from fewratio import compare_all
from fewratio.charts.chart import Chart
from fewratio.many.all_pairs import AllPairsResult
from fewratio.report import page
from tests.report.test_results import assert_valid, blocks, tables


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(0)
    samples = {name: rng.normal(mean, 1, (20, 2)) for name, mean in (("<a>", 0), ("b", 4), ("c", 0.1))}
    return compare_all(samples, n_permutations=99, random_state=0)


def many(n):
    rng = np.random.default_rng(0)
    places = rng.permutation(n)
    distances = np.abs(places[:, None] - places) / n
    return AllPairsResult([f"dataset {place}" for place in places], distances)


def test_the_answer_names_the_extremes(three):
    report = three._report()
    assert report.answer.startswith("2 of 3 pairs differ (adjusted p-value at most 0.05); <a> and b differ most")
    assert report.parts[1].startswith("b stands out most (median divergence 0.")
    assert report.facts["Datasets"] == "3, so 3 pairs"


def test_the_heat_map_has_all_pairs_in_the_order_of_clustering(three):
    (chart,) = blocks(three._report(), Chart)
    order = three.order()
    np.testing.assert_allclose(chart.data["v0"], three.divergences[np.ix_(order, order)].ravel(), atol=1e-3)
    names = [each["row"] for each in chart.spec["transform"][0]["from"]["data"]["values"]]
    assert names == [three.names[i] for i in order]
    # p-values are shown for a cell that is pointed at.
    assert len(chart.data["v1"]) == 9


def test_each_dataset_has_its_nearest_neighbours(three):
    table = next(iter(tables(three._report()).values()))
    assert table.is_searchable
    for row in table.rows:
        (nearest, least), (farthest, most) = three.nearest(row[0], 2)
        assert [row[3], row[6]] == [nearest, farthest]
        assert (row[4].value, row[7].value) == pytest.approx((least, most), rel=1e-3)
        assert row[5] == three.write_p_value(row[0], nearest)


def test_datasets_that_share_a_cell_do_not_count_themselves():
    result = AllPairsResult([f"{i}" for i in range(160)], 1 - np.eye(160), 1 - np.eye(160))
    (chart,) = blocks(result._report(), Chart)
    assert set(chart.data["v0"]) == {1.0}
    # A mean of p-values says nothing.
    assert "v1" not in chart.data


def test_a_thousand_datasets_stay_small():
    result = many(1000)
    report = result._report()
    (chart,) = blocks(report, Chart)
    assert len(chart.data["v0"]) == 80**2
    assert np.mean(chart.data["v0"]) == pytest.approx(result.divergences.mean(), rel=0.02)
    assert len(next(iter(tables(report).values())).rows) == 1000
    assert len(result.to_html().encode()) < 2_000_000


def test_two_datasets_are_enough():
    result = compare_all({"a": [[0.0], [1.0]], "b": [[8.0], [9.0]]})
    assert_valid(result.to_html())
    assert "<svg" in result._repr_html_()
    (code,) = blocks(result._report(), page.Code)
    assert code.text == "compare_all(collection, n_permutations=0, n_rows=100, random_state=0).to_html(path)"


def test_a_notebook_does_not_wait_for_thousands_of_datasets():
    assert many(1001)._repr_html_() is None


def test_a_new_dataset_is_the_answer():
    rng = np.random.default_rng(0)
    known = {f"{i}": rng.normal(0, 1, (9, 2)) for i in range(20)}
    far = compare_all(known, new={"<new>": rng.normal(30, 1, (9, 2))}, random_state=0)
    report = far._report()
    assert report.title == "<new> among 20 datasets"
    assert report.answer.startswith("<new> is unlike all 20 other datasets (p = 0.048). Farthest: ")
    assert report.answer.endswith(f"Nearest: {', '.join(name for name, _ in far.nearest('<new>', 3))}.")
    chart = blocks(report, Chart)[0]
    assert "0 of them are at least as unlike, so p = (1 + 0) / (1 + 20)" in chart.caption
    assert sum(chart.data["value"]) == 20
    assert_valid(far.to_html())
    few = compare_all(dict(list(known.items())[:9]), new={"x": known["19"]}, random_state=0)._report()
    assert few.answer.startswith("Nothing shows that x is unlike the 9 other datasets (p = ")
    assert "There are too few to decide: no p-value can be below 0.1." in few.answer
