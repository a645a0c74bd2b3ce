"""The public names are a promise: adding one is a decision, taking one away breaks somebody's code."""

import inspect

import pytest

import fewratio
from fewratio import estimators

PUBLIC = [
    "KLIEP",
    "ULSIF",
    "Architecture",
    "AutoRatioEstimator",
    "ClassifierRatio",
    "Collection",
    "CollectionError",
    "ColumnOptions",
    "ComparisonResult",
    "DataFileError",
    "DataNotFoundError",
    "Dataset",
    "DatasetIndex",
    "DiscriminantRatioEstimator",
    "Encoding",
    "EnsembleRatioEstimator",
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
    "PooledRatioEstimator",
    "RuLSIF",
    "Source",
    "SourceMap",
    "Summary",
    "Training",
    "TrainingError",
    "UniversalRatioEstimator",
    "check_ratio_estimator",
    "compare_all",
    "compare_datasets",
    "detect_changes",
    "gaussian_relative_ratio",
    "importance_weights",
    "load_collection",
    "load_model",
    "mmd2",
    "read_table",
    "register_source",
    "relative_pearson_divergence",
    "relative_squared_error",
]


def test_the_public_names_are_these():
    assert fewratio.__all__ == sorted(PUBLIC)
    assert sorted(dir(fewratio)) == sorted([*PUBLIC, "__version__"])


def test_they_are_sorted():
    # Capitals, classes, functions; each by the alphabet. It is the order that ruff keeps.
    assert sorted(PUBLIC, key=lambda name: (not name.isupper(), name.islower(), name)) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_each_is_there_and_documented_with_an_example(name):
    thing = getattr(fewratio, name)
    assert thing.__name__ == name
    documentation = inspect.cleandoc(thing.__doc__ or "")
    # A dataclass without a docstring gets its signature as one.
    assert documentation
    assert not documentation.startswith(f"{name}(")
    assert ">>> " in documentation


def test_every_estimator_has_a_home():
    for name in estimators.__all__:
        assert getattr(estimators, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'RULSIF'"):
        _ = estimators.RULSIF


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'RULSIF'"):
        _ = fewratio.RULSIF
