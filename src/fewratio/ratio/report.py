"""The report of density ratios at rows, which may come in pieces."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.charts.chart import Chart, Picture, combine
from fewratio.core.shapes import Floats
from fewratio.core.wording import write_count, write_share
from fewratio.data.raw_table import RawTable, join_tables
from fewratio.data.table import Table
from fewratio.report import page, rows
from fewratio.report.columns import column_treatment
from fewratio.report.distributions import shares_chart

_EXTREME, _POINTS, _VALUES, _BINS = 10, 1000, 8, 30


class RatioRows:
    """The ratios at the rows of a table, and the rows that a report shows: extreme ones, and a random selection."""

    def __init__(self, n_rows: int) -> None:
        self.ratios: list[Floats] = []
        self._shown: list[tuple[Floats, RawTable, Table]] = []
        self._drawn = np.sort(np.random.default_rng(0).choice(n_rows, min(_POINTS, n_rows), replace=False))
        self._is_drawn: list[NDArray[np.bool_]] = []

    def add(self, table: Table, raw: RawTable, ratios: Floats, start: int) -> None:
        """Add a piece of the table, whose first row has the number `start`."""
        self.ratios.append(ratios)
        order = np.argsort(ratios, kind="stable")
        drawn = self._drawn[slice(*np.searchsorted(self._drawn, (start, start + len(ratios))))] - start
        kept = np.unique(np.r_[order[:_EXTREME], order[-_EXTREME:], drawn])
        self._is_drawn.append(np.isin(kept, drawn))
        names = rows.row_names(table, kept) if table.row_names is not None else [str(start + row) for row in kept]
        some = Table(table.numbers[kept], table.feature_names, table.name, names)
        self._shown.append((ratios[kept], raw.take(kept), some))

    def report(
        self, names: Sequence[str], divergence: str, samples: Any, settings: Mapping[str, Any], command: str
    ) -> page.Report:
        """Say what the ratios are.

        Parameters
        ----------
        names : sequence of str
            Names of the numerator, the denominator and the table of rows.
        divergence : str
            Divergence of the two samples.
        samples : Samples
            The two samples.
        settings : mapping
            The parameters of the estimator.
        command : str
            The command that makes the report.
        """
        ratios, nu, de = np.concatenate(self.ratios), names[0], names[1]
        above = float((ratios > 1).mean())
        rows_of = f"{write_count(len(ratios), 'row')} of {names[2]}"
        answer = f"{write_share(above)} of the {rows_of} are more typical of {nu} than of {de}."
        sizes = zip(names, samples.tables, strict=False)
        facts = {"Rows": ", ".join(f"{table.n_rows} of {name}" for name, table in sizes)}
        low, middle, high = np.quantile(ratios, (0, 0.5, 1)).tolist()
        facts["Ratio"] = f"{low:.3g} to {high:.3g}, median {middle:.3g}"
        facts["Divergence"] = divergence
        if samples.encoding is not None and samples.encoding.is_named:
            facts["Columns"] = samples.encoding.summary
        about = f"A ratio above 1: a row is more typical of {nu}; below 1: of {de}."
        sections = [
            page.Section("Ratios", [page.Text(about), self._distribution(ratios, names)]),
            page.Section("Rows", self._rows(names, [str(label) for label in samples.columns])),
            page.Section("What was done to the columns", column_treatment(samples, names[:2])),
            page.Section("How this was made", page.describe_making(settings, command, "", ())),
        ]
        return page.Report(f"Ratio of {nu} to {de} at the rows of {names[2]}", answer, facts, sections)

    def draw(self, names: Sequence[str]) -> Picture:
        """Draw how the ratios are distributed, and the rows, coloured by their ratio."""
        ratios = np.concatenate(self.ratios)
        panels = [(self._distribution(ratios, names), "Ratios", 300), (self._map(names, ()), "Rows", 420)]
        return combine(panels, f"Ratio {names[0]}/{names[1]} at the rows of {names[2]}")

    def _distribution(self, ratios: Floats, names: Sequence[str]) -> Chart:
        description = f"Ratios at {len(ratios)} rows, half of them below {np.median(ratios):.3g}."
        highest = max(float(ratios.max()), 1.0)
        return shares_chart({names[2]: ratios}, highest, _BINS, f"ratio {names[0]}/{names[1]}", description)

    def _keep_shown(self) -> tuple[Floats, RawTable, Table]:
        """Return the ratios of the rows to show, and these rows, both original and encoded."""
        ratios, raws, tables = zip(*self._shown, strict=True)
        called = [name for table in tables for name in table.row_names or ()]
        table = Table(np.concatenate([each.numbers for each in tables]), tables[0].feature_names, row_names=called)
        return np.concatenate(ratios), join_tables(raws), table

    def _map(self, names: Sequence[str], labels: Sequence[str]) -> Chart:
        ratios, raw, table = self._keep_shown()
        drawn = np.flatnonzero(np.concatenate(self._is_drawn))
        points = [table.take(drawn.tolist())], [raw.take(drawn)], [ratios[drawn]]
        largest = max(2.0, float(ratios.max()))
        return rows.row_map(names[2:], *points, labels, largest, sum(map(len, self.ratios)))

    def _rows(self, names: Sequence[str], labels: Sequence[str]) -> list[page.Block]:
        ratios, raw, table = self._keep_shown()
        order, found = np.argsort(-ratios, kind="stable"), {"ratio": ratios}
        some = order[:_EXTREME], order[::-1][:_EXTREME]
        return [
            self._map(names, labels),
            rows.row_table("The rows with the largest ratio", table, raw, some[0], found, labels[:_VALUES]),
            rows.row_table("The rows with the smallest ratio", table, raw, some[1], found, labels[:_VALUES]),
        ]
