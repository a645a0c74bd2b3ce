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

    def __init__(self, members: Sequence[RatioModel]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    @property
    def row_dtype(self) -> torch.dtype:
        """What rows to give as."""
        return cast(RatioModel, self.members[0]).row_dtype

    def adapt(self, support: Pair, alpha: Float[Tensor, "..."] | None = None) -> "MeanRatio":
        """Adapt every member to each task of a batch of support pairs."""
        return MeanRatio([cast(RatioModel, member).adapt(support, alpha) for member in self.members])


@dataclass(frozen=True)
class MeanRatio:
    """The mean of ratios that are adapted to the same support pair, or batch of them."""

    ratios: list[AdaptedRatio]

    def __call__(
        self, x: Float[Tensor, "... n d"], support_index: Int[Tensor, " n"] | None = None
    ) -> Float[Tensor, "... n"]:
        """Give the ratios of instances, as `AdaptedRatio` does."""
        return torch.stack([ratio(x, support_index) for ratio in self.ratios]).mean(0)

    def at_support(self) -> Float[Tensor, "... n"]:
        """Give the ratios at the support's instances, each left out of its own features."""
        return torch.stack([ratio.at_support() for ratio in self.ratios]).mean(0)
