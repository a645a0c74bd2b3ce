"""Relational features: what is known of x is how far it is from each support instance.

Distances are all that enters, so features of this kind accept instances of any number of columns, and a model that
is made of them need not have seen the data it is used on.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from fewratio.core.shapes import Float
from fewratio.estimators.networks.nn.mlp import linear, mlp
from fewratio.estimators.networks.pair import Pair

SPACES = ("both", "learned", "raw")
# Distances are in units of the support's mean distance; their logarithm tells small ones apart, and their standard
# score the nearly equal ones of many columns.
_RELATIVE = (0.0, 2.4, 17)
_LOGARITHM = (-4.0, -0.5, 8)
_STANDARD = (-3.0, 3.0, 13)
_N_BUMPS = _RELATIVE[2] + _LOGARITHM[2] + _STANDARD[2]
# Pairs of an instance and a support instance that are worked on at a time: about 20 MB. Larger blocks are slower on a
# CPU, where much of the time goes into fresh memory.
_BLOCK_TOKENS = 2**16
# Keeps logarithms, roots and quotients of equal instances finite.
_SMALL = 1e-6


class Space(nn.Module):
    """The space in which distances are measured: the unchanged columns, a learned map of them, or both.

    Parameters
    ----------
    n_features : int
        Number of columns of an instance.
    raw : bool
        Whether to use the unchanged columns.
    n_learned : int
        Number of coordinates of the learned space; 0 for none.
    width : int
        Hidden width of the map.
    generator : torch.Generator, optional
        Draws the initial weights.
    """

    def __init__(
        self,
        n_features: int,
        raw: bool = True,
        n_learned: int = 64,
        width: int = 128,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.raw = raw
        # No bias at the end: distances do not change when everything moves.
        last = linear(width, n_learned, generator, bias=False) if n_learned else None
        self.map = None if last is None else nn.Sequential(linear(n_features, width, generator), nn.ReLU(), last)
        self.blocks = tuple(size for size in (n_features if raw else 0, n_learned) if size)

    def forward(self, x: Float[Tensor, "... n d"]) -> Float[Tensor, "... n e"]:
        """Return the coordinates of instances in all spaces, side by side."""
        if self.map is None:
            return x
        return torch.cat([x, self.map(x)], dim=-1) if self.raw else self.map(x)


@dataclass(frozen=True)
class DistanceScale:
    """The mean distance within a support and its relative deviation, in each space: the units of distances.

    Attributes
    ----------
    sizes : list of int
        Numbers of coordinates of each space.
    means, deviations : list of Tensor of shape (..., 1, 1)
        One for each space.
    """

    sizes: list[int]
    means: list[Tensor]
    deviations: list[Tensor]

    @classmethod
    def of(cls, support: Pair, blocks: tuple[int, ...] | None) -> "DistanceScale":
        """Measure a support; ``blocks`` are the numbers of coordinates of each space, None if there is one."""
        rows = support.rows
        sizes = list(blocks) if blocks else [rows.shape[-1]]
        real = support.shares.sum(-2) > 0
        # Means leave out padding, and the distance of an instance from itself.
        pairs = (real.unsqueeze(-1) & real.unsqueeze(-2)).to(rows.dtype)
        apart = pairs * (1 - torch.eye(pairs.shape[-1], dtype=rows.dtype, device=rows.device))
        apart = apart / apart.sum((-2, -1), keepdim=True).clamp_min(1)
        means, deviations = [], []
        for block in rows.split(sizes, -1):
            within = _distances(block, block)
            mean = (within * apart).sum((-2, -1), keepdim=True).clamp_min(_SMALL)
            means.append(mean)
            deviations.append(((within / mean - 1).square() * apart).sum((-2, -1), keepdim=True).add(_SMALL).sqrt())
        return cls(sizes, means, deviations)


class Relations:
    """Distances between instances and a support, in each space, and how they are averaged over each side.

    Parameters
    ----------
    x : Tensor of shape (..., n, e)
        Instances.
    support : Pair
        The support.
    scale : DistanceScale
        The distance scale of the support.
    index : int Tensor of shape (n,) or None
        Which of the support's rows each instance is, -1 for none: an instance must not see itself.
    """

    def __init__(self, x: Tensor, support: Pair, scale: DistanceScale, index: Tensor | None) -> None:
        blocks = zip(x.split(scale.sizes, -1), support.rows.split(scale.sizes, -1), strict=True)
        bumps = []
        for (block, rows), mean, deviation in zip(blocks, scale.means, scale.deviations, strict=True):
            relative = _distances(block, rows) / mean
            bumps += [
                _bumps(relative, *_RELATIVE),
                _bumps(relative.clamp_min(_SMALL).log(), *_LOGARITHM),
                _bumps(((relative - 1) / deviation).clamp(-4, 4), *_STANDARD),
            ]
        self.bumps = torch.cat(bumps, dim=-1)
        weights = support.shares.unsqueeze(-3)  # (..., 1, 2, s)
        if index is not None:
            others = index.unsqueeze(-1) != torch.arange(weights.shape[-1], device=x.device)
            weights = weights * others.unsqueeze(-2)
        # A lone instance that may not see itself sees nothing of its side.
        total = weights.sum(-1, keepdim=True)
        self.weights = weights / total.clamp_min(_SMALL)
        self.sees = total.squeeze(-1)

    def pool(self, tokens: Float[Tensor, "... n s t"]) -> Float[Tensor, "... n 2*t"]:
        """Average something of each (instance, support instance) over the two sides."""
        return (self.weights @ tokens).flatten(-2)

    def histogram(self) -> Float[Tensor, "... n h"]:
        """How the distances of each instance are spread, per side."""
        return torch.cat([self.pool(self.bumps), self.sees.expand(*self.bumps.shape[:-2], 2)], dim=-1)


def histogram_within(support: Pair, scale: DistanceScale) -> Float[Tensor, "... s h"]:
    """Relate the support's instances to each other."""
    index = torch.arange(support.rows.shape[-2], device=support.rows.device)
    return torch.cat([each.histogram() for each in _relations(support.rows, support, scale, index)], dim=-2)


def support_distances(support: Pair, blocks: tuple[int, ...] | None) -> tuple[DistanceScale, Float[Tensor, "... s h"]]:
    """Measure a support and relate its instances to each other; without gradients, once for all parts of a model."""
    # With gradients each use has a graph of its own.
    known = {} if torch.is_grad_enabled() else support.derived
    if blocks not in known:
        scale = DistanceScale.of(support, blocks)
        known[blocks] = scale, histogram_within(support, scale)
    return known[blocks]


def _relations(x: Tensor, support: Pair, scale: DistanceScale, index: Tensor) -> Iterator[Relations]:
    """Relate instances to a support, a block of them at a time; in training all at once, for all is kept anyway."""
    step = len(index) if torch.is_grad_enabled() else _BLOCK_TOKENS // support.rows.shape[:-1].numel()
    for rows, numbers in zip(x.split(max(1, step), -2), index.split(max(1, step)), strict=True):
        yield Relations(rows, support, scale, numbers)


def histogram_size(n_blocks: int) -> int:
    """Length of `Relations.histogram`."""
    return 2 * n_blocks * _N_BUMPS + 2


class RelationalEncoder(nn.Module):
    """What is known of a pair of samples as such: the distances within and between them, and how many there are.

    Parameters
    ----------
    blocks : tuple of int or None
        Numbers of coordinates of each space; None if there is one, of whatever size.
    latent_dim : int
        Length of the result.
    width : int
        Hidden width.
    absolute : bool
        Whether the unit of length counts; if not, nothing changes when all instances are scaled.
    generator : torch.Generator, optional
        Draws the initial weights.
    """

    def __init__(
        self,
        blocks: tuple[int, ...] | None = None,
        latent_dim: int = 64,
        width: int = 64,
        absolute: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        n_blocks = len(blocks) if blocks else 1
        self.blocks, self.absolute, self.n_outputs = blocks, absolute, latent_dim
        self.instance = mlp([histogram_size(n_blocks), width, width], generator)
        self.set = mlp([2 * width + 2 + n_blocks * (2 if absolute else 1), width, latent_dim], generator)

    def forward(self, support: Pair) -> Float[Tensor, "... z"]:
        """Return the vector of each task."""
        scale, histogram = support_distances(support, self.blocks)
        instance = self.instance(histogram).relu()
        pooled = (support.shares @ instance).flatten(-2)
        sizes = (support.shares > 0).sum(-1).to(pooled.dtype).log().expand(*pooled.shape[:-1], 2)
        units = zip(scale.means, scale.deviations, strict=True) if self.absolute else ((d,) for d in scale.deviations)
        logs = [unit.log().squeeze(-1) for of_space in units for unit in of_space]
        return self.set(torch.cat([pooled, sizes, *logs], dim=-1)).relu()


class RelationalFeatures(nn.Module):
    """Features made of the distances from x to each support instance, and of how these lie to each other.

    Parameters
    ----------
    blocks : tuple of int or None
        Numbers of coordinates of each space; None if there is one, of whatever size.
    n_latent : int
        Length of the encoder's output.
    width : int
        Hidden width.
    n_outputs : int
        Number T of features.
    n_context : int
        Length of what is told of each support instance beside its distance.
    generator : torch.Generator, optional
        Draws the initial weights.
    """

    # A support instance must not see itself.
    leaves_one_out = True

    def __init__(
        self,
        blocks: tuple[int, ...] | None = None,
        n_latent: int = 64,
        width: int = 64,
        n_outputs: int = 64,
        n_context: int = 16,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        n_blocks = len(blocks) if blocks else 1
        self.blocks, self.n_outputs = blocks, n_outputs
        size = histogram_size(n_blocks)
        self.context = mlp([size, width, n_context], generator)
        self.token = mlp([n_blocks * _N_BUMPS + n_context, width], generator)
        self.instance = mlp([size + 2 * width + n_latent, 2 * width, width, n_outputs], generator)

    def forward(
        self, x: Float[Tensor, "... n d"], support: Pair, z: Float[Tensor, "... z"], index: Tensor | None = None
    ) -> Float[Tensor, "... n t"]:
        """Return the features of instances ``x``; ``index`` says which of the support's rows they are, -1 for none."""
        scale, histogram = support_distances(support, self.blocks)
        context = self.context(histogram).unsqueeze(-3)
        index = torch.full((x.shape[-2],), -1, device=x.device) if index is None else index
        blocks = _relations(x, support, scale, index)
        return torch.cat([self._of_block(block, z, context) for block in blocks], dim=-2)

    def _of_block(self, relations: Relations, z: Tensor, context: Tensor) -> Tensor:
        histogram = relations.histogram()
        context = context.expand(*relations.bumps.shape[:-1], context.shape[-1])
        seen = relations.pool(self.token(torch.cat([relations.bumps, context], dim=-1)).relu())
        told = z.unsqueeze(-2).expand(*histogram.shape[:-1], z.shape[-1])
        return softplus(self.instance(torch.cat([histogram, seen, told], dim=-1)))


def _distances(x: Tensor, y: Tensor) -> Tensor:
    origin = y.mean(-2, keepdim=True)
    x, y = x - origin, y - origin
    square = x.square().sum(-1).unsqueeze(-1) + y.square().sum(-1).unsqueeze(-2) - 2 * x @ y.mT
    # The root has no slope at zero.
    return square.clamp_min(_SMALL**2).sqrt()


def _bumps(t: Tensor, low: float, high: float, count: int) -> Tensor:
    step = (high - low) / (count - 1)
    centres = torch.arange(count, dtype=t.dtype, device=t.device) * step + low
    return torch.exp(-0.5 * ((t.unsqueeze(-1) - centres) / step).square())
