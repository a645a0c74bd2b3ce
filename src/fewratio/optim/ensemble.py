"""Many independent models as one batched program."""

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from fewratio.core.pair import Episode, Pair
from fewratio.core.shapes import Float


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
        Where to train.
    """

    def __init__(self, models: Sequence[nn.Module], device: torch.device | str = "cpu") -> None:
        self.models = [model.to(device) for model in models]
        self.device = torch.device(device)
        if self.size == 1:
            # A lone model runs as itself: a stacked axis of one would only cost views.
            self._named: dict[str, Tensor] = dict(self.models[0].named_parameters())
        else:
            stacked, self._buffers = stack_module_state(self.models)
            self._named = dict(stacked)
            self._skeleton = deepcopy(self.models[0]).to("meta")
        self._best = [parameter.detach().clone() for parameter in self._named.values()]

    @property
    def size(self) -> int:
        """Number of members."""
        return len(self.models)

    @property
    def parameters(self) -> list[Tensor]:
        """What is trained: each parameter of the architecture, with an axis of members where there are several."""
        return [parameter for parameter in self._named.values() if parameter.requires_grad]

    def __call__(self, episode: Episode) -> Float[Tensor, "member task n"]:
        """Give the query ratios of every member on its own episodes; leading axes (member, task)."""
        if self.size == 1:
            ratio: Tensor = self.models[0](episode)
            return ratio

        def one(parameters: dict[str, Tensor], buffers: dict[str, Tensor], *tensors: Tensor) -> Tensor:
            pairs = zip(tensors[::2], tensors[1::2], episode, strict=True)
            mine = Episode(*(Pair.joined(rows, shares, pair.n_nu) for rows, shares, pair in pairs))
            ratio: Tensor = functional_call(self._skeleton, (parameters, buffers), (mine,))
            return ratio

        tensors = [tensor for pair in episode for tensor in (pair.rows, pair.shares)]
        # Shares without leading axes are every member's.
        mapped = [0 if tensor.dim() > 2 else None for tensor in tensors]
        return vmap(one, in_dims=(0, 0, *mapped))(self._named, self._buffers, *tensors)

    @torch.no_grad()
    def keep(self, improved: Sequence[bool]) -> None:
        """Copy the weights of the members that have just improved."""
        chosen = torch.as_tensor(improved, device=self.device)
        for best, now in zip(self._best, self._named.values(), strict=True):
            if self.size > 1:
                best[chosen] = now[chosen]
            elif chosen.item():
                best.copy_(now)

    @torch.no_grad()
    def restore_best(self) -> None:
        """Write the kept weights into the members."""
        for (name, _), best in zip(self._named.items(), self._best, strict=True):
            members = best if self.size > 1 else best.unsqueeze(0)
            for model, value in zip(self.models, members, strict=True):
                model.get_parameter(name).copy_(value)

    def state(self) -> dict[str, Tensor]:
        """Give the weights now and the best so far, by name, for a checkpoint."""
        best = dict(zip(self._named, self._best, strict=True))
        return {f"now/{n}": t for n, t in self._named.items()} | {f"best/{n}": t for n, t in best.items()}

    @torch.no_grad()
    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go back to what `state` gave."""
        for name, tensor in self.state().items():
            tensor.copy_(state[name])
