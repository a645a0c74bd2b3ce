"""Intervals: nested, around the estimate, within the range that the truth has."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.true_ratio import gaussian_relative_ratio, true_ratio
from fewratio.estimators.networks.nn.intervals import LEVELS, Intervals, _bounds, _describe_pair, largest_divergence
from tests.strategies import LATENT, N_OUTPUTS, make_model, normal, pairs, quick, seeds, with_padding


def make_intervals(seed=0):
    return Intervals(N_OUTPUTS, LATENT + 1, 8, torch.Generator().manual_seed(seed)).double()


def adapted(support, alpha):
    return make_model("told alpha").adapt(support, torch.tensor(alpha, dtype=torch.float64))


@quick
@given(support=pairs(), seed=seeds, alpha=st.floats(0.1, 0.9))
def test_bounds_are_nested_possible_and_around_the_estimate(support, seed, alpha):
    intervals, ratio = make_intervals(seed), adapted(support, alpha)
    x = 3 * normal(seed, 3, 2)
    divergence = relative_pearson_divergence(ratio.at_support(), support.shares, alpha)
    for bounds, estimate, most in (
        (intervals.of_ratio(ratio, x), ratio(x), 1 / ratio.alpha),
        (intervals.of_divergence(ratio), divergence.clamp_min(0), largest_divergence(ratio.alpha)),
    ):
        assert bounds.shape[-2:] == (len(LEVELS), 2)
        low, high = bounds.unbind(-1)
        assert (low.diff(dim=-1) <= 0).all()
        assert (high.diff(dim=-1) >= 0).all()
        assert (low <= estimate.unsqueeze(-1)).all()
        assert (high >= estimate.unsqueeze(-1)).all()
        assert (low >= 0).all()
        assert (high <= most).all()


@pytest.mark.slow
@quick
@given(support=pairs(), seed=seeds, alpha=st.floats(0.1, 0.9))
def test_tasks_of_a_padded_batch_are_what_they_are_alone(support, seed, alpha):
    intervals, x = make_intervals(seed), normal(seed, 3, 2)
    alone, padded = (adapted(pair, alpha) for pair in (support, with_padding(support, seed)))
    torch.testing.assert_close(intervals.of_ratio(padded, x), intervals.of_ratio(alone, x))
    torch.testing.assert_close(intervals.of_divergence(padded), intervals.of_divergence(alone))


@quick
@given(support=pairs(), alpha=st.floats(0.1, 0.9))
def test_sizes_and_mean_ratios_of_the_samples_are_told(support, alpha):
    ratio = adapted(support, alpha)
    nu, de = (alpha * ratio.at_support().detach()).split([len(support.nu), len(support.de)])
    expected = [np.log(len(nu)), np.log(len(de)), nu.mean(), (nu**2).mean(), de.mean(), (de**2).mean()]
    np.testing.assert_allclose(_describe_pair(ratio).detach()[-6:], [float(value) for value in expected])


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_the_true_relative_ratio_is_that_of_the_densities(alpha):
    x = np.linspace(-4, 4, 9)
    log_ratio = torch.from_numpy(-0.5 * x**2 + 0.5 * ((x - 1) / 2) ** 2 + np.log(2))
    expected = gaussian_relative_ratio(
        torch.from_numpy(x)[:, None], torch.zeros(1), torch.ones(1), torch.ones(1), torch.full((1,), 2.0), alpha
    )
    torch.testing.assert_close(true_ratio(log_ratio, torch.tensor(alpha, dtype=torch.float64)), expected.double())


def test_bounds_near_the_end_of_the_range_are_the_end():
    alpha = torch.tensor(0.5, dtype=torch.float64)
    most = largest_divergence(alpha)
    shares = torch.tensor([0.004, 0.02, 0.3, 0.4, 0.6, 0.7, 0.98, 0.996], dtype=torch.float64)
    bounds = _bounds(shares * most, most.unsqueeze(-1) / 2, most.unsqueeze(-1))
    expected = torch.tensor([[0.4, 0.6], [0.3, 0.7], [0.02, 0.98], [0.0, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(bounds, expected * most)
