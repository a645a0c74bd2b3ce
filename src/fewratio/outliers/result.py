"""The result of an outlier detector for a batch."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats, Numbers
from fewratio.core.wording import write_count, write_share
from fewratio.data.non_overlapping import Levels, NonOverlapping
from fewratio.estimators import samples as inputs
from fewratio.outliers.outlier_score import Scores
from fewratio.outliers.reasons import CellReason, find_errors
from fewratio.outliers.rows import LEAST_BATCH, RowExplanation, conformal_p_values, most_are_outliers
from fewratio.report.reported import Reported, make_plain

# The share of clean rows that the false positive rate flags: 3 to 5 % (`benchmarks/answers.py --only flags`).
CLEAN_FLAGGED = 0.04
# If at least this share of a batch and this many rows are flagged, the whole batch may have shifted.
_SHIFTED, _LEAST_SHIFTED = 0.2, 4
# The most columns to name as reasons.
_REASONS = 3
# A row with more strange cells differs as a whole; and with fewer normal rows, flags depend on chance.
_FEW_CELLS, _FEW_NORMALS = 2, 10

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture
    from fewratio.report.page import Report


@dataclass(frozen=True, eq=False, repr=False)
class OutlierResult(Reported):
    """Result of `InlierOutlierDetector.detect` for a batch.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        Scores of the rows, those of `score_samples`; higher is more normal. If the false discovery rate is controlled
        with an estimator, the scores that its p-values use.
    threshold : float
        Rows with a lower score are outliers.
    rule : {"contamination", "false discovery rate", "false positive rate"}
        The rule that set the threshold.
    meaning : str
        The meaning of the threshold, in words.
    samples : Samples
        The batch, and how its columns were encoded.
    detector : InlierOutlierDetector
        The detector that scored the batch.
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
    _levels: dict[Any, Levels]

    @cached_property
    def margins(self) -> Floats:
        """Scores less the threshold, negative for outliers; see `InlierOutlierDetector.decision_function`."""
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
        """The columns whose values do not overlap between the normals and the batch."""
        return self.detector._find_non_overlapping(self.samples.tables[0], self._levels)

    @property
    def expected_false(self) -> float | None:
        """An upper limit for the expected number of outliers that are normal; None with a contamination.

        Under the false positive rate, it is the smallest of several limits: the number of outliers, 4 % of all rows,
        and for each outlier the number of rows that would score as low if all were normal (by its p-value), plus the
        number of outliers with higher scores.
        """
        n_outliers, n_rows = int(self.is_outlier.sum()), len(self.scores)
        if self.rule == "false discovery rate":
            return float(self.detector.false_discovery_rate * n_outliers)
        if self.rule == "contamination":
            return None
        p_values = np.sort(conformal_p_values(self.scores[self.is_outlier], self._scored.lowest))
        bounds = n_rows * p_values + np.arange(n_outliers)[::-1]
        return float(min(n_outliers, CLEAN_FLAGGED * n_rows, bounds.min(initial=n_outliers)))

    @property
    def expectation(self) -> str:
        """The expected number of normal rows among the outliers, as text to append to the number of outliers."""
        n_outliers, false = int(self.is_outlier.sum()), round(self.expected_false or 0)
        if false and false >= n_outliers:
            return f" (chance alone would flag about {'one' if n_outliers == 1 else 'as many'})"
        return f" ({false} of them may well be normal)" if false else ""

    @property
    def unflagged(self) -> str:
        """Where all rows lie outside the normal rows although none is flagged, for a sentence about them; else ""."""
        if self.is_outlier.any() or not self.non_overlapping:
            return ""
        return f"lie outside the normal rows in {write_count(len(self.non_overlapping), 'column')}, but none is flagged"

    @property
    def _are_many_flagged(self) -> bool:
        n_outliers, n_rows = int(self.is_outlier.sum()), len(self.scores)
        return (
            self.rule != "contamination"
            and n_outliers >= max(_LEAST_SHIFTED, _SHIFTED * n_rows)
            and n_rows >= LEAST_BATCH
        )

    @cached_property
    def shift(self) -> str | None:
        """Advice if so many rows are flagged that the whole batch may have shifted; else None.

        With fewer than ten normals, most rows must be flagged, since the normals may be an unlucky choice.
        """
        n_outliers, n_rows = int(self.is_outlier.sum()), len(self.scores)
        if not self._are_many_flagged or (self.few_normals and not most_are_outliers(self.is_outlier)):
            return None
        text = f"{n_outliers} of {n_rows} rows are flagged: the table may have shifted as a whole. Compare it with the"
        text += " normal rows, and check its columns and units."
        beyond = self.detector._beyond_shift(self.samples.tables[0], self._levels)
        # If undoing the shift does not reduce the flags, the columns have not shifted.
        if beyond is None or beyond >= n_outliers / n_rows:
            return text
        expected = f" (of normal rows about {write_share(CLEAN_FLAGGED)})" if self.rule == "false positive rate" else ""
        return f"{text} Without such a shift, {write_share(beyond)} of the rows would be flagged{expected}."

    @cached_property
    def errors(self) -> list[CellReason]:
        """The cells to check, the strangest first, of flagged rows and others.

        * In all rows: numbers that a wide gap separates from all normals and most other rows (in batches without
          errors, this happens in one case out of ten), and new categories that look like misprints of known ones, or
          that are unlikely by chance.
        * In flagged rows also: numbers two deviations outside all normals, by themselves or given the other columns,
          and farther out than any normal is from the others; and new categories that are as unusual. This part is left
          out if at least a fifth of the rows are flagged, so that the whole batch may have shifted, or if all flagged
          rows may be normal.

        Flagged rows with more than two such cells differ as a whole, so their cells are not listed. If a batch stays in
        its file, only categories are listed.

        Examples
        --------
        >>> import polars as pl
        >>> from fewratio import InlierOutlierDetector
        >>> good = pl.DataFrame({"mass": [3750.0, 4100, 2850, 6300, 4700] * 4, "kind": ["Adelie", "Gentoo"] * 10})
        >>> new = pl.DataFrame({"mass": [4000.0, 4, 4600, 3900], "kind": ["Gentoo", "Adelie", "Adelei", "Gentoo"]})
        >>> for error in InlierOutlierDetector().fit(good).detect(new).errors:
        ...     print(error.row, error.text)
        2 kind Adelei was never seen (did you mean Adelie?)
        1 mass 4 is far below all normal rows (2850 to 6300)
        """
        n_cells = Counter(cell.row for cell in self._strange_cells)
        may_be_normal = round(self.expected_false or 0) >= self.is_outlier.sum()
        is_doubtful = self._are_many_flagged or may_be_normal
        found = self._find_cells(np.zeros_like(self.is_outlier)) if is_doubtful else self._strange_cells
        return [cell for cell in found if n_cells[cell.row] <= _FEW_CELLS or not self.is_outlier[cell.row]]

    @cached_property
    def reasons(self) -> dict[int, str]:
        """The strangest cell of each row with a cell to check, in words."""
        return {cell.row: cell.text for cell in reversed(self._strange_cells)}

    @cached_property
    def _strange_cells(self) -> list[CellReason]:
        """The cells to check, including those of flagged rows with many such cells."""
        return self._find_cells(self.is_outlier)

    def _find_cells(self, is_outlier: NDArray[np.bool_]) -> list[CellReason]:
        table = self.samples.tables[0]
        is_held = isinstance(table.numbers, np.ndarray)
        return find_errors(
            self.detector._normals, table.numbers if is_held else np.empty((0, table.n_features)),
            self.samples.columns, self._levels, is_outlier,
        )  # fmt: skip

    @property
    def few_normals(self) -> str:
        """A warning if there are very few normal rows; else ""."""
        n_normals = len(self.detector._normals)
        if n_normals >= _FEW_NORMALS:
            return ""
        rows = write_count(n_normals, "normal row")
        if self.unflagged:
            lowest = f"the threshold ({self.threshold:.3g}) is below all scores ({self.scores.min():.3g} or more)"
            advice = "To flag a share of the rows, pass contamination (in a shell --contamination 0.1)."
            return f"The scores of only {rows} are so uncertain that {lowest}. {advice}"
        return (
            f"Flags vary a lot with only {rows}: some may be false, and outliers may be missed. Look at the first rows."
        )

    @property
    def row_names(self) -> Sequence[str] | None:
        """Names of the rows, if they have names."""
        return self.samples.tables[0].row_names

    def explain(self, row: int) -> RowExplanation:
        """Compare a row of the batch with its nearest normals."""
        return self.explanations([row])[0]

    def explanations(self, rows: Sequence[int]) -> list[RowExplanation]:
        """Compare several rows with their nearest normals; large files are read only once."""
        some = self.samples.tables[0].take(rows)
        return [self.detector.explain(some.row(place)) for place in range(some.n_rows)]

    def say_why(self, row: int, explanation: RowExplanation) -> str:
        """Say why a row is anomalous: its strangest cell, or the columns in which it differs most."""
        return self.reasons.get(row) or explanation.largest(_REASONS).summary

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain numbers, strings and lists."""
        return make_plain(
            self, "rule", "threshold", "scores", "margins", "is_outlier", "order", "row_names", "non_overlapping",
            "errors", "expected_false", "shift",
        )  # fmt: skip

    def plot(self, n_shown: int = 10) -> "Picture":
        """Draw the scores of the rows, and how the most anomalous rows differ from their nearest normals.

        Returns
        -------
        Picture
            A chart that notebooks display; ``save(path)`` writes it to a file.
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
