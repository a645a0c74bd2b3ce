"""The report of outliers: what it says, and why."""

import numpy as np
import pandas as pd
import pytest

from fewratio import InlierOutlierDetector, RuLSIF
from fewratio.charts.chart import Chart
from fewratio.report import page
from tests.mixed import mixed
from tests.report.test_results import assert_valid, blocks, tables


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(0)
    normals = pd.DataFrame(rng.normal(size=(90, 2)), columns=["depth", "<width>"])
    batch = pd.DataFrame(np.vstack([rng.normal(size=(60, 2)), [[0.0, 8.0]]]), columns=normals.columns)
    return InlierOutlierDetector(contamination=0.05).fit(normals).detect(batch)


def test_the_answer_names_the_most_anomalous_row_and_why(judged):
    report = judged._report(name="today.csv")
    assert report.title == "Outliers of today.csv"
    assert report.headline == "3 of 61 rows are outliers."
    assert report.parts[1].startswith(
        "Most anomalous: row 60: <width> 8 is far above all normal rows (-2.398 to 2.002); row"
    )
    assert report.facts["Known to be normal"] == "90 rows"
    assert report.facts["Threshold"].endswith("the share of rows that was asked for (5 %) is below it")


def test_rows_are_ranked_with_their_scores(judged):
    table = tables(judged._report())["Rows, the most anomalous first"]
    assert [int(row[0]) for row in table.rows] == judged.order[:10].tolist()
    assert [row[2] for row in table.rows] == ["outlier"] * 3 + ["not flagged"] * 7
    assert [row[3].value for row in table.rows] == judged.scores[judged.order[:10]].tolist()


def test_small_and_large_deviations_have_different_colours():
    rng = np.random.default_rng(0)
    batch = np.vstack([rng.normal(size=(60, 3)), [[0.0, 0.0, 250.0]]])
    result = InlierOutlierDetector(contamination=0.05).fit(rng.normal(size=(90, 3))).detect(batch)
    chart = next(chart for chart in blocks(result._report(), Chart) if "v0" in chart.data)
    assert max(chart.data["v0"]) > 100
    assert chart.spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == [-6, 0, 6]


def test_all_rows_are_in_the_distribution_of_scores(judged):
    chart = next(chart for chart in blocks(judged._report(), Chart) if "low" in chart.data)
    counts = pd.DataFrame(chart.data).groupby("sample")["value"].sum()
    assert counts.to_dict() == {"not flagged": 58, "outlier": 3}


def test_the_most_anomalous_rows_are_shown_beside_their_nearest_normals(judged):
    table = tables(judged._report())["Row 60"]
    column, here, nearest, difference = table.rows[0]
    assert column == "<width>"
    assert here.value == 8.0
    neighbours = judged.explain(60).neighbours
    assert nearest.value == pytest.approx(judged.detector._normals[neighbours, 1].mean())
    assert difference.text == f"{judged.explain(60).differences[0]:+.2g}"
    assert ", ".join(map(str, neighbours)) in table.note


def test_the_columns_that_tell_are_drawn_for_normal_rows_and_outliers(judged):
    charts = blocks(judged._report(), page.Charts)[0].charts
    assert {chart.description.partition(".")[0] for chart in charts} == {"depth", "<width>"}
    assert set(charts[0].data["sample"]) == {"known normal", "not flagged", "outlier"}


def test_no_outliers_is_an_answer_too():
    rng = np.random.default_rng(0)
    result = InlierOutlierDetector().fit(rng.normal(size=(30, 2))).detect(rng.normal(size=(1, 2)) / 10)
    assert result._report().answer == "No outliers were found among 1 row."
    assert_valid(result.to_html())
    assert "<svg" in result._repr_html_()


def test_rows_that_all_lie_outside_few_normal_rows_are_not_called_normal():
    rng = np.random.default_rng(3)
    good, other = (pd.DataFrame(rng.normal(at, 1, (6, 3)), columns=list("abc")) for at in (0, 3))
    report = InlierOutlierDetector().fit(good).detect(other)._report()
    assert report.headline == "All 6 rows lie outside the normal rows in 2 columns, but none is flagged."
    assert "--contamination" in report.answer
    assert {row[2] for row in tables(report)["Rows, the most anomalous first"].rows} == {"not flagged"}


def test_tables_of_all_kinds_and_other_estimators():
    normals, batch = mixed(40, 0), mixed(30, 1, shift=3.0)
    result = InlierOutlierDetector(RuLSIF()).fit(normals).detect(batch)
    assert_valid(result.to_html())
    treatment = tables(result._report())["All columns"]
    assert {row[0] for row in treatment.rows} >= {"code", "colour", "price"}


@pytest.mark.slow
def test_a_large_batch_stays_small():
    rng = np.random.default_rng(0)
    result = InlierOutlierDetector().fit(rng.normal(size=(1000, 50))).detect(rng.normal(0.5, 1.5, size=(20_000, 50)))
    assert result.is_outlier.sum() > 200
    text = result.to_html()
    assert len(text.encode()) < 2_000_000
    assert "more outliers are left out here" in text


def test_the_call_that_makes_it_again_is_told(judged):
    (code,) = blocks(judged._report(), page.Code)
    assert code.text == "InlierOutlierDetector(contamination=0.05).fit(X_inlier).detect(X).to_html(path)"


def test_one_result_has_what_the_methods_of_the_detector_give(judged):
    batch = judged.samples.given[0]
    np.testing.assert_array_equal(judged.scores, judged.detector.score_samples(batch))
    np.testing.assert_array_equal(judged.margins, judged.detector.decision_function(batch))
    np.testing.assert_array_equal(judged.is_outlier, judged.detector.predict(batch) == -1)
    assert judged.threshold == judged.detector.threshold(batch)
    assert repr(judged).startswith("OutlierResult(3 of 61 rows; threshold ")
    assert judged.to_dict()["order"][0] == 60


def test_few_normal_rows_are_said_to_be_few():
    rng = np.random.default_rng(0)
    found = [InlierOutlierDetector().fit(rng.normal(size=(n, 2))).detect(rng.normal(size=(20, 2))) for n in (3, 30)]
    assert "Flags vary a lot with only 3 normal rows" in found[0]._report().answer
    assert "Flags vary" not in found[1]._report().answer


def test_a_fifth_of_flags_is_no_shift_where_normals_are_few():
    rng = np.random.default_rng(0)
    normals, batch = rng.normal(size=(5, 2)), rng.normal(size=(40, 2))
    batch[:12] *= 20
    detector = InlierOutlierDetector().fit(normals)
    found = detector.detect(batch)
    assert 0.2 <= found.is_outlier.mean() <= 0.5
    assert found.shift is None
    assert "shift" in detector.detect(batch + 50).shift
