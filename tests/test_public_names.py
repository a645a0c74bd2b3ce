"""The public names are a promise: adding one is a decision, taking one away breaks somebody's code."""

import importlib
import inspect

import pytest

import fewratio
from fewratio import errors

# One name for one thing at the top: 34 are enough.
MOST = 34
PUBLIC = [
    "KLIEP",
    "ULSIF",
    "AllPairsResult",
    "AutoRatioEstimator",
    "ChangeResult",
    "ClassifierRatio",
    "Collection",
    "ColumnOptions",
    "ComparisonResult",
    "DataFileError",
    "Dataset",
    "DatasetIndex",
    "DiscriminantRatioEstimator",
    "DriftMonitor",
    "FewRatioError",
    "InlierOutlierDetector",
    "InputError",
    "MetaRatioEstimator",
    "ModelFileError",
    "OutlierResult",
    "ParameterError",
    "RatioEstimator",
    "RuLSIF",
    "UniversalRatioEstimator",
    "WeightResult",
    "check_ratio_estimator",
    "compare_all",
    "compare_datasets",
    "detect_changes",
    "importance_weights",
    "load_model",
    "read_table",
    "relative_pearson_divergence",
]
PACKAGES = {
    "fewratio.changes": "ChangeDetector ChangeResult ChangesBySeries detect_changes",
    "fewratio.charts": "Picture",
    "fewratio.compare": """
        ColumnDifference ComparisonResult GroupColumn GroupComparisonResult GroupDifference PairDifference Relation
        WordDifference compare_datasets
    """,
    "fewratio.data": """
        Collection ColumnOptions Dataset Encoding Source SourceOptions load_collection read_table register_source
    """,
    "fewratio.estimators": """
        KLIEP KMM ULSIF AutoRatioEstimator ClassifierRatio DiscriminantRatioEstimator InlierRatioEstimator
        HeldOutSelection MetaRatioEstimator NotFittedError RatioEstimator RuLSIF SourceMap Summary
        Telescoping UniversalRatioEstimator check_ratio_estimator gaussian_relative_ratio make_best_members
        mmd2 pretrain_together relative_pearson_divergence relative_squared_error
        """,
    "fewratio.estimators.classifier": "ClassifierRatio Telescoping",
    "fewratio.estimators.closed_form": "DiscriminantRatioEstimator InlierRatioEstimator SourceMap Summary",
    "fewratio.estimators.kernel": "KLIEP KMM ULSIF RuLSIF",
    "fewratio.estimators.mixtures": "AutoRatioEstimator make_best_members",
    "fewratio.estimators.networks": """
        AdaptedRatio Architecture Episode GaussianFeatures Inliers MLPFeatures MetaRatioEstimator NoEncoder Pair
        Pairs RatioModel RelationalEncoder RelationalFeatures RidgeHead SetEncoder SharedHead Training
        UniversalRatioEstimator pretrain_together
        """,
    "fewratio.many": "AllPairsResult DatasetIndex Neighbours compare_all",
    "fewratio.monitor": "DriftMonitor MonitorState",
    "fewratio.outliers": "InlierOutlierDetector OutlierResult RowExplanation",
    "fewratio.testing": "Exchange TwoSampleTest two_sample_test",
    "fewratio.weights": "WeightResult importance_weights",
}


def test_the_public_names_are_these():
    assert fewratio.__all__ == sorted(PUBLIC)
    assert len(PUBLIC) <= MOST
    folders = {package.split(".")[1] for package in PACKAGES}
    assert set(dir(fewratio)) == {*PUBLIC, *folders}


def test_they_are_sorted():
    # Capitals, classes, functions; each by the alphabet. It is the order that ruff keeps.
    assert sorted(PUBLIC, key=lambda name: (not name.isupper(), name.islower(), name)) == PUBLIC


@pytest.mark.parametrize("package", PACKAGES)
def test_the_names_of_a_package_are_these(package):
    names = PACKAGES[package].split()
    module = importlib.import_module(package)
    assert module.__all__ == sorted(names)
    for name in names:
        assert getattr(module, name).__name__ == name
        assert getattr(module, name).__doc__


@pytest.mark.parametrize("name", PUBLIC)
def test_each_is_documented_with_an_example(name):
    thing = getattr(fewratio, name)
    assert thing.__name__ == name
    documentation = inspect.cleandoc(thing.__doc__ or "")
    # A dataclass without a docstring gets its signature as one.
    assert documentation
    assert not documentation.startswith(f"{name}(")
    # A result is shown where it is made.
    assert ">>> " in documentation or name.endswith("Result")


def test_a_name_is_the_same_thing_everywhere():
    homes: dict[str, object] = {name: getattr(fewratio, name) for name in PUBLIC}
    for package, names in PACKAGES.items():
        for name in names.split():
            thing = getattr(importlib.import_module(package), name)
            assert homes.setdefault(name, thing) is thing
    for name in ("DataFileError", "FewRatioError", "InputError", "ModelFileError", "ParameterError"):
        assert homes[name] is getattr(errors, name)


@pytest.mark.parametrize("package", ["fewratio", *PACKAGES])
def test_another_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="RULSIF"):
        _ = importlib.import_module(package).RULSIF
