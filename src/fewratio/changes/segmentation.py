"""Cut a series into segments: a penalised search that takes trends, seasons and dependence for what they are.

A segment has a level, perhaps a slope, and a spread of its own in each column. Dynamic programming over a falling
penalty proposes segmentations, and smooth trends without changes stand beside them. Chosen is the one with the best
penalised likelihood of its residuals, which are an autoregression: what dependence explains is not a change.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from fewratio.changes.seasons import MOST_WAVES, find_season, propose_seasons
from fewratio.changes.segment_costs import (
    MOST_CHANGES,
    POSITIONS,
    PRIOR_ROWS,
    Cost,
    estimate_noise,
    find_cheapest,
    refine_points,
    rounding_variance,
    running_median,
    tabulate_costs,
)
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.units import clip_far
from fewratio.progress import OnStep, progress_bar

# The price of a parameter, in units of log n: level and spread together cost 3 log n, as in the modified BIC of Zhang
# and Siegmund (2007). It, the orders and the form of the model were chosen on the 15 series of the development half
# (benchmarks/answers.py --only annotated), without a record of the search. On the test half the model does worse.
_PRICE = 1.5
_HIGHEST_ORDER, _HIGHEST_DEGREE = 3, 3
# Values further than so many deviations from the running median are moved there.
FAR = 5.0
# The penalties that are tried, as multiples; they are tried twice with each degree if there may be a season.
_FACTORS = 2.0 ** np.arange(9, -2.5, -0.5)
_STEPS = 4 * len(_FACTORS) + 2 * MOST_WAVES
# Rows of a series.
LEAST_ROWS = 14


class Segmentation(NamedTuple):
    """Segments of a series.

    Attributes
    ----------
    points : list of int
        Numbers of the first rows of all segments but the first.
    gains : list of float
        By how much each point raises twice the log likelihood of the two segments beside it.
    background : ndarray of shape (n, d)
        What is not a change: the season, and the trend that all segments share.
    residuals : ndarray of shape (n, d)
        The rows less the background and the segments' levels and slopes.
    """

    points: list[int]
    gains: list[float]
    background: Floats
    residuals: Floats


class Autoregression(NamedTuple):
    """An autoregression of a column of residuals, of the order with the best penalised likelihood.

    Attributes
    ----------
    coefficients : ndarray of shape (order,)
        Of the preceding values, the latest first.
    innovations : ndarray
        What they leave over, without the first rows.
    length : float
        Minus twice the log likelihood, and the price of the order.
    tails : float
        By how much heavier the tails are than those of a normal distribution, in which it is 1: as factor of the
        variance of a variance.
    """

    coefficients: Floats
    innovations: Floats
    length: float
    tails: float


class _Proposal(NamedTuple):
    length: float
    points: list[int]
    degree: int


def segment(rows: Floats) -> Segmentation:
    """Find the changes of level, slope and spread of a series.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        In the order of time, without gaps.
    """
    # Isolated values must not set the unit.
    spread = _tame(rows).std(0)
    # The spread of equal numbers may be a rounding error.
    is_used = (np.ptp(rows, axis=0) > 0) & (spread > 0)
    scale = np.where(is_used, spread, 1.0)
    middle = np.array([np.median(column) for column in rows.T])
    # In place from here on: there may be many rows.
    clean = _in_units(rows, middle, scale)
    background = find_season(clean)
    # That of the rows as they are: without a season, few values become many.
    rounding = rounding_variance(_tame(clean)[:, is_used])
    clean -= background
    with progress_bar(_STEPS, "segmenting") as report:
        best, smooth = _find_best(_tame(clean)[:, is_used], rounding, report)
    if smooth is not None:
        background[:, is_used] += smooth
        del smooth, clean
        clean = _in_units(rows, middle, scale)
        clean -= background
    tamed = _tame(clean)
    gains = _compute_gains(tamed[:, is_used], rounding, best.points, best.degree)
    # Fitted to tamed values: a far one must not move the level of its segment.
    residuals = subtract_segments(tamed, best.points, best.degree)
    residuals += clean - tamed
    if not best.points:
        clean -= residuals
        background += clean
    elif best.degree:
        # The slope that segments share; steps between them belong to the changes.
        levelled, time = (subtract_segments(each, best.points, 0) for each in (tamed, _times(len(rows))[:, None]))
        levelled *= time
        slope = levelled.sum(0) / (time**2).sum()
        background += _times(len(rows))[:, None] * slope
    background *= scale
    residuals *= scale
    return Segmentation(best.points, gains, background, residuals)


def _in_units(rows: Floats, middle: Floats, scale: Floats) -> Floats:
    result = rows - middle
    result /= scale
    return result


def subtract_segments(series: Floats, points: Sequence[int], degree: int) -> Floats:
    """Return what polynomials of a degree leave over, one in each segment of each column."""
    result = np.empty_like(series)
    for start, stop in zip([0, *points], [*points, len(series)], strict=True):
        basis, _ = np.linalg.qr(np.polynomial.legendre.legvander(_times(stop - start), min(degree, stop - start - 1)))
        np.matmul(basis, basis.T @ series[start:stop], out=result[start:stop])
        np.subtract(series[start:stop], result[start:stop], out=result[start:stop])
    return result


def fit_autoregression(residuals: Floats, rounding: float, groups: Numbers) -> Autoregression:
    """Fit autoregressions of all orders to a column, and choose one.

    Parameters
    ----------
    residuals : ndarray of shape (n,)
    rounding : float
        Added to all variances.
    groups : ndarray of shape (n,)
        The number of each row's segment; each has its own variance of innovations.
    """
    n, highest = len(residuals), min(_HIGHEST_ORDER, len(residuals) // 10)
    values, groups = residuals[highest:], groups[highest:]
    before = np.column_stack(
        [residuals[highest - lag : n - lag] for lag in range(1, highest + 1)] or [values[:, None][:, :0]]
    )
    sizes = np.bincount(groups)
    moments, products = before.T @ before, before.T @ values
    found = []
    for order in range(highest + 1):
        coefficients = np.asarray(np.linalg.lstsq(moments[:order, :order], products[:order])[0], dtype=np.float64)
        innovations = values - before[:, :order] @ coefficients
        sums = np.bincount(groups, innovations**2, len(sizes))
        common = sums.sum() / len(values) + 1e-12
        variances = (sums + PRIOR_ROWS * common) / (sizes + PRIOR_ROWS) + rounding
        squares = innovations**2 / variances[groups]
        # What the variances have of rounding does not vary.
        tails = squares.var() / 2 if common > 1e-12 else 1.0
        length = order * np.log(n) + (sizes * np.log(variances)).sum()
        found.append(Autoregression(coefficients, innovations, float(length), max(1.0, float(tails))))
    return min(found, key=lambda each: each.length)


def _find_best(series: Floats, rounding: Floats, report: OnStep) -> tuple[_Proposal, Floats | None]:
    """Return the best description of a series, and the smooth season without which it is described, if any."""
    steps = count(1)
    best = min(_propose(series, rounding, lambda: report(next(steps), None)))
    chosen: tuple[float, float, Floats] | None = None
    for n_parameters, season, points in propose_seasons(series):
        price = _PRICE * np.log(len(series)) * n_parameters
        with_it, without = (min(_describe_as(each, rounding, points)).length for each in (series - season, series))
        if with_it + price < min(without, np.inf if chosen is None else chosen[0]):
            chosen = with_it + price, price, season
        report(next(steps), None)
    # The search takes long: it is made again at most once.
    if chosen is not None:
        _, price, season = chosen
        other = min(_propose(series - season, rounding, lambda: report(next(steps), None)))
        if other.length + price < best.length:
            return other._replace(length=other.length + price), season
    return best, None


def _propose(series: Floats, rounding: Floats, report: Callable[[], None]) -> Iterator[_Proposal]:
    """Describe a series without changes but a smooth trend, and with changes of level or of level and slope."""
    n, d = series.shape
    if n < LEAST_ROWS or not d:
        yield _Proposal(0.0, [], 0)
        return
    yield from _describe_as(series, rounding, [])
    edges, common = np.unique(np.linspace(0, n, min(n, POSITIONS) + 1).astype(np.intp)), estimate_noise(series)
    for degree in (0, 1):
        table = tabulate_costs(Cost(series, common, degree, rounding, edges), edges, least=3 + 2 * degree)
        seen: set[tuple[int, ...]] = {()}
        for factor in _FACTORS:
            places = find_cheapest(table, factor * change_penalty(n, degree, np.ones(d)))
            if len(places) > MOST_CHANGES * np.sqrt(n):
                break
            if tuple(places) not in seen:
                seen.add(tuple(places))
                points, reach = edges[places], n // POSITIONS
                nearby = np.unique([0, *(points[:, None] + np.arange(-reach, reach + 1)).flat, n])
                cost = Cost(series, common, degree, rounding, nearby[(nearby >= 0) & (nearby <= n)])
                yield _describe(series, rounding, refine_points(cost, points.tolist(), reach), degree)
            report()


def _describe_as(series: Floats, rounding: Floats, points: list[int]) -> list[_Proposal]:
    """Describe a series with given changes, or without any but a smooth trend."""
    degrees = range(2 if points else _HIGHEST_DEGREE + 1)
    return [_describe(series, rounding, points, degree) for degree in degrees]


def _describe(series: Floats, rounding: Floats, points: list[int], degree: int) -> _Proposal:
    """Return how long a description of the series by segments is: smaller is better."""
    groups = np.zeros(len(series), dtype=np.intp)
    groups[points] = 1
    residuals, groups = subtract_segments(series, points, degree), groups.cumsum()
    fits = [fit_autoregression(*column, groups) for column in zip(residuals.T, rounding, strict=True)]
    penalty = change_penalty(len(series), degree, np.array([fit.tails for fit in fits])) * len(points)
    trend = _PRICE * np.log(len(series)) * degree * len(fits)
    return _Proposal(sum(fit.length for fit in fits) + penalty + trend, points, degree)


def change_penalty(n: int, degree: int, tails: Floats) -> float:
    """Return the price of a change in columns with tails of some weight.

    In one column each parameter has its price, that of the spread by its tails. Further columns add what noise in them
    explains: of a chi-squared variable, the mean and the deviation that goes with the price (Laurent and Massart 2000).
    """
    parameters = 1 + degree + tails
    price = _PRICE * np.log(n) * np.median(parameters)
    more = parameters.sum() - np.median(parameters)
    return float(price + more + 2 * np.sqrt(more * price / 2))


def _compute_gains(series: Floats, rounding: Floats, points: list[int], degree: int) -> list[float]:
    """Return by how much each change, but for its penalty, shortens the description of the two segments beside it."""
    gains = []
    for start, point, stop in zip([0, *points], points, [*points[1:], len(series)], strict=False):
        rows = series[start:stop]
        groups = (np.arange(stop - start) >= point - start).astype(np.intp)
        one, two = (
            sum(fit_autoregression(*column, group).length for column in zip(left.T, rounding, strict=True))
            for left, group in (
                (subtract_segments(rows, [], degree), np.zeros_like(groups)),
                (subtract_segments(rows, [point - start], degree), groups),
            )
        )
        gains.append(float(one - two))
    return gains


def _tame(series: Floats) -> Floats:
    """Clip isolated values that are far from their neighbours."""
    result = np.empty_like(series)
    for place, column in enumerate(series.T):
        middle = running_median(column)
        result[:, place] = middle + clip_far(column - middle, FAR)
    return result


def _times(n: int) -> Floats:
    return np.linspace(-1, 1, n)
