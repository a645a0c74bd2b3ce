"""Maps and summaries: what is agreed on, what leaves a site, and what a model makes of it."""

import sys
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import polars as pl
import pytest

from fewratio import DatasetIndex, DiscriminantRatioEstimator, load_model
from fewratio.core.container import read_tensors, write_tensors
from fewratio.data.collection import Collection
from fewratio.errors import (
    CollectionError,
    DataNotFoundError,
    InputError,
    MissingPackageError,
    ModelFileError,
    ParameterError,
)
from fewratio.estimators import SourceMap, Summary
from fewratio.estimators.closed_form import privacy

N_COLUMNS = 3


def tables(count=12, n_rows=40, seed=0):
    """Draw datasets that differ in their means, and one more sample of rows."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n_rows, N_COLUMNS)) + 1.5 * rng.normal(size=N_COLUMNS) for _ in range(count)]


@pytest.fixture(scope="module")
def source_map():
    return SourceMap.from_table(np.concatenate(tables(seed=9)), n_components=48)


@pytest.fixture(scope="module")
def summaries(source_map):
    return [source_map.summarise(X) for X in tables()]


def assert_same(one, other, relative=1e-9):
    """Check that two summaries are the same but for rounding; means are compared by their outer products."""
    assert (one.n_sources, one.n_rows) == (other.n_sources, other.n_rows)
    np.testing.assert_array_equal(one.spreads, other.spreads)
    pairs = [(each.mean_sum, each.scatter, (each.factor.T * each.signs) @ each.factor) for each in (one, other)]
    for first, second in zip(*pairs, strict=True):
        np.testing.assert_allclose(first, second, rtol=0, atol=relative * np.abs(second).max())


def frame(n=30, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    return pl.DataFrame({"age": rng.normal(50, 10, n), "sex": sex, "weight": rng.normal(70, 9, n)})


class TestMap:
    def test_survives_a_file(self, source_map, tmp_path):
        source_map.save(tmp_path / "a.map")
        again = SourceMap.load(tmp_path / "a.map")
        assert again.features.fingerprint == source_map.features.fingerprint
        X = tables(1)[0]
        np.testing.assert_array_equal(again.features(X), source_map.features(X))

    def test_holds_no_row_of_the_example(self, tmp_path):
        table = frame()
        SourceMap.from_table(table, {"age": (0, 120), "weight": (20, 200)}).save(tmp_path / "a.map")
        text = (tmp_path / "a.map").read_bytes().decode("latin-1")
        for value in table["age"].to_list():
            assert repr(value) not in text

    def test_encodes_tables_by_the_names_of_their_columns(self):
        source_map, table = SourceMap.from_table(frame(), {"age": (0, 120)}), frame(seed=1)
        shuffled = table.select("weight", "age", "sex")
        assert_same(source_map.summarise(table), source_map.summarise(shuffled))

    def test_a_column_that_is_missing_is_named(self):
        with pytest.raises(InputError, match="weight"):
            SourceMap.from_table(frame()).summarise(frame().drop("weight"))

    def test_values_outside_ranges_are_moved_and_counted(self):
        source_map = SourceMap.from_table(frame(), {"age": (0, 120)})
        wrong, within = frame(seed=1), frame(seed=1)
        ages = wrong["age"].to_list()
        wrong = wrong.with_columns(pl.Series("age", [999.0, -5.0, *ages[2:]]))
        within = within.with_columns(pl.Series("age", [120.0, 0.0, *ages[2:]]))
        with pytest.warns(UserWarning, match=r"2 values outside .*age: 2"):
            moved = source_map.summarise(wrong)
        assert_same(moved, source_map.summarise(within))

    def test_by_default_a_range_is_wider_than_the_example(self):
        low, high = SourceMap.from_table([[0.0, 5.0], [2.0, 5.0]]).features.ranges
        assert (low[0], high[0]) == (-1.0, 3.0)
        assert (low[1], high[1]) == (-np.inf, np.inf)

    @pytest.mark.parametrize(
        ("arguments", "match"),
        [
            ({"ranges": {"height": (0, 1)}}, "height"),
            ({"ranges": {"sex": (0, 1)}}, "sex"),
            ({"ranges": {"age": (5, 5)}}, "lower one first"),
            ({"ranges": {"age": (0, np.inf)}}, "lower one first"),
            ({"n_components": 1.5}, "arguments"),
            ({"n_components": 10**9}, "n_components"),
            ({"width": 0.0}, "width"),
            ({"scale": "rows"}, "scale"),
        ],
    )
    def test_wrong_arguments_are_refused(self, arguments, match):
        with pytest.raises((ParameterError, InputError), match=match):
            SourceMap.from_table(frame(), **arguments)

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            ({"mean": [1.0], "scale": [1.0]}, "differ"),
            ({"mean": [float("nan")] * 4}, "finite"),
            ({"mean": ["a"] * 4}, "mean"),
            ({"scale": [0.0] * 4}, "positive"),
            ({"ranges": [[0, 0, 0, 0], [-1, 1, 1, 1]]}, "above its highest"),
            ({"ranges": [[0], [1]]}, "ranges"),
            ({"ranges": None}, "missing"),
            ({"n_components": 10**12}, "n_components"),
            ({"seed": -1}, "seed"),
            ({"width": "wide"}, "width"),
            ({"columns": {}}, "missing"),
        ],
    )
    def test_a_wrong_file_is_refused(self, change, match, tmp_path):
        SourceMap.from_table(frame()).save(tmp_path / "a.map")
        arrays, header = read_tensors(tmp_path / "a.map", "map")
        # Not just a change that the checksum shows.
        write_tensors(tmp_path / "a.map", "map", arrays, {"map": header["map"] | change})
        with pytest.raises(ModelFileError, match=match):
            SourceMap.load(tmp_path / "a.map")

    def test_another_file_is_no_map(self, summaries, tmp_path):
        summaries[0].save(tmp_path / "a.map")
        with pytest.raises(ModelFileError, match="holds a summary, but a map is needed"):
            SourceMap.load(tmp_path / "a.map")
        with pytest.raises(DataNotFoundError, match="a map is needed"):
            SourceMap.load(tmp_path / "b.map")

    def test_one_function_reads_all_kinds(self, source_map, summaries, tmp_path):
        source_map.save(tmp_path / "a.map")
        summaries[0].save(tmp_path / "a.summary")
        DatasetIndex.build(tables(3)).save(tmp_path / "a.index")
        assert isinstance(load_model(tmp_path / "a.map"), SourceMap)
        assert_same(load_model(tmp_path / "a.summary"), summaries[0])
        assert len(load_model(tmp_path / "a.index")) == 3
        with pytest.raises(ModelFileError, match="holds an index, but a model is needed"):
            load_model(tmp_path / "a.index", "model")


class TestSummary:
    def test_any_order_of_adding_gives_the_same(self, summaries):
        streamed = reduce(add, summaries)
        assert_same(streamed, reduce(add, summaries[::-1]))
        assert_same(streamed, (summaries[0] + summaries[1]) + reduce(add, summaries[2:]))
        assert_same(streamed, sum(summaries))

    def test_more_sources_than_features_take_no_more_memory(self):
        source_map = SourceMap.from_table(np.concatenate(tables(seed=9)), n_components=4)
        many = [source_map.summarise(X) for X in tables(200, n_rows=5)]
        total = reduce(add, many)
        # Twice 64 means are kept as they are, however few features there are.
        assert len(total.factor) <= 2 * 64 + 1
        expected = sum(np.outer(each.mean_sum, each.mean_sum) for each in many)
        np.testing.assert_allclose((total.factor.T * total.signs) @ total.factor, expected, atol=1e-9)

    @pytest.mark.parametrize("count", [1, 12])
    def test_survives_a_file(self, summaries, count, tmp_path):
        summary = reduce(add, summaries[:count])
        summary.save(tmp_path / "a.summary")
        again = Summary.load(tmp_path / "a.summary")
        assert_same(again, summary)
        assert again.features.fingerprint == summary.features.fingerprint
        np.testing.assert_array_equal(again.scatter, summary.scatter)

    def test_a_file_of_several_sources_does_not_hold_their_means(self, summaries, tmp_path):
        reduce(add, summaries[:5]).save(tmp_path / "a.summary")
        arrays, _ = read_tensors(tmp_path / "a.summary", "summary")
        assert set(arrays) == {"mean_sum", "scatter", "outer", "spread_places", "spread_counts"}

    def test_summaries_of_other_maps_are_refused(self, summaries):
        other = SourceMap.from_table(np.concatenate(tables(seed=9)), n_components=48, random_state=1)
        stranger = other.summarise(tables()[0])
        with pytest.raises(InputError, match="different maps"):
            summaries[0] + stranger
        with pytest.raises(InputError, match="0 and 1 were made with different maps"):
            DiscriminantRatioEstimator().pretrain([summaries[0], stranger])

    def test_maps_with_other_categories_differ(self):
        table = frame()
        renamed = table.with_columns(sex=pl.col("sex").replace({"f": "a", "m": "b"}))
        first, second = (SourceMap.from_table(each).summarise(each) for each in (table, renamed))
        with pytest.raises(InputError, match="different maps"):
            first + second

    def test_one_row_is_refused(self, source_map):
        with pytest.raises(InputError, match="that row itself"):
            source_map.summarise(tables()[0][:1])

    @pytest.mark.parametrize(
        ("change", "error", "match"),
        [
            ({"n_rows": 1, "inverse_sizes": 1.0}, InputError, "one row"),
            ({"inverse_sizes": 1.0}, InputError, "one row"),
            ({"n_rows": 39.5}, ModelFileError, "n_rows is 39.5, not int"),
            ({"n_rows": 3}, ModelFileError, "sums"),
            ({"n_sources": 0}, ModelFileError, "sums"),
            ({"n_sources": 2}, ModelFileError, "sums"),
            ({"mean_noise": -1.0}, ModelFileError, "sums"),
            ({"map": {}}, ModelFileError, "width"),
        ],
    )
    def test_a_file_that_contradicts_itself_is_refused(self, summaries, change, error, match, tmp_path):
        summaries[0].save(tmp_path / "a.summary")
        arrays, header = read_tensors(tmp_path / "a.summary", "summary")
        write_tensors(tmp_path / "a.summary", "summary", arrays, header | change)
        with pytest.raises(error, match=match):
            Summary.load(tmp_path / "a.summary")

    @pytest.mark.parametrize("name", ["scatter", "mean_sum", "spread_places"])
    def test_a_file_with_other_arrays_is_refused(self, summaries, name, tmp_path):
        summaries[0].save(tmp_path / "a.summary")
        arrays, header = read_tensors(tmp_path / "a.summary", "summary")
        write_tensors(tmp_path / "a.summary", "summary", arrays | {name: arrays[name][:-1]}, header)
        with pytest.raises(ModelFileError, match="does not fit together"):
            Summary.load(tmp_path / "a.summary")

    def test_a_damaged_file_is_refused(self, summaries, tmp_path):
        path = tmp_path / "a.summary"
        summaries[0].save(path)
        payload = bytearray(path.read_bytes())
        payload[-100] ^= 1
        path.write_bytes(payload)
        with pytest.raises(ModelFileError, match="checksum"):
            Summary.load(path)

    @pytest.mark.slow
    def test_a_summary_that_does_not_know_its_columns_is_not_written(self, tmp_path):
        estimator = DiscriminantRatioEstimator(n_components=16).pretrain(Collection.from_arrays(tables()))
        with pytest.raises(InputError, match="SourceMap"):
            estimator.summary_.save(tmp_path / "a.summary")


class TestLearning:
    def test_a_model_of_summaries_is_that_of_rows(self, summaries, source_map):
        """With the same settings and calibration, what was learned from summaries is what rows teach."""
        learned = DiscriminantRatioEstimator().pretrain(summaries)
        expected = Summary.of_many(tables(), source_map.features)
        # Products of cosines are summed in single precision, over all datasets at once or one by one.
        assert_same(learned.summary_, expected, relative=2e-6)

    @pytest.mark.slow
    def test_settings_are_about_those_that_rows_choose(self):
        many = tables(24, n_rows=80)
        source_map = SourceMap.from_table(np.concatenate(many), n_components=0)
        of_rows = DiscriminantRatioEstimator(features="columns").pretrain(Collection.from_arrays(many))
        of_summaries = DiscriminantRatioEstimator().pretrain([source_map.summarise(X) for X in many])
        first, second = (each.model_.calibration for each in (of_rows, of_summaries))
        # Units differ a little; stand-ins are drawn.
        assert second.noise == pytest.approx(first.noise, rel=0.1)
        assert second.signal == pytest.approx(first.signal, rel=0.2)
        X = np.linspace(-2, 2, 9)[:, None] * np.ones(N_COLUMNS)
        ratios = [each.fit(many[0][:5], many[1][:5]).predict(X) for each in (of_rows, of_summaries)]
        np.testing.assert_allclose(*ratios, atol=0.3)

    def test_the_order_of_summaries_does_not_matter(self, summaries):
        X = tables()
        forth, back = (DiscriminantRatioEstimator().pretrain(each) for each in (summaries, summaries[::-1]))
        assert forth.settings_ == back.settings_
        ratios = [each.fit(X[0][:4], X[1][:4]).predict(X[2]) for each in (forth, back)]
        # Features are in single precision.
        np.testing.assert_allclose(*ratios, rtol=1e-3)

    def test_one_merged_summary_will_do(self, summaries, tmp_path):
        X = tables()
        sum(summaries).save(tmp_path / "all.summary")
        estimator = DiscriminantRatioEstimator().pretrain(Summary.load(tmp_path / "all.summary"))
        estimator.fit(X[0][:5], X[1][:5])
        assert estimator.predict(X[0][5:]).mean() > 1.1 > 0.9 > estimator.predict(X[1][5:]).mean()

    @pytest.mark.parametrize("n_columns", [1, 5])
    def test_one_merged_summary_of_columns_is_tempered_by_their_number(self, n_columns):
        """One coordinate cannot repeat another, so what it says is taken as it is."""
        rng = np.random.default_rng(0)
        source_map = SourceMap.from_table(rng.normal(size=(50, n_columns)), n_components=0)
        datasets = (rng.normal(rng.normal(size=n_columns), 0.5, (40, n_columns)).clip(-1, 1) for _ in range(30))
        model = DiscriminantRatioEstimator().pretrain(sum(map(source_map.summarise, datasets))).model_
        assert len(model.coordinates.signal) == n_columns
        assert model.calibration.temperature(3, 3) == pytest.approx(1 if n_columns == 1 else 1 / 1.2)

    def test_the_model_knows_its_columns_and_ranges(self, tmp_path):
        source_map = SourceMap.from_table(frame(), {"age": (0, 120)}, n_components=16)
        estimator = DiscriminantRatioEstimator().pretrain([source_map.summarise(frame(seed=seed)) for seed in range(6)])
        estimator.save(tmp_path / "a.model")
        again = DiscriminantRatioEstimator.load(tmp_path / "a.model")
        first, second = frame(5, seed=10), frame(5, seed=11)
        expected = estimator.fit(first, second).predict(frame(seed=12))
        np.testing.assert_array_equal(again.fit(first, second).predict(frame(seed=12)), expected)
        beyond, at_the_end = (second.with_columns(age=pl.lit(age)) for age in (500.0, 120.0))
        np.testing.assert_array_equal(again.predict(beyond), again.predict(at_the_end))

    def test_summaries_can_be_added_to_a_model(self, summaries):
        estimator = DiscriminantRatioEstimator().pretrain(summaries[:-1]).add_source(summaries[-1])
        assert_same(estimator.summary_, sum(summaries))

    @pytest.mark.parametrize(
        ("choose", "error", "match"),
        [
            (lambda found: found[0], CollectionError, "one source"),
            (lambda found: [found[0], tables()[0]], ParameterError, "Source 1 is a ndarray"),
            (lambda found: [], InputError, "Collection"),
            (
                lambda found: [replace(each, features=replace(each.features, columns=None)) for each in found],
                InputError,
                "SourceMap",
            ),
        ],
    )
    def test_wrong_sources_are_refused(self, summaries, choose, error, match):
        with pytest.raises(error, match=match):
            DiscriminantRatioEstimator().pretrain(choose(summaries))

    def test_validation_is_refused(self, summaries):
        with pytest.raises(ParameterError, match="validation"):
            DiscriminantRatioEstimator().pretrain(summaries, Collection.from_arrays(tables()))


class TestPrivacy:
    @pytest.fixture(autouse=True)
    def accountant(self, monkeypatch):
        """Take a multiplier that dp-accounting 0.6.0 gives for epsilon 8 and delta 1e-5, where it is not installed."""
        monkeypatch.setattr(privacy, "_noise_multiplier", lambda epsilon, delta: 0.6002290826751944)

    def test_noise_has_no_bias(self, source_map):
        X = tables(1, n_rows=400)[0]
        exact = source_map.summarise(X)
        many = [source_map.summarise(X, epsilon=8.0, random_state=seed) for seed in range(200)]
        total = sum(many)
        # Standard errors of the mean of 200: of a mean's feature, and of a covariance.
        deviation = np.sqrt(total.mean_noise / 200)
        assert np.abs(total.mean_sum / 200 - exact.mean_sum).max() < 4.5 * deviation / np.sqrt(200) + 0.02
        outer = (total.factor.T * total.signs) @ total.factor / 200
        expected = np.outer(exact.mean_sum, exact.mean_sum)
        assert abs(np.trace(outer - expected)) < 0.1 * 48 * deviation**2 + 0.1 * np.trace(expected)
        # Features are shortened a little: their length varies about its usual one.
        scatter = np.trace(total.scatter) / 200
        assert scatter == pytest.approx(np.trace(exact.scatter), rel=0.15)

    def test_the_change_of_one_row_is_within_the_sensitivity(self):
        rng = np.random.default_rng(0)
        for _ in range(300):
            a, b = (each / np.linalg.norm(each) for each in rng.normal(size=(2, 2)))
            change = np.square(a - b).sum() + np.square(np.outer(a, a) - np.outer(b, b)).sum()
            assert change <= privacy._SENSITIVITY**2 + 1e-12

    def test_noise_is_not_that_of_the_map_s_seed(self, source_map):
        X = tables()[0]
        first, second = (source_map.summarise(X, epsilon=8.0) for _ in range(2))
        assert not np.allclose(first.mean_sum, second.mean_sum)

    def test_a_model_learns_from_noisy_summaries(self, tmp_path):
        X = tables(16, n_rows=3000)
        source_map = SourceMap.from_table(np.concatenate(tables(seed=9)), n_components=32)
        for number, rows in enumerate(X):
            source_map.summarise(rows, epsilon=8.0, random_state=number).save(tmp_path / f"{number}.summary")
        found = [Summary.load(path) for path in sorted(tmp_path.iterdir())]
        estimator = DiscriminantRatioEstimator().pretrain(found).fit(X[0][:5], X[1][:5])
        estimator.save(tmp_path / "model")
        assert DiscriminantRatioEstimator.load(tmp_path / "model").epsilon_ == estimator.epsilon_ == 8.0
        # One that hides nothing is enough.
        assert (found[0] + source_map.summarise(X[0])).epsilon is None
        assert estimator.predict(X[0][5:]).mean() > 1.2 > 0.8 > estimator.predict(X[1][5:]).mean()

    def test_columns_themselves_are_not_bounded(self):
        with pytest.raises(ParameterError, match="random features"):
            SourceMap.from_table(frame(), n_components=0).summarise(frame(), epsilon=1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-5), (1.0, 0.0), (1.0, 1.0), (-1.0, 0.5)])
def test_a_guarantee_that_there_is_not_is_refused(source_map, epsilon, delta):
    with pytest.raises(ParameterError, match=r"epsilon|delta"):
        source_map.summarise(tables()[0], epsilon, delta)


@pytest.mark.slow
def test_the_multiplier_is_that_of_the_library():
    pytest.importorskip("dp_accounting")
    assert privacy._noise_multiplier(8.0, 1e-5) == pytest.approx(0.60023, rel=1e-3)


def test_without_the_library_the_extra_is_named(source_map, monkeypatch):
    # To import it is an error now, installed or not; an epsilon that no other test has asked for is not cached.
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(MissingPackageError, match=r"fewratio\[privacy\]"):
        source_map.summarise(tables()[0], 7.0)
