"""What a detector of outliers says of a batch, row by row."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats, Numbers
from fewratio.core.wording import write_count
from fewratio.data.non_overlapping import NonOverlapping
from fewratio.estimators import samples as inputs
from fewratio.outliers.outlier_score import Scores
from fewratio.outliers.rows import RowExplanation
from fewratio.report.reported import Reported, make_plain

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture
    from fewratio.report.page import Report


@dataclass(frozen=True, eq=False, repr=False)
class OutlierResult(Reported):
    """What `InlierOutlierDetector.detect` says of the rows of a batch.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        Higher is more normal. They are those of `score_samples`; where the false discovery rate is held with an
        estimator, those behind its p-values.
    threshold : float
        Rows with a lower score are outliers.
    rule : {"contamination", "false discovery rate", "rule of thumb"}
        What set the threshold.
    meaning : str
        What the threshold means, in words.
    samples : Samples
        The batch, and what became of its columns.
    detector : InlierOutlierDetector
        The detector that made it.
    settings : dict
        The parameters of the detector.
    """

    scores: Floats
    threshold: float
    rule: str
    meaning: str
    samples: inputs.Samples
    detector: Any
    settings: dict[str, Any]
    _scored: Scores

    @cached_property
    def margins(self) -> Floats:
        """Scores less the threshold, as `decision_function` gives them: negative for outliers."""
        return self.scores - self.threshold

    @property
    def is_outlier(self) -> NDArray[np.bool_]:
        """Whether each row is an outlier."""
        return self.margins < 0

    @cached_property
    def order(self) -> Numbers:
        """Numbers of the rows, the most anomalous first."""
        return np.argsort(self.scores, kind="stable")

    @cached_property
    def non_overlapping(self) -> list[NonOverlapping]:
        """The columns that separate the batch from the normals by themselves."""
        return self.detector.non_overlapping(self.samples.tables[0])

    @property
    def row_names(self) -> Sequence[str] | None:
        """What the rows are called, if they have names."""
        return self.samples.tables[0].row_names

    def explain(self, row: int) -> RowExplanation:
        """Show a row of the batch beside its nearest normals."""
        return self.explanations([row])[0]

    def explanations(self, rows: Sequence[int]) -> list[RowExplanation]:
        """Show several rows so: one after the other, each would be looked up in a large file."""
        some = self.samples.tables[0].take(rows)
        return [self.detector.explain(some.row(place)) for place in range(some.n_rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain numbers, strings and lists."""
        return make_plain(
            self, "rule", "threshold", "scores", "margins", "is_outlier", "order", "row_names", "non_overlapping"
        )

    def plot(self, n_shown: int = 10) -> "Picture":
        """Draw the rows by score, and in what so many of the most anomalous differ from their nearest normals.

        Returns
        -------
        Picture
            It shows itself in a notebook; ``save(path)`` writes it to a file.
        """
        from fewratio.outliers.report import draw_outliers

        inputs.check_count("n_shown", n_shown)
        return draw_outliers(self, n_shown)

    def _report(self, command: str | None = None, name: str = "the batch") -> "Report":
        from fewratio.outliers.report import report_outliers

        return report_outliers(self, name, command)

    def __repr__(self) -> str:
        n_rows = write_count(len(self.margins), "row")
        return f"OutlierResult({self.is_outlier.sum()} of {n_rows}; threshold {self.threshold:.3g}, {self.rule})"
