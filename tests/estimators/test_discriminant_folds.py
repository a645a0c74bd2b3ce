"""Which sources are held out together, and what pairs of them count for."""

import numpy as np
import pytest

from fewratio.estimators.discriminant_choice import _dealt, _some_sources, weights_of_pairs


def datasets(n_datasets):
    """Datasets that tell their number by their first value."""
    rng = np.random.default_rng(0)
    found = rng.normal(size=(n_datasets, 5, 3))
    found[:, 0, 0] = np.arange(n_datasets)
    return list(found)


@pytest.mark.parametrize("n_datasets", [8, 40, 100])
def test_sources_of_a_group_are_held_out_together(n_datasets):
    groups = [f"group {number % 4}" for number in range(n_datasets)]
    for dealt in (_dealt(datasets(n_datasets), groups), _some_sources(_dealt(datasets(n_datasets), groups), 48)):
        for turn in range(4):
            assert len({int(rows[0, 0]) % 4 for rows in dealt[turn::4]}) == 1


def test_all_sources_are_dealt_whatever_their_order_and_units():
    sources = datasets(11)
    dealt = _dealt(sources, [None] * 11)
    assert sorted(rows[0, 0] for rows in dealt) == list(range(11))
    again = _dealt([1000 * rows for rows in sources[::-1]], [None] * 11)
    np.testing.assert_allclose(np.array(again), 1000 * np.array(dealt))


def test_those_held_out_together_are_not_far_apart_by_rule():
    """In an order of the first column, every fourth dataset would be."""
    numbers = np.array([rows[0, 0] for rows in _dealt(datasets(40), [None] * 40)])
    assert np.diff(np.sort(numbers[::4])).min() < 4


@pytest.mark.parametrize("n_datasets", [2, 3, 10, 30])
def test_one_pair_in_ten_is_of_a_dataset_with_itself(n_datasets):
    numbers = np.arange(n_datasets)
    weights = weights_of_pairs(numbers[:, None], numbers, n_datasets)
    assert np.trace(weights) / weights.sum() == pytest.approx(0.1)
