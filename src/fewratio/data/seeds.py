"""Seeds named by what they are for."""

import hashlib
import operator
from typing import SupportsIndex

from fewratio.errors import ParameterError


def seed_for(*role: str | SupportsIndex) -> int:
    """Derive a seed from what it is for. Seeds of splits and supports never name the method: tests are paired.

    Examples
    --------
    >>> import numpy as np
    >>> seed_for("split", np.int64(3)) == seed_for("split", 3)
    True
    """
    plain = tuple(map(_plain, role))
    return int.from_bytes(hashlib.sha256(repr(plain).encode()).digest()[:8]) >> 1


def _plain(part: str | SupportsIndex) -> str | int:
    """Return the text or integer that a value is: equal ones of other types are written in other ways."""
    if isinstance(part, str):
        return str(part)
    try:
        return operator.index(part)
    except TypeError as error:
        raise ParameterError(
            f"a seed was to be derived from {part!r} ({type(part).__name__}); needed is text or an integer, which give "
            "the same seed every time. Pass an integer."
        ) from error
