"""Estimators with scikit-learn's manners: NumPy (or tables) in, NumPy out."""

from fewratio.estimators.base import NotFittedError, RatioEstimator
from fewratio.estimators.least_squares import ULSIF, RuLSIF
from fewratio.estimators.meta import MetaRatioEstimator
from fewratio.estimators.pretraining import pretrain_together

__all__ = ["ULSIF", "MetaRatioEstimator", "NotFittedError", "RatioEstimator", "RuLSIF", "pretrain_together"]
