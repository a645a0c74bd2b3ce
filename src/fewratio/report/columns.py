"""How the columns were encoded, for reports."""

from collections.abc import Sequence
from typing import Any

from fewratio.core.wording import write_count, write_list
from fewratio.data.column_kinds import CATEGORY, DATE, DURATION, FREE, TIME, VECTOR
from fewratio.data.columns import Column
from fewratio.data.non_overlapping import NonOverlapping
from fewratio.report import page

_DONE = {DATE: "days since 1970", DURATION: "seconds", TIME: "sine and cosine of the time"}
_AS_IT_IS = "as it is"
_ALL_NUMBERS = "All columns hold numbers, and were used as they are."


def column_treatment(
    samples: Any, names: Sequence[str], apart: Sequence[NonOverlapping] | None = None
) -> list[page.Block]:
    """Return a table of all columns and what was done to each.

    Parameters
    ----------
    samples : Samples
        The tables.
    names : sequence of str
        Names of the tables.
    apart : sequence of NonOverlapping, optional
        The columns whose values do not overlap; by default those of the samples.
    """
    if samples.encoding is None or not samples.encoding.is_named:
        return [page.Text(_ALL_NUMBERS)]
    held = {each.column: f"; {each.describe(names)}" for each in (samples.non_overlapping if apart is None else apart)}
    table = [
        (column.name, "" if column.left_out else column.kind, _treatment(column) + held.get(column.name, ""))
        for column in samples.encoding.columns
    ]
    plain = [row for row in table if row[2] == _AS_IT_IS]
    if len(plain) == len(table):
        return [page.Text(_ALL_NUMBERS)]
    if len(plain) > 1:
        table = [row for row in table if row[2] != _AS_IT_IS]
        table.append((f"{len(plain)}{' others' if table else ''}", "", "as they are"))
    return [page.Table("All columns", ("column", "kind", "what was done"), table, len(table) > 20)]


def _treatment(column: Column) -> str:
    if column.left_out is not None:
        return f"left out ({column.left_out})"
    if column.kind == CATEGORY:
        n_own, others = len(column.categories), ", and one for all others" * column.pools_others
        done = f"{write_count(n_own, 'column')} of 0 and 1: {write_list(column.categories)}{others}"
    elif column.kind in (FREE, VECTOR):
        n_given = "" if column.kind == FREE else f" of {len(column.directions[0]) - 1} numbers"
        done = f"{write_count(len(column.directions), 'direction')} in which they vary most{n_given}"
        done = f"{'number of words, and ' * (column.kind == FREE)}{done}"
    else:
        done = _DONE.get(column.kind, _AS_IT_IS)
    if not column.marks_missing:
        return done
    filled = "" if column.median is None else f"gaps filled with the median {column.write(column.median)}; "
    return f"{done}; {filled}one more column says where a value is missing"
