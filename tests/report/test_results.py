"""The reports of results: what they say, on tables of all kinds and sizes."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from fewratio import ULSIF, RuLSIF, compare_datasets, importance_weights
from fewratio.charts.chart import Chart
from fewratio.errors import ParameterError
from fewratio.ratio.report import RatioRows
from fewratio.report import page
from tests.mixed import mixed

HOSTILE = "<script>alert(1)</script>"


def normal(n, d, shift=0.0, seed=0):
    return np.random.default_rng(seed).normal(shift, 1, (n, d))


def compared(A, B, n_permutations=99, **options):
    return compare_datasets(A, B, n_permutations=n_permutations, random_state=0, **options)


def blocks(report, kind):
    return [block for section in report.sections for block in section.blocks if isinstance(block, kind)]


def tables(report):
    return {table.caption: table for table in blocks(report, page.Table)}


@pytest.fixture(scope="module")
def different():
    return compared(mixed(40, 0), mixed(50, 1, shift=3.0))


def test_the_answer_names_what_differs(different):
    report = different._report()
    assert " Without size, no difference was found (p = " in different.verdict
    said = f"{different.verdict} The column size alone separates 86 of 90 rows.\nClearest: size."
    assert report.answer == said
    # The figure, and below it what it is of.
    assert report.facts["Rows"] == "40 and 50\nof A and B"
    assert re.match(r"0\.\d\d\nof at most 0.50", report.facts["Divergence"])
    assert re.match(r"p = 0\.\d+\nfrom 99 permutations", report.facts["Test"])
    assert '<dd class="figure">40 and 50</dd><dd class="detail">of A and B</dd>' in different.to_html()


def test_the_test_is_drawn_at_the_end(different):
    titles = [section.title for section in different._report().sections]
    assert titles[-2:] == ["The test", "How this was made"]
    untested = [section.title for section in compared(normal(9, 3), normal(9, 3, 1), 0)._report().sections]
    assert "The test" not in untested


def test_a_column_of_similar_means_says_what_differs_and_the_largest_effect_is_named():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 200, 3))
    # Two peaks, of the same mean and deviation as before.
    b[:, 1] = np.sign(b[:, 1]) * 0.995 + 0.1 * rng.normal(size=200)
    a[:, 0] += 0.1
    b[:, 2] *= 3
    result = compare_datasets(a - [0, a[:, 1].mean(), 0], b - [0, b[:, 1].mean(), 0], random_state=0)
    report = result._report()
    assert "1 (similar mean, different shape)" in report.answer
    assert "2 (similar mean, different spread)" in report.answer
    assert "0 (" not in report.answer
    effects = {row[0]: row[1].text for row in tables(report)["Columns, the clearest first"].rows}
    assert [effects[name].partition("\n")[2] for name in "012"] == ["", "different shape", "different spread"]
    largest = max(result.columns, key=lambda each: abs(each.effect))
    assert largest.column == 0 != result.columns[0].column
    assert f"the largest that of 0: {largest.effect:+.2f}." in result.to_html()


def test_the_answer_says_that_nothing_was_found():
    report = compared(normal(30, 2), normal(30, 2, seed=1))._report()
    assert re.fullmatch(
        r"No difference was found \(p = 0\.\d+\)\. A shift of one column by (0\.\d+|1|1\.\d) standard deviations would "
        r"have been found in four of five cases\.",
        report.answer,
    )
    # What would have been found is no headline.
    assert re.fullmatch(r"No difference was found \(p = 0\.\d+\)\.", report.headline)


def test_the_overview_counts_columns_gaps_and_copies():
    A = pd.DataFrame({"x": [1.0, 1, 2, None, 5], "y": ["1", "1", "2", "3", "b"], "only": range(5)})
    B = pd.DataFrame({"x": [1.0, 3, 2, 4, 6, 7], "y": [1, 1, 2, 3, 4, 5]})
    result = compared(A, B, 19, drop="only", categorical="y", common=True)
    overview = result._report().sections[0]
    assert overview.title == "Overview"
    assert result._report().facts["Columns"].startswith("0 of 2\n")
    assert [row for row in overview.blocks[1].rows if row[0] != "columns of another type"] == [
        ["columns", "3", "2"],
        ["columns only in this table", "only", "none"],
        ["missing cells", "1 (10 %)", "0"],
        ["duplicate rows", "1", "0"],
    ]


def test_the_columns_used_as_they_are_have_one_row(different):
    rows = tables(compared(normal(9, 3), normal(9, 3, 1), 9)._report())
    assert "All columns" not in rows
    frames = [pd.DataFrame(normal(20, 3, seed, seed), columns=list("abc")).assign(d="u") for seed in (0, 1)]
    treatment = tables(compared(*frames, 9)._report())["All columns"]
    assert [row[2] for row in treatment.rows][-1] == "as they are"


def test_a_relation_of_two_columns_of_zeros_and_ones_does_not_hide_its_rows():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, (200, 2)).astype(float)
    second = np.repeat(rng.integers(0, 2, (200, 1)), 2, axis=1).astype(float)
    result = compared(pd.DataFrame(first, columns=list("ab")), pd.DataFrame(second, columns=list("ab")))
    chart = next(each for group in blocks(result._report(), page.Charts) for each in group.charts if "x" in each.data)
    assert len(set(zip(chart.data["x"], chart.data["y"], strict=True))) > 100
    assert "(dots shifted)" in chart.spec["encoding"]["x"]["title"]


@pytest.mark.filterwarnings("ignore:With 3 rows")
def test_the_answer_says_that_nothing_could_be_found():
    report = compared(normal(3, 2), normal(3, 2, 9.0))._report()
    assert report.answer == "No difference was found (p = 0.1). There are too few rows for the test to find one."


@pytest.mark.filterwarnings("ignore:With 1 row")
def test_the_answer_warns_of_a_single_row():
    result = compared(normal(1, 2), normal(30, 2))
    assert (
        result.caution
        == result.to_dict()["caution"]
        == "A has only one row; a single row says little about its distribution. No rows could be held out: ratios and "
        "divergence are those of the fit, too large on average."
    )
    assert result._report().answer.endswith(result.caution)
    assert compared(normal(2, 2), normal(30, 2), 0).caution is None


def test_columns_that_tell_the_tables_apart_are_in_the_answer():
    report = compared(mixed(40, 0, lot="a"), mixed(50, 1, 3.0, lot="b"))._report()
    assert report.answer.startswith("The tables differ very strongly (divergence 0.")
    assert "; p = 0.01). Without lot and size, no difference was found (p = " in report.answer
    assert ". The column lot separates the tables on its own. The column size alone separates " in report.answer
    treatment = tables(report)["All columns"]
    assert next(row for row in treatment.rows if row[0] == "lot")[2] == (
        "2 columns of 0 and 1: a, b; lot alone separates all rows: a in A, b in B"
    )


def test_without_a_test_there_is_none():
    report = compared(normal(9, 2), normal(9, 2, 1), n_permutations=0)._report()
    assert "No test was made" in report.answer
    assert "p" not in tables(report)["Columns, the strongest first"].headings


def test_each_column_has_a_row_and_a_small_chart(different):
    table = tables(different._report())["Columns, the clearest first"]
    assert [row[0] for row in table.rows] == [each.column for each in different.columns]
    assert all(isinstance(row[table.headings.index("distributions")], Chart) for row in table.rows)
    assert table.is_searchable


def test_rows_have_their_names_and_values_as_they_were_given(different):
    table = tables(different._report())["The rows most typical of A"]
    first = dict(zip(table.headings, table.rows[0], strict=True))
    given = mixed(40, 0).set_index("code").loc[first["row"]]
    assert first["price"].value == given["price"]
    assert first["colour"] == (given["colour"] if isinstance(given["colour"], str) else "–")
    assert first["day"] == given["day"]


def test_the_map_has_a_point_per_row_with_its_ratio(different):
    chart = next(chart for chart in blocks(different._report(), Chart) if "name" in chart.data)
    assert chart.data["sample"] == ["A"] * 40 + ["B"] * 50
    np.testing.assert_allclose(chart.data["ratio"][:40], different.ratios_a, rtol=1e-3)


def test_the_permutations_are_all_counted(different):
    chart = next(chart for chart in blocks(different._report(), Chart) if {"low", "sample"} <= chart.data.keys())
    assert sum(chart.data["value"]) == 99


def test_a_null_without_spread_is_drawn():
    report = compared(np.ones((9, 2)), np.ones((9, 2)))._report()
    chart = next(chart for chart in blocks(report, Chart) if {"low", "sample"} <= chart.data.keys())
    assert sum(chart.data["value"]) == 99
    assert chart.data["low"][0] < chart.data["high"][0]


def test_the_call_that_makes_it_again_is_told():
    result = compared(mixed(20, 0), mixed(20, 1), drop=["price"], estimator=RuLSIF(alpha=0.5))
    (code,) = blocks(result._report(), page.Code)
    call = "compare_datasets(A, B, estimator=RuLSIF(), n_permutations=99, random_state=0, drop=['price'])"
    assert code.text == f"{call}.to_html(path)"
    again = eval(code.text.partition(".to_html")[0], globals() | {"A": mixed(20, 0), "B": mixed(20, 1)})
    assert again.p_value == result.p_value
    assert blocks(result._report("fewratio compare a b"), page.Code)[0].text == "fewratio compare a b"


@pytest.mark.parametrize(
    "pair",
    [
        (normal(1, 1), normal(1, 1, seed=1)),
        (normal(1, 3), normal(2, 3, seed=1)),
        (normal(20, 1), normal(30, 1, 1)),
        (normal(20, 3) * 1e100, normal(20, 3, 1) * 1e100),
        (normal(20, 2) * 1e-100, normal(20, 2) * 1e-100),
    ],
    ids=["one row", "three rows", "one column", "large", "small"],
)
@pytest.mark.filterwarnings("ignore:With ")
def test_tables_of_any_size_and_unit(pair):
    assert_valid(compared(*pair).to_html())


@pytest.mark.parametrize("estimator", [ULSIF(), RuLSIF(alpha=0.1)], ids=repr)
def test_ratios_of_other_estimators(estimator):
    assert_valid(compared(normal(20, 2), normal(20, 2, 2), estimator=estimator).to_html())


def assert_valid(text):
    """Its data are JSON, without numbers that JSON has not."""
    data = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.DOTALL)[1]
    found = json.loads(data, parse_constant=pytest.fail)
    sizes = [len(kept["places"] if isinstance(kept, dict) else kept) for kept in found["columns"]]
    assert all(len({sizes[place] for place in columns.values()}) == 1 for _, columns in found["charts"])


def test_hostile_names_and_values_are_text():
    frames = [
        pd.DataFrame(
            {
                HOSTILE: normal(20, 1, seed, seed)[:, 0],
                "x": [HOSTILE, "</script><b>"] * 10,
                "id": [f"{HOSTILE}{seed}-{i}" for i in range(20)],
            }
        )
        for seed in (0, 1)
    ]
    result = compared(*frames)
    assert result.columns[0].column == HOSTILE
    for text in (result.to_html(), result._repr_html_()):
        assert HOSTILE not in text
        assert "</script><b>" not in text


def test_the_same_input_gives_the_same_bytes():
    texts = {compared(mixed(30, 0), mixed(30, 1)).to_html() for _ in range(2)}
    assert len(texts) == 1


@pytest.mark.slow
def test_a_large_table_stays_small():
    rng = np.random.default_rng(0)
    names = [f"column {number}" for number in range(50)]
    A, B = (pd.DataFrame(rng.normal(shift, 1, (50_000, 50)), columns=names) for shift in (0, 0.1))
    text = compared(A, B, n_permutations=9).to_html()
    assert len(text.encode()) < 2_000_000
    assert "2000 of 100,000 rows, drawn at random" in text


@pytest.mark.slow
def test_many_columns_stay_small_and_it_is_said_what_is_left_out():
    text = compared(normal(20, 1000), normal(20, 1000, 0.1, 1), n_permutations=9).to_html()
    assert len(text.encode()) < 2_000_000
    assert "400 more columns" in text


@pytest.mark.slow
def test_weights_before_and_after():
    # Half of the training rows are where the target is.
    rng = np.random.default_rng(0)
    train = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(2, 1, (200, 2))])
    result = importance_weights(train, rng.normal(2, 1, (300, 2)), random_state=0)
    report = result._report()
    assert "weighted rows are as precise as" in report.answer
    assert (
        tables(report)["Columns"].rows[0][4].value
        == result.overlap_by_column[int(tables(report)["Columns"].rows[0][0])]
    )
    assert report.facts["Rows"].endswith("of target rows")
    assert report.facts["Effective sample size"].endswith("of 400 rows")
    before, after = (np.array([row[place].value for row in tables(report)["Columns"].rows]) for place in (1, 2))
    assert (after < before / 2).all()
    heaviest = tables(report)["The rows of training rows with the largest weights"].rows[0]
    assert int(heaviest[0]) == result.weights.argmax()
    assert_valid(result.to_html())


def test_ratios_that_come_in_pieces_are_reported_as_those_of_one_table():
    from fewratio.data.raw_table import as_raw
    from fewratio.estimators.samples import read_samples

    frames = {"A": mixed(3000, 0), "B": mixed(30, 1, 2.0)}
    samples = read_samples(RuLSIF(), frames, {})
    ratios, raw, table = np.linspace(0, 2, 3000), as_raw(frames["A"]), samples.tables[0]
    whole, pieces = RatioRows(3000), RatioRows(3000)
    whole.add(table, raw, ratios, 0)
    for start, end in ((0, 2900), (2900, 3000)):
        rows = np.arange(start, end)
        piece = raw.take(rows)
        pieces.add(samples.encoding.encode(piece), piece, ratios[rows], start)
    told = [
        page.render(each.report(["A", "B", "A"], "0.30", samples, {}, "fewratio ratio a b")) for each in (whole, pieces)
    ]
    assert told[0] == told[1]
    assert "The rows with the smallest ratio" in told[0]
    assert "50\u00a0% of the 3000 rows" in told[0]


def test_notebooks_show_the_beginning_without_scripts(different):
    text = different._repr_html_()
    assert "<script" not in text
    assert "<svg" in text
    assert "The tables differ" in text
    assert len(text) < 100_000


def test_columns_that_one_table_lacks_are_in_the_answer():
    A, B = mixed(40, 0), mixed(50, 1)
    report = compared(A.assign(only=1.0), B, common=True)._report()
    assert report.answer.endswith("Not compared, since only one table has them: only.")


def test_rows_of_a_ratio_below_1_are_not_called_typical():
    report = compared(normal(5, 2), normal(40, 2, 1))._report()
    shown = tables(report)
    for name, is_typical in (("A", lambda ratio: ratio > 1), ("B", lambda ratio: ratio < 1)):
        assert all(is_typical(row[1].value) for row in shown[f"The rows most typical of {name}"].rows)


def test_a_report_is_not_written_under_the_name_of_a_picture(tmp_path):
    result = compare_datasets(np.arange(4.0)[:, None], np.arange(5.0)[:, None], n_permutations=19)
    with pytest.raises(ParameterError, match=r"ends in \.html; pictures come from plot"):
        result.to_html(tmp_path / "x.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore")
def test_a_headline_does_not_change_the_name_of_a_column():
    rng = np.random.default_rng(0)
    train, target = (pd.DataFrame({"order_size": rng.normal(at, 1, 40), "y": rng.normal(0, 1, 40)}) for at in (0, 20))
    result = importance_weights(train, target, random_state=0)
    assert result._report().answer.startswith("order_size alone separates")
