"""Heat maps of reports."""

import pytest

from fewratio.charts.heat_map import heat_map


def test_equal_names_stay_apart():
    chart = heat_map((["a", "a", "b"], ["x"]), {"v": [1.0, 2.0, 3.0]}, ("row", "column", "v"), "A table.")
    named = chart.spec["transform"][0]["from"]["data"]["values"]
    assert [each["row"] for each in named] == ["a", "a (2)", "b"]


@pytest.mark.parametrize("n", [3, 50])
def test_each_cell_has_its_row_and_column(n):
    values = [float(i * n + j) for i in range(n) for j in range(n)]
    chart = heat_map((list(map(str, range(n))),) * 2, {"v": values}, ("row", "column", "v"), "A table.")
    for i, j, value in zip(chart.data["i"], chart.data["j"], chart.data["v0"], strict=True):
        assert value == i * n + j
    # Numbers are written where there is room.
    assert len(chart.spec["layer"]) == (2 if n == 3 else 1)
