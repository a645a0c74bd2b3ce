"""Random numbers as a pure function of a key.

An episode drawn at step t by the training with seed s is the same alone or in an ensemble, on a CPU or captured in
a CUDA graph, in one go or after a resume, because nothing but (s, t) enters. That needs random numbers by counter;
torch's generators carry hidden state and differ between devices.
"""

import torch
from torch import Tensor

from fewratio.core.shapes import Float, Int

# splitmix64 (Steele, Lea and Flood 2014); its constants as signed 64-bit integers.
_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_FIRST = 0xBF58476D1CE4E5B9 - 2**64
_SECOND = 0x94D049BB133111EB - 2**64


def fold(key: Int[Tensor, "..."], data: int | Int[Tensor, "..."]) -> Int[Tensor, "..."]:
    """Derive a new key from a key and a number (a step, a role)."""
    if not isinstance(data, Tensor):
        # Filled on the device: a copy from the host could not be captured in a CUDA graph.
        data = torch.full_like(key, data)
    return fold_salt(key, salt(data))


def salt(data: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
    """Return what makes `fold` of a number; worth keeping where the same numbers come at every step."""
    return _mix(data * _GOLDEN + _GOLDEN)


def fold_salt(key: Int[Tensor, "..."], salt: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
    """Derive a new key from a key and the `salt` of a number."""
    return _mix(key + salt)


def uniform(key: Int[Tensor, "..."], n: int) -> Float[Tensor, "... n"]:
    """Return n numbers in [0, 1) for each key, float32."""
    return _shift(_bits(key, n), 40).to(torch.float32) * 2.0**-24


# All ranks are smaller.
RANKS_BELOW = 2**30


def ranks(key: Int[Tensor, "..."], n: int) -> Int[Tensor, "... n"]:
    """Return n distinct ranks in random order for each key, int32; n is at most 1024.

    The position fills the low bits, so that no tie is left for a sorting algorithm to break in its own way.
    """
    bits = _shift(_bits(key, n), 44) * 1024
    return (bits + torch.arange(n, device=key.device)).to(torch.int32)


def _bits(key: Tensor, n: int) -> Tensor:
    return _mix(key.unsqueeze(-1) + torch.arange(1, n + 1, device=key.device) * _GOLDEN)


def _mix(x: Tensor) -> Tensor:
    x = (x ^ _shift(x, 30)) * _FIRST
    x = (x ^ _shift(x, 27)) * _SECOND
    return x ^ _shift(x, 31)


def _shift(x: Tensor, by: int) -> Tensor:
    # A logical shift: torch's >> on signed integers drags the sign along.
    return (x >> by) & (2 ** (64 - by) - 1)
