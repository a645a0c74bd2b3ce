"""Networks that know normal instances only, and give every row an error: the larger, the odder."""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from fewratio.core.pair import Episode
from fewratio.core.shapes import Float
from fewratio.nn.mlp import mlp

# Ruff et al. (2018) keep the centre's coordinates this far from zero.
CENTRE_MARGIN = 0.1
# Rows whose outputs are held at a time while the centre is computed.
_BLOCK_ROWS = 8192


class OneClassNetwork(nn.Module):
    """Base of the one-class networks: ``begin(rows)`` once before training, then `errors`.

    The loss is the mean error of normal rows, `fewratio.core.objectives.NumeratorMean` of an episode's numerator.
    """

    def __init__(self, scaler: nn.Module | None) -> None:
        super().__init__()
        self.scaler = nn.Identity() if scaler is None else scaler

    @property
    def row_dtype(self) -> torch.dtype:
        """What rows to give as: the scaler's type, so that no digit is lost before it, or else the weights'."""
        return next(self.scaler.buffers(), next(self.parameters())).dtype

    def begin(self, rows: Float[Tensor, "n d"]) -> None:
        """Take from the normal rows what must be known before training starts; here nothing."""

    @abstractmethod
    def errors(self, rows: Float[Tensor, "... n d"]) -> Float[Tensor, "... n"]:
        """Give the error of each row."""

    def forward(self, episode: Episode) -> Float[Tensor, "... n"]:
        """Give the errors of the query's rows; the support is not looked at."""
        return self.errors(episode.query.rows)


class Autoencoder(OneClassNetwork):
    """Encoder and decoder; the error of a row is its squared distance to its reconstruction.

    Parameters
    ----------
    n_features : int
        Number of columns of an instance.
    latent_dim : int
        Length of the code between the two.
    width : int
        Hidden width.
    depth : int
        Number of layers of each.
    generator : torch.Generator, optional
        Where the start is drawn from.
    scaler : nn.Module, optional
        Applied to every row first: `Standardiser`. The error is that of the scaled row.

    Examples
    --------
    >>> import torch
    >>> from fewratio.nn import Autoencoder
    >>> Autoencoder(n_features=3, latent_dim=2).errors(torch.zeros(5, 3)).shape
    torch.Size([5])
    """

    def __init__(
        self,
        n_features: int,
        latent_dim: int,
        width: int = 100,
        depth: int = 4,
        generator: torch.Generator | None = None,
        scaler: nn.Module | None = None,
    ) -> None:
        super().__init__(scaler)
        hidden = [width] * (depth - 1)
        self.encoder = mlp([n_features, *hidden, latent_dim], generator)
        self.decoder = mlp([latent_dim, *hidden, n_features], generator)

    def errors(self, rows: Float[Tensor, "... n d"]) -> Float[Tensor, "... n"]:
        """Give the squared reconstruction error of each row."""
        x = self.scaler(rows)
        return (self.decoder(self.encoder(x)) - x).square().sum(-1)


class DeepSVDD(OneClassNetwork):
    """Network that draws normal rows to a fixed centre (Ruff et al. 2018); the error is the squared distance to it.

    The layers have no bias: with one, the network could map everything onto the centre and know nothing. There is no
    weight decay (theirs is 1e-6); how long to train bounds the weights here.

    Parameters
    ----------
    n_features : int
        Number of columns of an instance.
    latent_dim : int
        Number of outputs.
    width : int
        Hidden width.
    depth : int
        Number of layers.
    generator : torch.Generator, optional
        Where the start is drawn from.
    scaler : nn.Module, optional
        Applied to every row first: `Standardiser`.

    Attributes
    ----------
    centre : Tensor of shape (latent_dim,)
        NaN until `begin`, and fixed after that: a network trained further keeps it.

    Examples
    --------
    >>> import torch
    >>> from fewratio.nn import DeepSVDD
    >>> network = DeepSVDD(n_features=3, latent_dim=2)
    >>> network.begin(torch.ones(5, 3))
    >>> network.errors(torch.zeros(4, 3)).shape
    torch.Size([4])
    """

    centre: Tensor

    def __init__(
        self,
        n_features: int,
        latent_dim: int,
        width: int = 100,
        depth: int = 4,
        generator: torch.Generator | None = None,
        scaler: nn.Module | None = None,
    ) -> None:
        super().__init__(scaler)
        self.network = mlp([n_features, *[width] * (depth - 1), latent_dim], generator, bias=False)
        self.register_buffer("centre", torch.full((latent_dim,), torch.nan))

    @torch.no_grad()
    def begin(self, rows: Float[Tensor, "n d"]) -> None:
        """Put the centre at the mean of the network's outputs on the normal rows.

        A coordinate near zero is moved away from it: weights of zero would reach a centre of zero.
        """
        total = sum(self.network(self.scaler(block)).double().sum(-2) for block in rows.split(_BLOCK_ROWS, dim=-2))
        mean = total / rows.shape[-2]
        sign = torch.where(mean < 0, -1.0, 1.0)
        self.centre.copy_(sign * mean.abs().clamp_min(CENTRE_MARGIN))

    def errors(self, rows: Float[Tensor, "... n d"]) -> Float[Tensor, "... n"]:
        """Give the squared distance of each row's output to the centre."""
        return (self.network(self.scaler(rows)) - self.centre).square().sum(-1)
