"""Data frames of any library, read through narwhals, which is imported only once a frame arrives."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fewratio.data import columns as kinds
from fewratio.data.columns import is_missing, numbers_from_objects, object_kind
from fewratio.errors import InputError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import pyarrow as pa

Frame: TypeAlias = "nw.DataFrame[Any]"
Series: TypeAlias = "nw.Series[Any]"

_FRAME_LIBRARIES = {"pandas", "polars", "pyarrow", "narwhals", "modin", "cudf", "dask", "duckdb", "ibis"}
_DAY_SECONDS = 86_400
_UNITS_PER_DAY = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?")


class Values(NamedTuple):
    """One column of one table.

    Attributes
    ----------
    kind : str
        One of the kinds in `fewratio.data.columns`, or the column's type if it is another.
    numbers : ndarray of shape (n,)
        Of numbers, booleans (0 and 1) and dates (days since 1970); NaN for what is missing.
    codes : ndarray of shape (n,)
        Of text and categories: the number of each row's text; -1 for what is missing.
    texts : list of str
        The distinct texts.
    """

    kind: str
    numbers: NDArray[Any] = np.empty(0)
    codes: NDArray[np.intp] = np.empty(0, dtype=np.intp)
    texts: Sequence[str] = ()


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


def frame_numbers(frame: Frame, argument: str) -> NDArray[Any] | None:
    """Return the rows of a frame whose columns are all declared as numbers of one precision, NaN for what is missing.

    None if there are others.
    """
    kinds = set(frame.schema.values())
    if not all(kind.is_numeric() for kind in kinds) or (len(kinds) > 1 and "Float32" in map(str, kinds)):
        return None
    columns = [frame.get_column(label) for label in frame.columns]
    if len(kinds) == 1 and kinds.pop().is_float() and not hasattr(columns[0].to_native(), "chunks"):
        # About ten times as fast as one column at a time in pandas, and without a copy where there is one array.
        whole = frame.to_numpy()
        if whole.dtype.kind == "f":
            return whole
    result = np.empty(frame.shape, np.float32 if str(columns[0].dtype) == "Float32" else np.float64)
    for place, column in enumerate(columns):
        result[:, place] = read_values(column, f"column {column.name!r} of {argument}").numbers
    return result


def read_values(column: Series | list[Any], argument: str) -> Values:
    """Return what a column of a frame, or a list of Python objects, holds."""
    import pyarrow as pa

    try:
        if isinstance(column, list):
            return _arrow_values(pa.chunked_array([pa.array([None if is_missing(each) else each for each in column])]))
        array = column.to_native()
        if str(getattr(array, "dtype", "")).startswith("period"):
            array = pa.array(array.dt.to_timestamp())
        elif not isinstance(array, pa.ChunkedArray):
            array = column.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError):
        # Python objects of several types.
        return _mixed_values(column if isinstance(column, list) else column.to_list(), argument)
    return _arrow_values(array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array]))


def _mixed_values(values: Sequence[Any], argument: str) -> Values:
    kind = object_kind(values)
    if kind == kinds.NUMBER:
        return Values(kind, numbers_from_objects(values, argument))
    if kind != kinds.TEXT:
        return Values(kind)
    return text_values([None if is_missing(value) else str(value) for value in values])


def text_values(values: Sequence[str | None], kind: str = kinds.TEXT) -> Values:
    """Return a column of texts, None for what is missing."""
    code = {text: number for number, text in enumerate(dict.fromkeys(value for value in values if value is not None))}
    codes = np.fromiter((-1 if value is None else code[value] for value in values), dtype=np.intp, count=len(values))
    return Values(kind, codes=codes, texts=list(code))


def _arrow_values(array: pa.ChunkedArray) -> Values:
    import pyarrow as pa
    from pyarrow import types

    kind = array.type
    if types.is_boolean(kind):
        return Values(kinds.BOOLEAN, arrow_numbers(array.cast(pa.uint8())))
    if is_number_type(kind) or types.is_decimal(kind):
        return Values(kinds.NUMBER, arrow_numbers(array))
    if types.is_temporal(kind) and not types.is_interval(kind):
        return Values(kinds.DATE, _days(array))
    is_category = types.is_dictionary(kind)
    if is_category:
        array = array.cast(kind.value_type)
    elif types.is_binary(kind) or types.is_large_binary(kind):
        return Values("type binary")
    elif not (
        types.is_null(kind) or types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"
    ):
        return Values("nested values" if types.is_nested(kind) else f"type {kind}")
    # In the order in which texts first appear, without categories that are declared but not there.
    coded = array.cast(pa.large_string(), safe=False).combine_chunks().dictionary_encode()
    codes: NDArray[Any] = np.from_dlpack(coded.indices.cast(pa.int64()).fill_null(-1))
    if not len(coded.dictionary):
        return Values(kinds.MISSING, np.full(len(codes), np.nan), codes)
    return Values(kinds.CATEGORY if is_category else kinds.TEXT, codes=codes, texts=coded.dictionary.to_pylist())


def is_number_type(kind: pa.DataType) -> bool:
    """Tell whether a type of pyarrow is one of integers or floats."""
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind)


def _days(array: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return dates and times as days since 1970, times of the day and durations as days."""
    import pyarrow as pa
    from pyarrow import types

    kind = array.type
    if types.is_date32(kind):
        return arrow_numbers(array.cast(pa.int32()))
    unit = "ms" if types.is_date64(kind) else kind.unit
    whole = array.cast(pa.int32()).cast(pa.int64()) if types.is_time32(kind) else array.cast(pa.int64())
    return arrow_numbers(whole) / (_UNITS_PER_DAY[unit] * _DAY_SECONDS)


def day_of_text(text: str) -> float | None:
    """Return an ISO date as days since 1970 (UTC where it names no zone), or None if it is no such date."""
    if not _ISO_DATE.fullmatch(text):
        return None
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or datetime.UTC).timestamp() / _DAY_SECONDS


def text_of_days(days: float) -> str:
    """Write days since 1970 as an ISO date, with the time unless it is midnight."""
    text = str(np.datetime64(round(days * _DAY_SECONDS), "s"))
    return text.removesuffix("T00:00:00").replace("T", " ")


def arrow_numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return numbers of pyarrow, NaN for what is missing; its own conversion would import pandas if it is installed."""
    import pyarrow as pa

    kind = column.type if column.type == pa.float32() else pa.float64()
    numbers: NDArray[Any] = np.from_dlpack(column.cast(kind, safe=False).fill_null(np.nan).combine_chunks())
    return numbers
