"""Ensembles: many trainings as one program, each as if it were alone."""

from itertools import chain

import pytest
import torch
from torch import nn

from fewratio.core.objectives import RelativeSquaredError
from fewratio.estimators.networks.nn import MLPFeatures, NoEncoder, RatioModel, RidgeHead, Standardiser
from fewratio.estimators.networks.optim import Ensemble, TrainingPlan, train
from fewratio.estimators.networks.pair import Episode, Pair
from tests.strategies import MODELS, make_model, normal, training_parts, weights_of

PLAN = TrainingPlan(max_steps=6, validate_every=3, learning_rate=1e-2)


def train_members(members=(0,), plan=PLAN, **options):
    parts = training_parts(members, **options)
    histories = train(Ensemble(parts.models), parts.draw, parts.validation, RelativeSquaredError(), plan)
    return weights_of(parts.models), histories


def select(pair, member):
    shares = pair.shares if pair.shares.dim() == 2 else pair.shares[member]
    return Pair.from_joined(pair.rows[member], shares, pair.n_nu)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_members_answer_as_the_models_do(name, masked):
    lead = (3, 2)
    models = [make_model(name, seed=seed) for seed in range(3)]
    for seed, model in enumerate(models):
        model.scaler = nn.Sequential(Standardiser(normal(seed, 2), normal(seed + 9, 2).exp()), model.scaler)
    mask = torch.rand(*lead, 4, generator=torch.Generator().manual_seed(0)) < 0.6
    mask[..., 0] = True
    support, query = (
        Pair(normal(seed, *lead, 4, 2), normal(seed + 1, *lead, 3, 2), mask if masked else None) for seed in (0, 2)
    )
    ratio = Ensemble(models)(Episode(support, query))
    assert ratio.shape == (3, 2, 7)
    for member, model in enumerate(models):
        alone = model(Episode(select(support, member), select(query, member)))
        torch.testing.assert_close(ratio[member], alone, rtol=1e-9, atol=1e-10)


def test_members_are_told_the_alphas_of_their_tasks():
    models = [make_model("told alpha", seed=seed) for seed in range(2)]
    pair = Pair(normal(0, 2, 3, 4, 2), normal(1, 2, 3, 3, 2))
    alpha = torch.tensor([[0.2, 0.5, 0.8], [0.3, 0.4, 0.9]], dtype=torch.float64)
    ratio = Ensemble(models)(Episode(pair, pair, alpha))
    for member, model in enumerate(models):
        mine = select(pair, member)
        torch.testing.assert_close(ratio[member], model(Episode(mine, mine, alpha[member])), rtol=1e-9, atol=1e-10)
        assert not torch.allclose(ratio[member], model(Episode(mine, mine)))


# The batched products of an ensemble add in another order, and Adam divides by the gradient's own size: a weight whose
# gradient is nothing but rounding may go the other way, at most 2 * learning rate a step. In float64 rounding (1e-16)
# disappears beside Adam's epsilon (1e-8); in float32 (1e-7) it does not, hence a tenth of a step.
# Roots of small distances are steep, which multiplies rounding in a learned space, hence 1e-8 and not 1e-9.
TOLERANCES = {torch.float64: 1e-8, torch.float32: 0.1 * PLAN.learning_rate}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, torch.float64) for name in MODELS), ("mean", torch.float32), ("gaussian", torch.float32)],
)
def test_a_member_is_the_same_training_alone(name, dtype):
    together, histories = train_members([0, 1], name=name, dtype=dtype)
    for member in range(2):
        (alone,), (history,) = train_members([member], name=name, dtype=dtype)
        torch.testing.assert_close(together[member], alone, rtol=0, atol=TOLERANCES[dtype])
        assert histories[member].step == history.step == [3, 6]
        assert histories[member].best_step == history.best_step
        for field in ("train", "validation", "standard_error"):
            ours, expected = getattr(histories[member], field), getattr(history, field)
            # Sums of training losses are kept in float32.
            assert ours == pytest.approx(expected, rel=1e-3 if dtype == torch.float32 else 1e-6)


def test_training_moves_every_member():
    before = weights_of(training_parts([0, 1]).models)
    after, _ = train_members([0, 1])
    for start, end in zip(before, after, strict=True):
        assert all(not torch.equal(start[name], end[name]) for name in start)


def test_other_data_for_one_member_changes_that_member_only():
    same, _ = train_members([0, 1, 2])
    other, _ = train_members([0, 1, 2], data=[0, 7, 2])
    for member, unchanged in enumerate([True, False, True]):
        assert all(torch.equal(same[member][name], other[member][name]) for name in same[member]) == unchanged


def test_what_is_not_learned_stays():
    def make(seed):
        features = MLPFeatures(1, generator=torch.Generator().manual_seed(seed), width=8, n_outputs=6)
        return RatioModel(NoEncoder(), features, RidgeHead(reg=0.1 * (seed + 1), learn_reg=False)).double()

    parts = training_parts([0, 1])
    models = [make(seed) for seed in range(2)]
    before = weights_of(models)
    train(Ensemble(models), parts.draw, parts.validation, RelativeSquaredError(), PLAN)
    for start, end in zip(before, weights_of(models), strict=True):
        assert {name for name in start if torch.equal(start[name], end[name])} == {"head.log_reg"}


# ---------------------------------------------------------------- keeping the best


@pytest.mark.parametrize("n_members", [1, 3])
def test_kept_weights_are_copies_and_only_of_those_that_improved(n_members):
    models = [make_model(seed=seed) for seed in range(n_members)]
    start = weights_of(models)
    ensemble = Ensemble(models)

    def shift(by):
        with torch.no_grad():
            for parameter in chain(*ensemble.parameters):
                parameter += by

    shift(1)
    improved = [member % 2 == 0 for member in range(n_members)]
    ensemble.keep(improved)
    shift(1)
    ensemble.keep([False] * n_members)
    ensemble.restore_best()
    for member, (first, now) in enumerate(zip(start, weights_of(models), strict=True)):
        for name in first:
            assert torch.equal(now[name], first[name] + improved[member])


@pytest.mark.parametrize("n_members", [1, 3])
def test_state_is_taken_up_by_another_ensemble(n_members):
    first, second = (Ensemble([make_model(seed=seed + d) for seed in range(n_members)]) for d in (0, 10))
    first.keep([True] * n_members)
    with torch.no_grad():
        for parameter in chain(*first.parameters):
            parameter += 1
    second.load_state({name: tensor.clone() for name, tensor in first.state().items()})
    for name, tensor in first.state().items():
        assert torch.equal(second.state()[name], tensor)
        if name.startswith("now/"):
            assert torch.equal(tensor, first.state()[name.replace("now", "best")] + 1)
