"""Feature maps phi(x; S): the space in which the ratio is linear."""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from fewratio.core.kernels import gaussian_kernel, median_distance
from fewratio.core.pair import Pair
from fewratio.core.shapes import Float
from fewratio.nn.mlp import linear


class MLPFeatures(nn.Module):
    """Features h([x, z_nu, z_de]) of a feed-forward network with positive outputs (Eq. 2).

    The first layer is kept as its x part and its z part: z is the same for all instances of a task, so its part is
    computed once per task instead of once per instance. Sums and ReLUs are taken in place: memory is a CPU's limit.

    Parameters
    ----------
    n_features : int
        Number of columns of an instance.
    n_latent : int
        Length of the encoder's output; 0 for `NoEncoder`.
    width : int
        Hidden width.
    depth : int
        Number of layers.
    n_outputs : int
        Number T of features.
    generator : torch.Generator, optional
        Where the start is drawn from.
    """

    leaves_one_out = False

    def __init__(
        self,
        n_features: int,
        n_latent: int = 0,
        width: int = 100,
        depth: int = 3,
        n_outputs: int = 100,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.n_outputs = n_outputs
        sizes = [*[width] * (depth - 1), n_outputs]
        fan_in = n_features + n_latent
        self.from_x = linear(n_features, sizes[0], generator, bias=not n_latent, fan_in=fan_in)
        self.from_z = linear(n_latent, sizes[0], generator, fan_in=fan_in) if n_latent else None
        self.rest = nn.ModuleList(linear(n_in, n_out, generator) for n_in, n_out in pairwise(sizes))

    def forward(
        self, x: Float[Tensor, "... n d"], support: Pair, z: Float[Tensor, "... z"] | None, index: Tensor | None = None
    ) -> Float[Tensor, "... n t"]:
        """Give the features of instances ``x`` of the task with vectors ``z``."""
        h = self.from_x(x)
        if self.from_z is not None:
            h = h.add_(self.from_z(z).unsqueeze(-2))
        for layer in self.rest:
            h = (h.relu_() @ layer.weight.mT).add_(layer.bias)
        return softplus(h)


class GaussianFeatures(nn.Module):
    """Gaussian kernel between x and the support instances (RuLSIF's features).

    Parameters
    ----------
    sigma : float, optional
        Width; by default the median distance within each task's joined support.
    centres : Tensor of shape (t, d), optional
        Where the kernels are, the same for every task; by default at each task's support instances.
    """

    centres: Tensor | None
    leaves_one_out = False

    def __init__(self, sigma: float | None = None, centres: Tensor | None = None) -> None:
        super().__init__()
        self.sigma = sigma
        self.register_buffer("centres", centres)

    def forward(
        self, x: Float[Tensor, "... n d"], support: Pair, z: None, index: Tensor | None = None
    ) -> Float[Tensor, "... n t"]:
        """Give the kernel of instances ``x`` with every centre; of support instances, the numerator's come first."""
        sigma = median_distance(support.rows, support.shares.sum(-2) > 0) if self.sigma is None else self.sigma
        if self.centres is not None:
            return gaussian_kernel(x, self.centres, sigma)
        # A padded support row is no centre.
        real = support.shares.sum(-2, keepdim=True) > 0
        return gaussian_kernel(x, support.rows, sigma) * real


class Standardiser(nn.Module):
    """Centres and scales every column with statistics of the source datasets.

    Parameters
    ----------
    mean, scale : Tensor of shape (d,)
        What is taken off, and what is divided by after that.
    dtype : torch.dtype, optional
        What the result is cast to. With float64 statistics and rows, columns far from zero (a time stamp) keep their
        digits until their mean is taken off.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, mean: Tensor, scale: Tensor, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.dtype = dtype
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)

    def forward(self, x: Float[Tensor, "... n d"]) -> Float[Tensor, "... n d"]:
        """Standardise the rows of ``x``."""
        return ((x - self.mean) / self.scale).to(self.dtype or x.dtype)
