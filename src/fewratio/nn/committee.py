"""Several ratio models, each trained on its own, whose mean is the ratio: their errors differ, and cancel in part."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from fewratio.core.pair import Pair
from fewratio.core.shapes import Float, Int
from fewratio.nn.ratio_model import AdaptedRatio, RatioModel


class RatioCommittee(nn.Module):
    """Models of whatever parts that adapt to the same support.

    Parameters
    ----------
    members : sequence of RatioModel
        The models.
    """

    # Each member knows its own alpha.
    tell_alpha = False

    def __init__(self, members: Sequence[RatioModel]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    @property
    def leaves_out_own(self) -> bool:
        """Whether a support instance gets another value as such than as a new instance."""
        return any(bool(member.leaves_out_own) for member in self.members)

    def adapt(self, support: Pair, alpha: Float[Tensor, "..."] | None = None) -> "MeanRatio":
        """Adapt every member to each task of a batch of support pairs."""
        return MeanRatio([cast(RatioModel, member).adapt(support, alpha) for member in self.members])


@dataclass(frozen=True)
class MeanRatio:
    """The mean of ratios that are adapted to the same support pair, or batch of them."""

    ratios: list[AdaptedRatio]

    def __call__(self, x: Float[Tensor, "... n d"], own: Int[Tensor, " n"] | None = None) -> Float[Tensor, "... n"]:
        """Give the ratios of instances, as `AdaptedRatio` does."""
        return torch.stack([ratio(x, own) for ratio in self.ratios]).mean(0)

    def of_support(self) -> Float[Tensor, "... n"]:
        """Give the ratios of the support's own instances, none of which may count as its own neighbour."""
        return torch.stack([ratio.of_support() for ratio in self.ratios]).mean(0)
