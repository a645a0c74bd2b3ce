"""Scores that are learned from the last rows of a stream, each used only on rows that come later."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fewratio.core.shapes import Floats
from fewratio.core.units import column_scaling
from fewratio.estimators import samples as inputs
from fewratio.monitor.betting import NOTHING, share_of_start
from fewratio.monitor.scores import Quadratic, learn_scores, measure_distance, sum_products

# Scores are learned from so many last rows, whenever as many have come, and each is used for three times as many.
WINDOWS, _LIVES = (32, 128), 3
# With more features a covariance for each score would fill the file.
_MOST_SQUARED = 100


class Slot(NamedTuple):
    """A place for a score: which window, which of those in use, and what kind of score."""

    window: int
    life: int
    kind: str


class LearnedScores:
    """The scores in use, and what the next ones will be learned from.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows of the reference that are not ranked.
    estimator : RatioEstimator or None
        Gives a further kind of score.
    used : ndarray of int
        The features that the estimator sees.
    """

    # The arrays that change.
    kept = "_products", "_recent", "_epochs", "_square", "_linear", "_windows"

    def __init__(self, rows: Floats, estimator: Any, used: Any) -> None:
        self.rows, self.estimator, self._used = rows, estimator, used
        self._mean, self._unit = column_scaling([rows])
        d = rows.shape[1]
        kinds = ["shift", *["covariance"] * (d <= _MOST_SQUARED), *["estimator"] * (estimator is not None)]
        self._slots = [Slot(n, life, kind) for n in WINDOWS for life in range(_LIVES) for kind in kinds]
        self._share = -np.log(len(WINDOWS) * len(kinds))
        self._products = sum_products(self._scale(rows))
        self._distance = measure_distance(self._products)
        self._recent = np.zeros((max(WINDOWS), d))
        # By slot: after how many windows it was learned, and from which rows.
        self._epochs = np.zeros(len(self._slots), dtype=np.int64)
        self._square = np.zeros((len(self._slots), d if d <= _MOST_SQUARED else 0, d))
        self._linear = np.zeros((len(self._slots), d))
        self._windows = np.zeros((len(self._slots) if estimator is not None else 0, max(WINDOWS), d))
        self._fitted: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def _scale(self, rows: Floats) -> Floats:
        return (rows - self._mean) / self._unit

    @property
    def weights(self) -> Floats:
        """The logarithms of the weights of the slots; over all scores that are ever learned the weights sum to 1."""
        return np.where(self._epochs > 0, self._share + share_of_start(np.maximum(self._epochs, 1) - 1), NOTHING)

    def measure_distance(self, rows: Floats) -> Floats:
        """Give the distances of rows from those of the reference."""
        return self._distance(self._scale(rows))

    def find_farthest(self, rows: Floats) -> Any:
        """Give the feature of each row that is most deviations away from the reference."""
        return np.abs(self._scale(rows)).argmax(1)

    def score(self, rows: Floats, slots: Any = None) -> Floats:
        """Score rows by slots, by default all; NaN where nothing is learned yet."""
        scaled = self._scale(rows)
        found = [self._score(slot, rows, scaled) for slot in (range(len(self)) if slots is None else slots)]
        return np.stack(found, axis=1)

    def _score(self, slot: int, rows: Floats, scaled: Floats) -> Floats:
        if not self._epochs[slot]:
            return np.full(len(rows), np.nan)
        if self._slots[slot].kind == "estimator":
            if slot not in self._fitted:
                window = self._windows[slot, -self._slots[slot].window :, self._used].T
                self._fitted[slot] = inputs.fit_copy(self.estimator, window, self.rows[:, self._used])
            return self._fitted[slot]._ratio(np.ascontiguousarray(rows[:, self._used]))
        if self._slots[slot].kind == "shift":
            return scaled @ self._linear[slot]
        return Quadratic(self._square[slot], self._linear[slot])(scaled)

    def learn(self, rows: Floats, n_rows: int) -> Iterator[tuple[int, Floats]]:
        """Take rows, after which there were so many, and learn; give each new slot, and the rows to place its bins."""
        self._products += sum_products(self._scale(rows))
        self._recent = np.concatenate([self._recent, rows])[-max(WINDOWS) :]
        due = [n for n in WINDOWS if n_rows % n == 0]
        for n in due:
            window, epoch = self._recent[-n:], n_rows // n
            scaled = self._scale(window)
            learned = learn_scores(self._products - sum_products(scaled), scaled)
            by_kind: dict[str, Quadratic] = dict(zip(("shift", "covariance"), learned, strict=True))
            for place, slot in enumerate(self._slots):
                if slot.window != n or slot.life != epoch % _LIVES:
                    continue
                self._epochs[place] = epoch
                if slot.kind == "estimator":
                    self._windows[place, -n:] = window
                    self._fitted.pop(place, None)
                else:
                    self._linear[place] = by_kind[slot.kind].linear
                if slot.kind == "covariance":
                    self._square[place] = by_kind[slot.kind].square
                yield place, np.concatenate([self.rows, window])

    def first_row(self, slot: int) -> int:
        """Give the number of the first row that a score was learned from."""
        return int(self._epochs[slot] - 1) * self._slots[slot].window
