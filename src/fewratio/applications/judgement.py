"""What a detector of outliers says of a batch, row by row."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewratio.applications import inputs
from fewratio.applications.rows import RowExplanation
from fewratio.core.shapes import Floats, Numbers
from fewratio.data.columns import counted
from fewratio.report.reported import Reported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fewratio.report.page import Report


@dataclass(frozen=True, eq=False, repr=False)
class OutlierResult(Reported):
    """What `InlierOutlierDetector.judge` says of the rows of a batch.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        Higher is more normal, as `score_samples` gives them.
    margins : ndarray of shape (n,)
        Scores less the threshold, as `decision_function` gives them: negative for outliers.
    threshold : float
        Rows with a lower score are outliers.
    rule : {"contamination", "false discovery rate", "rule of thumb"}
        What set the threshold.
    meaning : str
        What the threshold means, in words.
    samples : Samples
        The batch, what became of its columns, and which of them tell it from the normals by themselves.
    detector : InlierOutlierDetector
        What judged it.
    """

    scores: Floats
    margins: Floats
    threshold: float
    rule: str
    meaning: str
    samples: inputs.Samples
    detector: Any = field(repr=False)

    @property
    def is_outlier(self) -> NDArray[np.bool_]:
        """Whether each row is an outlier."""
        return self.margins < 0

    @cached_property
    def order(self) -> Numbers:
        """Numbers of the rows, the most anomalous first."""
        return np.lexsort([self.margins, self.scores])

    @property
    def row_names(self) -> Sequence[str] | None:
        """What the rows are called, if they have names."""
        return self.samples.tables[0].row_names

    def explain(self, row: int) -> RowExplanation:
        """Show a row of the batch beside its nearest normals, without columns that tell all rows from the normals."""
        apart = [column.column for column in self.samples.separating]
        return self.detector.explain(self.samples.tables[0].row(row), leave_out=apart)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain numbers, strings and lists."""
        found = {"score": self.scores, "margin": self.margins, "outlier": self.is_outlier, "order": self.order}
        lists = {name: values.tolist() for name, values in found.items()}
        return {"rule": self.rule, "threshold": self.threshold, **lists, **inputs.plain(self, "row_names")}

    def plot(self, n_shown: int = 10) -> "Figure":
        """Draw the rows by score, and in what so many of the most anomalous differ from their nearest normals.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from fewratio.charts.results import draw_outliers

        inputs.check_count("n_shown", n_shown)
        lowest = self.order[:n_shown].tolist()
        reasons = [self.explain(row) for row in lowest]
        differences = [dict(zip(reason.columns, reason.differences.tolist(), strict=True)) for reason in reasons]
        names = [f"row {row}" if self.row_names is None else str(self.row_names[row]) for row in lowest]
        return draw_outliers(self.margins, names, differences)

    def _report(self, command: str | None = None, name: str = "the batch") -> "Report":
        from fewratio.report.outliers import report_outliers

        return report_outliers(self, name, command)

    def __repr__(self) -> str:
        n_rows = counted(len(self.margins), "row")
        return f"OutlierResult({self.is_outlier.sum()} of {n_rows}; threshold {self.threshold:.3g}, {self.rule})"


_MEANINGS = {
    "contamination": "the share of rows that was asked for ({:.0%}) is below it",
    "false discovery rate": "at most {:.0%} of the outliers are expected to be normal",
    "rule of thumb": "a rule of thumb, few normal rows would have such a score; it promises nothing",
}


def judged(detector: Any, X: Any) -> OutlierResult:
    """Let a fitted detector judge a batch."""
    table = detector._open(X, getattr(X, "argument", "X"))
    by_rule, threshold = detector._judge(table)
    scores = by_rule if detector.estimator_ is None else detector.score_samples(table)
    separating, rule, encoding = detector.separating(table), detector._rule(table.n_rows), detector.encoding_
    if encoding is not None:
        encoding = encoding.without([column.column for column in separating])
    meaning = _MEANINGS[rule].format(detector.contamination or detector.false_discovery_rate)
    samples = inputs.Samples(encoding, [table], separating, (X,))
    return OutlierResult(scores, by_rule - threshold, threshold, rule, meaning, samples, detector)
