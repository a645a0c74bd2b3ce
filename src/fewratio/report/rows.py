"""Rows in reports: their original values, tables of some rows, and a map of all."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fewratio.charts.chart import Chart
from fewratio.charts.points import map_chart
from fewratio.core.draws import draw_rows
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import ColumnScaling
from fewratio.core.wording import write_cell, write_fixed, write_number, write_share
from fewratio.data.raw_table import RawTable, as_raw
from fewratio.data.table import Table
from fewratio.report import page
from fewratio.report.distributions import round_values

# Most points to draw per sample, and values to show for each.
_POINTS, _HOVERED = 1000, 4
_LONGEST = 60


def restore_given(X: Any, table: Table) -> RawTable:
    """Return a table as the user passed it; its features, if it was passed encoded."""
    if isinstance(X, Table):
        labels = X.feature_names or tuple(map(str, range(X.n_features)))
        return RawTable(X.name, labels, X.feature_names is not None, X.numbers, X.row_names)
    return as_raw(X, table.name)


def cells(raw: RawTable, rows: Numbers, labels: Sequence[str]) -> dict[str, list[Any]]:
    """Return values of some rows for a table, by column; skip columns that do not exist."""
    some = raw.take(rows)
    return {label: [_cell(value) for value in some.cells(label)] for label in labels if label in raw.places}


def _cell(value: Any) -> Any:
    if value is None:
        return "–"
    if isinstance(value, float | int) and not isinstance(value, bool):
        return page.Number(value, write_number(value) if isinstance(value, float) else write_fixed(value, 0))
    text = " ".join(write_cell(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def row_names(table: Table, rows: Numbers) -> list[str]:
    """Return the names of rows, or their numbers counted from 0."""
    return [str(row if table.row_names is None else table.row_names[row]) for row in rows.tolist()]


def find_distinct(table: Table, rows: Numbers, most: int) -> tuple[Numbers, Numbers]:
    """Return the first of `rows` that differ from each other, and how many rows equal each of them."""
    found: list[int] = []
    counts: list[int] = []
    while len(rows) and len(found) < most:
        is_same = (table.numbers[rows] == table.numbers[rows[0]]).all(1)
        found.append(rows[0])
        counts.append(is_same.sum())
        rows = rows[~is_same]
    return np.array(found, dtype=np.intp), np.array(counts, dtype=np.intp)


def row_table(
    caption: str,
    table: Table,
    raw: RawTable,
    rows: Numbers,
    found: Mapping[str, Floats],
    labels: Sequence[str],
    counts: Numbers | None = None,
) -> page.Table:
    """Return a table of some rows: what was found for them, how many are equal, and their values in some columns."""
    values: dict[str, list[Any]] = {}
    if counts is not None and counts.max() > 1:
        values["rows alike"] = [page.Number(count, str(count)) for count in counts.tolist()]
    values |= cells(raw, rows, labels)
    numbers = [[page.Number(value, f"{value:.2f}") for value in each[rows].tolist()] for each in found.values()]
    note = "Rows are counted from 0." if table.row_names is None else ""
    shown = list(zip(row_names(table, rows), *numbers, *values.values(), strict=True))
    return page.Table(caption, ["row", *found, *values], shown, note=note)


def row_map(
    names: Sequence[str],
    tables: Sequence[Table],
    raws: Sequence[RawTable],
    ratios: Sequence[Floats],
    labels: Sequence[str],
    largest: float,
    n_rows: int | None = None,
    regions: Sequence[str] = (),
    region_of: Sequence[Numbers] = (),
) -> Chart:
    """Draw rows of samples along the two directions in which they vary most; if there are many, draw some of them.

    Parameters
    ----------
    names, tables, raws, ratios : sequence
        For each sample its name, its encoded rows, its original rows, and the ratio at each row.
    labels : sequence of str
        Columns whose values to show for a point, as far as there is room.
    largest : float
        The ratio of the strongest colour.
    n_rows : int, optional
        How many rows there are, if these are not all.
    regions : sequence of str
        Regions to choose from, to highlight their rows.
    region_of : sequence of int ndarray
        For each sample, the number of each row's region; -1 for none.
    """
    rng = np.random.default_rng(0)
    chosen = [np.sort(draw_rows(table.numbers, _POINTS, rng)) for table in tables]
    X = np.concatenate([table.numbers[rows] for table, rows in zip(tables, chosen, strict=True)], dtype=np.float64)
    at_rows = np.concatenate([each[rows] for each, rows in zip(ratios, chosen, strict=True)])
    places, axes = _places(X, at_rows, (tables[0].feature_names or ("value",))[0])
    shown = [label for label in labels if all(label in raw.places for raw in raws)][:_HOVERED]
    points: dict[str, list[Any]] = {
        "x": round_values(places[:, 0]),
        "y": round_values(places[:, 1]),
        "ratio": round_values(at_rows),
        "sample": [name for name, rows in zip(names, chosen, strict=True) for _ in rows],
        "name": [name for table, rows in zip(tables, chosen, strict=True) for name in row_names(table, rows)],
    }
    values = [cells(raw, rows, shown) for raw, rows in zip(raws, chosen, strict=True)]
    # Fields are numbered: a dot or bracket in a name would be interpreted.
    fields = {f"v{place}": label for place, label in enumerate(shown)}
    points |= {
        field: [getattr(cell, "text", cell) for each in values for cell in each[label]]
        for field, label in fields.items()
    }
    if regions:
        numbers = np.concatenate([each[rows] for each, rows in zip(region_of, chosen, strict=True)])
        points["region"] = [regions[number] if number >= 0 else "" for number in numbers.tolist()]
    chart = map_chart(points, axes, names, fields, largest, regions)
    drawn, n_rows = len(X), n_rows or sum(table.n_rows for table in tables)
    which = f"{drawn} of {write_fixed(n_rows, 0)} rows, drawn at random" if drawn < n_rows else f"all {n_rows} rows"
    caption = (
        f"Map of {which}: similar rows are near each other. Colour: the ratio; shape: the sample. Point at a "
        "row to see its values."
    )
    caption += " Choose a region below the map to highlight its rows." * bool(regions)
    return Chart(chart.spec, chart.data, chart.description, caption)


def _places(X: Floats, ratios: Floats, first: str) -> tuple[Floats, tuple[str, str]]:
    """Return two coordinates of rows, and what they are; `first` is the name of the first column."""
    from sklearn.decomposition import PCA

    scaled = ColumnScaling.of([X], "columns")(X)
    if min(scaled.shape) < 2:
        return np.column_stack([X[:, 0], ratios]), (first, "ratio")
    analysis = PCA(2, random_state=0)
    # If all rows are equal, the variance is 0 and has no shares.
    with np.errstate(invalid="ignore"):
        places = analysis.fit_transform(scaled)
    shares = np.nan_to_num(analysis.explained_variance_ratio_)
    first, second = (
        f"component {place} ({write_share(share)} of the variance)" for place, share in enumerate(shares, 1)
    )
    return places, (first, second)
