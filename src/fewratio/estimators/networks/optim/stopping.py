"""Early stopping, member by member, and the record of a training."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from fewratio.core.shapes import Float, Int


@dataclass
class History:
    """The record of a training.

    Attributes
    ----------
    step, train, validation, standard_error : list
        At each validation: the step, the mean training loss since the one before, the mean validation loss and its
        standard error over validation datasets (`standard_error`).
    best_step, best_validation, best_standard_error : int, float, float
        The validation whose weights were kept.
    stopped : str
        Why it ended: "max_steps", "patience" or "interrupted".
    seconds : float
        Duration, including earlier parts of a resumed training.
    """

    step: list[int] = field(default_factory=list)
    train: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    standard_error: list[float] = field(default_factory=list)
    best_step: int = 0
    best_validation: float = math.inf
    best_standard_error: float = math.nan
    stopped: str = "max_steps"
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values."""
        return asdict(self)


class EarlyStopping:
    """Follows the validation loss of each member of an ensemble.

    Parameters
    ----------
    n_members : int
        Number of members.
    patience : int, optional
        Validations without improvement before a member is stopped. Later ones no longer count for it, as if it had
        been trained alone and stopped there.
    """

    def __init__(self, n_members: int, patience: int | None = None) -> None:
        self.patience = patience
        self.histories = [History() for _ in range(n_members)]

    def record(
        self, step: int, train: Sequence[float], validation: Sequence[float], error: Sequence[float]
    ) -> list[bool]:
        """Take in a validation and say which members have improved."""
        return [
            not self._is_exhausted(history) and self._record(history, step, *values)
            for history, *values in zip(self.histories, train, validation, error, strict=True)
        ]

    @property
    def done(self) -> bool:
        """Whether every member has run out of patience."""
        return all(self._is_exhausted(history) for history in self.histories)

    def finish(self, interrupted: bool, seconds: float) -> None:
        """Note why each member ended."""
        for history in self.histories:
            history.seconds = seconds
            ended = "interrupted" if interrupted else "max_steps"
            history.stopped = "patience" if self._is_exhausted(history) else ended

    def _is_exhausted(self, history: History) -> bool:
        since = sum(step > history.best_step for step in history.step)
        return self.patience is not None and since >= self.patience

    @staticmethod
    def _record(history: History, step: int, train: float, validation: float, error: float) -> bool:
        history.step.append(step)
        history.train.append(train)
        history.validation.append(validation)
        history.standard_error.append(error)
        # NaN compares false, so a training that has diverged never replaces good weights.
        if not validation < history.best_validation:
            return False
        history.best_step, history.best_validation, history.best_standard_error = step, validation, error
        return True


def standard_error(
    losses: Float[Tensor, "member task"], tasks: Int[Tensor, "member task 2"] | None
) -> Float[Tensor, " member"]:
    """Return the standard error of the mean loss, over the choice of the datasets that the tasks are of.

    Tasks that share a dataset are not independent, so it is the jackknife's: how far the mean moves when all tasks of
    one dataset are left out. Without ``tasks`` each task counts as independent. NaN where there is one dataset only.
    """
    if tasks is None:
        return losses.std(-1) / losses.shape[-1] ** 0.5
    first, second = tasks.unbind(-1)
    # A task of a dataset with itself counts once.
    apart = (first != second).to(losses.dtype)
    shape = (len(losses), int(tasks.max()) + 1)
    sums, counts = (
        losses.new_zeros(shape).scatter_add(1, first, values).scatter_add(1, second, values * apart)
        for values in (losses, torch.ones_like(losses))
    )
    without = (losses.sum(-1, keepdim=True) - sums) / (losses.shape[-1] - counts)
    used = counts > 0
    n_used = used.sum(-1)
    centre = torch.where(used, without, 0).sum(-1) / n_used
    spread = torch.where(used, without - centre[:, None], 0).square().sum(-1)
    return ((n_used - 1) / n_used * spread).sqrt()
