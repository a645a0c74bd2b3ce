"""A user's table before encoding."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fewratio.core.blocks import CACHED_VALUES, row_blocks
from fewratio.core.wording import name_columns, quote_list, write_count, write_label
from fewratio.data import arrow as pa
from fewratio.data.column_kinds import (
    EXACT,
    NUMBER,
    ColumnValues,
    arrow_numbers,
    as_arrow,
    check_numbers,
    decode_numbers,
    find_index,
    is_number_type,
    is_wide,
    read_values,
)
from fewratio.errors import FewRatioError, InputError, MissingColumnError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

# The names of columns, or only how many there are.
Features: TypeAlias = "int | tuple[str, ...]"

_FRAME_LIBRARIES = {"pandas", "polars", "pyarrow", "narwhals", "modin", "cudf", "dask", "duckdb", "ibis"}
_INDEXED_LIBRARIES = {"pandas", "modin", "cudf"}
# Batches after which memory is given back.
_RELEASED = 32
_ROW = re.compile(r"at row (\d+)")
_limits = {"columns": float("inf"), "cells": float("inf")}
_SAME = "both must have the same columns. Select the same ones in both."
_LAYOUT = "expected a table with one row per instance and one column per feature"


@dataclass(frozen=True, eq=False)
class RawTable:
    """A user's table: an array of numbers, or columns of any kind.

    Attributes
    ----------
    name : str
        Name of the table in messages.
    labels : tuple of str
        Names of the columns, or their numbers if they have none.
    is_named : bool
        Whether the columns have names.
    data : ndarray of shape (n_rows, n_columns), pyarrow Table or FileRows
        An array if all columns are numbers, with NaN for missing values; it may be the user's own memory. Rows of a
        file are read on demand.
    index : object
        The row names of a pandas frame, unless they only count its rows.
    index_name : str or None
        Name of the index.
    """

    name: str
    labels: tuple[str, ...]
    is_named: bool
    data: Any
    index: Any = None
    index_name: str | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.data)

    @property
    def array(self) -> NDArray[Any] | None:
        """The numbers, if all columns are numbers."""
        return self.data if isinstance(self.data, np.ndarray) else None

    @property
    def is_held(self) -> bool:
        """Whether the rows are in memory, not in a file."""
        return not hasattr(self.data, "read")

    def hold_in_memory(self) -> RawTable:
        """Return the table in memory."""
        if self.is_held:
            return self
        held = raw_from_arrow(self.data.read().rename_columns(self.labels), self.name, self.is_named)
        return replace(held, index=self.index, index_name=self.index_name)

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each column."""
        return {label: place for place, label in enumerate(self.labels)}

    def row_labels(self, label: str) -> ColumnValues:
        """Return what a column, or the index that is called so, holds."""
        if label in self.places or label != self.index_name or self.index is None:
            self.check_has([label])
            return self.names(label)
        return read_values(pa.chunked_array([pa.array(self.index.tolist())]), self.name, label)

    def with_index(self, labels: Collection[str | None]) -> RawTable:
        """Return the table with its index as a column, if one of some labels names it and no column."""
        if self.index is None or self.index_name in self.places or self.index_name not in labels:
            return self
        held = self.hold_in_memory()
        read = self.row_labels(str(self.index_name)).as_read()
        index = read.numbers if read.kind == NUMBER else self.index.tolist()
        columns = [*map(held.column, self.labels), pa.array(index)]
        names = (*self.labels, str(self.index_name))
        return replace(held, labels=names, data=pa.Table.from_arrays(columns, names=names))

    def values(self, label: str) -> ColumnValues:
        """Return what a column holds."""
        return self.names(label).drop_gaps()

    def names(self, label: str) -> ColumnValues:
        """Return what a column of names holds: one may be called NA."""
        place = self.places[label]
        called = self.name, label if self.is_named else place
        if self.array is None:
            return read_values(self.data[place], *called)
        return ColumnValues(*called, NUMBER, self.array[:, place])

    def is_single(self, label: str) -> bool:
        """Return whether a column holds numbers of single precision."""
        if self.array is not None:
            return self.array.dtype == np.float32
        return self.data.schema.types[self.places[label]] == "float"

    def to_floats(self) -> NDArray[Any]:
        """Return numbers and booleans as read-only native floats, copied only if necessary; refuse others."""
        values = self.array
        if values is None:
            columns = [self.values(label) for label in self.labels]
            check_numbers(columns)
            values = np.column_stack([column.numbers for column in columns])
        is_float = values.dtype in (np.float32, np.float64) and values.dtype.isnative
        if is_float and not values.flags.writeable and type(values) is np.ndarray:
            return values
        # An extended-precision value beyond float64 becomes infinite, and is refused as that.
        with np.errstate(over="ignore"):
            return freeze((values if is_float else values.astype(np.float64)).view(np.ndarray))

    def cells(self, label: str) -> list[Any]:
        """Return the values of a column as they were given; None for what is missing."""
        place = self.places[label]
        if self.array is None:
            return self.data[place].to_pylist()
        return [None if value != value else value for value in self.array[:, place].tolist()]

    def column(self, label: str) -> Any:
        """Return a column as one of pyarrow, as it was given; null for what is missing."""
        place = self.places[label]
        return self.data[place] if self.array is None else pa.array(self.array[:, place], from_pandas=True)

    def select(self, labels: Sequence[str]) -> RawTable:
        """Return a table of some of the columns, in the order given."""
        self.check_has(labels)
        if tuple(labels) == self.labels:
            return self
        places = [self.places[label] for label in labels]
        data = self.data.select(places) if self.array is None else self.array[:, places]
        return replace(self, labels=tuple(labels), data=data)

    def name_by_position(self, labels: Sequence[str]) -> RawTable:
        """Return a table without names with those of another, in its order, unless the names are its own numbers."""
        return self if set(labels) == set(self.labels) else replace(self, labels=tuple(labels))

    def drop(self, labels: Collection[str]) -> RawTable:
        """Return a table without some of its columns, and with one at least."""
        kept = [label for label in self.labels if label not in labels]
        check_shape((self.n_rows, len(kept)), self.name)
        return self.select(kept)

    def take(self, rows: NDArray[np.intp], index: Any = None) -> RawTable:
        """Return a table of some of the rows, by their numbers, which name them if nothing else (`index`) does."""
        data = self.data.take(rows) if self.array is None else self.array[rows]
        if index is None:
            index = np.array(list(map(str, rows)), dtype=object) if self.index is None else self.index[rows]
        return replace(self, data=data, index=index)

    def pieces(self, n_rows: int) -> Iterator[RawTable]:
        """Yield the rows in tables of equal size; the last has the remaining ones."""
        if not self.is_held:
            for piece in self.data.pieces(n_rows):
                yield raw_from_arrow(piece.rename_columns(self.labels), self.name, self.is_named)
            return
        for start in range(0, self.n_rows, n_rows):
            rows = slice(start, start + n_rows)
            yield replace(self, data=self.data[rows], index=None if self.index is None else self.index[rows])

    def check_has(self, labels: Sequence[str]) -> None:
        """Raise `MissingColumnError` unless the table has all these columns."""
        missing = [label for label in labels if not isinstance(label, str) or label not in self.places]
        if missing:
            found = f"{self.name} has no column {quote_list(missing)}"
            near = dict.fromkeys(label for each in missing for label in get_close_matches(str(each), self.labels))
            advice = f"Did you mean {quote_list(list(near))}?" if near else "Pass the name of one of them."
            known = quote_list(list(near | dict.fromkeys(self.labels)))
            raise MissingColumnError(f"{found}; its columns are {known}. {advice}")


def set_limits(columns: float, cells: float) -> None:
    """Limit the columns and cells of a table in this process, which reads tables of other people."""
    _limits.update(columns=columns, cells=cells)


def as_raw(X: Any, name: str = "X") -> RawTable:
    """Read any kind of table; arrays of numbers are not copied.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        A NumPy array, nested lists, a pandas, polars or pyarrow table, a series (one column), a dict of columns by
        their names, the path of a file, a torch tensor on any device, a `Dataset`, or any object that NumPy can read. A
        `RawTable` is returned as it is.
    name : str
        Name of the table in error messages.

    Raises
    ------
    InputError
        If the table is empty or not two-dimensional.

    Examples
    --------
    >>> as_raw([1.0, 2.0], name="X_nu")
    Traceback (most recent call last):
    ...
    fewratio.errors.InputError: X_nu has one axis (shape (2,)); expected a table with one row per instance ...
    """
    if isinstance(X, RawTable):
        return X
    if isinstance(X, str | os.PathLike):
        return open_files({name: X})[name]
    if type(X).__name__ == "Series" and hasattr(X, "to_frame"):
        X = X.to_frame()
    frame = open_frame(X, name)
    native = None if frame is None else frame.to_native()
    columns: list[Any]
    index = called = None
    if type(native).__module__.startswith("pyarrow"):
        return raw_from_arrow(native, name)
    # A sparse matrix of keys is a mapping too.
    if isinstance(X, Mapping) and not hasattr(X, "shape"):
        columns = [_read_column(values, f"column {label!r} of {name}") for label, values in X.items()]
        if len(set(map(len, columns))) > 1:
            found = f"{name} has columns of {' and '.join(map(str, sorted({*map(len, columns)})))} values"
            raise InputError(f"{found}; {_LAYOUT}. Give every column the same number of values.")
        check_shape((len(columns[0]) if columns else 1, len(columns)), name)
        labels, is_named = _read_labels(list(X), name)
    elif frame is None:
        array = _read_array(X, name)
        check_shape(array.shape, name)
        labels = tuple(map(str, range(array.shape[1])))
        has_wide = array.dtype.kind in "iu" and max(int(array.max()), -int(array.min())) > EXACT
        if array.dtype.kind in "biuf" and not has_wide:
            return RawTable(name, labels, False, array)
        if array.dtype.kind in "Mm":
            # NumPy turns finer units into integers.
            array = array.astype(f"{array.dtype.kind}8[us]")
        is_named, columns = False, array.T.astype(object).tolist()
    else:
        check_shape(frame.shape, name)
        labels, is_named = _read_labels(frame.columns, name)
        called = getattr(getattr(native, "index", None), "name", None)
        called = None if called is None else write_label(called)
        index = name_rows(native)
        columns = [frame.get_column(label) for label in frame.columns]
        is_float = len({column.dtype for column in columns}) == 1 and columns[0].dtype.is_float()
        if is_float and not hasattr(columns[0].to_native(), "chunks"):
            # About ten times as fast as one column at a time in pandas, and without a copy where there is one array.
            array = frame.to_numpy()
            if array.dtype.kind == "f":
                return RawTable(name, labels, is_named, array, index, called)
    arrays = []
    for place, column in enumerate(columns):
        try:
            arrays.append(as_arrow(column))
        except (OverflowError, TypeError, ValueError) as error:
            label = repr(labels[place]) if is_named else place
            found = f"column {label} of {name} holds a number that does not fit a 64-bit float ({error})"
            raise InputError(f"{found}; every value must be finite. Rescale the column first.") from error
    raw = raw_from_arrow(pa.Table.from_arrays(arrays, names=labels), name, is_named)
    return replace(raw, index=index, index_name=called)


def open_files(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Read those of several tables that are paths of files, together: equal first lines are a header."""
    paths = {name: Path(X) for name, X in tables.items() if isinstance(X, str | os.PathLike)}
    if not paths:
        return dict(tables)
    # What reads files is imported only for them, and imports this module.
    files = import_module("fewratio.data.readers.files")
    found = files.settle_layouts(list(map(files.find_file, paths.values())))
    return {**tables, **dict(zip(paths, map(files.read_raw, found), strict=True))}


def align_labels(labels: Any, X: Any, argument: str, name: str) -> Any:
    """Return labels of the rows of a table in the order of its rows; a pandas series is aligned by its index.

    Parameters
    ----------
    labels : array-like
    X : array-like of shape (n_rows, n_columns)
        The user's table; without an index, labels are assigned by position.
    argument, name : str
        Names of the labels and of the table in messages.
    """
    has_index = [type(each).__module__.partition(".")[0] in _INDEXED_LIBRARIES for each in (labels, X)]
    if all(has_index) and hasattr(labels, "index") and not labels.index.equals(X.index):
        # A longer series of counted rows may belong to another table.
        is_counted = X.index.tolist() == list(range(len(X)))
        if is_counted or not labels.index.is_unique or not X.index.isin(labels.index).all():
            raise InputError(
                f"the index of {argument} is not that of {name}; a series goes by its index, which must have every "
                "row once. Pass a series of the same index, or series.to_numpy() to go by position."
            )
        return labels.reindex(X.index)
    return labels


def join_tables(tables: Sequence[RawTable]) -> RawTable:
    """Return the rows of tables of the same columns, one after the other, as one table without row names."""
    datas, is_array = [table.data for table in tables], tables[0].array is not None
    data = np.concatenate(datas) if is_array else pa.concat_tables(datas, promote_options="permissive")
    return replace(tables[0], data=data, index=None)


@contextmanager
def naming_rows(piece: RawTable, start: int, n_rows: int) -> Iterator[None]:
    """Say in messages about a piece of a table of `n_rows` which rows it has, and count them from the table's first."""
    try:
        yield
    except InputError as error:
        if piece.n_rows == n_rows:
            raise
        where = f"{piece.name} (rows {start} to {start + piece.n_rows - 1})"
        message = _ROW.sub(lambda found: f"at row {start + int(found[1])}", str(error.args[0]))
        raise type(error)(message.replace(piece.name, where, 1)) from None


def open_frame(X: Any, name: str) -> nw.DataFrame[Any] | None:
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
        found = f"{name} has columns that share a name ({' '.join(str(error).split())})"
        raise InputError(f"{found}; each needs one of its own. Rename or drop some.") from error
    if isinstance(frame, nw.LazyFrame):
        found = f"{name} is a {type(X).__name__}, which has not been computed yet"
        raise InputError(f"{found}; a table in memory is needed. Call {name}.collect() first (dask: compute()).")
    if not isinstance(frame, nw.DataFrame):
        return None
    return frame


def _read_labels(columns: Sequence[Any], name: str) -> tuple[tuple[str, ...], bool]:
    """Return the labels of a frame as texts, and whether they are names: pandas numbers columns that have none."""
    texts = name_columns(columns)
    if len(set(texts)) < len(texts):
        first, second = next(
            (one, other)
            for place, one in enumerate(columns)
            for other in columns[place + 1 :]
            if write_label(one) == write_label(other)
        )
        found = f"{name} has columns that share a name ({first!r} and {second!r})"
        raise InputError(f"{found}; each needs one of its own. Rename or drop some.")
    return texts, list(columns) != list(range(len(columns)))


def raw_from_arrow(table: pa.Table, name: str, is_named: bool = True) -> RawTable:
    """Return a table of pyarrow, if need be as an array; each batch that nobody else needs is let go when it is copied.

    Single precision beside double stays as it is: columns may be left out later.
    """
    check_shape(table.shape, name)
    table = decode_numbers(table)
    if names := find_index(table.schema):
        index = read_index(table, names)
        kept = table.select([each for each in table.column_names if each not in names]).replace_schema_metadata()
        return replace(raw_from_arrow(kept, name, is_named), index=index, index_name=name_index(names))
    labels, kinds = name_columns(table.column_names), set(table.schema.types)
    is_mixed = not all(map(is_number_type, kinds)) or (len(kinds) > 1 and pa.float32() in kinds)
    if is_mixed or any(map(is_wide, table.columns)):
        return RawTable(name, labels, is_named, table)
    array = np.empty(table.shape, np.float32 if pa.float32() in kinds else np.float64)
    start, batches = 0, table.to_batches()[::-1]
    del table
    while batches:
        batch = batches.pop()
        for place in range(len(labels)):
            array[start : start + len(batch), place] = arrow_numbers(pa.chunked_array([batch.column(place)]))
        start += len(batch)
        del batch
        if len(batches) % _RELEASED == 0:
            # Or pyarrow keeps the memory for itself.
            pa.default_memory_pool().release_unused()
    return RawTable(name, labels, is_named, array)


def name_rows(X: Any) -> NDArray[Any] | None:
    """Return the row names that the index of a frame or series makes, unless it only counts the rows."""
    index: Any = getattr(X, "index", None)
    if not hasattr(index, "astype") or type(index).__name__ == "RangeIndex":
        return None
    texts = [", ".join(map(str, each)) for each in index] if index.nlevels > 1 else index.astype(str)
    return np.array(texts, dtype=object)


def read_index(table: pa.Table, names: Sequence[str]) -> NDArray[Any]:
    """Return the row names that columns make which were the index of a frame of pandas."""
    coded = [read_values(table[name], "", name).to_categories() for name in names]
    texts = [np.array([*each.texts, ""], dtype=object)[each.codes] for each in coded]
    return np.array([", ".join(each) for each in zip(*texts, strict=True)], dtype=object)


def name_index(names: Sequence[str]) -> str | None:
    """Return what such an index is called, if it has one name."""
    return names[0] if len(names) == 1 and not names[0].startswith("__index_level_") else None


def check_shape(shape: Sequence[int], name: str) -> None:
    """Raise unless a shape is that of a table with at least one row and one column."""
    shape = tuple(shape)
    if shape and shape[0] == 0:
        raise InputError(f"{name} is empty (0 rows); {_LAYOUT}. Pass at least one row.")
    if len(shape) != 2:
        found, advice = {
            0: ("is a single number", "Use reshape(1, 1) if that is what it holds."),
            1: ("has one axis", "Reshape your data: reshape(-1, 1) if it is one feature, reshape(1, -1) if one row."),
        }.get(len(shape), (f"has {len(shape)} axes", f"Use {name}.reshape(len({name}), -1) for one row each."))
        raise InputError(f"{name} {found} (shape {shape}); {_LAYOUT}. {advice}")
    if shape[1] == 0:
        found = f"{name} has {write_count(shape[0], 'row')} but no columns: 0 feature(s) (shape={shape})"
        raise InputError(f"{found} while a minimum of 1 is required; {_LAYOUT}. Pass some features.")
    for what, count in (("columns", shape[1]), ("cells", shape[0] * shape[1])):
        if count > _limits[what]:
            raise InputError(f"{name} has {count:,} {what}; at most {_limits[what]:,} are taken here. Use fewer.")


def _read_array(X: Any, name: str) -> NDArray[Any]:
    """Return an array of any shape and type, the user's own where it is one already."""
    torch: Any = sys.modules.get("torch")
    is_tensor = torch is not None and isinstance(X, torch.Tensor)
    if hasattr(X, "toarray") or (is_tensor and X.layout is not torch.strided):
        dense = "to_dense" if is_tensor else "toarray"
        raise InputError(f"{name} is sparse; a dense array is needed. Pass {name}.{dense}().")
    if is_tensor:
        try:
            # To the host first: not every device knows float64.
            tensor = X.detach().resolve_conj().resolve_neg().cpu()
            keep = tensor.is_complex() or tensor.dtype is torch.float32
            return (tensor if keep else tensor.to(torch.float64)).numpy()
        except (RuntimeError, TypeError) as error:
            # Quantized, nested, or on the device "meta", which holds no numbers.
            found = f"{name} is a tensor of type {X.dtype} on {X.device} that cannot be read ({error})"
            raise InputError(f"{found}; {_LAYOUT}. Pass a plain tensor with numbers in it.") from error
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X) and X.dtype.kind in "biufO":
        floats: Any = X.astype(X.dtype if X.dtype.kind in "fO" else np.float64)
        return np.ma.filled(floats, np.nan)
    if isinstance(X, np.ndarray) and X.dtype.names is not None:
        advice = f"numpy.lib.recfunctions.structured_to_unstructured({name})"
        raise InputError(f"{name} is a structured array; {_LAYOUT}. Pass {advice}.")
    nested = isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1 and len(X) and np.iterable(X[0])
    if isinstance(X, (list, tuple)) or nested:
        return _read_rows(list(X), name)
    if isinstance(X, (str, bytes)) or np.isscalar(X) or not hasattr(X, "__array__"):
        raise InputError(f"{name} is a {type(X).__name__}; {_LAYOUT}. Pass an array, a data frame or nested lists.")
    try:
        return np.asarray(X)
    except (TypeError, ValueError, RuntimeError) as error:
        found = f"is a {type(X).__name__} that NumPy cannot read ({error})"
        raise InputError(f"{name} {found}; {_LAYOUT}. Pass a NumPy array.") from error


def _read_column(values: Any, name: str) -> Any:
    """Return the values of one column as a list; categories of pandas as they are."""
    if str(getattr(values, "dtype", "")) == "category":
        return values
    array = _read_array(values, name) if hasattr(values, "__array__") else values
    if isinstance(array, str | bytes | Mapping) or not np.iterable(array) or getattr(array, "ndim", 1) not in (1, 2):
        found = f"{name} is a {type(values).__name__}"
        raise InputError(f"{found}; expected one value or vector per row. Pass a list, or an array of one or two axes.")
    return array.tolist() if isinstance(array, np.ndarray) else list(array)


def _read_rows(rows: list[Any], name: str) -> NDArray[Any]:
    if rows and isinstance(rows[0], Mapping):
        raise InputError(f"{name} is a list of {type(rows[0]).__name__}s; {_LAYOUT}. Pass pandas.DataFrame({name}).")
    try:
        values = np.asarray(rows)
        # NumPy turns [1, "a"] into two texts; as objects, only the column that holds text is to blame.
        return values if values.dtype.kind in "biuf" else np.asarray(rows, dtype=object)
    except (TypeError, ValueError, RuntimeError) as error:
        problem, lengths = str(error), [len(row) if hasattr(row, "__len__") else None for row in rows]
        for number, length in enumerate(lengths):
            if length is None or length != lengths[0]:
                found = f"is a {type(rows[number]).__name__}" if length is None else f"has {length}"
                problem = f"row 0 has {write_count(lengths[0] or 0, 'value')} but row {number} {found}"
                break
        found = f"{name} cannot be read as rows of numbers ({problem})"
        raise InputError(f"{found}; {_LAYOUT}. Give every row as many values.") from error


def all_finite(numbers: NDArray[Any]) -> bool:
    """Return whether no value is missing or infinite, a block of rows at a time."""
    blocks = row_blocks(len(numbers), numbers.shape[1], CACHED_VALUES)
    return all(np.isfinite(numbers[block]).all() for block in blocks)


def check_features(
    table: str,
    found: Features,
    reference: str,
    needed: Features,
    error: type[FewRatioError] = InputError,
    need: str = _SAME,
) -> None:
    """Raise an error of the given type if the features of one table differ from another's; `need` ends its message.

    Names count only if both tables have them.
    """
    count, needed_count = (each if isinstance(each, int) else len(each) for each in (found, needed))
    problem, details = f"has {write_count(count, 'column')} but {reference} has {needed_count}", ""
    if isinstance(found, tuple) and isinstance(needed, tuple):
        if found == needed:
            return
        pairs = (("missing", needed, set(found)), ("unexpected", found, set(needed)))
        parts = {part: [name for name in these if name not in those] for part, these, those in pairs}
        details = "; ".join(f"{part}: {quote_list(names)}" for part, names in parts.items() if names)
        if count == needed_count:
            kind = "other column names than" if details else "another order of columns than"
            problem = f"has {kind} {reference}"
    elif count == needed_count:
        return
    raise error(f"{table} {problem}{f' ({details})' if details else ''}; {need}")


def freeze(array: NDArray[Any]) -> NDArray[Any]:
    """Make a new array read-only, before anyone else sees it."""
    array.flags.writeable = False
    return array
