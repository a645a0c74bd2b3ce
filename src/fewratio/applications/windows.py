"""Windows of a series: how they are read and how far they are apart."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.applications.own_estimator import open_table
from fewratio.data.tables import Table
from fewratio.errors import ParameterError


def window_scores(model: Any, rows: Any, before: NDArray[np.intp], after: NDArray[np.intp]) -> NDArray[np.float64]:
    """Give the divergences of pairs of windows, summed over both directions.

    Parameters
    ----------
    model : RatioEstimator
        Gives the divergences.
    rows : array-like of shape (n, n_features)
        The series.
    before, after : int arrays of shape (n_pairs, window)
        Numbers of the rows in the windows.
    """
    both = model.divergences(rows, np.concatenate([before, after]), np.concatenate([after, before]))
    result: NDArray[np.float64] = both[: len(before)] + both[len(before) :]
    return result


def open_series(model: Any, series: Any, argument: str) -> Table:
    """Validate a series; one without columns has one."""
    shape = getattr(series, "shape", None)
    if shape is None and isinstance(series, list | tuple) and not any(np.ndim(value) for value in series):
        shape = (len(series),)
    if shape is not None and len(shape) == 1:
        series = np.asarray(series).reshape(-1, 1)
    return open_table(model, series, argument)


def check_threshold(threshold: Any) -> float:
    """Give a threshold as a number, or say what is wrong with it."""
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not np.isfinite(float(threshold)):
        raise ParameterError(f"threshold is {threshold!r}; needed is a score to exceed. Pass a number.")
    return float(threshold)


def check_whole(name: str, value: Any) -> None:
    """Refuse what is not a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ParameterError(f"{name} is {value!r}; needed is a whole number of at least 1. Pass one.")
