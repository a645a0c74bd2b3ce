"""Parts of the paper's other methods: gradient descent on the support, the nnPU risk, vectors of several lengths."""

import math
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.func import grad
from torch.nn.functional import pad

from fewratio.core.objectives import Objective
from fewratio.estimators.networks.nn import RatioModel, SetEncoder

# Features that are zero everywhere have no gradient either; their length must not be divided by.
_SHORTEST = 1e-12


class DescentHead(nn.Module):
    """Weights after some steps of gradient descent on the support, from a start that can be learned.

    Parameters
    ----------
    start : Tensor of shape (t,)
        Weights before the first step.
    objective : Objective
        What is minimised on the support. The ratio is clipped at zero before it is judged.
    n_steps : int
        Number of steps.
    step_size : float
        Size of a step, where 1 is the inverse of the mean squared length of the features: below 2 the descent of a
        squared loss is stable whatever their size. Where training starts if the head is trained, through its logarithm.
    """

    def __init__(self, start: Tensor, objective: Objective, n_steps: int = 10, step_size: float = 0.1) -> None:
        super().__init__()
        self.weights = nn.Parameter(start.detach().clone())
        self.log_step_size = nn.Parameter(torch.tensor(math.log(step_size)))
        self.objective = objective
        self.n_steps = n_steps

    def forward(self, phi: Tensor, shares: Tensor, z: object = None, alpha: object = None) -> Tensor:
        """Return the weights for the support's features."""

        def loss(weights: Tensor) -> Tensor:
            # Tasks do not share weights, so the gradient of their sum is each one's own.
            return self.objective((phi @ weights.unsqueeze(-1)).squeeze(-1).relu(), shares).sum()

        weights = self.weights.expand(*phi.shape[:-2], -1)
        length = (shares.sum(-2) * phi.square().sum(-1)).sum(-1, keepdim=True).clamp_min(_SHORTEST) / 2
        for _ in range(self.n_steps):
            weights = weights - self.log_step_size.exp() / length * grad(loss)(weights)
        return weights


@dataclass(frozen=True)
class NonNegativePU:
    """Risk of a classifier that knows positive and unlabelled instances (Kiryo et al. 2017), with the sigmoid loss.

    The numerator is positive, the denominator unlabelled with a share ``prior`` of positives, and the model's value g
    is a score, positive for positives. With l(g) = 1 / (1 + exp(-g)) the loss of a negative and l(-g) that of a
    positive, the positives' risk is ``prior mean_nu l(-g)`` and the negatives' is estimated as ``mean_de l(g) - prior
    mean_nu l(g)``; where that falls below zero the step goes back up (beta = 0, gamma = 1 of the original).
    """

    prior: float

    def __call__(self, score: Tensor, shares: Tensor) -> Tensor:
        """Return the risk for each task; where it is corrected, what descends in its stead."""
        mean_nu, mean_de = (shares * score.sigmoid().unsqueeze(-2)).sum(-1).unbind(-1)
        positive = (shares[..., 0, :] * (-score).sigmoid()).sum(-1)
        negative = mean_de - self.prior * mean_nu
        return torch.where(negative < 0, -negative, self.prior * positive + negative)


def set_latent_dim(model: RatioModel, length: int) -> RatioModel:
    """Fill the dataset vectors of a model up with zeros to this length, or cut them back; the model is changed.

    The weights that make a filled entry and those that read it are zero. Then so are the entry itself and the gradients
    of both, so a gradient step leaves them zero: models of several lengths can be trained as one architecture, and each
    is what it would be alone.
    """
    if not isinstance(model.encoder, SetEncoder):
        return model
    encoder = model.encoder
    makes, reads = cast(nn.Linear, encoder.set[-1]), cast(nn.Linear, model.features.from_z)
    # To pad by a negative length is to cut.
    missing = length - encoder.latent_dim
    makes.weight = nn.Parameter(pad(makes.weight.detach(), (0, 0, 0, missing)))
    makes.bias = nn.Parameter(pad(makes.bias.detach(), (0, missing)))
    # z is both sides' vectors, one after the other.
    sides = reads.weight.detach().unflatten(1, (2, -1))
    reads.weight = nn.Parameter(pad(sides, (0, missing)).flatten(1))
    encoder.latent_dim, makes.out_features, reads.in_features = length, length, 2 * length
    return model
