"""Kernel and median width against their formulas in numpy."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist

from fewratio.core.kernels import distances_within, gaussian_kernel, median_distance, squared_distances
from fewratio.estimators.networks.pair import Pair
from tests.strategies import normal, pairs, quick, seeds, sizes, with_padding


def median(pair):
    return median_distance(pair.rows, pair.shares.sum(-2) > 0)


@quick
@given(n=sizes, m=sizes, d=sizes, seed=seeds, sigma=st.floats(0.3, 10))
def test_kernel_equals_the_formula(n, m, d, seed, sigma):
    x, centres = normal(seed, n, d), normal(seed + 1, m, d)
    expected = np.exp(-cdist(x, centres, "sqeuclidean") / sigma**2)
    # The squared distance, up to a few thousand here, is a difference of sums rounded at 2e-16 each.
    np.testing.assert_allclose(gaussian_kernel(x, centres, sigma), expected, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("unit", [1e-180, 0.5, 1e180])
def test_squared_distances_in_a_unit(unit):
    x, centres = normal(0, 6, 3), normal(1, 4, 3)
    found = squared_distances(x * unit, centres * unit, unit)
    np.testing.assert_allclose(found, cdist(x, centres, "sqeuclidean"), rtol=1e-12)


def test_kernel_of_a_centre_with_itself_never_exceeds_one():
    x = normal(0, 200, 5, dtype=torch.float32) * 100
    kernel = gaussian_kernel(x, x, 0.01)
    assert kernel.max() <= 1
    assert kernel.diagonal().isfinite().all()


def test_kernel_far_from_the_origin():
    # 1e6 costs the rows themselves ten of their sixteen digits and |x|^2 + |c|^2 - 2xc would lose the rest: compare
    # rows whose differences are exact in floating point.
    x, centres = (normal(seed, 6, 3).mul(2**16).round() / 2**16 for seed in (0, 1))
    near, far = gaussian_kernel(x, centres, 0.7), gaussian_kernel(x + 1e6, centres + 1e6, 0.7)
    # The mean of the centres is rounded at 1e-10; both sides move by the same amount.
    torch.testing.assert_close(far, near, rtol=1e-8, atol=0)


def test_width_and_centres_of_each_task():
    x, centres, sigma = normal(0, 3, 4, 2), normal(1, 3, 5, 2), normal(2, 3).exp()
    kernel = gaussian_kernel(x, centres, sigma)
    for task in range(3):
        torch.testing.assert_close(kernel[task], gaussian_kernel(x[task], centres[task], float(sigma[task])))


@pytest.mark.parametrize("n", [1, 2, 10, 40])
def test_distances_of_many_samples_are_those_of_each(n):
    rows = normal(0, 5, n, 3).numpy()
    rows[2, -1] = rows[2, 0]
    found = distances_within(rows)
    np.testing.assert_allclose(found, [pdist(sample) for sample in rows], rtol=1e-14)
    assert n == 1 or found[2, n - 2] == 0


@quick
@given(pair=pairs(n_features=3), seed=seeds)
def test_median_is_over_the_distances_of_the_joined_rows(pair, seed):
    expected = np.median(pdist(pair.rows))
    np.testing.assert_allclose(median(pair), expected, rtol=1e-12)
    np.testing.assert_allclose(median(with_padding(pair, seed)), expected, rtol=1e-12)


def test_median_of_each_task_of_a_batch():
    nu, de = normal(0, 4, 3, 2), normal(1, 4, 2, 2)
    mask = torch.tensor([[True, True, True], [True, False, True], [False, True, False], [True, True, True]])
    for masks in ((None, None), (mask, None)):
        medians = median(Pair(nu, de, *masks))
        rows = [torch.cat([nu[i] if masks[0] is None else nu[i][mask[i]], de[i]]) for i in range(4)]
        np.testing.assert_allclose(medians, [np.median(pdist(task)) for task in rows], rtol=1e-12)


def test_median_far_from_the_origin():
    rows = normal(0, 7, 3).mul(2**16).round() / 2**16
    near, far = (median(Pair(x[:3], x[3:])) for x in (rows, rows + 1e6))
    torch.testing.assert_close(far, near, rtol=1e-12, atol=0)


@pytest.mark.parametrize("padded", [False, True])
def test_mean_stands_in_for_a_median_of_zero(padded):
    pair = Pair(torch.zeros(4, 2, dtype=torch.float64), torch.tensor([[3.0, 4.0]], dtype=torch.float64))
    if padded:
        pair = with_padding(pair, 0)
    # Six distances of 0 and four of 5.
    assert median(pair).item() == pytest.approx(2.0)


def test_one_stands_in_where_all_rows_are_the_same():
    widths = median(Pair(torch.ones(2, 3, 2), torch.tensor([[[1.0, 1.0]], [[1.0, 2.0]]])))
    torch.testing.assert_close(widths, torch.tensor([1.0, 0.5]))
