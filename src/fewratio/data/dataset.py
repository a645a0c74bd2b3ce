"""One named sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fewratio.data.columns import counted, is_missing, listed
from fewratio.data.tables import Table, as_table
from fewratio.errors import InputError

Array = TypeVar("Array", bound=NDArray[Any])


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A named sample.

    Attributes
    ----------
    name : str
    group : str or None
        What this dataset shares with others of its collection (a rotation, a speaker, a site).
    X : ndarray of shape (n, d)
        Finite numbers, read-only; float32 if given so, else float64. Anything that `as_table` takes may be given.
    is_outlier : ndarray of shape (n,) or None
        Which rows are known to be outliers, read-only; None if nothing is known. May be given as 0 and 1.

    Examples
    --------
    >>> Dataset("monday", None, [[1, 2], [3, 4], [5, 60]], is_outlier=[0, 0, 1])
    Dataset('monday', 3 rows, 2 features, 1 outlier)
    """

    name: str
    group: str | None
    X: NDArray[Any]
    is_outlier: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        label = f"dataset {self.name!r}"
        table = as_table(self.X, label)
        table.check_finite()
        if not _is_frozen(self.X):
            object.__setattr__(self, "X", frozen(table.to_numpy(table.dtype)))
        if self.is_outlier is not None:
            flags = as_flags(self.is_outlier, f"is_outlier of {label}")
            if len(flags) != table.n_rows:
                raise InputError(
                    f"is_outlier of {label} has {counted(len(flags), 'value')} but X has "
                    f"{counted(table.n_rows, 'row')}; one value per row is needed. Pass arrays of one length."
                )
            object.__setattr__(self, "is_outlier", flags)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # NumPy's copies and what it unpickles can be written to.
        for array in (self.X, self.is_outlier):
            if array is not None:
                frozen(array)

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        group = [] if self.group is None else [f"group={self.group!r}"]
        outliers = [] if self.is_outlier is None else [counted(int(self.is_outlier.sum()), "outlier")]
        sizes = [counted(len(self), "row"), counted(self.n_features, "feature")]
        return f"Dataset({', '.join([repr(self.name), *group, *sizes, *outliers])})"

    @property
    def n_features(self) -> int:
        """Number of columns of `X`."""
        return int(self.X.shape[1])


def dataset_from_table(name: str, group: str | None, table: Table, is_outlier: Any = None) -> Dataset:
    """Read a table into a dataset, in the table's own words if a value cannot be used."""
    X = frozen(table.to_numpy(table.dtype))
    try:
        return Dataset(name, group, X, is_outlier)
    except InputError:
        # The array is quicker to look through than the table, which is asked only for its words.
        table.check_finite()
        raise


def as_flags(values: Any, argument: str) -> NDArray[np.bool_]:
    """Return read-only booleans from booleans or from 0 and 1, whatever their type; none may be missing."""
    flags = np.asarray(values)
    if flags.ndim != 1:
        raise InputError(
            f"{argument} has shape {flags.shape}; one value per row is needed. Pass an array with one axis."
        )
    if flags.dtype.kind != "b":
        missing = _missing_flags(flags)
        if missing.any():
            raise InputError(
                f"{argument} has {counted(int(missing.sum()), 'missing value')}, the first at row "
                f"{int(missing.argmax())} (counting from 0); every value must be a boolean, or 0 or 1. Drop those rows "
                "or fill the gaps first."
            )
        try:
            other = sorted(set(flags.tolist()) - {0, 1}, key=repr)
        except TypeError:
            # Nested values cannot be in a set.
            other = flags.tolist()
        if other:
            raise InputError(
                f"{argument} holds {listed(other)}; every value must be a boolean, or 0 or 1. "
                "Compare the column with the value that marks an outlier first."
            )
    return frozen(flags.astype(np.bool_))


def _missing_flags(flags: NDArray[Any]) -> NDArray[np.bool_]:
    if flags.dtype.kind == "f":
        return np.isnan(flags)
    if flags.dtype.kind != "O":
        return np.zeros(len(flags), dtype=np.bool_)
    is_nan = [isinstance(value, float) and value != value for value in flags]
    return is_missing(flags) | np.array(is_nan, dtype=np.bool_)


def frozen(array: Array) -> Array:
    """Make a new array read-only, before anyone else sees it."""
    array.flags.writeable = False
    return array


def _is_frozen(X: Any) -> bool:
    """Tell whether nobody can change this array, so that it may be shared instead of copied."""
    if not isinstance(X, np.ndarray) or X.dtype not in (np.float32, np.float64) or not X.flags.c_contiguous:
        return False
    # A read-only view (such as pandas hands out) does not protect from changes through the array below it.
    owner: Any = X
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return owner is None
