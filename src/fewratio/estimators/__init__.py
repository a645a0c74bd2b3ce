"""Estimators with scikit-learn's manners: NumPy (or tables) in, NumPy out."""

from fewratio.estimators.base import NotFittedError, RatioEstimator
from fewratio.estimators.classifier import ClassifierRatio
from fewratio.estimators.kullback_leibler import KLIEP, UnconstrainedKL
from fewratio.estimators.least_squares import ULSIF, RuLSIF
from fewratio.estimators.meta import MetaRatioEstimator
from fewratio.estimators.moment_matching import KMM
from fewratio.estimators.pretraining import pretrain_together
from fewratio.estimators.selection import HeldOutSelection
from fewratio.estimators.telescoping import Telescoping

__all__ = [
    "KLIEP",
    "KMM",
    "ULSIF",
    "ClassifierRatio",
    "HeldOutSelection",
    "MetaRatioEstimator",
    "NotFittedError",
    "RatioEstimator",
    "RuLSIF",
    "Telescoping",
    "UnconstrainedKL",
    "pretrain_together",
]
