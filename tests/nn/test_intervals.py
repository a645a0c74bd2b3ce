"""Intervals: nested, within the range that the truth has."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fewratio.core.exact import gaussian_relative_ratio, true_ratio
from fewratio.nn.intervals import LEVELS, Intervals, _bounds, largest_divergence
from tests.strategies import LATENT, N_OUTPUTS, make_model, normal, pairs, quick, seeds


def make_intervals(seed=0):
    return Intervals(N_OUTPUTS, LATENT + 1, 8, torch.Generator().manual_seed(seed)).double()


@quick
@given(support=pairs(), seed=seeds, alpha=st.floats(0.1, 0.9))
def test_bounds_are_nested_and_possible(support, seed, alpha):
    intervals, alpha = make_intervals(seed), torch.tensor(alpha, dtype=torch.float64)
    ratio = make_model("told alpha").adapt(support, alpha)
    estimate = normal(seed, 1).squeeze()
    for bounds, most in (
        (intervals.of_ratio(ratio, normal(seed, 3, 2)), 1 / alpha),
        (intervals.of_divergence(ratio, estimate), (1 - alpha) / (2 * alpha)),
    ):
        assert bounds.shape[-2:] == (len(LEVELS), 2)
        low, high = bounds.unbind(-1)
        assert (low.diff(dim=-1) <= 0).all()
        assert (high.diff(dim=-1) >= 0).all()
        assert (low <= high).all()
        assert (low >= 0).all()
        assert (high <= most).all()


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
    bounds = _bounds(shares * most, most.unsqueeze(-1))
    expected = torch.tensor([[0.4, 0.6], [0.3, 0.7], [0.02, 0.98], [0.0, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(bounds, expected * most)
