"""How far off a ratio may be: quantiles of the true ratio and divergence, given what the model has seen."""

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.shapes import Float
from fewratio.estimators.networks.nn.mlp import mlp
from fewratio.estimators.networks.nn.ratio_model import AdaptedRatio

LEVELS = (0.5, 0.8, 0.9, 0.95)
QUANTILES = tuple((1 - level) / 2 for level in LEVELS[::-1]) + tuple((1 + level) / 2 for level in LEVELS)

# Share of the range, at either end, that counts as the end.
_NEAR = 0.01
# Size, mean ratio and mean squared ratio of two samples.
_N_SUMMARY = 6


class Intervals(nn.Module):
    """Quantiles of the truth on either side of the estimates of a trained `RatioModel` that is told alpha.

    Parameters
    ----------
    n_features : int
        Number T of the model's features.
    n_latent : int
        Length of what the model knows of a pair.
    width : int
        Hidden width.
    generator : torch.Generator, optional
        Draws the initial weights.
    """

    def __init__(
        self, n_features: int, n_latent: int, width: int = 64, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        n_told = n_latent + _N_SUMMARY + 1
        self.ratio = mlp([n_told + n_features, width, width, len(QUANTILES)], generator)
        self.divergence = mlp([n_told, width, width, len(QUANTILES)], generator)

    def of_ratio(self, ratio: AdaptedRatio, x: Float[Tensor, "... n d"]) -> Float[Tensor, "... n level 2"]:
        """Return bounds of the true ratio at new instances, for every level; the estimate is within them."""
        phi = ratio.model.features(ratio.model.scaler(x), ratio.support, ratio.z)
        most = (1 / _alpha(ratio))[..., None, None]
        return _bounds(self.ratio_quantiles(ratio, phi), ratio.combine(phi).unsqueeze(-1), most)

    def of_divergence(self, ratio: AdaptedRatio) -> Float[Tensor, "... level 2"]:
        """Return bounds of the true divergence of each pair, for every level; the estimate is within them.

        An estimate below zero, where no divergence is, counts as zero.
        """
        most = largest_divergence(_alpha(ratio)).unsqueeze(-1)
        return _bounds(self.divergence_quantiles(ratio), _divergence(ratio).unsqueeze(-1), most)

    def ratio_quantiles(self, ratio: AdaptedRatio, phi: Float[Tensor, "... n t"]) -> Float[Tensor, "... n q"]:
        """Quantiles of the true ratio, which is at most 1 / alpha, where the features are ``phi``."""
        alpha = _alpha(ratio).unsqueeze(-1)
        share = (ratio.combine(phi) * alpha).clamp(0, 1).unsqueeze(-1)
        told = _describe_pair(ratio).unsqueeze(-2).expand(*phi.shape[:-1], -1)
        return _around(share, self.ratio(torch.cat([told, phi, share], dim=-1))) / alpha.unsqueeze(-1)

    def divergence_quantiles(self, ratio: AdaptedRatio) -> Float[Tensor, "... q"]:
        """Quantiles of the true divergence."""
        most = largest_divergence(_alpha(ratio)).unsqueeze(-1)
        share = (_divergence(ratio).unsqueeze(-1) / most).clamp(0, 1)
        return _around(share, self.divergence(torch.cat([_describe_pair(ratio), share], dim=-1))) * most


def largest_divergence(alpha: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return the relative Pearson divergence of two distributions that have nothing in common."""
    return (1 - alpha) / (2 * alpha)


def _alpha(ratio: AdaptedRatio) -> Tensor:
    assert isinstance(ratio.alpha, Tensor)
    return ratio.alpha


def _divergence(ratio: AdaptedRatio) -> Float[Tensor, "..."]:
    estimate: Tensor = relative_pearson_divergence(ratio.at_support(), ratio.support.shares, _alpha(ratio))
    return estimate.clamp_min(0)


def _describe_pair(ratio: AdaptedRatio) -> Float[Tensor, "... e"]:
    """Say what is known of a pair: its encoding, and size, mean ratio and mean squared ratio of each sample."""
    assert ratio.z is not None
    shares = ratio.support.shares
    share = ratio.at_support() * _alpha(ratio).unsqueeze(-1)
    means = (shares @ torch.stack([share, share.square()], dim=-1)).flatten(-2)
    sizes = (shares > 0).sum(-1).to(means.dtype).log().expand(*means.shape[:-1], 2)
    return torch.cat([ratio.z, sizes, means], dim=-1)


def _around(share: Float[Tensor, "... 1"], raw: Float[Tensor, "... q"]) -> Float[Tensor, "... q"]:
    """Turn a network's outputs into rising quantiles within (0, 1), half of them below an estimate and half above.

    Each is a part of the way from the one before it, beginning at the estimate, to the end of the range.
    """
    below, above = logsigmoid(raw).unflatten(-1, (2, -1)).cumsum(-1).exp().unbind(-2)
    return torch.cat([(share * below).flip(-1), 1 - (1 - share) * above], dim=-1)


def _bounds(
    quantiles: Float[Tensor, "... q"], estimate: Float[Tensor, "... 1"], most: Float[Tensor, "... 1"]
) -> Float[Tensor, "... level 2"]:
    """Lower and upper bound of each level, from rising quantiles of something between zero and the most it can be.

    Equal and entirely different distributions are at the ends, which a network's quantiles come near but never reach.
    """
    half = len(LEVELS)
    # The estimate is between them but for rounding.
    low = torch.minimum(quantiles[..., :half].flip(-1), estimate)
    high = torch.maximum(quantiles[..., half:], estimate)
    low = torch.where(low < _NEAR * most, torch.zeros_like(low), low)
    high = torch.where(high > (1 - _NEAR) * most, most.expand_as(high), high)
    return torch.stack([low, high], dim=-1)
