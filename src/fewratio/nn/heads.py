"""How the weights w(S) of the linear ratio model are found from the support."""

import math

import torch
from torch import Tensor, nn

from fewratio.core.ridge import ridge_weights
from fewratio.core.shapes import Float
from fewratio.errors import ParameterError

# Below this the solve is dominated by rounding in the features themselves.
SMALLEST_REG = 1e-6


class RidgeHead(nn.Module):
    """Weights in closed form (Eq. 5).

    Parameters
    ----------
    alpha : float
        Relative parameter of the adaptation.
    reg : float
        The regulariser lambda; where training starts if it is learned.
    learn_reg : bool
        Whether lambda is trained, through its logarithm.
    learn_alpha : bool
        Whether alpha is trained, through its logit; 0 < alpha < 1 is needed then.
    n_latent : int
        Length of the encoder's output by which lambda is raised or lowered; 0 for the same lambda for all tasks.
    """

    def __init__(
        self,
        alpha: float = 0.5,
        reg: float = 1.0,
        learn_reg: bool = True,
        learn_alpha: bool = False,
        n_latent: int = 0,
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
        """Give the weights for the support's features; a task's own ``alpha`` comes before the head's."""
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
        """Give the learned weights, once per task."""
        return self.weights.expand(*phi.shape[:-2], -1)
