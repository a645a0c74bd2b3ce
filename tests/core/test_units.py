"""Means and units of columns."""

import numpy as np
import pytest
from scipy.stats import rankdata

from fewratio.core import units as scaling
from fewratio.core.units import clip_far, clip_to_middle, rank_values


def test_scaling_is_that_of_all_rows_together():
    rng = np.random.default_rng(0)
    samples = [rng.normal(3, 2, (80, 2)), rng.normal(-1, 5, (40, 2))]
    mean, scale = scaling.column_scaling(samples)
    rows = np.concatenate(samples)
    np.testing.assert_allclose(mean, rows.mean(0), rtol=1e-12)
    apart = np.abs(rows - np.median(rows, axis=0))
    apart = np.minimum(apart, 10 * np.median(apart, axis=0))
    np.testing.assert_allclose(scale, np.sqrt(np.square(apart).mean(0)), rtol=0.01)


def test_an_outlier_does_not_decide_the_unit():
    rows = np.random.default_rng(0).normal(size=(100, 1))
    unit = scaling.column_scaling([rows])[1]
    rows[0] = 1e6
    # The wild value counts as ten median distances, 6.7 deviations of a normal column: its square as 45 of 100.
    np.testing.assert_allclose(scaling.column_scaling([rows])[1], unit * np.sqrt(1.45), rtol=0.15)


@pytest.mark.parametrize("share", [0.002, 0.01, 0.03, 0.05, 0.06, 0.1, 0.3])
@pytest.mark.parametrize("kind", ["rain", "counts", "pixels", "lognormal"])
def test_no_unit_is_far_below_the_deviation(share, kind):
    """Rain, defects or pixels that are zero in nearly all rows must not outweigh other columns."""
    rng = np.random.default_rng(0)
    draw = {
        "rain": lambda: rng.exponential(8, 2000),
        "counts": lambda: 1.0 + rng.poisson(1, 2000),
        "pixels": lambda: rng.uniform(0, 1, 2000),
        "lognormal": lambda: rng.lognormal(0, 0.5, 2000),
    }
    column = np.where(rng.random(2000) < share, draw[kind](), 0.0)[:, None]
    unit = scaling.column_scaling([column])[1]
    assert unit > 0.8 * column.std()


def test_ranks_do_not_depend_on_units_or_growing_functions():
    rng = np.random.default_rng(0)
    sources, rows = [rng.lognormal(size=(40, 3)) for _ in range(3)], rng.lognormal(size=(5, 3))
    inside = np.clip(rows, np.concatenate(sources).min(0), np.concatenate(sources).max(0))
    expected = scaling.RankScaling.of(sources)(inside)
    moved = scaling.RankScaling.of([1000 * X + 8 for X in sources])
    np.testing.assert_allclose(moved(1000 * inside + 8), expected, atol=1e-9)
    # Between known values ranks are interpolated, in logarithms a little differently.
    np.testing.assert_allclose(scaling.RankScaling.of(map(np.log, sources))(np.log(inside)), expected, atol=0.01)


def test_ranks_are_shares_of_rows_below():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 5, (50, 1)).astype(float)
    below, equal = (rows[:, 0] < rows).mean(1), (rows[:, 0] == rows).mean(1)
    np.testing.assert_allclose(scaling.RankScaling.of([rows])(rows)[:, 0], below + equal / 2, rtol=1e-12)


def test_ranks_go_on_beyond_what_is_known_by_half_at_most():
    known = np.array([[0.0, 7.0], [1.0, 7.0], [4.0, 7.0]])
    values = np.array([[4.0, 7.0], [4.004, 8.0], [8.0, 6.0], [4e9, 9.0]])
    found = scaling.RankScaling.of([known])(values)
    # At first with the mean slope between the known values.
    assert found[1, 0] - found[0, 0] == pytest.approx(0.001, rel=0.01)
    assert (np.diff(found[:, 0]) > 0).all()
    assert found[-1, 0] - found[0, 0] == pytest.approx(0.5)
    # Where one value is known, others are above or below it, whatever the unit.
    np.testing.assert_allclose(found[:, 1], [0.5, 1, 0, 1])
    np.testing.assert_allclose(scaling.RankScaling.of([1000 * known])(1000 * values), found)


def test_a_rare_category_is_no_farther_than_a_common_one():
    rows = np.column_stack([np.arange(50) < 1, np.arange(50) < 25]).astype(float)
    np.testing.assert_array_equal(scaling.column_scaling([rows])[1], 1)


def test_a_constant_column_is_only_centred():
    # 0.1 has no finite binary form: what is left of it when its mean is taken off is rounding.
    mean, scale = scaling.column_scaling([np.full((7, 1), 0.1), np.full((3, 1), 0.1)])
    np.testing.assert_allclose(mean, 0.1)
    np.testing.assert_array_equal(scale, 1)


def test_what_overflows_is_not_finite():
    assert not np.isfinite(scaling.column_scaling([np.array([[1e200], [0.0], [-1e200]])])[1]).all()


def test_far_values_are_clipped_at_robust_deviations_from_the_middle():
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 1.0], [100.0, 1.0]])
    clipped = clip_far(rows, 2.0, np.median(rows, axis=0))
    np.testing.assert_array_equal(clipped[:4], rows[:4])
    assert clipped[4, 0] == pytest.approx(2 + 2 * 1.4826)
    # Half of a column's values are equal: it stays as it is.
    np.testing.assert_array_equal(clipped[:, 1], rows[:, 1])


def test_the_middle_of_a_column_says_what_is_far():
    rows = np.append(np.linspace(0, 1, 99), 50.0)[:, None]
    low, high = np.quantile(rows, (0.05, 0.95))
    np.testing.assert_allclose(clip_to_middle(rows), np.clip(rows, low, high))
    np.testing.assert_allclose(clip_to_middle(rows, margin=1.0).max(), 2 * high - low)
    rare = (np.arange(100) == 7).astype(float)[:, None]
    np.testing.assert_array_equal(clip_to_middle(rare), rare)


def test_a_small_deviation_beside_a_large_mean_is_a_unit():
    rows = np.random.default_rng(0).normal(size=(40, 1))
    np.testing.assert_allclose(scaling.column_scaling([rows + 1e13])[1], scaling.column_scaling([rows])[1], rtol=0.01)
    large, small = (scaling.standardise(each, [slice(0, 1)]) for each in (rows + 1e13, rows))
    np.testing.assert_allclose(large, small, atol=0.01)
    assert not scaling.standardise(np.full((3000, 1), 0.1), [slice(0, 1)]).any()


@pytest.mark.parametrize("values", [[], [2.0], [3, 1, 3, 2, 3], [-0.0, 0.0, 1e300, -1e300]])
def test_ranks_are_those_of_scipy(values):
    values = np.array(values, dtype=float)
    np.testing.assert_array_equal(rank_values(values), rankdata(values))
    many = np.random.default_rng(0).integers(0, 50, 1000) / 7
    np.testing.assert_array_equal(rank_values(many), rankdata(many))
