"""Seeds named by what they are for."""

import hashlib
import operator
from numbers import Integral
from typing import SupportsIndex

import numpy as np


def seed_for(*role: str | SupportsIndex) -> int:
    """Derive a seed from what it is for. Seeds of splits and supports never name the method: tests are paired.

    Examples
    --------
    >>> import numpy as np
    >>> seed_for("split", np.int64(3)) == seed_for("split", 3)
    True
    """
    # The text or integer that a value is: equal ones of other types are written in other ways.
    plain = tuple(str(part) if isinstance(part, str) else operator.index(part) for part in role)
    return int.from_bytes(hashlib.sha256(repr(plain).encode()).digest()[:8]) >> 1


def draw_seed(random_state: int | np.random.Generator | None) -> int:
    """Give a seed of 32 bits, which a model file keeps: an integer's own, or a drawn one."""
    if isinstance(random_state, Integral):
        return int(random_state) % 2**32
    return int(np.random.default_rng(random_state).integers(2**32))
