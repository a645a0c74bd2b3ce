"""Changes of a series: where they are, what is none, what chance reports, and the same row by row."""

import datetime
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.stats import binom

from fewratio import KLIEP, RuLSIF, detect_changes
from fewratio.changes.detection import ChangeResult
from fewratio.changes.detector import ChangeDetector
from fewratio.changes.kinds import describe_change, name_changes
from fewratio.changes.segmentation import segment
from fewratio.errors import InputError, ParameterError
from tests.levels import FEW_DRAWS, LEVEL, assert_level_is_kept
from tests.strategies import quick, seeds

QUICK = dict(n_permutations=19, level=0.05, random_state=0)


def two_changes(seed=0):
    """A change of mean at 40 and one of spread at 80, in two columns."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(4, 1, (40, 2)), rng.normal(4, 0.1, (40, 2))])


def test_planted_changes_are_found():
    # With so few permutations, the spread alone is not found in every series.
    found = detect_changes(two_changes(1), window=15, **QUICK)
    assert len(found.points) == 2
    assert np.abs(found.points - [40, 80]).max() <= 3
    assert found.p_values.tolist() == [0.05, 0.05]
    assert (found.scores[found.points] > found.threshold).all()


def test_scores_are_the_divergences_of_both_directions():
    series = two_changes()
    found = detect_changes(series, window=10, estimator=RuLSIF(), threshold=0.5)
    assert np.flatnonzero(~np.isnan(found.scores)).tolist() == list(range(10, 111))
    for position in (10, 40, 110):
        before, after = series[position - 10 : position], series[position : position + 10]
        both = RuLSIF().fit(before, after).divergence() + RuLSIF().fit(after, before).divergence()
        assert found.scores[position] == pytest.approx(both)
    assert found.p_values is None


def heavy_tails(rng):
    return rng.standard_t(2, 20)


def heavy_tails_or_few_values(rng):
    return rng.standard_t(2, 20) if rng.bit_generator.seed_seq.entropy % 2 else rng.integers(0, 3, 20)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "law"),
    [
        pytest.param({}, heavy_tails, id="splits"),
        pytest.param({"window": 5}, heavy_tails_or_few_values, id="windows"),
    ],
)
def test_chance_reports_a_change_no_more_often_than_the_level(options, law):
    rejections = []
    for seed in range(FEW_DRAWS):
        series = law(np.random.default_rng(seed))
        found = detect_changes(series, n_permutations=19, level=LEVEL, random_state=seed, **options)
        rejections.append(len(found.points) > 0)
    assert_level_is_kept(rejections)


def autoregressive(n, coefficient, seed=0):
    noise = np.random.default_rng(seed).normal(size=n + 50)
    return lfilter([1], [1, -coefficient], noise)[50:]


TIME = np.arange(240)
UNCHANGED = {
    "noise": autoregressive(240, 0.0),
    "dependent rows": autoregressive(240, 0.8),
    "a random walk": autoregressive(240, 1.0),
    "heavy tails": np.random.default_rng(0).standard_t(3, 240),
    "rare events": np.random.default_rng(1).random(240) < 0.05,
    "a trend": TIME / 20 + autoregressive(240, 0.0),
    "a curved trend": (TIME / 60) ** 2 + autoregressive(240, 0.0),
    "a season": 3 * np.sin(TIME * np.pi / 6) + TIME / 40 + autoregressive(240, 0.0),
    "an outlier": np.where(TIME == 100, 50.0, autoregressive(240, 0.0)),
}


@pytest.mark.parametrize("kind", UNCHANGED)
def test_what_is_no_change_is_not_reported(kind):
    assert len(detect_changes(UNCHANGED[kind]).points) == 0
    assert len(detect_changes(UNCHANGED[kind], level=0.01, random_state=0).points) == 0


@pytest.mark.parametrize("kind", ["noise", "dependent rows", "a trend", "a season"])
@pytest.mark.parametrize("mode", [{}, {"level": 0.01, "random_state": 0}])
def test_a_step_is_found_in_spite_of_them(kind, mode):
    size = 8 if kind == "dependent rows" else 4
    found = detect_changes(UNCHANGED[kind] + size * (TIME >= 120), **mode)
    assert np.abs(found.points - 120).min() <= 2
    assert len(found.points) <= 2
    assert found.is_test == bool(mode)


@pytest.mark.slow
@pytest.mark.parametrize("n_periods", [2.2, 3])
@pytest.mark.parametrize("mode", [{}, {"level": 0.01, "random_state": 0}])
def test_a_season_of_few_periods_is_no_change_and_hides_none(n_periods, mode):
    n = int(150 * n_periods)
    season = 3 * np.sin(2 * np.pi * np.arange(n) / 150) + autoregressive(n, 0.3)
    assert len(detect_changes(season, **mode).points) == 0
    found = detect_changes(season + 5 * (np.arange(n) >= 200), **mode)
    assert found.points.tolist() == pytest.approx([200], abs=2)


def test_a_far_value_does_not_hide_a_change_from_the_test():
    series = autoregressive(240, 0.0) + 2 * (TIME >= 120)
    series[50] = 1000.0
    found = detect_changes(series, level=0.01, random_state=0)
    assert found.points.tolist() == pytest.approx([120], abs=3)


def test_a_change_is_described_by_its_rows():
    series = TIME / 4 + autoregressive(240, 0.0) + 6 * (TIME >= 120)
    found = detect_changes(series)
    (change,) = found.changes
    row = change["row"]
    assert change["mean_before"] == pytest.approx(series[row - 20 : row].mean())
    assert change["mean_after"] == pytest.approx(series[row : row + 20].mean())
    assert change["deviation_before"] == pytest.approx(1, abs=0.3)
    # Lines of the segments, not one of the whole series.
    assert np.abs(found.levels[:, 0] - series).max() < 4


def test_one_of_many_columns_is_enough():
    series = np.random.default_rng(0).normal(size=(300, 10))
    series[100:, 3] += 2
    found = detect_changes(series)
    assert found.points.tolist() == pytest.approx([100], abs=2)
    assert found.changes[0]["column"] == "3"
    assert found.changes[0]["mean_after"] - found.changes[0]["mean_before"] == pytest.approx(2, abs=0.5)


def test_a_kink_and_a_change_of_spread_are_changes():
    kink = np.maximum(TIME - 120, 0) / 4 + autoregressive(240, 0.0)
    assert np.abs(detect_changes(kink).points - 120).max() <= 10
    spread = autoregressive(240, 0.0) * np.where(TIME < 120, 1, 4)
    assert np.abs(detect_changes(spread).points - 120).max() <= 5


@pytest.mark.slow
def test_a_short_segment_of_a_long_series_has_its_rows():
    series = np.random.default_rng(0).normal(size=(5000, 2))
    series[3001:3041] += 4
    assert detect_changes(series).points.tolist() == [3001, 3041]
    tested = detect_changes(series, level=0.01, n_permutations=99, random_state=0).points
    assert tested.tolist() == pytest.approx([3001, 3041], abs=2)


@pytest.mark.slow
def test_the_level_holds_for_rows_that_depend_on_each_other():
    level, reported = 0.1, 0
    for seed in range(30):
        series = autoregressive(150, 0.8, seed)
        reported += len(detect_changes(series, level=level, n_permutations=19, random_state=seed).points) > 0
    assert reported <= binom.ppf(0.999, 30, level)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [{}, {"level": 0.05, "n_permutations": 19, "random_state": 0}])
def test_units_do_not_matter(mode):
    series = two_changes()
    expected = detect_changes(series, **mode)
    found = detect_changes(series * [1e6, 1e-3] + [3, -5], **mode)
    assert found.points.tolist() == expected.points.tolist()
    assert np.allclose(found.scores, expected.scores, rtol=1e-6, equal_nan=True)


@pytest.mark.slow
def test_gaps_are_no_changes():
    series = two_changes()
    series[[10, 11, 50], 0] = np.nan
    expected = detect_changes(two_changes()).points
    assert np.abs(detect_changes(series).points - expected).max() <= 1


FORMS = "%Y-%m-%dT%H:%M:%SZ", "%Y/%m/%d", "%b %d %Y"


def dated(n=60):
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=n, tz="UTC")
    return pd.DataFrame({"day": days, "value": np.r_[rng.normal(0, 1, n // 2), rng.normal(5, 1, n - n // 2)]})


@pytest.mark.parametrize("as_index", [False, True])
def test_a_time_in_a_zone_is_named_in_it(as_index):
    table = dated()
    table["day"] = table["day"].dt.tz_convert("Asia/Tokyo")
    found = detect_changes(table.set_index("day") if as_index else table)
    assert found.row_names[30] == "2024-01-31 09:00:00+09:00"
    assert found.times[30] == np.datetime64("2024-01-31")


def test_a_column_of_time_sorts_and_names_the_rows():
    table = dated()
    expected = detect_changes(table)
    assert expected.points.tolist() == [30]
    assert expected.row_names[30] == "2024-01-31"
    assert expected.times[30] == np.datetime64("2024-01-31")
    assert expected.order is None
    assert expected.feature_names == ("value",)
    shuffled = table.sample(frac=1, random_state=0)
    found = detect_changes(shuffled, time="day")
    assert found.points.tolist() == [30]
    assert found.to_dict()["names"] == ["2024-01-31"]
    assert shuffled["value"].to_numpy()[found.order].tolist() == table["value"].tolist()


@pytest.mark.parametrize(
    "write",
    [*(lambda day, form=form: day.dt.strftime(form) for form in FORMS), lambda day: day.dt.day_of_year],
)
def test_a_time_may_be_text_or_a_number(write):
    table = dated()
    found = detect_changes(table.assign(day=write(table["day"])), time="day")
    assert found.points.tolist() == [30]
    assert found.to_dict()["names"][0] in ("2024-01-31", "31")


def test_an_index_of_dates_is_a_time():
    series = dated().set_index("day")["value"]
    found = detect_changes(series)
    assert found.times[found.points].astype("datetime64[D]").tolist() == [datetime.date(2024, 1, 31)]


def test_a_month_is_a_time():
    table = pd.DataFrame({"month": [f"{1990 + i // 12}-{1 + i % 12:02}" for i in range(60)], "value": dated()["value"]})
    found = detect_changes(table, time="month")
    assert found.to_dict()["names"] == ["1992-07"]
    assert found.times[30] == np.datetime64("1992-07-01")


@pytest.mark.slow
def test_without_permutations_nothing_is_tested():
    found, expected = detect_changes(two_changes(), n_permutations=0), detect_changes(two_changes())
    assert not found.is_test
    assert found.points.tolist() == expected.points.tolist()


@given(st.integers(2, 6), st.integers(0, 10), seeds)
@quick
def test_points_are_a_window_apart_and_inside(window, more, seed):
    series = np.random.default_rng(seed).normal(size=2 * window + more)
    found = detect_changes(series, window=window, threshold=-0.99)
    assert len(found.points)
    assert (np.diff(found.points) >= window).all()
    assert found.points.min() >= window
    assert found.points.max() <= len(series) - window


@pytest.mark.slow
@given(st.integers(2, 5), st.integers(1, 3), seeds)
@quick
def test_row_by_row_gives_the_same_scores(window, n_features, seed):
    series = np.random.default_rng(seed).normal(size=(3 * window + 2, n_features))
    found = detect_changes(series, window=window, threshold=0.1)
    for detector in (ChangeDetector(window, 0.1, estimator=found.estimator), ChangeDetector(window, 0.1)):
        scores = []
        for row in series:
            detector.update(row)
            scores.append(detector.score_)
        assert np.isnan(scores[: 2 * window - 1]).all()
        assert np.allclose(scores[2 * window - 1 :], found.scores[window : len(series) - window + 1])


def test_row_by_row_a_change_is_reported_once():
    series = two_changes()[:80]
    detector = ChangeDetector(15, 0.4)
    reports = [number for number, row in enumerate(series) if detector.update(row)]
    assert len(reports) == 1
    assert 40 < reports[0] <= 55
    assert detector.changes_ == [reports[0] + 1 - 15]
    assert detector.n_rows_ == 80


@pytest.mark.parametrize(
    "kind",
    [list, pd.Series, pl.Series, torch.from_numpy, lambda x: x[:, None], lambda x: pd.DataFrame({"a": x})],
)
def test_a_series_may_be_of_any_kind(kind):
    series = two_changes()[:, 0]
    expected = detect_changes(series, window=15, threshold=0.5)
    found = detect_changes(kind(series), window=15, threshold=0.5)
    assert np.array_equal(found.points, expected.points)
    assert np.array_equal(found.scores, expected.scores, equal_nan=True)


def test_any_estimator_will_do():
    found = detect_changes(two_changes()[20:60], window=15, estimator=KLIEP(), threshold=0.1)
    assert np.abs(found.points - 20).min() <= 3


@pytest.mark.parametrize("value", [0.0, 7.5])
def test_nothing_changes_in_a_constant_series(value):
    assert len(detect_changes(np.full(30, value), window=5, **QUICK).points) == 0


@pytest.mark.slow
def test_the_same_seed_gives_the_same():
    first, second = (detect_changes(two_changes(), window=15, **QUICK) for _ in range(2))
    assert first.to_dict() == second.to_dict()


def test_the_result_can_be_read_stored_and_drawn():
    found = detect_changes(two_changes(), window=15, threshold=0.5)
    assert isinstance(found, ChangeResult)
    assert repr(found).startswith("ChangeResult: ")
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["points"] == found.points.tolist()
    assert stored["order"] is None
    assert stored["scores"][0] is None
    assert stored["mode"] == "test"
    assert [change["row"] for change in stored["changes"]] == stored["points"]
    # A panel for each column, and one for the scores.
    first, second, scores = found.plot().spec["vconcat"]
    assert (first["title"], second["title"], scores["title"]) == ("column 0", "column 1", "score")
    # The series, the level of each segment, and the changes.
    assert [row["y"] for row in first["data"]["values"]] == pytest.approx(found.series[:, 0], abs=1e-3)
    assert len({row["level"] for row in first["data"]["values"]}) == 1 + len(found.points)
    assert [row["x"] for row in first["layer"][-1]["data"]["values"]] == found.points.tolist()
    segmented = detect_changes(two_changes())
    assert json.loads(json.dumps(segmented.to_dict()))["mode"] == "segmentation"


@pytest.mark.parametrize(
    ("series", "options", "error", "message"),
    [
        (np.zeros(9), {"window": 5}, InputError, "series has 9 rows"),
        ([0.0, np.inf] * 5, {"window": 5}, InputError, "series has 5 infinite"),
        (np.zeros(10), {"window": 0}, ParameterError, "window is 0"),
        (np.zeros(10), {"window": 2.5}, ParameterError, "window is 2.5"),
        (np.zeros(10), {"window": 5, "step": 0}, ParameterError, "step is 0"),
        (np.zeros(10), {}, InputError, "series has 10 rows; at least 14"),
        (pd.DataFrame({"t": ["a", "b"] * 9, "x": range(18)}), {"time": "t"}, InputError, "holds text; a time is"),
        (pd.DataFrame({"t": [1, None] * 9, "x": range(18)}), {"time": "t"}, InputError, "has no time at row 1"),
        (pd.DataFrame({"x": range(18)}), {"time": "t"}, InputError, "has no column 't'"),
        (np.zeros(10), {"window": 5, "n_permutations": 50}, ParameterError, "a level of 0.01 needs at least 99"),
        (np.zeros(20), {"level": 0.05, "n_permutations": 0}, ParameterError, "n_permutations is 0; a level of 0.05"),
        (np.zeros(10), {"window": 5, "level": 2}, ParameterError, "level is 2"),
        (np.zeros(10), {"window": 5, "threshold": np.nan}, ParameterError, "threshold is nan"),
        (np.zeros(10), {"window": 5, "estimator": 1}, ParameterError, "estimator is 1"),
    ],
)
def test_errors_name_the_argument(series, options, error, message):
    with pytest.raises(error, match=message):
        detect_changes(series, **options)


def test_rows_with_other_columns_are_refused():
    detector = ChangeDetector(3, 0.5)
    detector.update([0.0, 1.0])
    with pytest.raises(InputError, match="row has shape"):
        detector.update(0.0)
    with pytest.raises(InputError, match="row has shape"):
        detector.update([[0.0, 1.0], [0.0, 1.0]])
    assert detector.n_rows_ == 1


@pytest.mark.parametrize("seed", range(3))
def test_a_rare_category_hides_no_change_of_another_column(seed):
    # Its far values are no heavy tail: most of its variance is that of rounding.
    rng = np.random.default_rng(seed)
    time = np.arange(200)
    found = detect_changes(np.column_stack([rng.normal(4 * (time >= 100), 1), rng.random(200) < 0.02]))
    assert found.points.tolist() == [100]
    assert found.changes[0]["column"] == "0"


@pytest.mark.parametrize("options", [{}, {"level": 0.05, "random_state": 0}], ids=["segments", "test"])
@pytest.mark.parametrize("n", [20, 200, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_step_without_noise_is_a_change(options, n):
    series = np.repeat([0.0, 7.0], n // 2)
    assert detect_changes(series, **options).points.tolist() == [n // 2]


def test_a_change_found_in_one_column_is_named_after_it():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(600, 3))
    found = segment(np.column_stack([noise, rng.random(600) < np.where(np.arange(600) < 400, 0.02, 0.15)]))
    (point,) = found.points
    assert found.owners == {point: 3}
    assert name_changes(found, found.points, found.degree) == [[(3, "share")]]
    # Even where another column gains more from it, as one with a season of its spread may.
    ((column, _), *_), *_ = name_changes(found._replace(owners={point: 1}), found.points, found.degree)
    assert column == 1


@pytest.mark.parametrize("n", [20, 100])
def test_a_step_is_found_where_a_column_has_few_values(n):
    # The gap between 0.1 and 5 is not what numbers are rounded to.
    series = np.concatenate([np.resize([0, 0.1], n), np.resize([5, 5.1], n)])
    assert detect_changes(series).points.tolist() == [n]


@pytest.mark.slow
def test_stairs_are_changes_and_isolated_values_are_not():
    stairs = np.repeat([3.0, 5.0, 4.0, 9.0], [100, 250, 80, 300])
    assert detect_changes(stairs).points.tolist() == [100, 350, 430]
    isolated = np.zeros(300)
    isolated[[50, 51, 150, 220]] = 7
    assert detect_changes(isolated).points.tolist() == []


MODES = pytest.mark.parametrize("options", [{}, {"level": 0.01, "random_state": 0}], ids=["segments", "test"])


@pytest.mark.slow
@MODES
def test_a_column_without_noise_hides_no_change_of_others(options):
    rows = np.arange(600)
    noise = np.random.default_rng(1).normal(10, 1, 600) + 6 * (rows >= 400)
    found = detect_changes(pd.DataFrame({"noise": noise, "status": rows >= 200}), **options)
    assert found.points.tolist() == [200, 400]
    assert [(each["column"], round(each["mean_after"])) for each in found.changes] == [("status", 1), ("noise", 16)]


@pytest.mark.slow
@MODES
def test_many_missing_values_hide_no_change(options):
    series = np.random.default_rng(1).normal(10, 1, 600) + 6 * (np.arange(600) >= 400)
    series[100:160] = np.nan
    found = detect_changes(pd.DataFrame({"x": series}), **options)
    assert found.points.tolist() == [100, 160, 400]
    assert [each["column"] for each in found.changes] == ["x is missing", "x is missing", "x"]


@pytest.mark.slow
@MODES
@pytest.mark.parametrize("start", [0, 1000, 2959])
def test_a_gap_in_a_season_is_no_change(options, start):
    series = 10 * np.sin(2 * np.pi * np.arange(3000) / 24) + np.random.default_rng(1).normal(20, 1, 3000)
    series[start : start + 41] = np.nan
    assert detect_changes(pd.DataFrame({"x": series}), **options).points.tolist() == []


WITHIN = "the change may have happened at any time in between."


@pytest.mark.parametrize("n_missing", [14, 30])
def test_a_gap_hides_no_change_within_it(n_missing):
    series = np.random.default_rng(21).normal(size=200)
    series[100:] += 3
    series[100 - n_missing // 2 : 100 + n_missing // 2] = np.nan
    found = detect_changes(pd.DataFrame({"x": series}))
    changes = found.changes
    assert [change["column"] for change in changes] == ["x is missing", "x", "x is missing"]
    assert abs(changes[1]["row"] - 100) <= 3
    between = f"row {99 - n_missing // 2} and row {100 + n_missing // 2}"
    assert found.notes[0] == f"x: there are no values between {between}; {WITHIN}"


@pytest.mark.parametrize("options", [{}, {"level": 0.05, "random_state": 0}], ids=["segments", "test"])
@pytest.mark.parametrize(("slope", "step"), [(1.0, -12.0), (-0.5, 8.0)])
def test_a_step_against_a_line_is_said_in_its_own_direction(options, slope, step):
    t = np.arange(200)
    series = slope * t + step * (t >= 100) + np.random.default_rng(5).normal(size=200)
    (change,) = detect_changes(series, **options).changes
    assert change["level_after"] - change["level_before"] == pytest.approx(step, abs=1)
    assert ("fell" if step < 0 else "rose") in describe_change(change)


def test_a_step_of_a_growing_series_is_a_factor():
    t = np.arange(120)
    logarithms = 0.05 * t - 0.5 * (t >= 60) + np.random.default_rng(0).normal(0, 0.02, 120)
    (change,) = detect_changes(np.exp(logarithms)).changes
    assert change["level_after"] / change["level_before"] == pytest.approx(np.exp(-0.5), rel=0.05)


@pytest.mark.parametrize("n", [200, 120_000])
def test_all_columns_that_changed_are_named(n):
    rng = np.random.default_rng(0)
    series = rng.normal(size=(n, 3))
    series[n // 2 :, 0] += 3
    series[n // 2 :, 1] *= 3
    (change,) = detect_changes(series).changes
    found = {each["column"]: describe_change(each) for each in (change, *change["also"])}
    assert set(found) == {"0", "1"}
    assert "rose from" in found["0"]
    assert "varies more" in found["1"]
