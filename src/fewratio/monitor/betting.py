"""Test martingales on ranks: bets that a row is not like those before it, by any number of scores at once.

Why the chance of a false alarm is bounded for all time is proved in `docs/how/monitor.md`.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fewratio.core.shapes import Floats

# Bets on the normal scores of ranks: their mean is this instead of 0, or their deviation instead of 1.
SHIFTS = np.array([-2.0, -1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 2.0])
SPREADS = np.array([0.5, 0.7, 1.4, 2.0])
# Bets on a score of two values: the logarithm of its odds has moved by so much.
_ODDS = np.array([-4.0, -2.0, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0])
# The last bet is on the cells of ranks (two, if a score has two values) in which those of about the last thirty rows
# were, as if three had been spread evenly before.
_CELLS = np.array([0, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, 0.997, 1])
_WIDTHS, _EVENLY, _KEPT = np.diff(_CELLS), 3.0, 0.97
_N_BETS = len(SHIFTS) + len(SPREADS) + 1
# A bet that starts at row n has about the share 8 / (n (8 + log n)^2): best for a change after exp(8) = 3,000 rows.
_CALM = 8.0
# The logarithm of no wealth, finite for files.
NOTHING = -1e300
# Rounding could make a rank 0 or 1.
_LEAST_RANK = 1e-15
# The logarithm of what a bet must have won to say what has changed.
_CLEAR = np.log(10)


def share_of_start(n: NDArray[np.int64]) -> Floats:
    """Give the logarithm of the share that is bet from the n-th row on, counting from 0; all shares sum to 1."""
    return np.log(_unused(n) - _unused(n + 1))


def _unused(n: NDArray[np.int64]) -> Floats:
    return 1 / (1 + np.log1p(n) / _CALM)


def _log(values: Floats) -> Floats:
    return np.where(values > 0, np.log(np.maximum(values, np.finfo(np.float64).tiny)), NOTHING)


def _log_sum(logarithms: Floats) -> Floats:
    largest = logarithms.max(-1, keepdims=True)
    return np.log(np.exp(logarithms - largest).sum(-1)) + largest[..., 0]


class RankBets:
    """What the bets on the ranks of each score have won.

    Parameters
    ----------
    counts : ndarray of shape (n_scores, n_bins)
        How many rows that are known before have a score in each bin.
    n_ones : ndarray of shape (n_scores,)
        How many of them have the larger of two values, as is expected from other rows; -1 for any other score.
    """

    # The arrays that change.
    kept = "counts", "n_ones", "n_bet", "in_cells", "wealth"

    def __init__(self, counts: NDArray[np.int64], n_ones: Floats) -> None:
        self.counts, self.n_ones = counts, n_ones
        self.n_bet = np.zeros(len(counts), dtype=np.int64)
        # The logarithms of the wealth by score and bet, and of its products with the row at which it was put in, and
        # with the square of that.
        self.in_cells = np.zeros((len(counts), len(_WIDTHS)))
        self.wealth = np.full((3, len(counts), _N_BETS), NOTHING)

    def restart(self, score: int, counts: NDArray[np.int64]) -> None:
        """Begin again with another score in the place of one."""
        self.counts[score], self.n_bet[score] = counts, 0
        self.in_cells[score], self.wealth[:, score] = 0, NOTHING

    def bet(self, bins: NDArray[np.intp], ties: Floats, first: int) -> tuple[Floats, Floats]:
        """Bet on rows, one after the other.

        Parameters
        ----------
        bins : ndarray of shape (n_rows, n_scores)
            The bin of each row by each score; -1 where it has none.
        ties : ndarray of shape (n_rows, n_scores)
            Random numbers between 0 and 1, by which ties are broken.
        first : int
            The number of the first row.

        Returns
        -------
        ranks, evidence : ndarray of shape (n_rows, n_scores)
            The rank of each row among all before it, between 0 and 1, and the logarithm of the wealth after it.
        """
        n_rows, scores, has = len(bins), np.arange(bins.shape[1]), bins >= 0
        known = np.concatenate([np.zeros((len(scores), 1), np.int64), self.counts.cumsum(1)], axis=1)
        is_before = np.tri(n_rows, k=-1, dtype=np.bool_)[:, :, None] & has
        below = known[scores, bins] + (is_before & (bins < bins[:, None])).sum(1)
        equal = self.counts[scores, bins] + (is_before & (bins == bins[:, None])).sum(1)
        n_known = known[:, -1] + is_before.sum(1)
        rank = (below + ties * (equal + 1)) / (n_known + 1)
        normal = np.where(has, ndtri(np.clip(rank, _LEAST_RANK, 1 - _LEAST_RANK)), 0.0)[..., None]
        shifted = SHIFTS * normal - SHIFTS**2 / 2
        spread = -np.log(SPREADS) - normal**2 / 2 * (SPREADS**-2 - 1)
        in_cells, upper, is_upper = self._bet_on_cells(rank, n_known, has)
        odds = _ODDS * is_upper[..., None] - np.log1p(upper[..., None] * np.expm1(_ODDS))
        ranked = np.where((self.n_ones >= 0)[:, None], odds, np.concatenate([shifted, spread], axis=2))
        gains = np.where(has[..., None], np.concatenate([ranked, in_cells], axis=2), 0.0).cumsum(0)
        # What was put in before a row wins with it, so it counts by what all rows before have won already.
        earlier = np.concatenate([np.zeros((1, *gains.shape[1:])), gains[:-1]])
        n_bet = self.n_bet + has.cumsum(0)
        put_in = np.where(has, share_of_start(n_bet - has) - np.log(_N_BETS), NOTHING)[..., None] - earlier
        # Sums of parts of the largest: a part too small for a float counts as nothing, which is never too much.
        largest = np.maximum(put_in.max(0), self.wealth[0])
        parts, before = np.exp(put_in - largest), np.exp(self.wealth - largest)
        moments = np.arange(first + 1.0, first + n_rows + 1)[:, None, None]
        wealth = _log(before[0] + parts.cumsum(0)) + largest + gains
        sums = [(parts * moments**power).sum(0) for power in (0, 1, 2)]
        self.wealth, self.n_bet = _log(before + np.stack(sums)) + largest + gains[-1], n_bet[-1]
        np.add.at(self.counts, (np.broadcast_to(scores, bins.shape)[has], bins[has]), 1)
        return rank, np.logaddexp(np.log(_unused(n_bet)), _log_sum(wealth))

    def _bet_on_cells(
        self, ranks: Floats, n_known: NDArray[np.int64], has: NDArray[np.bool_]
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Bet on each row that its rank is where those of the last rows were; give the logarithms of what is won.

        Give also which ranks are those of the larger of two values: if k of n known rows have it, these are above
        1 - (k + 1) / (n + 1). A bet may know ranks alone, so k is what was expected at the start, and the ranks that
        were above this limit since.
        """
        gains, upper, scores = np.empty((*ranks.shape, 1)), np.empty(ranks.shape), np.arange(ranks.shape[1])
        is_two, is_upper = self.n_ones >= 0, np.empty(ranks.shape, dtype=np.bool_)
        cells = np.clip(np.searchsorted(_CELLS, ranks, "right") - 1, 0, len(_WIDTHS) - 1)
        for row, some in enumerate(has):
            upper[row] = np.clip((self.n_ones + 1) / (n_known[row] + 1), _LEAST_RANK, 1 - _LEAST_RANK)
            is_upper[row] = ranks[row] > 1 - upper[row]
            cell = np.where(is_two, is_upper[row], cells[row])
            width = np.where(is_two, np.where(is_upper[row], upper[row], 1 - upper[row]), _WIDTHS[cell])
            share = (self.in_cells[scores, cell] + _EVENLY * width) / (self.in_cells.sum(1) + _EVENLY)
            gains[row, :, 0] = np.log(share / width)
            self.in_cells[some] *= _KEPT
            self.in_cells[scores[some], cell[some]] += 1
            self.n_ones += some & is_two & is_upper[row]
        return gains, upper, is_upper

    @property
    def evidence(self) -> Floats:
        """The logarithm of the wealth by each score, with what is not bet yet: 0 at the start."""
        return np.logaddexp(np.log(_unused(self.n_bet)), _log_sum(self.wealth[0]))

    def find_start(self, score: int) -> tuple[float, float]:
        """Give the mean and the deviation of the row at which the wealth of a score was put in."""
        total, first, second = _log_sum(self.wealth[:, score])
        mean = np.exp(first - total)
        return mean - 1, np.sqrt(max(np.exp(second - total) - mean**2, 0.0))

    def describe(self, score: int) -> str:
        """Say what bet on a score has won: higher, lower, spread more, spread less, or, if none of these, otherwise."""
        best = int(self.wealth[0, score, :-1].argmax())
        if self.wealth[0, score, best] < _CLEAR:
            return "distributed otherwise"
        if best < len(SHIFTS):
            return "higher" if SHIFTS[best] > 0 else "lower"
        return "spread more" if SPREADS[best - len(SHIFTS)] > 1 else "spread less"

    def is_higher(self, score: int) -> bool:
        """Whether a score of two values has the larger one more often in the last rows than in all."""
        last, known = self.in_cells[score], self.counts[score].sum()
        return bool(last[1] / last.sum() > self.n_ones[score] / known)
