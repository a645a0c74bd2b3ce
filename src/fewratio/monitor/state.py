"""The state of a monitor after a batch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fewratio.core.shapes import Floats
from fewratio.core.wording import write_count, write_number, write_p, write_share
from fewratio.monitor.evidence import write_evidence
from fewratio.report.reported import Reported, make_plain

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture
    from fewratio.report.page import Report

# The largest logarithm of a number that a float can hold.
_LARGEST = 700.0
# Smaller p-values are written as "below" this.
_LEAST = 0.0001


class Since(NamedTuple):
    """Where a change began: the likeliest row, counting from 0 over all batches, and a 90 % range."""

    row: int
    low: int
    high: int


class ColumnEvidence(NamedTuple):
    """The evidence for a change of a column.

    Attributes
    ----------
    column : str
    change : str
        How the column changed, such as "higher" or "missing more often".
    evidence : float
        The wealth of the bets on this column alone, of which the alarm counts only its share among all columns.
    measure : {"mean", "deviation", "share", ""}
        What the next two numbers are: of the column, or how often its value occurs. Empty if they are unknown.
    before, after : float or None
        This number in the reference, and in the rows since the change began.
    """

    column: str
    change: str
    evidence: float
    measure: str = ""
    before: float | None = None
    after: float | None = None

    @property
    def numbers(self) -> tuple[str, str]:
        """The two numbers as text; empty if they are unknown."""
        if self.before is None or self.after is None:
            return "", ""
        if self.measure == "share":
            return write_share(self.before), write_share(self.after)
        name = "" if self.measure == "mean" else f"{self.measure} "
        return name + write_number(self.before, 3), name + write_number(self.after, 3)

    @property
    def told(self) -> str:
        """The column, how it changed, and from what to what."""
        before, after = self.numbers
        # The measure is named once.
        numbers = f": {before} → {after.rpartition(f'{self.measure} ')[2]}" if before else ""
        return f"{self.column} ({self.change}{numbers})"


class UnusualRow(NamedTuple):
    """An unusual row: its number in the batch, its rank by distance (1 is the farthest), and a column."""

    row: int
    rank: float
    column: str


class Batch(NamedTuple):
    """A batch: its name and number, the number of its first row, and the evidence after it."""

    name: str
    number: int
    first: int
    evidence: float


@dataclass(frozen=True, eq=False, repr=False)
class MonitorState(Reported):
    """The state of a `DriftMonitor` after a batch.

    Attributes
    ----------
    alarm : bool
        Whether the evidence has ever reached 1 / level. If the rows are exchangeable with those of the reference, this
        happens with a chance of at most `level`, however many rows arrive and however often you look.
    alarm_row : int or None
        The row of the first alarm, counting from 0 over all batches.
    evidence : float
        What the most successful bet against the reference has made of its share of a stake of 1: an e-value.
    p_value : float
        1 / the largest evidence so far, at most 1. It is valid at any time.
    since : Since or None
        Where the change began, once there is an alarm: a range that contains it in about 90 % of sudden changes.
    columns : list of ColumnEvidence
        The columns with evidence of a change, the clearest first; after an alarm, those that caused it.
    rows : list of UnusualRow
        The rows of the last batch that are farthest from the reference.
    n_rows : int
        Number of rows so far.
    batches : list of Batch
        The last batches.
    history : ndarray of shape (n, 2)
        Numbers of rows, and the logarithm of the evidence after each.
    settings : dict
        The parameters of the monitor.
    """

    alarm: bool
    alarm_row: int | None
    evidence: float
    p_value: float
    since: Since | None
    columns: list[ColumnEvidence]
    rows: list[UnusualRow]
    n_rows: int
    batches: Sequence[Batch]
    history: Floats
    settings: dict[str, Any]

    def locate(self, row: int) -> str:
        """Describe a row by its number in its batch, counting from 0."""
        found = [batch for batch in self.batches if batch.first <= row]
        if found and found[-1].first == 0:
            return f"row {row} of {found[-1].name}"
        return f"row {row}" + (f" (row {row - found[-1].first} of {found[-1].name})" if found else "")

    @property
    def headline(self) -> str:
        """The first sentence of the answer."""
        if self.alarm and self.alarm_row is not None:
            return f"Alarm at {self.locate(self.alarm_row)}."
        seen = write_count(self.n_rows, "row")
        evidence, limit = write_evidence(self.evidence), write_evidence(1 / self.settings["level"])
        return f"No alarm after {seen}: evidence {evidence}, alarm at {limit}."

    @property
    def p_value_text(self) -> str:
        """The p-value as text; tiny ones only as an upper bound."""
        return write_p(self.p_value) if self.p_value >= _LEAST else f"below {_LEAST}"

    @property
    def summary(self) -> str:
        """The answer in a sentence or two."""
        if not self.alarm or self.since is None:
            return self.headline
        low, high = self.since.low, self.since.high
        about, span = ("about ", f", between rows {low} and {high}") if low < high else ("", "")
        text = f"{self.headline} The change began at {about}{self.locate(self.since.row)}{span}."
        told = ", ".join(each.told for each in self.columns[:3])
        return f"{text} {f'Columns: {told}' if told else 'No column alone shows it: columns together do'}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings and lists."""
        return make_plain(
            self, "alarm", "alarm_row", "evidence", "p_value", "since", "columns", "rows", "n_rows", "batches",
            "history",
        )  # fmt: skip

    def plot(self) -> "Picture":
        """Draw the evidence over time."""
        from fewratio.monitor.report import draw_evidence

        return draw_evidence(self)

    def _report(self, command: str | None = None) -> "Report":
        from fewratio.monitor.report import report_state

        return report_state(self, command)

    def __repr__(self) -> str:
        return f"MonitorState({self.summary})"


def as_number(logarithm: float) -> float:
    """Return the evidence from its logarithm, capped at the largest float."""
    return math.exp(min(logarithm, _LARGEST))
