"""Arrays, nested lists and whatever else NumPy can read: their shape, and what is no array at all."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.data.columns import counted, dtype_problem, unusable_values
from fewratio.errors import InputError

_LAYOUT = "needed is a table with one row per instance and one column per feature"


def check_shape(shape: Sequence[int], argument: str) -> None:
    """Raise unless a shape is that of a table with at least one row and one column."""
    shape = tuple(shape)
    if shape and shape[0] == 0:
        raise InputError(f"{argument} is empty (0 rows); {_LAYOUT}. Pass at least one row.")
    if len(shape) == 1:
        raise InputError(
            f"{argument} has one axis (shape {shape}); {_LAYOUT}. Use reshape(-1, 1) if it is one feature, or "
            "reshape(1, -1) if it is one instance."
        )
    if len(shape) == 0:
        raise InputError(f"{argument} is a single number; {_LAYOUT}. Use reshape(1, 1) if that is what it holds.")
    if len(shape) != 2:
        raise InputError(
            f"{argument} has {len(shape)} axes (shape {shape}); {_LAYOUT}. Flatten each instance to one row, "
            f"with {argument}.reshape(len({argument}), -1)."
        )
    if shape[1] == 0:
        raise InputError(f"{argument} has {counted(shape[0], 'row')} but no columns; {_LAYOUT}. Pass some features.")


def read_array(X: Any, argument: str, keep_missing: bool = False) -> NDArray[Any]:
    """Return an array of any shape and type, the user's own where it is one already.

    With `keep_missing` masked values become NaN; otherwise they are refused.
    """
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(X):
        raise InputError(f"{argument} is a sparse matrix; a dense array is needed. Pass {argument}.toarray().")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X) and X.ndim == 2:
        if keep_missing and dtype_problem(X.dtype) is None:
            values = np.ma.getdata(X).astype(X.dtype if X.dtype.kind in "fO" else np.float64)
            values[np.ma.getmaskarray(X)] = None if X.dtype.kind == "O" else np.nan
            return values
        row, column = np.argwhere(np.ma.getmaskarray(X))[0]
        raise unusable_values(argument, "masked", int(np.ma.count_masked(X)), int(column), int(row))
    if isinstance(X, np.ndarray) and X.dtype.names is not None:
        raise InputError(
            f"{argument} is a structured array; {_LAYOUT}. Pass "
            f"numpy.lib.recfunctions.structured_to_unstructured({argument})."
        )
    if isinstance(X, (list, tuple)):
        return _read_rows(X, argument)
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1 and len(X) and np.iterable(X[0]):
        return _read_rows(list(X), argument)
    if isinstance(X, (str, bytes)) or np.isscalar(X) or not hasattr(X, "__array__"):
        raise InputError(f"{argument} is a {type(X).__name__}; {_LAYOUT}. Pass an array, a data frame or nested lists.")
    try:
        return np.asarray(X)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{argument} is a {type(X).__name__} that NumPy cannot read ({error}); {_LAYOUT}. Pass a NumPy array."
        ) from error


def _read_rows(rows: Sequence[Any], argument: str) -> NDArray[Any]:
    try:
        values = np.asarray(rows)
        # NumPy turns [1, "a"] into two texts; as objects, only the column that holds text is to blame.
        return values if dtype_problem(values.dtype) is None else np.asarray(rows, dtype=object)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{argument} cannot be read as rows of numbers ({_ragged(rows) or error}); {_LAYOUT}. "
            "Give every row the same number of values, or pass an array."
        ) from error


def _ragged(rows: Sequence[Any]) -> str | None:
    lengths = [len(row) if hasattr(row, "__len__") else None for row in rows]
    odd = next((i for i, length in enumerate(lengths) if length is None or length != lengths[0]), None)
    if odd is None:
        return None
    if lengths[odd] is None:
        return f"row {odd} is a {type(rows[odd]).__name__}"
    return f"row 0 has {counted(len(rows[0]), 'value')} but row {odd} has {lengths[odd]}"
