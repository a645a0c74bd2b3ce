"""Several groups of one table: all together, each against the rest, each pair, each column."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fewratio import compare_datasets
from fewratio.app import app
from fewratio.compare import GroupComparisonResult, command
from fewratio.errors import FewRatioWarning, InputError, ParameterError


def make_table(sizes=(12, 16, 20), shift=3.0, seed=0):
    """Make a table of groups of which the first has another mean of x."""
    rng, n = np.random.default_rng(seed), sum(sizes)
    cyl = np.repeat(np.arange(len(sizes)) * 2 + 4, sizes)
    table = pd.DataFrame(
        {"cyl": cyl, "x": rng.normal(size=n), "y": rng.normal(size=n), "gear": rng.choice(["a", "b"], n)}
    )
    table.loc[table["cyl"] == 4, "x"] += shift
    return table.sample(frac=1, random_state=0)


@pytest.fixture(scope="module")
def result():
    return compare_datasets(make_table(), by="cyl", n_permutations=99)


def test_the_group_that_differs_is_named(result):
    assert isinstance(result, GroupComparisonResult)
    assert result.names == ["cyl = 4", "cyl = 6", "cyl = 8"]
    assert [group.n_rows for group in result.groups] == [12, 16, 20]
    assert result.p_value == 0.01
    assert result.most_different is result.groups[0]
    assert result.verdict.startswith("The groups differ (p = 0.01). cyl = 4 differs")
    assert result.verdict.endswith("p = 0.01), in x.")
    assert {(pair.first, pair.second) for pair in result.pairs if pair.adjusted_p_value <= 0.05} == {
        ("cyl = 4", "cyl = 6"),
        ("cyl = 4", "cyl = 8"),
    }
    first, *others = result.columns
    assert (first.column, first.group, first.p_value) == ("x", "cyl = 4", 0.01)
    assert first.effect > 2
    assert min(each.p_value for each in others) > 0.05


def test_a_pair_is_what_compare_datasets_finds_for_its_rows(result):
    table = make_table()
    for pair in result.pairs:
        first, second = (table[table["cyl"] == int(name.split()[-1])].drop(columns="cyl") for name in pair[:2])
        found = compare_datasets(first, second, n_permutations=99, encoding=result.encoding)
        assert (found.p_value, found.divergence) == (pair.p_value, pair.divergence)
        again = result.compare(pair.first, pair.second)
        assert (again.p_value, again.divergence) == (pair.p_value, pair.divergence)
    rest = result.compare("cyl = 4")
    assert rest.divergence == result.groups[0].divergence
    assert len(rest.ratios_b) == 36
    with pytest.raises(ParameterError, match="there is no group '4'; there are 'cyl = 4'"):
        result.compare("4")


def test_columns_have_the_values_of_all_groups(result):
    table = make_table()
    found = {each.column: each for each in result.columns}
    np.testing.assert_allclose(found["x"].means, table.groupby("cyl")["x"].mean())
    shares = (table["gear"] == found["gear"].values[0].split()[0]).groupby(table["cyl"]).mean()
    assert found["gear"].values == [f"{found['gear'].values[0].split()[0]} {share * 100:.0f} %" for share in shares]


@pytest.mark.slow
def test_order_of_rows_and_columns_do_not_matter(result):
    table = make_table().sort_values("y")[["gear", "y", "x", "cyl"]]
    again = compare_datasets(table, by="cyl", n_permutations=99)
    assert again.verdict == result.verdict
    for one, other in zip(again.pairs, result.pairs, strict=True):
        assert (one.first, one.second, one.p_value) == (other.first, other.second, other.p_value)
        assert one.divergence == pytest.approx(other.divergence)


def test_nothing_is_named_if_nothing_differs():
    found = compare_datasets(make_table(shift=0), by="cyl", n_permutations=99)
    assert found.p_value > 0.05
    assert found.most_different is None
    assert found.verdict == f"No difference between the groups was found (p = {found.p_value:.3g})."


def test_two_groups_are_two_tables():
    table = make_table((12, 16))
    found = compare_datasets(table, by="cyl", n_permutations=99)
    assert set(found.names) == {"cyl = 4", "cyl = 6"}
    assert found.p_value == 0.01


def test_no_test_on_request():
    found = compare_datasets(make_table(), by="cyl", n_permutations=0)
    assert found.p_value is found.pairs[0].adjusted_p_value is found.columns[0].p_value is found.most_different is None
    assert "3 groups by cyl" in found.to_html()


@pytest.mark.slow
def test_small_groups_and_gaps_are_said():
    table = make_table((1, 2, 14, 15), shift=0).reset_index(drop=True).astype({"cyl": float})
    table.loc[table.index[table["cyl"] == 10][:3], "cyl"] = np.nan
    with pytest.warns(FewRatioWarning, match=r"3 rows of A without 'cyl' are left out"):
        found = compare_datasets(table, by="cyl", n_permutations=99)
    assert found.names == ["cyl = 4", "cyl = 6", "cyl = 8", "cyl = 10"]
    assert [group.divergence is None for group in found.groups] == [True, False, False, False]
    few = [{pair.first, pair.second} for pair in found.pairs if pair.has_few_rows]
    assert {"cyl = 4", "cyl = 6"} in few
    assert {"cyl = 8", "cyl = 10"} not in few
    assert "too few rows" in found.to_html()


def test_a_column_without_values_in_a_group_is_described():
    table = make_table()
    table.loc[table["cyl"] == 6, "y"] = np.nan
    found = compare_datasets(table, by="cyl", n_permutations=99)
    (y,) = [each for each in found.columns if each.column == "y"]
    assert y.values[1] == "no values"
    assert y.means[1] is None
    assert y.missing == [0, 1, 0]
    assert y.p_value == 0.01


def test_too_few_rows_are_said():
    with pytest.warns(FewRatioWarning, match=r"With 2 rows, 2 rows and 2 rows the p-value cannot be below 0.067"):
        found = compare_datasets(make_table((2, 2, 2), shift=50), by="cyl", n_permutations=199)
    assert "too few rows" in found.verdict


def test_dates_that_only_order_the_groups_are_left_out():
    table = make_table()
    table["day"] = pd.to_datetime("2024-01-01") + pd.to_timedelta(table["cyl"] * 30, unit="D")
    table["day"] += pd.to_timedelta(np.arange(len(table)) % 20, unit="D")
    with pytest.warns(UserWarning, match="day"):
        found = compare_datasets(table, by="cyl", n_permutations=19)
    assert "day" not in [each.column for each in found.columns]


@pytest.mark.slow
def test_rows_of_a_block_change_groups_together():
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(12), 6)
    table = pd.DataFrame({"drug": np.array(list("abc"))[patient % 3], "patient": [f"p{i}" for i in patient]})
    table["x"] = 5 * rng.normal(size=12)[patient] + rng.normal(size=72)
    table["y"] = rng.normal(size=72)
    plain = compare_datasets(table, by="drug", drop="patient", n_permutations=99)
    blocked = compare_datasets(table, by="drug", blocks="patient", n_permutations=99)
    assert plain.p_value <= 0.05
    assert blocked.p_value > 0.05
    assert min(pair.adjusted_p_value for pair in blocked.pairs) > 0.05


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"by": "cylinders"}, InputError, "'cylinders'"),
        ({"by": "one"}, InputError, "has one value, '1'; two or more are needed"),
        ({"by": "x"}, InputError, "has 48 values; at most 20 groups can be compared.*compare_all"),
        ({"by": "cyl", "paired": "y"}, ParameterError, "makes 3 groups; pairs have two rows.*blocks='y'"),
        ({"by": "cyl", "blocks": [1, 2, 3]}, ParameterError, "expected the name of a column"),
    ],
)
def test_what_cannot_be_compared_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        compare_datasets(make_table().assign(one=1), **options)


def run(tmp_path, *words):
    path = tmp_path / "cars.csv"
    make_table().to_csv(path, index=False)
    return CliRunner().invoke(app, ["compare", str(path), "--by", "cyl", "--permutations", "99", *words])


@pytest.mark.slow
def test_the_command_says_what_python_says(tmp_path, result):
    done = run(tmp_path, "-o", str(tmp_path / "pairs.csv"))
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{result.verdict}\ntable       cars.csv by cyl: 3 groups, 48 rows\n")
    assert "pairs       2 of 3 differ (p at most 0.05, adjusted for all pairs by Holm)\n" in done.stdout
    assert json.loads(run(tmp_path, "--json").stdout) == json.loads(json.dumps(result.to_dict()))
    written = pd.read_csv(tmp_path / "pairs.csv")
    assert written["adjusted_p_value"].tolist() == [pair.adjusted_p_value for pair in result.pairs]


@pytest.mark.slow
def test_many_groups_show_the_most_unlike_only(tmp_path, monkeypatch):
    # No room for all groups side by side.
    monkeypatch.setattr(command.frame, "find_width", lambda: 60)
    monkeypatch.setattr(command, "_PAIRS", 1)
    stdout = run(tmp_path).stdout
    (line,) = [line for line in stdout.splitlines() if line.startswith("  x ")]
    assert "cyl = 4" in line
    assert line.count("±") == 1
    assert "and 2 more" in stdout


@pytest.mark.parametrize(
    ("condition", "code"),
    [("p < 0.05 and divergence > 0.1", 3), ("p > 0.5", 0)],
)
def test_a_condition_is_about_all_groups(tmp_path, condition, code):
    assert run(tmp_path, "--fail-if", condition).exit_code == code


def test_the_report_has_all_groups_side_by_side(result):
    page = result.to_html()
    assert "3 groups by cyl" in page
    for section in ("Each group against the rest", "All pairs, the clearest first", "Columns, those that differ most"):
        assert section in page
    said = page.replace("\u00a0", " ").replace("\N{MINUS SIGN}", "-")
    assert all(text in said for each in result.columns for text in each.values)
    assert "compare_datasets(A, n_permutations=99, by=&#39;cyl&#39;, random_state=0).to_html(path)" in page
    assert result.plot().spec["description"]


def test_the_category_shown_is_not_decided_by_a_few_rows():
    table = pd.DataFrame({"g": ["a"] * 2 + ["b"] * 60 + ["c"] * 60, "x": np.arange(122) % 7})
    table["origin"] = ["Rome"] * 2 + ["Oslo"] * 55 + ["Bonn"] * 5 + ["Oslo"] * 10 + ["Bonn"] * 45 + ["Rome"] * 5
    found = compare_datasets(table, by="g", n_permutations=0)
    (origin,) = [each for each in found.columns if each.column == "origin"]
    assert origin.values == ["Oslo 0 %", "Oslo 92 %", "Oslo 17 %"]
