"""Data frames of any library, read through narwhals, which is imported only once a frame arrives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fewratio.data.columns import (
    CATEGORIES,
    DATES,
    TEXT,
    check_none_missing,
    dtype_problem,
    first_text,
    listed,
    not_numbers,
    numbers_from_objects,
    object_problem,
)
from fewratio.errors import InputError, MissingColumnError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    Frame: TypeAlias = nw.DataFrame[Any]
    Series: TypeAlias = nw.Series[Any]

RowReader: TypeAlias = Callable[[int, int], NDArray[Any]]

_FRAME_LIBRARIES = {"pandas", "polars", "pyarrow", "narwhals", "modin", "cudf", "dask", "duckdb", "ibis"}
_PLAIN_NUMBERS = {
    *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
    *("Float16", "Float32", "Float64"),
}
# NumPy has no type for these: they arrive as Python objects.
_WIDE_NUMBERS = {"Int128", "UInt128", "Decimal"}
_CATEGORIES = {"String", "Categorical", "Enum", "Boolean"}
_PROBLEMS = {
    **dict.fromkeys(("String", "Binary"), TEXT),
    **dict.fromkeys(("Categorical", "Enum"), CATEGORIES),
    **dict.fromkeys(("Date", "Datetime", "Duration", "Time"), DATES),
    **dict.fromkeys(("List", "Array", "Struct"), "nested values"),
}


def is_frame(X: object) -> bool:
    """Tell whether an object comes from a data frame library, without importing any of them."""
    return any(kind.__module__.partition(".")[0] in _FRAME_LIBRARIES for kind in type(X).__mro__)


def open_frame(X: Any, argument: str) -> Frame | None:
    """Wrap an eager data frame; None if the object is not a frame after all (a pandas index, say)."""
    try:
        import narwhals.stable.v2 as nw
        from narwhals.exceptions import DuplicateError
    except ImportError as error:
        raise InputError(
            f"{argument} is a {_type_name(X)}, and reading data frames needs the package narwhals. "
            f"Run pip install 'fewratio[tables]', or pass {argument}.to_numpy()."
        ) from error
    if hasattr(X, "__arrow_c_array__") and type(X).__name__ == "RecordBatch":
        return nw.from_arrow(X, backend="pyarrow")
    try:
        frame = nw.from_native(X, pass_through=True, allow_series=True)
    except DuplicateError as error:
        raise InputError(
            f"{argument} has columns that share a name ({' '.join(str(error).split())}); every column needs a name "
            "of its own. Rename or drop the repeated columns."
        ) from error
    if isinstance(frame, nw.LazyFrame):
        raise InputError(
            f"{argument} is a {_type_name(X)}, which has not been computed yet; a table held in memory is "
            f"needed. Call {argument}.collect() first ({argument}.compute() in dask)."
        )
    if isinstance(frame, nw.Series):
        raise InputError(
            f"{argument} is a {_type_name(X)}, which has one axis; needed is a table with one row per instance "
            f"and one column per feature. Use {argument}.to_frame() for one feature, or "
            f"{argument}.to_numpy().reshape(-1, 1); for one instance {argument}.to_numpy().reshape(1, -1)."
        )
    if not isinstance(frame, nw.DataFrame):
        return None
    _check_name_types(frame, argument)
    return frame


def _type_name(X: object) -> str:
    return f"{type(X).__module__.partition('.')[0]} {type(X).__name__}"


def _check_name_types(frame: Frame, argument: str) -> None:
    columns = frame.columns
    strings = [isinstance(column, str) for column in columns]
    if any(strings) and not all(strings):
        odd = columns[strings.index(False)]
        raise InputError(
            f"{argument} has column names of mixed types (such as {columns[strings.index(True)]!r} and {odd!r}); "
            f"all must be strings, or none. Rename them, in pandas with {argument}.columns.astype(str)."
        )


def feature_names(frame: Frame) -> tuple[str, ...] | None:
    """Return the column names, or None where they are not strings (as scikit-learn does)."""
    names = tuple(frame.columns)
    return names if names and isinstance(names[0], str) else None


def check_columns(frame: Frame, argument: str) -> None:
    """Raise unless every column holds numbers and, where a table marks missing values, none is missing."""
    columns = [(label, frame.get_column(label)) for label in frame.columns]
    raise_not_numbers(columns, argument)
    # NaN in a plain column is left to Table.check_finite: looking for it here would read the table twice.
    marking = [(label, column) for label, column in columns if _plain_dtype(column) is None and column.null_count()]
    check_none_missing(argument, [(label, column.is_null().to_numpy()) for label, column in marking])
    for label, column in columns:
        if _type_of(column) in {"Object", *_WIDE_NUMBERS}:
            _column_numbers(column, label, argument)


def raise_not_numbers(columns: Sequence[tuple[object, Series]], argument: str) -> None:
    """Raise if a column holds anything but numbers and truth values, and name the first cell that does."""
    problems = [(label, column, column_problem(column)) for label, column in columns]
    bad = [(label, column, problem) for label, column, problem in problems if problem]
    if bad:
        cell = first_text(bad[0][1].to_list()) if bad[0][2] == TEXT else None
        error = not_numbers(argument, [(label, problem) for label, _, problem in bad], cell)
        if any(problem in (TEXT, CATEGORIES) for *_, problem in bad):
            error.remedy = "categorical"
        raise error


def column_kind(column: Series) -> str | None:
    """Return ``"numbers"``, ``"categories"`` (also text, truth values), ``"nothing"`` if all is missing, else None."""
    if column.null_count() == len(column):
        return "nothing"
    kind = _type_of(column)
    if kind in _CATEGORIES:
        return "categories"
    problem = column_problem(column)
    if kind == "Object" and (problem == TEXT or set(map(type, column.drop_nulls().to_list())) <= {bool, np.bool_}):
        return "categories"
    return None if problem else "numbers"


def float_column(column: Series, label: object, argument: str) -> NDArray[np.float64]:
    """Return a column of numbers, with NaN for what is missing."""
    result = np.full(len(column), np.nan)
    if column.null_count() == 0:
        result[:] = _column_numbers(column, label, argument)
    elif column.null_count() < len(column):
        present = ~column.is_null().to_numpy()
        result[present] = _column_numbers(column.drop_nulls(), label, argument)
    return result


def is_text(column: Series) -> bool:
    """Tell whether a column holds text, which nobody declared to be categories."""
    return _type_of(column) in {"String", "Object"}


def is_float32(column: Series) -> bool:
    """Tell whether a column holds 32-bit floats."""
    return _type_of(column) == "Float32"


def _type_of(column: Series) -> str:
    return type(column.dtype).__name__ if not isinstance(column.dtype, type) else column.dtype.__name__


def _plain_dtype(column: Series) -> np.dtype[Any] | None:
    """Return the NumPy dtype of a column which cannot mark a value as missing, else None."""
    dtype = getattr(column.to_native(), "dtype", None)
    return dtype if isinstance(dtype, np.dtype) and dtype.kind != "O" else None


def column_problem(column: Series) -> str | None:
    """Say what a column holds instead of real numbers; None for numbers and truth values."""
    kind = _type_of(column)
    if kind == "Boolean" or kind in _PLAIN_NUMBERS or kind in _WIDE_NUMBERS:
        return None
    if kind == "Object":
        return object_problem(column.to_numpy())
    dtype = _plain_dtype(column)
    if dtype is not None:
        return dtype_problem(dtype)
    if kind == "Unknown" and column.null_count() == len(column):
        return None
    native = column.to_native()
    return _PROBLEMS.get(kind, f"type {getattr(native, 'dtype', getattr(native, 'type', kind))}")


def _column_numbers(column: Series, label: object, argument: str) -> NDArray[Any]:
    kind = _type_of(column)
    if kind != "Object" and kind not in _WIDE_NUMBERS:
        return column.to_numpy()
    values = np.empty((len(column), 1), dtype=object)
    values[:, 0] = column.to_list()
    return numbers_from_objects(values, argument, [label])[:, 0]


def row_reader(frame: Frame, argument: str) -> RowReader:
    """Return a function (start, stop) -> array of those rows."""
    kinds = {_type_of(frame.get_column(label)) for label in frame.columns}
    if kinds <= _PLAIN_NUMBERS:
        # About ten times as fast as one column at a time in pandas; other mixtures would become objects.
        return lambda start, stop: frame[start:stop].to_numpy()

    def rows(start: int, stop: int) -> NDArray[Any]:
        part = frame[start:stop]
        result = np.empty(part.shape, dtype=np.float64)
        for j, label in enumerate(part.columns):
            result[:, j] = _column_numbers(part.get_column(label), label, argument)
        return result

    return rows


def all_float32(frame: Frame) -> bool:
    """Tell whether every column is a 32-bit float."""
    return all(is_float32(frame.get_column(label)) for label in frame.columns)


def take_column(frame: Frame, column: str, argument: str) -> Series:
    """Return one column by name, or say which columns there are."""
    check_column(column, frame.columns, argument)
    return frame.get_column(column)


def check_column(column: str, columns: Sequence[str], argument: str) -> None:
    """Raise unless a table has a column, and say which it has."""
    if column not in columns:
        raise MissingColumnError(
            f"{argument} has no column {column!r}; its columns are {listed(columns)}. Pass the name of one of them."
        )


def in_order(frame: Frame, names: Sequence[str] | None) -> Frame:
    """Return the columns in another order, if they are just those."""
    other = names is not None and tuple(frame.columns) != tuple(names)
    return frame.select(*names) if names is not None and other and set(frame.columns) == set(names) else frame


def label_codes(column: Series) -> tuple[NDArray[np.intp], Sequence[Any]]:
    """Return the number of each row's value, and the distinct values in order of first appearance (None: missing)."""
    values = column.to_list()
    if column.null_count():
        values = [None if null else value for value, null in zip(values, column.is_null().to_list(), strict=True)]
    distinct = list(dict.fromkeys(values))
    code = {value: number for number, value in enumerate(distinct)}
    return np.fromiter(map(code.__getitem__, values), dtype=np.intp, count=len(values)), distinct
