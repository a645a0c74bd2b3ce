"""A program that uses the package, for type checkers: mypy and pyright see here what users see."""

from pathlib import Path
from typing import assert_type

import numpy as np

import fewratio
from fewratio import (
    AutoRatioEstimator,
    ChangeResult,
    Collection,
    ColumnOptions,
    ComparisonResult,
    Dataset,
    InlierOutlierDetector,
    MetaRatioEstimator,
    RuLSIF,
    WeightResult,
    compare_datasets,
    detect_changes,
    importance_weights,
    load_model,
)
from fewratio.compare import GroupComparisonResult
from fewratio.estimators.networks import Pairs, Training


def answers(before: np.ndarray, after: np.ndarray) -> None:
    options: ColumnOptions = {"drop": ["size"], "common": True}
    result = compare_datasets(before, after, random_state=0, **options)
    assert_type(result, ComparisonResult)
    assert_type(result.p_value, float | None)
    assert_type(compare_datasets(before, by="site"), ComparisonResult | GroupComparisonResult)
    assert_type(result.divergence, float)
    assert_type(importance_weights(before, after), WeightResult)
    assert_type(detect_changes(before), ChangeResult)
    InlierOutlierDetector(contamination=0.1).fit(before).predict(after)
    compare_datasets(before, after, n_permutations="many")  # type: ignore[call-overload]


def estimators(before: np.ndarray, after: np.ndarray, folder: Path) -> None:
    assert_type(RuLSIF(sigma="cv").fit(before, after), RuLSIF)
    assert_type(RuLSIF().fit(before, after).divergence(), float)
    sources = Collection.from_folder(folder)
    assert_type(sources, Collection)
    assert_type(sources["monday"], Dataset)
    assert_type(AutoRatioEstimator().pretrain(sources), AutoRatioEstimator)
    MetaRatioEstimator(episodes=Pairs(n_support=5), training=Training(max_steps=10)).pretrain(sources)
    load_model(folder / "sensors.safetensors").predict(after)
    print(fewratio.no_such_name)  # type: ignore[attr-defined]
