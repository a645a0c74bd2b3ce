"""Losses of ratio values on an evaluated pair; lower is better."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from fewratio.core.arrays import namespace
from fewratio.core.shapes import Array, Float

# An Episode, whose module imports torch.
Episode = Any


@runtime_checkable
class Objective(Protocol):
    """A loss of the ratio values of a pair's joined rows, given their shares in the two means."""

    def __call__(self, ratio: Float[Array, "... n"], shares: Float[Array, "... 2 n"], /) -> Float[Array, "..."]:
        """Return one loss per task."""


@runtime_checkable
class EpisodeObjective(Protocol):
    """A training loss that needs more from an episode than the query's shares."""

    def on(self, ratio: Float[Array, "... n"], episode: Episode, /) -> Float[Array, "..."]:
        """Return one loss per task, from the values of the query's rows."""


@dataclass(frozen=True)
class RelativeSquaredError:
    """Eq. 8: J = alpha/2 mean_nu r^2 + (1 - alpha)/2 mean_de r^2 - mean_nu r.

    It is half the squared error to the true relative ratio, less a constant: r = 1 gives -0.5, and at alpha = 0.5
    a perfectly separated pair gives -1.
    """

    alpha: float | Array = 0.5

    def __call__(self, ratio: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
        """Return J for each task."""
        return weighted_squared_error(ratio, *shares_of_expectations(shares, self.alpha))


def shares_of_expectations(
    shares: Float[Array, "... 2 n"], alpha: float | Array
) -> tuple[Float[Array, "... n"], Float[Array, "... n"]]:
    """Return the share of every row in the mean over the numerator, and in the mean over the mixture of both."""
    share_nu, share_de = shares[..., 0, :], shares[..., 1, :]
    weight = alpha if isinstance(alpha, float | int) else alpha[..., None]
    return share_nu, weight * share_nu + (1 - weight) * share_de


def weighted_squared_error(
    ratio: Float[Array, "... n"], numerator: Float[Array, "... n"], mixture: Float[Array, "... n"]
) -> Float[Array, "..."]:
    """Compute Eq. 8 as one sum over the rows of r (q r / 2 - s), with s and q their shares in the two expectations."""
    return (ratio * (0.5 * mixture * ratio - numerator)).sum(-1)


@dataclass(frozen=True)
class CalibratedSquaredError:
    """Eq. 8, plus, in training, the squared difference between the divergences at the support and at the query.

    Divergences are computed at the support. Eq. 8 alone does not make them agree with the query.
    """

    alpha: float = 0.5
    weight: float = 1.0

    def __call__(self, ratio: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
        """Return Eq. 8 for each task."""
        return RelativeSquaredError(self.alpha)(ratio, shares)

    def on(self, ratio: Float[Array, "... n"], episode: Episode) -> Float[Array, "..."]:
        """Return the loss for tasks whose query rows include those of the support, with no share in the query."""
        loss = self(ratio, episode.query.shares)
        if episode.support_index is None:
            return loss
        shares = episode.support.shares[..., episode.support_index.clamp_min(0)] * (episode.support_index >= 0)
        return loss + self.weight * (self(ratio, shares) - loss.detach()).square()


@dataclass(frozen=True)
class UnnormalisedKL:
    """Unnormalised Kullback-Leibler loss: alpha mean_nu r + (1 - alpha) mean_de r - mean_nu log r.

    Its minimiser is the relative ratio too. ``floor`` keeps the logarithm of a clipped ratio finite.
    """

    alpha: float = 0.5
    floor: float = 1e-6

    def __call__(self, ratio: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
        """Return the loss for each task."""
        share_nu, mixture = shares_of_expectations(shares, self.alpha)
        return (mixture * ratio - share_nu * namespace(ratio).log(ratio.clip(min=self.floor))).sum(-1)


@dataclass(frozen=True)
class NonNegativeLSIF:
    """Least squares with a correction against overfitting (Kato and Teshima 2021, the loss of D3RE).

    ``mean_nu(bound r^2 / 2 - r) + max(0, mean_de r^2 / 2 - bound mean_nu r^2 / 2)``. A flexible model can make the
    ratio arbitrarily large at just the numerator's rows; the part that cannot be negative in expectation, as long as
    ``bound`` is at most 1 / max r, is kept non-negative. ``bound = 0`` is the plain loss (alpha = 0).
    """

    bound: float | Array = 0.1

    def __call__(self, ratio: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
        """Return the loss for each task."""
        squares = (shares * ratio.square().unsqueeze(-2)).sum(-1)
        square_nu, square_de = squares[..., 0], squares[..., 1]
        corrected = (square_de - self.bound * square_nu).relu()
        return 0.5 * (self.bound * square_nu + corrected) - numerator_mean(ratio, shares)


def numerator_mean(value: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
    """Return the numerator's mean of a model's output: the loss of models that only see normal rows."""
    return (value * shares[..., 0, :]).sum(-1)
