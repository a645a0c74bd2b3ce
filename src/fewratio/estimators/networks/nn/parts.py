"""The parts of a ratio model: what describes a pair (Eq. 1), features (Eq. 2), and the weights w(S) (Eq. 5)."""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from fewratio.core.kernels import gaussian_kernel, median_distance
from fewratio.core.ridge import ridge_weights
from fewratio.core.shapes import Bool, Float
from fewratio.errors import ParameterError
from fewratio.estimators.networks.nn.mlp import linear, mlp, uniform_
from fewratio.estimators.networks.pair import Pair

POOLINGS = ("mean", "sum", "attention")
# Below this the solve is dominated by rounding in the features themselves.
SMALLEST_REG = 1e-6


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
        Draws the initial weights.
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
        """Return [z_nu, z_de] for each task."""
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
    """An encoder without output, for the ablation without latent vectors."""

    n_outputs = 0

    def forward(self, support: Pair) -> None:
        """Return nothing."""
        return None


class MLPFeatures(nn.Module):
    """Features h([x, z_nu, z_de]) of a feed-forward network with positive outputs (Eq. 2).

    The first layer is kept as its x part and its z part: z is the same for all instances of a task, so its part is
    computed once per task instead of once per instance. Sums and ReLUs are taken in place: memory is a CPU's limit.

    Parameters
    ----------
    n_features : int
        Number of columns of an instance.
    n_latent : int
        Length of the encoder's output; 0 for `NoEncoder`.
    width : int
        Hidden width.
    depth : int
        Number of layers.
    n_outputs : int
        Number T of features.
    generator : torch.Generator, optional
        Draws the initial weights.
    """

    def __init__(
        self,
        n_features: int,
        n_latent: int = 0,
        width: int = 100,
        depth: int = 3,
        n_outputs: int = 100,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.n_outputs = n_outputs
        sizes = [*[width] * (depth - 1), n_outputs]
        fan_in = n_features + n_latent
        self.from_x = linear(n_features, sizes[0], generator, bias=not n_latent, fan_in=fan_in)
        self.from_z = linear(n_latent, sizes[0], generator, fan_in=fan_in) if n_latent else None
        self.rest = nn.ModuleList(linear(n_in, n_out, generator) for n_in, n_out in pairwise(sizes))

    def forward(
        self, x: Float[Tensor, "... n d"], support: Pair, z: Float[Tensor, "... z"] | None, index: Tensor | None = None
    ) -> Float[Tensor, "... n t"]:
        """Return the features of instances ``x`` of the task with vectors ``z``."""
        h = self.from_x(x)
        if self.from_z is not None:
            h = h.add_(self.from_z(z).unsqueeze(-2))
        for layer in self.rest:
            h = (h.relu_() @ layer.weight.mT).add_(layer.bias)
        return softplus(h)


class GaussianFeatures(nn.Module):
    """Gaussian kernel between x and the support instances (RuLSIF's features).

    Parameters
    ----------
    sigma : float, optional
        Width; by default the median distance within each task's joined support.
    centres : Tensor of shape (t, d), optional
        Centres of the kernels for all tasks; by default the support instances of each task.
    """

    centres: Tensor | None

    def __init__(self, sigma: float | None = None, centres: Tensor | None = None) -> None:
        super().__init__()
        self.sigma = sigma
        self.register_buffer("centres", centres)

    def forward(
        self, x: Float[Tensor, "... n d"], support: Pair, z: None, index: Tensor | None = None
    ) -> Float[Tensor, "... n t"]:
        """Return the kernel of instances ``x`` with every centre; of support instances, the numerator's come first."""
        sigma = median_distance(support.rows, support.shares.sum(-2) > 0) if self.sigma is None else self.sigma
        if self.centres is not None:
            return gaussian_kernel(x, self.centres, sigma)
        # A padded support row is no centre.
        real = support.shares.sum(-2, keepdim=True) > 0
        return gaussian_kernel(x, support.rows, sigma) * real


class Standardiser(nn.Module):
    """Centres and scales every column with statistics of the source datasets.

    Parameters
    ----------
    mean, scale : Tensor of shape (d,)
        The means to subtract, and the scales to divide by afterwards.
    dtype : torch.dtype, optional
        Type of the result. With float64 statistics and rows, columns far from zero (a time stamp) keep their digits
        until their mean is subtracted.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, mean: Tensor, scale: Tensor, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.dtype = dtype
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)

    def forward(self, x: Float[Tensor, "... n d"]) -> Float[Tensor, "... n d"]:
        """Standardise the rows of ``x``."""
        return ((x - self.mean) / self.scale).to(self.dtype or x.dtype)


class RidgeHead(nn.Module):
    """Weights in closed form (Eq. 5).

    Parameters
    ----------
    alpha : float
        Relative parameter of the adaptation.
    reg : float
        The regulariser lambda, or its initial value if it is learned.
    learn_reg : bool
        Whether lambda is trained, through its logarithm.
    learn_alpha : bool
        Whether alpha is trained, through its logit, which requires 0 < alpha < 1.
    n_latent : int
        Length of the output of the encoder, which modifies lambda; 0 for the same lambda in all tasks.
    """

    def __init__(
        self, alpha: float = 0.5, reg: float = 1.0, learn_reg: bool = True, learn_alpha: bool = False, n_latent: int = 0
    ) -> None:
        super().__init__()
        if reg <= 0:
            raise ParameterError(f"reg is {reg}; it must be positive. Choose such a value.")
        if not (0 < alpha < 1 if learn_alpha else 0 <= alpha < 1):
            raise ParameterError(
                f"alpha is {alpha}; 0 <= alpha < 1 is needed, and more than 0 to learn it. Choose such a value."
            )
        self.log_reg = nn.Parameter(torch.tensor(math.log(reg)), requires_grad=learn_reg)
        self.alpha = alpha
        self.logit_alpha = nn.Parameter(torch.tensor(math.log(alpha / (1 - alpha)))) if learn_alpha else None
        # Starts as the same lambda for all.
        self.by_latent = nn.Parameter(torch.zeros(n_latent)) if n_latent else None

    def forward(
        self,
        phi: Float[Tensor, "... n t"],
        shares: Float[Tensor, "... 2 n"],
        z: Float[Tensor, "... z"] | None = None,
        alpha: Float[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "... t"]:
        """Return the weights for the support's features; a task's own ``alpha`` comes before the head's."""
        log_reg = self.log_reg if self.by_latent is None or z is None else self.log_reg + z @ self.by_latent
        common = self.alpha if self.logit_alpha is None else self.logit_alpha.sigmoid()
        relative = common if alpha is None else alpha.unsqueeze(-1)
        return ridge_weights(phi, shares, relative, log_reg.exp().clamp_min(SMALLEST_REG))


class SharedHead(nn.Module):
    """The same learned weights for every task: the support is ignored.

    Parameters
    ----------
    n_outputs : int
        Number T of features.
    """

    def __init__(self, n_outputs: int) -> None:
        super().__init__()
        # Starts at the mean of the features: a ratio of about softplus(0) / ln 2 = 1 everywhere.
        self.weights = nn.Parameter(torch.full((n_outputs,), 1 / (n_outputs * math.log(2))))

    def forward(
        self, phi: Float[Tensor, "... n t"], shares: Float[Tensor, "... 2 n"], z: object = None, alpha: object = None
    ) -> Float[Tensor, "... t"]:
        """Return the learned weights, once per task."""
        return self.weights.expand(*phi.shape[:-2], -1)
