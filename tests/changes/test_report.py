"""The report of changes: what it says, and series of any length."""

import numpy as np
import pandas as pd
import pytest

from fewratio import detect_changes
from fewratio.charts.chart import Chart
from fewratio.report import page
from tests.report.test_results import assert_valid, blocks, tables


def steps(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, n) + 9 * (np.arange(n) >= n // 2)


@pytest.fixture(scope="module")
def dated():
    days = pd.date_range("2024-01-01", periods=120)
    frame = pd.DataFrame({"day": days, "calm": steps(seed=1) * 0 + np.sin(np.arange(120.0)), "sales": steps()})
    return detect_changes(frame, time="day", level=0.05, random_state=0)


def test_the_answer_says_when_and_what(dated):
    report = dated._report(name="sales.csv")
    assert report.title == "Changes of sales.csv"
    before, after = (f"{dated.changes[0][f'level_{side}']:.4g}" for side in ("before", "after"))
    assert report.answer == f"1 change, 2024-03-01: sales rose from {before} to {after}."
    assert report.facts["Rows"] == "120 rows, 2024-01-01 to 2024-04-29"


def test_each_change_has_a_row(dated):
    (row,) = tables(dated._report())["Changes in order of time"].rows
    (change,) = dated.changes
    assert row[:4] == ["2024-03-01", 60, "sales", "level"]
    assert [cell.value for cell in row[4:6]] == [change["level_before"], change["level_after"]]
    assert [cell.value for cell in row[6:8]] == [change["deviation_before"], change["deviation_after"]]
    assert row[8] == change["score"]


def test_the_advice_on_tests_is_that_of_the_language():
    result = detect_changes(steps()[:, None], random_state=0)
    assert result._report().facts["Method"].endswith("of false alarms of 0.01, pass level=0.01.")
    assert "--level 0.01" in result._report(command="fewratio changes x.csv").facts["Method"]


@pytest.mark.filterwarnings("ignore:No rows come between")
def test_a_gap_in_the_dates_is_left_open_and_only_the_column_that_changed_is_coloured():
    days = pd.date_range("2024-01-01", periods=180).delete(range(20, 60))
    frame = pd.DataFrame({"day": days, "calm": np.sin(np.arange(140.0)), "sales": np.resize(steps(), 140)})
    frame["sales"] = np.repeat([0.0, 9.0], 70) + frame["calm"] / 9
    report = detect_changes(frame, time="day", random_state=0)._report()
    charts = {chart.spec["title"]: chart for chart in blocks(report, Chart)}
    assert charts["sales"].data["y"].count(None) == 1
    own = {title: [row["own"] for row in chart.spec["layer"][-1]["data"]["values"]] for title, chart in charts.items()}
    assert own["sales"] == [True]
    assert own["calm"] == [False]


def test_an_offset_hides_nothing():
    report = detect_changes(1e6 + steps()[:, None], random_state=0)._report()
    first = blocks(report, Chart)[0]
    assert len(set(first.data["level"])) == 2
    (row,) = tables(report)["Changes in order of time"].rows
    assert row[4].text != row[5].text


def test_the_column_that_changed_is_drawn_first_and_the_scores_last(dated):
    first, *_, last = blocks(dated._report(), Chart)
    assert first.spec["title"] == "sales"
    assert len(first.data["x"]) == 120
    assert first.data["x"][0] == "2024-01-01"
    np.testing.assert_allclose(first.data["y"], dated.series[:, 1], atol=1e-3)
    assert last.spec["title"] == "score"
    assert max(last.data["y"]) == pytest.approx(np.nanmax(dated.scores), rel=1e-3)


def test_levels_are_those_of_the_segments():
    found = detect_changes(steps())
    chart = blocks(found._report(), Chart)[0]
    levels = dict(zip(chart.data["segment"], chart.data["level"], strict=True))
    assert len(levels) == 2
    assert levels[1] - levels[0] == pytest.approx(9, abs=0.6)
    # The picture shows the numbers of the text.
    (change,) = found.changes
    assert [levels[0], levels[1]] == pytest.approx([change["level_before"], change["level_after"]], abs=1e-3)


@pytest.mark.slow
def test_a_long_series_is_drawn_in_stretches():
    values = steps(30_000)
    found = detect_changes(values)
    report = found._report()
    chart = blocks(report, Chart)[0]
    assert min(chart.data["low"]) == pytest.approx(values.min(), rel=1e-3)
    assert max(chart.data["high"]) == pytest.approx(values.max(), rel=1e-3)
    assert len(chart.data["x"]) < 1000
    assert "Of 30000 values" in report.sections[0].blocks[1].text
    assert len(found.to_html().encode()) < 2_000_000


@pytest.mark.parametrize("options", [{}, {"level": 0.05}, {"window": 5}], ids=str)
def test_no_change_is_a_report_too(options):
    found = detect_changes(np.random.default_rng(1).normal(size=40), **options, random_state=0)
    report = found._report()
    assert report.answer == "No change was found."
    assert_valid(found.to_html())
    assert "<svg" in found._repr_html_()


def test_the_call_that_makes_it_again_is_told(dated):
    (code,) = blocks(dated._report(), page.Code)
    assert code.text == "detect_changes(series, level=0.05, time='day', random_state=0).to_html(path)"


def test_times_within_a_day_are_in_utc():
    frame = pd.DataFrame({"when": pd.date_range("2024-01-01 08:00", periods=60, freq="min"), "v": steps(60)})
    report = detect_changes(frame, time="when")._report()
    assert report.answer.startswith("1 change, 2024-01-01 08:30: v rose from ")
    assert blocks(report, Chart)[0].data["x"][0] == "2024-01-01T08:00:00Z"


@pytest.mark.parametrize("freq", ["h", "D"])
def test_moments_are_in_the_zone_of_the_user(freq):
    when = pd.date_range("2024-01-01", periods=60, freq=freq, tz="Asia/Tokyo")
    report = detect_changes(pd.DataFrame({"when": when, "v": steps(60)}))._report()
    day = str(when[30]) if freq == "h" else str(when[30].date())
    assert report.answer.startswith(f"1 change, {day}: v rose from ")
    clock = [pd.Timestamp(each).tz_localize(None) for each in blocks(report, Chart)[0].data["x"]]
    assert clock == when.tz_localize(None).tolist()


def test_the_clearest_of_several_changes_is_the_answer():
    rows = np.random.default_rng(2).normal(size=(300, 2))
    rows[100:, 0] += 3
    rows[200:, 1] *= 9
    found = detect_changes(rows)
    first, second = found.changes
    clearest = max(first, second, key=lambda change: change["score"])
    assert found._report().answer.startswith(f"2 changes. The clearest, row {clearest['row']}: column 1 varies more")


def test_the_headline_is_one_clause_and_the_rest_is_listed():
    rows = np.random.default_rng(2).normal(size=(300, 3))
    rows[100:, 0] += 3
    rows[200:, 1] *= 9
    rows[200:, 2] += 5
    report = detect_changes(rows)._report()
    headline, rest = report.parts
    assert ";" not in headline
    assert [line.split(":")[0] for line in rest.splitlines()] == ["At the same time", "row 100"]


def test_a_trend_has_numbers_before_and_after():
    time = np.arange(200.0)
    values = np.random.default_rng(0).normal(size=200) + np.where(time < 100, 0.5 * time, 50 - 0.25 * (time - 100))
    report = detect_changes(pd.DataFrame({"flow": values}))._report()
    assert "the trend of flow changed from +0.5 to -0.25 per row" in report.answer
    table = tables(report)["Changes in order of time"]
    row = dict(zip(table.headings, table.rows[0], strict=True))
    assert (row["slope before"].text, row["slope after"].text) == ("+0.5", "-0.25")


def test_missing_values_are_shares_and_have_no_deviation():
    values = steps()
    values[:40] = np.nan
    report = detect_changes(pd.DataFrame({"x": values}))._report()
    row = next(each for each in tables(report)["Changes in order of time"].rows if each[2] == "x is missing")
    assert [cell.text for cell in row[4:6]] == ["100 %", "0 %"]
    assert row[6:8] == ["", ""]
    assert "x has values from then on (missing: 100 % -> 0 % of the rows)" in report.answer


def test_years_have_no_commas_and_the_only_column_is_tall():
    found = detect_changes(pd.DataFrame({"year": 1900 + np.arange(120), "flow": steps()}), time="year")
    (chart,) = blocks(found._report(), Chart)
    assert chart.spec["encoding"]["x"]["axis"]["format"] == ".12~g"
    assert chart.spec["encoding"]["x"]["title"] is None
    assert chart.spec["height"] > 200


@pytest.mark.filterwarnings("ignore:Rows are")
def test_long_gaps_are_not_drawn():
    values = steps()
    values[:20] = np.nan
    values[50:52] = np.nan
    report = detect_changes(pd.DataFrame({"x": values}))._report()
    chart = next(each for each in blocks(report, Chart) if each.spec["title"] == "x")
    assert [place for place, value in enumerate(chart.data["y"]) if value is None] == list(range(20))
    assert chart.data["level"][:20] == [None] * 20
    assert chart.description.startswith("x: 98 values ")
    assert "the lines are interrupted" in report.sections[0].blocks[1].text
    assert report.facts["Filled"] == "missing values of x"
