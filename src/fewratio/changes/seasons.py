"""Seasons of a series: patterns that repeat after a period are not changes."""

from collections.abc import Iterator

import numpy as np

from fewratio.core.shapes import Floats

# The fewest periods and most waves of a season; and the waves that are also fitted together with a step.
_LEAST_PERIODS, _MOST_WAVES, _BESIDE_STEP = 2, 6, 3
# The fewest rows for a period, and how much more similar values must be after a period than after half of it.
_LEAST_ROWS, _ALIKE = 40, 0.3
# The fewest rows of a season, such as two years of months, and the fewest rows per wave.
_LEAST_MONTHS, _FEWEST = 24, 8
# Frequencies tried per frequency of the Fourier transform.
_FINER = 8
# A step beside a season has at least this share of the rows on either side.
_LEAST_SHARE = 0.05


def resize_season(rows: Floats, season: Floats) -> tuple[int, Floats, Floats]:
    """Return the row at which the amplitude of a season changes most, and the season with one and with two amplitudes.

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
    return (
        point,
        season * (products[-1] / np.maximum(squares[-1], 1e-300)),
        season * np.where(np.arange(len(rows))[:, None] < point, before[point - 1], after[point - 1]),
    )


def average_phases(series: Floats, period: int) -> Floats:
    """Return the season of each column by phase: the medians of the rows after subtracting a moving mean."""
    kernel = np.ones(period + 1 - period % 2)
    # If the period is even, the first and the last row have half the weight.
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


def find_period(series: Floats) -> float:
    """Return the period of a season in rows, after which values are similar, but not after half of it; 0 if none.

    Parameters
    ----------
    series : ndarray of shape (n, d)
    """
    level = series - series.mean(0)
    if len(series) < _LEAST_ROWS or not level.any():
        return 0.0
    period = 1 / find_frequency(level)

    def compare_at(lag: int) -> float:
        return float(np.vdot(level[lag:], level[:-lag]) / np.vdot(level, level))

    whole, half = compare_at(round(period)), compare_at(round(period / 2))
    return period if period <= len(series) / 4 and whole > _ALIKE and whole - half > _ALIKE else 0.0


def propose_seasons(series: Floats) -> Iterator[tuple[int, Floats, list[int]]]:
    """Yield seasons of one to six sine waves and at least two periods; six waves fit any pattern of twelve months.

    A step would distort the waves and hide their frequency, so they are fitted with and without one.

    Yields
    ------
    n_parameters : int
        Number of parameters per column, without the frequency.
    season : ndarray of shape (n, d)
    points : list of int
        The step, if there is one.
    """
    n, d = series.shape
    if n < _LEAST_MONTHS or not d:
        return
    step, point = _fit_step(series, _make_waves(n, find_frequency(series), _BESIDE_STEP))
    for left, points in ((series, []), (series - step, [point])):
        for n_waves in range(1, min(_MOST_WAVES, n // _FEWEST) + 1):
            yield 2 * n_waves, _fit_waves(left, find_frequency(left, n_waves), n_waves), points


def _fit_waves(series: Floats, frequency: float, n_waves: int) -> Floats:
    """Fit waves and a line together; return the waves."""
    basis = _make_waves(len(series), frequency, n_waves)
    coefficients = np.linalg.lstsq(basis, series)[0]
    return basis[:, : 2 * n_waves] @ coefficients[: 2 * n_waves]


def _make_waves(n: int, frequency: float, n_waves: int) -> Floats:
    phases = 2 * np.pi * frequency * np.arange(n)[:, None] * np.arange(1, n_waves + 1)
    return np.column_stack([np.sin(phases), np.cos(phases), np.ones(n), np.linspace(-1, 1, n)])


def find_frequency(series: Floats, n_waves: int = 1) -> float:
    """Return the frequency, in periods per row, with the strongest waves in all columns after removing a line."""
    n = len(series)
    line = np.column_stack([np.ones(n), np.linspace(-1, 1, n)])
    level = series - line @ np.linalg.lstsq(line, series)[0]
    # Column by column, since each transform is many times as large as its column.
    power = np.zeros(_FINER * n // 2 + 1)
    for column in level.T:
        power += np.abs(np.fft.rfft(column, _FINER * n)) ** 2
    lowest = np.arange(_FINER * _LEAST_PERIODS, len(power) // n_waves)
    together = power[np.outer(lowest, np.arange(1, n_waves + 1))].sum(1)
    return float(lowest[together.argmax()]) / (_FINER * n)


def _fit_step(series: Floats, basis: Floats) -> tuple[Floats, int]:
    """Return the step that best explains the series, fitted together with a basis."""
    n, margin = len(series), max(1, int(_LEAST_SHARE * len(series)))
    orthogonal, _ = np.linalg.qr(basis)
    residuals = series - orthogonal @ (orthogonal.T @ series)
    # For a step at each row: its product with the residuals, and the squared norm of its part outside the basis.
    products, shares = (each[::-1].cumsum(0)[::-1] for each in (residuals, orthogonal))
    squares = np.maximum(np.arange(n, 0, -1) - (shares**2).sum(1), 1e-9)
    point = margin + int(((products**2).sum(1) / squares)[margin : n - margin].argmax())
    height = products[point] / squares[point]
    return (np.arange(n) >= point)[:, None] * height, point
