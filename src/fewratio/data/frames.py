"""Data frames of any library, read through narwhals, which is imported only once a frame arrives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fewratio.data.columns import (
    BOOLEANS,
    CATEGORIES,
    DATES,
    MISSING,
    NESTED,
    NUMBERS,
    TEXT,
    check_numbers,
    dtype_kind,
    listed,
    numbers_from_objects,
    object_kind,
)
from fewratio.errors import InputError, MissingColumnError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

Frame: TypeAlias = "nw.DataFrame[Any]"
Series: TypeAlias = "nw.Series[Any]"

_FRAME_LIBRARIES = {"pandas", "polars", "pyarrow", "narwhals", "modin", "cudf", "dask", "duckdb", "ibis"}
_KIND_OF_TYPE = {
    "Boolean": BOOLEANS,
    **dict.fromkeys(("String", "Binary"), TEXT),
    **dict.fromkeys(("Categorical", "Enum"), CATEGORIES),
    **dict.fromkeys(("Date", "Datetime", "Duration", "Time"), DATES),
    **dict.fromkeys(("List", "Array", "Struct"), NESTED),
}

_ARROW_NUMBERS = {
    **{"double": "f8", "float": "f4", "halffloat": "f2"},
    **{f"{sign}int{bits}": f"{sign or 'i'}{bits // 8}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def open_frame(X: Any, argument: str) -> Frame | None:
    """Wrap a data frame that is held in memory; None if the object is not a frame (an array, a pandas index)."""
    if not any(kind.__module__.partition(".")[0] in _FRAME_LIBRARIES for kind in type(X).__mro__):
        return None
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    if hasattr(X, "__arrow_c_array__") and type(X).__name__ == "RecordBatch":
        return nw.from_arrow(X, backend="pyarrow")
    what = f"{argument} is a {type(X).__module__.partition('.')[0]} {type(X).__name__}"
    try:
        frame = nw.from_native(X, pass_through=True, allow_series=True)
    except DuplicateError as error:
        raise InputError(
            f"{argument} has columns that share a name ({' '.join(str(error).split())}); every column needs a name "
            "of its own. Rename or drop the repeated columns."
        ) from error
    if isinstance(frame, nw.LazyFrame):
        raise InputError(
            f"{what}, which has not been computed yet; a table held in memory is needed. Call {argument}.collect() "
            f"first ({argument}.compute() in dask)."
        )
    if isinstance(frame, nw.Series):
        raise InputError(
            f"{what}, which has one axis; needed is a table with one row per instance and one column per feature. Use "
            f"{argument}.to_frame() for one feature, or {argument}.to_numpy().reshape(-1, 1); for one instance "
            f"{argument}.to_numpy().reshape(1, -1)."
        )
    if not isinstance(frame, nw.DataFrame):
        return None
    strings = [isinstance(column, str) for column in frame.columns]
    if any(strings) and not all(strings):
        raise InputError(
            f"{argument} has column names of mixed types (such as {frame.columns[strings.index(True)]!r} and "
            f"{frame.columns[strings.index(False)]!r}); "
            f"all must be strings, or none. Rename them, in pandas with {argument}.columns.astype(str)."
        )
    return frame


def feature_names(frame: Frame) -> tuple[str, ...] | None:
    """Return the column names, or None where they are not strings (as scikit-learn does)."""
    names = tuple(frame.columns)
    return names if names and isinstance(names[0], str) else None


def column_kind(column: Series) -> str:
    """Return what a column holds: one of the kinds in `fewratio.data.columns`, or its type if it is another."""
    if column.null_count() == len(column):
        return MISSING
    if column.dtype.is_numeric():
        return NUMBERS
    name = type(column.dtype).__name__ if not isinstance(column.dtype, type) else column.dtype.__name__
    if name in _KIND_OF_TYPE:
        return _KIND_OF_TYPE[name]
    native = column.to_native()
    dtype = getattr(native, "dtype", getattr(native, "type", name))
    if name == "Object":
        return object_kind(column.to_list())
    return dtype_kind(dtype) if isinstance(dtype, np.dtype) else f"type {dtype}"


def kinds(frame: Frame) -> list[tuple[Any, str]]:
    """Return the name and the kind of each column."""
    return [(label, column_kind(frame.get_column(label))) for label in frame.columns]


def is_declared(column: Series) -> bool:
    """Tell whether a column is declared to hold categories or booleans, not only text that may be anything."""
    return type(column.dtype).__name__ not in ("String", "Object")


def column_numbers(column: Series, label: object, argument: str) -> NDArray[Any]:
    """Return a column of numbers or booleans, with NaN for what is missing."""
    import narwhals.stable.v2 as nw

    native = column.to_native()
    if hasattr(native, "chunks") and str(native.type) in _ARROW_NUMBERS:
        return _arrow_numbers(native)
    if column.dtype == nw.Object or not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        return numbers_from_objects(column.to_list(), argument, label)
    if column.dtype.is_integer() and "128" not in str(column.dtype) and not column.null_count():
        # A cast by pyarrow would refuse integers that a float has to round; NumPy has none of 128 bits.
        return np.asarray(column.to_numpy(), dtype=np.float64)
    return (column if column.dtype.is_float() else column.cast(nw.Float64())).to_numpy()


def frame_numbers(frame: Frame, argument: str, first_row: int = 0) -> NDArray[Any]:
    """Return the rows of a frame of numbers, or say which column holds anything else; NaN for what is missing."""
    check_numbers(kinds(frame), argument, lambda label: frame.get_column(label).to_list(), first_row)
    columns = [frame.get_column(label) for label in frame.columns]
    single, in_arrow = is_single(columns), hasattr(columns[0].to_native(), "chunks")
    if not in_arrow and all(column.dtype.is_float() and column.dtype == columns[0].dtype for column in columns):
        # About ten times as fast as one column at a time in pandas, and without a copy where there is one array.
        whole = frame.to_numpy()
        if whole.dtype.kind == "f":
            return whole
    result = np.empty(frame.shape, dtype=np.float32 if single else np.float64)
    for j, (label, column) in enumerate(zip(frame.columns, columns, strict=True)):
        result[:, j] = column_numbers(column, label, argument)
    return result


def _arrow_numbers(column: Any) -> NDArray[Any]:
    """Return a column of pyarrow, whose own conversion would import pandas where it is installed."""
    dtype = np.dtype(_ARROW_NUMBERS[str(column.type)])
    result = np.empty(len(column), dtype if dtype.kind == "f" else np.float64)
    start = 0
    for chunk in column.chunks:
        validity, data = chunk.buffers()
        rows = slice(chunk.offset, chunk.offset + len(chunk))
        part = result[start : start + len(chunk)]
        part[:] = np.frombuffer(data, dtype, count=rows.stop)[rows]
        if chunk.null_count:
            present = np.unpackbits(np.frombuffer(validity, np.uint8), count=rows.stop, bitorder="little")
            part[present[rows] == 0] = np.nan
        start += len(chunk)
    return result


def is_single(columns: Sequence[Series]) -> bool:
    """Tell whether all columns are 32-bit floats."""
    import narwhals.stable.v2 as nw

    return bool(columns) and all(column.dtype == nw.Float32 for column in columns)


def take_column(frame: Frame, column: str, argument: str) -> Series:
    """Return one column by name, or say which columns there are."""
    if column not in frame.columns:
        raise MissingColumnError(
            f"{argument} has no column {column!r}; its columns are {listed(frame.columns)}. Pass the name of one of "
            "them."
        )
    return frame.get_column(column)


def in_order(frame: Frame, names: Sequence[str] | None) -> Frame:
    """Return the columns in another order, if they are just those."""
    other = names is not None and tuple(frame.columns) != tuple(names)
    return frame.select(*names) if names is not None and other and set(frame.columns) == set(names) else frame


def label_codes(column: Series) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the number of each row's value, and the distinct values in order of first appearance (None: missing)."""
    values = column.to_list()
    if column.null_count():
        values = [None if null else value for value, null in zip(values, column.is_null().to_list(), strict=True)]
    code = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return np.fromiter(map(code.__getitem__, values), dtype=np.intp, count=len(values)), list(code)
