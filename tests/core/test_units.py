"""Means and units of columns."""

import numpy as np
import pytest

from fewratio.core import units as scaling
from fewratio.core.units import clip_far, clip_to_middle


def test_scaling_is_that_of_all_rows_together():
    rng = np.random.default_rng(0)
    samples = [rng.normal(3, 2, (80, 2)), rng.normal(-1, 5, (40, 2))]
    mean, scale = scaling.column_scaling(samples)
    rows = np.concatenate(samples)
    np.testing.assert_allclose(mean, rows.mean(0), rtol=1e-12)
    clipped = np.clip(rows, *np.quantile(rows, [0.05, 0.95], axis=0))
    np.testing.assert_allclose(scale, clipped.std(0), rtol=1e-12)


def test_an_outlier_does_not_decide_the_unit():
    rows = np.random.default_rng(0).normal(size=(100, 1))
    unit = scaling.column_scaling([rows])[1]
    rows[0] = 1e6
    np.testing.assert_allclose(scaling.column_scaling([rows])[1], unit, rtol=0.1)


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
