"""One long table, cut into datasets by a column that names them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.data import frames
from fewratio.data.dataset import Dataset, as_flags, frozen
from fewratio.data.encoding import Encoding
from fewratio.data.encoding_choice import EncodingChoice
from fewratio.data.long_tables import LongTable
from fewratio.data.tables import Table
from fewratio.errors import InputError, ParameterError

_BLOCK_ROWS = 4096


class Roles(NamedTuple):
    """The columns that are not features."""

    dataset: str
    group: str | None
    outlier: str | None


def cut(
    source: LongTable, roles: Roles, choice: EncodingChoice
) -> tuple[list[Dataset], tuple[str, ...] | None, Encoding | None]:
    """Return the datasets, in order of first appearance, the names of their features, and the encoding if any.

    A table that comes in pieces is gone through more than once, and never held besides the datasets.
    """
    special = [column for column in roles if column is not None]
    _check_roles(roles)
    labels = {column: _codes(source, column) for column in special if column != roles.outlier}
    codes, names = labels[roles.dataset]
    flags = None if roles.outlier is None else _flags(source, roles.outlier)
    encoding = choice.prepare((piece.argument, piece.frame) for piece in source.pieces(special))
    if None in names:
        row = int(np.argmax(codes == names.index(None)))
        raise InputError(
            f"column {roles.dataset!r} of {source.argument} is missing at row {row} (counting from 0); every row must "
            "name its dataset. Drop those rows or name their dataset."
        )
    groups: list[str | None] = [None] * len(names)
    if roles.group is not None:
        groups = _groups(codes, names, *labels[roles.group], f"column {roles.group!r} of {source.argument}")

    ends = np.cumsum(np.bincount(codes, minlength=len(names))).tolist()
    place = _places(codes)
    X, feature_names = _sorted_rows(source, special, place, choice, encoding)
    if encoding is not None:
        encoding = choice.complete(encoding, [X])
        feature_names = encoding.feature_names
    frozen(X)
    sorted_flags = None
    if flags is not None:
        sorted_flags = np.empty_like(flags)
        sorted_flags[place] = flags
        frozen(sorted_flags)
    datasets = [
        Dataset(str(name), label, X[start:stop], None if sorted_flags is None else sorted_flags[start:stop])
        for name, label, start, stop in zip(names, groups, [0, *ends[:-1]], ends, strict=True)
    ]
    return datasets, feature_names, encoding


def _places(codes: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return where each row goes for the rows of a dataset to lie together, in their order.

    One stable sort serves all datasets; a filter for each would read the table once per dataset.
    """
    order = np.argsort(codes, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def _check_roles(roles: Roles) -> None:
    """Raise if one column is to be two things."""
    named = {role: column for role, column in roles._asdict().items() if column is not None}
    for column in named.values():
        both = [role for role, other in named.items() if other == column]
        if len(both) > 1:
            raise ParameterError(
                f"{' and '.join(both)} name the same column {column!r}; each needs a column of its own. Name another "
                "column or leave one of them out."
            )


def _codes(source: LongTable, column: str) -> tuple[NDArray[np.int32], list[Any]]:
    """Return the number of each row's value, and the distinct values in order of first appearance (None: missing)."""
    number: dict[Any, int] = {}
    codes = []
    for part in source.column(column):
        try:
            part_codes, values = frames.label_codes(part)
        except TypeError as error:
            raise InputError(
                f"column {column!r} of {source.argument} holds nested values ({error}); a dataset or group is named by "
                "text or a number. Choose another column, or write the values as text."
            ) from error
        known = [number.setdefault(value, len(number)) for value in values]
        codes.append(np.asarray(known, dtype=np.int32)[part_codes])
    return np.concatenate(codes) if codes else np.empty(0, dtype=np.int32), list(number)


def _flags(source: LongTable, outlier: str) -> NDArray[np.bool_]:
    argument = f"column {outlier!r} of {source.argument}"
    # Joined before they are looked at, so that a message counts and numbers the rows of the whole table.
    parts = [part.to_numpy() for part in source.column(outlier)]
    return as_flags(np.concatenate(parts), argument) if parts else np.empty(0, dtype=np.bool_)


def _sorted_rows(
    source: LongTable, special: list[str], place: NDArray[np.intp], choice: EncodingChoice, encoding: Encoding | None
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Return the rows in a new order, with one array of their size and never a second one."""
    result, names = None, None
    for start, frame, argument in source.pieces(special):
        with choice.advising():
            table = choice.open(frame, argument, encoding)
            table.check_finite(keep_missing=choice.learns_medians)
        if result is None:
            result, names = np.empty((len(place), table.n_features), dtype=table.dtype), table.feature_names
        _scatter(table, place[start : start + table.n_rows], result)
    if result is None:
        raise InputError(
            f"{source.argument} is empty (0 rows); needed is a table with one row per instance. Pass at least one row."
        )
    return result, names


def _scatter(table: Table, place: NDArray[np.intp], result: NDArray[Any]) -> None:
    for number, block in enumerate(table.blocks(_BLOCK_ROWS)):
        start = number * _BLOCK_ROWS
        result[place[start : start + len(block)]] = block


def _groups(
    codes: NDArray[np.int32], names: list[Any], group_codes: NDArray[np.int32], labels: list[Any], argument: str
) -> list[str | None]:
    of_dataset = np.empty(len(names), dtype=np.int32)
    of_dataset[codes] = group_codes
    odd = np.flatnonzero(of_dataset[codes] != group_codes)
    if len(odd):
        row = int(odd[0])
        found = labels[group_codes[row]], labels[of_dataset[codes[row]]]
        raise InputError(
            f"{argument} changes within dataset {str(names[codes[row]])!r} ({found[0]!r} and "
            f"{found[1]!r}); a dataset belongs to one group. Split the dataset, or choose another group column."
        )
    return [None if labels[code] is None else str(labels[code]) for code in of_dataset.tolist()]
