"""The whole model, for every choice of parts: two roads to the same ratio, and what must not matter."""

import pytest
import torch
from hypothesis import given
from torch import nn

from fewratio.errors import ParameterError
from fewratio.estimators.networks.nn import (
    GaussianFeatures,
    MLPFeatures,
    NoEncoder,
    RatioModel,
    RidgeHead,
    Standardiser,
)
from fewratio.estimators.networks.pair import Episode, Pair
from tests.strategies import MODELS, few, make_model, normal, pairs, seeds, shuffled, with_padding

# float64 through some small layers and a solve with reg of 0.1 or 1.
CLOSE = dict(rtol=1e-8, atol=1e-9)

every_model = pytest.mark.parametrize("name", MODELS)


@every_model
@few
@given(support=pairs(), query=pairs())
def test_forward_is_adapt_then_evaluate(name, support, query):
    model = make_model(name)
    ratio = model(Episode(support, query))
    assert ratio.shape == (len(query.rows),)
    assert (ratio >= 0).all()
    assert ratio.isfinite().all()
    torch.testing.assert_close(ratio, model.adapt(support)(query.rows), **CLOSE)


@every_model
def test_batch_equals_loop_over_tasks(name):
    model, lead = make_model(name), (2, 3)
    support = Pair(normal(0, *lead, 4, 2), normal(1, *lead, 2, 2))
    x = normal(2, *lead, 5, 2)
    ratio = model.adapt(support)(x)
    assert ratio.shape == (*lead, 5)
    for i in range(2):
        for j in range(3):
            alone = model.adapt(Pair(support.nu[i, j], support.de[i, j]))
            torch.testing.assert_close(ratio[i, j], alone(x[i, j]), **CLOSE)


@every_model
@few
@given(support=pairs(), seed=seeds)
def test_order_and_padding_of_the_support_do_not_matter(name, support, seed):
    model, x = make_model(name), normal(seed, 5, 2)
    ratio = model.adapt(support)(x)
    torch.testing.assert_close(model.adapt(shuffled(support, seed))(x), ratio, **CLOSE)
    torch.testing.assert_close(model.adapt(with_padding(support, seed))(x), ratio, **CLOSE)


@every_model
def test_order_of_the_query_carries_over(name):
    adapted, x = make_model(name).adapt(Pair(normal(0, 4, 2), normal(1, 2, 2))), normal(2, 6, 2)
    order = torch.tensor([3, 1, 5, 0, 2, 4])
    torch.testing.assert_close(adapted(x[order]), adapted(x)[order], **CLOSE)


@every_model
def test_one_instance_a_side(name):
    ratio = make_model(name, dtype=torch.float32).adapt(Pair(torch.zeros(1, 2), torch.ones(1, 2)))
    values = ratio(torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]))
    assert values.dtype == torch.float32
    assert values.isfinite().all()
    assert (values >= 0).all()


@pytest.mark.parametrize(("alpha", "reg"), [(0.5, 1e-6), (0.5, 1.0), (0.1, 0.01)])
def test_a_support_of_distant_instances_in_closed_form(alpha, reg):
    # No kernel reaches another instance, so K is diagonal and each instance decides its own weight.
    model = RatioModel(NoEncoder(), GaussianFeatures(sigma=1.0), RidgeHead(alpha, reg)).double()
    nu, de = (100 * torch.arange(start, stop, dtype=torch.float64).unsqueeze(-1) for start, stop in ((0, 3), (3, 8)))
    ratio = model.adapt(Pair(nu, de))
    # reg went through a float32 logarithm.
    torch.testing.assert_close(
        ratio(nu), torch.full((3,), 1 / (alpha + 3 * reg), dtype=torch.float64), rtol=1e-6, atol=0
    )
    assert (ratio(de) == 0).all()


@pytest.mark.parametrize("name", [name for name in MODELS if name != "shared head"])
def test_the_ratio_follows_the_support(name):
    model, x = make_model(name), normal(2, 5, 2)
    nu, de = normal(0, 4, 2), normal(1, 2, 2)
    assert not torch.allclose(model.adapt(Pair(nu, de))(x), model.adapt(Pair(de, nu))(x))


def test_what_is_clipped():
    support, x = Pair(normal(0, 4, 2), normal(1, 5, 2)), normal(2, 50, 2)
    by_ratio, by_weights = (
        RatioModel(NoEncoder(), GaussianFeatures(), RidgeHead(reg=1e-4), clip).double().adapt(support)
        for clip in ("ratio", "weights")
    )
    assert (by_ratio.weights < 0).any()
    assert torch.equal(by_weights.weights, by_ratio.weights.relu())
    raw = by_ratio.model.features(x, support, None) @ by_ratio.weights
    assert (raw < 0).any()
    torch.testing.assert_close(by_ratio(x), raw.relu(), **CLOSE)
    assert (by_weights(x) >= 0).all()


def test_unknown_clip_is_named():
    with pytest.raises(ParameterError, match="clip is 'both'; ratio, weights, range, none are known"):
        RatioModel(NoEncoder(), MLPFeatures(2), RidgeHead(), clip="both")


@every_model
def test_scaler_is_applied_to_support_and_query_alike(name):
    plain, scaled = make_model(name), make_model(name)
    standardiser = Standardiser(torch.tensor([5.0, -2.0]), torch.tensor([2.0, 0.1])).double()
    # Where distances are measured in a space of the model's own, the columns are scaled on the way to it.
    scaled.scaler = nn.Sequential(standardiser, scaled.scaler)
    support, query = (Pair(normal(seed, 4, 2), normal(seed + 1, 3, 2)) for seed in (0, 2))
    raw_support, raw_query = (
        Pair(*(side * standardiser.scale + standardiser.mean for side in (pair.nu, pair.de)))
        for pair in (support, query)
    )
    expected = plain(Episode(support, query))
    torch.testing.assert_close(scaled(Episode(raw_support, raw_query)), expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(scaled.adapt(raw_support)(raw_query.rows), expected, rtol=1e-5, atol=1e-6)


@every_model
def test_the_generator_alone_decides_the_start(name):
    before = torch.get_rng_state()
    first, again, other = (make_model(name, seed=seed).state_dict() for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(first[key], again[key]) for key in first)
    drawn = [key for key in first if "head" not in key]
    assert all(not torch.equal(first[key], other[key]) for key in drawn)


@pytest.mark.parametrize("name", ["learned alpha", "both spaces", "told alpha"])
def test_every_learned_part_gets_a_gradient(name):
    model = make_model(name)
    support, query = (Pair(normal(seed, 4, 2), normal(seed + 1, 3, 2)) for seed in (0, 2))
    model(Episode(support, query)).sum().backward()
    for part, parameter in model.named_parameters():
        assert parameter.grad is not None, part
        assert parameter.grad.isfinite().all(), part
        assert parameter.grad.any(), part


@every_model
def test_one_set_of_instances_can_be_asked_of_every_task(name):
    model = make_model(name)
    pair = Pair(normal(0, 6, 4, 2), normal(1, 6, 3, 2))
    x = normal(2, 7, 2)
    torch.testing.assert_close(model.adapt(pair)(x), model.adapt(pair)(x.expand(6, 7, 2)))
