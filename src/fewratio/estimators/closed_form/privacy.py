"""Noise that hides single rows in a summary: the Gaussian mechanism, with a library for the accounting."""

from dataclasses import replace
from functools import cache

import numpy as np

from fewratio.core.arguments import check_finite_result, check_number
from fewratio.core.shapes import Floats
from fewratio.errors import MissingPackageError, ParameterError
from fewratio.estimators.closed_form.feature_map import FeatureMap
from fewratio.estimators.closed_form.summary import Summary

# A row's features are shortened to this multiple of their usual length.
_LONGEST = 1.05
# If one row is replaced, the sum of unit vectors and the sum of their outer products together change by at most this:
# |a - b|^2 + |aa' - bb'|^2 = 4 - 2c - 2c^2 where c = a'b, largest at c = -1/2.
_SENSITIVITY = np.sqrt(4.5)
# A larger epsilon hides almost nothing, and the accountant takes minutes.
_MOST_EPSILON = 30


def private_summary(
    rows: Floats, features: FeatureMap, epsilon: float, delta: float, rng: np.random.Generator
) -> Summary:
    """Summarise one dataset with noise, so that the summary reveals little about any single row.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The dataset. Their number is not hidden.
    features : FeatureMap
        With cosines: these are bounded.
    epsilon, delta : float
        The guarantee.
    rng : Generator
        Draws the noise: whoever can reproduce it can remove it.
    """
    if not features.n_components:
        raise ParameterError(
            "epsilon is given, but the map has no random features; only these can hide rows. Make a map with "
            "n_components=128 (fewratio map --components 128)."
        )
    epsilon = check_number("epsilon", epsilon, 0, _MOST_EPSILON, f"a number above 0 and below {_MOST_EPSILON}")
    delta = check_number("delta", delta, 0, 1, "a number between 0 and 1")
    n, width = len(rows), features.n_components
    longest = _LONGEST * np.sqrt(width / 2)
    total, outer = np.zeros(width), np.zeros((width, width))
    with np.errstate(over="ignore", invalid="ignore"):
        for block in features.blocks(rows):
            unit = block.astype(np.float64) / longest
            unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1.0)
            total += unit.sum(0)
            outer += unit.T @ unit
    check_finite_result("The sum of the rows", total, outer)
    deviation = _noise_multiplier(epsilon, delta) * _SENSITIVITY
    total += deviation * rng.standard_normal(width)
    # Symmetric, with unit variance along every direction of the space of symmetric matrices.
    noise = rng.standard_normal((width, width))
    outer += deviation * (np.triu(noise, 1) / np.sqrt(2) + np.triu(noise, 1).T / np.sqrt(2) + np.diag(np.diag(noise)))
    mean_noise = float((longest * deviation / n) ** 2)
    summary = Summary.of_sums(features, n, longest * total, longest**2 * outer, mean_noise)
    return replace(summary, epsilon=float(epsilon))


# The accountant takes seconds.
@cache
def _noise_multiplier(epsilon: float, delta: float) -> float:
    """Return the standard deviation of the noise, in units of the sensitivity."""
    try:
        import dp_accounting
        from dp_accounting.pld import PLDAccountant
    except ImportError as error:
        raise MissingPackageError(
            "dp-accounting is not installed; epsilon needs it. Run pip install 'fewratio[privacy]'."
        ) from error
    found = dp_accounting.calibrate_dp_mechanism(PLDAccountant, dp_accounting.GaussianDpEvent, epsilon, delta)
    return float(found)
