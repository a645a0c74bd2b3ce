"""The training loop: the only place in the package with a gradient step."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from numpy.typing import NDArray
from torch import Tensor

from fewratio.core.objectives import EpisodeObjective, Objective
from fewratio.core.pair import Episode
from fewratio.core.tensorfile import read_tensors, write_tensors
from fewratio.errors import ModelFileError
from fewratio.optim.ensemble import Ensemble
from fewratio.optim.graphs import GraphedStep
from fewratio.optim.stopping import EarlyStopping, History, standard_error
from fewratio.progress import deferred_interrupt, progress_bar


class ValidationEpisodes(Protocol):
    """Fixed episodes, in batches that fit in memory; leading axes (member, task)."""

    @property
    def tasks(self) -> NDArray[Any] | None:
        """Which two datasets each task is of, shape (member, task, 2); None for tasks that share nothing."""

    def batches(self) -> Iterable[Episode]:
        """Give the episodes, the same every time."""


@dataclass(frozen=True)
class TrainingPlan:
    """How to train.

    Parameters
    ----------
    max_steps : int
        Number of gradient steps at most.
    learning_rate : float
        Adam's.
    weight_decay : float
        Share of each weight matrix, times the learning rate, that a step takes off it (AdamW); nothing else decays.
    validate_every : int
        Steps between validations.
    patience : int, optional
        Validations without improvement before stopping; by default all steps are taken. The weights of the best
        validation are kept.
    show_progress : bool, optional
        By default where standard error is a terminal.
    capture : bool
        Whether steps on a GPU are captured as one CUDA graph: faster where they are small.
    checkpoint : path, optional
        File to write the state to now and then, and to resume from if it is there.
    checkpoint_seconds : float
        Time between two checkpoints.
    identity : str
        What the training is of; a checkpoint of another identity is refused.
    """

    max_steps: int = 10_000
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    validate_every: int = 100
    patience: int | None = None
    show_progress: bool | None = None
    capture: bool = True
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_seconds: float = 30.0
    identity: str = ""


def train(
    ensemble: Ensemble,
    draw: Callable[[Tensor], Episode],
    validation: ValidationEpisodes,
    objective: Objective,
    plan: TrainingPlan,
) -> list[History]:
    """Train every member on its own episodes and leave it with the weights of its best validation.

    Parameters
    ----------
    ensemble : Ensemble
        What to train; one model is an ensemble of one.
    draw : callable
        Gives the training episodes of a step, as a pure function of the step's number (a tensor on the device).
    validation : ValidationEpisodes
        What early stopping goes by.
    objective : Objective
        The query loss.
    plan : TrainingPlan
        Steps, rates, stopping, checkpoints.

    Returns
    -------
    list of History
        One per member.
    """
    training = Training(ensemble, draw, validation, objective, plan)
    training.resume()
    description = "training" if ensemble.size == 1 else f"training {ensemble.size} models"
    with deferred_interrupt() as interrupted, progress_bar(plan.max_steps, description, plan.show_progress) as report:
        training.run(interrupted, report)
        # Before a last validation between the regular ones: a resumed training must not know of it.
        training.save()
        if training.step % plan.validate_every:
            training.validate()
        training.stopping.finish(interrupted(), training.seconds)
    ensemble.restore_best()
    return training.stopping.histories


def train_in_stages(
    ensemble: Ensemble,
    draw: Callable[[Tensor], Episode],
    objective: Objective,
    stages: Sequence[int],
    learning_rate: float = 1e-3,
) -> Iterator[int]:
    """Train with nothing to validate on, pausing after each of these numbers of steps.

    For models that know nothing but a target: how long to train them is then a parameter, chosen elsewhere. At each
    pause `Ensemble.evaluate` evaluates the weights of that moment (and a lone model simply has them).

    Parameters
    ----------
    ensemble : Ensemble
        What to train.
    draw : callable
        Gives the training episodes of a step, as in `train`.
    objective : Objective
        The query loss.
    stages : sequence of int
        Numbers of steps, rising; 0 pauses before the first.
    learning_rate : float
        Adam's.
    """
    training = Training(ensemble, draw, None, objective, TrainingPlan(learning_rate=learning_rate))
    for stage in stages:
        while training.step < stage:
            training.advance()
            training.step += 1
        yield stage


@dataclass
class Training:
    """The state of a training: weights, Adam's moments, the step, the best validation so far."""

    ensemble: Ensemble
    draw: Callable[[Tensor], Episode]
    validation: ValidationEpisodes | None
    objective: Objective
    plan: TrainingPlan

    def __post_init__(self) -> None:
        ensemble, plan = self.ensemble, self.plan
        self.stopping = EarlyStopping(ensemble.size, plan.patience)
        on_gpu = ensemble.device.type == "cuda"
        matrices, others = ensemble.parameters
        # One group is faster than two.
        decays = ((matrices, plan.weight_decay), (others, 0.0)) if plan.weight_decay else (([*matrices, *others], 0.0),)
        groups = [{"params": parameters, "weight_decay": decay} for parameters, decay in decays if parameters]
        self.optimizer = torch.optim.AdamW(groups, lr=plan.learning_rate, fused=True, capturable=on_gpu)
        self.step = 0
        self._started = time.monotonic()
        # What the step reads and writes stays on the device, so that it can be captured.
        self.counter = torch.zeros((), dtype=torch.int64, device=ensemble.device)
        self.loss_sum = torch.zeros(ensemble.size, device=ensemble.device)
        self.advance: Callable[[], None] = self._gradient_step
        if on_gpu and plan.capture:
            self.advance = GraphedStep(self._gradient_step)

    def run(self, interrupted: Callable[[], bool], report: Callable[[int, float | None], None]) -> None:
        """Step until the plan is fulfilled, nothing improves any more, or Ctrl-C."""
        last_save = time.monotonic()
        report(self.step, None)
        while self.step < self.plan.max_steps and not self.stopping.done and not interrupted():
            self.advance()
            self.step += 1
            due = self.step % self.plan.validate_every == 0
            if due:
                self.validate()
            if due or self.step % 20 == 0:
                best = [history.best_validation for history in self.stopping.histories]
                report(self.step, sum(best) / len(best) if due else None)
            if due and time.monotonic() - last_save > self.plan.checkpoint_seconds:
                self.save()
                last_save = time.monotonic()

    @property
    def seconds(self) -> float:
        """Time spent, earlier parts of a resumed training included."""
        return time.monotonic() - self._started

    def _gradient_step(self) -> None:
        episode = self.draw(self.counter)
        values, objective = self.ensemble(episode), self.objective
        if isinstance(objective, EpisodeObjective):
            losses = objective.on(values, episode).mean(-1)
        else:
            losses = objective(values, episode.query.shares).mean(-1)
        self.optimizer.zero_grad()
        losses.sum().backward()
        self.optimizer.step()
        self.ensemble.average(self.counter)
        self.loss_sum += losses.detach()
        self.counter += 1

    @torch.no_grad()
    def validate(self) -> None:
        """Evaluate the validation episodes and keep the weights of members that have improved."""
        assert self.validation is not None
        parts = [
            self.objective(self.ensemble.evaluate(episode), episode.query.shares)
            for episode in self.validation.batches()
        ]
        losses, tasks = torch.cat(parts, dim=-1).double(), self.validation.tasks
        n_steps = self.step % self.plan.validate_every or self.plan.validate_every
        errors = standard_error(losses, None if tasks is None else torch.as_tensor(tasks, device=losses.device))
        columns = (self.loss_sum / n_steps, losses.mean(-1), errors)
        self.ensemble.keep(self.stopping.record(self.step, *(column.tolist() for column in columns)))
        self.loss_sum.zero_()

    def save(self) -> None:
        """Write the checkpoint, if one was asked for."""
        if self.plan.checkpoint is None:
            return
        header = {
            "identity": self.plan.identity,
            "step": self.step,
            "seconds": self.seconds,
            "histories": [history.to_dict() for history in self.stopping.histories],
        }
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in self._tensors().items()}
        write_tensors(self.plan.checkpoint, "checkpoint", arrays, header)

    def resume(self) -> None:
        """Continue from the checkpoint, if there is one."""
        path = self.plan.checkpoint
        if path is None or not os.path.exists(path):
            return
        arrays, header = read_tensors(path, "checkpoint")
        if header.get("identity") != self.plan.identity:
            raise ModelFileError(
                f"{path} is a checkpoint of a training with other data or settings, so this one cannot resume from it. "
                "Give another file name, or delete it to start afresh."
            )
        try:
            self._load({name: torch.from_numpy(array) for name, array in arrays.items()}, header)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ModelFileError(
                f"{path} does not fit this training ({error!r}). Delete it to start afresh, or use another copy."
            ) from error

    def _load(self, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
        self.step = header["step"]
        self._started -= header["seconds"]
        self.counter.fill_(self.step)
        self.ensemble.load_state(tensors)
        moments: dict[int, dict[str, Tensor]] = {}
        for name in tensors:
            if name.startswith("adam/"):
                _, i, moment = name.split("/")
                moments.setdefault(int(i), {})[moment] = tensors[name]
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": moments})
        self.loss_sum.copy_(tensors["loss_sum"])
        self.stopping.histories = [History(**history) for history in header["histories"]]

    def _tensors(self) -> dict[str, Tensor]:
        moments = {
            f"adam/{i}/{name}": tensor
            for i, state in self.optimizer.state_dict()["state"].items()
            for name, tensor in state.items()
        }
        return self.ensemble.state() | moments | {"loss_sum": self.loss_sum}
