"""One long table, cut into datasets by a column that names them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.data import files
from fewratio.data.dataset import Dataset, as_flags
from fewratio.data.encoding import Encoding, EncodingChoice
from fewratio.data.frames import Frame, label_codes, take_column
from fewratio.data.table import check_shape, frozen
from fewratio.errors import InputError, ParameterError


class Roles(NamedTuple):
    """The columns that are not features."""

    dataset: str
    group: str | None
    outlier: str | None

    @property
    def named(self) -> dict[str, str]:
        """The columns that are given, by what they are for."""
        return {role: column for role, column in self._asdict().items() if column is not None}


class LongTable(NamedTuple):
    """A data frame, or a file of which a piece is in memory at a time; it can be gone through several times."""

    source: Frame | files.TableFile
    argument: str

    def pieces(self, labels: Sequence[str] | None = None) -> Iterator[tuple[int, Frame]]:
        """Go through the table, or only some columns, which a text file gives as text, with the first row's number."""
        if isinstance(self.source, files.TableFile):
            yield from files.pieces(self.source, labels)
        else:
            yield 0, self.source


def cut(
    table: LongTable, roles: Roles, choice: EncodingChoice
) -> tuple[list[Dataset], tuple[str, ...] | None, Encoding | None]:
    """Return the datasets, in order of first appearance, the names of their features, and the encoding if any.

    A file is gone through more than once, and never held besides the datasets.
    """
    _check_roles(table, roles)
    labels = {column: _codes(table, column) for role, column in roles.named.items() if role != "outlier"}
    codes, names = labels[roles.dataset]
    pieces = ((table.argument, row, frame.drop(*roles.named.values())) for row, frame in table.pieces())
    encoding = choice.prepare(pieces)
    if None in names:
        row = int(np.argmax(codes == names.index(None)))
        raise InputError(
            f"column {roles.dataset!r} of {table.argument} is missing at row {row} (counting from 0); every row must "
            "name its dataset. Drop those rows or name their dataset."
        )
    groups: list[str | None] = [None] * len(names)
    if roles.group is not None:
        groups = _groups(codes, names, *labels[roles.group], f"column {roles.group!r} of {table.argument}")
    X, flags, feature_names = _sorted_rows(table, roles, _places(codes), choice, encoding)
    if encoding is not None and choice.learns_medians:
        encoding = encoding.with_medians([X])
        encoding.fill(X)
    frozen(X)
    ends = np.cumsum(np.bincount(codes, minlength=len(names))).tolist()
    datasets = [
        Dataset(str(name), label, X[start:stop], None if flags is None else flags[start:stop])
        for name, label, start, stop in zip(names, groups, [0, *ends[:-1]], ends, strict=True)
    ]
    return datasets, feature_names, encoding


def _check_roles(table: LongTable, roles: Roles) -> None:
    """Raise if one column is to be two things, or is not there."""
    for column in roles.named.values():
        both = [role for role, other in roles.named.items() if other == column]
        if len(both) > 1:
            raise ParameterError(
                f"{' and '.join(both)} name the same column {column!r}; each needs a column of its own. Name another "
                "column or leave one of them out."
            )
    for _, frame in table.pieces():
        check_shape(frame.shape, table.argument)
        for column in roles.named.values():
            take_column(frame, column, table.argument)
        return
    check_shape((0, 0), table.argument)


def _places(codes: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return where each row goes for the rows of a dataset to lie together, in their order.

    One stable sort serves all datasets; a filter for each would read the table once per dataset.
    """
    order = np.argsort(codes, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def _codes(table: LongTable, column: str) -> tuple[NDArray[np.int32], list[Any]]:
    """Return the number of each row's value, and the distinct values in order of first appearance (None: missing)."""
    number: dict[Any, int] = {}
    codes = []
    for _, frame in table.pieces([column]):
        try:
            part_codes, values = label_codes(frame.get_column(column))
        except TypeError as error:
            raise InputError(
                f"column {column!r} of {table.argument} holds nested values ({error}); a dataset or group is named by "
                "text or a number. Choose another column, or write the values as text."
            ) from error
        known = [number.setdefault(value, len(number)) for value in values]
        codes.append(np.asarray(known, dtype=np.int32)[part_codes])
    return np.concatenate(codes), list(number)


def _sorted_rows(
    table: LongTable, roles: Roles, place: NDArray[np.intp], choice: EncodingChoice, encoding: Encoding | None
) -> tuple[NDArray[Any], NDArray[np.bool_] | None, tuple[str, ...] | None]:
    """Return rows and marks of outliers in a new order, with one array of their size and never a second one."""
    result, names = np.empty((0, 0)), None
    marks: list[Any] = []
    for start, frame in table.pieces():
        if roles.outlier is not None:
            marks += frame.get_column(roles.outlier).to_list()
        part = choice.open(frame.drop(*roles.named.values()), table.argument, encoding, start)
        if start == 0:
            result, names = np.empty((len(place), part.n_features), dtype=part.dtype), part.feature_names
        result[place[start : start + part.n_rows]] = part.numbers
    if roles.outlier is None:
        return result, None, names
    # Joined before they are looked at, so that a message counts and numbers the rows of the whole table.
    flags = as_flags(np.array(marks, dtype=object), f"column {roles.outlier!r} of {table.argument}")
    sorted_flags = np.empty_like(flags)
    sorted_flags[place] = flags
    return result, frozen(sorted_flags), names


def _groups(
    codes: NDArray[np.int32], names: list[Any], group_codes: NDArray[np.int32], labels: list[Any], argument: str
) -> list[str | None]:
    of_dataset = np.empty(len(names), dtype=np.int32)
    of_dataset[codes] = group_codes
    changed = np.flatnonzero(of_dataset[codes] != group_codes)
    if len(changed):
        row = int(changed[0])
        found = labels[group_codes[row]], labels[of_dataset[codes[row]]]
        raise InputError(
            f"{argument} changes within dataset {str(names[codes[row]])!r} ({found[0]!r} and "
            f"{found[1]!r}); a dataset belongs to one group. Split the dataset, or choose another group column."
        )
    return [None if labels[code] is None else str(labels[code]) for code in of_dataset.tolist()]
