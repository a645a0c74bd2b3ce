"""Means and deviations of columns against NumPy's."""

import numpy as np

from fewratio.estimators import scaling


def test_scaling_is_that_of_all_rows_together():
    rng = np.random.default_rng(0)
    samples = [rng.normal(3, 2, (40_000, 2)), rng.normal(-1, 5, (4, 2))]  # the first in blocks
    mean, scale = scaling.column_scaling(samples)
    rows = np.concatenate(samples)
    np.testing.assert_allclose(mean, rows.mean(0), rtol=1e-12)
    np.testing.assert_allclose(scale, rows.std(0), rtol=1e-12)


def test_a_constant_column_is_only_centred():
    # 0.1 has no finite binary form: what is left of it when its mean is taken off is rounding.
    mean, scale = scaling.column_scaling([np.full((7, 1), 0.1), np.full((3, 1), 0.1)])
    np.testing.assert_allclose(mean, 0.1)
    np.testing.assert_array_equal(scale, 1)


def test_what_overflows_is_not_finite():
    assert not np.isfinite(scaling.column_scaling([np.array([[1e200], [-1e200]])])[1]).all()
