"""Feed-forward networks whose start is drawn from an explicit generator."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


class Linear(nn.Linear):
    """A linear layer whose values are whatever is in memory; ``nn.Linear`` draws them from the global generator."""

    def reset_parameters(self) -> None:
        """Do nothing."""


def linear(
    n_in: int, n_out: int, generator: torch.Generator | None = None, bias: bool = True, fan_in: int | None = None
) -> nn.Linear:
    """Make a linear layer with torch's usual start, U(-1/sqrt(fan_in), 1/sqrt(fan_in))."""
    layer = Linear(n_in, n_out, bias=bias)
    bound = (fan_in or n_in) ** -0.5
    for parameter in layer.parameters():
        uniform_(parameter, bound, generator)
    return layer


def uniform_(parameter: Tensor, bound: float, generator: torch.Generator | None) -> None:
    """Fill a parameter with U(-bound, bound)."""
    with torch.no_grad():
        parameter.uniform_(-bound, bound, generator=generator)


def mlp(sizes: Sequence[int], generator: torch.Generator | None = None, bias: bool = True) -> nn.Sequential:
    """Make linear layers with ReLU between them; ``sizes`` runs from input to output."""
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(sizes):
        layers += [linear(n_in, n_out, generator, bias), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])
