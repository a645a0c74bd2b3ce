"""What is to become of a column, given its values in all tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fewratio.data import columns as kinds
from fewratio.data.column import EMPTY, ID, Column, as_categories, as_numbers
from fewratio.data.columns import PLURALS, check_not_almost_numbers, check_numbers
from fewratio.data.frames import Values, day_of_text
from fewratio.data.options import ColumnRules
from fewratio.data.raw import RawTable
from fewratio.errors import CollectionError

# A category has a column of its own if it has two rows and this share of all rows, and is among the most frequent ones.
_RARE_SHARE, _MOST_CATEGORIES = 0.01, 50
# Text is an id where more than this share of its values differ.
_DISTINCT_SHARE = 0.5
# Fewer whole numbers than that are consecutive by chance.
_LEAST_COUNTED = 8
_ID_NAME = re.compile(r"(?:^|[^A-Za-z])(?i:id|index|key|uuid|guid)$|(?<=[a-z])(?:Id|ID|Key|Index)$")


def decide(label: str, raws: Sequence[RawTable], rules: ColumnRules, may_count: bool) -> Column:
    """Decide what becomes of a column.

    Parameters
    ----------
    label : str
        Its name in all tables.
    raws : sequence of RawTable
    rules : ColumnRules
        What the user said.
    may_count : bool
        Whether whole numbers that count the rows are an id.
    """
    if label == rules.id:
        return Column(label, left_out=ID)
    found = [raw.values(label) for raw in raws]
    kind = _kind(label, found, raws, rules)
    if kind not in PLURALS:
        return Column(label, left_out=kind)
    kept = label in (*rules.keep, *rules.categorical, *rules.numeric)
    if kind == kinds.CATEGORY:
        coded = [as_categories(values, raw.called(label)) for values, raw in zip(found, raws, strict=True)]
        count = Counter[str]()
        for values in coded:
            numbers = np.bincount(values.codes[values.codes >= 0], minlength=len(values.texts))
            count.update(dict(zip(values.texts, numbers.tolist(), strict=True)))
        is_text = all(values.kind in (kinds.TEXT, kinds.MISSING) for values in found)
        if not count:
            return Column(label, left_out=EMPTY)
        # The same ids may be in both tables, as of patients before and after.
        are_ids = max(raw.n_rows for raw in raws) >= _LEAST_COUNTED and all(map(all_different, coded))
        if is_text and not kept and (are_ids or len(count) > _DISTINCT_SHARE * count.total()):
            return Column(label, left_out=ID)
        marks_missing = any((values.codes < 0).any() for values in coded)
        return Column(label, kinds.CATEGORY, None, *_frequent(count), marks_missing=marks_missing)
    parts = [as_numbers(values, kind, raw.called(label)) for values, raw in zip(found, raws, strict=True)]
    if may_count and kind == kinds.NUMBER and not kept and _counts_rows(label, parts):
        return Column(label, left_out=ID)
    pooled = np.concatenate(parts)
    present = pooled[~np.isnan(pooled)]
    if not len(present):
        return Column(label, left_out=EMPTY)
    # Halved first: the sum of the middle two may overflow.
    median = 2 * float(np.median(present / 2))
    return Column(label, kind, median=median, marks_missing=len(present) < len(pooled))


def all_different(values: Values) -> bool:
    """Tell whether a column of texts has another one in every row."""
    return len(np.unique(values.codes)) == len(values.codes)


def _kind(label: str, found: list[Values], raws: Sequence[RawTable], rules: ColumnRules) -> str:
    """Return the kind of a column, or why it cannot be used."""
    if label in rules.categorical:
        return kinds.CATEGORY
    if label in rules.numeric:
        return kinds.NUMBER
    if rules.only_numbers:
        for values, raw in zip(found, raws, strict=True):
            check_numbers(raw.argument, [(label, values)])
    holder = {values.kind: raw for values, raw in zip(found, raws, strict=True) if values.kind != kinds.MISSING}
    if not holder:
        return EMPTY
    unknown = [kind for kind in holder if kind not in (*PLURALS, kinds.TEXT)]
    if unknown:
        return unknown[0]
    if set(holder) <= {kinds.TEXT, kinds.DATE} and all(
        day_of_text(text) is not None for values in found for text in values.texts
    ):
        return kinds.DATE
    if set(holder) == {kinds.NUMBER, kinds.BOOLEAN}:
        return kinds.NUMBER
    for values, raw in zip(found, raws, strict=True):
        if values.kind == kinds.TEXT:
            check_not_almost_numbers(values, raw.called(label))
    if len(holder) > 1 and set(holder) != {kinds.TEXT, kinds.CATEGORY}:
        parts = " but ".join(f"{PLURALS.get(kind, kind)} in {raw.argument}" for kind, raw in holder.items())
        raise CollectionError(
            f"column {label!r} holds {parts}; it must hold the same in all tables. Correct it, name it in "
            "categorical=, or drop it."
        )
    return kinds.CATEGORY if kinds.TEXT in holder else next(iter(holder))


def _frequent(count: Counter[str]) -> tuple[tuple[str, ...], bool]:
    """Return the categories that have a column of their own, and whether the others have one together."""
    least = max(2, _RARE_SHARE * count.total())
    ranked = sorted(count, key=lambda text: (-count[text], text))
    kept = [text for text in ranked[:_MOST_CATEGORIES] if count[text] >= least]
    if len(kept) + 1 >= len(ranked):
        # A single rare category needs no pool.
        return tuple(sorted(ranked)), False
    return tuple(sorted(kept)), True


def _counts_rows(label: str, parts: list[NDArray[np.float64]]) -> bool:
    """Tell whether whole numbers count the rows, of each table or of all, or are called an id."""
    pooled = np.concatenate(parts)
    # A gap is not equal to itself.
    if not (pooled == np.floor(pooled)).all():
        return False
    if _ID_NAME.search(label) is not None:
        return True
    if max(map(len, parts)) >= _LEAST_COUNTED and all(map(_are_consecutive, parts)):
        return True
    return len(pooled) >= _LEAST_COUNTED and _are_consecutive(pooled)


def _are_consecutive(numbers: NDArray[np.float64]) -> bool:
    return bool((np.diff(np.sort(numbers)) == 1).all())
