"""One function for NumPy arrays and for tensors: both give the same."""

import numpy as np
import pytest
import torch

from fewratio.core.arrays import equal_shares
from fewratio.core.divergence import kullback_leibler_divergence, mmd2, relative_pearson_divergence
from fewratio.core.kernels import gaussian_kernel, median_distance, squared_distances
from fewratio.core.leave_one_out import LeaveOneOut
from fewratio.core.objectives import RelativeSquaredError, UnnormalisedKL, numerator_mean
from fewratio.core.ridge import Moments, RidgePath, ridge_weights, ridge_weights_of_moments
from fewratio.core.true_ratio import gaussian_relative_ratio, relative_ratio
from tests.strategies import normal

NU, DE = normal(0, 9, 4).abs(), normal(1, 7, 4).abs()
ROWS = torch.cat([NU, DE])
BATCH = torch.stack([ROWS, 2 * ROWS])
RATIO = ROWS[:, 0]
SHARES = equal_shares(9, 7, ROWS)
REGS = torch.tensor([0.01, 1.0], dtype=torch.float64)

CASES = {
    "squared distances": lambda as_: squared_distances(as_(ROWS), as_(DE), 0.7),
    "kernels of tasks": lambda as_: gaussian_kernel(as_(BATCH), as_(BATCH), as_(torch.tensor([0.5, 2.0]))),
    "median distance": lambda as_: median_distance(as_(ROWS)),
    "primal weights": lambda as_: ridge_weights(as_(ROWS), as_(SHARES), 0.3, 0.1, "primal"),
    "dual weights": lambda as_: ridge_weights(as_(ROWS), as_(SHARES), 0.3, 0.1, "dual"),
    "dual weights, alpha 0": lambda as_: ridge_weights(as_(ROWS), as_(SHARES), 0.0, 0.1, "dual"),
    "weights of tasks": lambda as_: ridge_weights(as_(BATCH), as_(SHARES), 0.3, as_(REGS)),
    "weights of moments": lambda as_: ridge_weights_of_moments(
        Moments.of(as_(NU), as_(DE)).K(0.3), Moments.of(as_(NU), as_(DE)).k, 0.1
    ),
    "path": lambda as_: RidgePath.of(Moments.of(as_(NU), as_(DE)).K(0.3), as_(REGS)).solve(as_(NU).mean(0)),
    "leave-one-out": lambda as_: LeaveOneOut(Moments.of(as_(NU), as_(DE)), 0.3, as_(REGS), "ratio").ratios(
        as_(NU[:7]), as_(DE)
    ),
    "leave-one-out, weights": lambda as_: LeaveOneOut(Moments.of(as_(NU), as_(DE)), 0.3, as_(REGS), "weights").ratios(
        as_(NU[:7]), as_(DE)
    ),
    "squared error": lambda as_: RelativeSquaredError(0.3)(as_(RATIO), as_(SHARES)),
    "unnormalised KL": lambda as_: UnnormalisedKL(0.3)(as_(RATIO), as_(SHARES)),
    "numerator's mean": lambda as_: numerator_mean(as_(RATIO), as_(SHARES)),
    "Pearson": lambda as_: relative_pearson_divergence(as_(RATIO), as_(SHARES), 0.3),
    "KL": lambda as_: kullback_leibler_divergence(as_(RATIO)),
    "MMD": lambda as_: mmd2(as_(BATCH), as_(SHARES), as_(torch.tensor([0.5, 2.0]))),
    "relative ratio": lambda as_: relative_ratio(as_(RATIO), as_(ROWS[:, 1]), 0.3),
    "Gaussians": lambda as_: gaussian_relative_ratio(as_(ROWS), 0.0, 1.0, as_(ROWS[0]), 2.0, 0.3),
}


@pytest.mark.parametrize("case", CASES)
def test_an_array_gives_what_a_tensor_gives(case):
    of_arrays, of_tensors = CASES[case](lambda tensor: tensor.numpy()), CASES[case](lambda tensor: tensor)
    assert isinstance(of_arrays, np.ndarray | np.floating)
    assert isinstance(of_tensors, torch.Tensor)
    # The distance of a row to itself is 0 up to the rounding of a product, which is another one in either library.
    np.testing.assert_allclose(of_arrays, of_tensors.numpy(), rtol=1e-10, atol=1e-14)


def test_a_factorisation_that_fails_is_no_solution():
    indefinite, diverged = np.array([[1.0, 2.0], [2.0, 1.0]]), torch.full((2, 2), torch.nan, dtype=torch.float64)
    for K in (indefinite, diverged):
        assert np.isnan(np.asarray(ridge_weights_of_moments(K, K[0] * 0 + 1, 0.1))).all()


def test_distances_keep_their_digits_beside_a_far_row():
    rows = np.random.default_rng(0).normal(size=(6, 3))
    far = np.concatenate([rows, [[1e8, 0.0, 0.0]]])
    np.testing.assert_allclose(squared_distances(far, far, 1.0)[:6, :6], squared_distances(rows, rows, 1.0), rtol=1e-6)
