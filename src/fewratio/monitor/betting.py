"""Test martingales on ranks: bets that a row differs from earlier rows, on any number of scores at once.

`docs/how/monitor.md` proves that the chance of a false alarm is bounded for all time.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fewratio.core.arrays import log_sum
from fewratio.core.shapes import Floats

# Bets on the normal scores of ranks: that their mean is one of these instead of 0, or their deviation instead of 1.
SHIFTS = np.array([-2.0, -1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 2.0])
SPREADS = np.array([0.5, 0.7, 1.4, 2.0])
_SHIFT_COSTS, _SPREAD_COSTS, _SPREAD_GAINS = SHIFTS**2 / 2, -np.log(SPREADS), SPREADS**-2 - 1
# Bets on a score of two values: that its log odds have moved by this much.
_ODDS = np.array([-4.0, -2.0, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0])
_ODDS_RATIOS = np.expm1(_ODDS)
# The last bet is on the cells (two, if a score has two values) that contained the ranks of about the last thirty rows,
# with three evenly spread rows as prior.
_CELLS = np.array([0, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, 0.997, 1])
_WIDTHS, _EVENLY, _KEPT = np.diff(_CELLS), 3.0, 0.97
_N_BETS = len(SHIFTS) + len(SPREADS) + 1
# A bet that starts at row n has a share of about 8 / (n (8 + log n)^2), best for a change after exp(8) = 3,000 rows.
_CALM = 8.0
# The logarithm of zero wealth; finite, so that files can hold it.
NOTHING = -1e300
_LEAST_RANK = 1e-15
# A bet names a change once the logarithm of its wealth exceeds this.
_CLEAR = np.log(10)


def share_of_start(n: NDArray[np.int64]) -> Floats:
    """Return the logarithm of the share for bets from row n on, counting from 0; all shares sum to 1."""
    return np.log(_unused(n) - _unused(n + 1))


def _unused(n: NDArray[np.int64]) -> Floats:
    return 1 / (1 + np.log1p(n) / _CALM)


def _within(ranks: Floats) -> Floats:
    """Clip ranks, so that rounding does not turn them into 0 or 1."""
    return np.minimum(np.maximum(ranks, _LEAST_RANK), 1 - _LEAST_RANK)


def _log(values: Floats) -> Floats:
    return np.where(values > 0, np.log(np.maximum(values, np.finfo(np.float64).tiny)), NOTHING)


class RankBets:
    """The wealth of bets on the ranks of each score.

    Parameters
    ----------
    counts : ndarray of shape (n_scores, n_bins)
        Number of known rows with a score in each bin.
    n_ones : ndarray of shape (n_scores,)
        For scores of two values, the expected number of known rows with the larger value; -1 for other scores.
    """

    # The arrays that change.
    kept = "counts", "n_ones", "n_bet", "in_cells", "wealth", "evidence"

    def __init__(self, counts: NDArray[np.int64], n_ones: Floats) -> None:
        self.counts, self.n_ones = counts, n_ones
        self.n_bet = np.zeros(len(counts), dtype=np.int64)
        self.in_cells = np.zeros((len(counts), len(_WIDTHS)))
        # Logarithms, by score and bet.
        self.wealth = np.full((len(counts), _N_BETS), NOTHING)
        # The logarithm of the wealth from each score, including the part that is not bet yet.
        self.evidence = np.zeros(len(counts))

    def restart(self, scores: NDArray[np.intp], counts: NDArray[np.int64]) -> None:
        """Replace some scores by new ones, and start their bets again."""
        self.counts[scores], self.n_bet[scores], self.evidence[scores] = counts, 0, 0
        self.in_cells[scores], self.wealth[scores] = 0, NOTHING

    def bet(self, bins: NDArray[np.intp], ties: Floats, given: Floats | None = None) -> tuple[Floats, Floats]:
        """Bet on rows in their order.

        Parameters
        ----------
        bins : ndarray of shape (n_rows, n_scores)
            The bin of each row for each score; -1 for none.
        ties : ndarray of shape (n_rows, n_scores)
            Random numbers between 0 and 1, to break ties.
        given : ndarray of shape (n_rows, n_given), optional
            The ranks for the last scores, whose bins only show whether a row has a rank.

        Returns
        -------
        ranks, evidence : ndarray of shape (n_rows, n_scores)
            The rank of each row among all before it, between 0 and 1, and the logarithm of the wealth after it.
        """
        n_rows, scores, has = len(bins), np.arange(bins.shape[1]), bins >= 0
        known = np.zeros((len(scores), self.counts.shape[1] + 1), dtype=np.int64)
        self.counts.cumsum(1, out=known[:, 1:])
        below, equal, n_known = known[scores, bins], self.counts[scores, bins], known[None, :, -1]
        if n_rows > 1:
            is_before = np.tri(n_rows, k=-1, dtype=np.bool_)[:, :, None] & has
            below += (is_before & (bins < bins[:, None])).sum(1)
            equal += (is_before & (bins == bins[:, None])).sum(1)
            n_known = n_known + is_before.sum(1)
        rank = (below + ties * (equal + 1)) / (n_known + 1)
        if given is not None and given.shape[1]:
            rank[:, -given.shape[1] :] = np.where(np.isnan(given), 0.5, given)
        normal = np.where(has, ndtri(_within(rank)), 0.0)[..., None]
        gains, is_two, n_shifts = np.empty((*bins.shape, _N_BETS)), self.n_ones >= 0, len(SHIFTS)
        gains[..., -1], upper, is_upper = self._bet_on_cells(rank, n_known, has)
        gains[..., :n_shifts] = SHIFTS * normal - _SHIFT_COSTS
        gains[..., n_shifts:-1] = _SPREAD_COSTS - normal**2 / 2 * _SPREAD_GAINS
        odds = _ODDS * is_upper[:, is_two, None] - np.log1p(upper[:, is_two, None] * _ODDS_RATIOS)
        gains[:, is_two, :-1] = odds
        gains[~has] = 0
        gains = gains.cumsum(0)
        # A stake wins only on later rows, so each is divided by the gains of all earlier rows.
        n_bet = self.n_bet + has.cumsum(0)
        put_in = np.where(has, share_of_start(n_bet - has) - np.log(_N_BETS), NOTHING)[..., None].repeat(_N_BETS, 2)
        put_in[1:] -= gains[:-1]
        # Sums relative to the largest part: parts too small for a float count as 0, which never overstates the sum.
        largest = np.maximum(put_in.max(0), self.wealth)
        wealth = _log(np.exp(self.wealth - largest) + np.exp(put_in - largest).cumsum(0)) + largest + gains
        self.wealth, self.n_bet = wealth[-1], n_bet[-1]
        np.add.at(self.counts, (np.broadcast_to(scores, bins.shape)[has], bins[has]), 1)
        evidence = np.logaddexp(np.log(_unused(n_bet)), log_sum(wealth, -1))
        self.evidence = evidence[-1].copy()
        return rank, evidence

    def _bet_on_cells(
        self, ranks: Floats, n_known: NDArray[np.int64], has: NDArray[np.bool_]
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Bet that each rank is close to the ranks of the last rows; return the logarithms of the gains.

        Also return which ranks belong to the larger of two values: those above 1 - (k + 1) / (n + 1), if k of n known
        rows have this value. Bets may use only ranks, so k is the number expected at the start, plus the number of
        later ranks above the limit.
        """
        gains, upper, scores = np.empty(ranks.shape), np.empty(ranks.shape), np.arange(ranks.shape[1])
        is_two, is_upper = self.n_ones >= 0, np.empty(ranks.shape, dtype=np.bool_)
        cells = np.clip(np.searchsorted(_CELLS, ranks, "right") - 1, 0, len(_WIDTHS) - 1)
        for row, some in enumerate(has):
            upper[row] = _within((self.n_ones + 1) / (n_known[row] + 1))
            is_upper[row] = ranks[row] > 1 - upper[row]
            cell = np.where(is_two, is_upper[row], cells[row])
            width = np.where(is_two, np.where(is_upper[row], upper[row], 1 - upper[row]), _WIDTHS[cell])
            share = (self.in_cells[scores, cell] + _EVENLY * width) / (self.in_cells.sum(1) + _EVENLY)
            gains[row] = np.log(share / width)
            self.in_cells[some] *= _KEPT
            self.in_cells[scores[some], cell[some]] += 1
            self.n_ones += some & is_two & is_upper[row]
        return gains, upper, is_upper

    def describe(self, score: int) -> str:
        """Say which bet on a score has won: higher, lower, wider or narrower spread, or distributed differently."""
        best = int(self.wealth[score, :-1].argmax())
        if self.wealth[score, best] < _CLEAR:
            return "distributed differently"
        if best < len(SHIFTS):
            return "higher" if SHIFTS[best] > 0 else "lower"
        return "wider spread" if SPREADS[best - len(SHIFTS)] > 1 else "narrower spread"

    def is_higher(self, score: int) -> bool:
        """Return whether the larger of two values is more frequent in the last rows than in all rows."""
        last, known = self.in_cells[score], self.counts[score].sum()
        return bool(last[1] / last.sum() > self.n_ones[score] / known)
