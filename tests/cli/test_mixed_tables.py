"""The verbs on tables as they come: numbers, categories, dates, gaps, an id, and a column that separates."""

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fewratio.app import app
from fewratio.changes import command as changes
from fewratio.core import container
from fewratio.errors import FewRatioWarning, ParameterError, name_parameter
from fewratio.outliers import command as outliers
from fewratio.weights import command as weights
from tests.mixed import mixed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    first, second = mixed(24, 0, lot="old"), mixed(22, 1, shift=2.0, lot="new")
    first.to_csv(folder / "a.csv", index=False)
    second.to_csv(folder / "b.csv", index=False)
    first.to_csv(folder / "a_semicolon.csv", index=False, sep=";", decimal=",")
    second.assign(extra=1.5).to_csv(folder / "extra.csv", index=False)
    first[["size", "price"]].to_csv(folder / "bare.csv", index=False, header=False)
    second.drop(columns="lot").to_csv(folder / "rows.csv", index=False)
    pd.concat([first, second]).to_csv(folder / "two.csv", index=False)
    pd.concat([first, second, mixed(20, 2, lot="third")]).to_csv(folder / "three.csv", index=False)
    series = pd.concat([mixed(20, 3), mixed(20, 4, shift=3.0)])
    series.to_csv(folder / "series.csv", index=False)
    judged = mixed(40, 5).assign(status=["ok"] * 30 + ["unknown"] * 10)
    judged.loc[judged.index[-3:], "price"] = 99_000.0
    judged.to_csv(folder / "judged.csv", index=False)
    (folder / "sites").mkdir()
    for number in range(3):
        frame = mixed(20, 10 + number, shift=2.0 * (number == 2), lot=f"site {number}")
        frame.to_csv(folder / "sites" / f"s{number}.csv", index=False, sep=";", decimal=",")
    return folder


def run(folder, *arguments):
    before = Path.cwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(app, list(arguments))
    finally:
        os.chdir(before)


def answer(folder, *arguments):
    done = run(folder, *arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def refusal(folder, *arguments):
    done = run(folder, *arguments)
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.splitlines()
    return line


FIRST = {
    "compare": ("compare", "a.csv", "b.csv"),
    "compare-all": ("compare-all", "sites", "--decimal", ","),
    "outliers": ("outliers", "a.csv", "b.csv"),
    "weights": ("weights", "a.csv", "b.csv"),
    "changes": ("changes", "series.csv", "--window", "10", "--permutations", "99", "--keep", "day"),
    "ratio": ("ratio", "a.csv", "b.csv"),
}


@pytest.mark.parametrize("verb", FIRST)
def test_the_first_command_works_and_says_what_became_of_the_columns(folder, tmp_path, verb):
    path = tmp_path / "out.csv"
    done = run(folder, *FIRST[verb], "-o", str(path))
    assert done.exit_code == 0, done.output
    assert "code: id" in done.stdout
    assert ("lot" in done.stdout) == (verb != "changes")
    written = list(csv.DictReader(io.StringIO(path.read_text())))
    if verb == "compare-all":
        assert {row["dataset"] for row in written} == {"s0", "s1", "s2"}
        return
    # The input stands beside the answer, as it was given.
    given = pd.concat([pd.read_csv(folder / name) for name in FIRST[verb] if name.endswith(".csv")])
    n_rows = {"compare": 46, "outliers": 22, "changes": 40}.get(verb, 24)
    assert len(written) == n_rows
    shown = given[-n_rows:] if verb == "outliers" else given[:n_rows]
    for name in ("code", "colour", "day"):
        assert [row[name] for row in written] == shown[name].fillna("").tolist()
    prices = [float(row["price"]) for row in written]
    np.testing.assert_allclose(prices, shown["price"])


@pytest.mark.slow
def test_a_model_is_trained_on_such_tables_and_used(folder, tmp_path):
    model = str(tmp_path / "sites.safetensors")
    train = ("train", "sites", "--decimal", ",", "-o", model, "--scale", "columns")
    done = run(folder, *train)
    assert done.exit_code == 0, done.output
    left_out = "3 left out (code: id, day: date of a row, lot: names the dataset)"
    assert left_out in done.stdout
    assert left_out in run(folder, "info", model).stdout
    assert left_out in run(folder, "compare", "a.csv", "b.csv", "-m", model, "--permutations", "0").stdout
    found = answer(folder, "ratio", "a.csv", "b.csv", "rows.csv", "-m", model)
    assert len(found["ratio"]) == 22
    np.testing.assert_array_less(found["lower"], found["upper"])
    least, most = found["divergence_interval"]
    assert 0 <= least < most
    assert "a ratio is between lower and upper" in run(folder, "ratio", "a.csv", "b.csv", "-m", model).stdout
    assert "--drop is given, but a model has learned" in refusal(
        folder, "compare", "a.csv", "b.csv", "-m", model, "--drop", "size"
    )


@pytest.mark.slow
def test_a_reference_stands_for_its_table(folder, tmp_path):
    kept = str(tmp_path / "a.fewratio")
    done = run(folder, "reference", "a.csv", "-o", kept)
    assert done.exit_code == 0, done.output
    found, expected = (answer(folder, "compare", "b.csv", name, "--permutations", "99") for name in (kept, "a.csv"))
    assert found["p_value"] == expected["p_value"] == 0.01
    assert [column["column"] for column in found["non_overlapping"]] == ["lot"]
    assert found["columns"][0]["column"] == "lot"
    for tables in (("b.csv", kept), (kept, "b.csv")):
        line = refusal(folder, "compare", *tables, "--drop", "size")
        assert "--drop is given, but a.fewratio is a reference" in line


@pytest.mark.slow
def test_columns_can_be_chosen(folder):
    def used(*options, a="a.csv", b="b.csv"):
        found = answer(folder, "compare", a, b, "--permutations", "0", *options)
        return {score["column"] for score in found["columns"]}

    assert used() == {"size", "price", "colour", "day", "lot"}
    assert used("--columns", "size,colour") == {"size", "colour"}
    assert used("--columns", "size", "--columns", "day") == {"size", "day"}
    assert used("--drop", "day,size") == {"price", "colour", "lot"}
    assert used("--keep", "code") == {"size", "price", "colour", "day", "lot", "code"}
    assert used("--common", b="extra.csv") == {"size", "price", "colour", "day", "lot"}
    assert used("--separator", ";", "--decimal", ",", a="a_semicolon.csv", b="a_semicolon.csv") >= {"size", "price"}


def test_the_kind_of_a_column_can_be_said(folder):
    def kinds(*options):
        found = answer(folder, "compare", "a.csv", "b.csv", "--permutations", "0", *options)
        return {difference["column"]: difference["kind"] for difference in found["columns"]}

    assert kinds() == {"size": "number", "price": "number", "colour": "category", "day": "date", "lot": "category"}
    assert kinds("--categorical", "day")["day"] == "category"
    line = refusal(folder, "compare", "a.csv", "b.csv", "--numeric", "colour")
    assert "column 'colour' of file 'a.csv' holds" in line
    assert "which is not a number" in line
    assert "column 'code'" in refusal(folder, "compare", "a.csv", "b.csv", "--categorical", "error")


def test_rows_have_the_names_of_the_id(folder):
    assert answer(folder, "weights", "a.csv", "b.csv")["row_names"][:2] == ["r0-0", "r0-1"]
    found = answer(folder, "weights", "a.csv", "b.csv", "--id", "day")["row_names"]
    assert found == pd.read_csv(folder / "a.csv")["day"].tolist()


def test_one_table_is_divided_by_a_column(folder):
    pair = answer(folder, "compare", "two.csv", "--by", "lot", "--permutations", "99")
    assert pair["names"] == ["lot = old", "lot = new"]
    assert pair["p_value"] == 0.01
    assert pair["non_overlapping"] == []
    two_files = answer(folder, "compare", "a.csv", "b.csv", "--permutations", "99")
    assert pair["divergence"] == pytest.approx(two_files["without_non_overlapping"]["divergence"])
    three = answer(folder, "compare", "three.csv", "--by", "lot", "--permutations", "99")
    assert three["names"] == ["lot = new", "lot = old", "lot = third"]
    assert len(three["pairs"]) == 3
    all_pairs = answer(folder, "compare-all", "three.csv", "--by", "lot")
    assert all_pairs["names"] == ["old", "new", "third"]
    assert "'lots'" in refusal(folder, "compare", "two.csv", "--by", "lots")
    assert "One table is given without --by" in refusal(folder, "compare", "two.csv")
    assert "Leave out --by" in refusal(folder, "compare", "a.csv", "b.csv", "--by", "lot")


def test_outliers_are_counted_from_0_only_without_row_names(folder):
    judged = ("outliers", "judged.csv", "--normal-if", "status == ok")
    assert "\nrows        the most anomalous first\n" in run(folder, *judged).stdout
    bare = run(folder, "outliers", "bare.csv", "bare.csv").stdout
    assert "\nrows        the most anomalous first, counting from 0\n" in bare
    assert "Two tables and --normal-if are given" in refusal(folder, *judged, "a.csv")


def test_a_column_of_one_value_divides_nothing(folder):
    pd.read_csv(folder / "a.csv").assign(lot="old").to_csv(folder / "one.csv", index=False)
    line = refusal(folder, "compare", "one.csv", "--by", "lot")
    assert "column 'lot' of file 'one.csv' has one value, 'old'" in line


def test_a_condition_on_p_needs_permutations(folder):
    line = refusal(folder, "compare", "a.csv", "b.csv", "--permutations", "0", "--fail-if", "p < 0.01")
    assert "--permutations is 0" in line


def test_a_condition_gets_the_permutations_it_needs(folder):
    given = ("compare", "a.csv", "b.csv", "--fail-if", "p < 0.001")
    done = run(folder, *given)
    assert done.exit_code == 3
    assert "1000 permutations are used: with 999, --fail-if could never hold" in done.stderr
    line = refusal(folder, *given, "--permutations", "999")
    assert "999 permutations give no p-value below 0.001; 1000 are needed. Give --permutations 1000" in line
    assert "--permutations 999999999" in refusal(folder, *given[:-1], "p <= 1e-9")
    assert "no p-value is 0" in refusal(folder, *given[:-1], "p <= 0")


def test_a_condition_that_few_rows_cannot_meet_is_said(folder):
    pd.read_csv(folder / "a.csv").head(4).to_csv(folder / "few.csv", index=False)
    done = run(folder, "compare", "few.csv", "few.csv", "--fail-if", "p < 0.01")
    assert done.exit_code == 0
    assert "--fail-if 'p < 0.01' cannot hold: with so few rows, no p-value is below 0.029" in done.stderr


@pytest.mark.slow
def test_a_header_of_years_is_said_and_can_be_denied(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        rows = "\n".join(",".join(f"{value:.3f}" for value in row) for row in rng.normal(size=(20, 3)))
        (tmp_path / f"{name}.csv").write_text(f"2019,2020,2021\n{rows}\n")
    (tmp_path / "many").mkdir()
    for name in ("a", "b"):
        (tmp_path / "many" / f"{name}.csv").write_text((tmp_path / f"{name}.csv").read_text())
    said = "(2019, 2020, 2021) is read as names of columns. --no-header changes that."
    for command, n_rows in (
        (("compare", "a.csv", "b.csv", "--permutations", "9"), [20, 20]),
        (("outliers", "a.csv", "b.csv"), None),
        (("ratio", "a.csv", "b.csv"), None),
        (("weights", "a.csv", "b.csv"), None),
        (("changes", "a.csv"), None),
        (("compare-all", "many"), None),
        (("columns", "a.csv"), None),
    ):
        done = run(tmp_path, *command)
        assert done.exit_code == 0, done.output
        assert said in done.stderr, command
        assert n_rows is None or answer(tmp_path, *command)["n_rows"] == n_rows
    denied = run(tmp_path, "compare", "a.csv", "b.csv", "--permutations", "9", "--no-header", "--json")
    assert json.loads(denied.stdout)["n_rows"] == [21, 21]
    assert denied.stderr == ""


def test_pairs_are_offered_and_compared(tmp_path):
    rng = np.random.default_rng(0)
    level = 9 * rng.normal(size=30)
    for name, n_rows, shift in (("a", 30, 0), ("b", 28, 1)):
        table = {"country": [f"c{i}" for i in range(n_rows)], "x": level[:n_rows] + rng.normal(size=n_rows) + shift}
        pd.DataFrame(table)[::-1].to_csv(tmp_path / f"{name}.csv", index=False)
    assert "--paired country compares the pairs" in run(tmp_path, "compare", "a.csv", "b.csv").stderr
    done = run(tmp_path, "compare", "a.csv", "b.csv", "--paired", "country", "--output", "rows.csv")
    assert "\npairs       28 pairs by country; rows without a partner are left out: 2 of a.csv\n" in done.stdout
    assert "The pairs differ" in done.stdout
    assert done.stderr == ""
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert rows["row"].tolist() == [*range(2, 30), *range(28)]
    assert rows["country"].tolist() == 2 * [f"c{i}" for i in range(27, -1, -1)]
    assert answer(tmp_path, "columns", "a.csv", "b.csv")["pairs"] == {"column": "country", "n_shared": 28}


@pytest.mark.slow
def test_groups_of_many_rows_say_how_many_are_used(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=360), "y": rng.normal(size=360), "g": list("abc") * 120})
    table.to_csv(tmp_path / "t.csv", index=False)
    said = run(tmp_path, "compare-all", "t.csv", "--by", "g").stdout
    assert "120 of each dataset; at most 100 of each, drawn at random, are used" in said
    table[60:].to_csv(tmp_path / "t.csv", index=False)
    assert "drawn at random" not in run(tmp_path, "compare-all", "t.csv", "--by", "g").stdout


def test_the_normal_rows_are_those_where_a_condition_holds(folder):
    done = run(folder, "outliers", "judged.csv", "--normal-if", "status == ok", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert len(found["scores"]) == 10
    assert set(found["order"][:3]) == {7, 8, 9}
    assert found["row_names"][found["order"][0]].startswith("r5-3")
    line = refusal(folder, "outliers", "judged.csv", "--normal-if", "status == good")
    assert "holds 'good' in no row; its values are 'ok', 'unknown'" in line
    assert "'state'" in refusal(folder, "outliers", "judged.csv", "--normal-if", "state == ok")


@pytest.mark.parametrize(
    ("table", "condition", "code"),
    [
        (("a.csv", "b.csv"), "p < 0.05", 3),
        (("a.csv", "b.csv"), "divergence > 5", 0),
        (("three.csv", "--by", "lot"), "p <= 0.05", 3),
        (("three.csv", "--by", "lot"), "divergence > 5", 0),
        (("a.csv", "b.csv"), "divergence > 5e-1", 0),
        (("a.csv", "b.csv"), "p <= 1 and divergence > 5", 0),
        (("a.csv", "b.csv"), "p <= 1 and divergence < 5", 3),
        (("a.csv", "b.csv"), "p <= 1 and", 2),
        (("a.csv", "b.csv"), "p is small", 2),
        (("a.csv", "b.csv"), "p < e", 2),
        (("a.csv", "b.csv"), "p < 1.2.3", 2),
    ],
    ids=str,
)
def test_a_condition_decides_the_exit_code(folder, table, condition, code):
    done = run(folder, "compare", *table, "--permutations", "99", "--fail-if", condition)
    assert done.exit_code == code, done.output
    assert (done.stdout == "") == (code == 2)


def test_a_column_that_tells_tables_apart_fails_a_check(tmp_path):
    rng = np.random.default_rng(0)
    for name, unit in (("euros", 1), ("cents", 100)):
        table = {"amount": unit * rng.normal(50, 5, 60), "age": rng.normal(40, 9, 60)}
        table["day"] = pd.date_range("2024-01-01" if unit == 1 else "2024-06-01", periods=60)
        table["unit"] = name
        pd.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False)
    done = run(tmp_path, "compare", "euros.csv", "cents.csv", "--fail-if", "p < 0.01")
    assert done.exit_code == 3
    assert "--fail-if: p = 0.001 < 0.01" in done.stderr
    lines = done.stdout.splitlines()
    assert lines[2].startswith("apart       amount alone separates all rows: ")
    assert lines[3] == "apart       unit alone separates all rows: euros in euros.csv, cents in cents.csv"
    assert lines[4].endswith("1 left out (day: shows which table came first)")
    assert " Without amount and unit, no difference was found (p = " in lines[0]
    # What is left out is not said twice.
    assert "Left out" not in done.stderr
    dropped = "--drop", "amount,unit"
    done = run(tmp_path, "compare", "euros.csv", "cents.csv", "--fail-if", "p < 0.01", *dropped)
    assert done.exit_code == 0


def test_a_failed_check_says_why(folder):
    condition = "p_value <= 1 and divergence < 5"
    done = run(folder, "compare", "a.csv", "b.csv", "--permutations", "9", "--fail-if", condition)
    assert done.exit_code == 3
    assert "--fail-if: p_value = 0." in done.stderr


def test_any_of_several_conditions_decides(folder):
    for conditions, code in ((("divergence > 5", "p <= 1"), 3), (("divergence > 5", "p > 1"), 0)):
        given = [word for condition in conditions for word in ("--fail-if", condition)]
        assert run(folder, "compare", "a.csv", "b.csv", "--permutations", "9", *given).exit_code == code


def test_a_table_without_names_is_taken_by_position(folder):
    found = answer(folder, "compare", "bare.csv", "bare.csv", "--permutations", "9")
    assert found["n_rows"] == [24, 24]
    assert found["p_value"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare", "a.csv", "extra.csv"), ("'extra.csv'", "unexpected: 'extra'", "Choose --common")),
        (("compare", "a.csv", "b.csv", "--drop", "sise"), ("'a.csv' has no column 'sise'", "'size'")),
        (
            ("compare", "a.csv", "b.csv", "--columns", "code"),
            ("no column is left", "--keep code uses such a column"),
        ),
        (
            ("compare", "a.csv", "b.csv", "--categorical", "day", "--numeric", "day"),
            ("'day' is in --categorical and in --numeric",),
        ),
        (
            ("compare", "a_semicolon.csv", "b.csv", "--separator", ","),
            ("'a_semicolon.csv'", "--separator ';'", "--decimal ,"),
        ),
    ],
    ids=str,
)
def test_a_refusal_names_the_file_the_column_and_the_option(folder, arguments, said):
    line = refusal(folder, *arguments)
    for words in said:
        assert words in line
    assert "=True" not in line


def test_the_python_lines_of_outliers_use_the_shared_columns_as_the_command_does(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(12, 3)), columns=["size", "a (, b", "old"]).to_csv("good.csv", index=False)
    pd.DataFrame(rng.normal(size=(9, 4)), columns=["new", "a (, b", "size", "odd"]).to_csv("rows.csv", index=False)
    found = answer(tmp_path, "outliers", "good.csv", "rows.csv", "--common", "--id", "a (, b")
    values = {"normal": "good.csv", "unlabelled": "rows.csv", "common": True, "id": "a (, b"}
    lines = {}
    exec(outliers.VERB.write_python(values), lines)
    assert lines["result"].scores.tolist() == found["scores"]


def test_parameters_become_options_only_if_the_verb_has_them():
    named = [("common", "True"), ("decimal", ","), ("scale", "rows"), ("n_permutations", ""), ("keep", "")]
    error = ParameterError(" ".join(name_parameter(*each) for each in named))
    assert str(error) == "common=True decimal=',' scale='rows' n_permutations keep"
    assert error.parameter == "common"
    assert error.write(weights.VERB.write_option) == "--common --decimal , scale='rows' n_permutations --keep"
    assert error.write(changes.VERB.write_option).split()[-2:] == ["--permutations", "--keep"]
    assert error.write(weights.VERB.write_label) == (
        "“Use only the columns that all tables have” “Decimal mark”: , scale='rows' n_permutations “Use as: use anyway”"
    )


def test_a_value_that_a_shell_would_split_is_quoted():
    told = name_parameter("time", "day (of order)")
    assert FewRatioWarning(told).write(changes.VERB.write_option) == "--time 'day (of order)'"
    assert changes.VERB.list_words({"series": "a.csv", "time": "-x"})[2:] == ["a.csv", "--time=-x"]


def test_rows_of_a_part_are_those_of_the_file(folder, tmp_path):
    frame = mixed(40, 5).drop(columns="code").assign(status=["ok", "unknown"] * 20)
    frame.to_csv(tmp_path / "parts.csv", index=False)
    arguments = ("outliers", "parts.csv", "--normal-if", "status == ok", "-o", "o.csv")
    assert run(tmp_path, *arguments).exit_code == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "o.csv").read_text())))
    assert [row["name"] for row in rows] == [str(row) for row in range(1, 40, 2)]
    assert {row["status"] for row in rows} == {"unknown"}


def test_a_verdict_stands_beside_the_p_value(folder):
    assert "The tables differ" in run(folder, "compare", "a.csv", "b.csv", "--permutations", "99").stdout
    assert "Both tables have the same rows" in run(folder, "compare", "a.csv", "a.csv", "--permutations", "99").stdout


def test_what_is_used_is_not_called_left_out(tmp_path):
    for name, low in (("a", 0), ("b", 100)):
        pd.DataFrame({"x": np.arange(low, low + 20) / 3}).to_csv(tmp_path / f"{name}.csv", index=False)
    done = run(tmp_path, "compare", "a.csv", "b.csv", "--permutations", "99")
    assert "apart       x alone separates all rows: 0 to 6.333 in a.csv" in done.stdout
    assert "without x" not in done.stdout
    assert "left out" not in done.stdout


def test_a_model_takes_no_options_of_columns_in_a_folder(folder, tmp_path):
    sites, decimal = str(folder / "sites"), ("--separator", ";", "--decimal", ",")
    assert run(tmp_path, "train", sites, "-o", "m.model", *decimal).exit_code == 0
    done = run(tmp_path, "compare-all", sites, "-m", "m.model", "--drop", "size", *decimal)
    assert done.exit_code == 2
    assert "--drop is given with --model" in done.stderr


def test_info_describes_a_reference(tmp_path):
    path = tmp_path / "a.fewratio"
    (tmp_path / "a.csv").write_text("x,kind\n1,a\n2,b\n3,a\n4,b\n")
    assert CliRunner().invoke(app, ["reference", str(tmp_path / "a.csv"), "-o", str(path)]).exit_code == 0
    done = CliRunner().invoke(app, ["info", str(path)])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [f"reference   4 rows: {path}", "columns     2 columns: 1 number, 1 category"]
    payload = json.loads(CliRunner().invoke(app, ["info", str(path), "--json"]).stdout)
    assert payload["n_rows"] == 4
    assert set(payload) == {"reference", "n_rows", "encoding"}


def test_a_reference_of_a_newer_version_is_not_called_damaged(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n2,4\n3,7\n")
    monkeypatch.setattr(container, "FORMAT_VERSION", container.FORMAT_VERSION + 1)
    path = str(tmp_path / "a.fewratio")
    assert CliRunner().invoke(app, ["reference", str(tmp_path / "a.csv"), "-o", path]).exit_code == 0
    monkeypatch.undo()
    done = CliRunner().invoke(app, ["compare", path, str(tmp_path / "a.csv")])
    assert done.exit_code == 2
    assert "Upgrade fewratio" in done.stderr
    assert "damaged" not in done.stderr


@pytest.mark.parametrize("verb", ["compare-all", "train"])
def test_a_column_of_a_folder_may_have_a_comma(tmp_path, verb):
    folder = tmp_path / "sites"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for site in "abc":
        cells = "\n".join(f"{x},{y}" for x, y in rng.normal(size=(9, 2)))
        (folder / f"{site}.csv").write_text(f'"size, in m",y\n{cells}\n')
    output = ["-o", str(tmp_path / "m.safetensors")] if verb == "train" else []
    done = CliRunner().invoke(app, [verb, str(folder), "--drop", "size, in m", *output])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, [verb, str(folder), "--drop", "size,in", *output])
    assert done.exit_code == 2
    assert "no column 'size', 'in'" in done.stderr


def test_changes_refuse_units_that_segments_do_not_have(tmp_path):
    (tmp_path / "a.csv").write_text("x\n" + "\n".join(str(row % 7) for row in range(40)))
    for scale in ("none", "columns"):
        done = CliRunner().invoke(app, ["changes", str(tmp_path / "a.csv"), "--scale", scale])
        assert done.exit_code == 2
        assert "give --window" in done.stderr
    done = CliRunner().invoke(app, ["changes", str(tmp_path / "a.csv"), "--scale", "none", "--window", "10"])
    assert done.exit_code == 0, done.output


def test_warnings_name_the_files(tmp_path):
    rng = np.random.default_rng(0)
    for name, shift in (("before", 0), ("after", 5)):
        table = pd.DataFrame({"country": [f"c{i}" for i in range(40)], "x": rng.normal(size=40) + shift})
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    said = run(tmp_path, "compare", "before.csv", "after.csv", "--permutations", "9").stderr
    assert "file 'before.csv' and file 'after.csv' have 40 values of 'country' in common" in said
    said = run(tmp_path, "weights", "before.csv", "after.csv").stderr
    assert "the 40 rows of file 'before.csv' is" in said


def test_wide_tables_are_cut_and_columns_that_differ_together_are_marked(tmp_path):
    rng = np.random.default_rng(0)
    for name, slower in (("a", 0), ("b", 0.15)):
        table = pd.DataFrame(rng.normal(size=(150, 3)), columns=["distance", "time", "x"])
        table["time"] = table["distance"] + 0.2 * table["time"] + slower
        table["a long name of a column of places that takes much room"] = [
            f"a long name of a place in {'north' if i % 2 else 'south'}" + 100 * "!" for i in range(150)
        ]
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    lines = run(tmp_path, "compare", "a.csv", "b.csv", "--permutations", "99").stdout.splitlines()
    assert "  * its own p is above 0.05, but half of the divergence or more is lost without it" in lines
    assert {line.split()[0] for line in lines if line[2:].split(" ")[1:2] == ["*"]} == {"distance", "time"}
    assert max(len(line) for line in lines if line.startswith("  ")) <= 120
    assert any("a long name" in line and "…" in line for line in lines)
