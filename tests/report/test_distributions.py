"""What a column holds, counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fewratio.data.columns import Column
from fewratio.report.distributions import distribution, round_values

NUMBERS = arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e9, 1e9))


@given(NUMBERS, NUMBERS)
def test_every_value_is_in_one_bin(first, second):
    found = distribution(Column("x"), [first[:, None], second[:, None]])
    for shares in found.shares:
        assert len(shares) == len(found.labels)
        assert sum(shares) == pytest.approx(1, abs=0.02)


def test_numbers_are_counted_where_they_are():
    found = distribution(Column("x"), [np.linspace(0, 1, 101)[:, None], np.ones((5, 1))])
    assert found.edges[0] == 0
    assert found.edges[-1] == 1
    assert found.shares[1][-1] == 1
    assert found.labels[-1].endswith("to 1")


def test_a_few_values_have_a_bin_each():
    found = distribution(Column("x"), [np.array([[1.0], [2.0], [2.0], [2.0]]), np.array([[2.0], [7.0], [7.0], [7.0]])])
    assert found.labels == ["1", "2", "7"]
    assert found.shares == [[0.25, 0.75, 0], [0, 0.25, 0.75]]
    assert found.edges is None


@pytest.mark.parametrize("values", [[36.7, 39.1, 39.1, 39.1, 36.7], [181.0, 186.0, 190.0, 193.0, 195.0]])
def test_measurements_of_few_rows_are_dots_however_few_they_are(values):
    found = distribution(Column("x"), [np.array(values)[:, None]] * 2)
    for chart in (found.chart(["A", "B"]), found.small_chart(["A", "B"])):
        assert chart.data["value"] == [*sorted(values)] * 2
    many = distribution(Column("x"), [np.array(values * 20)[:, None]] * 2)
    assert "category" in many.chart(["A", "B"]).data


def test_skewed_positive_numbers_are_on_a_logarithmic_axis():
    rng = np.random.default_rng(0)
    skewed, plain = np.exp(rng.normal(12, 1.5, (300, 1))), rng.normal(100, 1, (300, 1))
    found = distribution(Column("population"), [skewed, skewed * 2])
    assert max(found.shares[0]) < 0.3
    x = found.chart(["A", "B"]).spec["encoding"]["x"]
    assert (x["scale"]["type"], x["title"]) == ("log", "population (logarithmic)")
    assert not distribution(Column("x"), [plain, plain]).is_logarithmic
    assert not distribution(Column("x"), [-skewed, skewed]).is_logarithmic


def test_few_rows_are_drawn_one_by_one():
    rng = np.random.default_rng(0)
    few, many = rng.normal(size=(12, 1)), rng.normal(size=(300, 1))
    chart = distribution(Column("x"), [few, few + 1]).chart(["A", "B"])
    assert chart.data["sample"] == ["A"] * 12 + ["B"] * 12
    assert sorted(chart.data["value"][:12]) == pytest.approx(np.sort(few[:, 0]), rel=1e-4)
    assert "edge" in distribution(Column("x"), [few, many]).chart(["A", "B"]).data


def test_far_values_do_not_squeeze_the_others():
    values = np.append(np.random.default_rng(0).normal(size=1000), 1e6)[:, None]
    found = distribution(Column("x"), [values, values])
    assert max(found.shares[0]) < 0.5
    assert found.labels[-1].endswith("and more")


def test_gaps_are_told_apart_from_values():
    column = Column("x", median=3.0, marks_missing=True)
    found = distribution(column, [np.array([[3.0, 1], [5, 0], [7, 0], [9, 0]]), np.array([[5.0, 0]] * 5)])
    assert found.missing == [0.25, 0]
    assert found.labels == ["5", "7", "9"]
    assert found.shares[0] == [0.25, 0.25, 0.25]


def test_categories_keep_their_names_and_the_rare_ones_are_summed_up():
    names = tuple(f"c{number:02d}" for number in range(30))
    found = distribution(Column("x", "category", categories=names), [np.eye(30), np.eye(30)[:2]])
    assert len(found.labels) == 12
    assert found.labels[:2] == ["c00", "c01"]
    assert found.labels[-1] == "19 more values"
    assert sum(found.shares[0]) == pytest.approx(1, abs=0.02)
    pooled = distribution(Column("x", "category", categories=names[:2], pools_others=True), [np.eye(3)] * 2)
    assert pooled.labels == ["c00", "c01", "rare values (pooled)"]


def test_weights_count():
    values = np.array([[0.0], [1.0]])
    found = distribution(Column("x"), [values, values], [np.array([3.0, 1.0]), None])
    assert found.shares == [[0.75, 0.25], [0.5, 0.5]]


def test_rounding_keeps_what_differs_beside_an_offset():
    values = 101325 + np.array([0.0, 0.001, 9.0])
    assert len(set(round_values(values))) == 3
    assert round_values(np.full(3, 7.123456)) == [7.1235] * 3
    assert round_values(np.zeros(2)) == [0, 0]
