"""Data frames of any library, read through narwhals, which is imported only once a frame arrives."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fewratio.data import arrow as pa
from fewratio.errors import InputError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

Frame: TypeAlias = "nw.DataFrame[Any]"

_FRAME_LIBRARIES = {"pandas", "polars", "pyarrow", "narwhals", "modin", "cudf", "dask", "duckdb", "ibis"}
# pandas' two marks of a missing value are known by name, so that pandas need not be imported to recognise them.
_MISSING_TYPES = {"NoneType", "NAType", "NaTType"}


def open_frame(X: Any, argument: str) -> Frame | None:
    """Wrap a data frame that is held in memory; None if the object is not a frame (an array, a series, an index)."""
    if not any(kind.__module__.partition(".")[0] in _FRAME_LIBRARIES for kind in type(X).__mro__):
        return None
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    if hasattr(X, "__arrow_c_array__") and type(X).__name__ == "RecordBatch":
        return nw.from_arrow(X, backend="pyarrow")
    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError as error:
        raise InputError(
            f"{argument} has columns that share a name ({' '.join(str(error).split())}); each needs one of its "
            "own. Rename or drop some."
        ) from error
    if isinstance(frame, nw.LazyFrame):
        raise InputError(
            f"{argument} is a {type(X).__name__}, which has not been computed yet; a table held in memory is needed. "
            f"Call {argument}.collect() first ({argument}.compute() in dask)."
        )
    if not isinstance(frame, nw.DataFrame):
        return None
    # As in scikit-learn, only strings are names.
    strings = [name for name in frame.columns if isinstance(name, str)]
    others = [name for name in frame.columns if not isinstance(name, str)]
    if strings and others:
        raise InputError(
            f"{argument} has column names of mixed types (such as {strings[0]!r} and {others[0]!r}); all must be "
            f"strings, or none. Rename them, in pandas with {argument}.columns.astype(str)."
        )
    return frame


def is_missing(value: object) -> bool:
    """Tell whether a Python object marks a missing value."""
    return type(value).__name__ in _MISSING_TYPES or (isinstance(value, float) and value != value)


def as_arrow(column: nw.Series[Any] | list[Any], argument: str) -> pa.ChunkedArray:
    """Return a column of a frame, or a list of Python objects, as pyarrow's."""
    try:
        if isinstance(column, list):
            array = pa.array([None if is_missing(value) else value for value in column])
        else:
            array = column.to_native()
            if str(getattr(array, "dtype", "")).startswith("period"):
                array = pa.array(array.dt.to_timestamp())
            elif not isinstance(array, pa.ChunkedArray):
                array = column.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError):
        array = _mixed_array(column if isinstance(column, list) else column.to_list(), argument)
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _mixed_array(values: list[Any], argument: str) -> pa.Array:
    """Return Python objects for which pyarrow has no type as numbers, as text, or as nothing but the name of a type."""
    types = dict.fromkeys(type(value) for value in values if type(value).__name__ not in _MISSING_TYPES)
    # NumPy's timedelta64 calls itself an integer.
    other = [
        kind for kind in types if not issubclass(kind, Real | Decimal | np.bool_) or issubclass(kind, np.timedelta64)
    ]
    if any(issubclass(kind, str | bytes) for kind in other):
        # Half of a character, which Python can hold, is no text to pyarrow.
        texts = [None if is_missing(value) else str(value).encode(errors="replace").decode() for value in values]
        return pa.array(texts, pa.large_string())
    if other:
        return pa.nulls(len(values), pa.opaque(pa.null(), other[0].__name__, "python"))
    try:
        # Not astype(float), which reads the text "1" as a number.
        return pa.array(np.array([np.nan if is_missing(value) else value for value in values], dtype=np.float64))
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(
            f"{argument} holds a number that does not fit a 64-bit float ({error}); every value must be a finite "
            "number. Rescale the column first."
        ) from error
