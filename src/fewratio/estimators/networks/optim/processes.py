"""Training by processes that torchrun started: each has a part of a step's tasks, and all make the same step."""

import atexit
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass(frozen=True)
class Processes:
    """The processes that train together, seen by one of them.

    Attributes
    ----------
    rank : int
        Number of this process; the first one reads and writes files.
    count : int
        Number of processes.
    """

    rank: int = 0
    count: int = 1

    @classmethod
    def from_launch(cls) -> "Processes":
        """Join the processes that torchrun started; without it this one is alone."""
        if not dist.is_available() or not (dist.is_initialized() or dist.is_torchelastic_launched()):
            return cls()
        if not dist.is_initialized():
            n_gpus = torch.cuda.device_count()
            if n_gpus:
                # What "cuda" means from here on.
                torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % n_gpus)
            # NCCL wants a GPU for each process.
            has_its_own = int(os.environ["LOCAL_WORLD_SIZE"]) <= n_gpus
            backend = "cpu:gloo,cuda:nccl" if has_its_own else "gloo"
            store, rank, count = next(dist.rendezvous("env://"))  # type: ignore[attr-defined]
            if os.environ["GROUP_WORLD_SIZE"] == "1":
                # torchrun keeps its store when it restarts the processes, and the new ones could read the addresses of
                # the old (pytorch#135712). On several machines the number of restarts is not the same everywhere.
                store = dist.PrefixStore(os.environ["TORCHELASTIC_RESTART_COUNT"], store)  # type: ignore[attr-defined]
            dist.init_process_group(backend, store=store, rank=rank, world_size=count)
            atexit.register(_leave)
        return cls(dist.get_rank(), dist.get_world_size())

    @property
    def alone(self) -> bool:
        """Whether this is the only process."""
        return self.count == 1

    @property
    def is_first(self) -> bool:
        """Whether this process reads and writes files."""
        return self.rank == 0

    @property
    def part(self) -> slice:
        """Which of any tasks are this process's."""
        return slice(self.rank, None, self.count)

    def call_in_first(self, give: Callable[[], Any]) -> Any:
        """Call a function in the first process, and give its result in all."""
        result = [give() if self.is_first else None]
        if not self.alone:
            dist.broadcast_object_list(result, src=0, device=torch.device("cpu"))
        return result[0]

    def any(self, flag: bool) -> bool:
        """Return whether the flag is up in any process."""
        return flag if self.alone else bool(self.sum(torch.tensor(int(flag))))

    def sum(self, tensor: Tensor) -> Tensor:
        """Add up a tensor over all processes, in place."""
        if not self.alone:
            dist.all_reduce(tensor)
        return tensor

    def average(self, tensors: Sequence[Tensor], n_tasks: int) -> None:
        """Turn means over this process's tasks into means over all tasks, in place.

        They go as one vector, for such small networks what counts is the number of messages. It ends with the number of
        tasks, since not all processes have equally many.
        """
        ones = torch.ones(1, dtype=tensors[0].dtype, device=tensors[0].device)
        total = self.sum(torch.cat([*(tensor.flatten() for tensor in tensors), ones]) * n_tasks)
        means = (total[:-1] / total[-1]).split([tensor.numel() for tensor in tensors])
        for tensor, mean in zip(tensors, means, strict=True):
            tensor.copy_(mean.view_as(tensor))


ALONE = Processes()


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
