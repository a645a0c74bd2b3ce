"""Many independent models as one batched program."""

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from fewratio.core.shapes import Float
from fewratio.estimators.networks.pair import Episode


class Ensemble:
    """Models of one architecture, evaluated and trained together on episodes with a leading axis of members.

    Members share nothing: their losses are added, so each gets its own gradient, and Adam works element by element.
    They may differ in whatever their parameters and buffers hold (start, lambda, standardisation) and in the
    episodes they are given (seed, split).

    Parameters
    ----------
    models : sequence of nn.Module
        The members; `restore_best` writes the best weights back into them.
    device : torch.device or str
        Device to train on.
    averaging : float
        Decay of the running average of the weights that is validated and kept in their stead; 0 for the weights as they
        are. It averages over about 1 / (1 - averaging) steps.
    """

    def __init__(self, models: Sequence[nn.Module], device: torch.device | str = "cpu", averaging: float = 0.0) -> None:
        self.models = [model.to(device) for model in models]
        self.device = torch.device(device)
        if self.size == 1:
            # A lone model runs as itself: a stacked axis of one would only cost views.
            self._named: dict[str, Tensor] = dict(self.models[0].named_parameters())
        else:
            stacked, self._buffers = stack_module_state(self.models)
            # Each matrix is kept transposed, contiguous as its gradient comes (that of ``x @ weight.mT``), which would
            # be copied at every step otherwise.
            self._named = {
                name: self.transpose(stack.detach()).contiguous().requires_grad_(stack.requires_grad)
                for name, stack in stacked.items()
            }
            self._skeleton = deepcopy(self.models[0]).to("meta")
        self._averaging = averaging
        self._average = {name: tensor.detach().clone() for name, tensor in self._named.items()} if averaging else None
        self._best = [parameter.detach().clone() for parameter in self._named.values()]

    @property
    def size(self) -> int:
        """Number of members."""
        return len(self.models)

    @property
    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        """What is trained: weight matrices, and all else (biases, lambda, a learned alpha), which must not decay.

        Each has an axis of members where there are several.
        """
        trained = [(name, parameter) for name, parameter in self._named.items() if parameter.requires_grad]
        matrices = {name for name, parameter in self.models[0].named_parameters() if parameter.dim() >= 2}
        return [p for name, p in trained if name in matrices], [p for name, p in trained if name not in matrices]

    def transpose(self, tensor: Tensor) -> Tensor:
        """Return what is trained, or is as large, as the models have it, or back: stacked matrices are transposed."""
        return tensor.mT if self.size > 1 and tensor.dim() == 3 else tensor

    @property
    def _candidate(self) -> dict[str, Tensor]:
        """The weights that are validated and kept: the average where there is one."""
        return self._named if self._average is None else self._average

    def __call__(self, episode: Episode) -> Float[Tensor, "member task n"]:
        """Return the query ratios of every member on its own episodes; leading axes (member, task)."""
        return self.models[0](episode) if self.size == 1 else self._stack(self._named, episode)

    def evaluate(self, episode: Episode) -> Float[Tensor, "member task n"]:
        """Return the query ratios by the weights that would be kept."""
        if self.size == 1:
            return functional_call(self.models[0], self._candidate, (episode,))
        return self._stack(self._candidate, episode)

    def _stack(self, named: dict[str, Tensor], episode: Episode) -> Tensor:
        parameters = {name: self.transpose(tensor) for name, tensor in named.items()}

        def one(state: tuple[dict[str, Tensor], ...], alpha: Tensor | None, *parts: Tensor) -> Tensor:
            sizes = episode.support.n_nu, episode.query.n_nu
            rows, support, query = parts
            mine = Episode.from_joined(rows, support, query, *sizes, alpha, episode.support_index)
            return functional_call(self._skeleton, state, (mine,))

        tensors = (episode.rows, episode.support.shares, episode.query.shares)
        # Shares without leading axes are every member's.
        mapped = [0 if tensor.dim() > 2 else None for tensor in tensors]
        alphas = None if episode.alpha is None else 0
        return vmap(one, in_dims=(0, alphas, *mapped))((parameters, self._buffers), episode.alpha, *tensors)

    @torch.no_grad()
    def average(self, step: Tensor) -> None:
        """Take the weights after a step (a tensor on the device) into the running average."""
        if self._average is None:
            return
        # A plain mean at first, so that the start is soon forgotten.
        weight = (1 / (step + 1)).clamp_min(1 - self._averaging)
        for average, now in zip(self._average.values(), self._named.values(), strict=True):
            average.lerp_(now, weight.to(now.dtype))

    @torch.no_grad()
    def keep(self, improved: Sequence[bool]) -> None:
        """Copy the weights of the members that have just improved."""
        chosen = torch.as_tensor(improved, device=self.device)
        for best, now in zip(self._best, self._candidate.values(), strict=True):
            if self.size > 1:
                best[chosen] = now[chosen]
            elif chosen.item():
                best.copy_(now)

    @torch.no_grad()
    def restore_best(self) -> None:
        """Write the kept weights into the members."""
        for (name, _), best in zip(self._named.items(), self._best, strict=True):
            members = self.transpose(best) if self.size > 1 else best.unsqueeze(0)
            for model, value in zip(self.models, members, strict=True):
                model.get_parameter(name).copy_(value)

    def state(self) -> dict[str, Tensor]:
        """Return the weights now and the best so far, by name, for a checkpoint."""
        parts = {"now": self._named, "best": dict(zip(self._named, self._best, strict=True))}
        if self._average is not None:
            parts["average"] = self._average
        return {
            f"{part}/{name}": self.transpose(tensor) for part, named in parts.items() for name, tensor in named.items()
        }

    @torch.no_grad()
    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` gave."""
        for name, tensor in self.state().items():
            tensor.copy_(state[name])
