"""The estimator that an application works with: a copy of the user's, so that theirs stays as it is."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from fewratio.data.tables import Table, as_table
from fewratio.errors import ParameterError
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.randomness import seeded


def own_estimator(
    estimator: Any, default: RatioEstimator, rng: np.random.Generator, methods: Sequence[str] = ("fit", "predict")
) -> Any:
    """Copy the user's estimator, or the default where there is none, and seed what in it has no seed yet.

    A copy, not scikit-learn's clone, which would forget what was learned from related datasets.

    Parameters
    ----------
    estimator : RatioEstimator or None
        What the user gave.
    default : RatioEstimator
        What to take instead of None.
    rng : numpy Generator
        Where seeds are drawn from.
    methods : sequence of str
        What it must be able to do.
    """
    missing = [name for name in methods if not callable(getattr(estimator, name, None))]
    if estimator is not None and (missing or isinstance(estimator, type)):
        found = f"the class {estimator.__name__}" if isinstance(estimator, type) else repr(estimator)
        raise ParameterError(
            f"estimator is {found}; needed is a ratio estimator with the methods {', '.join(methods)}. Pass an "
            "instance of one, such as RuLSIF(), or None for the default."
        )
    return seeded(deepcopy(default if estimator is None else estimator), rng)


def open_table(estimator: Any, X: Any, argument: str) -> Table:
    """Validate a table: its values, and its columns where the estimator has learned from sources.

    It is encoded as those were, so that the estimator takes its numbers as they are.

    Parameters
    ----------
    estimator : RatioEstimator
        The estimator.
    X : array-like of shape (n, n_features)
        The table.
    argument : str
        What messages call it.
    """
    encoding = getattr(estimator, "encoding_", None)
    table = as_table(X, argument) if encoding is None else encoding.open(X, argument)
    table.check_finite()
    if hasattr(estimator, "pretrain") and hasattr(estimator, "divergences"):
        # A pair of one row says whether the estimator is ready, and for these columns; numbers alone have no names.
        estimator.divergences(table, [[0]], [[0]])
    return table
