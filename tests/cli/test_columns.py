"""``fewratio columns`` as a person would call it."""

import json

import pytest
from typer.testing import CliRunner

from fewratio.app import app


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(
        "id,size,width,colour,day,extra,code\n"
        + "".join(f"{n},{n / 3},{n / 9},red,2024-01-0{n},x,{n}\n" for n in range(1, 10))
    )
    (tmp_path / "b.csv").write_text(
        "id,size,width,colour,day,code\n"
        + "".join(f"{n},{n / 7},{n / 9 + 5},blue,2024-02-0{n},k{n}\n" for n in range(1, 10))
    )


def found(*arguments):
    done = CliRunner().invoke(app, ["columns", *arguments, "--json"])
    assert done.exit_code == 0, done.output
    return {each["name"]: each for each in json.loads(done.stdout)["columns"]}


def test_kinds_and_reasons(tables):
    columns = found("a.csv", "b.csv")
    kinds = {name: each["kind"] or each["left_out"] for name, each in columns.items()}
    code = kinds.pop("code")
    assert kinds == {
        "id": "id",
        "size": "number",
        "width": "number",
        "colour": "category",
        "day": "shows which table came first",
        "extra": "not in all tables",
    }
    assert {name: each["note"] for name, each in columns.items() if each["note"]} == {
        "width": "width alone separates all rows: 0.1111 to 1 in a.csv, 5.111 to 6 in b.csv",
        "colour": "colour alone separates all rows: red in a.csv, blue in b.csv",
    }
    kept = found("a.csv", "b.csv", "--keep", "day")
    assert [kept[name]["kind"] for name in ("width", "day")] == ["number", "date"]
    assert kept["day"]["note"].startswith("day alone separates all rows: 2024-01-01 to 2024-01-09 in a.csv")
    # In a batch of rows to judge no date is used.
    assert found("a.csv", "b.csv")["day"]["left_out"] == "shows which table came first"
    assert found("a.csv", "a.csv", "--batch")["day"]["left_out"] == "date of a row"
    assert [name for name, each in columns.items() if not each["is_shared"]] == ["extra"]
    # What compare refuses is told here.
    assert code.startswith("column 'code' holds numbers in file 'a.csv' but text in file 'b.csv'")
    assert code.endswith("name it in --categorical, or drop it.")
    assert [name for name, each in columns.items() if each["is_refused"]] == ["code"]
    assert columns["size"]["examples"][:2] == ["0.333333", "0.666667"]


def test_what_a_user_says_counts(tables):
    columns = found("a.csv", "b.csv", "--categorical", "code", "--drop", "size", "--id", "day")
    assert [columns[name]["kind"] or columns[name]["left_out"] for name in ("code", "size", "day")] == [
        "category",
        "dropped",
        "id",
    ]


def test_a_folder_and_the_lines_for_a_person(tables, tmp_path):
    done = CliRunner().invoke(app, ["columns", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == "7 columns of 2 tables, 18 rows"
    assert [line.split()[:2] for line in done.stdout.splitlines()[1:3]] == [["id", "-"], ["size", "number"]]
