"""Long series: what is found by blocks of rows, and that it does not matter where the rows are."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter
from typer.testing import CliRunner

from fewratio import detect_changes
from fewratio.app import app
from fewratio.changes import long_series

N = long_series.LONG


@pytest.fixture
def noise():
    return np.random.default_rng(0).normal(size=(N, 2))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"level": 0.05, "n_permutations": 39, "random_state": 0}])
def test_changes_of_level_and_spread_are_found_and_placed_among_rows(noise, options):
    noise[31_234:, 0] += 1
    noise[70_017:, 1] *= 3
    found = detect_changes(noise, **options)
    assert np.abs(found.points - [31_234, 70_017]).max() <= 15
    assert found.series.shape == found.levels.shape == (N, 2)
    assert found.n_near == 200
    first, second = found.changes
    assert (first["column"], second["column"]) == ("0", "1")
    assert first["mean_after"] - first["mean_before"] == pytest.approx(1, abs=0.25)
    assert second["deviation_after"] / second["deviation_before"] == pytest.approx(3, rel=0.05)
    assert found.scores.shape == (N,)
    assert np.isfinite(found.scores[found.points]).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["independent", "dependent", "heavy tails", "season"])
def test_a_long_series_without_changes_has_none(noise, kind):
    series = noise
    if kind == "dependent":
        series = lfilter([1], [1, -0.9], noise, axis=0)
    if kind == "heavy tails":
        series = np.random.default_rng(1).standard_t(3, size=noise.shape)
    if kind == "season":
        series = noise + 3.0 * (np.arange(N) % 288 > 200)[:, None]
    found = detect_changes(series)
    assert found.points.tolist() == []


@pytest.mark.slow
def test_a_file_that_is_not_held_gives_what_the_table_gives(noise, tmp_path, monkeypatch):
    monkeypatch.setattr("fewratio.data.readers.files.BLOCK_VALUES", 1000)
    noise[40_000:, 1] += 0.5
    table = pd.DataFrame(noise, columns=["a", "b"])
    table["when"] = pd.date_range("2024-01-01", periods=N, freq="min")
    table["kind"] = np.where(noise[:, 0] > 1, "x", "y")
    table.loc[50_000:50_200, "a"] = np.nan
    table.to_parquet(tmp_path / "series.parquet")
    expected = detect_changes(table)
    assert len(expected.points) == 1
    output = tmp_path / "out.parquet"
    done = CliRunner().invoke(
        app, ["changes", str(tmp_path / "series.parquet"), "--json", "-o", str(output)], catch_exceptions=False
    )
    found = json.loads(done.stdout)
    assert found["points"] == expected.points.tolist()
    assert found["names"] == [expected.row_names[expected.points[0]]]
    assert found["changes"] == expected.changes
    rows = pd.read_parquet(output)
    assert rows["change"].to_numpy().nonzero()[0].tolist() == found["points"]
    assert rows["score"].notna().sum() == 1


# A step that is huge in units of the blocks looks like an innovation of a random walk, and is not confirmed.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "deviations", "row"),
    [
        *(pytest.param({}, *each, id=f"cut-{each[0]}") for each in ((5, 31_231), (12, 31_235), (100, 31_239))),
        *(
            pytest.param({"level": 0.05, "n_permutations": 19, "random_state": 0}, *each, id=f"test-{each[0]}")
            for each in ((5, 31_231), (12, 31_235), (100, 31_239))
        ),
    ],
)
def test_a_block_with_rows_of_both_sides_is_no_change_of_its_own(options, deviations, row):
    series = np.random.default_rng(row).normal(size=N)
    series[row:] += deviations
    found = detect_changes(series, **options)
    assert np.abs(found.points - row).max() <= 1
    (change,) = found.changes
    assert change["mean_after"] - change["mean_before"] == pytest.approx(deviations, abs=0.4)
    assert change["deviation_after"] == pytest.approx(1, abs=0.05)


@pytest.mark.slow
def test_a_short_burst_is_two_changes():
    series = np.random.default_rng(0).normal(size=N)
    series[31_234:31_284] += 100
    found = detect_changes(series)
    assert found.points.tolist() == [31_234, 31_284]
    assert found.changes[0]["mean_after"] == pytest.approx(100, abs=1)
    assert found.changes[1]["deviation_before"] == pytest.approx(1, abs=0.5)


@pytest.mark.slow
def test_a_long_staircase_changes_at_its_steps():
    series = np.repeat([0.0, 1.0, 0.0], [43_456, 40_003, N])
    assert detect_changes(series).points.tolist() == [43_456, 83_459]


@pytest.mark.slow
def test_the_season_is_not_in_deviations_and_places():
    rows = np.arange(N)
    series = np.random.default_rng(0).normal(size=N) + 20 * (rows % 24 > 17) + 3 * (rows >= 60_007)
    found = detect_changes(series)
    np.testing.assert_array_equal(found.series[:, 0], series)
    assert np.abs(found.points - 60_007).tolist() <= [3]
    assert found.changes[0]["deviation_before"] == pytest.approx(1, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["start", "middle", "end"])
@pytest.mark.parametrize("n", [2000, N])
def test_a_long_gap_is_no_change(noise, n, place):
    table = pd.DataFrame(noise[:n], columns=["a", "b"])
    first = {"start": 0, "middle": n // 2, "end": n - n // 40}[place]
    table.loc[first : first + n // 40, "b"] = np.nan
    assert detect_changes(table).points.tolist() == []


@pytest.mark.slow
def test_a_gap_in_another_column_does_not_move_a_change(noise):
    noise[31_234:, 0] += 8
    table = pd.DataFrame(noise, columns=["a", "b"])
    table.loc[31_242:31_600, "b"] = np.nan
    assert detect_changes(table).points.tolist() == [31_234]


@given(st.integers(1, 20), st.integers(1, 3), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=25)
def test_blocks_have_the_moments_of_the_values_that_are_there(n_blocks, d, seed):
    rng, n = np.random.default_rng(seed), 10 * n_blocks
    values = rng.normal(rng.normal(size=d) * 1e3, 1, (n, d))
    values[rng.random(n) < 0.3, 0] = np.nan
    marks = np.isnan(values[:, :1])
    rows = np.hstack([np.nan_to_num(values, nan=7.0), marks])
    means, deviations = long_series._describe_blocks(rows, 10, {0: d})
    for number, block in enumerate(np.split(values, n_blocks)):
        for column in range(d):
            there = block[~np.isnan(block[:, column]), column]
            if len(there):
                assert means[number, column] == pytest.approx(there.mean())
                assert deviations[number, column] == pytest.approx(there.std(), abs=1e-9)


@pytest.mark.slow
def test_a_long_series_is_reported_and_drawn(noise):
    noise[60_000:] += 1
    found = detect_changes(noise, level=0.05, n_permutations=19, random_state=0)
    assert "Of 100000 values" in found.to_html()
    first = found.plot().spec["vconcat"][0]
    assert first["encoding"]["x"]["scale"]["domain"] == [0, N - 1]
    assert [row["x"] for row in first["layer"][-1]["data"]["values"]] == found.points.tolist()


@pytest.mark.slow
def test_rows_of_a_file_are_those_of_the_table():
    numbers = np.random.default_rng(0).normal(size=(N, 2)) + 5 * (np.arange(N) % 24 > 17)[:, None]

    class InFile:
        shape = numbers.shape

        def __len__(self):
            return N

        def __getitem__(self, rows):
            return numbers[rows]

    held, filed = (long_series.LongSeries(each, None) for each in (numbers, InFile()))
    background = np.arange(2.0 * len(held.means)).reshape(-1, 2)
    for expected, found in (
        (held.list_rows(), filed.list_rows()),
        (held.list_background(background), filed.list_background(background)),
    ):
        assert isinstance(expected, np.ndarray)
        assert isinstance(found, long_series.RowsOnDemand)
        np.testing.assert_array_equal(np.asarray(found), expected)
        np.testing.assert_array_equal(found[70_001:70_009], expected[70_001:70_009])
    np.testing.assert_array_equal(held.list_rows(), numbers)
