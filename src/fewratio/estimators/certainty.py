"""How sure a ratio is that was learned from related datasets: the distribution of the truth about it.

A relative ratio r stands for the probability p = alpha r that a row is the numerator's. The truth about p is taken to
have a Beta distribution with the mean p, as after k labelled rows. Its variance is a share 1 / (1 + k) of p (1 - p),
and both follow from the error J (Eq. 8) on datasets held out, which falls with the rows per sample: the variance is
what J is above its limit, and p (1 - p) what it is above that of a perfect separation, -1 / (2 alpha). Both are divided
by the same number, 2 alpha^2.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import betaincinv

from fewratio.core.shapes import Floats
from fewratio.errors import InputError
from fewratio.estimators.base import NotFittedError, RatioEstimator

# Certainties are at least this and at most one over it: an error that rises with the rows is chance.
_LEAST = 1e-3
# Probabilities that bounds are computed for, up to one half; bounds of others are interpolated. Bisections of a bound.
_N_GRID, _N_BISECTIONS = 65, 40


def harmonic_size(n_nu: int, n_de: int) -> float:
    """Give the size of two samples: the harmonic mean of their numbers of rows, none counting as one."""
    return 2 / (1 / max(n_nu, 1) + 1 / max(n_de, 1))


def measure_certainty(falls: Sequence[float] | Floats, losses: Sequence[float] | Floats, alpha: float) -> float | None:
    """Give k / sqrt(n), which errors J of samples of some sizes stand for; None at alpha = 0.

    J is taken to fall to its limit with one over the square root of n, so that k is a number times sqrt(n).

    Parameters
    ----------
    falls : sequence of float
        1 / sqrt(n) of the samples; a mean, where they were of several sizes.
    losses : sequence of float
        Their errors J.
    alpha : float
        Relative parameter.
    """
    if not alpha:
        return None
    fall, limit = np.polyfit(falls, losses, 1)
    return float(np.clip((limit + 1 / (2 * alpha)) / max(fall, _LEAST), _LEAST, 1 / _LEAST).round(6))


def read_certainty(value: Any) -> float | None:
    """Give the certainty in a header; raise ``ValueError`` if it is none."""
    if value is not None and not (isinstance(value, int | float) and _LEAST <= value <= 1 / _LEAST):
        raise ValueError(f"its certainty is {value}")
    return None if value is None else float(value)


def bound_probability(p: Floats, k: float, level: float) -> Floats:
    """Give the shortest intervals, of shape (n, 2), that have a share of the Beta distributions with means p.

    They contain p as well, and those of 1 - p are the mirror images.
    """
    grid = 0.5 * np.linspace(0, 1, _N_GRID) ** 2
    a, b = k * grid[1:], k * (1 - grid[1:])
    low, high = np.zeros_like(a), np.full_like(a, 1 - level)
    # A density that falls from the left is highest there. One with a peak is as high at both ends of its interval.
    for _ in range(_N_BISECTIONS):
        below = (low + high) / 2
        ends = betaincinv(a, b, below), betaincinv(a, b, below + level)
        with np.errstate(divide="ignore"):
            heights = [(a - 1) * np.log(end) + (b - 1) * np.log1p(-end) for end in ends]
        is_short = (a > 1) & (heights[0] < heights[1])
        low, high = np.where(is_short, below, low), np.where(is_short, high, below)
    below = np.where(a > 1, low, 0.0)
    lower, upper = (np.append(0.0, betaincinv(a, b, below + part)) for part in (0.0, level))
    # With as much on either side, neither is left out.
    lower[-1], upper[-1] = min(lower[-1], 1 - upper[-1]), max(upper[-1], 1 - lower[-1])
    bounds = np.minimum(lower, grid), np.maximum(upper, grid)
    mirrored = np.minimum(p, 1 - p)
    found = np.stack([np.interp(mirrored, grid, bound) for bound in bounds], axis=-1)
    return np.where((p > 0.5)[..., None], 1 - found[..., ::-1], found)


class CertainEstimator(RatioEstimator):
    """Base of estimators whose errors on datasets held out say how sure their ratios are."""

    alpha: float
    # From samples of n rows a ratio is as sure as from this times sqrt(n) labelled rows; None if nothing was held out.
    certainty_: float | None = None

    def interval(self, X: Any, level: float = 0.9) -> Floats:
        """Give, for each row, bounds that the ratio of the two datasets is within with this probability.

        The probability is over pairs of datasets like the sources; docs/guides/uncertainty.md says how often it held.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Where to evaluate the ratio.
        level : float
            The probability, between 0 and 1.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper bounds; the ratio that `predict` gives is between them.
        """
        # Before the rows are read.
        self._precision(level)
        return self._bound_ratios(self.predict(X), level)

    def divergence_interval(self, level: float = 0.9) -> tuple[float, float]:
        """Give bounds that the divergence of the two datasets is within with this probability, as `interval` does.

        They are about the mean of what such datasets have, while `divergence` is of the fitted rows alone; of few rows
        it may be outside.
        """
        k = self._precision(level)
        # The divergence in units of its maximum is the difference of the mean probabilities, and few rows hide some.
        apart = self.alpha * (self.ratio_nu_.mean() - self.ratio_de_.mean())
        mean = (min(max(apart, 0.0), 1.0) * k + 1) / (k + 1)
        low, high = bound_probability(np.array([mean]), k, level)[0] * (1 - self.alpha) / (2 * self.alpha)
        return float(low), float(high)

    def _bound_ratios(self, ratios: Floats, level: float) -> Floats:
        """Give the interval of each of some ratios that `predict` gave."""
        bounds = bound_probability(np.clip(self.alpha * ratios, 0, 1), self._precision(level), level) / self.alpha
        # Some estimators give ratios above 1 / alpha, which no true ratio exceeds.
        return np.stack([bounds[:, 0], np.maximum(bounds[:, 1], ratios)], axis=1)

    def _precision(self, level: float) -> float:
        """Give the number of labelled rows that a ratio of the fitted samples is as sure as after."""
        self._check_fitted()
        if not (isinstance(level, Real) and 0 < level < 1):
            raise InputError(f"level is {level!r}; a probability between 0 and 1 is needed. Use 0.9, say.")
        if self.certainty_ is None or not self.alpha:
            found = "alpha is 0" if not self.alpha else "No errors on related datasets held out are known"
            raise NotFittedError(
                f"{found}; the interval of a {type(self).__name__} needs such errors, and an alpha above 0. Call "
                "pretrain with related datasets and no members, or use UniversalRatioEstimator, which needs none."
            )
        return self.certainty_ * harmonic_size(len(self.ratio_nu_), len(self.ratio_de_)) ** 0.5
