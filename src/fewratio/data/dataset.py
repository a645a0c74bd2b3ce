"""One named sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fewratio.core.wording import write_count, write_list
from fewratio.data.column_kinds import is_missing
from fewratio.data.raw_table import align_labels, freeze
from fewratio.data.table import as_table
from fewratio.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A named sample.

    Attributes
    ----------
    name : str
    group : str or None
        A group of datasets in the collection, such as a rotation, a speaker or a site.
    X : ndarray of shape (n, d)
        Finite numbers, read-only; float32 if passed as such, else float64. `as_table` lists what you may pass.
    is_outlier : ndarray of shape (n,) or None
        Which rows are known outliers, read-only; None if unknown. You may pass 0 and 1.

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
        given, table = self.X, as_table(self.X, label)
        flags = table.numbers.flags
        # Through the array below a view, even one that is read-only, the numbers could still be changed.
        kept = flags.c_contiguous and flags.owndata and not flags.writeable
        object.__setattr__(self, "X", table.numbers if kept else freeze(table.to_numpy(table.numbers.dtype)))
        if self.is_outlier is not None:
            marks = as_flags(align_labels(self.is_outlier, given, "is_outlier", label), f"is_outlier of {label}")
            if len(marks) != table.n_rows:
                found = f"{write_count(len(marks), 'value')} but X has {write_count(table.n_rows, 'row')}"
                raise InputError(f"is_outlier of {label} has {found}; one value per row is needed. Pass as many.")
            object.__setattr__(self, "is_outlier", marks)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.X, dtype=dtype, copy=copy)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # NumPy's copies and what it unpickles can be written to.
        for array in (self.X, self.is_outlier):
            if array is not None:
                freeze(array)

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        group = [] if self.group is None else [f"group={self.group!r}"]
        outliers = [] if self.is_outlier is None else [write_count(int(self.is_outlier.sum()), "outlier")]
        sizes = [write_count(len(self), "row"), write_count(self.n_features, "feature")]
        return f"Dataset({', '.join([repr(self.name), *group, *sizes, *outliers])})"

    @property
    def n_features(self) -> int:
        """Number of columns of `X`."""
        return int(self.X.shape[1])


def as_flags(values: Any, argument: str) -> NDArray[np.bool_]:
    """Return read-only booleans from booleans or from 0 and 1, whatever their type; none may be missing."""
    try:
        flags = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{argument} cannot be read ({error}); one value per row is needed. Pass a list.") from error
    if flags.ndim != 1:
        raise InputError(f"{argument} has shape {flags.shape}; one value per row is needed. Pass one axis.")
    if flags.dtype.kind != "b":
        marks = flags.tolist()
        wrong = [row for row, mark in enumerate(marks) if not (np.isscalar(mark) and mark in (0, 1))]
        # One word makes a text of every mark of a column: the word is to blame, not the "0" before it.
        wrong = [row for row in wrong if str(marks[row]) not in ("0", "1")] or wrong
        if wrong:
            held = sorted({"missing values" if is_missing(marks[row]) else repr(marks[row]) for row in wrong})
            found = f"{argument} holds {write_list(held)}, the first at row {wrong[0]} (counting from 0)"
            raise InputError(f"{found}; every value must be a boolean, or 0 or 1. Correct or replace those first.")
    return freeze(flags.astype(np.bool_))
