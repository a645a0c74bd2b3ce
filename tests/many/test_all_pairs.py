"""All pairs of a collection: the same as one pair after the other, in blocks, resumed, within bounds."""

import json
import tracemalloc
import warnings
from dataclasses import replace

import joblib
import numpy as np
import polars as pl
import pytest

from fewratio import Collection, InputError, ModelFileError, ParameterError, RuLSIF, compare_all, compare_datasets
from fewratio.errors import CollectionError, DataNotFoundError, FewRatioWarning
from fewratio.many.pair_blocks import cut_into_blocks

FEW = pytest.mark.filterwarnings("ignore:The smallest p-value")


def collection(sizes=(3, 4, 3, 5), d=2, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return Collection.from_arrays({f"set {i}": rng.normal(i * shift, 1, (n, d)) for i, n in enumerate(sizes)})


@FEW
@pytest.mark.filterwarnings("ignore:With . rows and . rows")
@pytest.mark.parametrize("estimator", [None, RuLSIF(), RuLSIF(reg="cv", random_state=0)], ids=repr)
def test_the_matrices_are_those_of_each_pair(estimator):
    sets = collection((2, 3, 2, 5))
    result = compare_all(sets, estimator=estimator, n_permutations=200, random_state=0)
    for i, a in enumerate(sets):
        for j, b in enumerate(sets):
            if i == j:
                assert result.divergences[i, j] == 0
                assert result.p_values[i, j] == 1
                continue
            if estimator is not None:
                both = estimator.fit(a.X, b.X).divergence() + estimator.fit(b.X, a.X).divergence()
                assert result.divergences[i, j] == pytest.approx(both / 2, abs=1e-7)
            if estimator is None or estimator.reg != "cv":
                # Else what is left out of two or three rows depends on their order where a symmetry exchanges them.
                one = compare_datasets(a, b, estimator=estimator, n_permutations=200, random_state=0)
                assert one.is_enumerated
                assert result.p_values[i, j] == one.p_value


@FEW
def test_the_columns_of_the_test_are_those_of_the_tables():
    # Three categories make three features of one column.
    rng = np.random.default_rng(0)
    frames = {
        name: pl.DataFrame({"size": rng.normal(size=6), "kind": rng.permutation(list("aabbcc"))}) for name in "xy"
    }
    result = compare_all(frames, n_permutations=923, n_rows=None, random_state=0)
    assert result.p_values[0, 1] == compare_datasets(*frames.values(), n_permutations=923, random_state=0).p_value


def test_every_pair_is_in_one_block():
    sizes = [3, 500, 4, 4, 3, 3, 700, 2000]
    work = cut_into_blocks(sizes, n_features=5000, n_permutations=30)
    seen = np.zeros((8, 8), dtype=int)
    for block in work:
        assert all(len({sizes[i] for i in side}) == 1 for side in block)
        i, j = block.pairs()
        np.add.at(seen, (i, j), 1)
        np.add.at(seen, (j, i), 1)
    np.testing.assert_array_equal(seen, 1 - np.eye(8))


@FEW
@pytest.mark.slow
def test_neither_blocks_nor_workers_matter():
    # Other datasets make other blocks: of thirty of nine rows there are several per side.
    sets = collection((3, 9, 9, 9, 4, 3, *[9] * 27))
    few = Collection.from_arrays({dataset.name: dataset.X for dataset in list(sets)[:6]})
    # Units of the columns are those of all datasets together, so other ones change them.
    expected = compare_all(few, estimator=RuLSIF(), n_permutations=20, random_state=0)
    with joblib.parallel_config(backend="threading"):
        result = compare_all(sets, estimator=RuLSIF(), n_permutations=20, n_jobs=2, random_state=0)
    np.testing.assert_allclose(result.divergences[:6, :6], expected.divergences, atol=1e-12)
    np.testing.assert_array_equal(result.p_values[:6, :6], expected.p_values)


def test_the_seed_decides_of_estimators_that_draw():
    # Past 300 rows the default draws its centres.
    sets = collection((160, 170))
    first, again = (compare_all(sets, n_rows=None, random_state=0).divergences for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_of_a_large_dataset_rows_are_drawn_once():
    sets = collection((30, 7, 40), d=1)
    result = compare_all(sets, n_rows=10, random_state=0)
    np.testing.assert_array_equal(result.divergences, compare_all(sets, n_rows=10, random_state=0).divergences)
    whole = compare_all(sets, n_rows=None)
    both = [RuLSIF().fit(sets[i].X, sets[j].X).divergence() for i, j in ((0, 2), (2, 0))]
    assert whole.divergences[0, 2] == pytest.approx(np.mean(both), abs=1e-7)
    assert whole.divergences[0, 2] != result.divergences[0, 2]


# ---------------------------------------------------------------- interrupted and resumed


class Interrupted(RuLSIF):
    """Counts the calls for many pairs, and is interrupted at one of them."""

    calls, stop_at = 0, None

    def _divergences(self, rows, nu, de):
        type(self).calls += 1
        if self.calls == self.stop_at:
            raise KeyboardInterrupt
        return super()._divergences(rows, nu, de)


@FEW
def test_an_interrupted_comparison_is_resumed(tmp_path):
    class Mine(Interrupted):
        pass

    sets, path = collection((3, 4, 5, 6, 7)), tmp_path / "work.safetensors"
    settings = dict(estimator=Mine(), n_permutations=10, random_state=0)
    expected = compare_all(sets, **settings)
    n_calls, Mine.calls = Mine.calls, 0
    Mine.stop_at = n_calls - 2
    with pytest.raises(KeyboardInterrupt):
        compare_all(sets, checkpoint=path, **settings)
    Mine.calls, Mine.stop_at = 0, None
    result = compare_all(sets, checkpoint=path, **settings)
    assert 0 < Mine.calls < n_calls
    np.testing.assert_array_equal(result.divergences, expected.divergences)
    np.testing.assert_array_equal(result.p_values, expected.p_values)
    # Once more: there is nothing left to do.
    Mine.calls = 0
    np.testing.assert_array_equal(compare_all(sets, checkpoint=path, **settings).divergences, expected.divergences)
    assert Mine.calls == 0


def test_a_damaged_checkpoint_is_refused_in_one_sentence(tmp_path):
    path = tmp_path / "work.safetensors"
    compare_all(collection(), checkpoint=path, random_state=0)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ModelFileError, match=r"work\.safetensors.*Delete it to start afresh"):
        compare_all(collection(), checkpoint=path, random_state=0)


def test_rows_are_drawn_alike_without_a_seed():
    sets = collection([30, 40, 50])
    first, again, other = (compare_all(sets, n_rows=5, **seed).divergences for seed in ({}, {}, {"random_state": 1}))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_checkpoint_of_other_work_is_refused(tmp_path):
    path = tmp_path / "work.safetensors"
    compare_all(collection(), checkpoint=path, random_state=0)
    for other in (
        lambda: compare_all(collection(seed=1), checkpoint=path, random_state=0),
        lambda: compare_all(collection(), estimator=RuLSIF(alpha=0.1), checkpoint=path, random_state=0),
        lambda: compare_all(collection(), checkpoint=path, random_state=1),
    ):
        with pytest.raises(ModelFileError, match=r"another comparison.*Delete it"):
            other()
    with pytest.raises(ParameterError, match="random_state is None"):
        compare_all(collection(), checkpoint=path, random_state=None)
    with pytest.raises(DataNotFoundError, match="nowhere does not exist"):
        compare_all(collection(), checkpoint=tmp_path / "nowhere" / "x", random_state=0)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_pairs():
    def peak(n):
        sets = collection([5] * n, d=8)
        tracemalloc.start()
        compare_all(sets)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found - 8 * n**2

    peak(10)
    # Four times the pairs; what NumPy holds besides the matrix is a few blocks.
    assert peak(420) < 1.5 * peak(210) + 2**20


# ---------------------------------------------------------------- what is read off


def test_neighbours_order_and_adjusted_p_values():
    sets = Collection.from_arrays(
        {
            name: np.random.default_rng(i).normal(mean, 1, (9, 2))
            for i, (name, mean) in enumerate(zip("abcd", (0, 9, 0, 9), strict=True))
        }
    )
    result = compare_all(sets, n_permutations=200, random_state=0)
    assert result.nearest("a", 2)[0][0] == "c"
    assert len(result.nearest("b")) == 3
    ordered = "".join(sets.names[i] for i in result.order())
    assert set(ordered[:2]) in ({"a", "c"}, {"b", "d"})
    p, adjusted = result.p_values, result.adjusted_p_values
    np.testing.assert_array_equal(adjusted, adjusted.T)
    # Four of six pairs differ as much as 200 permutations can show: 6 / 4 times the p-value.
    assert p[0, 1] == 1 / 201
    assert adjusted[0, 1] == pytest.approx(6 / 4 / 201)
    assert "4 datasets" in repr(result)
    json.dumps(result.to_dict())
    assert result.plot().spec["encoding"]["y"]["title"] == "dataset"


def test_too_few_permutations_are_told():
    with pytest.warns(UserWarning, match=r"smallest p-value .* 19 permutations .* None of 6 pairs .* 120 permutations"):
        compare_all(collection((8, 9, 8, 9)), n_permutations=19, random_state=0)


def test_permutations_that_hid_nothing_are_not_too_few():
    # A warning would be an error here.
    result = compare_all(collection((8, 9, 8, 9), shift=9), n_permutations=19, random_state=0)
    assert (result.adjusted_p_values[np.triu_indices(4, 1)] == 1 / 20).all()


def test_one_bar_of_progress(capsys):
    compare_all(collection(), progress=True)
    assert "comparing" in capsys.readouterr().err


def test_what_is_wrong_is_named():
    with pytest.raises(CollectionError, match="1 dataset; at least two are needed"):
        compare_all(collection((3,)))
    for n_jobs in (0, 1.5, True):
        with pytest.raises(ParameterError, match=rf"n_jobs is {n_jobs}; expected a number of workers"):
            compare_all(collection(), n_jobs=n_jobs)
    with pytest.raises(ParameterError, match="n_rows is 0"):
        compare_all(collection(), n_rows=0)
    with pytest.raises(ParameterError, match="estimator is 3"):
        compare_all(collection(), estimator=3)
    with pytest.raises(ParameterError, match="no dataset 'x'; there are 'set 0'"):
        compare_all(collection()).nearest("x")
    with pytest.raises(InputError, match="column 0 of dataset 'b' has 1 infinite value"):
        compare_all({"a": [[1.0]], "b": [[np.inf]]})


def test_a_new_dataset_is_ranked_among_the_others():
    rng = np.random.default_rng(0)
    known = {f"{i}": rng.normal(i % 3, 1, (12, 2)) for i in range(24)}
    new = {"like": rng.normal(1, 1, (7, 2)), "far": rng.normal(40, 1, (9, 2))}
    result = compare_all(known, new=new, random_state=0)
    # Another road: the same datasets with as many rows each, ranked by hand.
    same = compare_all(known | new, n_rows=7, random_state=0)
    np.testing.assert_array_equal(result.divergences, same.divergences)
    nearest = {name: next(far for other, far in same.nearest(name, 3) if other not in new) for name in same.names}

    def scores(values):
        apart = np.array(values) - np.median(values, axis=0)
        return apart / np.abs(apart).mean(0)

    for name, p_value in result.new_p_values.items():
        profiles, nearest_of = result.profiles[name], [nearest[each] for each in [*known, name]]
        of_columns, of_pairs = np.abs(profiles.scores[:, :6]).max(1), np.abs(profiles.scores[:, 6])
        unlike = np.max([scores(each) for each in (nearest_of, of_columns, of_pairs)], axis=0)
        np.testing.assert_allclose(result.novelty_scores[name], unlike)
        assert p_value == pytest.approx((1 + sum(unlike[:-1] >= unlike[-1])) / 25)
    assert result.new_p_values["like"] > 0.05 > result.new_p_values["far"] == 1 / 25
    assert json.loads(json.dumps(result.to_dict()))["new_p_values"] == result.new_p_values
    assert "new_p_values" not in same.to_dict()


def test_a_new_dataset_says_which_column_is_unlike_those_of_the_others():
    rng = np.random.default_rng(0)
    known = {f"{i}": rng.normal(0, 1, (30, 3)) + rng.normal(0, 3, 3) for i in range(40)}
    wide = rng.normal(0, 1, (8, 3)) * [1, 20, 1]
    result = compare_all(known, new={"wide": wide, "shifted": rng.normal([0, 0, 25], 1, (8, 3))}, random_state=0)
    assert result.new_p_values == {"wide": 1 / 41, "shifted": 1 / 41}
    first, *rest = result.new_columns("wide")
    assert (first.column, first.statistic, first.value) == ("1", "deviation", pytest.approx(wide[:, 1].std()))
    assert first.low < first.high < first.value
    assert {first.column, *(each.column for each in rest)} >= {"0", "1", "2"}
    order = [(not each.is_outside, each.is_outside and each.statistic == "residual", -each.score) for each in rest]
    assert order == sorted(order)
    assert result.verdict("shifted").startswith(
        "shifted is unlike all 40 other datasets (p = 0.024). Farthest: 2, mean 2"
    )
    with pytest.raises(ParameterError, match="'0' is not a new dataset; there are 'wide', 'shifted'"):
        result.new_columns("0")
    with pytest.raises(ParameterError, match="'0' is not a new dataset; none was judged"):
        compare_all(known, n_rows=2).new_columns("0")


def test_p_values_of_new_datasets_that_are_like_the_others_are_valid():
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(60):
        datasets = {f"{i}": rng.standard_t(3, (5, 2)) + rng.normal(0, 2, 2) for i in range(20)}
        result = compare_all(datasets, new={"new": rng.standard_t(3, (5, 2)) + rng.normal(0, 2, 2)}, random_state=0)
        p_values.append(result.new_p_values["new"])
    for level in (0.1, 0.25, 0.5):
        # Three standard deviations.
        assert np.mean(np.array(p_values) <= level) < level + 3 * (level * (1 - level) / 60) ** 0.5


def test_equal_columns_and_far_values_can_be_judged():
    known = {f"{i}": [[1.0, 1e100], [1.0, 2e100 + i * 1e98]] for i in range(20)}
    p_value = compare_all(known, new={"new": [[1.0, 1e100], [1.0, 2.1e100]]}).new_p_values["new"]
    assert 0 < p_value <= 1


def test_a_new_dataset_is_encoded_as_the_others():
    rng = np.random.default_rng(0)

    def frame(n_rows=8, kinds="ab"):
        return pl.DataFrame({"size": rng.normal(size=n_rows), "kind": rng.choice(list(kinds), n_rows)})

    known = {f"{i}": frame() for i in range(3)}
    with pytest.warns(
        UserWarning, match="column 'kind' of dataset 'new' has categories that are not in the collection"
    ):
        assert compare_all(known, new={"new": frame(kinds="abc")}, random_state=0).new == ("new",)
    with pytest.raises(InputError, match="dataset 'new'"):
        compare_all(known, new={"new": frame().drop("size")})
    with pytest.raises(CollectionError, match="the collection has '0' already"):
        compare_all(known, new={"0": frame()})


@pytest.mark.parametrize("new", [7, "x", [None], np.array([1.0, 2.0]), np.ones((3, 2))])
def test_new_datasets_need_names(new):
    known = {name: np.random.default_rng(0).normal(size=(5, 2)) for name in "ab"}
    with pytest.raises(ParameterError, match=r"new is a .*; expected tables by their names"):
        compare_all(known, new=new)
    with pytest.raises(CollectionError, match="the collection has 'a' already"):
        compare_all(known, new={"a": known["a"]})


@pytest.mark.parametrize("kind", ["number", "text"])
def test_columns_that_name_the_datasets_are_left_out(kind):
    """`keep` uses them: a number that each dataset has, or texts of which each is in one dataset only."""
    rng = np.random.default_rng(0)
    own = {"number": lambda i: [i] * 20, "text": lambda i: [f"town {i} {place % 5}" for place in range(20)]}[kind]
    tables = {f"d{i}": pl.DataFrame({"town": own(i), "x": rng.normal(size=20)}) for i in range(3)}
    with pytest.warns(FewRatioWarning, match=r"Left out: 'town' .* choose keep=\['town'\]"):
        found = compare_all(tables, n_permutations=99, random_state=0)
    off = ~np.eye(3, dtype=bool)
    assert (found.p_values[off] > 0.05).all()
    assert "town: " in found.data_used["Columns"]
    with warnings.catch_warnings():
        # A number is said to separate the datasets.
        warnings.simplefilter("ignore")
        kept = compare_all(tables, keep="town", n_permutations=99, random_state=0)
    assert (kept.p_values[off] <= 0.05).all()


def test_texts_that_few_rows_have_may_be_in_one_dataset_by_chance():
    tables = {f"d{i}": pl.DataFrame({"name": [f"{i}a", f"{i}a", f"{i}b"], "x": [1.0, 2.0, i]}) for i in range(3)}
    assert compare_all(tables).encoding.names == ("name", "x")


def test_a_pair_has_one_divergence():
    result = compare_all(collection((9, 12, 20), shift=1.0), random_state=0)
    np.testing.assert_array_equal(result.divergences, result.divergences.T)
    for name in result.names:
        for other, divergence in result.nearest(name):
            assert dict(result.nearest(other))[name] == divergence


def test_datasets_that_stand_out_are_described():
    rng = np.random.default_rng(0)
    far = {"far": rng.normal([0, 9], 1, (20, 2))}
    result = compare_all({name: rng.normal(0, 1, (20, 2)) for name in "abcd"} | far, random_state=0)
    (name, median), *_ = result.list_datasets(1)
    assert (name, median) == ("far", result.median_divergences.max())
    assert result.stands_out_by("far")[0][0] == "1"
    assert result.write_columns("far").startswith("1 +")
    # The same test as that of all pairs.
    tested = compare_all({name: rng.normal(size=(20, 2)) for name in "ab"}, n_permutations=999, random_state=0)
    again = replace(tested, p_values=None)
    assert again.p_value("b", "a") == tested.p_value("a", "b") == tested.p_values[0, 1]
    assert "far" in result.summary


def test_a_folder_is_a_collection_of_its_files(tmp_path):
    rng = np.random.default_rng(0)
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(9, 2)))
    result, expected = (compare_all(each, random_state=0) for each in (tmp_path, Collection.from_folder(tmp_path)))
    assert result.names == expected.names
    assert np.array_equal(result.divergences, expected.divergences)
