"""Noise of a series: dependence on earlier rows, swings of the spread, and simulated series that have nothing else."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import lfilter

from fewratio.changes.seasons import fit_waves
from fewratio.changes.segment_costs import PRIOR_ROWS, measure_row
from fewratio.core.shapes import Floats, Numbers

_HIGHEST_ORDER = 3
_BURN_IN = 200
# Coefficients of a series that would grow without bound are shrunk to this root.
_LARGEST_ROOT = 0.99
# Clustering of the spread: the share of a square that is added to the variance of the next row, and the share of that
# which remains in each later row.
_CLUSTERS = [(reaction, lasting) for lasting in (0.98, 0.95, 0.85, 0.7) for reaction in (0.2, 0.1, 0.05)]
# Twice the log likelihood that one and two parameters gain by chance in a twentieth of cases.
CONTRADICTION = 3.84, 5.99
# The price of two parameters by Akaike (1974): what a spread that swings must gain to explain a series instead of a
# change.
AKAIKE_PRICE = 4.0
# Fewer rows, or rows half of which hardly move, have no spread that swings.
_LEAST_SWINGING, _MOVES = 50, 0.01
_LEAST_SPREAD = 0.05
# Parts of a season in which rows count as alike: the shape of rain in dry months is not that of wet ones.
_ALIKE = 10
# Fewer rows hide how they depend on each other.
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
        The same in units of the deviation of their segments.
    lengths : ndarray of shape (d,)
        Minus twice the log likelihood, plus the price of the order.
    tails : ndarray of shape (d,)
        Weight of the tails, 1 for a normal distribution: the factor by which the variance of a variance is larger. 1
        also for two values, whose variance follows from their shares.
    """

    coefficients: Floats
    innovations: Floats
    standardised: Floats
    lengths: Floats
    tails: Floats


class Swings(NamedTuple):
    """How the spread of a column swings, without a change.

    Attributes
    ----------
    saved : float
        How much it raises twice the log likelihood, less the price of its parameters; 0 for a constant spread.
    reaction, persistence : float
        The share of a square that is added to the next variance, and the share of that which remains in each later row.
    season : ndarray of shape (n,) or None
        The spread in each row, if it has a season.
    """

    saved: float = 0.0
    reaction: float = 0.0
    persistence: float = 0.0
    season: Floats | None = None


def fit_autoregressions(residuals: Floats, rounding: Floats, points: Sequence[int] | Numbers) -> Autoregressions:
    """Fit autoregressions of all orders to each column, and choose one.

    Parameters
    ----------
    residuals : ndarray of shape (n, d)
    rounding : ndarray of shape (d,)
        The least variances.
    points : sequence of int, or ndarray of shape (n_points, d)
        The first rows of all segments but the first, for all columns or for each; each segment has its own variance of
        innovations.
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


def fit_swings(standardised: Floats, least: float = CONTRADICTION[1]) -> list[Swings]:
    """Fit how the spread of each column of innovations swings, if that improves the penalised likelihood.

    It may react to the rows before (a GARCH process of Bollerslev 1986, whose mean variance is 1), or have a season.
    A parameter costs as much as one of an autoregression.

    Parameters
    ----------
    standardised : ndarray of shape (n, d)
        Innovations of mean square 1.
    """
    price, found = np.log(len(standardised)), []
    for squares, saved, reaction, persistence in zip(
        (standardised**2).T, *fit_clusters(standardised, least), strict=True
    ):
        tried = [Swings(), Swings(saved, reaction, persistence)]
        if len(squares) >= _LEAST_SWINGING and np.median(squares) > _MOVES:
            for n_parameters, fitted in fit_waves(np.sqrt(squares)[:, None]):
                spread = np.maximum(fitted[:, 0], _LEAST_SPREAD * fitted.mean())
                variances = spread**2 * (squares / spread**2).mean() / squares.mean()
                gains = _gain_rows(squares / squares.mean(), variances)
                # What returns shows in more than one row.
                gain = gains.sum() - gains.max() - n_parameters * price
                tried.append(Swings(float(gain), season=np.sqrt(variances)))
        found.append(max(tried, key=lambda each: each.saved))
    return found


def fit_clusters(standardised: Floats, least: float = CONTRADICTION[1]) -> tuple[Floats, Floats, Floats]:
    """Return what a spread that reacts to earlier rows saves in each column, its reaction and its persistence.

    Among the candidates that the rows do not contradict, the most persistent is returned: its swings are the slowest.
    """
    squares, d = standardised**2, standardised.shape[1]
    moves = np.median(squares, axis=0) > _MOVES
    if len(squares) < _LEAST_SWINGING or not moves.any():
        return np.zeros(d), np.zeros(d), np.zeros(d)
    squares /= np.maximum(squares.mean(0), 1e-300)
    gains = np.array([_gain(squares, _cluster(squares, *each)) for each in _CLUSTERS])
    saved = np.where(moves, gains.max(0) - least, 0.0)
    longest = (gains >= gains.max(0) - CONTRADICTION[0]).argmax(0)
    chosen = np.where(saved > 0, np.array(_CLUSTERS)[longest].T, 0.0)
    return np.maximum(saved, 0.0), chosen[0], chosen[1]


def _gain(squares: Floats, variances: Floats) -> Any:
    return _gain_rows(squares, variances).sum(0)


def _gain_rows(squares: Floats, variances: Floats) -> Floats:
    return squares - np.log(variances) - squares / variances


def _cluster(squares: Floats, reaction: float, persistence: float) -> Floats:
    """Return the variance of each row, given the squares before it."""
    decay = persistence - reaction
    before = np.concatenate([np.ones_like(squares[:1]), squares[:-1]])
    constant = (1 - persistence) / (1 - decay)
    start = np.full((1, *squares.shape[1:]), decay * (1 - constant))
    return np.asarray(lfilter([reaction], [1, -decay], before, axis=0, zi=start)[0] + constant)


class Simulator:
    """Make series that have the noise of one, and no changes.

    Parameters
    ----------
    residuals : ndarray of shape (n, d)
        The series without levels, trends and seasons.
    swings : list of Swings
        One per column, for these rows.
    """

    def __init__(self, residuals: Floats, swings: Sequence[Swings]) -> None:
        self.n_rows, self.scale = len(residuals), np.where(residuals.std(0) > 0, residuals.std(0), 1.0)
        fits = fit_autoregressions(residuals / self.scale, np.zeros(residuals.shape[1]), [])
        coefficients, innovations = fits.coefficients, fits.innovations
        if self.n_rows < SHORT and len(coefficients):
            coefficients, innovations = _lengthen_memory(residuals / self.scale, coefficients)
        innovations = innovations - innovations.mean(0)
        self.swings = list(swings)
        self.is_exchangeable = not coefficients.any() and not any(each.saved for each in swings)
        self.filters = [np.concatenate([[1.0], -_stabilise(column)]) for column in coefficients.T]
        for column, each in zip(innovations.T, swings, strict=True):
            if each.reaction:
                usual = (column**2).mean() or 1.0
                column /= np.sqrt(_cluster(column**2 / usual, each.reaction, each.persistence))
            elif each.season is not None:
                column /= each.season[-len(column) :]
        self.innovations = innovations

    def _shuffle(self, n_innovations: int, total: int, rng: np.random.Generator) -> Numbers:
        """Return which innovation each row gets: where the spread has a season, one of a row with a similar spread.

        All columns of a row are drawn together, so the first column with such a season decides.
        """
        drawn = np.resize(rng.permutation(n_innovations), total)
        season = next((each.season for each in self.swings if each.season is not None), None)
        if season is not None:
            drawn[-n_innovations:] = np.arange(n_innovations)
            for alike in np.array_split(np.argsort(season[-n_innovations:], kind="stable"), _ALIKE):
                drawn[total - n_innovations + alike] = rng.permutation(alike)
        return drawn

    def draw(self, n_series: int, rng: np.random.Generator) -> Floats:
        """Return noise of shape (n, d, n_series)."""
        n, (n_innovations, d) = self.n_rows, self.innovations.shape
        total = n + _BURN_IN
        drawn = np.column_stack([self._shuffle(n_innovations, total, rng) for _ in range(n_series)])
        result = np.empty((n, d, n_series))
        for column in range(d):
            noise, each = self.innovations[drawn, column], self.swings[column]
            if each.reaction:
                noise = _swing(noise, each.reaction, each.persistence)
            elif each.season is not None:
                noise[_BURN_IN:] *= each.season[:, None]
            result[:, column] = lfilter([1.0], self.filters[column], noise, axis=0)[_BURN_IN:]
        return result * self.scale[:, None]


def _lengthen_memory(residuals: Floats, coefficients: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients of a short series, corrected for the bias of few rows, and its innovations.

    In so few rows no criterion finds the first coefficient, and its estimate is too small by (1 + 3 c) / n
    (Kendall 1954).
    """
    before, after = residuals[:-1], residuals[1:]
    found = (before * after).sum(0) / np.maximum((before**2).sum(0), 1e-300)
    found = np.clip(found + (1 + 3 * found) / len(residuals), 0, _LARGEST_ROOT)
    longer = np.vstack([found, np.zeros_like(coefficients[1:])])
    return longer, after - found * before


def _swing(noise: Floats, reaction: float, persistence: float) -> Floats:
    """Let the spread of noise react to the rows before."""
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
