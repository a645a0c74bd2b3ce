"""Conformal p-values, and the threshold that holds a false discovery rate."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control


def conformal_p_values(scores: NDArray[np.float64], calibration: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give (1 + k) / (1 + n) for each score, where k of the n calibration scores are no higher.

    Examples
    --------
    >>> conformal_p_values(np.array([0.0, 0.5]), np.array([0.3, 0.5, 0.9]))
    array([0.25, 0.75])
    """
    no_higher = np.searchsorted(np.sort(calibration), scores, side="right")
    return (1 + no_higher) / (1 + len(calibration))


def discovery_threshold(scores: NDArray[np.float64], calibration: NDArray[np.float64], rate: float) -> float:
    """Give the threshold below which lie the scores that Benjamini and Hochberg's rule rejects at a rate.

    Where it rejects none, that is the smallest of all scores.

    Examples
    --------
    >>> discovery_threshold(np.array([0.0, 0.5]), np.array([0.3, 0.5, 0.9]), rate=0.5)
    0.3
    """
    p_values = conformal_p_values(scores, calibration)
    rejected = scores[false_discovery_control(p_values) <= rate]
    # All scores below the next calibration score have p-values as small as the largest rejected one.
    above = calibration[calibration > rejected.max()] if len(rejected) else np.append(calibration, scores)
    return float(above.min())
