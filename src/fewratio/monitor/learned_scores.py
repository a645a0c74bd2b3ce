"""Scores learned from the last rows of a stream, each used only on later rows."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fewratio.core.shapes import Floats
from fewratio.core.units import column_scaling
from fewratio.estimators import samples as inputs
from fewratio.monitor.betting import NOTHING, share_of_start
from fewratio.monitor.scores import Quadratic, learn_scores, measure_distance, round_scores, sum_products

# Rows per window to learn scores from, and the number of windows for which each score is then used.
WINDOWS, _LIVES = (32, 128), 3
_KINDS = "shift", "covariance"
# With more features, the covariances of the scores would make the file too large.
_MOST_SQUARED = 100


class Slot(NamedTuple):
    """A slot for a score: its window length, its number among those in use, and its kind."""

    window: int
    life: int
    kind: str


class LearnedScores:
    """The scores in use, and the rows to learn the next ones from.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows of the reference that are not ranked.
    estimator : RatioEstimator or None
        An estimator whose ratio is another kind of score.
    used : ndarray of int
        The features that the estimator sees.
    n_recent : int
        How many of the last rows to keep.
    """

    # The arrays that change.
    kept = "_products", "_recent", "_epochs", "_square", "_linear", "_windows"

    def __init__(self, rows: Floats, estimator: Any, used: Any, n_recent: int) -> None:
        self.rows, self.estimator, self._used = rows, estimator, used
        self._mean, self._unit = column_scaling([rows])
        d = rows.shape[1]
        kinds = ["shift", *["covariance"] * (d <= _MOST_SQUARED), *["estimator"] * (estimator is not None)]
        self._slots = [Slot(n, life, kind) for n in WINDOWS for life in range(_LIVES) for kind in kinds]
        self._share = -np.log(len(WINDOWS) * len(kinds))
        self._products = sum_products(self._scale(rows))
        self._distance = measure_distance(self._products)
        # A ring buffer of rows.
        self._recent = np.zeros((max(n_recent, *WINDOWS), d))
        # For each slot, the number of windows before it was learned, and the rows it was learned from.
        self._epochs = np.zeros(len(self._slots), dtype=np.int64)
        self._square = np.zeros((len(self._slots), d if d <= _MOST_SQUARED else 0, d))
        self._linear = np.zeros((len(self._slots), d))
        self._windows = np.zeros((len(self._slots) if estimator is not None else 0, max(WINDOWS), d))
        self._fitted: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def _scale(self, rows: Floats) -> Floats:
        return (rows - self._mean) / self._unit

    def list_recent(self, n_rows: int, n: int | None = None) -> Floats:
        """Return the last n rows up to row `n_rows`, by default all kept rows."""
        n = min(n_rows, len(self._recent)) if n is None else n
        return self._recent[np.arange(n_rows - n, n_rows) % len(self._recent)]

    def weigh(self) -> Floats:
        """Return the logarithms of the weights of the slots; the weights of all scores ever learned sum to 1."""
        return np.where(self._epochs > 0, self._share + share_of_start(np.maximum(self._epochs, 1) - 1), NOTHING)

    def measure_distance(self, rows: Floats) -> Floats:
        """Return the distances of rows from the reference."""
        return round_scores(self._distance(self._scale(rows)))

    def find_farthest(self, rows: Floats) -> Any:
        """Return the feature in which each row is farthest from the reference, in deviations."""
        return np.abs(self._scale(rows)).argmax(1)

    def score(self, rows: Floats, slots: Any = None) -> Floats:
        """Score rows with some slots, by default all; NaN for slots without a score."""
        chosen = slice(None) if slots is None else slots
        scaled = self._scale(rows)
        found = scaled @ self._linear[chosen].T
        if self._square.size:
            found += np.einsum("snd,nd->ns", scaled @ self._square[chosen], scaled)
        found[:, self._epochs[chosen] == 0] = np.nan
        for place, slot in enumerate(range(len(self)) if slots is None else slots):
            if self._slots[slot].kind == "estimator" and self._epochs[slot]:
                if slot not in self._fitted:
                    self._fitted[slot] = self._fit(self._windows[slot, -self._slots[slot].window :])
                found[:, place] = self._fitted[slot]._ratio(np.ascontiguousarray(rows[:, self._used]))
        return round_scores(found)

    def _fit(self, window: Floats) -> Any:
        return inputs.fit_copy(self.estimator, window[:, self._used], self.rows[:, self._used])

    def score_recent(self, slot: int, known: Floats, n_rows: int) -> list[tuple[Floats, Floats]]:
        """Score the last rows, and known rows for comparison, in two parts: until a slot was learned, and later.

        The first part is scored by a score learned from the second, since the slot favours the rows that it was learned
        from.
        """
        recent, kind = self.list_recent(n_rows), self._slots[slot].kind
        end = len(recent) - (n_rows - int(self._epochs[slot]) * self._slots[slot].window)
        later = recent[end:]
        if kind == "estimator":
            fitted = self._fit(later)
            past = [fitted._ratio(np.ascontiguousarray(each[:, self._used])) for each in (known, recent[:end])]
        else:
            learned = learn_scores(sum_products(self._scale(self.rows)), self._scale(later))
            past = [learned[_KINDS.index(kind)](self._scale(each)) for each in (known, recent[:end])]
        return [(past[0], past[1]), (self.score(known, [slot])[:, 0], self.score(later, [slot])[:, 0])]

    def keep(self, rows: Floats, n_rows: int) -> None:
        """Keep rows up to row `n_rows`."""
        self._products += sum_products(self._scale(rows))
        self._recent[np.arange(n_rows - len(rows), n_rows) % len(self._recent)] = rows

    def learn(self, n_rows: int) -> Iterator[tuple[list[int], Floats]]:
        """Learn from the last rows; yield new slots, and their scores of the rows that define their bins."""
        due = [n for n in WINDOWS if n_rows % n == 0]
        for n in due:
            window, epoch = self.list_recent(n_rows, n), n_rows // n
            scaled = self._scale(window)
            learned = learn_scores(self._products - sum_products(scaled), scaled)
            by_kind: dict[str, Quadratic] = dict(zip(_KINDS, learned, strict=True))
            places = [i for i, slot in enumerate(self._slots) if slot.window == n and slot.life == epoch % _LIVES]
            for place in places:
                slot = self._slots[place]
                self._epochs[place] = epoch
                if slot.kind == "estimator":
                    self._windows[place, -n:] = window
                    self._fitted.pop(place, None)
                else:
                    self._linear[place] = by_kind[slot.kind].linear
                if slot.kind == "covariance":
                    self._square[place] = by_kind[slot.kind].square
            yield places, np.concatenate([self.rows, window])
