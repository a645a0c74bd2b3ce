"""The index of datasets: the neighbours that all pairs give, saved, added to, and of mixed tables."""

import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewratio import (
    KLIEP,
    AutoRatioEstimator,
    Collection,
    DatasetIndex,
    DiscriminantRatioEstimator,
    InputError,
    ModelFileError,
    ParameterError,
    RuLSIF,
    compare_all,
    compare_datasets,
)
from fewratio.core.container import read_tensors, write_tensors
from fewratio.errors import CollectionError, MissingPackageError
from fewratio.many import dataset_index, dataset_vectors
from tests.strategies import quick, seeds

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


def test_a_dataset_of_more_rows_than_are_kept_finds_itself():
    rng = np.random.default_rng(0)
    sets = {f"set {i}": rng.normal(0, 1, (30, 2)) for i in range(20)}
    index = DatasetIndex.build(sets, n_rows=8, random_state=3)
    index.add({"added": rng.normal(0, 1, (40, 2))})
    found = {name: index.search(table[::-1], k=1) for name, table in sets.items()}
    assert {name: each.names[0] for name, each in found.items()} == {name: name for name in sets}
    assert max(each.divergences[0] for each in found.values()) < 1e-9


@quick
@given(
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=30), d=st.integers(1, 3), k=st.integers(1, 40), seed=seeds
)
def test_a_search_of_few_datasets_is_a_comparison_with_each(sizes, d, k, seed):
    sets = family(len(sizes), d, seed, sizes)
    found, all_pairs = DatasetIndex.build(sets).search(sets["set 0"], k), compare_all(sets)
    of_pairs = all_pairs.nearest("set 0", len(sets))
    divergences = {"set 0": 0.0} | {name: max(value, 0) for name, value in of_pairs}
    assert len(set(found.names)) == len(found.names) == min(k, len(sets))
    np.testing.assert_allclose(found.divergences, [divergences[name] for name in found.names], atol=1e-9)
    np.testing.assert_allclose(found.divergences, sorted(divergences.values())[: len(found.names)], atol=1e-9)


def n_found(sets, n_searches, n_compared=200):
    """Count the ten nearest, by the divergences from all, that searches find."""
    index, count = DatasetIndex.build(sets), 0
    for name in list(sets)[:n_searches]:
        everything = index._divergences(sets[name], np.arange(len(sets)))
        best = np.argsort(everything, kind="stable")[:10]
        count += len({index.names[i] for i in best} & set(index.search(sets[name], n_compared=n_compared).names))
    return count


@pytest.mark.slow
def test_datasets_that_differ_in_spread_are_found():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2_000, 5, 64)) * np.exp(rng.normal(0, 0.5, (2_000, 1, 1)))
    sets = dict(zip(map(str, range(2_000)), rows + rng.normal(0, 0.3, (2_000, 1, 64)), strict=True))
    # With 200 candidates by means of kernels and 10 by means over spreads it is 160.
    assert n_found(sets, 20) >= 190


@pytest.mark.slow
def test_the_more_are_compared_the_fewer_are_missed():
    # Of many columns of noise, which datasets are nearest is little more than chance.
    rows = np.random.default_rng(0).normal(size=(500, 5, 200))
    sets = dict(zip(map(str, range(500)), rows, strict=True))
    found = [n_found(sets, 10, n_compared) for n_compared in (20, 100, 500)]
    assert found[0] < found[1] < found[2] == n_found(sets, 10, None) == 100
    index = DatasetIndex.build(sets)
    assert all(len(index.search(sets["0"], k=k, n_compared=k).names) == k for k in (1, 10, 499))
    with pytest.raises(ParameterError, match=r"n_compared is 5 and k is 6; .* Raise it"):
        index.search(sets["0"], k=6, n_compared=5)


@pytest.mark.slow
def test_many_vectors_are_rounded(monkeypatch):
    monkeypatch.setattr(dataset_vectors, "MAX_EXACT", 100)
    assert n_found(family(n=2_000, d=8), 20) >= 195


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


def test_datasets_added_one_by_one_are_found_as_if_built_at_once():
    sets, estimator = family(sizes=(1, 5)), RuLSIF()
    names = list(sets)
    index = DatasetIndex.build({name: sets[name] for name in names[:20]}, estimator=estimator)
    for name in names[20:]:
        index.add({name: sets[name]})
    for name in ("set 3", "set 40"):
        found, at_once = (each.search(sets[name], 8) for each in (index, DatasetIndex.build(sets, estimator=estimator)))
        assert found.names == at_once.names
        np.testing.assert_allclose(found.divergences, at_once.divergences, atol=1e-12)


@pytest.mark.parametrize(
    "learned", [None, DiscriminantRatioEstimator, pytest.param(AutoRatioEstimator, marks=pytest.mark.slow)]
)
def test_a_saved_index_gives_the_same(tmp_path, learned):
    sets = family(sizes=(4, 6))
    estimator = None if learned is None else learned(random_state=0).pretrain(Collection.from_arrays(sets))
    index = DatasetIndex.build(sets, estimator=estimator)
    index.save(tmp_path / "sets.index")
    query, loaded = family(1, seed=5)["set 0"], DatasetIndex.load(tmp_path / "sets.index")
    found, again = (each.search(query, 5, n_permutations=20) for each in (index, loaded))
    assert found.to_dict() == again.to_dict()
    loaded.save(tmp_path / "again.index")
    files = [read_tensors(tmp_path / name, "index") for name in ("sets.index", "again.index")]
    bits = [{name: (array.dtype, array.tobytes()) for name, array in arrays.items()} for arrays, _ in files]
    assert bits[0] == bits[1]
    assert files[0][1] == files[1][1]
    if learned:
        expected = [
            compare_all({"x": query, name: sets[name]}, estimator=estimator).divergences.sum() / 2
            for name in found.names
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
    found = index.search(query, 5, n_permutations=30).to_dict()
    assert index.search(query, 5, n_permutations=30).to_dict() == found
    turned = index.search(query[::-1], 5, n_permutations=30).to_dict()
    assert turned["names"] == found["names"]
    np.testing.assert_allclose(turned["divergences"], found["divergences"])


def test_mistakes_are_explained(tmp_path):
    sets = family(5)
    index = DatasetIndex.build(sets)
    for call, error, message in (
        (lambda: index.search(sets["set 0"], k=0), ParameterError, "k is 0"),
        (lambda: index.search([[1.0, 2.0]]), InputError, "2 columns but the index has 3"),
        (
            lambda: DatasetIndex.build(sets, estimator=KLIEP()).save(tmp_path / "x"),
            ParameterError,
            r"KLIEP\(\), which its file",
        ),
        (lambda: DatasetIndex.build(sets, n_rows=0), ParameterError, "n_rows is 0"),
    ):
        with pytest.raises(error, match=message):
            call()
    path = tmp_path / "sets.index"
    index.save(path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ModelFileError, match="Build it again"):
        DatasetIndex.load(path)


def test_a_file_of_one_vector_per_dataset_is_refused(tmp_path):
    path = tmp_path / "sets.index"
    DatasetIndex.build(family(5)).save(path)
    arrays, header = read_tensors(path, "index")
    older = {name.removeprefix("0."): array for name, array in arrays.items() if not name.startswith("1.")}
    write_tensors(path, "index", older, header)
    with pytest.raises(ModelFileError, match=r"does not fit together.*Build it again"):
        DatasetIndex.load(path)


def test_datasets_of_one_and_the_same_row():
    index = DatasetIndex.build({"a": [[1.0, 2.0]], "b": [[1.0, 2.0]]})
    assert index.search([[1.0, 2.0]]).names == ("a", "b")


def test_an_index_that_could_not_be_searched_is_not_built(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    few = [np.ones((3, 2)), np.zeros((3, 2))]
    assert DatasetIndex.build(few).search(few[1], 1).names == ("1",)
    monkeypatch.setattr(dataset_index, "MAX_EXACT", 1)
    with pytest.raises(MissingPackageError, match="DatasetIndex needs faiss"):
        DatasetIndex.build(few)


def test_vectors_of_few_are_found_as_by_faiss():
    import faiss

    rng = np.random.default_rng(0)
    vectors, asked = rng.normal(size=(300, 8)).astype(np.float32), rng.normal(size=(2, 8)).astype(np.float32)
    theirs = faiss.IndexFlatL2(8)
    theirs.add(vectors)
    for mine, other in zip(
        dataset_vectors.make_searcher(vectors).search(asked, 9), theirs.search(asked, 9), strict=True
    ):
        np.testing.assert_allclose(mine, other, rtol=1e-4)
