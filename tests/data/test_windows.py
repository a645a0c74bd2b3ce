"""Series as datasets: which windows there are, what their features are, and models that cut new series themselves."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from fewratio import (
    AutoRatioEstimator,
    Collection,
    DiscriminantRatioEstimator,
    compare_all,
    compare_datasets,
    detect_changes,
    load_model,
)
from fewratio.app import app
from fewratio.data.encoding import Encoding
from fewratio.data.windows import compute_features, name_features
from fewratio.errors import FewRatioWarning, InputError, LeftOutWarning, ParameterError

LENGTH = 6


def make_series(seed, n=60, start="2024-01-01", every="h"):
    """Return readings of a sensor with a level and a rhythm of its own."""
    rng = np.random.default_rng(seed)
    wave = np.sin(2 * np.pi * np.arange(n) / LENGTH)
    values = rng.normal() + rng.normal(1, 0.5) * wave + rng.normal(0, 0.3, n)
    return pd.DataFrame({"when": pd.date_range(start, periods=n, freq=every), "level": values})


def make_sources(n=8, **options):
    tables = {f"s{seed}": make_series(seed)[["level"]] for seed in range(n)}
    return Collection.from_arrays(tables, window=LENGTH, **options)


def test_features_are_values_steps_and_spectrum():
    wave = np.sin(2 * np.pi * np.arange(8) / 8)
    features = compute_features(np.stack([wave, 5 + 3 * wave])[..., None])
    names = name_features(["a"], 8)
    assert names[:8] == [f"a[{place}]" for place in range(8)]
    assert names[8:] == ["a steps (mean size)", "a steps (deviation)", "a spectrum 1", "a spectrum 2", "a spectrum 4"]
    np.testing.assert_array_equal(features[0, :8], wave)
    np.testing.assert_allclose(features[:, 8], np.abs(np.diff(wave)).mean() * np.array([1, 3]))
    np.testing.assert_allclose(features[:, 9], np.diff(wave).std() * np.array([1, 3]))
    # One wave per window: all of it is in the first band. A constant adds nothing.
    np.testing.assert_allclose(features[:, 10:], [[0.5, 0, 0], [1.5, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("length", [2, 3, 5, 24])
def test_every_frequency_is_in_one_band(length):
    window = np.random.default_rng(0).normal(size=(1, length, 2))
    features = compute_features(window).reshape(2, -1)
    assert features.size == len(name_features(["a", "b"], length))
    power = np.abs(np.fft.rfft(window[0, :, 0])[1:]) ** 2
    np.testing.assert_allclose((features[0, length + 2 :] ** 2).sum(), power.sum() / length**2)


@pytest.mark.parametrize(("step", "n_rows"), [(None, 10), (3, 19), (1, 55)])
def test_windows_do_not_overlap_unless_asked_to(step, n_rows):
    series = make_series(0)["level"].to_numpy()
    collection = Collection.from_arrays({"a": series, "b": series[::-1]}, window=LENGTH, step=step)
    rows = collection["a"].X
    assert rows.shape == (n_rows, LENGTH + 4)
    expected = np.lib.stride_tricks.sliding_window_view(series, LENGTH)[:: step or LENGTH]
    np.testing.assert_array_equal(rows[:, :LENGTH], expected)


def test_containers_and_order_of_rows_do_not_matter_where_there_are_dates():
    frame = make_series(1)
    kinds = [frame, frame.sample(frac=1, random_state=0), pl.from_pandas(frame), frame.set_index("when")]
    with pytest.warns(LeftOutWarning, match=r"'when' \(date of a row\)"):
        found = [Collection.from_arrays({"a": each, "b": each}, window=LENGTH)["a"].X for each in kinds]
    found.append(Collection.from_arrays({"a": frame["level"], "b": frame["level"]}, window=LENGTH)["a"].X)
    for rows in found[1:]:
        np.testing.assert_array_equal(rows, found[0])


def test_windows_begin_at_the_same_time_of_day():
    """A series that begins two hours later has the same windows, but for the first."""
    whole = make_series(2, 72)
    with pytest.warns(LeftOutWarning):
        collection = Collection.from_arrays({"whole": whole, "late": whole[2:]}, window=LENGTH)
    np.testing.assert_array_equal(collection["late"].X, collection["whole"].X[1:])


def test_windows_with_missing_readings_are_left_out():
    whole = make_series(3)
    missing = whole.assign(level=whole["level"].where(whole.index != 8))
    with pytest.warns(FewRatioWarning) as caught:
        collection = Collection.from_arrays(
            {"whole": whole, "missing": missing, "no row": whole.drop(index=[8, 9])}, window=LENGTH
        )
    said = [str(each.message) for each in caught]
    assert any("2 windows of the datasets with missing readings are left out" in text for text in said)
    expected = np.delete(collection["whole"].X, 1, axis=0)
    for name in ("missing", "no row"):
        np.testing.assert_array_equal(collection[name].X, expected)
    assert not any("missing" in name for name in collection.feature_names)


def test_a_window_with_an_outlier_is_one():
    series = make_series(4)[["level"]]
    flags = np.arange(60) == 20
    collection = Collection.from_arrays({"a": series}, outliers=[flags], window=LENGTH)
    assert np.flatnonzero(collection["a"].is_outlier).tolist() == [3]


def test_a_long_table_of_series_is_cut_by_dataset():
    long = pd.concat([make_series(seed).assign(sensor=f"s{seed}") for seed in range(3)], ignore_index=True)
    with pytest.warns(LeftOutWarning):
        collection = Collection.from_frame(long.sample(frac=1, random_state=0), "sensor", window=LENGTH)
    assert collection["s1"].X.shape == (10, LENGTH + 4)
    expected = make_sources(3)
    np.testing.assert_array_equal(collection["s1"].X, expected["s1"].X)


@pytest.mark.filterwarnings("ignore:X_.. is far beyond")
def test_several_columns_are_channels_and_units_do_not_matter():
    tables = [np.random.default_rng(seed).normal(seed % 3, 1, (60, 2)) for seed in range(8)]
    new = [np.random.default_rng(seed).normal(seed, 1, (60, 2)) for seed in (20, 21)]
    ratios = []
    for unit in (1.0, np.array([1000.0, 0.01])):
        sources = Collection.from_arrays([table * unit for table in tables], window=LENGTH)
        assert sources.n_features == 2 * (LENGTH + 4)
        model = DiscriminantRatioEstimator(features="columns").pretrain(sources)
        ratios.append(model.fit(new[0] * unit, new[1] * unit).predict(new[0] * unit))
    np.testing.assert_allclose(ratios[0], ratios[1], rtol=1e-6)


@pytest.mark.slow
def test_a_model_cuts_new_series_and_its_file_remembers_how(tmp_path):
    sources = make_sources()
    model = AutoRatioEstimator(random_state=0).pretrain(sources)
    model.save(tmp_path / "m.safetensors")
    loaded = load_model(tmp_path / "m.safetensors")
    assert loaded.encoding_ == model.encoding_
    assert loaded.encoding_.summary == "1 column: 1 number; rows are windows of 6 readings"
    new, other = make_series(50, 3 * LENGTH)[["level"]], make_series(51, 2 * LENGTH)[["level"]]
    ratio = model.fit(new, other).predict(new)
    assert ratio.shape == (3,)
    np.testing.assert_array_equal(loaded.fit(new, other).predict(new), ratio)
    # Arrays have no names; their gaps are found, too.
    gaps = new["level"].to_numpy().copy()
    gaps[0] = np.nan
    with pytest.warns(FewRatioWarning, match="1 window of X with missing readings is left out"):
        np.testing.assert_allclose(model.predict(gaps), ratio[1:], rtol=1e-6)
    # Rows that were cut before are taken as they are.
    cut = model.encoding_.encode(new)
    np.testing.assert_array_equal(model.predict(cut), ratio)
    np.testing.assert_array_equal(model.predict(cut.numbers), ratio)
    np.testing.assert_array_equal(model.predict(pd.DataFrame(cut.numbers, columns=cut.feature_names)), ratio)

    result = compare_datasets(new, other, estimator=model, n_permutations=0)
    assert [table.n_rows for table in result.samples.tables] == [3, 2]
    with pytest.warns(LeftOutWarning, match="as in the source collection"):
        dated = compare_datasets(*_dated(), estimator=_learn_dated(), n_permutations=0)
    assert dated.samples.tables[0].row_names[:2].tolist() == ["2024-03-01", "2024-03-01 06:00:00"]


def _learn_dated():
    with pytest.warns(LeftOutWarning):
        sources = Collection.from_arrays([make_series(seed) for seed in range(6)], window=LENGTH)
    return DiscriminantRatioEstimator(features="columns").pretrain(sources)


def _dated():
    return make_series(60, start="2024-03-01"), make_series(61, start="2024-05-01")


def test_new_series_are_judged_by_the_windows_of_others():
    sources = make_sources(20)
    wild = np.random.default_rng(0).normal(0, 30, 30)
    judged = compare_all(sources, new={"like": make_series(70)[["level"]], "wild": pd.DataFrame({"level": wild})})
    assert judged.new_p_values["wild"] <= 0.05 < judged.new_p_values["like"]


@pytest.mark.parametrize(
    ("series", "message"),
    [
        (make_series(0, 3), "has 3 readings, and no window of 6 without a gap; one is needed, from a multiple of 6 ti"),
        (make_series(0, 60, every="10min"), "a reading every 10 min, others every 1 h; all series need the same time"),
        (make_series(0).assign(when=lambda t: t["when"].where(t.index != 4)), "no date at row 4"),
    ],
)
@pytest.mark.filterwarnings("ignore::fewratio.errors.LeftOutWarning")
def test_what_cannot_be_cut_is_refused(series, message):
    with pytest.raises(InputError, match=f"X_nu .*{message}"):
        _learn_dated().fit(series, series)
    with pytest.raises(InputError, match=f"dataset 'bad' .*{message}"):
        Collection.from_arrays({"a": make_series(1), "b": make_series(2), "bad": series}, window=LENGTH)


def test_a_series_has_one_time_and_is_no_shorter_than_a_window():
    twice = {str(seed): make_series(seed).assign(also=lambda table: table["when"]) for seed in range(2)}
    with (
        pytest.raises(InputError, match=r"several columns of dates \('when', 'also'\).* Drop the others"),
        pytest.warns(LeftOutWarning),
    ):
        Collection.from_arrays(twice, window=LENGTH)
    with pytest.warns(LeftOutWarning):
        assert Collection.from_arrays(twice, window=LENGTH, drop="also").n_features == LENGTH + 4
    model = DiscriminantRatioEstimator(features="columns").pretrain(make_sources())
    with pytest.raises(
        InputError, match=r"has 5 readings, and no window of 6 without a gap; one is needed\. Add readings"
    ):
        model.fit(np.arange(5.0), np.arange(6.0))
    with pytest.raises(ParameterError, match="rows are windows"):
        detect_changes(make_series(0)[["level"]], estimator=model)


@pytest.mark.parametrize("options", [{"window": 1}, {"window": 2.5}, {"window": 6, "step": 0}, {"step": 3}])
def test_wrong_windows_are_refused(options):
    with pytest.raises(ParameterError, match=r"window|step"):
        Collection.from_arrays([np.arange(20.0)], **options)


WRONG = {"window": ([0, 6, None], [7, 6, None], ["6", 6, None], [6, 6, -1.0], None), "readings": (None, {})}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in WRONG.items() for value in values])
def test_a_file_with_a_wrong_window_is_refused(field, value):
    content = make_sources(2).encoding.to_dict()
    assert Encoding.from_dict(content) == make_sources(2).encoding
    with pytest.raises(ValueError, match=r"window|columns|wrong type"):
        Encoding.from_dict(content | {field: value})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fewratio.errors.LeftOutWarning")
def test_the_shell_learns_from_series_and_cuts_new_ones(tmp_path):
    (tmp_path / "old").mkdir()
    for seed in range(6):
        make_series(seed).to_csv(tmp_path / "old" / f"s{seed}.csv", index=False)
    for name, frame in zip("ab", _dated(), strict=True):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    a, b, old, model = (str(tmp_path / name) for name in ("a.csv", "b.csv", "old", "m.safetensors"))

    def run(*words):
        return CliRunner().invoke(app, words)

    summary = "2 columns: 1 number, 1 left out (when: date of a row); rows are windows of 6 readings"
    done = run("train", old, "--window", "6", "-o", model)
    assert done.exit_code == 0, done.output
    assert summary in done.stdout
    assert summary in run("info", model).stdout
    compared = run("compare", a, b, "-m", model, "--permutations", "0", "--report", str(tmp_path / "r.html"))
    assert compared.exit_code == 0, compared.output
    assert summary in compared.stdout
    # One table of both series is divided before windows are cut.
    both, parts = str(tmp_path / "both.csv"), [pd.read_csv(path).assign(site=path) for path in (a, b)]
    pd.concat(parts).to_csv(both, index=False)
    divided = run("compare", both, "--by", "site", "-m", model, "--permutations", "0", "--json")
    assert divided.exit_code == 0, divided.output
    pair = run("compare", a, b, "-m", model, "--permutations", "0", "--json")
    assert json.loads(divided.stdout)["divergence"] == json.loads(pair.stdout)["divergence"]
    rows = tmp_path / "rows.csv"
    done = run("ratio", a, b, b, "-m", model, "-o", str(rows))
    assert done.exit_code == 0, done.output
    written = pd.read_csv(rows)
    assert len(written) == 10
    assert written["name"][1] == "2024-05-01 06:00:00"
    loaded = load_model(model)
    first, second = (pd.read_csv(path) for path in (a, b))
    np.testing.assert_allclose(written["ratio"], loaded.fit(first, second).predict(second))
    make_series(0, 4).to_csv(a, index=False)
    done = run("ratio", a, b, "-m", model)
    assert done.exit_code == 2
    assert "no window of 6 without a gap; one is needed" in done.stderr
    assert "--window" in run("train", old, "--window", "1", "-o", model).stderr
