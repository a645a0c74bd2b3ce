"""One long table, cut into datasets by a column that names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewratio.data import frames
from fewratio.data.dataset import Dataset, as_flags, frozen
from fewratio.data.tables import Table, as_table
from fewratio.errors import InputError

if TYPE_CHECKING:
    from fewratio.data.frames import Frame

_BLOCK_ROWS = 4096


def cut_frame(
    frame: Frame, dataset: str, group: str | None, outlier: str | None
) -> tuple[list[Dataset], tuple[str, ...] | None]:
    """Return the datasets, in order of first appearance, and the names of the remaining columns."""
    argument = "frame"
    special = [column for column in (dataset, group, outlier) if column is not None]
    labels, *others = (frames.take_column(frame, column, argument) for column in special)
    table = as_table(frame.drop(*special), argument)
    codes, names = frames.label_codes(labels)
    if None in names:
        row = int(np.argmax(codes == names.index(None)))
        raise InputError(
            f"column {dataset!r} of {argument} is missing at row {row} (counting from 0); every row must name its "
            "dataset. Drop those rows or name their dataset."
        )
    groups = _groups(codes, names, others[0], group) if group is not None else [None] * len(names)
    flags = as_flags(others[-1].to_numpy(), f"column {outlier!r} of {argument}") if outlier is not None else None
    table.check_finite()

    # One stable sort serves all datasets; a filter for each would read the table once per dataset.
    order = np.argsort(codes, kind="stable")
    X = frozen(_sorted_rows(table, order))
    sorted_flags = None if flags is None else flags[order]
    ends = np.cumsum(np.bincount(codes, minlength=len(names))).tolist()
    return [
        Dataset(str(name), label, X[start:stop], None if sorted_flags is None else sorted_flags[start:stop])
        for name, label, start, stop in zip(names, groups, [0, *ends[:-1]], ends, strict=True)
    ], table.feature_names


def _sorted_rows(table: Table, order: NDArray[np.intp]) -> NDArray[Any]:
    """Return the rows in a new order, with one array of their size and never a second one."""
    result = np.empty((table.n_rows, table.n_features), dtype=table.dtype)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    for number, block in enumerate(table.blocks(_BLOCK_ROWS)):
        start = number * _BLOCK_ROWS
        result[place[start : start + len(block)]] = block
    return result


def _groups(codes: NDArray[np.intp], names: Any, column: frames.Series, group: str) -> list[str | None]:
    group_codes, labels = frames.label_codes(column)
    of_dataset = np.empty(len(names), dtype=np.intp)
    of_dataset[codes] = group_codes
    odd = np.flatnonzero(of_dataset[codes] != group_codes)
    if len(odd):
        row = int(odd[0])
        found = labels[group_codes[row]], labels[of_dataset[codes[row]]]
        raise InputError(
            f"column {group!r} of frame changes within dataset {str(names[codes[row]])!r} ({found[0]!r} and "
            f"{found[1]!r}); a dataset belongs to one group. Split the dataset, or choose another group column."
        )
    return [None if labels[code] is None else str(labels[code]) for code in of_dataset.tolist()]
