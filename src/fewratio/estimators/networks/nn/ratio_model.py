"""A ratio model is an encoder, features and a head: r(x; S) = w(S)' phi(x; S)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from fewratio.core.arrays import real_deviation
from fewratio.core.shapes import Float, Int
from fewratio.errors import ParameterError
from fewratio.estimators.networks.nn.parts import Standardiser
from fewratio.estimators.networks.pair import Episode, Pair

# With "none" the model's value need not be a ratio: the score of a classifier has a sign.
CLIPS = ("ratio", "weights", "range", "none")


class RatioModel(nn.Module):
    """Encoder, features and head as one model that adapts to a support pair.

    Parameters
    ----------
    encoder : nn.Module
        ``encoder(support) -> z``: `SetEncoder`, `NoEncoder`.
    features : nn.Module
        ``features(x, support, z, support_index) -> phi``, where ``support_index`` contains the support row that each
        row of x equals, -1 for none: `MLPFeatures`, `GaussianFeatures`, `RelationalFeatures`. If an instance is left
        out of its own features, the attribute ``leaves_one_out`` is true.
    head : nn.Module
        ``head(phi of the support, shares, z, alpha) -> w``: `RidgeHead`, `SharedHead`.
    clip : {"ratio", "range", "weights", "none"}
        How to bound the ratio: ``r = max(0, w'phi)``; the same and at most 1 / alpha; or ``w = max(0, w)`` with
        positive features (as in the paper). With "none", the value is a score that may be negative.
    scaler : nn.Module, optional
        Applied to every instance first: `Standardiser`, `Space`.
    alpha : float, optional
        Relative parameter for ``clip="range"``, unless each task has its own.
    tell_alpha : bool
        Whether to append alpha to the output of the encoder, so that one model can be used with any alpha.

    Examples
    --------
    >>> import torch
    >>> from fewratio.estimators.networks.nn import MLPFeatures, RatioModel, RidgeHead, SetEncoder
    >>> from fewratio.estimators.networks import Pair
    >>> model = RatioModel(SetEncoder(2, latent_dim=4), MLPFeatures(2, n_latent=8), RidgeHead())
    >>> ratio = model.adapt(Pair(torch.zeros(5, 2), torch.ones(3, 2)))
    >>> ratio(torch.zeros(7, 2)).shape
    torch.Size([7])
    """

    def __init__(
        self,
        encoder: nn.Module,
        features: nn.Module,
        head: nn.Module,
        clip: str = "ratio",
        scaler: nn.Module | None = None,
        alpha: float | None = None,
        tell_alpha: bool = False,
    ) -> None:
        super().__init__()
        if clip not in CLIPS:
            raise ParameterError(f"clip is {clip!r}; {', '.join(CLIPS)} are known. Use one of them.")
        self.scaler = nn.Identity() if scaler is None else scaler
        self.encoder, self.features, self.head = encoder, features, head
        self.clip, self.alpha, self.tell_alpha = clip, alpha, tell_alpha

    @property
    def row_dtype(self) -> torch.dtype:
        """The type of rows: that of the scaler, so that no digits are lost before it, or else that of the weights."""
        return next(self.scaler.buffers(), next(self.parameters())).dtype

    @property
    def leaves_one_out(self) -> bool:
        """Whether support instances are left out of their own features."""
        return bool(getattr(self.features, "leaves_one_out", False))

    def adapt(self, support: Pair, alpha: Float[Tensor, "..."] | None = None) -> "AdaptedRatio":
        """Solve for the weights of each task of a batch of support pairs.

        Parameters
        ----------
        support : Pair of Tensor, shapes (..., n_nu, d) and (..., n_de, d)
            The instances of both samples.
        alpha : Tensor of shape (...), optional
            Relative parameter of each task; by default that of the model.

        Returns
        -------
        AdaptedRatio
            The ratio, which can be evaluated at any rows.
        """
        support = _scale(support, self.scaler(support.rows))
        z, alpha = self._describe(support, alpha)
        return self._solve(support, z, self.features(support.rows, support, z, _themselves(support)), alpha)

    def forward(self, episode: Episode) -> Float[Tensor, "... n"]:
        """Adapt to the support and return the ratios of the query rows.

        It equals ``adapt(support)(query.rows)``, but computes the features of both together.
        """
        rows = self.scaler(episode.rows)
        n_support = episode.support.rows.shape[-2]
        support = _scale(episode.support, rows[..., :n_support, :])
        z, alpha = self._describe(support, episode.alpha)
        n_query = rows.shape[-2] - n_support
        query = episode.support_index
        query = torch.full((n_query,), -1, device=rows.device) if query is None else query
        index = torch.cat([_themselves(support), query])
        phi_support, phi_query = self.features(rows, support, z, index).split([n_support, n_query], dim=-2)
        return self._solve(support, z, phi_support, alpha).combine(phi_query)

    def _describe(self, support: Pair, alpha: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """Return what is known about the support, with each task's alpha if the model needs it, and that alpha."""
        z: Tensor | None = self.encoder(support)
        if not self.tell_alpha:
            return z, alpha
        if alpha is None:
            assert self.alpha is not None
            alpha = support.rows.new_full(support.rows.shape[:-2], self.alpha)
        told = alpha.unsqueeze(-1)
        return told if z is None else torch.cat([z, told], dim=-1), alpha

    def _solve(self, support: Pair, z: Tensor | None, phi: Tensor, alpha: Tensor | None) -> "AdaptedRatio":
        weights = self.head(phi, support.shares, z, alpha)
        if self.clip == "weights":
            weights = weights.relu()
        return AdaptedRatio(self, support, z, phi, weights, self.alpha if alpha is None else alpha)


class SampleScaled(nn.Module):
    """A model of distances in units of their own that scales the columns by the samples of each pair first.

    Distances do not change with the origin, but float32 does: rows are centred and scaled with all their digits.

    Parameters
    ----------
    model : RatioModel
        The model to adapt; it is shared, not copied.
    alpha : float
        Relative parameter.
    scale : {"columns", "none"}
        Whether each column is divided by its own deviation, or all by one number.
    """

    row_dtype = torch.float64

    def __init__(self, model: RatioModel, alpha: float, scale: str) -> None:
        super().__init__()
        self.model, self.alpha, self.scale = model, alpha, scale

    def adapt(self, support: Pair) -> "AdaptedRatio":
        """Adapt to each pair of a batch of samples without padding."""
        mean = support.rows.mean(-2, keepdim=True)
        deviation = real_deviation(mean, (support.rows - mean).square().mean(-2, keepdim=True).sqrt())
        scale = deviation if self.scale == "columns" else deviation.square().sum(-1, keepdim=True).sqrt()
        # What is divided by infinity would look like a sample of equal rows.
        scale = torch.where(scale == 0, 1, torch.where(scale.isinf(), torch.nan, scale))
        scaler = Standardiser(mean, scale, torch.float32)
        model = self.model
        scaled = RatioModel(model.encoder, model.features, model.head, model.clip, scaler, self.alpha, model.tell_alpha)
        return scaled.adapt(support)


@dataclass(frozen=True)
class AdaptedRatio:
    """A ratio adapted to a support pair, or to a batch of them.

    Parameters
    ----------
    model : RatioModel
        The model that was adapted.
    support : Pair
        The support, scaled.
    z : Tensor of shape (..., z) or None
        The encoder's output.
    phi : Tensor of shape (..., n, t)
        Features of the support's instances, each left out of its own.
    weights : Tensor of shape (..., t)
        The weights of the features.
    alpha : float, Tensor of shape (...) or None
        Relative parameter; the ratio is at most 1 / alpha.
    """

    model: RatioModel
    support: Pair
    z: Tensor | None
    phi: Tensor
    weights: Tensor
    alpha: float | Tensor | None = None

    def __call__(
        self, x: Float[Tensor, "... n d"], support_index: Int[Tensor, " n"] | None = None
    ) -> Float[Tensor, "... n"]:
        """Return the ratios (Eq. 6) of instances: one set of instances per task, or one set for all tasks.

        ``support_index`` says which of the support's rows each instance is, -1 for none; by default none is.
        """
        # The same instances may be asked of every task.
        x = self.model.scaler(x)
        # NumPy's: torch's takes half a second at its first call.
        lead = np.broadcast_shapes(x.shape[:-2], self.weights.shape[:-1])
        x = x.expand(*lead, *x.shape[-2:])
        return self.combine(self.model.features(x, self.support, self.z, support_index))

    def at_support(self) -> Float[Tensor, "... n"]:
        """Return the ratios at the support's instances, each left out of its own features."""
        return self.combine(self.phi)

    def combine(self, phi: Float[Tensor, "... n t"]) -> Float[Tensor, "... n"]:
        """Return the ratios of instances whose features are known."""
        ratio = (phi @ self.weights.unsqueeze(-1)).squeeze(-1)
        if self.model.clip == "range":
            if isinstance(self.alpha, Tensor):
                return torch.minimum(ratio.relu(), 1 / self.alpha.unsqueeze(-1))
            # A plain number stays one: made a tensor, it would have to be copied to the device. A plain ratio, of
            # alpha 0, has no upper bound.
            return ratio.clamp(0, 1 / self.alpha) if self.alpha else ratio.relu()
        return ratio.relu() if self.model.clip == "ratio" else ratio


class RatioCommittee(nn.Module):
    """Independently trained models that adapt to the same support; the ratio is their mean.

    Their errors differ and partly cancel.

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
        """Return the ratios of instances, as `AdaptedRatio` does."""
        return torch.stack([ratio(x, support_index) for ratio in self.ratios]).mean(0)

    def at_support(self) -> Float[Tensor, "... n"]:
        """Return the ratios at the support's instances, each left out of its own features."""
        return torch.stack([ratio.at_support() for ratio in self.ratios]).mean(0)


def _themselves(support: Pair) -> Int[Tensor, " n"]:
    return torch.arange(support.rows.shape[-2], device=support.rows.device)


def _scale(pair: Pair, rows: Tensor) -> Pair:
    # Scaling may change the dtype of the rows; their shares follow.
    return Pair.from_joined(rows, pair.shares.to(rows.dtype), pair.n_nu)
