"""Random pairs of distributions: training data of a model for use without sources.

A pair is made in three stages. A *law* is a mixture of up to eight components in some coordinates, of which some may
be nuisance: the same on both sides. A *relation* says how the numerator's mixture differs from the denominator's.
A *shape* turns coordinates into columns: correlated, warped, discrete, or a curved sheet in a larger space. Relation
and law fix the true ratio, which shapes that can be undone leave as it is; where it is lost it is NaN.

Nothing here was chosen by looking at a named data set; whole shapes and relations can be left out (``shapes``,
``relations``) to see how a model does on kinds of pairs that it never saw.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fewratio.core.shapes import Float, Int
from fewratio.errors import ParameterError
from fewratio.estimators.networks.training.pools import Pools

# How often each is drawn.
RELATIONS = {
    "equal": 0.15,
    "classes": 0.3,
    "subset": 0.1,
    "reweighted": 0.1,
    "shifted": 0.15,
    "rescaled": 0.1,
    "contaminated": 0.1,
}
SHAPES = {"plain": 0.2, "heavy": 0.15, "correlated": 0.2, "warped": 0.15, "discrete": 0.1, "sheet": 0.2}

# Distance of two classes, and length of a shift, in each coordinate, beside the deviation within a class.
_SPREAD = (0.3, 6.0)
_SHIFT = (0.3, 6.0)
# Few columns are a case apart, and more common than an even draw would have them.
_FEW_COLUMNS, _SHARE_OF_FEW = 3, 0.2
_HALF = 4  # components of each of two groups
_COORDINATES_OF_A_SHEET = 16
_FREEDOM = 10  # degrees of freedom of heavy tails at most
_LARGEST = 1e4
# Values of a block of pairs while they are made: about 130 MB.
_BLOCK_VALUES = 2**25


@dataclass(frozen=True)
class PriorPairs:
    """Instances of random pairs, and the truth behind them.

    Attributes
    ----------
    rows : Tensor of shape (pair, 2, n, d)
        Instances of numerator and denominator. Pairs with fewer columns are padded with zeros, which do not change
        distances.
    log_ratio : Tensor of shape (pair, 2, n)
        True log p_nu / p_de at each instance; NaN if it is unknown because of the shape.
    n_columns : int Tensor of shape (pair,)
        Number of real columns.
    relations, shapes : list of str
        The relation and the shape of each pair.
    """

    rows: Float[Tensor, "pair 2 n d"]
    log_ratio: Float[Tensor, "pair 2 n"]
    n_columns: Int[Tensor, " pair"]
    relations: list[str]
    shapes: list[str]

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.relations)

    def table_with_truth(self) -> Float[Tensor, "m e"]:
        """All instances as one table, which `pools` numbers, with their true log-ratio as one more column."""
        return torch.cat([self.rows, self.log_ratio.unsqueeze(-1)], dim=-1).flatten(0, 2)

    def with_truth(self) -> list[int]:
        """Return the numbers of the pairs whose true ratio is known everywhere."""
        return (~self.log_ratio.isnan().flatten(1).any(1)).nonzero().flatten().tolist()

    def pools(self, chosen: Sequence[int] | None = None) -> Pools:
        """Pools of some pairs, by default of all; numerator i only ever meets denominator i."""
        n = self.rows.shape[2]
        numbers = np.arange(2 * len(self) * n).reshape(len(self), 2, n)
        chosen = range(len(self)) if chosen is None else chosen
        names = tuple(f"{self.shapes[i]} {self.relations[i]}" for i in chosen)
        return Pools([numbers[i, 0] for i in chosen], [numbers[i, 1] for i in chosen], names, paired=True)


def draw_pairs(
    n_pairs: int,
    n_instances: int = 192,
    max_columns: int = 256,
    seed: int = 0,
    device: torch.device | str = "cpu",
    relations: Sequence[str] = tuple(RELATIONS),
    shapes: Sequence[str] = tuple(SHAPES),
) -> PriorPairs:
    """Draw random pairs of distributions, and instances of each.

    Parameters
    ----------
    n_pairs, n_instances : int
        How many pairs, and instances of each side.
    max_columns : int
        Columns at most; their number is drawn evenly on a logarithmic scale.
    seed : int
        Seed. The numbers depend on the kind of device too.
    device : torch.device or str
        Device that draws the pairs.
    relations, shapes : sequence of str
        Which kinds of pairs to draw.

    Examples
    --------
    >>> pairs = draw_pairs(3, n_instances=10, max_columns=5, seed=0)
    >>> pairs.rows.shape, pairs.log_ratio.shape
    (torch.Size([3, 2, 10, 5]), torch.Size([3, 2, 10]))
    """
    generator, rng = torch.Generator(device).manual_seed(seed), np.random.default_rng(seed)
    kinds = []
    for argument, given, known in (("relations", relations, RELATIONS), ("shapes", shapes, SHAPES)):
        if not given or set(given) - set(known):
            raise ParameterError(f"{argument} is {tuple(given)}; some of {tuple(known)} are needed. Choose from these.")
        frequency = np.array([known[name] for name in given])
        kinds.append(rng.choice(list(given), n_pairs, p=frequency / sum(frequency.tolist())))
    n_columns = np.exp(rng.uniform(0, np.log(max_columns + 1), n_pairs)).astype(int)
    few = rng.integers(1, _FEW_COLUMNS + 1, n_pairs)
    n_columns = np.where(rng.random(n_pairs) < _SHARE_OF_FEW, few, n_columns).clip(1, max_columns)
    block = max(1, _BLOCK_VALUES // (2 * n_instances * max_columns * 4))
    columns = torch.from_numpy(n_columns).to(device)
    blocks = [slice(first, first + block) for first in range(0, n_pairs, block)]
    draws = [_Draw(kinds[0][b], kinds[1][b], columns[b], n_instances, max_columns, generator) for b in blocks]
    rows, truth = map(torch.cat, zip(*(draw.pairs() for draw in draws), strict=True))
    return PriorPairs(rows, truth, columns, kinds[0].tolist(), kinds[1].tolist())


@dataclass
class _Draw:
    """One block of pairs; leading axis (pair,)."""

    relations: np.ndarray
    shapes: np.ndarray
    n_columns: Tensor
    n: int
    d: int
    generator: torch.Generator

    @property
    def device(self) -> torch.device:
        return self.generator.device

    def pairs(self) -> tuple[Tensor, Tensor]:
        """Return rows and true log-ratios."""
        centres, scales = self._components()
        weights = self._weights()
        heavy = 2 + (self._uniform() * (_FREEDOM - 1)).floor()
        freedom = torch.where(self._is(self.shapes, "heavy"), heavy, torch.inf)[:, None, None]
        component = torch.multinomial(weights.flatten(0, 1), self.n, replacement=True, generator=self.generator)
        component = component.unflatten(0, (-1, 2))  # (pair, side, instance)
        picked = component.flatten(1).unsqueeze(-1).expand(-1, -1, self.d)
        noise = self._normal(2 * self.n, self.d) / self._mixing(freedom)
        x = centres.gather(1, picked) + scales.gather(1, picked) * noise
        log_p = self._log_density(x, centres, scales, freedom.squeeze(-1))  # (pair, 2n, component)
        log_w = weights.clamp_min(1e-30).log()
        nu, de = (torch.logsumexp(log_p + log_w[:, side].unsqueeze(1), -1) for side in (0, 1))
        # All shapes can be undone but this one.
        truth = torch.where(self._is(self.shapes, "discrete")[:, None], torch.nan, nu - de)
        return self._shape(x).unflatten(1, (2, self.n)), truth.unflatten(1, (2, self.n))

    # ------------------------------------------------------------ random numbers

    def _uniform(self, *shape: int) -> Tensor:
        return torch.rand(len(self.relations), *shape, generator=self.generator, device=self.device)

    def _normal(self, *shape: int) -> Tensor:
        return torch.randn(len(self.relations), *shape, generator=self.generator, device=self.device)

    def _log_uniform(self, low: float, high: float) -> Tensor:
        return low * (high / low) ** self._uniform()

    def _is(self, kinds: np.ndarray, name: str) -> Tensor:
        return torch.from_numpy(kinds == name).to(self.device)

    # ------------------------------------------------------------ law and relation

    def _components(self) -> tuple[Tensor, Tensor]:
        """Centres and standard deviations of two groups of components, shape (pair, component, coordinate)."""
        column = torch.arange(self.d, device=self.device)
        # Coordinates of the law: as many as columns, but few behind a sheet.
        few = torch.minimum(1 + (self._uniform() * _COORDINATES_OF_A_SHEET).long(), self.n_columns)
        self.coordinates = torch.where(self._is(self.shapes, "sheet"), few, self.n_columns)
        real = column < self.coordinates.unsqueeze(-1)
        # Nuisance: nothing on these coordinates tells the components apart.
        share = torch.where(self._uniform() < 0.3, 0.7 * self._uniform(), 0.0)
        informative = real & ((self._uniform(self.d) >= share.unsqueeze(-1)) | (column == 0))
        # Anisotropy: a spectrum that falls as a power.
        power = torch.where(self._uniform() < 0.3, 0.0, 1.5 * self._uniform())
        spectrum = (column + 1.0) ** -power.unsqueeze(-1) * real
        # Classes may differ everywhere or in some coordinates only.
        dense = torch.where(self._uniform() < 0.5, 1.0, self._log_uniform(0.05, 1.0)).unsqueeze(-1)
        differ = informative & ((self._uniform(self.d) < dense) | (column == 0))
        spread = self._log_uniform(*_SPREAD)[:, None, None] * (differ * spectrum).unsqueeze(1)
        centres = spread * self._normal(2 * _HALF, self.d)
        wide = torch.exp(0.4 * self._uniform().unsqueeze(-1) * self._normal(2 * _HALF)).unsqueeze(-1)
        scales = torch.where(informative.unsqueeze(1), wide, 1.0) * spectrum.unsqueeze(1)
        shift = self._log_uniform(*_SHIFT)[:, None, None] * (differ * spectrum).unsqueeze(1) * self._normal(1, self.d)
        factor = torch.where(informative, torch.exp(0.8 * self._normal(1)), 1.0).unsqueeze(1)
        first_c, first_s = centres[:, :_HALF], scales[:, :_HALF]
        middle = first_c.mean(1, keepdim=True)
        shifted, rescaled = (self._is(self.relations, name)[:, None, None] for name in ("shifted", "rescaled"))
        second_c = torch.where(shifted, first_c + shift, centres[:, _HALF:])
        second_c = torch.where(rescaled, middle + factor * (first_c - middle), second_c)
        second_s = torch.where(shifted, first_s, torch.where(rescaled, factor * first_s, scales[:, _HALF:]))
        return torch.cat([first_c, second_c], dim=1), torch.cat([first_s, second_s], dim=1)

    def _weights(self) -> Tensor:
        """Weights of the components on both sides, shape (pair, side, component)."""
        first, second, third = (self._some_components() for _ in range(3))
        none = torch.zeros_like(first)
        low, high = torch.cat([first, none], -1), torch.cat([none, second], -1)
        # A subset: some of the components of the other side, the heaviest of them always.
        kept = (self._uniform(_HALF) < 0.4) | (
            torch.arange(_HALF, device=self.device) == first.argmax(-1, keepdim=True)
        )
        part = first * kept
        reweighted = (third + 1e-3) * (first > 0)
        polluted = 0.3 * self._uniform(1)
        nu, de = low, low
        for name, other_nu, other_de in (
            ("classes", low, high),
            ("subset", torch.cat([part, none], -1), low),
            ("reweighted", low, torch.cat([reweighted, none], -1)),
            ("shifted", low, torch.cat([none, first], -1)),
            ("rescaled", low, torch.cat([none, first], -1)),
            ("contaminated", low, (1 - polluted) * low + polluted * high),
        ):
            chosen = self._is(self.relations, name).unsqueeze(-1)
            nu, de = torch.where(chosen, other_nu, nu), torch.where(chosen, other_de, de)
        both = torch.stack([nu, de], dim=1)
        # Either side may be the numerator; normals are always the numerator of what is contaminated.
        swap = (self._uniform() < 0.5) & ~self._is(self.relations, "contaminated")
        both = torch.where(swap[:, None, None], both.flip(1), both)
        return both / both.sum(-1, keepdim=True)

    def _some_components(self) -> Tensor:
        """Random weights of one to four components."""
        count = 1 + (self._uniform(1) ** 2 * _HALF).long()
        raw = -self._uniform(_HALF).clamp_min(1e-6).log()
        chosen = raw * (torch.arange(_HALF, device=self.device) < count)
        return chosen / chosen.sum(-1, keepdim=True)

    def _mixing(self, freedom: Tensor) -> Tensor:
        """Divide normal noise by this to get Student's t: the root mean square of as many normals as its freedom."""
        counted = torch.arange(_FREEDOM, device=self.device) < freedom
        square = (self._normal(2 * self.n, _FREEDOM).square() * counted).sum(-1, keepdim=True) / freedom
        return torch.where(torch.isinf(freedom), 1.0, square.sqrt())

    def _log_density(self, x: Tensor, centres: Tensor, scales: Tensor, freedom: Tensor) -> Tensor:
        real = torch.arange(self.d, device=self.device) < self.coordinates.unsqueeze(-1)
        found = []
        for centre, scale in zip(centres.unbind(1), scales.unbind(1), strict=True):
            safe = torch.where(real, scale, 1.0).unsqueeze(1)
            square = (((x - centre.unsqueeze(1)) / safe).square() * real.unsqueeze(1)).sum(-1)
            k = self.coordinates.unsqueeze(-1)
            heavy = -(freedom + k) / 2 * torch.log1p(square / freedom)
            volume = (safe.log() * real.unsqueeze(1)).sum(-1)
            found.append(torch.where(torch.isinf(freedom), -square / 2, heavy) - volume)
        return torch.stack(found, dim=-1)

    # ------------------------------------------------------------ shape

    def _shape(self, x: Tensor) -> Tensor:
        """Turn coordinates into columns."""
        real = (torch.arange(self.d, device=self.device) < self.n_columns.unsqueeze(-1)).unsqueeze(1)
        for name, change in (
            ("correlated", self._correlate),
            ("warped", self._warp),
            ("sheet", self._on_sheet),
            ("discrete", self._discrete),
        ):
            chosen = self._is(self.shapes, name)
            if chosen.any():
                x = torch.where(chosen[:, None, None], change(x, real), x)
        # Columns have units of their own, more or less.
        units = torch.exp(self._uniform(1, 1) * self._normal(1, self.d) * 0.7)
        return (x * units * real).clamp(-_LARGEST, _LARGEST)

    def _correlate(self, x: Tensor, real: Tensor) -> Tensor:
        """Make columns correlated: reflections with scalings between them."""
        for _ in range(2):
            axis = self._normal(1, self.d) * real
            axis = axis / axis.norm(dim=-1, keepdim=True).clamp_min(1e-6)
            x = (x - 2 * (x * axis).sum(-1, keepdim=True) * axis) * torch.exp(0.7 * self._normal(1, self.d))
        return x

    def _warp(self, x: Tensor, real: Tensor) -> Tensor:
        """Bend every column by one of four rising functions."""
        kind = (self._uniform(1, self.d) * 4).long()
        x = torch.where((self._uniform() < 0.5)[:, None, None], self._correlate(x, real), x)
        # An exponential that goes on as its tangent, and a slope left in saturation: no two points may meet.
        growing = torch.exp((x / 2).clamp(-8, 3)) * (1 + (x / 2 - 3).relu()) + 1e-3 * (x / 2 + 8).clamp_max(0)
        bent = (torch.asinh(2 * x), growing, x * x.abs(), torch.tanh(x / 2) + 0.01 * x)
        return torch.stack(bent).gather(0, kind.expand_as(x).unsqueeze(0)).squeeze(0)

    def _on_sheet(self, x: Tensor, real: Tensor) -> Tensor:
        """Map a few coordinates to many columns by a random layer."""
        k = min(_COORDINATES_OF_A_SHEET, self.d)
        gain = self._log_uniform(0.5, 3.0)[:, None, None] / self.coordinates[:, None, None].sqrt()
        waves = x[..., :k] @ (gain * self._normal(k, self.d)) + self._normal(1, self.d)
        # Waves fold; only with columns to spare do no two points meet. Else what is left is a slope everywhere.
        crowded = self.n_columns <= 2 * self.coordinates
        rising = ((self._uniform() < 0.5) | crowded)[:, None, None]
        return torch.where(rising, torch.tanh(waves), torch.sin(waves)) + 0.1 * waves

    def _discrete(self, x: Tensor, real: Tensor) -> Tensor:
        """Round to a grid, or keep nothing but the sign."""
        step = self._log_uniform(0.3, 2.0)[:, None, None]
        binary = (self._uniform(1, self.d) < self._uniform(1, 1)).expand_as(x)
        return torch.where(binary, (x > self._normal(1, self.d)).to(x.dtype), (x / step).round() * step)
