"""Intervals for ratios learned from related datasets.

A relative ratio r corresponds to the probability p = alpha r that a row comes from the numerator. The true p is assumed
to have a Beta distribution with mean p, as after k labelled rows. Its variance is a share 1 / (1 + k) of p (1 - p), and
both follow from the error J (Eq. 8) on held-out datasets, which falls with the rows per sample: the variance is the
excess of J over its limit, and p (1 - p) its excess over the J of a perfect separation, -1 / (2 alpha), both up to the
same factor 2 alpha^2.

A network also makes errors that more rows do not reduce, so its intervals show how far it was off in trials on held-out
datasets. The deviations are angles arcsin(sqrt(p)), on whose scale the deviation of a share does not depend on the
share, and the interval is the angle of the estimate plus or minus the deviation.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import betaincinv

from fewratio.core.shapes import Floats
from fewratio.errors import InputError
from fewratio.estimators.base import NotFittedError, RatioEstimator

# Certainties are clipped to between this and its inverse: an error that rises with the rows is chance.
_LEAST = 1e-3
# Numbers of rows per sample at which errors and deviations are measured and shares are chosen.
SIZES = (1, 3, 10, 30)
# Levels of deviations, and the largest angle.
LEVELS, _LARGEST_ANGLE = (0.5, 0.8, 0.9, 0.95), np.pi / 2
# Number of probabilities, up to one half, for which bounds are computed (others are interpolated), and of bisections.
_N_GRID, _N_BISECTIONS = 65, 40


def harmonic_size(n_nu: int, n_de: int) -> float:
    """Return the harmonic mean of two numbers of rows, with zero counting as one."""
    return 2 / (1 / max(n_nu, 1) + 1 / max(n_de, 1))


def measure_certainty(falls: Sequence[float] | Floats, losses: Sequence[float] | Floats, alpha: float) -> float | None:
    """Return k / sqrt(n) from the errors J of samples of several sizes; None at alpha = 0.

    J is assumed to fall to its limit like 1 / sqrt(n), so that k is a constant times sqrt(n).

    Parameters
    ----------
    falls : sequence of float
        1 / sqrt(n) of the samples; a mean if their sizes differ.
    losses : sequence of float
        Errors J of these samples.
    alpha : float
        Relative parameter.
    """
    if not alpha:
        return None
    fall, limit = np.polyfit(falls, losses, 1)
    return float(np.clip((limit + 1 / (2 * alpha)) / max(fall, _LEAST), _LEAST, 1 / _LEAST).round(6))


def read_certainty(value: Any) -> float | None:
    """Return the certainty in a header; raise ``ValueError`` if it is invalid."""
    if value is not None and not (isinstance(value, int | float) and _LEAST <= value <= 1 / _LEAST):
        raise ValueError(f"its certainty is {value}")
    return None if value is None else float(value)


def measure_angles(estimates: Floats, truths: Floats, n_pairs: int) -> Floats:
    """Return, for each of `LEVELS`, the largest angle by which estimated shares differ from the true ones.

    These are quantiles of the deviations, as in conformal prediction but without its guarantee, since pairs share
    datasets. Levels with too few pairs have the largest angle.
    """
    deviations = np.abs(_angle(estimates) - _angle(truths))
    ranks = np.ceil((n_pairs + 1) * np.array(LEVELS)) / n_pairs
    return np.where(ranks > 1, _LARGEST_ANGLE, np.quantile(deviations, np.minimum(ranks, 1)))


def read_angles(value: Any) -> Floats | None:
    """Return the angles in a header; raise ``ValueError`` if they are invalid."""
    if value is None:
        return None
    angles = np.array(value, np.float64)
    if angles.shape != (2, len(SIZES), len(LEVELS)) or not ((angles >= 0) & (angles <= _LARGEST_ANGLE + _LEAST)).all():
        raise ValueError(f"its angles are {value}")
    return angles


def _angle(share: Floats) -> Floats:
    return np.arcsin(np.sqrt(np.clip(share, 0, 1)))


def bound_probability(p: Floats, k: float, level: float) -> Floats:
    """Return the shortest intervals, of shape (n, 2), with this share of the Beta distributions with means p.

    They also contain p, and the intervals of 1 - p are their mirror images.
    """
    grid = 0.5 * np.linspace(0, 1, _N_GRID) ** 2
    a, b = k * grid[1:], k * (1 - grid[1:])
    low, high = np.zeros_like(a), np.full_like(a, 1 - level)
    # Intervals of decreasing densities begin at the left; those of densities with a peak are equally high at both ends.
    for _ in range(_N_BISECTIONS):
        below = (low + high) / 2
        ends = betaincinv(a, b, below), betaincinv(a, b, below + level)
        with np.errstate(divide="ignore"):
            heights = [(a - 1) * np.log(end) + (b - 1) * np.log1p(-end) for end in ends]
        is_short = (a > 1) & (heights[0] < heights[1])
        low, high = np.where(is_short, below, low), np.where(is_short, high, below)
    below = np.where(a > 1, low, 0.0)
    lower, upper = (np.append(0.0, betaincinv(a, b, below + part)) for part in (0.0, level))
    # At p = 1/2 the interval is symmetric.
    lower[-1], upper[-1] = min(lower[-1], 1 - upper[-1]), max(upper[-1], 1 - lower[-1])
    bounds = np.minimum(lower, grid), np.maximum(upper, grid)
    mirrored = np.minimum(p, 1 - p)
    found = np.stack([np.interp(mirrored, grid, bound) for bound in bounds], axis=-1)
    return np.where((p > 0.5)[..., None], 1 - found[..., ::-1], found)


class CertainEstimator(RatioEstimator):
    """Base of estimators whose errors on held-out datasets show how certain their ratios are."""

    alpha: float
    # A ratio from samples of n rows is as certain as with this times sqrt(n) labelled rows; None if unknown.
    certainty_: float | None = None
    # Used instead for networks: angles of ratios and of divergences, for each of `SIZES` and `LEVELS`.
    angles_: Floats | None = None

    def interval(self, X: Any, level: float = 0.9) -> Floats:
        """Return an interval for the true ratio at each row.

        The probability refers to pairs of datasets like the sources; docs/guides/uncertainty.md reports how often the
        intervals contained the ratio.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows at which to evaluate the ratio.
        level : float
            The probability, between 0 and 1.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper bounds; the ratio from `predict` is between them.
        """
        # Check this before reading the rows.
        self._check_level(level)
        return self._bound_ratios(self.predict(X), level)

    def divergence_interval(self, level: float = 0.9) -> tuple[float, float]:
        """Return an interval for the divergence of the two datasets; see `interval`.

        It is centred on the mean over similar datasets, while `divergence` is computed only from the fitted rows, and
        may be outside with few rows. For a network, it is centred on `divergence` instead, on the scale of angles.
        """
        self._check_level(level)
        if self.angles_ is not None:
            most = (1 - self.alpha) / (2 * self.alpha)
            least, largest = most * self._bound_share(np.array(self.divergence() / most), 1, level)
            return float(least), float(largest)
        k = self._precision()
        # The divergence in units of its maximum is the difference of the mean probabilities; few rows hide part of it.
        apart = self.alpha * (self.ratio_nu_.mean() - self.ratio_de_.mean())
        mean = (min(max(apart, 0.0), 1.0) * k + 1) / (k + 1)
        low, high = bound_probability(np.array([mean]), k, level)[0] * (1 - self.alpha) / (2 * self.alpha)
        return float(low), float(high)

    def _bound_ratios(self, ratios: Floats, level: float) -> Floats:
        """Return the intervals of ratios from `predict`."""
        self._check_level(level)
        p = np.clip(self.alpha * ratios, 0, 1)
        if self.angles_ is not None:
            bounds = self._bound_share(p, 0, level) / self.alpha
        else:
            bounds = bound_probability(p, self._precision(), level) / self.alpha
        # Some estimators return ratios above 1 / alpha, the largest possible true ratio.
        return np.stack([bounds[:, 0], np.maximum(bounds[:, 1], ratios)], axis=1)

    @property
    def has_intervals(self) -> bool:
        """Whether the certainty of ratios is known, so that `interval` can be used."""
        return bool(self.alpha) and (self.certainty_ is not None or self.angles_ is not None)

    def _bound_share(self, share: Floats, kind: int, level: float) -> Floats:
        """Return bounds of shares, of shape (..., 2), from the angles of ratios (0) or divergences (1)."""
        assert self.angles_ is not None
        at = [np.interp(np.log(self._size()), np.log(SIZES), of_sizes) for of_sizes in self.angles_[kind].T]
        angle = np.interp(level, (0, *LEVELS, 1), (0, *at, _LARGEST_ANGLE))
        ends = np.stack([_angle(share) - angle, _angle(share) + angle], axis=-1)
        return np.square(np.sin(np.clip(ends, 0, _LARGEST_ANGLE)))

    def _size(self) -> float:
        return harmonic_size(len(self.ratio_nu_), len(self.ratio_de_))

    def _precision(self) -> float:
        """Return the number of labelled rows that would make ratios as certain as the fitted samples do."""
        assert self.certainty_ is not None
        return self.certainty_ * self._size() ** 0.5

    def _check_level(self, level: float) -> None:
        self._check_fitted()
        if not (isinstance(level, Real) and 0 < level < 1):
            raise InputError(f"level is {level!r}; a probability between 0 and 1 is needed. Use 0.9, say.")
        if not self.has_intervals:
            found = "alpha is 0" if not self.alpha else "Too few related datasets were held out to know the errors"
            raise NotFittedError(
                f"{found}; intervals follow from errors on related datasets that were held out, at an alpha above 0. "
                "Learn from at least eight, or use AutoRatioEstimator, which needs two, or UniversalRatioEstimator, "
                "which needs none (alpha 0.1 to 0.9)."
            )
