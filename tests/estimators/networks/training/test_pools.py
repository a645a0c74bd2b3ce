"""Pools: which rows may be a numerator's, which a denominator's."""

import numpy as np
import pytest
import torch

from fewratio.data.collection import Collection, Dataset
from fewratio.errors import CollectionError
from fewratio.estimators.networks.training.pools import RowTable, inlier_pools, pair_pools
from tests.strategies import countable_collection


def rows_of(table, numbers):
    return table.rows[torch.from_numpy(numbers)].numpy()


def test_table_finds_the_rows_of_each_dataset():
    collection = countable_collection([4, 1, 7])
    table = RowTable([collection])
    assert table.rows.dtype == torch.float32
    for dataset in collection:
        np.testing.assert_array_equal(rows_of(table, table.numbers(dataset)), dataset.X)


def test_a_dataset_of_several_collections_is_stored_once():
    everything = countable_collection([4, 1, 7])
    table = RowTable([everything[:2], everything[1:], everything])
    assert len(table.rows) == 12
    for dataset in everything:
        np.testing.assert_array_equal(rows_of(table, table.numbers(dataset)), dataset.X)


def test_datasets_with_equal_names_in_different_collections_are_kept_apart():
    first, second = (Collection("x", [Dataset("same", None, np.full((3, 1), value))]) for value in (1.0, 2.0))
    table = RowTable([first, second], dtype=torch.float64)
    assert table.rows.dtype == torch.float64
    np.testing.assert_array_equal(rows_of(table, table.numbers(second[0])), second[0].X)


def test_any_dataset_is_numerator_and_denominator():
    collection = countable_collection([4, 1, 7])
    table = RowTable([collection])
    pools = pair_pools(collection, table)
    assert not pools.paired
    assert pools.names == ("a", "b", "c")
    for side in (pools.nu, pools.de):
        for numbers, dataset in zip(side, collection, strict=True):
            np.testing.assert_array_equal(numbers, table.numbers(dataset))


# ---------------------------------------------------------------- inliers against unlabelled

OUTLIERS = [np.arange(10) % 5 == 0, np.arange(7) == 3]  # 8 normals of 10, 6 of 7


@pytest.fixture
def labelled():
    collection = countable_collection([10, 7], OUTLIERS)
    return collection, RowTable([collection])


@pytest.mark.parametrize(("n_inliers", "expected"), [(None, (4, 3)), (1, (1, 1)), (6, (6, 6))])
def test_known_normals_are_normal_and_the_rest_is_unlabelled(labelled, n_inliers, expected):
    collection, table = labelled
    pools = inlier_pools(collection, table, np.random.default_rng(0), n_inliers)
    assert pools.paired
    assert tuple(map(len, pools.nu)) == expected
    for d, is_outlier in enumerate(OUTLIERS):
        dataset, place = rows_of(table, pools.nu[d]).T.astype(int)
        assert (dataset == d).all()
        assert not is_outlier[place].any()
        both = np.concatenate([pools.nu[d], pools.de[d]])
        np.testing.assert_array_equal(np.sort(both), table.numbers(collection[d]))


def test_the_generator_chooses_the_known_normals(labelled):
    def chosen(seed):
        return [set(numbers.tolist()) for numbers in inlier_pools(*labelled, np.random.default_rng(seed)).nu]

    assert chosen(0) == chosen(0)
    choices = [chosen(seed)[0] for seed in range(60)]
    normal = set(np.flatnonzero(~OUTLIERS[0]).tolist())
    assert set.union(*choices) == normal, "each normal is known now and then"
    assert not set.intersection(*choices)


def test_dataset_without_labels_is_named():
    collection = countable_collection([10, 7], [OUTLIERS[0], None])
    with pytest.raises(CollectionError, match="Dataset 'b' does not say which instances are outliers"):
        inlier_pools(collection, RowTable([collection]), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("flags", "n_inliers"),
    [([0, 0, 1], 3), ([0, 0, 0], 3), ([1, 1, 1], None), ([0, 1, 1], None)],
    ids=["too few normals", "nothing left over", "no normals", "half of one is none"],
)
def test_dataset_without_enough_normals_is_named(flags, n_inliers):
    collection = countable_collection([10, 3], [OUTLIERS[0], flags])
    with pytest.raises(CollectionError, match=f"Dataset 'b' has {3 - sum(flags)} normal instances of 3"):
        inlier_pools(collection, RowTable([collection]), np.random.default_rng(0), n_inliers)
