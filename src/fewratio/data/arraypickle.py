"""Reading arrays out of a pickle without running any of it.

A pickle is a program. Here the three names that a pickled array needs stand for recorders of ours, any other name is
refused, and NumPy sees nothing but a shape, the name of a number type and the bytes: not even NumPy's own way of
restoring an array, which trusts what it is told about the memory, is left to the file.
"""

import io
import math
import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.errors import DataFileError

_NUMBER_TYPES = {b"f4", b"f8", b"i1", b"i2", b"i4", b"i8", b"u1", b"u2", b"u4", b"u8"}
# Whatever else a broken pickle makes the unpickler raise, beyond what it documents.
_DAMAGED = (
    pickle.UnpicklingError,
    EOFError,
    AttributeError,
    ImportError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    RecursionError,
    TypeError,
    UnicodeError,
    ValueError,
)


def unpickle_arrays(content: bytes, place: str) -> list[Any]:
    """Read a pickled list of arrays, or of tuples of arrays.

    Parameters
    ----------
    content : bytes
        As Python 2 or 3 wrote it.
    place : str
        What messages call it.
    """
    try:
        result = _ArrayUnpickler(io.BytesIO(content), encoding="bytes").load()
        if not isinstance(result, list):
            raise DataFileError(f"{place} holds a pickled {type(result).__name__}; a list of arrays is needed.")
        return [tuple(map(_array, item)) if isinstance(item, tuple) else _array(item) for item in result]
    except _Refused as refused:
        raise DataFileError(
            f"{place} asks for {refused}, which no pickled array needs; it was refused and nothing of it was run. "
            "Do not trust this file; put the published one there."
        ) from None
    except DataFileError:
        raise
    except _DAMAGED as error:
        raise DataFileError(f"{place} is not a pickle of arrays ({error}). Put the published file there.") from error


class _Refused(Exception):
    """A name that no pickled array needs."""


class _Recorder:
    """Takes the part of an array or a number type: keeps what the pickle says of it."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Array(_Recorder):
    pass


class _NumberType(_Recorder):
    pass


class _ArrayUnpickler(pickle.Unpickler):
    _NAMES = {  # noqa: RUF012 - a constant
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _NumberType,
        # Where NumPy keeps it depends on its version; older and newer pickles name either.
        ("numpy.core.multiarray", "_reconstruct"): _Array,
        ("numpy._core.multiarray", "_reconstruct"): _Array,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._NAMES:
            raise _Refused(f"{module}.{name}")
        return self._NAMES[module, name]


def _array(item: Any) -> NDArray[Any]:
    """Build the array from what was recorded."""
    if not isinstance(item, _Array):
        raise TypeError(f"a {type(item).__name__} where an array should be")
    _, shape, number_type, by_column, content = item.state
    if not isinstance(number_type, _NumberType) or not isinstance(content, bytes):
        raise TypeError("an array of something other than numbers")
    code, order = number_type.arguments[0], number_type.state[1]
    code = code.encode() if isinstance(code, str) else code
    order = order.encode() if isinstance(order, str) else order
    if code not in _NUMBER_TYPES or order not in (b"<", b">", b"|", b"="):
        raise TypeError(f"an array of type {code!r}")
    dtype = np.dtype((order + code).decode())
    if not all(isinstance(n, int) and n >= 0 for n in shape) or math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError(f"an array of shape {shape} with {len(content)} bytes")
    return np.frombuffer(content, dtype).reshape(shape, order="F" if by_column else "C")
