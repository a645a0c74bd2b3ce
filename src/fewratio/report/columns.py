"""What became of the columns, for reports."""

from collections.abc import Sequence
from typing import Any

from fewratio.core.wording import write_count, write_list
from fewratio.data.column_kinds import CATEGORY, DATE
from fewratio.data.columns import Column
from fewratio.report import page


def column_treatment(samples: Any, names: Sequence[str]) -> list[page.Block]:
    """Return a table of all columns and what was done to each.

    Parameters
    ----------
    samples : Samples
        The tables.
    names : sequence of str
        What they are called.
    """
    if samples.encoding is None or not samples.encoding.is_named:
        return [page.Text("All columns hold numbers, and were taken as they are.")]
    apart = {
        each.column: ": " + ", ".join(f"{held} in {name}" for held, name in zip(each[1:], names, strict=True))
        for each in samples.non_overlapping
    }
    table = [
        (column.name, "" if column.left_out else column.kind, _treatment(column) + apart.get(column.name, ""))
        for column in samples.encoding.columns
    ]
    return [page.Table("All columns", ("column", "kind", "what was done"), table, len(table) > 20)]


def _treatment(column: Column) -> str:
    if column.left_out is not None:
        return f"left out ({column.left_out})"
    if column.kind == CATEGORY:
        n_own, others = len(column.categories), ", and one for all others" * column.pools_others
        done = f"{write_count(n_own, 'column')} of 0 and 1: {write_list(column.categories)}{others}"
    else:
        done = "days since 1970" if column.kind == DATE else "as it is"
    if not column.marks_missing:
        return done
    filled = "" if column.median is None else f"gaps filled with the median {column.write(column.median)}; "
    return f"{done}; {filled}one more column says where a value is missing"
