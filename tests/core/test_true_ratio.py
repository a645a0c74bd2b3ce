"""True ratios against scipy's densities."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fewratio.core.true_ratio import gaussian_relative_ratio, relative_ratio
from tests.strategies import alphas, normal, quick, seeds, sizes

# Mild enough, with three columns, that scipy's densities do not underflow.
means, stds = st.floats(-2, 2), st.floats(0.5, 3)


@quick
@given(n=sizes, d=st.integers(1, 3), seed=seeds, nu=st.tuples(means, stds), de=st.tuples(means, stds), alpha=alphas)
def test_ratio_equals_that_of_scipys_densities(n, d, seed, nu, de, alpha):
    x = normal(seed, n, d)
    p_nu, p_de = (stats.norm(*law).pdf(x).prod(-1) for law in (nu, de))
    ratio = gaussian_relative_ratio(x, *nu, *de, alpha)
    # Log densities reach a few hundred here, and exp makes their rounding a relative error.
    np.testing.assert_allclose(ratio, p_nu / (alpha * p_nu + (1 - alpha) * p_de), rtol=1e-12)


def test_columns_and_tasks_with_laws_of_their_own():
    x = normal(0, 2, 5, 3)
    nu_mean, de_mean = normal(1, 2, 1, 3), normal(2, 3)
    nu_std, de_std = normal(3, 2, 1, 3).exp(), normal(4, 3).exp()
    p_nu = stats.norm(nu_mean, nu_std).pdf(x).prod(-1)
    p_de = stats.norm(de_mean, de_std).pdf(x).prod(-1)
    ratio = gaussian_relative_ratio(x, nu_mean, nu_std, de_mean, de_std, 0.3)
    np.testing.assert_allclose(ratio, p_nu / (0.3 * p_nu + 0.7 * p_de), rtol=1e-12)


def test_bounded_by_one_over_alpha_and_sound_where_densities_underflow():
    x = torch.tensor([[-1e4], [0.0], [1e4]])
    ratio = gaussian_relative_ratio(x, 1.0, 1.0, -1.0, 1.0, 0.25)
    torch.testing.assert_close(ratio, torch.tensor([0.0, 1.0, 4.0]))


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_equal_laws_have_ratio_one(alpha):
    log_density = normal(0, 20)
    torch.testing.assert_close(relative_ratio(log_density, log_density, alpha), torch.ones(20, dtype=torch.float64))


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_mean_ratio_over_the_mixture_is_one(alpha):
    rng, n = np.random.default_rng(0), 40_000
    from_nu = rng.random(n) < alpha
    sample = np.where(from_nu, rng.normal(0.5, 0.7, n), rng.normal(-0.5, 1.2, n))
    ratio = gaussian_relative_ratio(torch.from_numpy(sample[:, None]), 0.5, 0.7, -0.5, 1.2, alpha)
    standard_error = ratio.std().item() / n**0.5
    assert ratio.mean().item() == pytest.approx(1, abs=4 * standard_error)
    assert standard_error < 0.01
