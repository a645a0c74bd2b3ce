"""The gate through which a user's table becomes validated numbers."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fewratio.data import frames
from fewratio.data.columns import SAME_SAMPLES, Layout, array_numbers, check_layout, counted, unusable_values
from fewratio.errors import InputError

# A megabyte as float64, which stays in the cache.
_BLOCK_VALUES = 2**17
_LAYOUT = "needed is a table with one row per instance and one column per feature"


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers that were validated, made by `as_table`; immutable.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_features)
        Read-only; float32 if all of it was given so, else float64. It may be the user's own memory.
    feature_names : tuple of str or None
        None if the columns have no names, or names that are not strings.
    argument : str
        What messages call this table.
    is_complete : bool
        Whether all numbers are finite; otherwise some may be missing (NaN).

    Examples
    --------
    >>> table = as_table([[1, 2], [3, 4], [5, 6]], argument="X_nu")
    >>> table.n_rows, table.n_features
    (3, 2)
    >>> table.block(1, 3).tolist()
    [[3.0, 4.0], [5.0, 6.0]]
    """

    numbers: NDArray[Any]
    feature_names: tuple[str, ...] | None = None
    argument: str = "X"
    is_complete: bool = True

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.numbers.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.numbers.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self.numbers.dtype

    @property
    def layout(self) -> Layout:
        """The features, for comparison with another table's."""
        return Layout(self.argument, self.n_features, self.feature_names)

    def block(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return rows `start` to `stop` as a new, writeable float64 array in C order."""
        return np.array(self.numbers[start:stop], dtype=np.float64, order="C", copy=True)

    def to_numpy(self, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return the whole table as a new, writeable array of the given float type in C order."""
        return np.array(self.numbers, dtype=dtype, order="C", copy=True)

    def in_order(self, names: Sequence[str] | None) -> "Table":
        """Return the columns in another order, if they are just those."""
        own = self.feature_names
        if names is None or own is None or own == tuple(names) or set(own) != set(names) or len(own) != len(names):
            return self
        places = [own.index(name) for name in names]
        return replace(self, numbers=frozen(self.numbers[:, places]), feature_names=tuple(names))

    def check_finite(self) -> None:
        """Raise `InputError` if a value is missing. Free for tables that may have no gaps."""
        if not self.is_complete:
            self.validate_finite()

    def validate_finite(self, keep_missing: bool = False, first_row: int = 0) -> Self:
        """Raise `InputError` if a value is infinite, or NaN unless that may stay, naming the first and counting all."""
        count, first, infinite = 0, None, False
        step = max(1, _BLOCK_VALUES // self.n_features)
        for start in range(0, self.n_rows, step):
            values = self.numbers[start : start + step]
            finite = ~np.isinf(values) if keep_missing else np.isfinite(values)
            if finite.all():
                continue
            count += finite.size - int(np.count_nonzero(finite))
            infinite = infinite or bool(np.isinf(values).any())
            if first is None:
                row, column = np.unravel_index(int(finite.argmin()), finite.shape)
                first = start + int(row), int(column)
        if first is not None:
            named = self.feature_names is not None
            label = self.feature_names[first[1]] if self.feature_names is not None else first[1]
            what = "infinite" if keep_missing else "missing" if named and not infinite else "NaN or infinite"
            raise unusable_values(self.argument, what, count, label, first[0], first_row)
        return self


def as_table(X: Any, argument: str = "X", keep_missing: bool = False, first_row: int = 0) -> Table:
    """Validate anything that holds rows of numbers; arrays of floats are not copied.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        A NumPy array, nested lists, a pandas, polars or pyarrow table, a torch tensor on any device, a `Dataset`, or
        any object that NumPy can read. A `Table` is returned as it is.
    argument : str
        What error messages call the table.
    keep_missing : bool
        Whether missing values (NaN, ``None``, masked) may stay, as NaN.
    first_row : int
        What messages add to the number of a row: where `X` begins, if it is a part of a longer table.

    Raises
    ------
    InputError
        If the table is empty, is not two-dimensional, or holds anything but finite real numbers.

    Examples
    --------
    >>> as_table([1.0, 2.0], argument="X_nu")
    Traceback (most recent call last):
    ...
    fewratio.errors.InputError: X_nu has one axis (shape (2,)); needed is a table with one row per instance ...
    """
    if isinstance(X, Table):
        return X
    frame = frames.open_frame(X, argument)
    if frame is not None:
        check_shape(frame.shape, argument)
        numbers, names = frames.frame_numbers(frame, argument, first_row), frames.feature_names(frame)
    else:
        values = _read_array(X, argument)
        check_shape(values.shape, argument)
        numbers, names = array_numbers(values, argument), None
    return Table(_readable(numbers), names, argument, not keep_missing).validate_finite(keep_missing, first_row)


def check_same_features(table: Table, n_features: int, feature_names: Sequence[str] | None, reference: str) -> None:
    """Raise `InputError` unless a table has the given features.

    Parameters
    ----------
    table : Table
    n_features : int
        How many features there must be.
    feature_names : sequence of str or None
        Their names, in order. If either table has no names, only the counts matter.
    reference : str
        What messages call the other table (in the singular, such as ``"X_nu"``).

    Examples
    --------
    >>> check_same_features(as_table([[1, 2]], "X_de"), 3, None, reference="X_nu")
    Traceback (most recent call last):
    ...
    fewratio.errors.InputError: X_de has 2 features but X_nu has 3; both samples must have the same columns. ...
    """
    names = None if feature_names is None else tuple(feature_names)
    check_layout(table.layout, Layout(reference, n_features, names), InputError, SAME_SAMPLES)


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


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make a new array read-only, before anyone else sees it."""
    array.flags.writeable = False
    return array


def is_frozen(array: NDArray[Any]) -> bool:
    """Tell whether nobody can change this array, so that it may be shared instead of copied."""
    # A read-only view (such as pandas hands out) does not protect from changes through the array below it.
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return owner is None


def _readable(values: NDArray[Any]) -> NDArray[Any]:
    """Return real numbers of any type as a read-only view of native floats, copied only if they are none yet."""
    kept = values.dtype in (np.float32, np.float64) and values.dtype.isnative
    if kept and not values.flags.writeable and type(values) is np.ndarray:
        return values
    # An extended-precision value beyond float64 becomes infinite, and is refused as that.
    with np.errstate(over="ignore"):
        return frozen((values if kept else values.astype(np.float64)).view(np.ndarray))


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
            found = f"has {lengths[other]}" if lengths[other] is not None else f"is a {type(rows[other]).__name__}"
            problem = f"row 0 has {counted(lengths[0] or 0, 'value')} but row {other} {found}"
        raise InputError(
            f"{argument} cannot be read as rows of numbers ({problem}); {_LAYOUT}. "
            "Give every row the same number of values, or pass an array."
        ) from error
