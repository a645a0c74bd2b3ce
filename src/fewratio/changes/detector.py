"""Changes of a series row by row."""

from typing import Any

import numpy as np

from fewratio.changes.significance import check_threshold, window_scores
from fewratio.core.shapes import Floats
from fewratio.data.table import as_table, make_row
from fewratio.errors import InputError
from fewratio.estimators import samples as inputs


class ChangeDetector:
    """Detect changes in a series row by row.

    The scores equal those of `detect_changes` with the same `window` and a `threshold`. Each is available once its two
    windows are complete: one window after its row. With the estimator of a tested result, they equal the scores of that
    call, except that no trend or season is removed. A change is reported when the score rises above the threshold, and
    then not again for one window.

    Parameters
    ----------
    window : int
        Rows per window; the last two windows are kept.
    threshold : float
        The threshold for scores, such as that of `detect_changes` for earlier rows. In as many rows as it was computed
        from, that threshold is exceeded by chance with probability ``level``.
    estimator : RatioEstimator, optional
        Estimates the divergences, such as the one in the result of `detect_changes`, which knows the units of the
        columns; by default ``RuLSIF()``, with the units of the two windows.

    Attributes
    ----------
    n_rows_ : int
        Number of rows so far.
    score_ : float
        The latest score; NaN before there are two windows.
    changes_ : list of int
        Numbers of the rows, counted from 0, that begin the second window of each report.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import detect_changes
    >>> from fewratio.changes.detector import ChangeDetector
    >>> rng = np.random.default_rng(0)
    >>> calm = detect_changes(rng.normal(0, 1, 60), window=10, n_permutations=99, random_state=0)
    >>> detector = ChangeDetector(10, calm.threshold, estimator=calm.estimator)
    >>> later = np.concatenate([rng.normal(0, 1, 30), rng.normal(6, 1, 30)])
    >>> [number for number, value in enumerate(later) if detector.update(value)]
    [38]
    """

    def __init__(self, window: int, threshold: float, *, estimator: Any = None) -> None:
        inputs.check_count("window", window)
        self.window = window
        self.threshold = check_threshold(threshold)
        # Seeded once: the same windows must always have the same score.
        self.estimator = inputs.copy_seeded(estimator, inputs.default_estimator(), np.random.default_rng(0))
        self.n_rows_ = 0
        self.score_ = float("nan")
        self.changes_: list[int] = []
        self._rows: Floats | None = None

    def update(self, row: Any) -> bool:
        """Add the next row, and return whether a change is reported.

        Parameters
        ----------
        row : float or array-like of shape (n_features,) or (1, n_features)
            The row, or a number if the series has one column.

        Returns
        -------
        bool
        """
        table = make_row(row)
        new = as_table(table, "row").to_numpy()
        kept = new[:0] if self._rows is None else self._rows
        if len(new) != 1 or new.shape[1] != kept.shape[1]:
            raise InputError(
                f"row has shape {new.shape}; expected one row of {kept.shape[1]} values, as the first had. Pass the "
                "rows one by one, with the same columns."
            )
        self._rows = np.concatenate([kept, new])[-2 * self.window :]
        self.n_rows_ += 1
        if self.n_rows_ < 2 * self.window:
            return False
        before, earlier = self.score_, self.changes_[-1] if self.changes_ else -np.inf
        self.score_ = float(window_scores(self.estimator, self._rows, np.array([self.window]), self.window)[0])
        position = self.n_rows_ - self.window
        # Also true if the previous score is NaN: the first score may exceed the threshold.
        rises = self.score_ > self.threshold and not before > self.threshold
        if rises and position - earlier >= self.window:
            self.changes_.append(position)
            return True
        return False
