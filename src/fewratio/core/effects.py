"""Effect sizes: how far apart two samples are in one column."""

import numpy as np

from fewratio.core.arrays import GIVEN
from fewratio.core.shapes import Floats

# The largest effect: if the deviation is close to zero, any larger number means the same.
_LARGEST = 100.0


def shares_apart(first: Floats, second: Floats) -> Floats:
    """Return Cohen's h of shares."""
    return 2 * (np.arcsin(np.sqrt(first.clip(0, 1))) - np.arcsin(np.sqrt(second.clip(0, 1))))


def means_apart(first: Floats, second: Floats, weights: Floats | None = None) -> float:
    """Return Cohen's d, at most 100 in size: its value for different constants.

    Weights of the first sample count in its mean, but not in the deviations.
    """
    # Relative to a value of the column, so that constants give exactly 0.
    origin = second[0]
    first, second = first - origin, second - origin
    within = np.sqrt((first.var() + second.var()) / 2)
    difference = float(np.average(first, weights=weights) - second.mean())
    if abs(difference) <= GIVEN * abs(origin):
        return 0.0
    if within > GIVEN * abs(origin):
        return float(np.clip(difference / within, -_LARGEST, _LARGEST))
    return float(np.sign(difference) * _LARGEST)


def write_effect(effect: float | None) -> str:
    """Write an effect with its sign; the largest only as a bound, and None as no text.

    Examples
    --------
    >>> write_effect(0.5), write_effect(-100.0), write_effect(None)
    ('+0.50', '< -99', '')
    """
    if effect is None:
        return ""
    if abs(effect) < _LARGEST:
        return f"{effect:+.2f}"
    return "> +99" if effect > 0 else "< -99"
