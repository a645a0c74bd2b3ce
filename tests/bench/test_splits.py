"""Splits: the paper's counts, no dataset twice, and the same every time."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fewratio.core.draws import seed_for
from fewratio.data.collection import Collection, Dataset
from fewratio.data.registry import SOURCES
from fewratio.errors import CollectionError
from fewratio_bench.splits import PROTOCOLS, Protocol

# Source, validation, target, as the paper states them.
COUNTS = {
    "mnist_r": (40, 10, 10),
    "isolet": (110, 10, 10),
    "digits_r": (40, 10, 10),
    "landmine": (23, 3, 3),
    "school": (54, 10, 10),
    "iot": (7, 1, 1),
}
NORMALS = {"landmine": 200, "school": 50, "iot": 200}


def collection_of(name, n_groups=None, n_rows=2, n_normals=None):
    """As many tiny datasets as the source has, named and grouped alike."""
    n_datasets = sum(COUNTS[name])
    groups = {"mnist_r": 6, "digits_r": 6, "isolet": 5}.get(name, 1) if n_groups is None else n_groups
    flags = None if n_normals is None else np.arange(n_normals + 1) == n_normals
    n_rows = n_rows if flags is None else len(flags)
    return Collection(
        name,
        [
            Dataset(f"d{i}", f"g{i * groups // n_datasets}", np.full((n_rows, 1), float(i)), flags)
            for i in range(n_datasets)
        ],
    )


def whole(name):
    return collection_of(name, n_normals=NORMALS.get(name))


def names(split):
    return split.source.names, split.validation.names, split.target.names


@pytest.mark.parametrize("name", COUNTS)
@settings(max_examples=15, deadline=None)
@given(number=st.integers(0, 10**6))
def test_every_dataset_has_one_role_and_the_counts_are_the_papers(name, number):
    collection = whole(name)
    split = PROTOCOLS[name].split(collection, number)
    assert tuple(map(len, (split.source, split.validation, split.target))) == COUNTS[name]
    assert sorted(sum(names(split), ())) == sorted(collection.names)
    assert split.n_normals == NORMALS.get(name)
    assert split.number == number
    if name in ("mnist_r", "isolet", "digits_r"):
        assert len(set(split.target.groups)) == 1
    assert names(split) == names(PROTOCOLS[name].split(collection, number))


def test_the_table_is_complete():
    assert set(PROTOCOLS) == set(COUNTS) <= set(SOURCES)


def test_ten_splits_are_different_and_data_do_not_share_draws():
    splits = [names(PROTOCOLS["mnist_r"].split(whole("mnist_r"), number)) for number in range(10)]
    assert len(set(splits)) == 10
    assert len({target for _, _, target in splits}) > 1
    assert splits != [names(PROTOCOLS["digits_r"].split(whole("digits_r"), number)) for number in range(10)]


def test_all_of_a_group_may_be_validation_or_source_but_for_the_targets():
    # "From the remaining datasets": the other letters of the target's group stay in play.
    split = PROTOCOLS["isolet"].split(whole("isolet"), 0)
    (group,) = set(split.target.groups)
    assert (split.validation.groups + split.source.groups).count(group) == 16


def test_seeds_do_not_drift():
    # Records of earlier runs name these splits; a change of the seeds would make them incomparable.
    assert seed_for("mnist_r", 0, "target") == 2667012628464934623
    split = PROTOCOLS["landmine"].split(whole("landmine"), 0)
    assert split.target.names == ("d2", "d9", "d24")
    assert split.validation.names == ("d0", "d12", "d19")


@pytest.mark.parametrize("part", [np.int64(3), np.uint8(3), torch.tensor(3)])
def test_seed_for_knows_an_integer_of_any_type(part):
    assert seed_for("a", part) == seed_for("a", 3)
    assert seed_for(np.str_("a"), part) == seed_for("a", 3)


@pytest.mark.parametrize("part", [3.0, None, b"a", (1, 2)])
def test_seed_for_takes_text_and_integers_only(part):
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        seed_for("a", part)


def test_seed_for_tells_roles_apart():
    seeds = {seed_for(*role) for role in (("a", 0), ("a", 1), ("a", "0"), ("a0",), ("a", 0, "target"))}
    assert len(seeds) == 5
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_an_incomplete_collection_is_refused():
    with pytest.raises(CollectionError, match=r"'iot' has 1 dataset; the protocol of iot deals out 9 \(1 target"):
        PROTOCOLS["iot"].split(whole("iot")[:1], 0)


def test_groups_too_small_for_the_targets_are_refused():
    with pytest.raises(CollectionError, match="has a group of 4 datasets; 10 targets"):
        PROTOCOLS["digits_r"].split(collection_of("digits_r", n_groups=15), 0)


@pytest.mark.parametrize(
    ("n_normals", "found"), [(49, "has 49 known normal instances"), (None, "has 0 known normal instances")]
)
def test_too_few_normals_are_refused_by_dataset(n_normals, found):
    with pytest.raises(CollectionError, match=f"'d0' {found}; 50 are needed"):
        PROTOCOLS["school"].split(collection_of("school", n_normals=n_normals), 0)


def test_a_protocol_of_ones_own():
    split = Protocol("mine", n_target=2, n_validation=1, n_source=4).split(whole("landmine")[:7], 3)
    assert tuple(map(len, (split.source, split.validation, split.target))) == (4, 1, 2)
