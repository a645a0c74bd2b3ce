"""Seeds named by what they are for."""

import hashlib
import operator
from typing import SupportsIndex


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
