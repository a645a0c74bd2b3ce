"""Estimators with scikit-learn's manners: NumPy (or tables) in, NumPy out.

Each is imported when it is first asked for: what one of them needs, another may do without.
"""

from typing import TYPE_CHECKING, Any

from fewratio.lazy import import_home

if TYPE_CHECKING:
    from fewratio.estimators.auto import AutoRatioEstimator
    from fewratio.estimators.base import NotFittedError, RatioEstimator
    from fewratio.estimators.classifier import ClassifierRatio
    from fewratio.estimators.deep import D3RE
    from fewratio.estimators.kullback_leibler import KLIEP, UnconstrainedKL
    from fewratio.estimators.least_squares import ULSIF, RuLSIF
    from fewratio.estimators.meta import MetaRatioEstimator, pretrain_together
    from fewratio.estimators.moment_matching import KMM
    from fewratio.estimators.selection import HeldOutSelection
    from fewratio.estimators.settings import Architecture, Inliers, Pairs, Training
    from fewratio.estimators.telescoping import Telescoping
    from fewratio.estimators.universal import UniversalRatioEstimator

_HOME = {
    "D3RE": "deep",
    "KLIEP": "kullback_leibler",
    "KMM": "moment_matching",
    "ULSIF": "least_squares",
    "Architecture": "settings",
    "AutoRatioEstimator": "auto",
    "ClassifierRatio": "classifier",
    "HeldOutSelection": "selection",
    "Inliers": "settings",
    "MetaRatioEstimator": "meta",
    "NotFittedError": "base",
    "Pairs": "settings",
    "RatioEstimator": "base",
    "RuLSIF": "least_squares",
    "Telescoping": "telescoping",
    "Training": "settings",
    "UnconstrainedKL": "kullback_leibler",
    "UniversalRatioEstimator": "universal",
    "pretrain_together": "meta",
}

__all__ = [
    "D3RE",
    "KLIEP",
    "KMM",
    "ULSIF",
    "Architecture",
    "AutoRatioEstimator",
    "ClassifierRatio",
    "HeldOutSelection",
    "Inliers",
    "MetaRatioEstimator",
    "NotFittedError",
    "Pairs",
    "RatioEstimator",
    "RuLSIF",
    "Telescoping",
    "Training",
    "UnconstrainedKL",
    "UniversalRatioEstimator",
    "pretrain_together",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fewratio.estimators' has no attribute {name!r}")
    return getattr(import_home(f"fewratio.estimators.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
