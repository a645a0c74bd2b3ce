"""How far off a ratio may be: quantiles of the true ratio and divergence, given what the model has seen."""

import torch
from torch import Tensor, nn

from fewratio.core.shapes import Float
from fewratio.nn.mlp import mlp
from fewratio.nn.ratio_model import AdaptedRatio

LEVELS = (0.5, 0.8, 0.9, 0.95)
QUANTILES = tuple((1 - level) / 2 for level in LEVELS[::-1]) + tuple((1 + level) / 2 for level in LEVELS)

# Share of the range, at either end, that counts as the end.
_NEAR = 0.01


class Intervals(nn.Module):
    """Quantiles of the truth beside the estimates of a trained `RatioModel` that is told alpha.

    Parameters
    ----------
    n_features : int
        Number T of the model's features.
    n_latent : int
        Length of what the model knows of a pair.
    width : int
        Hidden width.
    generator : torch.Generator, optional
        Where the start is drawn from.
    """

    def __init__(
        self, n_features: int, n_latent: int, width: int = 64, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.ratio = mlp([n_features + n_latent + 1, width, width, len(QUANTILES)], generator)
        self.divergence = mlp([n_latent + 1, width, width, len(QUANTILES)], generator)

    def of_ratio(self, ratio: AdaptedRatio, x: Float[Tensor, "... n d"]) -> Float[Tensor, "... n level 2"]:
        """Give bounds of the true ratio at new instances, for every level."""
        phi = ratio.model.features(ratio.model.scaler(x), ratio.support, ratio.z)
        assert ratio.z is not None
        assert isinstance(ratio.alpha, Tensor)
        quantiles = self.ratio_quantiles(phi, ratio.z, ratio.combine(phi), ratio.alpha)
        return _bounds(quantiles, (1 / ratio.alpha)[..., None, None])

    def of_divergence(self, ratio: AdaptedRatio, estimate: Float[Tensor, "..."]) -> Float[Tensor, "... level 2"]:
        """Give bounds of the true divergence of each pair, for every level."""
        assert ratio.z is not None
        assert isinstance(ratio.alpha, Tensor)
        most = largest_divergence(ratio.alpha).unsqueeze(-1)
        return _bounds(self.divergence_quantiles(ratio.z, estimate, ratio.alpha), most)

    def ratio_quantiles(self, phi: Tensor, z: Tensor, estimate: Tensor, alpha: Tensor) -> Float[Tensor, "... n q"]:
        """Quantiles of the true ratio, which is at most 1 / alpha."""
        told = torch.cat([z.unsqueeze(-2).expand(*phi.shape[:-1], -1), phi], dim=-1)
        share = (estimate * alpha.unsqueeze(-1)).unsqueeze(-1)
        return _rising(self.ratio(torch.cat([told, share], dim=-1)), share) / alpha[..., None, None]

    def divergence_quantiles(self, z: Tensor, estimate: Tensor, alpha: Tensor) -> Float[Tensor, "... q"]:
        """Quantiles of the true divergence."""
        most = largest_divergence(alpha)
        share = (estimate / most).clamp(0, 1).unsqueeze(-1)
        return _rising(self.divergence(torch.cat([z, share], dim=-1)), share) * most.unsqueeze(-1)


def largest_divergence(alpha: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Give the relative Pearson divergence of two distributions that have nothing in common."""
    return (1 - alpha) / (2 * alpha)


def _rising(raw: Tensor, share: Tensor) -> Tensor:
    """Turn a network's outputs into rising quantiles within (0, 1), around an estimate."""
    first, rest = raw[..., :1], torch.nn.functional.softplus(raw[..., 1:])
    start = torch.logit(share.clamp(0.02, 0.98))
    return torch.sigmoid(start + torch.cat([first, first + rest.cumsum(-1)], dim=-1))


def _bounds(quantiles: Float[Tensor, "... q"], most: Float[Tensor, "... 1"]) -> Float[Tensor, "... level 2"]:
    """Lower and upper bound of each level, from rising quantiles of something between zero and the most it can be.

    Equal and entirely different distributions are at the ends, which a network's quantiles come near but never reach.
    """
    half = len(LEVELS)
    low, high = quantiles[..., :half].flip(-1), quantiles[..., half:]
    low = torch.where(low < _NEAR * most, torch.zeros_like(low), low)
    high = torch.where(high > (1 - _NEAR) * most, most.expand_as(high), high)
    return torch.stack([low, high], dim=-1)
