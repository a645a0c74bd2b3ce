"""Set encoders: only which rows are in a side counts, not their order and not what pads them."""

import math

import pytest
import torch
from hypothesis import given

from fewratio.errors import ParameterError
from fewratio.estimators.networks.nn import NoEncoder, SetEncoder
from fewratio.estimators.networks.nn.parts import POOLINGS
from fewratio.estimators.networks.pair import Pair
from tests.strategies import normal, pairs, quick, seeds, shuffled, with_padding

# Sums of at most seven numbers of order one in float64, in another order.
CLOSE = dict(rtol=1e-10, atol=1e-12)

every_pooling = pytest.mark.parametrize("pooling", POOLINGS)


def make_encoder(pooling):
    generator = torch.Generator().manual_seed(0)
    return SetEncoder(2, latent_dim=3, width=8, pooling=pooling, n_heads=2, generator=generator).double()


@every_pooling
@quick
@given(pair=pairs(), seed=seeds)
def test_row_order_does_not_matter(pooling, pair, seed):
    encoder = make_encoder(pooling)
    torch.testing.assert_close(encoder(shuffled(pair, seed)), encoder(pair), **CLOSE)


@every_pooling
@quick
@given(pair=pairs(), seed=seeds)
def test_masked_rows_do_not_count(pooling, pair, seed):
    encoder = make_encoder(pooling)
    torch.testing.assert_close(encoder(with_padding(pair, seed)), encoder(pair), **CLOSE)


@every_pooling
def test_both_sides_go_through_the_same_networks(pooling):
    encoder = make_encoder(pooling)
    nu, de = normal(0, 4, 2), normal(1, 2, 2)
    z = encoder(Pair(nu, de))
    assert z.shape == (encoder.n_outputs,) == (6,)
    torch.testing.assert_close(encoder(Pair(de, nu)), torch.cat([z[3:], z[:3]]), **CLOSE)
    assert not torch.allclose(z[:3], z[3:])


@every_pooling
def test_a_side_says_nothing_of_the_other(pooling):
    encoder, nu = make_encoder(pooling), normal(0, 4, 2)
    one, other = (encoder(Pair(nu, normal(seed, seed, 2))) for seed in (2, 3))
    torch.testing.assert_close(one[:3], other[:3], **CLOSE)
    assert not torch.allclose(one[3:], other[3:])


@every_pooling
def test_batch_equals_loop_over_tasks(pooling):
    encoder, nu, de = make_encoder(pooling), normal(0, 2, 3, 4, 2), normal(1, 2, 3, 5, 2)
    mask = normal(2, 2, 3, 4) > 0
    mask[..., 0] = True
    z = encoder(Pair(nu, de, mask))
    for i in range(2):
        for j in range(3):
            torch.testing.assert_close(z[i, j], encoder(Pair(nu[i, j][mask[i, j]], de[i, j])), **CLOSE)


@pytest.mark.parametrize(("pooling", "same"), [("mean", True), ("sum", False), ("attention", True)])
def test_what_a_sample_given_twice_does(pooling, same):
    encoder, nu, de = make_encoder(pooling), normal(0, 4, 2), normal(1, 2, 2)
    once, twice = encoder(Pair(nu, de)), encoder(Pair(nu.repeat(2, 1), de.repeat(2, 1)))
    assert torch.allclose(once, twice, **CLOSE) == same


def test_mean_pooling_is_eq1():
    encoder, nu, de = make_encoder("mean"), normal(0, 4, 2), normal(1, 2, 2)
    by_hand = torch.cat([encoder.set(encoder.instance(sample).mean(0)) for sample in (nu, de)])
    torch.testing.assert_close(encoder(Pair(nu, de)), by_hand, **CLOSE)


def test_attention_pooling_by_hand():
    encoder, nu, de = make_encoder("attention"), normal(0, 4, 2), normal(1, 2, 2)

    def pool(sample):
        heads = []
        for h, query in enumerate(encoder.query):
            part = encoder.instance(sample)[:, 4 * h : 4 * (h + 1)]
            heads.append((part @ query / math.sqrt(4)).softmax(0) @ part)
        return torch.cat(heads)

    by_hand = torch.cat([encoder.set(pool(sample)) for sample in (nu, de)])
    torch.testing.assert_close(encoder(Pair(nu, de)), by_hand, **CLOSE)


def test_depth_and_width():
    encoder = SetEncoder(5, latent_dim=7, width=16, instance_depth=4, set_depth=1)
    shapes = [tuple(p.shape) for name, p in encoder.named_parameters() if name.endswith("weight")]
    assert shapes == [(16, 5), (16, 16), (16, 16), (16, 16), (7, 16)]
    assert encoder.n_outputs == 14


def test_unusable_options_are_named():
    with pytest.raises(ParameterError, match="pooling is 'max'; mean, sum, attention are known"):
        SetEncoder(2, pooling="max")
    with pytest.raises(ParameterError, match="width is 8; attention pooling needs a multiple of 3"):
        SetEncoder(2, width=8, pooling="attention", n_heads=3)


def test_no_encoder_gives_nothing():
    assert NoEncoder()(Pair(normal(0, 4, 2), normal(1, 2, 2))) is None
    assert NoEncoder.n_outputs == 0
