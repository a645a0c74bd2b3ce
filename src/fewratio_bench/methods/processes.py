"""Trainings in several processes of a CPU."""

from collections.abc import Sequence
from typing import TypeVar

import torch

from fewratio_bench.methods.base import Bench

Thing = TypeVar("Thing")


def dealt_out(things: Sequence[Thing], bench: Bench) -> list[Sequence[Thing]]:
    """Deal things out to the processes that train them; on a GPU that is one."""
    n_jobs = 1 if torch.device(bench.device).type == "cuda" else min(bench.n_jobs, len(things))
    return [things[part::n_jobs] for part in range(n_jobs)]


def put_together(parts: Sequence[Sequence[Thing]]) -> list[Thing]:
    """Give what was dealt out in its order."""
    return [parts[number % len(parts)][number // len(parts)] for number in range(sum(map(len, parts)))]


def use_one_thread_of(n_processes: int) -> None:
    """Take one thread where there are several processes: more than there are cores are much slower than one."""
    if n_processes > 1:
        torch.set_num_threads(1)
