"""Training of the universal network: it runs, the seed decides it, and what is held out stays out."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.objectives import EpisodeObjective, RelativeSquaredError
from fewratio.core.true_ratio import true_ratio
from fewratio.estimators.networks.nn.intervals import LEVELS, Intervals
from fewratio.estimators.networks.pair import Episode, Pair, equal_shares
from fewratio_bench import universal_training
from fewratio_bench.universal_training import (
    HELD_OUT_RELATION,
    HELD_OUT_SHAPE,
    TRAINED_RELATIONS,
    TRAINED_SHAPES,
    Bank,
    InformedSquaredError,
    IntervalLoss,
    Stage,
    mean_loss,
    train_intervals,
    train_universal,
    true_divergence,
)
from tests.strategies import LATENT, N_OUTPUTS, make_model, normal, pairs, quick

TINY = dict(
    stages=(Stage(4, 1e-3, largest=4, tasks=4, n_query=8), Stage(2, 1e-3, largest=8, skew=3.0, tasks=2, n_query=12)),
    bank=Bank(32, 32, 8),
    progress=False,
)
TINY_INTERVALS = TINY | {"stages": (Stage(3, 1e-2, largest=4, tasks=4, n_query=8),)}


@pytest.fixture(scope="module")
def trained():
    with pytest.MonkeyPatch.context() as patch:
        drawn = []
        draw = universal_training.draw_pairs
        patch.setattr(universal_training, "draw_pairs", lambda *a, **k: drawn.append(draw(*a, **k)) or drawn[-1])
        return *train_both(3), drawn


def train_both(seed):
    model, histories = train_universal(seed, **TINY)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    intervals, more = train_intervals(model, seed, **TINY_INTERVALS)
    after = model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before), "the network stays as it is"
    return model, intervals, histories + more


def state(model, intervals):
    return {**model.state_dict(), **{f"intervals.{name}": t for name, t in intervals.state_dict().items()}}


@pytest.mark.slow
def test_every_stage_trains_and_gives_finite_weights(trained):
    model, intervals, histories, _ = trained
    assert [history.step for history in histories] == [[4], [2], [3]]
    start = universal_training.universal_model(torch.Generator().manual_seed(3)).state_dict()
    learned = model.state_dict()
    assert all(tensor.isfinite().all() for tensor in state(model, intervals).values())
    assert all(not torch.equal(start[name], learned[name]) for name in start)
    start = universal_training.make_intervals(torch.Generator().manual_seed(3)).state_dict()
    assert any(not torch.equal(start[name], tensor) for name, tensor in intervals.state_dict().items())


@pytest.mark.slow
def test_the_seed_decides(trained):
    again, other = (state(*train_both(seed)[:2]) for seed in (3, 4))
    mine = state(*trained[:2])
    assert all(torch.equal(mine[name], again[name]) for name in mine)
    assert not any(torch.equal(mine[name], other[name]) for name in mine)


def test_kinds_that_are_held_out_are_in_no_bank(trained):
    *_, drawn = trained
    assert [len(bank) for bank in drawn] == [32] * 4
    for one, other in combinations(drawn, 2):
        assert not torch.equal(one.rows, other.rows), "what is validated on is not what was trained on"
    for bank in drawn:
        assert HELD_OUT_SHAPE not in bank.shapes
        assert HELD_OUT_RELATION not in bank.relations
    assert HELD_OUT_SHAPE not in TRAINED_SHAPES
    assert HELD_OUT_RELATION not in TRAINED_RELATIONS


# ---------------------------------------------------------------- losses


@quick
@given(pair=pairs(n_features=1), alpha=st.floats(0.1, 0.9))
def test_what_is_not_known_is_not_used(pair, alpha):
    ratio = pair.rows.squeeze(-1).exp()
    unknown = Pair.from_joined(
        torch.cat([pair.rows, torch.full_like(pair.rows, torch.nan)], -1), pair.shares, pair.n_nu
    )
    episode = Episode(unknown, unknown, torch.tensor(alpha, dtype=torch.float64))
    expected = 2 * alpha * RelativeSquaredError(alpha)(ratio, pair.shares)
    torch.testing.assert_close(InformedSquaredError().on(ratio, episode), expected)
    assert isinstance(InformedSquaredError(), EpisodeObjective)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_knowing_the_true_ratio_changes_no_mean_and_asks_for_nothing_else(alpha):
    generator = torch.Generator().manual_seed(0)
    n_tasks, n = 4000, 20
    nu = torch.randn(n_tasks, n, 1, generator=generator, dtype=torch.float64)
    de = torch.randn(n_tasks, n, 1, generator=generator, dtype=torch.float64) + 1
    pair = Pair(*(torch.cat([x, 0.5 - x], -1) for x in (nu, de)))  # log N(x; 0, 1) / N(x; 1, 1) = 1/2 - x
    ratio = torch.sigmoid(-pair.rows[..., 0])
    told = Episode(pair, pair, torch.full((n_tasks,), alpha, dtype=torch.float64))
    informed = InformedSquaredError().on(ratio, told)
    plain = 2 * alpha * RelativeSquaredError(alpha)(ratio, pair.shares)
    error = (informed - plain).std() / n_tasks**0.5
    assert abs(informed.mean() - plain.mean()) < 4 * error
    truth = true_ratio(pair.rows[..., 1], told.alpha).requires_grad_()
    (slope,) = torch.autograd.grad(InformedSquaredError().on(truth, told).sum(), truth)
    assert slope.abs().max() < 1e-15


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_the_true_divergence_is_that_of_other_forms_in_the_mean(alpha):
    generator = torch.Generator().manual_seed(0)
    nu, de = (torch.randn(4000, 50, generator=generator, dtype=torch.float64) + shift for shift in (0, 1))
    truth = true_ratio(0.5 - torch.cat([nu, de], -1), torch.full((4000,), alpha, dtype=torch.float64))
    shares = equal_shares(50, 50, truth)
    found = true_divergence(truth, shares, torch.full((4000,), alpha, dtype=torch.float64))
    other = relative_pearson_divergence(truth, shares, alpha)
    assert abs(found.mean() - other.mean()) < 4 * (found - other).std() / 4000**0.5
    assert found.min() >= 0
    assert true_divergence(torch.ones(4), equal_shares(2, 2, torch.ones(4)), torch.tensor(alpha)) == 0


def make_intervals(seed=0):
    return Intervals(N_OUTPUTS, LATENT + 1, 8, torch.Generator().manual_seed(seed)).double()


def test_the_loss_is_the_mean_quantile_loss_of_ratio_and_divergence():
    model, intervals = make_model("told alpha"), make_intervals()
    alpha = torch.tensor([0.3, 0.6], dtype=torch.float64)
    truth = normal(5, 2, 9)
    rows = torch.cat([normal(0, 2, 9, 2), truth.unsqueeze(-1)], dim=-1)
    support, query = Pair(rows[:, :2], rows[:, 2:4]), Pair(rows[:, 4:7], rows[:, 7:])
    losses = IntervalLoss(model, intervals, 1).double()(Episode(support, query, alpha))
    assert losses.shape == (2, 2)
    levels = sorted([(1 - level) / 2 for level in LEVELS] + [(1 + level) / 2 for level in LEVELS])

    def pinball(quantiles, value):
        return np.mean([max(q * (value - b), (q - 1) * (value - b)) for q, b in zip(levels, quantiles, strict=True)])

    for task, a in enumerate(alpha.tolist()):
        ratio = model.adapt(Pair(support.nu[task, :, :2], support.de[task, :, :2]), alpha[task])
        true = 1 / (a + (1 - a) * torch.exp(-truth[task, 4:]))
        squares = (true - 1) ** 2
        divergence = a / 2 * squares[:3].mean() + (1 - a) / 2 * squares[3:].mean()
        of_pair = pinball(intervals.divergence_quantiles(ratio).tolist(), divergence.item())
        # The last row of either sample.
        for column, row in enumerate((2, 4)):
            phi = model.features(rows[task, 4 + row, :2].unsqueeze(0), ratio.support, ratio.z)
            (quantiles,) = intervals.ratio_quantiles(ratio, phi).tolist()
            of_row = pinball(quantiles, true[row].item())
            assert losses[task, column].item() == pytest.approx(2 * a * (of_row + of_pair), rel=1e-5)
    torch.testing.assert_close(mean_loss(losses, query.shares), losses.mean(-1))


def test_only_the_intervals_learn():
    loss = IntervalLoss(make_model("told alpha"), make_intervals(), 1).double()
    rows = normal(0, 1, 6, 3)
    loss(
        Episode(Pair(rows[:, :2], rows[:, 2:3]), Pair(rows[:, 3:4], rows[:, 4:]), torch.full((1,), 0.5).double())
    ).sum().backward()
    assert all(parameter.grad is None for parameter in loss.model.parameters())
    assert all(parameter.grad.any() for parameter in loss.intervals.parameters())
