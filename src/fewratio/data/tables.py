"""The gate through which a user's table becomes validated numbers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fewratio.data import frames
from fewratio.data.arrays import check_shape, read_array
from fewratio.data.columns import (
    COMPLEX,
    INFINITE,
    SAME_SAMPLES,
    Layout,
    check_layout,
    dtype_problem,
    not_numbers,
    numbers_from_objects,
    unusable_values,
)
from fewratio.errors import InputError, ParameterError

if TYPE_CHECKING:
    import torch

# A megabyte as float64, which stays in the cache between being read, looked at and stored.
_BLOCK_VALUES = 2**17


@dataclass(frozen=True, eq=False)
class Table:
    """A validated view on a user's rows, made by `as_table`. It reads them when asked and keeps no copy.

    Attributes
    ----------
    n_rows, n_features : int
    feature_names : tuple of str or None
        None if the columns have no names, or names that are not strings.
    argument : str
        What messages call this table.
    dtype : numpy.dtype
        float32 if all of it was given so, else float64: what `to_numpy` can hold without loss of input precision.

    Examples
    --------
    >>> table = as_table([[1, 2], [3, 4], [5, 6]], argument="X_nu")
    >>> table.n_rows, table.n_features
    (3, 2)
    >>> [block.tolist() for block in table.blocks(2)]
    [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]]
    """

    n_rows: int
    n_features: int
    feature_names: tuple[str, ...] | None
    argument: str
    dtype: np.dtype[Any]
    _labels: Sequence[object] = field(repr=False)
    # May return the user's own memory and any real dtype; only `block` hands rows out.
    _rows: frames.RowReader = field(repr=False)

    @property
    def layout(self) -> Layout:
        """The features, for comparison with another table's."""
        return Layout(self.argument, self.n_features, self.feature_names)

    def block(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return rows `start` to `stop` as a fresh, writeable float64 array in C order."""
        start, stop, _ = slice(start, stop).indices(self.n_rows)
        # An extended-precision value beyond float64 becomes infinite, which check_finite reports.
        with np.errstate(over="ignore"):
            return np.array(self._rows(start, stop), dtype=np.float64, order="C", copy=True)

    def blocks(self, n_rows: int) -> Iterator[NDArray[np.float64]]:
        """Iterate over the table, `n_rows` rows at a time (the last block may be shorter)."""
        if n_rows < 1:
            raise ParameterError(f"n_rows is {n_rows}; a block needs at least one row. Pass a positive number.")
        return (self.block(start, start + n_rows) for start in range(0, self.n_rows, n_rows))

    def to_numpy(self, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return the whole table as a fresh, writeable array of the given float type in C order."""
        result = np.empty((self.n_rows, self.n_features), dtype=dtype)
        for start, stop in self._spans():
            with np.errstate(over="ignore"):
                result[start:stop] = self._rows(start, stop)
        return result

    def check_finite(self, keep_missing: bool = False) -> None:
        """Raise `InputError` if a value is infinite, or NaN unless that may stay, naming the first and counting all."""
        count, first = 0, None
        for start, stop in self._spans():
            with np.errstate(over="ignore"):
                values = np.asarray(self._rows(start, stop), dtype=np.float64)
            finite = ~np.isinf(values) if keep_missing else np.isfinite(values)
            if finite.all():
                continue
            count += finite.size - int(np.count_nonzero(finite))
            if first is None:
                row, column = np.unravel_index(int(finite.argmin()), finite.shape)
                first = start + int(row), int(column)
        if first is not None:
            what = INFINITE if keep_missing else "NaN or infinite"
            raise unusable_values(self.argument, what, count, self._labels[first[1]], first[0])

    def _spans(self) -> Iterator[tuple[int, int]]:
        step = max(1, _BLOCK_VALUES // self.n_features)
        return ((start, min(start + step, self.n_rows)) for start in range(0, self.n_rows, step))


def as_table(X: Any, argument: str = "X", keep_missing: bool = False) -> Table:
    """Validate anything that holds rows of numbers, without copying it.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        A NumPy array, nested lists, a pandas, polars or pyarrow table, a torch tensor on any device, or any object
        that NumPy can read. Lists, and arrays of Python objects, are converted once; all else is read when asked.
        A `Table` is returned as it is.
    argument : str
        What error messages call the table.
    keep_missing : bool
        Whether ``None`` in lists and arrays of Python objects, and masked values of arrays, are read as NaN instead of
        refused.

    Returns
    -------
    Table
        Shape and column types are valid; `Table.check_finite` looks at the values.

    Raises
    ------
    InputError
        If the table is empty, is not two-dimensional, or holds anything but real numbers.

    Examples
    --------
    >>> as_table([1.0, 2.0], argument="X_nu")
    Traceback (most recent call last):
    ...
    fewratio.errors.InputError: X_nu has one axis (shape (2,)); needed is a table with one row per instance ...
    """
    if isinstance(X, Table):
        return X
    frame = frames.open_frame(X, argument) if frames.is_frame(X) else None
    if frame is not None:
        check_shape(frame.shape, argument)
        frames.check_columns(frame, argument)
        names, rows = frames.feature_names(frame), frames.row_reader(frame, argument)
        dtype = _float_dtype(frames.all_float32(frame))
        return Table(*frame.shape, names, argument, dtype, _labels=frame.columns, _rows=rows)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(X, torch.Tensor):
        return _tensor_table(X, argument)
    return _array_table(read_array(X, argument, keep_missing), argument, keep_missing)


def check_same_features(table: Table, n_features: int, feature_names: Sequence[str] | None, reference: str) -> None:
    """Raise `InputError` unless a table has the given features.

    Parameters
    ----------
    table : Table
    n_features : int
        How many features there must be.
    feature_names : sequence of str or None
        Their names, in order. If either side has no names, only the counts matter.
    reference : str
        What messages call the other side (in the singular, such as ``"X_nu"``).

    Examples
    --------
    >>> check_same_features(as_table([[1, 2]], "X_de"), 3, None, reference="X_nu")
    Traceback (most recent call last):
    ...
    fewratio.errors.InputError: X_de has 2 features but X_nu has 3; both samples must have the same columns. ...
    """
    names = None if feature_names is None else tuple(feature_names)
    check_layout(table.layout, Layout(reference, n_features, names), InputError, SAME_SAMPLES)


def _float_dtype(is_float32: bool) -> np.dtype[Any]:
    return np.dtype(np.float32 if is_float32 else np.float64)


def _array_table(values: NDArray[Any], argument: str, keep_missing: bool) -> Table:
    check_shape(values.shape, argument)
    n_rows, n_features = values.shape
    labels = range(n_features)
    problem = dtype_problem(values.dtype)
    if problem is not None:
        raise not_numbers(argument, [(label, problem) for label in labels])
    if values.dtype.kind == "O":
        values = numbers_from_objects(values, argument, labels, keep_missing)
    dtype = _float_dtype(values.dtype == np.float32)
    return Table(
        n_rows,
        n_features,
        None,
        argument,
        dtype,
        _labels=labels,
        _rows=lambda start, stop: values[start:stop],
    )


def _tensor_table(tensor: torch.Tensor, argument: str) -> Table:
    import torch

    if tensor.layout is not torch.strided:
        raise InputError(f"{argument} is a sparse tensor; a dense one is needed. Pass {argument}.to_dense().")
    check_shape(tensor.shape, argument)
    n_rows, n_features = tensor.shape
    labels = range(n_features)
    if tensor.is_complex():
        raise not_numbers(argument, [(label, COMPLEX) for label in labels])

    def rows(start: int, stop: int) -> NDArray[np.float64]:
        # To the host first: not every device knows float64.
        part = tensor[start:stop].detach().resolve_neg().cpu().to(torch.float64)
        result: NDArray[np.float64] = part.numpy()
        return result

    dtype = _float_dtype(tensor.dtype is torch.float32)
    return Table(n_rows, n_features, None, argument, dtype, _labels=labels, _rows=rows)
