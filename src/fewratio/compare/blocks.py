"""Rows that are not independent of each other: blocks that a user names, pairs, and copied rows."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.blocks import row_blocks
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.wording import write_count
from fewratio.data.pairs import find_shared_names, read_labels
from fewratio.data.raw_table import RawTable
from fewratio.errors import FewRatioWarning, name_parameter

# Rows that are copies of others of their sample, from which on it is said: as many, and this share of the rows.
_N_COPIES, _SHARE = 3, 0.05
# How many times the share of equal pairs that chance makes.
_IMPLAUSIBLE = 10


def number_blocks(blocks: Any, tables: Mapping[str, Any]) -> tuple[Numbers, dict[str, RawTable]]:
    """Give the number of each row's block, and the tables without the column that names it; see `read_labels`."""
    raws, labels = read_labels("blocks", blocks, tables)
    return np.unique(np.concatenate(labels).astype(np.str_), return_inverse=True)[1], raws


def offer_pairs(tables: Mapping[str, RawTable], dropped: Collection[str]) -> None:
    """Warn where a column that is not dropped names the same rows in two tables: pairs show smaller differences."""
    shared = find_shared_names(*tables.values())
    if shared is not None and shared.column not in dropped:
        warnings.warn(
            FewRatioWarning(
                f"{' and '.join(tables)} have {shared.n_shared} values of {shared.column!r} in common, each once. If "
                f"they name the same things, {name_parameter('paired', shared.column)} compares the pairs, which shows "
                "smaller differences."
            ),
            stacklevel=3,
        )


def describe_pairs(result: Any) -> str:
    """Say how many pairs a comparison has, and how many rows have no partner."""
    by = f" by {result.settings['paired']}" if isinstance(result.settings["paired"], str) else ""
    n_left = [f"{n} of {name}" for n, name in zip(result.n_unpaired, result.names, strict=True) if n]
    left = f"; rows without a partner are left out: {' and '.join(n_left)}" if n_left else ""
    return f"{write_count(len(result.paired_rows[0]), 'pair')}{by}{left}"


def warn_of_copies(
    rows: Floats, is_first: NDArray[np.bool_], columns: Sequence[slice], order: Numbers, names: tuple[str, str]
) -> None:
    """Warn where rows occur several times in their sample that would not by chance; a single column may well repeat.

    The test takes rows as independent. Where columns have few values equal rows are no surprise, but then the two
    samples have rows in common, too, and different rows of a sample agree in any single column. Equal rows are
    neighbours in ``order``, as in that of `row_order`.
    """
    numbers, last = np.zeros(len(rows), dtype=np.intp), 0
    for block in row_blocks(len(rows) - 1, rows.shape[1]):
        near = order[block.start : block.stop + 1]
        part = rows[near]
        numbers[near[1:]] = last + (part[1:] != part[:-1]).any(1).cumsum()
        last = numbers[near[-1]]
    counts = [np.bincount(numbers[sample], minlength=numbers.max() + 1) for sample in (is_first, ~is_first)]
    in_common = float(counts[0] @ counts[1]) / (counts[0].sum() * counts[1].sum())
    for count, sample, name in zip(counts, (is_first, ~is_first), names, strict=True):
        n_rows, n_different = int(count.sum()), int((count > 0).sum())
        n_copies = n_rows - n_different
        if n_copies < max(_N_COPIES, _SHARE * n_rows) or n_different < 2:
            continue
        different = rows[sample][np.unique(numbers[sample], return_index=True)[1]]
        if sum(bool((different[:, place] != different[0, place]).any()) for place in columns) < 2:
            continue
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
