"""What the columns of several tables hold, all tables taken together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fewratio.data import frames
from fewratio.data.columns import SAME_DATASETS, Layout, check_layout, first_text, is_number, quoted
from fewratio.data.tables import as_table
from fewratio.errors import CollectionError, InputError

if TYPE_CHECKING:
    from fewratio.data.frames import Series

# One-hot coding is for groups that many rows share; what has more values is an identifier, or free text.
MOST_CATEGORIES = 1000


class Survey:
    """Goes through tables one by one and notes the categories of each column.

    Attributes
    ----------
    names : tuple of str or None
        Names of the columns.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] | None = None
        self._layout: Layout | None = None
        self._categories: list[set[str]] = []
        # By kind of content, the table in which each column was first seen to hold it.
        self._seen: list[dict[str, str]] = []

    @property
    def categories(self) -> tuple[tuple[str, ...] | None, ...]:
        """The categories of each column, sorted, so that no order of files or rows matters; None for numbers."""
        pairs = zip(self._categories, self._seen, strict=True)
        return tuple(tuple(sorted(known)) if "categories" in seen else None for known, seen in pairs)

    def add(self, X: Any, argument: str, look: bool = True) -> None:
        """Take account of one table; without `look` only of its columns' names and number."""
        frame = frames.open_frame(X, argument) if frames.is_frame(X) else None
        if frame is None:
            table = as_table(X, argument)
            self._check_layout(table.layout)
            for j in range(table.n_features):
                self._note(j, j, "numbers", argument)
            return
        self._check_layout(Layout(argument, len(frame.columns), frames.feature_names(frame)))
        for j, label in enumerate(frame.columns if look else []):
            column = frame.get_column(label)
            kind = frames.column_kind(column)
            # What is neither is refused, in better words, when the table is read.
            if kind in ("numbers", "categories"):
                self._note(j, label, kind, argument)
            if kind == "categories":
                found = set(map(str, column.drop_nulls().unique().to_list()))
                if frames.is_text(column):
                    _check_not_numbers(found, column, f"column {label!r} of {argument}")
                self._categories[j].update(found)
                _check_few(self._categories[j], f"column {label!r} of {argument}")

    def _check_layout(self, layout: Layout) -> None:
        if self._layout is None:
            self._layout = layout
            self._categories = [set() for _ in range(layout.n_features)]
            self._seen = [{} for _ in range(layout.n_features)]
        check_layout(layout, self._layout, CollectionError, SAME_DATASETS)
        if self.names is None and layout.names is not None:
            self.names, self._layout = layout.names, layout

    def _note(self, place: int, label: object, kind: str, argument: str) -> None:
        seen = self._seen[place]
        seen.setdefault(kind, argument)
        if len(seen) > 1:
            raise CollectionError(
                f"column {label!r} holds numbers in {seen['numbers']} but categories in {seen['categories']}; a column "
                "must hold one or the other in all datasets. Rename the categories that look like numbers, or drop "
                "the column."
            )


def _check_not_numbers(found: set[str], column: Series, argument: str) -> None:
    """Raise if what seem to be categories are numbers but for some odd cells."""
    n_numbers = sum(map(is_number, found))
    cell = first_text(column.to_list())
    if cell is not None and len(found) > n_numbers > len(found) / 2:
        row, text = cell
        raise InputError(
            f"{argument} holds text, but {n_numbers} of its {len(found)} different values are numbers, and the first "
            f"that is none is {quoted(text)} at row {row} (counting from 0); a column must hold numbers or categories. "
            "Correct or drop the odd rows; if all are categories, write them so that none looks like a number."
        )


def _check_few(known: set[str], argument: str) -> None:
    if len(known) > MOST_CATEGORIES:
        raise InputError(
            f"{argument} brings more than {MOST_CATEGORIES} categories, each of which would become a column; "
            f'categorical="onehot" needs {MOST_CATEGORIES} at most. Drop the column if it names or describes single '
            "rows, or merge its rare categories."
        )
