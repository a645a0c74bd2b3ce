"""Parameters that the applications share."""

from numbers import Integral
from typing import Any

from fewratio.applications.defaults import default_estimator
from fewratio.errors import ParameterError
from fewratio.estimators.base import RatioEstimator


def check_estimator(estimator: Any) -> RatioEstimator:
    """Give the default for None; refuse what is no estimator of ratios."""
    if estimator is None:
        return default_estimator()
    if not isinstance(estimator, RatioEstimator):
        what = estimator.__name__ + " (a class)" if isinstance(estimator, type) else type(estimator).__name__
        raise ParameterError(
            f"estimator is of type {what}; needed is a ratio estimator. Pass one, such as RuLSIF(), or None."
        )
    return estimator


def check_count(argument: str, value: Any, least: int) -> None:
    """Refuse what is no whole number, or a smaller one than makes sense."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{argument} is {value!r}; needed is a whole number of at least {least}. Pass one.")
