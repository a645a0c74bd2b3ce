"""Base classes of the methods in the benchmark."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import joblib
import numpy as np
import torch
from torch import Tensor

from fewratio.core.draws import seed_for
from fewratio_bench.evaluate import Judgement, judge_values
from fewratio_bench.problems import Problem, Trial

Parameters = dict[str, Any]
Case = TypeVar("Case")
Result = TypeVar("Result")

# The paper's grid of regularisers.
REGS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# A quick run shortens trainings of several tasks per step by this factor.
QUICKER = 50
# The paper's numbers of fine-tuning steps.
STEPS = (1, 5, 10, 20, 30, 40, 50, 100, 200, 300, 400, 500)
_QUICK_STEPS = (10, 50, 200)


@dataclass(frozen=True)
class Bench:
    """Settings of a run.

    Attributes
    ----------
    device : str
        Device to train on.
    folder : Path or None
        Folder for checkpoints; None to write no checkpoints.
    progress : bool, optional
        Whether to show progress bars; by default on a terminal.
    n_jobs : int
        Number of training processes on a CPU.
    trained : dict
        Trained models, which methods that differ only on the target share.
    """

    device: str
    folder: Path | None = None
    progress: bool | None = None
    n_jobs: int = 1
    trained: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)

    def checkpoint(self, *training: str | int) -> Path | None:
        """Return the file from which to resume an interrupted training; None if checkpoints are not possible."""
        # Checkpoints need safetensors, which may not be installed.
        if self.folder is None or not find_spec("safetensors"):
            return None
        return self.folder / f".{seed_for(*training):x}.checkpoint"

    def train(
        self,
        train: Callable[[list[Case], Path | None], list[Result]],
        cases: Sequence[Case],
        is_complete: Callable[[Result], bool],
        *training: str | int,
    ) -> list[Result]:
        """Train for some cases, in as many processes as are allowed; on a GPU that is one.

        Parameters
        ----------
        train : callable
            ``train(cases, checkpoint)`` trains for some of the cases together, and returns a result for each.
        cases : sequence
            The cases to train for.
        is_complete : callable
            Returns whether the training of a result is complete.
        *training : str or int
            Identifies the training and its checkpoint.

        Raises
        ------
        KeyboardInterrupt
            If a training was interrupted, since half-trained models are not evaluated. The checkpoints are kept.
        """
        n_jobs = 1 if torch.device(self.device).type == "cuda" else min(self.n_jobs, len(cases))
        parts = [[cases[number] for number in part] for part in np.array_split(np.arange(len(cases)), n_jobs)]
        checkpoints = [self.checkpoint(*training, n_jobs, number) for number in range(n_jobs)]
        # Processes share the cores: joblib gives each its part of the threads.
        done = joblib.Parallel(n_jobs)(map(joblib.delayed(train), parts, checkpoints))
        results = [result for part in done for result in part]
        if not all(map(is_complete, results)):
            raise KeyboardInterrupt
        for checkpoint in filter(None, checkpoints):
            # Networks of several kinds have a file each.
            for file in checkpoint.parent.glob(f"{checkpoint.name}*"):
                file.unlink()
        return results


class Verdict(NamedTuple):
    """A judgement with its circumstances.

    Attributes
    ----------
    trial : Trial
        The trial, a split and a size.
    role : {"validation", "target"}
        The evaluation of the trial.
    parameters : dict
        The setting, one of `Method.settings`.
    judgement : Judgement
        The result of the method.
    seconds : float
        Time for learning (shared equally by the members of an ensemble) and for evaluation.
    seed : int
        Seed of the method; 0 if it is not random.
    """

    trial: Trial
    role: str
    parameters: Parameters
    judgement: Judgement
    seconds: float
    seed: int


def quick_steps(steps: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of steps of a quick run: of what goes to the end alone, the last."""
    return _QUICK_STEPS[-len(steps) :]


def by_split(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Group trials, which are in the order of their splits, by the split that they are of."""
    return [list(group) for _, group in groupby(trials, key=lambda trial: trial.split.number)]


@dataclass(frozen=True)
class Method(ABC):
    """A row of a table.

    Attributes
    ----------
    name : str
        Name in our tables.
    published : str or None
        Name in the paper's tables, if it is a method of the paper.
    """

    name: str
    published: str | None

    @property
    def rule(self) -> str:
        """How the paper selects its setting: "best_on_test", as for most baselines, or "validation"."""
        return "best_on_test"

    @property
    def criterion(self) -> str | None:
        """The metric for selection on validation, if it differs from that of the table."""
        return None

    def quick(self) -> Self:
        """Return the method with a small grid and a short training, or unchanged if it is quick already."""
        return self

    @abstractmethod
    def settings(self, problem: Problem) -> list[Parameters]:
        """Return every setting of the method's grid, as records hold them."""

    @abstractmethod
    def judge(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Verdict]:
        """Judge some trials of one problem, in all roles, at every setting."""


class Ratios(NamedTuple):
    """The ratios of the members of a method for all tasks of an evaluation.

    Attributes
    ----------
    trial, role, seconds, seed
        As in a `Verdict`.
    support, query : Tensor of shape (member, task, n)
        The ratios at the rows of the support, and of the query.
    """

    trial: Trial
    role: str
    support: Tensor
    query: Tensor
    seconds: float
    seed: int


class RatioMethod(Method):
    """A method with one setting whose ratio is the mean of its members'; those of several can be joined (`Joined`)."""

    alpha: float

    @abstractmethod
    def ratios(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Ratios]:
        """Return the ratios of some trials of one problem, in their order, in all roles."""

    def judge(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Verdict]:
        """Judge with the ratios."""
        (setting,) = self.settings(trials[0].problem)
        for trial, role, support, query, seconds, seed in self.ratios(trials, bench):
            judgement = judge_values(support.mean(0), query.mean(0), trial.evaluations[role].episode, self.alpha)
            yield Verdict(trial, role, setting, judgement, seconds, seed)
