"""Early stopping, member by member, and the record of a training."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class History:
    """What happened in a training.

    Attributes
    ----------
    step, train, validation, standard_error : list
        At each look: the step, the mean training loss since the last look, the mean validation loss and its standard
        error over the validation episodes.
    best_step, best_validation, best_standard_error : int, float, float
        The look whose weights were kept.
    stopped : str
        Why it ended: "max_steps", "patience" or "interrupted".
    seconds : float
        How long it took, earlier parts of a resumed training included.
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
        """Give the record as plain values."""
        return asdict(self)


class EarlyStopping:
    """Follows the validation loss of each member of an ensemble.

    Parameters
    ----------
    n_members : int
        Number of members.
    patience : int, optional
        A member is done after so many looks without a better one. Later looks no longer count for it, as if it had been
        trained alone and stopped there.
    """

    def __init__(self, n_members: int, patience: int | None = None) -> None:
        self.patience = patience
        self.histories = [History() for _ in range(n_members)]

    def look(
        self, step: int, train: Sequence[float], validation: Sequence[float], error: Sequence[float]
    ) -> list[bool]:
        """Take one look and say which members have improved."""
        improved = []
        for history, *values in zip(self.histories, train, validation, error, strict=True):
            improved.append(not self._exhausted(history) and self._record(history, step, *values))
        return improved

    @property
    def done(self) -> bool:
        """Whether every member has run out of patience."""
        return all(self._exhausted(history) for history in self.histories)

    def finish(self, interrupted: bool, seconds: float) -> None:
        """Note why each member ended."""
        for history in self.histories:
            history.seconds = seconds
            if self._exhausted(history):
                history.stopped = "patience"
            else:
                history.stopped = "interrupted" if interrupted else "max_steps"

    def _exhausted(self, history: History) -> bool:
        if self.patience is None:
            return False
        since = sum(step > history.best_step for step in history.step)
        return since >= self.patience

    @staticmethod
    def _record(history: History, step: int, train: float, validation: float, error: float) -> bool:
        history.step.append(step)
        history.train.append(train)
        history.validation.append(validation)
        history.standard_error.append(error)
        # NaN compares false, so a training that has gone astray never replaces good weights.
        if not validation < history.best_validation:
            return False
        history.best_step, history.best_validation, history.best_standard_error = step, validation, error
        return True
