"""Seasons of a series: what returns after a period is not a change."""

from collections.abc import Iterator

import numpy as np

from fewratio.core.shapes import Floats
from fewratio.core.units import clip_far

_LONGEST_PERIOD = 400
# Fewest periods and most waves of a smooth season.
_LEAST_PERIODS, _MOST_WAVES = 2, 6
# Frequencies tried per frequency of the Fourier transform.
_FINER = 8
# A step beside a season has at least this share of the rows on either side.
_LEAST_SHARE = 0.05


def resize_season(rows: Floats, season: Floats) -> tuple[int, Floats]:
    """Return the row at which the size of a season changes most, and the season with the sizes on both sides.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The rows, including the season.
    season : ndarray of shape (n, d)
    """
    margin = max(2, int(_LEAST_SHARE * len(rows)))
    products, squares = (rows * season).cumsum(0), (season**2).cumsum(0)
    before = products / np.maximum(squares, 1e-300)
    after = (products[-1] - products) / np.maximum(squares[-1] - squares, 1e-300)
    explained = (before * products + after * (products[-1] - products)).sum(1)
    point = margin + int(explained[margin - 1 : len(rows) - margin].argmax())
    return point, season * np.where(np.arange(len(rows))[:, None] < point, before[point - 1], after[point - 1])


def average_phases(series: Floats, period: int) -> Floats:
    """Return the season of each column by phase: medians of the rows less a moving mean."""
    kernel = np.ones(period + 1 - period % 2)
    # If the period is even, the first and the last row count half.
    kernel[[0, -1]] /= 2 - period % 2
    half, season = len(kernel) // 2, np.empty((period, series.shape[1]))
    for j, column in enumerate(series.T):
        detrended = np.full(len(column), np.nan)
        detrended[half : len(column) - half] = (
            column[half : len(column) - half] - np.convolve(column, kernel, "valid") / period
        )
        middles = np.array([np.nanmedian(detrended[phase::period]) for phase in range(period)])
        season[:, j] = middles - middles.mean()
    return season


def find_period(series: Floats) -> int:
    """Return the number of rows after which the steps between rows repeat, chosen by BIC; 0 if they do not."""
    steps = np.diff(series, axis=0)
    steps -= [np.median(column) for column in steps.T]
    steps = clip_far(steps, 4.0)
    is_used = steps.any(0)
    steps -= steps.mean(0)
    steps = steps if is_used.all() else steps[:, is_used]
    total, n, best, chosen = np.array([column @ column for column in steps.T]), len(steps), 0.0, 0
    for period in range(2, min(n // 4, _LONGEST_PERIOD) + 1):
        phases = np.arange(n) % period
        sizes = np.bincount(phases)
        explained = np.array([(np.bincount(phases, column) ** 2 / sizes).sum() for column in steps.T])
        left = np.maximum(1 - explained / total, 1e-9)
        length = float((n * np.log(left) + (period - 1) * np.log(n)).sum())
        if length < best - 1e-9:
            best, chosen = length, period
    return chosen


def propose_seasons(series: Floats) -> Iterator[tuple[int, Floats, list[int]]]:
    """Yield seasons of few sine waves: those too long or too noisy to be seen in the steps between rows.

    A step would bend the waves and hide their frequency, so they are fitted with and without one. There are at least
    two periods of eight rows or more.

    Yields
    ------
    n_parameters : int
        Per column, besides the frequency.
    season : ndarray of shape (n, d)
    points : list of int
        The step, if there is one.
    """
    n, d = series.shape
    if n <= _FINER * _LEAST_PERIODS or not d:
        return
    step, points, frequency = np.zeros_like(series), list[int](), 0.0
    for with_step in (False, True):
        if with_step:
            step, points = _fit_step(series, _make_waves(n, find_frequency(series), 3))
        for n_waves in range(1, _MOST_WAVES + 1):
            frequency = find_frequency(series - step, n_waves)
            yield 2 * n_waves, _fit_waves(series - step, frequency, n_waves), points


def _fit_waves(series: Floats, frequency: float, n_waves: int) -> Floats:
    """Fit waves together with a line, and return them without it."""
    basis = _make_waves(len(series), frequency, n_waves)
    coefficients = np.linalg.lstsq(basis, series)[0]
    return basis[:, : 2 * n_waves] @ coefficients[: 2 * n_waves]


def _make_waves(n: int, frequency: float, n_waves: int) -> Floats:
    phases = 2 * np.pi * frequency * np.arange(n)[:, None] * np.arange(1, n_waves + 1)
    return np.column_stack([np.sin(phases), np.cos(phases), np.ones(n), np.linspace(-1, 1, n)])


def find_frequency(series: Floats, n_waves: int = 1) -> float:
    """Return the frequency about a line, in periods per row, whose waves are strongest together."""
    n = len(series)
    line = np.column_stack([np.ones(n), np.linspace(-1, 1, n)])
    level = series - line @ np.linalg.lstsq(line, series)[0]
    # Column by column: each transform is many times as large as its column.
    power = np.array(sum(np.abs(np.fft.rfft(column, _FINER * n)) ** 2 for column in level.T))
    lowest = np.arange(_FINER * _LEAST_PERIODS, len(power) // n_waves)
    return float(lowest[sum(power[wave * lowest] for wave in range(1, n_waves + 1)).argmax()]) / (_FINER * n)


def _fit_step(series: Floats, basis: Floats) -> tuple[Floats, list[int]]:
    """Return the step that best explains the series beside a basis, both fitted together."""
    n, margin = len(series), max(1, int(_LEAST_SHARE * len(series)))
    orthogonal, _ = np.linalg.qr(basis)
    residuals = series - orthogonal @ (orthogonal.T @ series)
    # For a step at each row: its product with the residuals, and the squared norm of its part outside the basis.
    products, shares = (each[::-1].cumsum(0)[::-1] for each in (residuals, orthogonal))
    squares = np.maximum(np.arange(n, 0, -1) - (shares**2).sum(1), 1e-9)
    point = margin + int(((products**2).sum(1) / squares)[margin : n - margin].argmax())
    height = products[point] / squares[point]
    return (np.arange(n) >= point)[:, None] * height, [point]
