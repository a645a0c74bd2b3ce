"""What is minimised: losses of ratio values on an evaluated pair, lower is better."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from fewratio.core.arrays import namespace
from fewratio.core.exact import true_ratio
from fewratio.core.shapes import Array, Float
from fewratio.errors import ParameterError

# An Episode, whose module imports torch.
Episode = Any

_PU_LOSSES: dict[str, Callable[[Array], Array]] = {
    "sigmoid": lambda score: score.sigmoid(),
    "logistic": lambda score: score.logaddexp(0 * score),
}


@runtime_checkable
class Objective(Protocol):
    """A loss of the ratio values of a pair's joined rows, given their shares in the two means."""

    def __call__(self, ratio: Float[Array, "... n"], shares: Float[Array, "... 2 n"], /) -> Float[Array, "..."]:
        """Give one loss a task."""


@runtime_checkable
class EpisodeObjective(Protocol):
    """A loss for training that looks at more of an episode than the query's shares."""

    def on(self, ratio: Float[Array, "... n"], episode: Episode, /) -> Float[Array, "..."]:
        """Give one loss a task, from the values of the query's rows."""


@dataclass(frozen=True)
class RelativeSquaredError:
    """Eq. 8: J = alpha/2 mean_nu r^2 + (1 - alpha)/2 mean_de r^2 - mean_nu r.

    It is half the squared error to the true relative ratio, less a constant: r = 1 gives -0.5, and at alpha = 0.5
    a perfectly separated pair gives -1.
    """

    alpha: float | Array = 0.5

    def __call__(self, ratio: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
        """Give J for each task."""
        return _squared_error(ratio, *_shares_of_expectations(shares, self.alpha))


def _shares_of_expectations(
    shares: Float[Array, "... 2 n"], alpha: float | Array
) -> tuple[Float[Array, "... n"], Float[Array, "... n"]]:
    """Give the share of every row in the mean over the numerator, and in that over the mixture of both."""
    share_nu, share_de = shares[..., 0, :], shares[..., 1, :]
    weight = alpha if isinstance(alpha, float | int) else alpha[..., None]
    return share_nu, weight * share_nu + (1 - weight) * share_de


def _squared_error(
    ratio: Float[Array, "... n"], numerator: Float[Array, "... n"], mixture: Float[Array, "... n"]
) -> Float[Array, "..."]:
    """Eq. 8 as one sum over the rows, of r (q r / 2 - s), s and q their shares in the two expectations."""
    return (ratio * (0.5 * mixture * ratio - numerator)).sum(-1)


@dataclass(frozen=True)
class ScaledSquaredError:
    """Eq. 8 times 2 alpha, each task with its own alpha: all count alike, for a perfectly separated pair gives -1."""

    alpha: float | Array = 0.5

    def __call__(self, ratio: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
        """Give the loss for each task."""
        return 2 * self.alpha * RelativeSquaredError(self.alpha)(ratio, shares)

    def on(self, ratio: Float[Array, "... n"], episode: Episode) -> Float[Array, "..."]:
        """Give the loss for tasks that each have an alpha."""
        alpha = self.alpha if episode.alpha is None else episode.alpha
        return ScaledSquaredError(alpha)(ratio, episode.query.shares)


@dataclass(frozen=True)
class InformedSquaredError:
    """`ScaledSquaredError` for practice on pairs whose true ratio r* is known.

    ``mean_nu r`` is the mean of ``r* r`` over the mixture of both: the same in expectation, but whatever instances were
    drawn, it is r* itself that is best. The last column of the rows is the true log-ratio; where it is NaN the
    numerator's instances count.
    """

    def __call__(self, ratio: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
        """Give the loss for each task at alpha = 0.5, from the instances alone."""
        return ScaledSquaredError()(ratio, shares)

    def on(self, ratio: Float[Array, "... n"], episode: Episode) -> Float[Array, "..."]:
        """Give the loss for tasks that each have an alpha."""
        assert episode.alpha is not None
        share_nu, mixture = _shares_of_expectations(episode.query.shares, episode.alpha)
        truth = true_ratio(episode.query.rows[..., -1], episode.alpha)
        numerator = namespace(truth).where(truth.isnan(), share_nu, mixture * truth.nan_to_num())
        return 2 * episode.alpha * _squared_error(ratio, numerator, mixture)


@dataclass(frozen=True)
class CalibratedSquaredError:
    """Eq. 8, and in training the squared difference of two divergences: that at the support, and that at the query.

    A divergence is read off the support. Nothing in Eq. 8 asks that it be what the query would say.
    """

    alpha: float = 0.5
    weight: float = 1.0

    def __call__(self, ratio: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
        """Give Eq. 8 for each task."""
        return RelativeSquaredError(self.alpha)(ratio, shares)

    def on(self, ratio: Float[Array, "... n"], episode: Episode) -> Float[Array, "..."]:
        """Give the loss for tasks among whose query rows are the support's own, with no share in the query."""
        loss = self(ratio, episode.query.shares)
        if episode.own is None:
            return loss
        shares = episode.support.shares[..., episode.own.clamp_min(0)] * (episode.own >= 0)
        return loss + self.weight * (self(ratio, shares) - loss.detach()).square()


@dataclass(frozen=True)
class UnnormalisedKL:
    """Unnormalised Kullback-Leibler loss: alpha mean_nu r + (1 - alpha) mean_de r - mean_nu log r.

    Its minimiser is the relative ratio too. ``floor`` keeps the logarithm of a clipped ratio finite.
    """

    alpha: float = 0.5
    floor: float = 1e-6

    def __call__(self, ratio: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
        """Give the loss for each task."""
        share_nu, share_de = shares[..., 0, :], shares[..., 1, :]
        mixture = self.alpha * share_nu + (1 - self.alpha) * share_de
        return (mixture * ratio - share_nu * namespace(ratio).log(ratio.clip(min=self.floor))).sum(-1)


@dataclass(frozen=True)
class NonNegativeLSIF:
    """Least squares with a correction against overfitting (Kato and Teshima 2021, the loss of D3RE).

    ``mean_nu(bound r^2 / 2 - r) + max(0, mean_de r^2 / 2 - bound mean_nu r^2 / 2)``. A flexible model can make the
    ratio large at the numerator's rows alone, with nothing to hold it; the part that cannot be negative in
    expectation, as long as ``bound`` is at most 1 / max r, is kept from becoming so. ``bound = 0`` is the plain loss
    (alpha = 0).
    """

    bound: float | Array = 0.1

    def __call__(self, ratio: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
        """Give the loss for each task."""
        share_nu, share_de = shares[..., 0, :], shares[..., 1, :]
        mean_nu, square_nu, square_de = (
            (share * value).sum(-1)
            for share, value in ((share_nu, ratio), (share_nu, ratio.square()), (share_de, ratio.square()))
        )
        corrected = (square_de - self.bound * square_nu).relu()
        return 0.5 * (self.bound * square_nu + corrected) - mean_nu


@dataclass(frozen=True)
class NonNegativePU:
    """Risk of a classifier that knows positive and unlabelled instances (Kiryo et al. 2017).

    The numerator is positive, the denominator unlabelled with a share ``prior`` of positives, and the model's value g
    is a score, positive for positives. With l(g) the loss of a negative and l(-g) that of a positive, the positives'
    risk is ``prior mean_nu l(-g)`` and the negatives' is estimated as ``mean_de l(g) - prior mean_nu l(g)``; where that
    falls below ``-slack`` the step goes back up (gamma = 1 of the original).

    With ``loss="sigmoid"``, l(g) = 1 / (1 + exp(-g)) as in the original, the best score says no more than which side
    an instance is on. With ``loss="logistic"``, l(g) = log(1 + exp(g)), it is the logit of the posterior.
    """

    prior: float | Array
    slack: float = 0.0
    loss: str = "sigmoid"

    def __post_init__(self) -> None:
        """Check the loss."""
        if self.loss not in _PU_LOSSES:
            raise ParameterError(f"loss is {self.loss!r}; there are {sorted(_PU_LOSSES)}. Choose one of these.")

    def __call__(self, score: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
        """Give the risk for each task; where it is corrected, what descends in its stead."""
        loss = _PU_LOSSES[self.loss]
        mean_nu, mean_de = (shares * loss(score).unsqueeze(-2)).sum(-1).unbind(-1)
        positive = (shares[..., 0, :] * loss(-score)).sum(-1)
        negative = mean_de - self.prior * mean_nu
        return namespace(negative).where(negative < -self.slack, -negative, self.prior * positive + negative)


@dataclass(frozen=True)
class QueryMean:
    """The mean over both sides of whatever a model gives for a row: the loss of models that judge themselves."""

    def __call__(self, value: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
        """Give the mean for each task."""
        return (value * shares.mean(-2)).sum(-1)


@dataclass(frozen=True)
class NumeratorMean:
    """The numerator's mean of whatever a model gives for a row: the loss of models that know normal instances only."""

    def __call__(self, value: Float[Array, "... n"], shares: Float[Array, "... 2 n"]) -> Float[Array, "..."]:
        """Give the mean for each task."""
        return (value * shares[..., 0, :]).sum(-1)
