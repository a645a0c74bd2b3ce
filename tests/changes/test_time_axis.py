"""The time of a series: found in every container, said where it is a guess, and never a measurement."""

import calendar
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from fewratio import detect_changes
from fewratio.app import app
from fewratio.changes.time_axis import is_even
from fewratio.errors import FewRatioWarning, InputError

N = 60
STEP = np.random.default_rng(0).normal(0, 1, N) + 6.0 * (np.arange(N) >= 40)
MONTHS = 1969 + np.arange(N) / 12


def through_csv(frame, tmp_path):
    frame.to_csv(tmp_path / "series.csv", index=False)
    return tmp_path / "series.csv"


CONTAINERS = {
    "pandas": lambda frame, _: frame,
    "polars": lambda frame, _: pl.from_pandas(frame),
    "arrow": lambda frame, _: pa.Table.from_pandas(frame),
    "dict": lambda frame, _: frame.to_dict("list"),
    "CSV": through_csv,
}


NUMBERS = pytest.mark.parametrize(
    ("label", "values", "name"),
    [
        ("time", MONTHS, "1972.33"),
        ("time", MONTHS.round(2), "1972.33"),
        ("Year", 1900 + np.arange(N), "1940"),
        ("index", np.arange(N), "40"),
        ("Time (s)", np.cumsum(1 + np.arange(N) % 3), "81"),
        ("depth", 0.25 * np.arange(N), "10"),
    ],
    ids=["fractional years", "rounded", "years", "index", "seconds", "even"],
)


@NUMBERS
@pytest.mark.parametrize("container", CONTAINERS)
def test_numbers_that_are_a_time_are_not_compared(container, label, values, name, tmp_path):
    frame = pd.DataFrame({label: values, "value": STEP})
    with pytest.warns(FewRatioWarning, match=r"is used as the time.*keep=\["):
        found = detect_changes(CONTAINERS[container](frame, tmp_path))
    assert found.to_dict()["names"] == [name]
    assert found.feature_names == ("value",)


@NUMBERS
def test_they_are_compared_where_the_user_says_so(label, values, name):
    kept = detect_changes(pd.DataFrame({label: values, "value": STEP}), keep=label)
    assert kept.feature_names == (label, "value")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_a_column_of_an_array_is_the_time_if_it_rises_evenly(dtype):
    array = np.column_stack([np.arange(N), 10 * STEP]).astype(dtype)
    with pytest.warns(FewRatioWarning, match="Column '0' is used as the time"):
        found = detect_changes(array)
    assert found.to_dict()["names"] == ["40"]
    assert found.series.shape == (N, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert detect_changes(array, keep="0").series.shape == (N, 2)


@pytest.mark.parametrize(
    "frame",
    [
        {"cumulative_count": np.random.default_rng(1).poisson(9, N).cumsum(), "value": STEP},
        {"price": 100 * 1.01 ** np.arange(N), "value": STEP},
        {"response_time": np.sort(STEP) + np.arange(N), "value": STEP},
        {"t": STEP + 0.5 * np.arange(N), "value": STEP},
        {"ramp": np.arange(N)},
    ],
    ids=["count", "price", "duration", "not in order", "alone"],
)
def test_a_measurement_that_rises_is_compared(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = detect_changes(pd.DataFrame(frame))
    assert found.times is None
    assert found.series.shape == (N, len(frame))


@pytest.mark.parametrize("container", CONTAINERS)
def test_unsorted_times_are_sorted_and_said(container, tmp_path):
    days = pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d")
    for time in ({"day": days}, {"year": 1900 + np.arange(N)}):
        frame = pd.DataFrame({**time, "value": STEP}).sample(frac=1, random_state=0)
        with pytest.warns(FewRatioWarning, match="are sorted by it"):
            found = detect_changes(CONTAINERS[container](frame, tmp_path))
        assert found.points.tolist() == [40]
        assert found.order is not None


def test_an_unsorted_index_of_dates_is_sorted_and_said():
    frame = pd.DataFrame({"value": STEP}, index=pd.date_range("2024-01-01", periods=N)[::-1])
    with pytest.warns(FewRatioWarning, match="not in the order of the index"):
        found = detect_changes(frame)
    assert found.points.tolist() == [N - 40]
    assert found.to_dict()["names"] == ["2024-01-21"]


def test_an_index_of_numbers_names_the_changes():
    assert detect_changes(pd.Series(STEP, index=MONTHS)).to_dict()["names"] == ["1972.33"]


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ({"year": 1990 + np.arange(N) // 4, "quarter": 1 + np.arange(N) % 4}, "2000-01-01"),
        ({"year": 1990 + np.arange(N) // 12, "month": 1 + np.arange(N) % 12}, "1993-05-01"),
        ({"Year": 1990 + np.arange(N) // 12, "Month": list(calendar.month_name[1:]) * 5}, "1993-05-01"),
    ],
)
def test_parts_of_a_date_are_a_time(parts, name):
    with pytest.warns(FewRatioWarning, match="are used as the time"):
        found = detect_changes(pd.DataFrame({**parts, "value": STEP}))
    assert found.to_dict()["names"] == [name]
    assert found.feature_names == ("value",)


def test_digits_of_a_date_are_a_date():
    days = pd.date_range("2024-01-01", periods=N)
    found = detect_changes(pd.DataFrame({"date": days.strftime("%Y%m%d").astype(int), "value": STEP}))
    assert found.to_dict()["names"] == ["2024-02-10"]


def test_what_follows_from_the_time_is_left_out_and_said():
    days = pd.date_range("2023-11-01", periods=N, tz="Asia/Tokyo")
    frame = pd.DataFrame({"when": days, "value": STEP, "month": days.month, "year": days.year})
    frame = frame.assign(weekday=days.day_name(), week=days.isocalendar().week.to_numpy(), row=range(N))
    with pytest.warns(FewRatioWarning, match="'month', 'year', 'weekday', 'week', 'row' follow from the time"):
        found = detect_changes(frame)
    assert found.feature_names == ("value",)
    # Not the month of the row.
    other = detect_changes(frame[["when", "value"]].assign(month=np.arange(N) % 7))
    assert other.feature_names == ("value", "month")


LONG = pd.DataFrame(
    {
        "symbol": np.repeat(["A", "B", "C"], N),
        "date": np.tile(pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"), 3),
        "price": np.concatenate([STEP, 100 - STEP, np.random.default_rng(3).normal(size=N)]),
    }
)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("time", ["date", "year"])
def test_several_series_in_one_table_ask_for_the_column_that_names_them(container, time, tmp_path):
    frame = LONG if time == "date" else LONG.assign(date=np.tile(1900 + np.arange(N), 3)).rename(columns={"date": time})
    table = CONTAINERS[container](frame, tmp_path)
    with pytest.raises(InputError, match=r"3 values of column 'symbol'.*by='symbol'"):
        detect_changes(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewRatioWarning)
        found = detect_changes(table, by="symbol")
    assert {name: each.points.tolist() for name, each in found.items()} == {"A": [40], "B": [40], "C": []}


def test_the_results_of_several_series_have_one_report():
    found = detect_changes(LONG, by="symbol")
    assert found.to_dict()["series"]["A"] == found["A"].to_dict()
    assert "detect_changes(series, by=&#39;symbol&#39;" in found.to_html()
    assert [panel["title"] for panel in found.plot().spec["vconcat"]] == ["A", "B", "C"]


def test_times_that_repeat_are_one_series_if_nothing_tells_the_rows_apart():
    frame = pd.DataFrame({"date": np.repeat(LONG["date"][:N].to_numpy(), 2), "value": np.repeat(STEP, 2)})
    with pytest.warns(FewRatioWarning, match="Most times occur more than once"):
        assert detect_changes(frame).points.tolist() == [80]


def test_short_series_are_left_out_and_said():
    short = LONG.iloc[: N + 5]
    with pytest.warns(FewRatioWarning, match="left out: 'B'"):
        assert list(detect_changes(short, by="symbol")) == ["A"]
    with pytest.raises(InputError, match="fewer than 14 rows"):
        detect_changes(short.iloc[N - 5 :], by="symbol")


def run(*words):
    return CliRunner().invoke(app, ["changes", *map(str, words)], catch_exceptions=False)


@pytest.mark.slow
def test_the_shell_answers_for_each_series(tmp_path):
    path, report, rows = through_csv(LONG, tmp_path), tmp_path / "report.html", tmp_path / "rows.csv"
    refused = run(path)
    assert refused.exit_code == 2
    assert "--by symbol" in refused.stderr
    done = run(path, "--by", "symbol", "--level", 0.05, "--permutations", 19, "--json", "--report", report)
    content = json.loads(done.stdout)
    assert content["by"] == "symbol"
    assert {name: each["names"] for name, each in content["series"].items()} == {
        "A": ["2024-02-10"],
        "B": ["2024-02-10"],
        "C": [],
    }
    page = report.read_text()
    assert "2 of 3 series changed: A (1), B (1)." in page
    assert "Holds for each series separately" in page
    done = run(path, "--by", "symbol", "-o", rows)
    assert "1 change in 60 rows of A" in done.stdout
    written = pd.read_csv(rows)
    assert written.loc[written["change"] == 1, ["symbol", "row"]].to_numpy().tolist() == [["A", 40], ["B", 40]]


@pytest.mark.parametrize(
    ("condition", "code"), [("changes", 3), ("changes > 0", 3), ("changes >= 2", 0), ("changes < 1", 0), ("p < 1", 2)]
)
def test_a_condition_decides_the_exit_code(condition, code, tmp_path):
    path = through_csv(pd.DataFrame({"value": STEP}), tmp_path)
    done = run(path, "--fail-if", condition)
    assert done.exit_code == code
    assert ("1 change" in done.stderr) == (code == 3)


def test_a_gap_in_time_is_said():
    days = np.arange(N) + 90 * (np.arange(N) >= 30)
    frame = pd.DataFrame({"date": pd.Timestamp("2024-01-01") + pd.to_timedelta(days, "D"), "value": STEP})
    with pytest.warns(FewRatioWarning, match="No rows come between 2024-01-30 and 2024-04-30"):
        detect_changes(frame)
    # Nights of a shop that is open for a few hours are no gaps.
    hours = np.arange(N) % 4 + 24 * (np.arange(N) // 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detect_changes(frame.assign(date=pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, "h")))


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [(np.arange(20), True), (1969 + np.arange(200) / 12, True), (np.arange(20)[::-1], False), (np.ones(20), False)],
)
def test_even_numbers(numbers, expected):
    for dtype in (np.float64, np.float32):
        assert is_even(numbers.astype(dtype)) == expected
    assert not is_even(np.r_[numbers[:10], numbers[11:]].astype(np.float64))


@pytest.mark.parametrize(("year", "why"), [(1901, "1 repeated value"), (np.nan, "1 missing value")])
def test_a_year_that_is_not_used_as_the_time_is_said(year, why):
    years = np.arange(1871.0, 1971)
    years[29] = year
    table = pd.DataFrame({"year": years, "volume": np.random.default_rng(0).normal(size=100)})
    with pytest.warns(FewRatioWarning, match=f"'year' is compared, not used as the time: it has {why}. .* time='year'"):
        detect_changes(table)


def test_a_table_of_dates_alone_is_refused():
    dates = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=30)})
    with pytest.raises(InputError, match=r"series holds nothing but dates .'day'.*measured values"):
        detect_changes(dates)


@pytest.mark.parametrize(
    "form",
    [
        lambda when: f"{when.year}Q{when.quarter}",
        lambda when: f"Q{when.quarter} {when.year}",
        lambda when: f"{when.year}-Q{when.quarter}",
        lambda when: when.strftime("%b %Y"),
        lambda when: when.strftime("%Y %B"),
        lambda when: when.strftime("%YM%m"),
        lambda when: int(when.strftime("%Y%m")),
    ],
)
def test_quarters_and_months_are_times_however_they_are_written(form):
    rng = np.random.default_rng(0)
    start = pd.date_range("1960-01-01", periods=200, freq="QS")
    frame = pd.DataFrame({"quarter": list(map(form, start)), "y": rng.normal(size=200) + 4 * (np.arange(200) >= 100)})
    with pytest.warns(FewRatioWarning, match="are sorted by it"):
        found = detect_changes(frame.iloc[rng.permutation(200)])
    assert found.points.tolist() == [100]
    assert found.feature_names == ("y",)


def test_weeks_are_times():
    days = pd.date_range("2019-12-30", periods=80, freq="7D")
    series = pd.Series(np.arange(80) % 7.0, index=[day.strftime("%G-W%V") for day in days])
    found = detect_changes(series)
    assert (np.diff(found.times) == np.timedelta64(7, "D")).all()
    # A year of 52 weeks has no 53rd.
    assert detect_changes(series.set_axis([f"2021-W{week}" for week in range(10, 90)])).times is None


def test_a_rising_time_of_day_is_the_time():
    series = np.random.default_rng(0).normal(size=200) + 4 * (np.arange(200) >= 100)
    frame = pd.DataFrame({"time": [f"{row // 60:02}:{row % 60:02}" for row in range(200)], "y": series})
    with pytest.warns(FewRatioWarning, match="'time' is used as the time"):
        found = detect_changes(frame)
    assert [(change["column"], change["name"]) for change in found.changes] == [("y", "01:40")]
