"""Excel workbooks, of which the first sheet is read."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from fewratio.data import arrow as pa
from fewratio.data.column_kinds import as_arrow
from fewratio.errors import warn
from fewratio.lazy import import_home


def read_excel(path: Path) -> pa.Table:
    """Read the first sheet of a workbook, and warn if there are more."""
    openpyxl = import_home("openpyxl", "Reading Excel files")
    sheets, rows = _read_sheet(openpyxl, path)
    if len(sheets) > 1:
        warn(f"{path.name} has {len(sheets)} sheets; the first, {sheets[0]!r}, was read.")
    if not rows:
        raise ValueError("its first sheet is empty")
    names = ["" if name is None else str(name) for name in rows[0]]
    columns = list(zip(*rows[1:], strict=True))
    if empty := [place for place, values in enumerate(columns) if None in values]:
        # A program that writes formulas need not compute them.
        written = list(zip(*_read_sheet(openpyxl, path, data_only=False)[1][1:], strict=True))
        for place in empty:
            pairs = zip(columns[place], written[place], strict=True)
            n_formulas = sum(value is None and formula is not None for value, formula in pairs)
            if n_formulas:
                what = f"column {names[place]!r} of sheet {sheets[0]!r} of {path.name}"
                cells = f"{n_formulas} cells hold formulas" if n_formulas > 1 else "1 cell holds a formula"
                warn(
                    f"In {what}, {cells} without a stored value, taken as missing. Open the file in a spreadsheet "
                    "program and save it."
                )
    # As in text files.
    missing = set(pa.csv.ConvertOptions().null_values)
    given = ([None if value in missing else value for value in values] for values in columns)
    return pa.Table.from_arrays([*map(as_arrow, given)] or [pa.nulls(0)] * len(names), names)


def _read_sheet(openpyxl: Any, path: Path, data_only: bool = True) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names of all sheets, and the rows of the first, with formulas or with what they gave."""
    with closing(openpyxl.load_workbook(path, read_only=True, data_only=data_only)) as book:
        return [sheet.title for sheet in book.worksheets], list(book.worksheets[0].iter_rows(values_only=True))
