"""Dependent rows: blocks, pairs and copied rows."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.blocks import row_blocks
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.wording import join_names, write_count, write_p
from fewratio.data.pairs import find_shared_names, read_labels
from fewratio.data.raw_table import RawTable
from fewratio.errors import name_parameter, warn
from fewratio.estimators.samples import Samples

# Warn of copied rows if a sample has at least this many, and at least this share of its rows.
_N_COPIES, _SHARE = 3, 0.05
# Equal pairs are not chance above this multiple of the expected share; this many distinct rows do not all occur twice
# by chance; and the multiple of the bound in `_has_gap` that chance allows.
_IMPLAUSIBLE, _SURE, _GAP = 10, 20, 4
# A column with fewer values contains kinds, not names.
_N_NAMES = 4


def number_blocks(blocks: Any, tables: Mapping[str, Any]) -> tuple[Numbers, dict[str, RawTable]]:
    """Return the block number of each row, and the tables without the column of blocks; see `read_labels`."""
    raws, labels = read_labels("blocks", blocks, tables)
    return np.unique(np.concatenate(labels).astype(np.str_), return_inverse=True)[1], raws


def warn_of_few(smallest: float, samples: Samples, blocks: Numbers | None) -> None:
    """Warn that the p-value cannot be small with so few rows or blocks."""
    sizes = join_names([write_count(table.n_rows, "row") for table in samples.tables])
    given, more = (sizes, "rows") if blocks is None else ("these blocks", "blocks")
    warn(
        f"With {given} the p-value cannot be below {write_p(smallest)}, whatever the rows are. More {more} are needed "
        "to tell a difference from chance."
    )


def offer_pairs(tables: Mapping[str, RawTable], dropped: Collection[str]) -> None:
    """Suggest `paired` if a column that is not dropped names the same rows in two tables."""
    shared = find_shared_names(*tables.values())
    if shared is not None and shared.column not in dropped:
        warn(
            f"{' and '.join(tables)} have {shared.n_shared} values of {shared.column!r} in common, each once. If "
            f"they name the same things, {name_parameter('paired', shared.column)} compares the pairs, which shows "
            "smaller differences."
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
    """Warn if rows occur several times in their sample, or in both samples, more often than chance explains.

    The test assumes independent rows. If columns have few values, equal rows are no surprise; but then the two samples
    share rows as often as each has copies, and different rows agree in all columns but one. Values of a single column
    often repeat. Equal rows must be neighbours in ``order``, as in the result of `row_order`.
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
        n_copies = int(count.sum() - (count > 0).sum())
        if n_copies >= max(_N_COPIES, _SHARE * count.sum()) and _is_no_chance(
            rows[sample][np.unique(numbers[sample], return_index=True)[1]],
            columns,
            _equal_pairs(count),
            in_common,
            count,
        ):
            warn(
                f"{write_count(n_copies, 'row')} of {name} are copies of others; the test assumes independent "
                "rows, so the p-value may be far too small. Drop copies, or name what belongs together in "
                f"{name_parameter('blocks', '')}."
            )
    n_shared = int(np.minimum(*counts).sum())
    if n_shared >= max(_N_COPIES, _SHARE * min(count.sum() for count in counts)) and (counts[0] != counts[1]).any():
        different = rows[np.unique(numbers, return_index=True)[1]]
        if _is_no_chance(different, columns, in_common, max(map(_equal_pairs, counts))):
            warn(
                f"{write_count(n_shared, 'row')} of {names[0]} are also in {names[1]}; the test assumes "
                "independent rows, so it may miss a difference. Compare rows that only one of them has."
            )


def warn_of_names(codes: Mapping[str | int, Numbers], is_first: NDArray[np.bool_], separating: Collection[Any]) -> None:
    """Warn if a non-overlapping column names things with several rows each, such as patients.

    Parameters
    ----------
    codes : mapping of str or int to int ndarray of shape (n,)
        For each categorical column, the category number of each row; -1 if missing.
    is_first : bool ndarray of shape (n,)
    separating : collection
        The columns whose values do not overlap.
    """
    for label, code in codes.items():
        sides = [np.unique(code[sample & (code >= 0)]) for sample in (is_first, ~is_first)]
        n_names = len(np.union1d(*sides))
        if label in separating and min(map(len, sides)) >= _N_NAMES and len(code) >= 2 * n_names:
            warn(
                f"{label} has {n_names} values in about {len(code) / n_names:.0f} rows each, hardly any of them "
                "in both tables. If they name things, the rows of each are not independent, and the p-value may be "
                "far too small: "
                f"{name_parameter('blocks', str(label))} compares things instead."
            )


def _is_no_chance(
    different: Floats, columns: Sequence[slice], equal: float, elsewhere: float, counts: Numbers | None = None
) -> bool:
    """Decide whether more pairs of rows are equal than chance explains, or all counts of rows have a common factor.

    Parameters
    ----------
    different : ndarray of shape (n, d)
        The distinct rows.
    columns : sequence of slice
    equal, elsewhere : float
        The share of equal pairs, and their share among other pairs, which chance would make equal as often.
    counts : int ndarray, optional
        How often each row occurs.
    """
    codes = [np.unique(different[:, place], axis=0, return_inverse=True)[1].reshape(-1) for place in columns]
    codes = [code for code in codes if code.any()]
    if len(codes) < 2:
        return False
    # If rows are independent, each occurs an even number of times with probability at most 1/2.
    if counts is not None and len(different) >= _SURE and np.gcd.reduce(counts) > 1:
        return True
    agree = [_equal_pairs(np.bincount(code)) for code in codes]
    in_feature = min(_equal_pairs(np.unique(column, return_counts=True)[1]) for column in different.T)
    if equal > _IMPLAUSIBLE * max(elsewhere, in_feature):
        return True
    if equal <= _IMPLAUSIBLE * elsewhere or (counts is not None and not _has_gap(np.bincount(counts)[1:])):
        return False
    keys = np.random.default_rng(0).integers(2**63, size=len(codes), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    products = [code.astype(np.uint64) * key for code, key in zip(codes, keys, strict=True)]
    whole = np.sum(products, axis=0)
    in_others = [_equal_pairs(np.unique(whole - product, return_counts=True)[1]) for product in products]
    return equal > _IMPLAUSIBLE * max(
        others * alone / (1 - alone) for others, alone in zip(in_others, agree, strict=True)
    )


def _has_gap(spectrum: Numbers) -> bool:
    """Decide, given how many rows occur once, twice and so on, whether one count is too common to be chance.

    For independent rows, the number f(k) of rows that occur k times satisfies k f(k)^2 <= (k + 1) f(k - 1) f(k + 1)
    on average, since counts are mixtures of Poisson distributions: if many occur twice, some occur three times.
    """
    k = int(spectrum[1:].argmax()) + 2
    before, here, after = spectrum[k - 2], spectrum[k - 1], spectrum[k:].sum()
    return bool(k * here**2 > _GAP * (k + 1) * before * after)


def _equal_pairs(counts: Numbers) -> float:
    """Return the share of equal pairs, given how often each value occurs."""
    n = int(counts.sum())
    return float((counts * (counts - 1)).sum()) / (n * (n - 1))
