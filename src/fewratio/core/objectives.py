"""What is minimised: losses of ratio values on an evaluated pair, lower is better."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from fewratio.core.pair import side_means
from fewratio.core.shapes import Float


class Objective(Protocol):
    """A loss of the ratio values of a pair's joined rows, given their shares in the two means."""

    def __call__(self, ratio: Float[Tensor, "... n"], shares: Float[Tensor, "... 2 n"]) -> Float[Tensor, "..."]:
        """Give one loss a task."""


@dataclass(frozen=True)
class RelativeSquaredError:
    """Eq. 8: J = alpha/2 mean_nu r^2 + (1 - alpha)/2 mean_de r^2 - mean_nu r.

    It is half the squared error to the true relative ratio, less a constant: r = 1 gives -0.5, and at alpha = 0.5
    a perfectly separated pair gives -1.
    """

    alpha: float = 0.5

    def __call__(self, ratio: Float[Tensor, "... n"], shares: Float[Tensor, "... 2 n"]) -> Float[Tensor, "..."]:
        """Give J for each task."""
        nu, _ = side_means(ratio, shares)
        nu_square, de_square = side_means(ratio.square(), shares)
        return 0.5 * self.alpha * nu_square + 0.5 * (1 - self.alpha) * de_square - nu


@dataclass(frozen=True)
class UnnormalisedKL:
    """Unnormalised Kullback-Leibler loss: alpha mean_nu r + (1 - alpha) mean_de r - mean_nu log r.

    Its minimiser is the relative ratio too. ``floor`` keeps the logarithm of a clipped ratio finite.
    """

    alpha: float = 0.5
    floor: float = 1e-6

    def __call__(self, ratio: Float[Tensor, "... n"], shares: Float[Tensor, "... 2 n"]) -> Float[Tensor, "..."]:
        """Give the loss for each task."""
        nu, de = side_means(ratio, shares)
        log_nu, _ = side_means(ratio.clamp_min(self.floor).log(), shares)
        return self.alpha * nu + (1 - self.alpha) * de - log_nu
