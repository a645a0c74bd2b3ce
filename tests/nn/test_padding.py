"""Dataset vectors of different lengths, padded to one length and cut back."""

import copy

import torch

from fewratio.core.pair import Pair
from fewratio.nn import MLPFeatures, NoEncoder, RatioModel, RidgeHead, SetEncoder
from fewratio.nn.padding import same_latent_dim
from tests.strategies import normal


def model(latent_dim):
    generator = torch.Generator().manual_seed(0)
    encoder = SetEncoder(2, latent_dim, generator=generator) if latent_dim else NoEncoder()
    return RatioModel(encoder, MLPFeatures(2, encoder.n_outputs, width=8, generator=generator), RidgeHead())


def test_models_without_dataset_vectors_stay_as_they_are_among_others():
    models = [model(0), model(3), model(5)]
    before = copy.deepcopy([each.state_dict() for each in models])
    support, x = Pair(normal(0, 4, 2).float(), normal(1, 3, 2).float()), normal(2, 6, 2).float()
    expected = [each.adapt(support)(x) for each in models]
    with same_latent_dim(models):
        assert [each.encoder.latent_dim for each in models[1:]] == [5, 5]
        for name, tensor in models[0].state_dict().items():
            torch.testing.assert_close(tensor, before[0][name], rtol=0, atol=0)
        for each, ratio in zip(models, expected, strict=True):
            torch.testing.assert_close(each.adapt(support)(x), ratio)
    for each, state in zip(models, before, strict=True):
        torch.testing.assert_close(each.state_dict(), state, rtol=0, atol=0)


def test_there_may_be_no_dataset_vectors_at_all():
    with same_latent_dim([model(0)]):
        pass
