"""Sums over sources: those of parts add up to those of the whole, and what is taken out was never there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewratio import Collection, DiscriminantRatioEstimator
from fewratio.core import blocks
from fewratio.core.units import ColumnScaling
from fewratio.errors import InputError
from fewratio.estimators.closed_form import summary as module
from fewratio.estimators.closed_form.feature_map import FeatureMap
from fewratio.estimators.closed_form.summary import Summary
from tests.strategies import quick, seeds

FIELDS = ("n_sources", "n_rows", "inverse_sizes", "mean_sum", "scatter", "spreads")
# Cosines and their products are in single precision.
PRECISION = {0: 1e-9, 5: 1e-4}


def feature_map(n_components=0, n_features=3):
    return FeatureMap(ColumnScaling(np.full(n_features, 0.5), np.full(n_features, 2.0)), n_components, 1.5, seed=3)


def assert_same(found, wanted, precision):
    for name in FIELDS:
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=precision, atol=precision)
    outer = [(each.factor.T * each.signs) @ each.factor for each in (found, wanted)]
    np.testing.assert_allclose(*outer, rtol=precision, atol=precision)


@st.composite
def many_datasets(draw, least=0, most=6):
    rng = np.random.default_rng(draw(seeds))
    sizes = draw(st.lists(st.integers(1, 9), min_size=least, max_size=most))
    return [rng.normal(rng.normal(size=3), rng.uniform(0.1, 2), (n, 3)) for n in sizes]


@pytest.mark.parametrize("n_components", [0, 5])
@quick
@given(datasets=many_datasets(least=1))
def test_sums_are_those_of_the_textbook(n_components, datasets):
    features = feature_map(n_components)
    found, values = Summary.of_many(datasets, features), [features(rows).astype(float) for rows in datasets]
    means = np.array([rows.mean(0) for rows in values])
    centred = np.concatenate([rows - rows.mean(0) for rows in values])
    precision = PRECISION[n_components]
    assert (found.n_sources, found.n_rows) == (len(datasets), len(centred))
    np.testing.assert_allclose(found.inverse_sizes, sum(1 / len(rows) for rows in datasets))
    np.testing.assert_allclose(found.mean_sum, means.sum(0), rtol=precision, atol=precision)
    np.testing.assert_allclose(found.scatter, centred.T @ centred, rtol=precision, atol=precision)
    outer = (found.factor.T * found.signs) @ found.factor
    np.testing.assert_allclose(outer, means.T @ means, rtol=precision, atol=precision)
    assert found.spreads.sum() == sum(len(rows) > 1 for rows in datasets)


@pytest.mark.parametrize("n_components", [0, 5])
@quick
@given(first=many_datasets(), second=many_datasets(), seed=seeds)
def test_parts_add_up_and_come_off(n_components, first, second, seed):
    features, precision = feature_map(n_components), PRECISION[n_components]
    a, b = Summary.of_many(first, features), Summary.of_many(second, features)
    shuffled = [(first + second)[number] for number in np.random.default_rng(seed).permutation(len(first + second))]
    assert_same(a + b, Summary.of_many(shuffled, features), precision)
    assert_same(sum([a, b]), a + b, 0.0)
    assert_same(a + b - b, a, precision)


@quick
@given(datasets=many_datasets(least=1), seed=seeds)
def test_row_order_does_not_matter(datasets, seed):
    features = feature_map()
    shuffled = [np.random.default_rng(seed).permutation(rows) for rows in datasets]
    assert_same(Summary.of_many(shuffled, features), Summary.of_many(datasets, features), 1e-9)


@pytest.mark.parametrize("n_components", [0, 5])
def test_blocks_of_rows_and_many_means_do_not_matter(monkeypatch, n_components):
    rng = np.random.default_rng(0)
    # Far from the origin, where sums of squares would lose their digits.
    datasets = [rng.normal(50 * rng.normal(size=3), 1, (n, 3)) for n in rng.integers(1, 40, 300)]
    whole = Summary.of_many(datasets, feature_map(n_components))
    for each in (blocks, module):
        monkeypatch.setattr(each, "BLOCK_VALUES", 30)
    monkeypatch.setattr(module, "_MOST_MEANS", 4)
    pieces = Summary.of_many(datasets, feature_map(n_components))
    assert len(pieces.factor) < len(whole.factor)
    largest = np.abs(whole.scatter).max()
    np.testing.assert_allclose(pieces.scatter / largest, whole.scatter / largest, atol=PRECISION[n_components])
    np.testing.assert_allclose(pieces.mean_sum, whole.mean_sum, rtol=PRECISION[n_components])
    np.testing.assert_array_equal(pieces.spreads, whole.spreads)
    outer = [(each.factor.T * each.signs) @ each.factor for each in (pieces, whole)]
    np.testing.assert_allclose(*outer, rtol=1e-4)


def test_equal_rows_have_no_scatter():
    """Not even rounding, which would be taken for a covariance."""
    found = Summary.of_many([np.full((7, 3), value) for value in (0.1, 0.7)], feature_map(64))
    assert not found.scatter.any()


def test_what_was_not_added_is_not_taken_out():
    rng = np.random.default_rng(0)
    features = feature_map()
    a, b = (Summary.of_many([rng.normal(0, scale, (5, 3))], features) for scale in (1, 100))
    with pytest.raises(InputError, match=r"1 source of 5 rows, which are not among"):
        a - b
    with pytest.raises(InputError, match="not among"):
        a - (a + a)


def test_what_is_printed_is_short():
    total = sum(Summary.of_many([np.full((4, 3), value)], feature_map()) for value in (1.0, 2.0))
    assert repr(total) == f"Summary(2 sources, 8 rows, 3 features, map {total.features.fingerprint[:8]})"


def test_summaries_of_different_maps_do_not_add():
    rows = np.random.default_rng(0).normal(size=(5, 3))
    maps = feature_map(), feature_map(5), FeatureMap(feature_map().scaling, 5, 1.5, seed=4)
    assert len({each.fingerprint for each in maps}) == 3
    for other in maps[1:]:
        with pytest.raises(InputError, match="different maps"):
            Summary.of_many([rows], maps[0]) + Summary.of_many([rows], other)
    with pytest.raises(TypeError):
        Summary.of_many([rows], maps[0]) + 1


def test_spreads_are_those_of_the_datasets():
    """Quantiles of variances between 1 and 4, in units of their mean; a bin is three per cent wide."""
    rng = np.random.default_rng(0)
    variances = np.linspace(1, 4, 200)
    datasets = [rng.normal(0, np.sqrt(variance), (2000, 3)) for variance in variances]
    features = FeatureMap(ColumnScaling(np.zeros(3), np.ones(3)))
    found = Summary.of_many(datasets, features).spread_quantiles(4)
    np.testing.assert_allclose(found, np.array([1.375, 2.125, 2.875, 3.625]) / 2.5, rtol=0.05)
    assert Summary.of_many(datasets[:1], features).spread_quantiles(4).tolist() == [1.0]


@pytest.mark.slow
def test_a_source_that_was_never_added_is_not_taken_out():
    rng = np.random.default_rng(0)
    sources = [rng.normal(rng.normal(size=3), 1, (20, 3)) for _ in range(10)]
    learned = DiscriminantRatioEstimator(random_state=0).pretrain(Collection.from_arrays(sources))
    # As far as any source, in another direction; and with more rows than all of them.
    for other in (sources[0] + np.array([9, -9, 9]), np.tile(sources[0], (11, 1))):
        with pytest.raises(InputError, match="not among the 10"):
            learned.remove_source(other)
    learned.remove_source(sources[0])
