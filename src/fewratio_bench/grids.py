"""What a table is before it is written as Markdown, LaTeX, HTML or CSV."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """A number or a name as text.

    Attributes
    ----------
    text : str
        What it says.
    bold : bool
        Whether that is in bold face.
    after : str
        What follows it and is not.
    """

    text: str
    bold: bool = False
    after: str = ""


@dataclass(frozen=True)
class Grid:
    """Rows under a heading.

    Attributes
    ----------
    heading : str
        What they are about.
    header : sequence of str
        Names of the columns.
    rows : sequence of sequence of Cell
        The rows.
    absent : str
        What stands there if there are no rows: why, and what to do.
    n_names : int
        How many of the columns are names, not numbers.
    note : str
        What is said below the rows.
    """

    heading: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    absent: str
    n_names: int = 2
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the paper, made again.

    Attributes
    ----------
    title : str
        What it is about.
    grids : sequence of Grid
        Its parts.
    caption : str
        What the numbers are, and what was run where.
    columns : sequence of str
        What `numbers` holds.
    numbers : sequence of sequence
        Every number with its circumstances, for CSV.
    """

    title: str
    grids: Sequence[Grid]
    caption: str
    columns: Sequence[str]
    numbers: Sequence[Sequence[str | float | None]]

    @property
    def is_empty(self) -> bool:
        """Whether there is no number in it."""
        return not self.numbers
