"""The index of datasets: the neighbours that all pairs give, saved, added to, and of mixed tables."""

import numpy as np
import polars as pl
import pytest

from fewratio import (
    KLIEP,
    Collection,
    CollectionError,
    DatasetIndex,
    DiscriminantRatioEstimator,
    InputError,
    ModelFileError,
    ParameterError,
    compare_all,
    compare_datasets,
)
from fewratio.applications import dataset_vectors

pytest.importorskip("faiss")


def family(n=60, d=3, seed=0, sizes=(5,)):
    rng = np.random.default_rng(seed)
    return {f"set {i}": rng.normal(rng.normal(0, 2, d), 1, (sizes[i % len(sizes)], d)) for i in range(n)}


@pytest.mark.parametrize("sizes", [(5,), (1, 4, 7)], ids=str)
def test_neighbours_are_those_of_all_pairs(sizes):
    sets = family(sizes=sizes)
    index, all_pairs = DatasetIndex.build(sets), compare_all(sets)
    for name in ("set 0", "set 1", "set 2"):
        found = index.search(sets[name], k=6)
        others = [pair for pair in zip(found.names, found.divergences, strict=True) if pair[0] != name][:5]
        expected = all_pairs.nearest(name, 5)
        assert [each[0] for each in others] == [each[0] for each in expected]
        np.testing.assert_allclose([each[1] for each in others], [each[1] for each in expected], atol=1e-6)


def test_many_vectors_are_rounded(monkeypatch):
    monkeypatch.setattr(dataset_vectors, "_MAX_EXACT", 100)
    sets = family(n=2_000, d=8)
    index, n_right = DatasetIndex.build(sets), 0
    for name in list(sets)[:20]:
        everything = index._divergences(sets[name], np.arange(len(sets)))
        best = np.argsort(everything, kind="stable")[:10]
        n_right += len({index.names[i] for i in best} & set(index.search(sets[name]).names))
    assert n_right >= 195


def test_what_is_added_is_found_as_if_it_had_been_there():
    sets = family()
    names = list(sets)
    index = DatasetIndex.build({name: sets[name] for name in names[:50]})
    index.add({name: sets[name] for name in names[50:]})
    assert len(index) == 60
    assert index.names == tuple(names)
    assert index.search(sets["set 55"], k=1).names == ("set 55",)
    with pytest.raises(CollectionError, match=r"set 3.*already"):
        index.add({"set 3": sets["set 3"]})


@pytest.mark.parametrize("learned", [False, True])
def test_a_saved_index_gives_the_same(tmp_path, learned):
    sets = family(sizes=(4, 6))
    estimator = DiscriminantRatioEstimator().pretrain(Collection.from_arrays(sets)) if learned else None
    index = DatasetIndex.build(sets, estimator)
    index.save(tmp_path / "sets.index")
    query = family(1, seed=5)["set 0"]
    found, again = (each.search(query, 5, 20) for each in (index, DatasetIndex.load(tmp_path / "sets.index")))
    assert found.to_dict() == again.to_dict()
    if learned:
        expected = [
            compare_all({"x": query, name: sets[name]}, estimator).divergences.sum() / 2 for name in found.names
        ]
        np.testing.assert_allclose(found.divergences, np.maximum(expected, 0), atol=1e-6)


def test_p_values_are_those_of_the_two_sample_test():
    sets = family(12, sizes=(3,))
    query = sets["set 0"] + 0.1
    found = DatasetIndex.build(sets).search(query, 3, n_permutations=50)
    # Twenty permutations of three and three rows: all are taken.
    with pytest.warns(UserWarning, match="3 rows and 3 rows"):
        expected = [
            compare_datasets(query, sets[name], n_permutations=50, random_state=0).p_value for name in found.names
        ]
    np.testing.assert_allclose(found.p_values, expected)


def test_mixed_tables_are_encoded_as_those_of_the_index(tmp_path):
    rng = np.random.default_rng(0)

    def frame(mean, kinds):
        return pl.DataFrame({"size": rng.normal(mean, 1, 8), "kind": rng.choice(list(kinds), 8)})

    index = DatasetIndex.build({"small": frame(0, "ab"), "large": frame(9, "ab"), "other": frame(0, "bc")})
    index.save(tmp_path / "mixed.index")
    index = DatasetIndex.load(tmp_path / "mixed.index")
    assert index.search(frame(8, "ab"), 1).names == ("large",)
    # A category that the index does not know is no error.
    with pytest.warns(UserWarning, match=r"not in the index \('z'\)"):
        assert index.search(frame(0, "bz"), 3).names[-1] == "large"
    with pytest.raises(InputError, match="the index"):
        index.search(pl.DataFrame({"size": [1.0]}))


def test_order_of_rows_and_repeated_searches_change_nothing():
    sets = family()
    index = DatasetIndex.build(sets, n_rows=3)
    query = family(1, seed=3)["set 0"]
    found = index.search(query, 5, 30).to_dict()
    assert index.search(query, 5, 30).to_dict() == found
    turned = index.search(query[::-1], 5, 30).to_dict()
    assert turned["names"] == found["names"]
    np.testing.assert_allclose(turned["divergences"], found["divergences"])


def test_mistakes_are_explained(tmp_path):
    sets = family(5)
    index = DatasetIndex.build(sets)
    for call, error, message in (
        (lambda: index.search(sets["set 0"], k=0), ParameterError, "k is 0"),
        (lambda: index.search([[1.0, 2.0]]), InputError, "2 columns but the index has 3"),
        (lambda: DatasetIndex.build(sets, KLIEP()).save(tmp_path / "x"), ParameterError, "KLIEP, which its file"),
        (lambda: DatasetIndex.build(sets, n_rows=0), ParameterError, "n_rows is 0"),
    ):
        with pytest.raises(error, match=message):
            call()
    path = tmp_path / "sets.index"
    index.save(path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ModelFileError, match="Build it again"):
        DatasetIndex.load(path)


def test_datasets_of_one_and_the_same_row():
    index = DatasetIndex.build({"a": [[1.0, 2.0]], "b": [[1.0, 2.0]]})
    assert index.search([[1.0, 2.0]]).names == ("a", "b")
