"""Layers: their start, and where it is drawn from."""

import pytest
import torch
from torch import nn

from fewratio.estimators.networks.nn.mlp import linear, mlp


def test_relu_between_layers_and_none_at_the_end():
    network = mlp([3, 5, 4, 2])
    assert len(network) == 5
    assert all(isinstance(layer, nn.Linear) for layer in network[::2])
    assert all(isinstance(layer, nn.ReLU) for layer in network[1::2])
    assert [(layer.in_features, layer.out_features) for layer in network[::2]] == [(3, 5), (5, 4), (4, 2)]


@pytest.mark.parametrize(("options", "bound"), [({}, 16**-0.5), ({"fan_in": 64, "bias": False}, 1 / 8)])
def test_start_is_uniform_with_torchs_bound(options, bound):
    layer = linear(16, 400, torch.Generator().manual_seed(0), **options)
    assert (layer.bias is None) == ("bias" in options)
    for parameter in layer.parameters():
        assert parameter.abs().max() <= bound
        # The variance of a uniform number is bound^2 / 3; 400 numbers or more give it within a tenth (3 sigma).
        assert parameter.var().item() == pytest.approx(bound**2 / 3, rel=0.14)


def test_without_a_generator_the_global_one_is_used():
    with torch.random.fork_rng():
        torch.manual_seed(3)
        first, second = linear(2, 2), linear(2, 2)
        torch.manual_seed(3)
        again = linear(2, 2)
    assert torch.equal(first.weight, again.weight)
    assert not torch.equal(first.weight, second.weight)
