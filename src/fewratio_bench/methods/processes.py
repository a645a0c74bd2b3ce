"""Trainings in several processes of a CPU."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import joblib
import numpy as np
import torch

from fewratio_bench.methods.base import Bench

Case = TypeVar("Case")
Result = TypeVar("Result")


def train_in_processes(
    train: Callable[[list[Case], Path | None], list[Result]],
    cases: Sequence[Case],
    is_complete: Callable[[Result], bool],
    bench: Bench,
    *training: str | int,
) -> list[Result]:
    """Train for some cases, in as many processes as the bench allows; on a GPU that is one.

    Parameters
    ----------
    train : callable
        ``train(cases, checkpoint)`` trains for some of the cases together, and gives a result for each.
    cases : sequence
        What to train for.
    is_complete : callable
        Whether the training of a result went to its end.
    bench : Bench
        Where and how to run.
    *training : str or int
        What the training is of; a checkpoint is known by that.

    Raises
    ------
    KeyboardInterrupt
        If a training was interrupted: a half-trained model is not measured as if it were done. The checkpoints stay.
    """
    n_jobs = 1 if torch.device(bench.device).type == "cuda" else min(bench.n_jobs, len(cases))
    parts = [[cases[number] for number in part] for part in np.array_split(np.arange(len(cases)), n_jobs)]
    checkpoints = [bench.checkpoint(*training, n_jobs, number) for number in range(n_jobs)]
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
