"""A user's table as it came, before anything is decided about its columns."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.data import frames
from fewratio.data.columns import NUMBER, counted, listed
from fewratio.errors import InputError, MissingColumnError

# Batches after which memory is given back.
_RELEASED = 32
_LAYOUT = "needed is a table with one row per instance and one column per feature"


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table that was given: an array of numbers, or columns of any kind.

    Attributes
    ----------
    argument : str
        What messages call it.
    labels : tuple of str
        Names of the columns; their numbers where they have none.
    is_named : bool
        Whether the columns have names of their own.
    n_rows : int
    array : ndarray of shape (n_rows, n_columns) or None
        If all columns are numbers: those, NaN for what is missing. It may be the user's own memory.
    columns : tuple of (Series or list)
        Otherwise each column.
    index : object
        The row names that a pandas frame has, unless they only count its rows.
    """

    argument: str
    labels: tuple[str, ...]
    is_named: bool
    n_rows: int
    array: NDArray[Any] | None = None
    columns: tuple[Any, ...] = ()
    index: Any = None

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each column."""
        return {label: place for place, label in enumerate(self.labels)}

    def values(self, label: str) -> frames.Values:
        """Return what a column holds."""
        place = self.places[label]
        if self.array is not None:
            return frames.Values(NUMBER, self.array[:, place])
        return frames.read_values(self.columns[place], self.called(label))

    def called(self, label: str) -> str:
        """Return what messages call a column."""
        return f"column {repr(label) if self.is_named else self.places[label]} of {self.argument}"

    def is_single(self, label: str) -> bool:
        """Tell whether a column holds numbers of single precision."""
        kind = self.columns[self.places[label]] if self.array is None else self.array
        return str(getattr(kind, "dtype", "")).lower() == "float32"

    def cells(self, label: str) -> list[Any]:
        """Return the values of a column as they were given; None for what is missing."""
        place = self.places[label]
        if self.array is not None:
            return [None if value != value else value for value in self.array[:, place].tolist()]
        column = self.columns[place]
        return column if isinstance(column, list) else column.to_list()

    def select(self, labels: Sequence[str]) -> RawTable:
        """Return a table of some of the columns, in the order given."""
        self.check_has(labels)
        if tuple(labels) == self.labels:
            return self
        places = [self.places[label] for label in labels]
        array = None if self.array is None else self.array[:, places]
        return replace(
            self, labels=tuple(labels), array=array, columns=tuple(self.columns[j] for j in places if self.columns)
        )

    def without(self, labels: Collection[str]) -> RawTable:
        """Return a table without some of its columns, and with one at least."""
        kept = [label for label in self.labels if label not in labels]
        check_shape((self.n_rows, len(kept)), self.argument)
        return self.select(kept)

    def take(self, rows: NDArray[np.intp]) -> RawTable:
        """Return a table of some of the rows, by their numbers, which name them if nothing else does."""
        kept = [
            [column[row] for row in rows] if isinstance(column, list) else column[rows.tolist()]
            for column in self.columns
        ]
        array = None if self.array is None else self.array[rows]
        index = np.array(list(map(str, rows)), dtype=object) if self.index is None else self.index[rows]
        return replace(self, n_rows=len(rows), array=array, columns=tuple(kept), index=index)

    def check_has(self, labels: Sequence[str]) -> None:
        """Raise `MissingColumnError` unless the table has all these columns."""
        missing = [label for label in labels if label not in self.places]
        if missing:
            raise MissingColumnError(
                f"{self.argument} has no column {listed(missing)}; its columns are {listed(self.labels)}. Pass the "
                "name of one of them."
            )


def as_raw(X: Any, argument: str = "X") -> RawTable:
    """Read anything that holds a table; arrays of numbers are not copied.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        A NumPy array, nested lists, a pandas, polars or pyarrow table, a torch tensor on any device, a `Dataset`, or
        any object that NumPy can read. A `RawTable` is returned as it is.
    argument : str
        What error messages call the table.

    Raises
    ------
    InputError
        If it is empty or not two-dimensional.

    Examples
    --------
    >>> as_raw([1.0, 2.0], argument="X_nu")
    Traceback (most recent call last):
    ...
    fewratio.errors.InputError: X_nu has one axis (shape (2,)); needed is a table with one row per instance ...
    """
    if isinstance(X, RawTable):
        return X
    frame = frames.open_frame(X, argument)
    if frame is None:
        array = _read_array(X, argument)
        check_shape(array.shape, argument)
        labels = tuple(map(str, range(array.shape[1])))
        if array.dtype.kind in "biuf":
            return RawTable(argument, labels, False, len(array), array)
        if array.dtype.kind in "Mm":
            # Of finer units NumPy makes integers.
            array = array.astype(f"{array.dtype.kind}8[us]")
        return RawTable(argument, labels, False, len(array), columns=tuple(array.T.astype(object).tolist()))
    check_shape(frame.shape, argument)
    index = getattr(frame.to_native(), "index", None)
    index = None if index is None or type(index).__name__ == "RangeIndex" else np.array(index.astype(str), dtype=object)
    numbers = frames.frame_numbers(frame, argument)
    columns = tuple(frame.get_column(label) for label in frame.columns) if numbers is None else ()
    # As in scikit-learn, only strings are names.
    is_named = isinstance(frame.columns[0], str)
    return RawTable(argument, tuple(map(str, frame.columns)), is_named, len(frame), numbers, columns, index)


def raw_of_batches(batches: list[Any], labels: tuple[str, ...], dtype: type[np.floating], argument: str) -> RawTable:
    """Return a table of numbers in batches of pyarrow that nobody else needs: each is let go when it is copied."""
    import pyarrow as pa

    array = np.empty((sum(map(len, batches)), len(labels)), dtype)
    start = 0
    batches.reverse()
    while batches:
        batch = batches.pop()
        for place in range(len(labels)):
            array[start : start + len(batch), place] = frames.arrow_numbers(pa.chunked_array([batch.column(place)]))
        start += len(batch)
        del batch
        if len(batches) % _RELEASED == 0:
            # Or pyarrow keeps the memory for itself.
            pa.default_memory_pool().release_unused()
    return RawTable(argument, labels, True, len(array), array)


def check_shape(shape: Sequence[int], argument: str) -> None:
    """Raise unless a shape is that of a table with at least one row and one column."""
    shape = tuple(shape)
    if shape and shape[0] == 0:
        raise InputError(f"{argument} is empty (0 rows); {_LAYOUT}. Pass at least one row.")
    if len(shape) != 2:
        advice = {
            0: "Use reshape(1, 1) if that is what it holds.",
            1: "Use reshape(-1, 1) if it is one feature, or reshape(1, -1) if it is one instance.",
        }.get(len(shape), f"Flatten each instance to one row, with {argument}.reshape(len({argument}), -1).")
        found = {0: "is a single number", 1: "has one axis"}.get(len(shape), f"has {len(shape)} axes")
        raise InputError(f"{argument} {found} (shape {shape}); {_LAYOUT}. {advice}")
    if shape[1] == 0:
        raise InputError(f"{argument} has {counted(shape[0], 'row')} but no columns; {_LAYOUT}. Pass some features.")


def _read_array(X: Any, argument: str) -> NDArray[Any]:
    """Return an array of any shape and type, the user's own where it is one already."""
    sparse, torch = sys.modules.get("scipy.sparse"), sys.modules.get("torch")
    if torch is not None and isinstance(X, torch.Tensor):
        if X.layout is not torch.strided:
            raise InputError(f"{argument} is a sparse tensor; a dense one is needed. Pass {argument}.to_dense().")
        # To the host first: not every device knows float64.
        tensor = X.detach().resolve_conj().resolve_neg().cpu()
        keep = tensor.is_complex() or tensor.dtype is torch.float32
        values: NDArray[Any] = (tensor if keep else tensor.to(torch.float64)).numpy()
        return values
    if sparse is not None and sparse.issparse(X):
        raise InputError(f"{argument} is a sparse matrix; a dense array is needed. Pass {argument}.toarray().")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X) and X.dtype.kind in "biufO":
        filled = np.ma.getdata(X).astype(X.dtype if X.dtype.kind in "fO" else np.float64)
        filled[np.ma.getmaskarray(X)] = np.nan
        return filled
    if isinstance(X, np.ndarray) and X.dtype.names is not None:
        raise InputError(
            f"{argument} is a structured array; {_LAYOUT}. Pass "
            f"numpy.lib.recfunctions.structured_to_unstructured({argument})."
        )
    nested = isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1 and len(X) and np.iterable(X[0])
    if isinstance(X, (list, tuple)) or nested:
        return _read_rows(list(X), argument)
    if isinstance(X, (str, bytes)) or np.isscalar(X) or not hasattr(X, "__array__"):
        raise InputError(f"{argument} is a {type(X).__name__}; {_LAYOUT}. Pass an array, a data frame or nested lists.")
    try:
        return np.asarray(X)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{argument} is a {type(X).__name__} that NumPy cannot read ({error}); {_LAYOUT}. Pass a NumPy array."
        ) from error


def _read_rows(rows: list[Any], argument: str) -> NDArray[Any]:
    try:
        values = np.asarray(rows)
        # NumPy turns [1, "a"] into two texts; as objects, only the column that holds text is to blame.
        return values if values.dtype.kind in "biuf" else np.asarray(rows, dtype=object)
    except (TypeError, ValueError, RuntimeError) as error:
        lengths = [len(row) if hasattr(row, "__len__") else None for row in rows]
        other = next((i for i, length in enumerate(lengths) if length is None or length != lengths[0]), None)
        problem = str(error)
        if other is not None:
            found = f"is a {type(rows[other]).__name__}" if lengths[other] is None else f"has {lengths[other]}"
            problem = f"row 0 has {counted(lengths[0] or 0, 'value')} but row {other} {found}"
        raise InputError(
            f"{argument} cannot be read as rows of numbers ({problem}); {_LAYOUT}. "
            "Give every row the same number of values, or pass an array."
        ) from error
