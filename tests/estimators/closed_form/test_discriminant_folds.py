"""Which sources are held out together, and what pairs of them count for."""

import numpy as np
import pytest

from fewratio.core.discriminant import DatasetPosterior
from fewratio.core.units import ColumnScaling
from fewratio.estimators.closed_form import feature_map
from fewratio.estimators.closed_form.discriminant_choice import (
    HeldOut,
    Source,
    _losses,
    _some_rows,
    _some_sources,
    _weigh_pairs,
    order_sources,
)
from fewratio.estimators.closed_form.discriminant_model import Settings
from fewratio.estimators.closed_form.feature_map import FeatureMap
from fewratio.estimators.closed_form.summary import Summary


def datasets(n_datasets):
    """Datasets that tell their number by their first value."""
    rng = np.random.default_rng(0)
    found = rng.normal(size=(n_datasets, 5, 3))
    found[:, 0, 0] = np.arange(n_datasets)
    return list(found)


@pytest.mark.parametrize("n_datasets", [8, 40, 100])
def test_sources_of_a_group_are_held_out_together(n_datasets):
    groups = [f"group {number % 4}" for number in range(n_datasets)]
    everything = order_sources(datasets(n_datasets), groups)
    for dealt in (everything, _some_sources(everything, 48)):
        for turn in range(4):
            assert len({int(each.rows[0, 0]) % 4 for each in dealt[turn::4]}) == 1


def test_all_sources_are_dealt_whatever_their_order_and_units():
    sources = datasets(11)
    dealt = order_sources(sources, [None] * 11)
    assert sorted(each.rows[0, 0] for each in dealt) == list(range(11))
    again = order_sources([1000 * rows for rows in sources[::-1]], [None] * 11)
    np.testing.assert_allclose(np.array([each.rows for each in again]), 1000 * np.array([each.rows for each in dealt]))


def test_those_held_out_together_are_not_far_apart_by_rule():
    """In an order of the first column, every fourth dataset would be."""
    numbers = np.array([each.rows[0, 0] for each in order_sources(datasets(40), [None] * 40)])
    assert np.diff(np.sort(numbers[::4])).min() < 4


@pytest.mark.parametrize("n_datasets", [2, 3, 10, 30])
def test_one_pair_in_ten_is_of_a_dataset_with_itself(n_datasets):
    numbers = np.arange(n_datasets)
    weights = _weigh_pairs(numbers[:, None], numbers, n_datasets)
    assert np.trace(weights) / weights.sum() == pytest.approx(0.1)


@pytest.mark.parametrize(("n_datasets", "times"), [(4, 2), (5, 2), (11, 2), (31, 2), (32, 1), (40, 1)])
def test_every_source_is_held_out_as_often_and_never_learned_from(n_datasets, times):
    settings = Settings(0, 1.0, 0.1, 0.0, 1)
    features = FeatureMap(ColumnScaling(np.zeros(3), np.ones(3)), 0, 1.0, 0)
    held = HeldOut.of_rows(features, order_sources(datasets(n_datasets), [None] * n_datasets), [], [settings])
    found = []
    for (model, rows), summary in zip(held.learn(settings, 0.5).folds, held._summaries, strict=True):
        found += [each.sum() for each in rows]
        assert summary.n_sources + len(rows) == n_datasets
        # The centre is the mean of the other sources' means.
        everything = sum(each.mean(0) for each in datasets(n_datasets))
        left = (everything - sum(each.mean(0) for each in rows)) / (n_datasets - len(rows))
        np.testing.assert_allclose(model.coordinates.centre, left)
    expected = sorted(each.sum() for each in datasets(n_datasets) for _ in range(times))
    np.testing.assert_allclose(sorted(found), expected)


def test_datasets_that_are_a_little_shorter_count():
    rng = np.random.default_rng(0)
    posterior = DatasetPosterior(np.full(2, 3.0), np.ones(1))
    rows = [rng.normal(rng.normal(0, 2, (1, 2)), 1, (n, 2)) for n in (31, 31, 31, 30, 5)]

    def losses(length=0):
        return _losses([each + 9.0 * (len(each) == length) for each in rows], posterior, 0.5, np.ones(1))[0]

    assert (losses(30) != losses()).all()
    np.testing.assert_array_equal(losses(5), losses())


def test_equal_rows_are_not_held_out_together():
    """The first rows are a sample: of ten values in equal numbers it has more than a few."""
    rows = np.repeat(np.eye(10), 20, axis=0)
    found = _some_rows(rows, 100)
    assert len(np.unique(found[:10], axis=0)) > 4
    moved = _some_rows(np.random.default_rng(0).permutation(rows), 100)
    np.testing.assert_array_equal(found, moved)


@pytest.mark.parametrize("n_components", [0, 16])
@pytest.mark.parametrize("sizes", [[1] * 9, [3, 5, 2, 70, 1, 4], [40, 40], [200]])
def test_features_of_several_datasets_are_those_of_each(n_components, sizes, monkeypatch):
    monkeypatch.setattr(feature_map, "CACHED_VALUES", 120)
    features = FeatureMap(ColumnScaling(np.ones(3), np.full(3, 2.0)), n_components, 1.0, 0)
    rows = [np.random.default_rng(n).normal(size=(n, 3)) for n in sizes]
    for is_scaled in (False, True):
        found = [np.concatenate(list(blocks)) for blocks in features.of_each(rows, is_scaled)]
        for each, known in zip(found, rows, strict=True):
            np.testing.assert_allclose(each, features(known, is_scaled), rtol=1e-5)


def test_summaries_of_scaled_rows_leave_them_unchanged():
    scaling = ColumnScaling(np.ones(3), np.full(3, 2.0))
    features, sources = FeatureMap(scaling, 0, 1.0, 0), [Source(rows) for rows in datasets(3)]
    scaled = [each.some_scaled(scaling) for each in sources]
    before = [rows.copy() for rows in scaled]
    for number in range(3):
        found = Summary.of_many(scaled[number : number + 1], features, is_scaled=True)
        np.testing.assert_allclose(found.scatter, Summary.of_many([sources[number].rows], features).scatter)
    np.testing.assert_array_equal(scaled, before)
