"""Models whose dataset vectors differ in length, as one architecture while they are trained together."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn

from fewratio.nn.ratio_model import RatioModel
from fewratio.nn.set_encoder import SetEncoder


@contextmanager
def same_latent_dim(models: Sequence[RatioModel]) -> Iterator[None]:
    """Pad the dataset vectors of all models to the longest with zeros, and cut them back at the end.

    The weights that make a padded entry and those that read it are zero. Then so are the entry itself and the gradients
    of both, so a gradient step leaves them zero: the model is what it would be without them.

    Parameters
    ----------
    models : sequence of RatioModel
        They are changed in place. Models without dataset vectors, or with equally long ones, stay as they are.
    """
    lengths = [(model, model.encoder.latent_dim) for model in models if isinstance(model.encoder, SetEncoder)]
    longest = max((length for _, length in lengths), default=0)
    padded = [(model, length) for model, length in lengths if length < longest]
    for model, _ in padded:
        _set_latent_dim(model, longest)
    try:
        yield
    finally:
        for model, length in padded:
            _set_latent_dim(model, length)


def _set_latent_dim(model: RatioModel, length: int) -> None:
    encoder = cast(SetEncoder, model.encoder)
    makes, reads = cast(nn.Linear, encoder.set[-1]), cast(nn.Linear, model.features.from_z)
    makes.weight, makes.bias = (nn.Parameter(_resized(tensor, 0, length)) for tensor in (makes.weight, makes.bias))
    # z is both sides' vectors, one after the other.
    sides = reads.weight.unflatten(1, (2, -1))
    reads.weight = nn.Parameter(_resized(sides, 2, length).flatten(1))
    encoder.latent_dim, makes.out_features, reads.in_features = length, length, 2 * length


def _resized(tensor: Tensor, axis: int, length: int) -> Tensor:
    """Cut an axis, or fill it up with zeros."""
    kept = tensor.detach().narrow(axis, 0, min(length, tensor.shape[axis]))
    missing = [*kept.shape[:axis], length - kept.shape[axis], *kept.shape[axis + 1 :]]
    return torch.cat([kept, kept.new_zeros(missing)], dim=axis)
