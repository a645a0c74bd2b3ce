"""The training loop: the only place in the package with a gradient step."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from numpy.typing import NDArray
from torch import Tensor

from fewratio.core.container import Arrays, read_tensors, write_tensors
from fewratio.core.objectives import EpisodeObjective, Objective
from fewratio.errors import ModelFileError, ParameterError
from fewratio.estimators.networks.optim.ensemble import Ensemble
from fewratio.estimators.networks.optim.graphs import GraphedStep
from fewratio.estimators.networks.optim.processes import ALONE, Processes
from fewratio.estimators.networks.optim.stopping import EarlyStopping, History, standard_error
from fewratio.estimators.networks.pair import Episode
from fewratio.progress import deferred_interrupt, progress_bar


class ValidationEpisodes(Protocol):
    """Fixed episodes, in batches that fit in memory; leading axes (member, task)."""

    @property
    def tasks(self) -> NDArray[Any] | None:
        """Which two datasets each task is of, shape (member, task, 2); None for tasks that share nothing."""

    def batches(self) -> Iterable[Episode]:
        """Return the episodes, the same every time."""


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
        Share of each weight matrix, times the learning rate, that a step subtracts (AdamW); nothing else decays.
    validate_every : int
        Steps between validations.
    patience : int, optional
        Validations without improvement before stopping; by default all steps are taken. The weights of the best
        validation are kept.
    show_progress : bool, optional
        By default where standard error is a terminal.
    capture : bool
        Whether to capture steps on a GPU as one CUDA graph: faster if they are small.
    checkpoint : path, optional
        File to write the state to now and then, and to resume from if it is there.
    checkpoint_seconds : float
        Time between two checkpoints.
    identity : str
        Identifies the training; a checkpoint, or another process, with a different identity is refused.
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

    If torchrun started several processes, each draws its part of the tasks (`Processes.part`). They share validations
    too, and end with the same weights.

    Parameters
    ----------
    ensemble : Ensemble
        What to train; one model is an ensemble of one.
    draw : callable
        Gives the training episodes of a step, as a pure function of the step's number (a tensor on the device).
    validation : ValidationEpisodes
        Decides early stopping.
    objective : Objective
        The query loss.
    plan : TrainingPlan
        Steps, rates, stopping, checkpoints.

    Returns
    -------
    list of History
        One per member.
    """
    training = TrainingRun(ensemble, draw, validation, objective, plan, Processes.from_launch())
    training.resume()
    description = "training" if ensemble.size == 1 else f"training {ensemble.size} models"
    with deferred_interrupt() as interrupted, progress_bar(plan.max_steps, description, plan.show_progress) as report:
        stopped = training.run(interrupted, report)
        # Before a last validation between the regular ones: a resumed training must not know of it.
        training.save()
        if training.step % plan.validate_every:
            training.validate()
        training.stopping.finish(stopped or (training.processes.alone and interrupted()), training.seconds)
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
    training = TrainingRun(ensemble, draw, None, objective, TrainingPlan(learning_rate=learning_rate))
    for stage in stages:
        while training.step < stage:
            training.advance()
            training.step += 1
        yield stage


@dataclass
class TrainingRun:
    """The state of a training: weights, Adam's moments, the step, the best validation so far."""

    ensemble: Ensemble
    draw: Callable[[Tensor], Episode]
    validation: ValidationEpisodes | None
    objective: Objective
    plan: TrainingPlan
    processes: Processes = ALONE

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
        captured = GraphedStep if on_gpu and plan.capture else lambda step: step
        self.advance: Callable[[], None] = captured(self._gradient_step)
        if not self.processes.alone:
            # The gradients of the others come between two graphs.
            self._halves = captured(self._find_gradients), captured(self._update)
            self.advance = self._step_together

    def run(self, interrupted: Callable[[], bool], report: Callable[[int, float | None], None]) -> bool:
        """Step until the plan is fulfilled, nothing improves any more, or Ctrl-C; return whether that ended it."""
        last_save, stopped = time.monotonic(), False
        report(self.step, None)
        while self.step < self.plan.max_steps and not self.stopping.done and not stopped:
            self.advance()
            self.step += 1
            due = self.step % self.plan.validate_every == 0
            if due:
                self.validate()
            if due or self.processes.alone:
                # All processes stop after the same step.
                stopped = self.processes.any(interrupted())
            if due or self.step % 20 == 0:
                best = [history.best_validation for history in self.stopping.histories]
                report(self.step, sum(best) / len(best) if due else None)
            if due and time.monotonic() - last_save > self.plan.checkpoint_seconds:
                self.save()
                last_save = time.monotonic()
        return stopped

    @property
    def seconds(self) -> float:
        """Time spent, earlier parts of a resumed training included."""
        return time.monotonic() - self._started

    def _gradient_step(self) -> None:
        self._find_gradients()
        self._update()

    def _step_together(self) -> None:
        find_gradients, update = self._halves
        find_gradients()
        gradients = (parameter.grad for group in self.optimizer.param_groups for parameter in group["params"])
        self.processes.average([self._losses, *(grad for grad in gradients if grad is not None)], self._n_tasks)
        update()

    def _find_gradients(self) -> None:
        episode = self.draw(self.counter)
        values, objective = self.ensemble(episode), self.objective
        if isinstance(objective, EpisodeObjective):
            losses = objective.on(values, episode)
        else:
            losses = objective(values, episode.query.shares)
        means = losses.mean(-1)
        self.optimizer.zero_grad()
        means.sum().backward()
        self._losses, self._n_tasks = means.detach(), losses.shape[-1]

    def _update(self) -> None:
        self.optimizer.step()
        self.ensemble.average(self.counter)
        self.loss_sum += self._losses
        self.counter += 1

    @torch.no_grad()
    def validate(self) -> None:
        """Evaluate the validation episodes and keep the weights of members that have improved."""
        assert self.validation is not None
        batches = [self._validation_losses(episode) for episode in self.validation.batches()]
        losses, tasks = self.processes.sum(torch.cat(batches, dim=-1)), self.validation.tasks
        n_steps = self.step % self.plan.validate_every or self.plan.validate_every
        errors = standard_error(losses, None if tasks is None else torch.as_tensor(tasks, device=losses.device))
        columns = (self.loss_sum / n_steps, losses.mean(-1), errors)
        self.ensemble.keep(self.stopping.record(self.step, *(column.tolist() for column in columns)))
        self.loss_sum.zero_()

    def _validation_losses(self, episode: Episode) -> Tensor:
        """Return the loss of each task; 0 for those of other processes."""
        part = self.processes.part
        losses = torch.zeros(episode.rows.shape[:2], dtype=torch.float64, device=episode.rows.device)
        if losses[:, part].numel():
            mine = episode if self.processes.alone else episode.tasks(part)
            losses[:, part] = self.objective(self.ensemble.evaluate(mine), mine.query.shares).double()
        return losses

    def save(self) -> None:
        """Write the checkpoint, if one was asked for."""
        if self.plan.checkpoint is None or not self.processes.is_first:
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
        identity, found = self.processes.call_in_first(lambda: (self.plan.identity, self._checkpoint()))
        if identity != self.plan.identity:
            raise ParameterError(
                "The processes that torchrun started have different data, settings or seeds, but must train the same. "
                "Give all of them the same, or start them without torchrun."
            )
        if found is None:
            return
        path, (arrays, header) = self.plan.checkpoint, found
        if header.get("identity") != identity:
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

    def _checkpoint(self) -> tuple[Arrays, dict[str, Any]] | None:
        path = self.plan.checkpoint
        return None if path is None or not os.path.exists(path) else read_tensors(path, "checkpoint")

    def _load(self, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
        self.step = header["step"]
        self._started -= header["seconds"]
        self.counter.fill_(self.step)
        self.ensemble.load_state(tensors)
        moments: dict[int, dict[str, Tensor]] = {}
        for name in tensors:
            if name.startswith("adam/"):
                _, i, moment = name.split("/")
                moments.setdefault(int(i), {})[moment] = self.ensemble.transpose(tensors[name]).contiguous()
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": moments})
        self.loss_sum.copy_(tensors["loss_sum"])
        self.stopping.histories = [History(**history) for history in header["histories"]]

    def _tensors(self) -> dict[str, Tensor]:
        moments = {
            f"adam/{i}/{name}": self.ensemble.transpose(tensor)
            for i, state in self.optimizer.state_dict()["state"].items()
            for name, tensor in state.items()
        }
        return self.ensemble.state() | moments | {"loss_sum": self.loss_sum}
