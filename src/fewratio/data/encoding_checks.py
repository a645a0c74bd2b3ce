"""Whether the columns of a table hold what an encoding expects there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from fewratio.data import frames
from fewratio.data.columns import listed
from fewratio.errors import InputError

if TYPE_CHECKING:
    from fewratio.data.frames import Series

    Columns: TypeAlias = Sequence[tuple[object, Series]]

Categories: TypeAlias = Sequence[tuple[str, ...] | None]


def check_kinds(columns: Columns, categories: Categories, argument: str) -> None:
    """Raise unless there are numbers where no categories are known, and categories where they are."""
    kinds = [(label, column, frames.column_kind(column)) for label, column in columns]
    pairs = list(zip(kinds, categories, strict=True))
    unusable = [
        (label, column)
        for (label, column, kind), known in pairs
        if kind is None or (kind == "categories" and known is None)
    ]
    # A truth value passes for a number.
    frames.raise_not_numbers(unusable, argument)
    for (label, _, kind), known in pairs:
        if known is not None and kind == "numbers":
            raise InputError(
                f"column {label!r} of {argument} holds numbers but the source collection has categories there "
                f"({listed(known)}); both must hold the same. Pass the categories as text."
            )


def check_seen(columns: Columns, categories: Categories, argument: str) -> None:
    """Raise if a column has a category that is not known."""
    for (label, column), known in zip(columns, categories, strict=True):
        found = set() if known is None else set(map(str, column.drop_nulls().unique().to_list()))
        unseen = sorted(found.difference(known or ()))
        if unseen:
            noun = "category" if len(unseen) == 1 else "categories"
            raise InputError(
                f"column {label!r} of {argument} has {len(unseen)} {noun} that the source collection does not have "
                f"({listed(unseen)}); known are {listed(known or ())}. Drop those rows, or make the source collection "
                "with unseen='zero'."
            )
