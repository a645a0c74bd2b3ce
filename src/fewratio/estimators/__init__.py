"""Estimators with scikit-learn's manners: NumPy (or tables) in, NumPy out.

Each is imported when it is first asked for: what one of them needs, another may do without.
"""

from typing import TYPE_CHECKING, Any

from fewratio.lazy import import_home

if TYPE_CHECKING:
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

_HOME = {
    "D3RE": "deep",
    "KLIEP": "kullback_leibler",
    "KMM": "moment_matching",
    "ULSIF": "least_squares",
    "AutoRatioEstimator": "auto",
    "ClassifierRatio": "classifier",
    "HeldOutSelection": "selection",
    "MetaRatioEstimator": "meta",
    "NotFittedError": "base",
    "OneClassEstimator": "one_class",
    "PURatio": "deep",
    "RatioEstimator": "base",
    "RuLSIF": "least_squares",
    "Telescoping": "telescoping",
    "UnconstrainedKL": "kullback_leibler",
    "UniversalRatioEstimator": "universal",
    "errors_by_stage": "one_class_training",
    "pretrain_one_class": "one_class_training",
    "pretrain_together": "pretraining",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fewratio.estimators' has no attribute {name!r}")
    return getattr(import_home(f"fewratio.estimators.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
