"""Effect sizes: how far apart two samples are in one column."""

import numpy as np

from fewratio.core.shapes import Floats


def shares_apart(first: Floats, second: Floats) -> Floats:
    """Give Cohen's h of shares."""
    return 2 * (np.arcsin(np.sqrt(first.clip(0, 1))) - np.arcsin(np.sqrt(second.clip(0, 1))))


def means_apart(first: Floats, second: Floats, weights: Floats | None = None) -> float:
    """Give Cohen's d; of constants, however far apart, as many deviations as there are rows.

    Weights of the first rows count in their mean, and not in the deviations.
    """
    within = np.sqrt((first.var() + second.var()) / 2)
    mean = np.average(first, weights=weights)
    difference = float(mean - second.mean())
    if within > 1e-12 * max(abs(mean), abs(second.mean())):
        return difference / float(within)
    return float(np.sign(difference) * (len(first) + len(second)))
