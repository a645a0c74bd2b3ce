"""A ratio model is an encoder, features and a head: r(x; S) = w(S)' phi(x; S)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fewratio.core.pair import Episode, Pair
from fewratio.core.shapes import Float
from fewratio.errors import ParameterError

CLIPS = ("ratio", "weights")
# A model's value need not be a ratio: the score of a classifier has a sign.
_UNCLIPPED = "none"


class RatioModel(nn.Module):
    """Encoder, features and head as one model that adapts to a support pair.

    Parameters
    ----------
    encoder : nn.Module
        ``encoder(support) -> z``: `SetEncoder`, `NoEncoder`.
    features : nn.Module
        ``features(x, support, z) -> phi``: `MLPFeatures`, `GaussianFeatures`.
    head : nn.Module
        ``head(phi of the support, shares) -> w``: `RidgeHead`, `SharedHead`.
    clip : {"ratio", "weights", "none"}
        What keeps the ratio non-negative: ``r = max(0, w'phi)``, or ``w = max(0, w)`` with positive features (the
        paper's). With "none" the model's value is a score that may be negative.
    scaler : nn.Module, optional
        Applied to every instance first: `Standardiser`.

    Examples
    --------
    >>> import torch
    >>> from fewratio.nn import MLPFeatures, RatioModel, RidgeHead, SetEncoder
    >>> from fewratio import Pair
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
    ) -> None:
        super().__init__()
        if clip not in (*CLIPS, _UNCLIPPED):
            raise ParameterError(f"clip is {clip!r}; {', '.join((*CLIPS, _UNCLIPPED))} are known. Use one of them.")
        self.scaler = nn.Identity() if scaler is None else scaler
        self.encoder = encoder
        self.features = features
        self.head = head
        self.clip = clip

    def adapt(self, support: Pair) -> "AdaptedRatio":
        """Solve for the weights of each task of a batch of support pairs.

        Parameters
        ----------
        support : Pair of Tensor, shapes (..., n_nu, d) and (..., n_de, d)
            The instances of both samples.

        Returns
        -------
        AdaptedRatio
            The ratio, ready to be evaluated anywhere.
        """
        support = _scaled(support, self.scaler(support.rows))
        z = self.encoder(support)
        return self._solve(support, z, self.features(support.rows, support, z))

    def forward(self, episode: Episode) -> Float[Tensor, "... n"]:
        """Adapt to the support and give the ratios of the query's rows.

        The same as ``adapt(support)(query.rows)``, with the features of both computed in one go.
        """
        rows = self.scaler(episode.rows)
        n_support = episode.support.rows.shape[-2]
        support = _scaled(episode.support, rows[..., :n_support, :])
        z = self.encoder(support)
        phi_support, phi_query = self.features(rows, support, z).split([n_support, rows.shape[-2] - n_support], dim=-2)
        return self._solve(support, z, phi_support).combine(phi_query)

    def _solve(self, support: Pair, z: Tensor | None, phi: Tensor) -> "AdaptedRatio":
        weights = self.head(phi, support.shares)
        if self.clip == "weights":
            weights = weights.relu()
        return AdaptedRatio(self, support, z, weights)


@dataclass(frozen=True)
class AdaptedRatio:
    """A ratio adapted to a support pair, or to a batch of them.

    Parameters
    ----------
    model : RatioModel
        Where it comes from.
    support : Pair
        The support, scaled.
    z : Tensor of shape (..., z) or None
        The encoder's output.
    weights : Tensor of shape (..., t)
        The weights of the features.
    """

    model: RatioModel
    support: Pair
    z: Tensor | None
    weights: Tensor

    def __call__(self, x: Float[Tensor, "... n d"]) -> Float[Tensor, "... n"]:
        """Give the ratios (Eq. 6) of instances: one set of instances a task, or one set for all tasks."""
        # The same instances may be asked of every task.
        lead = torch.broadcast_shapes(x.shape[:-2], self.weights.shape[:-1])
        x = self.model.scaler(x).expand(*lead, *x.shape[-2:])
        return self.combine(self.model.features(x, self.support, self.z))

    def combine(self, phi: Float[Tensor, "... n t"]) -> Float[Tensor, "... n"]:
        """Give the ratios of instances whose features are known."""
        ratio = (phi @ self.weights.unsqueeze(-1)).squeeze(-1)
        return ratio.relu() if self.model.clip == "ratio" else ratio


def _scaled(pair: Pair, rows: Tensor) -> Pair:
    # Scaling may change the dtype of the rows; their shares follow.
    return Pair.joined(rows, pair.shares.to(rows.dtype), pair.n_nu)
