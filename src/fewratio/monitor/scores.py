"""Binned scores of rows; scores and bins are fixed before the rows to rank are read."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from fewratio.core.shapes import Floats

# The most values of a sample to use as edges, points to interpolate between few values, and edges beyond the sample.
_MOST_VALUES, _POINTS = 80, 40
_BEYOND = np.array([0.05, 0.1, 0.2, 0.4, 1.0, 3.0, 10.0, 100.0])
# Scores are of the order of 1, and rounding errors of sums of products are far below the last of these decimals.
_DECIMALS = 6
N_EDGES = _MOST_VALUES + _POINTS + 2 * len(_BEYOND)
N_BINS = 2 * N_EDGES + 1


def make_edges(values: Floats) -> Floats:
    """Make bin edges from a sample; each edge is also a bin, so that repeated values are kept apart from others."""
    known = np.unique(values[np.isfinite(values)])
    if not len(known):
        known = np.zeros(1)
    if len(known) > _MOST_VALUES:
        known = np.unique(np.quantile(values, np.linspace(0, 1, _MOST_VALUES), method="nearest"))
    between = np.interp(np.linspace(0, len(known) - 1, _POINTS), np.arange(len(known)), known)
    width = _BEYOND * ((known[-1] - known[0]) or abs(known[0]) or 1.0)
    edges = np.unique(np.concatenate([known[0] - width, known, between, known[-1] + width]))
    return np.pad(edges, (0, N_EDGES - len(edges)), constant_values=np.finfo(np.float64).max)


def find_bins(edges: Floats, values: Floats) -> NDArray[np.intp]:
    """Return the bins of values, of shape (n_rows, n_scores), given the edges of each score; -1 for NaN."""
    # Complex numbers sort by the real part (the number of the score), then by the imaginary part, so one search
    # suffices for all scores.
    scores = np.arange(len(edges))
    limits, places = np.empty(edges.shape, np.complex128), np.empty(values.shape, np.complex128)
    limits.real, limits.imag = scores[:, None], edges
    places.real, places.imag = scores, values
    bins = limits.ravel().searchsorted(places) + limits.ravel().searchsorted(places, "right")
    return np.where(np.isnan(values), -1, bins - 2 * edges.shape[1] * scores)


def round_scores(scores: Floats) -> Floats:
    """Round scores, so that the score of a row does not depend on other rows, and equal rows are tied."""
    with np.errstate(over="ignore"):
        return np.round(scores, _DECIMALS).astype(np.float32).astype(np.float64)


def count_bins(edges: Floats, values: Floats) -> NDArray[np.int64]:
    """Count the values in each bin of each score."""
    counts = np.empty((len(edges), N_BINS), dtype=np.int64)
    for place, column in enumerate(values.T):
        known = np.sort(column[~np.isnan(column)])
        ends = np.stack([known.searchsorted(edges[place]), known.searchsorted(edges[place], "right")], axis=1)
        counts[place] = np.diff(ends.ravel(), prepend=0, append=len(known))
    return counts


def sum_products(rows: Floats) -> Floats:
    """Sum the products of all columns over the rows, after adding a first column of ones."""
    extended = np.column_stack([np.ones(len(rows)), rows])
    return extended.T @ extended


def whiten(products: Floats) -> tuple[Floats, Floats]:
    """Return the mean of rows, and the matrix (to multiply from the right) that makes centred columns uncorrelated.

    The covariance is shrunk towards the identity, which counts as many rows as there are columns.
    """
    n, d, mean = products[0, 0], len(products) - 1, products[0, 1:] / products[0, 0]
    covariance = (products[1:, 1:] - n * np.outer(mean, mean) + d * np.eye(d)) / (n + d)
    return mean, solve_triangular(cholesky(covariance, lower=True), np.eye(d), lower=True).T


class Quadratic(NamedTuple):
    """The score x'Qx + b'x."""

    square: Floats
    linear: Floats

    def __call__(self, rows: Floats) -> Floats:
        """Score rows."""
        return ((rows @ self.square) * rows).sum(1) + rows @ self.linear


def measure_distance(known: Floats) -> Quadratic:
    """Return the squared Mahalanobis distance, up to a constant, from rows with these sums of products."""
    mean, white = whiten(known)
    square = white @ white.T
    return Quadratic(square, -2 * square @ mean)


def learn_scores(known: Floats, window: Floats) -> tuple[Quadratic, Quadratic]:
    """Learn two scores that are high for rows like a window, and low for rows with the known sums of products.

    The first is the log ratio of two normal densities with a common covariance, the second with different covariances.
    The covariance of the window is shrunk towards the known one, which counts twice as many rows as there are columns.
    """
    mean, white = whiten(known)
    rows = (window - mean) @ white
    (n, d), shift = rows.shape, rows.mean(0)
    inverse = np.linalg.inv(((rows - shift).T @ (rows - shift) + 2 * d * np.eye(d)) / (n + 2 * d))
    square = white @ (np.eye(d) - inverse) @ white.T
    tilted = 2 * white @ inverse @ (shift * n / (n + d)) - 2 * square @ mean
    return Quadratic(np.zeros_like(square), white @ shift), Quadratic(square, tilted)
