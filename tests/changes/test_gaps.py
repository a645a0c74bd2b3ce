"""Gaps of a series are filled from what is there."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewratio import detect_changes
from fewratio.changes.gaps import fill_gaps


@given(st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_gaps_are_filled_from_what_is_there(values):
    series = np.array([np.nan if value is None else value for value in values])
    is_gap = np.isnan(series)
    filled = series.copy()
    fill_gaps(filled, is_gap)
    assert np.array_equal(filled[~is_gap], series[~is_gap])
    if not is_gap.all():
        assert np.isfinite(filled).all()
        assert filled.min() >= series[~is_gap].min()
        assert filled.max() <= series[~is_gap].max()


def test_long_gaps_are_filled_with_rows_beside_them_mirrored():
    series = np.array([9, 1, 2, *[np.nan] * 6, 3, 4, 5, *[np.nan] * 8])
    fill_gaps(series, np.isnan(series))
    assert series.tolist() == [9, 1, 2, 2, 1, 9, 5, 4, 3, 3, 4, 5, 5, 4, 3, 2, 1, 9, 9, 1]


def test_a_gap_at_the_start_has_the_noise_of_the_rest():
    series = np.random.default_rng(0).normal(size=300)
    series[:100] = np.nan
    fill_gaps(series, np.isnan(series))
    assert 0.7 < series[:100].std() < 1.3


def test_means_beside_a_long_gap_are_of_values_that_are_there():
    values = np.random.default_rng(0).normal(size=200)
    values[100:] += 8
    expected = values[60:80].mean(), values[120:140].mean()
    values[80:120] = np.nan
    (change,) = [each for each in detect_changes(pd.DataFrame({"x": values})).changes if each["column"] == "x"]
    assert (change["mean_before"], change["mean_after"]) == pytest.approx(expected)


def test_a_gap_between_two_values_gets_one_of_them():
    values = np.array([0.0, 1, np.nan, 0, 1, 1, np.nan, 1])
    fill_gaps(values, np.isnan(values))
    assert set(values) == {0.0, 1.0}
    rows = (np.random.default_rng(1).random(200) < np.where(np.arange(200) < 100, 0.05, 0.6)).astype(float)
    rows[[20, 130]] = np.nan
    (change,) = detect_changes(pd.DataFrame({"fails": rows})).changes
    assert change["kind"] == "share"


@pytest.mark.parametrize("gap", [slice(0, 60), slice(80, 120), slice(140, 200), slice(0, 9)], ids=str)
def test_no_change_rests_on_filled_values(gap):
    values = np.random.default_rng(3).normal(size=200) + np.arange(200) / 5
    values[gap] = np.nan
    assert {each["column"] for each in detect_changes(pd.DataFrame({"x": values})).changes} <= {"x is missing"}


def test_a_step_within_a_gap_is_found_once():
    values = np.random.default_rng(3).normal(size=200) + 8 * (np.arange(200) >= 100)
    values[80:120] = np.nan
    found = detect_changes(pd.DataFrame({"x": values}))
    assert [each["column"] for each in found.changes].count("x") == 1
    assert "may have happened at any time in between" in found.notes[0]


@pytest.mark.slow
def test_a_long_series_that_begins_as_missing_changes_only_there():
    values = np.random.default_rng(0).normal(size=200_000) + np.arange(200_000) / 4e4
    values[:80_000] = np.nan
    found = detect_changes(pd.DataFrame({"x": values}))
    assert {each["column"] for each in found.changes} == {"x is missing"}
    assert abs(int(found.points[0]) - 80_000) <= 20
    assert found.gaps["x"][:79_000].all()
    assert not found.gaps["x"][81_000:].any()
