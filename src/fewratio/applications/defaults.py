"""What the applications estimate with where the user names nothing: the one place that decides.

Measured (docs/design.md): the universal network's ratios of small samples are better than a kernel's. Tests have no
more power with it and take five to ten times as long, and outliers that are odd in one column only are not odd to it.
"""

from fewratio.estimators.auto import AutoRatioEstimator
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.least_squares import RuLSIF


def default_estimator(standardise: bool = False) -> RatioEstimator:
    """Give a new estimator of the kind that tests, outliers and changes use by default.

    Parameters
    ----------
    standardise : bool, default=False
        Whether it brings the columns of the two samples to a common unit.
    """
    return RuLSIF(scale="columns" if standardise else "none")


def default_ratio_estimator(standardise: bool = False) -> RatioEstimator:
    """Give a new estimator of the kind that is used where ratios themselves are asked for.

    Parameters
    ----------
    standardise : bool, default=False
        Whether it brings the columns of the two samples to a common unit.
    """
    return AutoRatioEstimator(scale="columns" if standardise else "none", random_state=0)


def default_weights_estimator() -> RatioEstimator:
    """Give a new estimator of the kind that `importance_weights` uses by default.

    Its alpha of 0.1 bounds the ratio by 10, and with it the variance of what is learned by weighing; a larger alpha
    would flatten the weights.
    """
    return RuLSIF(0.1, sigma="cv", reg="cv", scale="columns")
