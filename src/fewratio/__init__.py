"""Tell how two datasets differ, instance by instance, from a handful of instances.

Everything public is here; it is imported when first used, so that ``import fewratio`` costs nothing.
"""

from typing import TYPE_CHECKING, Any

from fewratio.lazy import import_home

if TYPE_CHECKING:
    from fewratio.applications.all_pairs import compare_all
    from fewratio.applications.changes import detect_changes
    from fewratio.applications.comparison import ComparisonResult, compare_datasets
    from fewratio.applications.outliers import InlierOutlierDetector
    from fewratio.applications.weights import importance_weights
    from fewratio.checks import check_ratio_estimator
    from fewratio.core.pair import Episode, Pair
    from fewratio.data.collection import Collection
    from fewratio.data.dataset import Dataset
    from fewratio.data.registry import Source, load_collection, register_source
    from fewratio.errors import (
        CollectionError,
        DataFileError,
        DataNotFoundError,
        FewRatioError,
        InputError,
        MissingColumnError,
        MissingPackageError,
        ModelFileError,
        ModelVersionError,
        ParameterError,
        TrainingError,
    )
    from fewratio.estimators.auto import AutoRatioEstimator
    from fewratio.estimators.base import NotFittedError
    from fewratio.estimators.classifier import ClassifierRatio
    from fewratio.estimators.deep import D3RE
    from fewratio.estimators.kullback_leibler import KLIEP, UnconstrainedKL
    from fewratio.estimators.least_squares import ULSIF, RuLSIF
    from fewratio.estimators.meta import MetaRatioEstimator
    from fewratio.estimators.moment_matching import KMM
    from fewratio.estimators.quantities import (
        gaussian_relative_ratio,
        mmd2,
        relative_pearson_divergence,
        relative_squared_error,
    )
    from fewratio.estimators.settings import Architecture, Inliers, Pairs, Training
    from fewratio.estimators.universal import UniversalRatioEstimator

__version__ = "0.1.0"

_SUBMODULES = ("applications", "core", "data", "estimators", "nn", "optim")

_HOME = {
    "D3RE": "fewratio.estimators.deep",
    "KLIEP": "fewratio.estimators.kullback_leibler",
    "KMM": "fewratio.estimators.moment_matching",
    "ULSIF": "fewratio.estimators.least_squares",
    "ClassifierRatio": "fewratio.estimators.classifier",
    "Collection": "fewratio.data.collection",
    "CollectionError": "fewratio.errors",
    "ComparisonResult": "fewratio.applications.comparison",
    "DataFileError": "fewratio.errors",
    "DataNotFoundError": "fewratio.errors",
    "Dataset": "fewratio.data.dataset",
    "Episode": "fewratio.core.pair",
    "FewRatioError": "fewratio.errors",
    "InlierOutlierDetector": "fewratio.applications.outliers",
    "Inliers": "fewratio.estimators.settings",
    "InputError": "fewratio.errors",
    "MetaRatioEstimator": "fewratio.estimators.meta",
    "MissingColumnError": "fewratio.errors",
    "MissingPackageError": "fewratio.errors",
    "ModelFileError": "fewratio.errors",
    "ModelVersionError": "fewratio.errors",
    "NotFittedError": "fewratio.estimators.base",
    "Pair": "fewratio.core.pair",
    "Pairs": "fewratio.estimators.settings",
    "ParameterError": "fewratio.errors",
    "RuLSIF": "fewratio.estimators.least_squares",
    "Source": "fewratio.data.registry",
    "Training": "fewratio.estimators.settings",
    "TrainingError": "fewratio.errors",
    "UnconstrainedKL": "fewratio.estimators.kullback_leibler",
    "Architecture": "fewratio.estimators.settings",
    "AutoRatioEstimator": "fewratio.estimators.auto",
    "UniversalRatioEstimator": "fewratio.estimators.universal",
    "check_ratio_estimator": "fewratio.checks",
    "compare_all": "fewratio.applications.all_pairs",
    "compare_datasets": "fewratio.applications.comparison",
    "detect_changes": "fewratio.applications.changes",
    "gaussian_relative_ratio": "fewratio.estimators.quantities",
    "importance_weights": "fewratio.applications.weights",
    "load_collection": "fewratio.data.registry",
    "mmd2": "fewratio.estimators.quantities",
    "register_source": "fewratio.data.registry",
    "relative_pearson_divergence": "fewratio.estimators.quantities",
    "relative_squared_error": "fewratio.estimators.quantities",
}

__all__ = [
    "D3RE",
    "KLIEP",
    "KMM",
    "ULSIF",
    "Architecture",
    "AutoRatioEstimator",
    "ClassifierRatio",
    "Collection",
    "CollectionError",
    "ComparisonResult",
    "DataFileError",
    "DataNotFoundError",
    "Dataset",
    "Episode",
    "FewRatioError",
    "InlierOutlierDetector",
    "Inliers",
    "InputError",
    "MetaRatioEstimator",
    "MissingColumnError",
    "MissingPackageError",
    "ModelFileError",
    "ModelVersionError",
    "NotFittedError",
    "Pair",
    "Pairs",
    "ParameterError",
    "RuLSIF",
    "Source",
    "Training",
    "TrainingError",
    "UnconstrainedKL",
    "UniversalRatioEstimator",
    "check_ratio_estimator",
    "compare_all",
    "compare_datasets",
    "detect_changes",
    "gaussian_relative_ratio",
    "importance_weights",
    "load_collection",
    "mmd2",
    "register_source",
    "relative_pearson_divergence",
    "relative_squared_error",
]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_home(f"fewratio.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'fewratio' has no attribute {name!r}")
    return getattr(import_home(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
