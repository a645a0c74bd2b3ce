"""Objectives and divergence: the right means, and the true ratio as their minimiser."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.objectives import (
    CalibratedSquaredError,
    EpisodeObjective,
    RelativeSquaredError,
    UnnormalisedKL,
)
from fewratio.estimators.networks.pair import Episode, Pair
from tests.strategies import alphas, normal, pairs, quick, seeds, with_padding


def squared_error(nu, de, alpha):
    return alpha / 2 * np.mean(nu**2) + (1 - alpha) / 2 * np.mean(de**2) - np.mean(nu)


def kullback_leibler(nu, de, alpha):
    return alpha * np.mean(nu) + (1 - alpha) * np.mean(de) - np.mean(np.log(nu))


@pytest.mark.parametrize(
    ("objective", "by_hand"), [(RelativeSquaredError, squared_error), (UnnormalisedKL, kullback_leibler)]
)
@quick
@given(pair=pairs(n_features=1), alpha=alphas, seed=seeds)
def test_each_mean_is_over_its_own_sample(objective, by_hand, pair, alpha, seed):
    ratio = pair.rows.squeeze(-1).exp()
    expected = by_hand(ratio[: pair.n_nu].numpy(), ratio[pair.n_nu :].numpy(), alpha)
    # A handful of sums of numbers of order one.
    for same in (pair, with_padding(pair, seed)):
        loss = objective(alpha)(same.rows.squeeze(-1).exp(), same.shares)
        np.testing.assert_allclose(loss, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("objective", [RelativeSquaredError, UnnormalisedKL])
def test_one_value_a_task(objective):
    ratio = normal(0, 4, 2, 7).exp()
    shares = Pair(ratio[0, 0, :3, None], ratio[0, 0, 3:, None]).shares
    losses = objective()(ratio, shares)
    assert losses.shape == (4, 2)
    torch.testing.assert_close(losses[3, 1], objective()(ratio[3, 1], shares))


@quick
@given(pair=pairs(), alpha=alphas)
def test_a_ratio_of_one_gives_minus_half_and_no_divergence(pair, alpha):
    ones = torch.ones(len(pair.rows), dtype=torch.float64)
    assert RelativeSquaredError(alpha)(ones, pair.shares).item() == pytest.approx(-0.5, abs=1e-14)
    assert relative_pearson_divergence(ones, pair.shares, alpha).item() == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_divergence_of_separated_samples_is_the_documented_limit(alpha):
    shares = torch.tensor([[0.5, 0.5, 0], [0, 0, 1]], dtype=torch.float64)
    ratio = torch.tensor([1 / alpha, 1 / alpha, 0], dtype=torch.float64)
    limit = (1 - alpha) / (2 * alpha)
    assert relative_pearson_divergence(ratio, shares, alpha).item() == pytest.approx(limit, rel=1e-12)


def test_divergence_with_uneven_samples():
    # By hand: mean_nu r = 2, mean_nu r^2 = 5, mean_de r^2 = 4; dividing both by n_nu would give another number.
    shares = torch.tensor([[0.5, 0.5, 0, 0, 0], [0, 0, 1 / 3, 1 / 3, 1 / 3]], dtype=torch.float64)
    ratio = torch.tensor([1.0, 3.0, 2.0, 2.0, 2.0], dtype=torch.float64)
    assert relative_pearson_divergence(ratio, shares, 0.25).item() == pytest.approx(2 - 5 / 8 - 3 / 2 - 1 / 2)


# ---------------------------------------------------------------- the true ratio


@st.composite
def known_truths(draw):
    """Two laws on a few points. With their probabilities as shares, the objectives are exact expectations."""
    n, alpha = draw(st.integers(1, 8)), draw(alphas)
    laws = normal(draw(seeds), 2, n).softmax(-1)
    mixture = alpha * laws[0] + (1 - alpha) * laws[1]
    other = normal(draw(seeds), n).exp()
    return alpha, laws, mixture, laws[0] / mixture, other


@quick
@given(known_truths())
def test_squared_error_exceeds_its_minimum_by_half_the_mean_squared_error(case):
    alpha, laws, mixture, truth, other = case
    objective = RelativeSquaredError(alpha)
    excess = objective(other, laws) - objective(truth, laws)
    distance = 0.5 * (mixture * (other - truth).square()).sum()
    torch.testing.assert_close(excess, distance, rtol=1e-10, atol=1e-12)


@quick
@given(known_truths())
def test_kullback_leibler_exceeds_its_minimum_by_a_divergence(case):
    alpha, laws, mixture, truth, other = case
    objective = UnnormalisedKL(alpha)
    excess = objective(other, laws) - objective(truth, laws)
    distance = (mixture * (truth * (truth / other).log() - truth + other)).sum()
    assert distance >= -1e-14
    torch.testing.assert_close(excess, distance, rtol=1e-10, atol=1e-12)


def test_kullback_leibler_of_a_ratio_clipped_to_zero_is_finite():
    shares = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    loss = UnnormalisedKL(floor=1e-3)(torch.tensor([0.0, 1.0]), shares)
    assert loss.item() == pytest.approx(0.5 - np.log(1e-3))


# ---------------------------------------------------------------- losses of the whole episode


def test_which_objectives_need_the_episode():
    for objective, needs in (
        (CalibratedSquaredError(), True),
        (RelativeSquaredError(), False),
    ):
        assert isinstance(objective, EpisodeObjective) == needs


@quick
@given(support=pairs(n_features=1), seed=seeds, alpha=alphas, weight=st.floats(0, 5))
def test_calibrated_error_is_eq8_and_the_squared_difference_of_divergences(support, seed, alpha, weight):
    n = len(support.rows)
    new_nu, new_de = normal(seed, 3, 1), normal(seed + 1, 2, 1)
    # The support's own rows are in the query, in an order of their own and without a share.
    order = torch.from_numpy(np.random.default_rng(seed).permutation(n))
    rows = torch.cat([support.rows[order], new_nu, new_de])
    shares = torch.cat([torch.zeros(2, n).double(), Pair(new_nu, new_de).shares], dim=-1)
    own = torch.cat([order, torch.full((5,), -1)])
    episode = Episode(support, Pair.from_joined(rows, shares, n + 3), support_index=own)
    ratio = rows.squeeze(-1).exp().requires_grad_()
    loss = CalibratedSquaredError(alpha, weight).on(ratio, episode)
    on_query = squared_error(new_nu.exp().numpy(), new_de.exp().numpy(), alpha)
    on_support = squared_error(support.nu.exp().numpy(), support.de.exp().numpy(), alpha)
    assert loss.item() == pytest.approx(on_query + weight * (on_support - on_query) ** 2, rel=1e-9, abs=1e-9)
    # The query is what the support is to agree with, not the other way round.
    (slope,) = torch.autograd.grad(loss, ratio)
    plain = torch.autograd.grad(RelativeSquaredError(alpha)(ratio, shares), ratio)[0]
    torch.testing.assert_close(slope[n:], plain[n:])
    # A weight near the smallest number times a small difference is zero.
    assert weight < 1e-100 or on_support == on_query or slope[:n].any()


def test_calibrated_error_without_own_rows_and_in_validation_is_eq8():
    pair = Pair(normal(0, 3, 1), normal(1, 4, 1))
    ratio = pair.rows.squeeze(-1).exp()
    expected = RelativeSquaredError(0.3)(ratio, pair.shares)
    assert torch.equal(CalibratedSquaredError(0.3, 2.0)(ratio, pair.shares), expected)
    assert torch.equal(CalibratedSquaredError(0.3, 2.0).on(ratio, Episode(pair, pair)), expected)
