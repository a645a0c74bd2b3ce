"""Estimators with scikit-learn's manners: NumPy (or tables) in, NumPy out."""

from fewratio.estimators.auto import AutoRatioEstimator
from fewratio.estimators.base import NotFittedError, RatioEstimator
from fewratio.estimators.classifier import ClassifierRatio
from fewratio.estimators.deep import D3RE, PURatio
from fewratio.estimators.kullback_leibler import KLIEP, UnconstrainedKL
from fewratio.estimators.least_squares import ULSIF, RuLSIF
from fewratio.estimators.meta import MetaRatioEstimator
from fewratio.estimators.moment_matching import KMM
from fewratio.estimators.one_class import OneClassEstimator
from fewratio.estimators.one_class_training import errors_by_stage, pretrain_one_class
from fewratio.estimators.pretraining import pretrain_together
from fewratio.estimators.selection import HeldOutSelection
from fewratio.estimators.telescoping import Telescoping
from fewratio.estimators.universal import UniversalRatioEstimator

__all__ = [
    "D3RE",
    "KLIEP",
    "KMM",
    "ULSIF",
    "AutoRatioEstimator",
    "ClassifierRatio",
    "HeldOutSelection",
    "MetaRatioEstimator",
    "NotFittedError",
    "OneClassEstimator",
    "PURatio",
    "RatioEstimator",
    "RuLSIF",
    "Telescoping",
    "UnconstrainedKL",
    "UniversalRatioEstimator",
    "errors_by_stage",
    "pretrain_one_class",
    "pretrain_together",
]
