"""Categories and missing values made numbers, in the same way for the sources and for all that comes later."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewratio.data import frames
from fewratio.data.arrays import check_shape
from fewratio.data.columns import Layout, check_layout, check_none_missing
from fewratio.data.encoding_checks import check_kinds, check_seen
from fewratio.data.tables import Table, as_table
from fewratio.errors import InputError

if TYPE_CHECKING:
    from fewratio.data.frames import Frame

_NEEDED = "needed are the columns that the encoding was learned from, in their order. Select those."
UNSEEN = ("error", "zero")


@dataclass(frozen=True)
class Encoding:
    """How the columns of a collection became numbers; immutable. A collection learns its own, as its `encoding`.

    A column of categories becomes one column of zeros and ones per category; a column of numbers stays as it is.

    Attributes
    ----------
    names : tuple of str or None
        The columns before the encoding; None if they have no names.
    categories : tuple of (tuple of str or None)
        The categories of each column, in order; None for a column of numbers.
    medians : tuple of (float or None) or None
        What a missing number of each column is replaced by (a missing category becomes zeros); None if nothing
        may be missing.
    unseen : {"error", "zero"}
        What becomes of a category that is not in `categories`: an error, or zeros in all its columns.

    Examples
    --------
    >>> import polars as pl
    >>> encoding = Encoding(("size", "colour"), (None, ("blue", "red")), medians=(2.0, None))
    >>> encoding.feature_names
    ('size', 'colour=blue', 'colour=red')
    >>> encoding.apply(pl.DataFrame({"size": [None, 4.0], "colour": ["red", "blue"]}))
    array([[2., 0., 1.],
           [4., 1., 0.]])
    """

    names: tuple[str, ...] | None
    categories: tuple[tuple[str, ...] | None, ...]
    medians: tuple[float | None, ...] | None = None
    unseen: str = "error"

    @cached_property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the encoded columns: a category's is ``"column=category"``."""
        if self.names is None:
            return None
        pairs = zip(self.names, self.categories, strict=True)
        return tuple(name for column, known in pairs for name in _encoded_names(column, known))

    @property
    def n_features(self) -> int:
        """Number of encoded columns."""
        return sum(self._widths)

    def apply(self, X: Any, argument: str = "X") -> NDArray[Any]:
        """Return a table's rows, encoded.

        Parameters
        ----------
        X : data frame of shape (n, len(categories)), or array-like of shape (n, n_features)
            A data frame of the original columns. What has no columns of categories must be encoded already; of it
            only missing numbers (NaN, ``None``, masked values) are replaced.
        argument : str
            What messages call the table.
        """
        table = self.open(X, argument)
        table.check_finite()
        return table.to_numpy(table.dtype)

    def open(self, X: Any, argument: str, keep_missing: bool = False) -> Table:
        """Return a table that encodes its rows when they are read; `keep_missing` leaves NaN where a number misses."""
        frame = frames.open_frame(X, argument) if frames.is_frame(X) else None
        if frame is None or (self.names != self.feature_names == frames.feature_names(frame)):
            table = as_table(X, argument, keep_missing=keep_missing or self.medians is not None)
            return self._fill_table(table, keep_missing)
        check_shape(frame.shape, argument)
        found = Layout(argument, len(frame.columns), frames.feature_names(frame))
        check_layout(found, Layout("the source collection", len(self.categories), self.names), InputError, _NEEDED)
        columns = [(label, frame.get_column(label)) for label in frame.columns]
        check_kinds(columns, self.categories, argument)
        if self.medians is None and not keep_missing:
            check_none_missing(argument, [(label, c.is_null().to_numpy()) for label, c in columns if c.null_count()])
        if self.unseen == "error":
            check_seen(columns, self.categories, argument)
        numeric = [column for (_, column), known in zip(columns, self.categories, strict=True) if known is None]
        single = bool(numeric) and all(frames.is_float32(column) for column in numeric)

        def rows(start: int, stop: int) -> NDArray[Any]:
            encoded = self._encode(frame[start:stop], argument)
            return encoded if keep_missing else _filled(encoded, self._fill)

        return Table(
            frame.shape[0],
            self.n_features,
            self.feature_names,
            argument,
            np.dtype(np.float32 if single else np.float64),
            _labels=self.feature_names or range(self.n_features),
            _rows=rows,
        )

    def with_medians(self, arrays: Sequence[NDArray[Any]]) -> Encoding:
        """Return an encoding that replaces missing numbers by the medians of encoded rows (NaN: missing)."""
        ends = np.cumsum(self._widths).tolist()
        medians: list[float | None] = []
        for j, (known, end) in enumerate(zip(self.categories, ends, strict=True)):
            if known is not None:
                medians.append(None)
                continue
            # One column at a time: all of them together would be the table once more.
            column = np.concatenate([array[:, end - 1] for array in arrays])
            present = column[~np.isnan(column)]
            if not len(present):
                label = j if self.names is None else self.names[j]
                raise InputError(
                    f"column {label!r} has no value in any dataset, so it has no median; needed is one value at "
                    "least. Drop the column."
                )
            medians.append(_median(present))
        return replace(self, medians=tuple(medians))

    def fill(self, array: NDArray[Any]) -> None:
        """Replace NaN in encoded rows by the medians, in place."""
        for j, value in enumerate(self._fill):
            if not np.isnan(value):
                column = array[:, j]
                column[np.isnan(column)] = value

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding in words of JSON."""
        return {
            "names": None if self.names is None else list(self.names),
            "categories": [None if known is None else list(known) for known in self.categories],
            "medians": None if self.medians is None else list(self.medians),
            "unseen": self.unseen,
        }

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Encoding:
        """Return the encoding that `to_dict` described; raise ``ValueError`` if the words do not fit together."""
        names, categories, medians, unseen = (words[key] for key in ("names", "categories", "medians", "unseen"))
        _check(isinstance(categories, list) and categories != [], "its encoding has no columns")
        named = names is None or (_are_words(names) and len(names) == len(categories))
        _check(named, "the names of its encoding do not fit")
        for known in categories:
            _check(known is None or (_are_words(known) and known != []), "its categories are no lists of words")
        if medians is not None:
            _check(isinstance(medians, list) and len(medians) == len(categories), "its medians do not fit")
            for known, median in zip(categories, medians, strict=True):
                _check(_is_finite(median) if known is None else median is None, "its medians are no numbers")
        _check(unseen in UNSEEN, f"its rule for unseen categories is {unseen!r}")
        return cls(
            None if names is None else tuple(names),
            tuple(None if known is None else tuple(known) for known in categories),
            None if medians is None else tuple(None if median is None else float(median) for median in medians),
            unseen,
        )

    @property
    def _widths(self) -> list[int]:
        return [1 if known is None else len(known) for known in self.categories]

    @cached_property
    def _fill(self) -> NDArray[np.float64]:
        """What replaces NaN in each encoded column; NaN for nothing."""
        medians = self.medians or [None] * len(self.categories)
        values = [np.nan if median is None else median for median in medians]
        return np.repeat(values, self._widths)

    def _fill_table(self, table: Table, keep_missing: bool) -> Table:
        check_layout(table.layout, Layout("the encoded source collection", self.n_features), InputError, _NEEDED)
        if keep_missing or self.medians is None:
            return table
        return replace(table, _rows=lambda start, stop: _filled(table.block(start, stop), self._fill))

    def _encode(self, frame: Frame, argument: str) -> NDArray[np.float64]:
        result = np.zeros((frame.shape[0], self.n_features))
        place = 0
        for label, known in zip(frame.columns, self.categories, strict=True):
            column = frame.get_column(label)
            if known is None:
                result[:, place] = frames.float_column(column, label, argument)
                place += 1
            else:
                codes, values = frames.label_codes(column)
                position = {category: place + number for number, category in enumerate(known)}
                columns = np.array([-1 if value is None else position.get(str(value), -1) for value in values])[codes]
                rows = np.flatnonzero(columns >= 0)
                result[rows, columns[rows]] = 1.0
                place += len(known)
        return result


def _encoded_names(column: str, known: tuple[str, ...] | None) -> list[str]:
    return [column] if known is None else [f"{column}={category}" for category in known]


def _median(values: NDArray[Any]) -> float:
    with np.errstate(over="ignore"):
        median = float(np.median(values))
    # The mean of the middle two overflows where their halves' does not.
    return median if math.isfinite(median) else 2 * float(np.median(values / 2))


def _filled(rows: NDArray[np.float64], fill: NDArray[np.float64]) -> NDArray[np.float64]:
    gaps = np.isnan(rows)
    if gaps.any():
        np.copyto(rows, fill, where=gaps)
    return rows


def _check(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _are_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value) and len(set(value)) == len(value)


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
