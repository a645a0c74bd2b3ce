"""Rows that are not independent of each other: blocks that a user names, and copied rows."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats, Numbers
from fewratio.core.wording import write_count
from fewratio.data.raw_table import RawTable, as_raw
from fewratio.errors import FewRatioWarning, InputError, ParameterError, name_parameter

# Rows that are copies of others of their sample, from which on it is said: as many, and this share of the rows.
_N_COPIES, _SHARE = 3, 0.05
# How many times the share of equal pairs that chance makes.
_IMPLAUSIBLE = 10


def number_blocks(blocks: Any, tables: Mapping[str, Any]) -> tuple[Numbers, dict[str, RawTable]]:
    """Give the number of each row's block, and the tables without the column that names it.

    Parameters
    ----------
    blocks : str or pair of array-like
        A column of both tables, or the labels of the rows of either.
    tables : mapping of str to array-like
        By what messages call them.
    """
    raws = {argument: as_raw(table, argument) for argument, table in tables.items()}
    if isinstance(blocks, str):
        for raw in raws.values():
            raw.check_has([blocks])
        coded = [raw.values(blocks).to_categories() for raw in raws.values()]
        labels = [np.array([*each.texts, None], dtype=object)[each.codes] for each in coded]
        raws = {argument: raw.drop([blocks]) for argument, raw in raws.items()}
    else:
        labels = [np.asarray(each, dtype=object) for each in blocks] if isinstance(blocks, tuple | list) else []
        if [each.shape for each in labels] != [(raw.n_rows,) for raw in raws.values()]:
            needed = " and ".join(write_count(raw.n_rows, "label") for raw in raws.values())
            raise ParameterError(
                f"blocks does not fit the tables; needed are a column of both, or a pair of {needed}. Pass one of them."
            )
    for each, argument in zip(labels, raws, strict=True):
        missing = [row for row, label in enumerate(each) if label is None or label != label]
        if missing:
            raise InputError(
                f"The block of row {missing[0]} of {argument} (counting from 0) is missing; every row must be in a "
                "block. Drop those rows or name their block."
            )
    return np.unique(np.concatenate(labels).astype(np.str_), return_inverse=True)[1], raws


def warn_of_copies(rows: Floats, is_first: NDArray[np.bool_], names: tuple[str, str]) -> None:
    """Warn where rows occur several times in their sample that would not by chance.

    The test takes rows as independent. Where columns have few values equal rows are no surprise, but then the two
    samples have rows in common, too, and different rows of a sample agree in any single column.
    """
    _, numbers = np.unique(rows, axis=0, return_inverse=True)
    counts = [np.bincount(numbers[sample], minlength=numbers.max() + 1) for sample in (is_first, ~is_first)]
    in_common = float(counts[0] @ counts[1]) / (counts[0].sum() * counts[1].sum())
    for count, sample, name in zip(counts, (is_first, ~is_first), names, strict=True):
        n_rows, n_different = int(count.sum()), int((count > 0).sum())
        n_copies = n_rows - n_different
        if n_copies < max(_N_COPIES, _SHARE * n_rows) or n_different < 2:
            continue
        different = np.unique(rows[sample], axis=0)
        agreeing = min(_equal_pairs(np.unique(column, return_counts=True)[1]) for column in different.T)
        if _equal_pairs(count) > _IMPLAUSIBLE * max(in_common, agreeing):
            warnings.warn(
                FewRatioWarning(
                    f"{write_count(n_copies, 'row')} of {name} are copies of others; the test takes rows as "
                    "independent, so the p-value may be far too small. Drop copies, or name what belongs together in "
                    f"{name_parameter('blocks', '')}."
                ),
                stacklevel=4,
            )


def _equal_pairs(counts: Numbers) -> float:
    """Return the share of pairs that are equal, by how often each value occurs."""
    n = int(counts.sum())
    return float((counts * (counts - 1)).sum()) / (n * (n - 1))
