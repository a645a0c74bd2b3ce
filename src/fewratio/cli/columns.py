"""``fewratio columns``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewratio.cli import frame
from fewratio.cli.verb import COLUMNS, JSON, MARKS, SEED, Field, Verb
from fewratio.errors import FewRatioError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewratio.data.columns import Column, ColumnRules
    from fewratio.data.encoding import Encoding
    from fewratio.data.raw_table import RawTable

_EXAMPLES = 5


def columns(request: frame.Request, tables: list[Path], batch: bool) -> None:
    """Show how the columns of tables are read.

    If other commands would leave out or refuse a column, the reason is listed.

    Example: fewratio columns before.csv after.csv
    """
    raws = _read(request, tables)
    from fewratio.core.wording import write_cell, write_count
    from fewratio.data.columns import DROPPED, NOT_IN_ALL, Column, ColumnRules, decide_column
    from fewratio.data.pairs import find_shared_names

    rules = ColumnRules.of(request.options(*raws))
    found: list[dict[str, Any]] = []
    decided = []
    for label in dict.fromkeys(label for raw in raws for label in raw.labels):
        is_shared = all(label in raw.places for raw in raws)
        is_unused = label in rules.drop or (rules.columns is not None and label not in (*rules.columns, rules.id))
        is_refused = False
        try:
            column = decide_column(label, raws, rules) if is_shared and not is_unused else None
        except FewRatioError as error:
            column, is_refused = Column(label, left_out=frame.write_message(request.verb, error)), True
        if column is None:
            column = Column(label, left_out=DROPPED if is_unused else NOT_IN_ALL)
        holder = next(raw for raw in raws if label in raw.places)
        cells = [cell for cell in next(holder.pieces(20 * _EXAMPLES)).cells(label) if cell is not None]
        examples = [write_cell(cell, 6)[:40] for cell in cells]
        decided.append(column)
        told = {"name": label, "is_shared": is_shared, "is_refused": is_refused}
        found.append(told | {"examples": list(dict.fromkeys(examples))[:_EXAMPLES]})
    encoding, apart = _judge_together(raws, frame.make_labels(*tables), decided, rules, tables[0].is_dir(), batch)
    for told, column in zip(found, encoding.columns, strict=True):
        told |= {"kind": None if column.left_out else column.kind, "left_out": column.left_out}
        told["note"] = apart.get(column.name)
    n_rows = [raw.n_rows for raw in raws]
    lines = [
        f"{write_count(len(found), 'column')} of {write_count(len(raws), 'table')}, {write_count(sum(n_rows), 'row')}"
    ]
    rows = [
        (each["name"], each["kind"] or "-", *[*each["examples"], "", ""][:2], each["left_out"] or each["note"] or "")
        for each in found
    ]
    lines += frame.align_columns(rows)
    shared = find_shared_names(*raws) if len(raws) == 2 and not tables[0].is_dir() else None
    if shared is not None:
        lines.append(
            f"{shared.n_shared} values of {shared.column} name a row of both tables: compare --paired uses them"
        )
    pairs = None if shared is None else shared._asdict()
    request.deliver(frame.Answer(lines, {"rows": n_rows, "columns": found, "pairs": pairs}, {}))


def _judge_together(
    raws: "list[RawTable]",
    names: "Sequence[str]",
    columns: "list[Column]",
    rules: "ColumnRules",
    is_folder: bool,
    is_batch: bool,
) -> "tuple[Encoding, dict[str, str]]":
    """Leave out dates like other verbs, and find the columns that separate two tables."""
    from fewratio.data.encoding import Encoding
    from fewratio.data.non_overlapping import leave_out_dates
    from fewratio.estimators.samples import Samples

    encoding = Encoding(tuple(columns), raws[0].is_named)
    if not encoding.features or (len(raws) != 2 and not is_folder):
        return encoding, {}
    tables = [encoding.encode(raw) for raw in raws]
    encoding, tables = leave_out_dates(encoding, tables, rules.keep, is_folder or is_batch)
    found = [] if is_folder else Samples(encoding, tables, tuple(raws)).non_overlapping
    return encoding, {str(each.column): each.describe(names) for each in found}


def _read(request: frame.Request, paths: list[Path]) -> "list[RawTable]":
    """Read tables, or the tables of a folder."""
    if len(paths) == 1 and paths[0].is_dir():
        from dataclasses import replace

        from fewratio.data.readers.files import find_table_files, read_raw, settle_layouts

        found = [replace(file, **request.marks) for file in find_table_files(paths[0])]
        return [read_raw(file) for file in settle_layouts(found)]
    return request.read(*paths)[0]


_TABLES = "Tables that you will use together, or a folder of tables."
VERB = Verb(
    columns,
    (
        Field("tables", _TABLES, list[Path], reads="table", is_positional=True, is_required=True),
        Field("batch", "Treat the second table as one to find outliers in.", bool, False).on_page(
            "Treat the second table as one to find outliers in"
        ),
        *(*COLUMNS, *MARKS, JSON, SEED),
    ),
)
