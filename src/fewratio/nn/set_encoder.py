"""Dataset vectors: what is known of the two datasets as such (Eq. 1)."""

import torch
from torch import Tensor, nn

from fewratio.core.pair import Pair
from fewratio.core.shapes import Bool, Float
from fewratio.errors import ParameterError
from fewratio.nn.mlp import mlp, uniform_

POOLINGS = ("mean", "sum", "attention")


class SetEncoder(nn.Module):
    """Permutation-invariant encoder z = g(pool f(x)), applied to each side of a pair with the same f and g (Eq. 1).

    Parameters
    ----------
    n_features : int
        Number of columns of an instance.
    latent_dim : int
        Length K of a dataset's vector.
    width : int
        Hidden and output width of f, hidden width of g.
    instance_depth, set_depth : int
        Numbers of layers of f and of g.
    pooling : {"mean", "sum", "attention"}
        How f's outputs become one vector: their mean (the paper's), their sum, or a softmax-weighted mean with
        learned queries (pooling by multi-head attention).
    n_heads : int
        Attention heads; they divide ``width``.
    generator : torch.Generator, optional
        Where the start is drawn from.
    """

    def __init__(
        self,
        n_features: int,
        latent_dim: int = 32,
        width: int = 100,
        instance_depth: int = 3,
        set_depth: int = 2,
        pooling: str = "mean",
        n_heads: int = 4,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if pooling not in POOLINGS:
            raise ParameterError(f"pooling is {pooling!r}; {', '.join(POOLINGS)} are known. Use one of them.")
        self.pooling = pooling
        self.latent_dim = latent_dim
        self.instance = mlp([n_features, *[width] * instance_depth], generator)
        self.set = mlp([*[width] * set_depth, latent_dim], generator)
        if pooling == "attention":
            if width % n_heads:
                raise ParameterError(
                    f"width is {width}; attention pooling needs a multiple of {n_heads}, its number of heads. "
                    "Choose such a width."
                )
            self.query = nn.Parameter(torch.empty(n_heads, width // n_heads))
            uniform_(self.query, (width // n_heads) ** -0.5, generator)

    @property
    def n_outputs(self) -> int:
        """Length of what `forward` gives: both sides' vectors."""
        return 2 * self.latent_dim

    def forward(self, support: Pair) -> Float[Tensor, "... z"]:
        """Give [z_nu, z_de] for each task."""
        encoded = self.instance(support.rows)
        if self.pooling == "mean":
            pooled = support.shares @ encoded
        elif self.pooling == "sum":
            pooled = (support.shares > 0).to(encoded.dtype) @ encoded
        else:
            pooled = self._attend(encoded, support.shares > 0)
        return self.set(pooled).flatten(-2)

    def _attend(
        self, encoded: Float[Tensor, "... n width"], member: Bool[Tensor, "... 2 n"]
    ) -> Float[Tensor, "... 2 width"]:
        heads = encoded.unflatten(-1, self.query.shape)  # (..., n, head, width of a head)
        score = (heads * self.query).sum(-1) * self.query.shape[-1] ** -0.5
        score = score.mT.unsqueeze(-3).masked_fill(~member.unsqueeze(-2), -torch.inf)  # (..., side, head, n)
        return (score.softmax(-1).unsqueeze(-2) @ heads.transpose(-2, -3).unsqueeze(-4)).flatten(-3)


class NoEncoder(nn.Module):
    """Knows nothing of the datasets: the ablation without latent vectors."""

    n_outputs = 0

    def forward(self, support: Pair) -> None:
        """Give nothing."""
        return None
