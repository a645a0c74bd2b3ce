"""Excel workbooks, of which the first sheet is read."""

from __future__ import annotations

import warnings
from contextlib import closing
from pathlib import Path

from fewratio.data import arrow as pa
from fewratio.data.column_kinds import as_arrow
from fewratio.lazy import import_home


def read_excel(path: Path) -> pa.Table:
    """Read the first sheet of a workbook, and warn if there are more."""
    openpyxl = import_home("openpyxl", "Reading Excel files")
    with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
        sheets = book.worksheets
        names, rows = [sheet.title for sheet in sheets], list(sheets[0].iter_rows(values_only=True))
    if len(names) > 1:
        warnings.warn(f"{path.name} has {len(names)} sheets; the first, {names[0]!r}, was read.", stacklevel=2)
    if not rows:
        raise ValueError("its first sheet is empty")
    names = ["" if name is None else str(name) for name in rows[0]]
    # As in text files.
    missing = set(pa.csv.ConvertOptions().null_values)
    given = ([None if value in missing else value for value in values] for values in zip(*rows[1:], strict=True))
    columns = [as_arrow(values) for values in given]
    return pa.Table.from_arrays(columns or [pa.nulls(0)] * len(names), names)
