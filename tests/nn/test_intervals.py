"""Intervals: nested, within the range that the truth has, and trained on the quantile loss of the truth."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fewratio.core.exact import gaussian_relative_ratio, true_ratio
from fewratio.core.pair import Episode, Pair
from fewratio.nn.intervals import LEVELS, IntervalLoss, Intervals, _bounds, largest_divergence
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
        (intervals.of_support(ratio), 1 / alpha),
        (intervals.of_divergence(ratio, estimate), (1 - alpha) / (2 * alpha)),
    ):
        assert bounds.shape[-2:] == (len(LEVELS), 2)
        low, high = bounds.unbind(-1)
        assert (low.diff(dim=-1) <= 0).all()
        assert (high.diff(dim=-1) >= 0).all()
        assert (low <= high).all()
        assert (low >= 0).all()
        assert (high <= most).all()


def test_rows_of_the_support_are_judged_without_themselves():
    support = Pair(normal(0, 4, 2), normal(1, 3, 2))
    ratio, intervals = make_model("told alpha").adapt(support), make_intervals()
    as_new, own = intervals.of_ratio(ratio, support.rows), intervals.of_support(ratio)
    assert as_new.shape == own.shape
    assert ((as_new - own).abs().flatten(1).amax(1) > 1e-6).all()


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_the_true_relative_ratio_is_that_of_the_densities(alpha):
    x = np.linspace(-4, 4, 9)
    log_ratio = torch.from_numpy(-0.5 * x**2 + 0.5 * ((x - 1) / 2) ** 2 + np.log(2))
    expected = gaussian_relative_ratio(
        torch.from_numpy(x)[:, None], torch.zeros(1), torch.ones(1), torch.ones(1), torch.full((1,), 2.0), alpha
    )
    torch.testing.assert_close(true_ratio(log_ratio, torch.tensor(alpha, dtype=torch.float64)), expected.double())


def test_the_loss_is_the_mean_quantile_loss_of_ratio_and_divergence(monkeypatch):
    # Bounds as the quantiles are, the ends of the range not rounded to.
    monkeypatch.setattr("fewratio.nn.intervals._NEAR", 0.0)
    model, intervals = make_model("told alpha"), make_intervals()
    alpha = torch.tensor([0.3, 0.6], dtype=torch.float64)
    truth = normal(5, 2, 7)
    rows = torch.cat([normal(0, 2, 7, 2), truth.unsqueeze(-1)], dim=-1)
    support = Pair(rows[:, :2], rows[:, 2:4])
    query = Pair(rows[:, 4:6], rows[:, 6:])
    losses = IntervalLoss(model, intervals).double()(Episode(support, query, alpha))
    levels = sorted([(1 - level) / 2 for level in LEVELS] + [(1 + level) / 2 for level in LEVELS])

    def pinball(bounds, value):
        quantiles = [*bounds[:, 0].flip(0), *bounds[:, 1]]
        return np.mean([max(q * (value - b), (q - 1) * (value - b)) for q, b in zip(levels, quantiles, strict=True)])

    for task, a in enumerate(alpha.tolist()):
        ratio = model.adapt(Pair(support.nu[task, :, :2], support.de[task, :, :2]), alpha[task])
        own = ratio.of_support().detach()

        def divergence(nu, de, a=a):
            return (nu.mean() - a / 2 * (nu**2).mean() - (1 - a) / 2 * (de**2).mean() - 0.5).item()

        true = 1 / (a + (1 - a) * torch.exp(-truth[task, 4:]))
        bounds = intervals.of_divergence(ratio, torch.tensor(divergence(own[:2], own[2:]))).detach().double()
        of_pair = pinball(bounds, divergence(true[:2], true[2:]))
        for row in range(3):
            of_row = pinball(
                intervals.of_ratio(ratio, rows[task, 4 + row, :2].unsqueeze(0))[0].detach(), true[row].item()
            )
            assert losses[task, row].item() == pytest.approx(2 * a * (of_row + of_pair), rel=1e-5)


def test_only_the_intervals_learn():
    loss = IntervalLoss(make_model("told alpha"), make_intervals()).double()
    rows = normal(0, 1, 6, 3)
    loss(
        Episode(Pair(rows[:, :2], rows[:, 2:3]), Pair(rows[:, 3:4], rows[:, 4:]), torch.full((1,), 0.5).double())
    ).sum().backward()
    assert all(parameter.grad is None for parameter in loss.model.parameters())
    assert all(parameter.grad.any() for parameter in loss.intervals.parameters())


def test_bounds_near_the_end_of_the_range_are_the_end():
    alpha = torch.tensor(0.5, dtype=torch.float64)
    most = largest_divergence(alpha)
    shares = torch.tensor([0.004, 0.02, 0.3, 0.4, 0.6, 0.7, 0.98, 0.996], dtype=torch.float64)
    bounds = _bounds(shares * most, most.unsqueeze(-1))
    expected = torch.tensor([[0.4, 0.6], [0.3, 0.7], [0.02, 0.98], [0.0, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(bounds, expected * most)
