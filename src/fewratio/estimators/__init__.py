"""Estimators with scikit-learn's manners: NumPy (or tables) in, NumPy out."""

from fewratio.estimators.base import NotFittedError, RatioEstimator
from fewratio.estimators.deep import D3RE, PURatio
from fewratio.estimators.least_squares import ULSIF, RuLSIF
from fewratio.estimators.meta import MetaRatioEstimator
from fewratio.estimators.one_class import OneClassEstimator
from fewratio.estimators.one_class_training import errors_by_stage, pretrain_one_class
from fewratio.estimators.pretraining import pretrain_together

__all__ = [
    "D3RE",
    "ULSIF",
    "MetaRatioEstimator",
    "NotFittedError",
    "OneClassEstimator",
    "PURatio",
    "RatioEstimator",
    "RuLSIF",
    "errors_by_stage",
    "pretrain_one_class",
    "pretrain_together",
]
