"""What is minimised: losses of ratio values on an evaluated pair, lower is better."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from fewratio.core.shapes import Float


class Objective(Protocol):
    """A loss of the ratio values of a pair's joined rows, given their shares in the two means."""

    def __call__(self, ratio: Float[Tensor, "... n"], shares: Float[Tensor, "... 2 n"], /) -> Float[Tensor, "..."]:
        """Give one loss a task."""


@dataclass(frozen=True)
class RelativeSquaredError:
    """Eq. 8: J = alpha/2 mean_nu r^2 + (1 - alpha)/2 mean_de r^2 - mean_nu r.

    It is half the squared error to the true relative ratio, less a constant: r = 1 gives -0.5, and at alpha = 0.5
    a perfectly separated pair gives -1.
    """

    alpha: float = 0.5

    def __call__(self, ratio: Float[Tensor, "... n"], shares: Float[Tensor, "... 2 n"]) -> Float[Tensor, "..."]:
        """Give J for each task: the sum over rows of r (q r / 2 - s), s and q the shares in the two expectations."""
        share_nu, share_de = shares.unbind(-2)
        mixture = self.alpha * share_nu + (1 - self.alpha) * share_de
        return (ratio * (0.5 * mixture * ratio - share_nu)).sum(-1)


@dataclass(frozen=True)
class UnnormalisedKL:
    """Unnormalised Kullback-Leibler loss: alpha mean_nu r + (1 - alpha) mean_de r - mean_nu log r.

    Its minimiser is the relative ratio too. ``floor`` keeps the logarithm of a clipped ratio finite.
    """

    alpha: float = 0.5
    floor: float = 1e-6

    def __call__(self, ratio: Float[Tensor, "... n"], shares: Float[Tensor, "... 2 n"]) -> Float[Tensor, "..."]:
        """Give the loss for each task."""
        share_nu, share_de = shares.unbind(-2)
        mixture = self.alpha * share_nu + (1 - self.alpha) * share_de
        return (mixture * ratio - share_nu * ratio.clamp_min(self.floor).log()).sum(-1)


@dataclass(frozen=True)
class NumeratorMean:
    """The numerator's mean of whatever a model gives for a row: the loss of models that know normal instances only."""

    def __call__(self, value: Float[Tensor, "... n"], shares: Float[Tensor, "... 2 n"]) -> Float[Tensor, "..."]:
        """Give the mean for each task."""
        return (value * shares[..., 0, :]).sum(-1)
