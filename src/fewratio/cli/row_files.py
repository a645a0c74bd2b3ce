"""Write the rows of a result to a file piece by piece, beside the rows that they belong to."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from fewratio.data.raw_table import RawTable

SEPARATORS = {".csv": ",", ".tsv": "\t"}
ENDINGS = (*SEPARATORS, ".parquet")

Columns = Mapping[str, Sequence[Any]]
Write = Callable[[Columns, "RawTable | None"], None]
"""Called with columns of equal length, and the rows of a table to write before them, if any."""


@contextmanager
def row_file(path: Path) -> Iterator[Write]:
    """Open a file with one of `ENDINGS` to write rows to; it replaces an existing one once complete."""
    from fewratio.core.container import atomic_file

    separator = SEPARATORS.get(path.suffix.lower())
    with atomic_file(path) as file, _parquet_file(file) if separator is None else _text_file(file, separator) as write:
        yield write


def write_rows(path: Path, columns: Columns, tables: "Sequence[RawTable]") -> None:
    """Write columns, preceded by those that all tables share; the rows of the tables follow each other."""
    from fewratio.core.blocks import PIECE_ROWS

    shared = [label for label in tables[0].labels if all(label in table.places for table in tables)] if tables else []
    tables = [table.select(shared) for table in tables if shared]
    if path.suffix.lower() not in SEPARATORS:
        from fewratio.data import arrow as pa

        # The type of a column is that of all its rows.
        columns, tables = {name: pa.array(values) for name, values in columns.items()}, _same_types(tables)
    start = 0
    with row_file(path) as write:
        if not tables:
            write(columns, None)
        for piece in (piece for table in tables for piece in table.pieces(PIECE_ROWS)):
            write({name: values[start : start + piece.n_rows] for name, values in columns.items()}, piece)
            start += piece.n_rows


def _same_types(tables: "list[RawTable]") -> "list[RawTable]":
    """Return tables of the same columns with the same types."""
    from dataclasses import replace

    from fewratio.data import arrow as pa

    schemas = [
        pa.table({label: next(table.pieces(1)).column(label) for label in table.labels}).schema for table in tables
    ]
    if all(schema == schemas[0] for schema in schemas):
        return tables
    try:
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException:
        schema = pa.schema([(label, pa.string()) for label in schemas[0].names])
    whole = [pa.table({label: table.column(label) for label in table.labels}).cast(schema) for table in tables]
    return [replace(table, data=data) for table, data in zip(tables, whole, strict=True)]


@contextmanager
def _text_file(file: BinaryIO, separator: str) -> Iterator[Write]:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer, is_new = csv.writer(text, delimiter=separator, lineterminator="\n"), True

    def write(columns: Columns, table: "RawTable | None") -> None:
        nonlocal is_new
        cells = {_unique(label, columns): table.cells(label) for label in table.labels} if table is not None else {}
        if is_new:
            writer.writerow([*cells, *columns])
        values = [each.tolist() if hasattr(each, "tolist") else each for each in columns.values()]
        writer.writerows(zip(*cells.values(), *values, strict=True))
        is_new = False

    yield write
    text.detach()


@contextmanager
def _parquet_file(file: BinaryIO) -> Iterator[Write]:
    from fewratio.data import arrow as pa

    writer: Any = None

    def write(columns: Columns, table: "RawTable | None") -> None:
        nonlocal writer
        cells = {_unique(label, columns): table.column(label) for label in table.labels} if table is not None else {}
        rows = pa.table(cells | dict(columns))
        if writer is None:
            writer = pa.parquet.ParquetWriter(file, rows.schema)
        writer.write_table(rows)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def _unique(label: str, columns: Columns) -> str:
    return f"{label} (input)" if label in columns else label
