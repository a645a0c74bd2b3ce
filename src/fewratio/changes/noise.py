"""Noise of a series: dependence on earlier rows, swings of the spread, and simulated series with only this noise."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import lfilter

from fewratio.changes.segment_costs import PRIOR_ROWS, measure_row
from fewratio.core.shapes import Floats, Numbers

_HIGHEST_ORDER = 3
_BURN_IN = 200
# Coefficients of a series that would grow without bound are shrunk to this root.
_LARGEST_ROOT = 0.99
# Clustering of the spread: the share of a square that is added to the variance of the next row, and the share of this
# increase that remains in each later row.
_CLUSTERS = [(reaction, lasting) for lasting in (0.98, 0.95, 0.85, 0.7) for reaction in (0.2, 0.1, 0.05)]
# Twice the log likelihood that one and two parameters gain by chance in a twentieth of cases.
CONTRADICTION = 3.84, 5.99
# The price of two parameters by Akaike (1974), which a swinging spread must gain to be preferred to a change.
AKAIKE_PRICE = 4.0
# With fewer rows, or if half of the rows hardly move, the spread is taken as constant.
_LEAST_SWINGING, _MOVES = 50, 0.01
# With fewer rows, their dependence cannot be estimated well.
SHORT = 50


class Autoregressions(NamedTuple):
    """An autoregression of each column, of the order with the best penalised likelihood.

    Attributes
    ----------
    coefficients : ndarray of shape (highest order, d)
        Coefficients of the preceding values, the latest first.
    innovations : ndarray of shape (n - highest order, d)
        The residuals.
    standardised : ndarray of the same shape
        The innovations in units of the deviation of their segments.
    lengths : ndarray of shape (d,)
        Minus twice the log likelihood, plus the price of the order.
    tails : ndarray of shape (d,)
        Weight of the tails: how many times larger the variance of a variance is than for a normal distribution. 1 for
        columns of two values, whose variance follows from their shares.
    """

    coefficients: Floats
    innovations: Floats
    standardised: Floats
    lengths: Floats
    tails: Floats


class Swings(NamedTuple):
    """How the spread of each column swings, apart from changes.

    Attributes
    ----------
    saved : ndarray of shape (d,)
        How much the swings raise twice the log likelihood, less the price of their parameters; 0 for a constant spread.
    reaction, persistence : ndarray of shape (d,)
        The share of a square that is added to the next variance, and the share of this increase that remains in each
        later row.
    """

    saved: Floats
    reaction: Floats
    persistence: Floats


def fit_autoregressions(residuals: Floats, rounding: Floats, points: Sequence[int] | Numbers) -> Autoregressions:
    """Fit autoregressions of all orders to each column, and choose one.

    Parameters
    ----------
    residuals : ndarray of shape (n, d)
    rounding : ndarray of shape (d,)
        The smallest possible variances.
    points : sequence of int, or ndarray of shape (n_points, d)
        The first rows of all segments but the first, for all columns or for each column. The variance of the
        innovations differs between segments.
    """
    n, d = residuals.shape
    highest = min(_HIGHEST_ORDER, n // 10)
    values = residuals[highest:]
    lagged = np.stack([residuals[highest - lag : n - lag] for lag in range(1, highest + 1)] or [values])
    inner = np.asarray(points, dtype=np.intp).reshape(len(points), -1 if len(points) else 1) * np.ones(d, dtype=np.intp)
    edges = np.maximum(np.vstack([np.zeros((1, d), dtype=np.intp), inner, np.full((1, d), n)]) - highest, 0)
    sizes = np.diff(edges, axis=0)
    moments, products = np.einsum("inm,jnm->mij", lagged, lagged), np.einsum("inm,nm->mi", lagged, values)
    best: list[Floats] = []
    totals = np.zeros((len(values) + 1, d))
    for order in range(highest + 1):
        inverse = np.linalg.pinv(moments[:, :order, :order], rcond=1e-10, hermitian=True)
        coefficients = np.zeros((highest, d))
        coefficients[:order] = np.einsum("mij,mj->im", inverse, products[:, :order])
        innovations = values - np.einsum("im,inm->nm", coefficients[:order], lagged[:order])
        squares = innovations**2
        totals[1:] = squares.cumsum(0)
        sums = np.diff(totals[edges, np.arange(d)], axis=0)
        common = squares.mean(0) + 1e-12
        variances = np.maximum((sums + PRIOR_ROWS * common) / (sizes + PRIOR_ROWS), rounding)
        lengths = order * np.log(n) + (sizes * measure_row(variances, rounding)).sum(0)
        found = [coefficients, innovations, variances, common, lengths]
        if not best:
            best = found
        is_better = lengths < best[-1]
        for kept, new in zip(best, found, strict=True):
            kept[..., is_better] = new[..., is_better]
    coefficients, innovations, variances, common, lengths = best
    rows = np.arange(len(values))
    segment = (rows[:, None, None] >= edges[1:-1]).sum(1)
    standardised = innovations / np.sqrt(np.take_along_axis(variances, segment, 0))
    # The part of the variances that comes from rounding does not vary.
    tails = np.where(common > 1e-12, (standardised**2).var(0) / 2, 1.0)
    return Autoregressions(
        coefficients, innovations, standardised, lengths, np.where(rounding < 0, 1.0, np.maximum(1.0, tails))
    )


def fit_swings(standardised: Floats, least: float = CONTRADICTION[1]) -> Swings:
    """Fit how the spread of each column reacts to earlier rows, as in a GARCH process (Bollerslev 1986).

    Among the candidates that the rows do not contradict, the most persistent one is returned, with the slowest swings.

    Parameters
    ----------
    standardised : ndarray of shape (n, d)
        Innovations of mean square 1.
    least : float
        The smallest gain in twice the log likelihood for swings to be returned.
    """
    squares, nothing = standardised**2, np.zeros(standardised.shape[1])
    moves = np.median(squares, axis=0) > _MOVES
    if len(squares) < _LEAST_SWINGING or not moves.any():
        return Swings(nothing, nothing, nothing)
    squares /= np.maximum(squares.mean(0), 1e-300)
    gains = np.array([_gain(squares, _cluster(squares, *each)) for each in _CLUSTERS])
    saved = np.where(moves, np.maximum(gains.max(0) - least, 0.0), 0.0)
    longest = (gains >= gains.max(0) - CONTRADICTION[0]).argmax(0)
    return Swings(saved, *np.where(saved > 0, np.array(_CLUSTERS)[longest].T, 0.0))


def _gain(squares: Floats, variances: Floats) -> Any:
    return (squares - np.log(variances) - squares / variances).sum(0)


def _cluster(squares: Floats, reaction: float, persistence: float) -> Floats:
    """Return the variance of each row, given the squares before it."""
    decay = persistence - reaction
    before = np.concatenate([np.ones_like(squares[:1]), squares[:-1]])
    constant = (1 - persistence) / (1 - decay)
    start = np.full((1, *squares.shape[1:]), decay * (1 - constant))
    return np.asarray(lfilter([reaction], [1, -decay], before, axis=0, zi=start)[0] + constant)


class Simulator:
    """Simulate series with the noise of a given series, but without changes.

    Parameters
    ----------
    residuals : ndarray of shape (n, d)
        The series without levels, trends and seasons.
    swings : Swings
    """

    def __init__(self, residuals: Floats, swings: Swings) -> None:
        self.n_rows, self.scale = len(residuals), np.where(residuals.std(0) > 0, residuals.std(0), 1.0)
        fits = fit_autoregressions(residuals / self.scale, np.zeros(residuals.shape[1]), [])
        coefficients, innovations = fits.coefficients, fits.innovations
        if self.n_rows < SHORT and len(coefficients):
            coefficients, innovations = _lengthen_memory(residuals / self.scale, coefficients)
        innovations = innovations - innovations.mean(0)
        self.swings = swings
        self.is_exchangeable = not coefficients.any() and not swings.saved.any()
        self.filters = [np.concatenate([[1.0], -_stabilise(column)]) for column in coefficients.T]
        for column, _, reaction, persistence in zip(innovations.T, *swings, strict=True):
            if reaction:
                usual = (column**2).mean() or 1.0
                column /= np.sqrt(_cluster(column**2 / usual, reaction, persistence))
        self.innovations = innovations

    def draw(self, n_series: int, rng: np.random.Generator) -> Floats:
        """Return noise of shape (n, d, n_series)."""
        n, (n_innovations, d) = self.n_rows, self.innovations.shape
        total = n + _BURN_IN
        # All columns of a row are drawn together.
        drawn = np.column_stack([np.resize(rng.permutation(n_innovations), total) for _ in range(n_series)])
        result = np.empty((n, d, n_series))
        for column in range(d):
            noise, reaction = self.innovations[drawn, column], self.swings.reaction[column]
            if reaction:
                noise = _swing(noise, reaction, self.swings.persistence[column])
            result[:, column] = lfilter([1.0], self.filters[column], noise, axis=0)[_BURN_IN:]
        return result * self.scale[:, None]


def _lengthen_memory(residuals: Floats, coefficients: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients of a short series, corrected for bias, and its innovations.

    With so few rows no criterion selects the first coefficient, and its estimate is too small by (1 + 3 c) / n
    (Kendall 1954).
    """
    before, after = residuals[:-1], residuals[1:]
    found = (before * after).sum(0) / np.maximum((before**2).sum(0), 1e-300)
    found = np.clip(found + (1 + 3 * found) / len(residuals), 0, _LARGEST_ROOT)
    longer = np.vstack([found, np.zeros_like(coefficients[1:])])
    return longer, after - found * before


def _swing(noise: Floats, reaction: float, persistence: float) -> Floats:
    """Let the spread of noise react to earlier rows."""
    usual = (noise**2).mean() or 1.0
    variance, result = np.ones(noise.shape[1]), np.empty_like(noise)
    for row, values in enumerate(noise):
        result[row] = values * np.sqrt(variance)
        variance = 1 - persistence + reaction * result[row] ** 2 / usual + (persistence - reaction) * variance
    return result


def _stabilise(coefficients: Floats) -> Floats:
    """Shrink the coefficients of an autoregression that grows without bound."""
    roots = np.abs(np.roots([1.0, *-coefficients]))
    shrinkage = min(1.0, _LARGEST_ROOT / roots.max()) if roots.any() else 1.0
    return coefficients * shrinkage ** np.arange(1, len(coefficients) + 1)
