"""Quantities of ratio values: each mean over its own sample, and the true ratio from scipy's densities."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import norm

from fewratio import relative_pearson_divergence
from fewratio.core.draws import in_row_order
from fewratio.errors import InputError, ParameterError
from fewratio.estimators import gaussian_relative_ratio, mmd2, relative_squared_error


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_each_mean_is_over_its_own_sample(alpha):
    nu, de = [0.5, 1.5, 2.0], [0.25, 0.75, 1.0, 0.0, 0.5]
    squares = alpha * np.mean(np.square(nu)) + (1 - alpha) * np.mean(np.square(de))
    assert relative_squared_error(nu, de, alpha) == pytest.approx(squares / 2 - np.mean(nu))
    assert relative_pearson_divergence(nu, de, alpha) == pytest.approx(np.mean(nu) - squares / 2 - 0.5)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_the_true_ratio_is_that_of_the_densities(alpha):
    X = np.random.default_rng(0).normal(size=(20, 2))
    laws = dict(nu_mean=[0.0, 1.0], nu_std=[1.0, 0.5], de_mean=[0.5, 0.0], de_std=2.0)
    nu = norm.pdf(X, laws["nu_mean"], laws["nu_std"]).prod(1)
    de = norm.pdf(X, laws["de_mean"], laws["de_std"]).prod(1)
    np.testing.assert_allclose(gaussian_relative_ratio(X, **laws, alpha=alpha), nu / (alpha * nu + (1 - alpha) * de))


def test_densities_that_underflow_do_no_harm():
    far = [[-60.0], [60.0]]
    np.testing.assert_allclose(gaussian_relative_ratio(far, 0, 1, 10, 1, alpha=0.5), [2, 0], atol=1e-12)


@pytest.mark.parametrize("alpha", [-0.1, 1, 2])
@pytest.mark.parametrize("quantity", [relative_squared_error, relative_pearson_divergence])
def test_alpha_out_of_range_is_named(quantity, alpha):
    with pytest.raises(ParameterError, match=f"alpha is {alpha}"):
        quantity([1.0], [1.0], alpha)


@pytest.mark.parametrize("bad", [[], [[1.0]], 1.0])
def test_a_bad_argument_is_named(bad):
    with pytest.raises(InputError, match="ratio_nu has shape"):
        relative_squared_error(bad, [1.0])
    with pytest.raises(InputError, match="ratio_de has shape"):
        relative_pearson_divergence([1.0], bad)


# ---------------------------------------------------------------- maximum mean discrepancy


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("sizes", [(5, 9), (9, 5), (2, 2)])
def test_mmd2_is_a_loop_over_pairs(biased, sizes):
    rng = np.random.default_rng(0)
    X, Y = (rng.normal(size=(n, 3)) for n in sizes)

    def mean(A, B, leave_out):
        pairs = [(a, b) for i, a in enumerate(A) for j, b in enumerate(B) if not (leave_out and i == j)]
        return np.mean([np.exp(-np.sum((a - b) ** 2) / 1.3**2) for a, b in pairs])

    expected = mean(X, X, not biased) + mean(Y, Y, not biased) - 2 * mean(X, Y, leave_out=False)
    assert mmd2(X, Y, sigma=1.3, biased=biased) == pytest.approx(expected, rel=1e-9)


def test_the_unbiased_mmd2_of_one_law_has_mean_zero():
    rng = np.random.default_rng(0)
    values = [mmd2(rng.normal(size=(12, 2)), rng.normal(size=(7, 2)), sigma=1.0) for _ in range(400)]
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(len(values))
    assert min(values) < 0


def test_the_width_of_mmd2_is_the_median_distance():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(1, 1, (20, 2))
    assert mmd2(X, Y) == mmd2(X, Y, sigma=np.median(pdist(np.concatenate([X, Y]))))
    X, Y = rng.normal(size=(3000, 2)), rng.normal(1, 1, (2000, 2))
    assert mmd2(X, Y) == pytest.approx(mmd2(X, Y, sigma=np.median(pdist(np.concatenate([X, Y])))), rel=0.03)


def test_neither_the_order_of_rows_nor_that_of_samples_changes_the_median_of_many():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(900, 2)), rng.normal(1, 1, (700, 2))
    expected = mmd2(X, Y)
    for first, second in ((X[::-1], Y), (X, np.roll(Y, 3, axis=0)), (Y, X)):
        assert mmd2(first, second) == pytest.approx(expected, rel=1e-12)


def test_what_mmd2_cannot_use_is_named():
    with pytest.raises(InputError, match=r"Y has one row.*biased=True"):
        mmd2([[0.0], [1.0]], [[1.0]])
    assert mmd2([[0.0], [1.0]], [[1.0]], biased=True) > 0
    with pytest.raises(InputError, match="Y"):
        mmd2([[0.0], [1.0]], [[1.0, 2.0], [1.0, 2.0]])
    for sigma in (0, -1.0, "cv", np.inf):
        with pytest.raises(ParameterError, match="sigma is"):
            mmd2([[0.0], [1.0]], [[1.0], [2.0]], sigma=sigma)


def test_mmd_of_many_rows_is_that_of_every_so_many():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 2)), rng.normal(size=(90, 2)) + 0.5
    thinned = in_row_order(X)[::3]
    assert mmd2(X, Y, sigma=1.0, max_rows=100) == pytest.approx(mmd2(thinned, Y, sigma=1.0))
    assert mmd2(rng.permutation(X), Y, sigma=1.0, max_rows=100) == pytest.approx(mmd2(thinned, Y, sigma=1.0))
    assert mmd2(X, Y, max_rows=None) == pytest.approx(mmd2(X, Y, max_rows=300))
