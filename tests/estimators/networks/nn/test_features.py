"""Features: the split first layer against the plain network, kernel features with padding, scaling."""

import pytest
import torch
from hypothesis import given
from torch import nn

from fewratio.core.kernels import gaussian_kernel, median_distance
from fewratio.estimators.networks.nn import GaussianFeatures, MLPFeatures, Standardiser
from fewratio.estimators.networks.pair import Pair
from tests.strategies import normal, pairs, quick, seeds, with_padding

NO_SUPPORT = Pair(torch.zeros(1, 3).double(), torch.zeros(1, 3).double())


def concatenated(features):
    """The plain network h([x, z]) with the weights of the split one."""
    first, rest = features.from_x, features.rest
    weight, bias = first.weight, first.bias
    if features.from_z is not None:
        weight, bias = torch.cat([weight, features.from_z.weight], dim=1), features.from_z.bias

    def forward(x, z=None):
        h = x if z is None else torch.cat([x, z.unsqueeze(-2).expand(*x.shape[:-1], -1)], dim=-1)
        h = nn.functional.linear(h, weight, bias)
        for layer in rest:
            h = layer(h.relu())
        return nn.functional.softplus(h)

    return forward


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@pytest.mark.parametrize("n_latent", [0, 4])
def test_equals_the_network_on_concatenated_inputs(depth, n_latent):
    features = MLPFeatures(3, n_latent, width=8, depth=depth, n_outputs=6).double()
    x, z = normal(0, 2, 5, 3), normal(1, 2, n_latent) if n_latent else None
    before = x.clone()
    phi = features(x, NO_SUPPORT, z)
    assert phi.shape == (2, 5, 6)
    # One dot product is split in two.
    torch.testing.assert_close(phi, concatenated(features)(x, z), rtol=1e-12, atol=1e-14)
    assert (phi > 0).all()
    assert torch.equal(x, before), "layers work in place, but never on the input"


@pytest.mark.parametrize("n_latent", [0, 4])
def test_gradients_through_the_layers_in_place(n_latent):
    features = MLPFeatures(3, n_latent, width=8, n_outputs=6).double()
    x, z = normal(0, 5, 3).requires_grad_(), normal(1, n_latent).requires_grad_()
    inputs = (x, z) if n_latent else (x,)
    ours, plain = (
        torch.autograd.grad(phi.square().sum(), [*inputs, *features.parameters()])
        for phi in (features(x, NO_SUPPORT, z if n_latent else None), concatenated(features)(*inputs))
    )
    torch.testing.assert_close(ours, plain, rtol=1e-10, atol=1e-12)


def test_depth_and_width():
    features = MLPFeatures(5, 4, width=16, depth=4, n_outputs=9)
    shapes = [tuple(p.shape) for name, p in features.named_parameters() if name.endswith("weight")]
    assert shapes == [(16, 5), (16, 4), (16, 16), (16, 16), (9, 16)]
    assert features.n_outputs == 9
    assert features.from_x.bias is None, "one bias is enough for the first layer"


def test_the_split_layer_starts_like_a_whole_one():
    features = MLPFeatures(60, 40, width=50, generator=torch.Generator().manual_seed(0))
    for layer in (features.from_x, features.from_z):
        assert 0.099 < layer.weight.abs().max() <= 100**-0.5


# ---------------------------------------------------------------- kernel features


@quick
@given(pair=pairs(), seed=seeds)
def test_kernel_features_with_the_median_width(pair, seed):
    features, x = GaussianFeatures(), normal(seed, 4, 2)
    bare = features(x, pair, None)
    torch.testing.assert_close(bare, gaussian_kernel(x, pair.rows, median_distance(pair.rows)))
    padded = with_padding(pair, seed)
    real = padded.shares.sum(0) > 0
    phi = features(x, padded, None)
    assert (phi[:, ~real] == 0).all()
    # Padding moves the origin of the distances, which costs a digit or two.
    torch.testing.assert_close(phi[:, real], bare, rtol=1e-10, atol=1e-12)


def test_kernel_features_with_a_given_width():
    pair, x = Pair(normal(0, 3, 2), normal(1, 2, 2)), normal(2, 4, 2)
    torch.testing.assert_close(GaussianFeatures(0.8)(x, pair, None), gaussian_kernel(x, pair.rows, 0.8))


def test_standardiser():
    x = normal(0, 50, 3) * torch.tensor([1.0, 10.0, 0.1]) + 5
    standardise = Standardiser(x.mean(0), x.std(0))
    scaled = standardise(x)
    torch.testing.assert_close(scaled.mean(0), torch.zeros(3).double(), atol=1e-12, rtol=0)
    torch.testing.assert_close(scaled.std(0), torch.ones(3).double())
    assert not list(standardise.parameters())
    assert standardise.state_dict().keys() == {"mean", "scale"}
