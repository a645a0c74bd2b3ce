"""`compare-all`, `index` and `search` in the shell."""

import re
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from fewratio import compare_all
from fewratio.app import app
from tests.report.test_results import tables


def run(folder, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return CliRunner().invoke(app, list(arguments))


def write(path, X):
    path.parent.mkdir(exist_ok=True)
    np.savetxt(path, X, delimiter=",", header="x,y", comments="")
    return X


@pytest.fixture
def sites(tmp_path):
    rng = np.random.default_rng(0)
    means = {"a": 0, "b": 0.7, "c": 9}
    return {name: write(tmp_path / "sites" / f"{name}.csv", rng.normal(m, 1, (110, 2))) for name, m in means.items()}


def test_terminal_and_report_and_python_have_the_same_numbers(tmp_path, sites):
    done = run(tmp_path, "compare-all", "sites", "--report", "sites.html", "--output", "pairs.csv")
    assert done.exit_code == 0, done.output
    expected = compare_all(tmp_path / "sites")
    ((nearest, divergence),) = expected.nearest("a", 1)
    (row,) = [line.split() for line in done.stdout.splitlines() if line.startswith("  a ")]
    assert row[2:5] == [nearest, f"{divergence:.2f}", expected.write_p_value("a", "b")]
    assert "rows        110 of each dataset; at most 100 of each, drawn at random, are used" in done.stdout
    table = next(iter(tables(expected._report()).values()))
    (of_report,) = [each for each in table.rows if each[0] == "a"]
    assert [of_report[3], of_report[4].text, of_report[5]] == row[2:5]
    (pair,) = [line for line in (tmp_path / "pairs.csv").read_text().splitlines() if line.startswith(f"a,{nearest},")]
    assert float(pair.split(",")[2]) == pytest.approx(divergence)


def test_groups_of_a_column_are_shown_likewise(tmp_path, sites):
    rows = [f"{name},{x},{y}" for name, table in sites.items() for x, y in table]
    (tmp_path / "all.csv").write_text("\n".join(["site,x,y", *rows]))
    shown = [
        [line for line in run(tmp_path, *arguments).stdout.splitlines() if line.startswith("  ")]
        for arguments in (("compare-all", "sites"), ("compare-all", "all.csv", "--by", "site"))
    ]
    assert shown[0] == shown[1]


def test_the_dataset_that_stands_out_comes_first_with_its_columns(tmp_path, sites):
    _, heading, row, *_ = run(tmp_path, "compare-all", "sites").stdout.splitlines()
    assert heading.split("  ")[-1] == "stands out by"
    assert row.split()[0] == "c"
    assert sorted(row.split()[-4::2]) == ["x", "y"]


def test_a_column_that_names_the_datasets_is_left_out(tmp_path, sites):
    for name, table in sites.items():
        rows = [f"{name}{number % 9},{x},{y}" for number, (x, y) in enumerate(table)]
        (tmp_path / "sites" / f"{name}.csv").write_text("\n".join(["town,x,y", *rows]))
    shown = run(tmp_path, "compare-all", "sites")
    assert "1 left out (town: each value is in one dataset only)" in shown.stdout
    kept = run(tmp_path, "compare-all", "sites", "--keep", "town")
    assert "left out" not in kept.stdout


def test_few_rows_and_divergences_of_0_are_said(tmp_path):
    rng = np.random.default_rng(0)
    for name in "abcd":
        write(tmp_path / "few" / f"{name}.csv", rng.normal(size=(3, 2)))
    few = run(tmp_path, "compare-all", "few").stdout
    assert few.count("too few rows") == 4
    for name in "abcd":
        write(tmp_path / "alike" / f"{name}.csv", rng.normal(size=(30, 2)))
    shown = run(tmp_path, "compare-all", "alike").stdout
    assert shown.startswith("No difference was found between any two of the 4 datasets")


def test_a_new_table_is_not_followed_by_other_pairs(tmp_path, sites):
    write(tmp_path / "new.csv", sites["a"][:50] * [1000, 1])
    done = run(tmp_path, "compare-all", "sites", "--new", "new.csv")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Nothing shows that new is unlike the 3 other datasets (p = ")
    assert lines[0].endswith("There are too few to decide: no p-value can be below 0.25.")
    assert any(line.startswith("outside     x, ") for line in lines)
    chance = lines.index(f"{'':<12}(outside the range of the others, which may be chance)")
    assert chance <= 4
    assert any(line.split()[:3] == ["nearest", "to", "new"] for line in lines)
    assert "stands out by" not in done.stdout


def test_swapped_arguments_get_a_hint(tmp_path, sites):
    write(tmp_path / "new.csv", sites["a"])
    swapped = run(tmp_path, "compare-all", "new.csv", "--new", "sites")
    assert swapped.exit_code == 2
    assert "Write compare-all sites --new new.csv." in swapped.stderr
    assert run(tmp_path, "index", "sites", "-o", "s.index").exit_code == 0
    swapped = run(tmp_path, "search", "new.csv", "s.index")
    assert swapped.exit_code == 2
    assert "Write search s.index new.csv." in swapped.stderr


def test_a_table_instead_of_a_folder_needs_by(tmp_path, sites):
    write(tmp_path / "one.csv", sites["a"])
    done = run(tmp_path, "compare-all", "one.csv")
    assert done.exit_code == 2
    assert "'one.csv' is a table; expected a folder" in done.stderr
    assert "give --by COLUMN" in done.stderr


def test_up_to_fifteen_datasets_are_all_shown_and_the_report_with_more_is_named(tmp_path):
    rng = np.random.default_rng(0)
    for place in range(16):
        write(tmp_path / "sites" / f"site{place}.csv", rng.normal(3 * (place < 2), 1, (12, 2)))
    many = run(tmp_path, "compare-all", "sites", "--report", "all.html").stdout
    assert re.match(r"site[01] and site[01] stand out most \(median divergence 0.\d\d and 0.\d\d\): ", many)
    assert " far above the rest. " in many
    assert "  and 6 more, in all.html" in many
    assert "of the nearest one, not adjusted for the number of datasets" in many
    (tmp_path / "sites" / "site15.csv").unlink()
    all_shown = run(tmp_path, "compare-all", "sites").stdout
    assert sum(line.startswith("  site") for line in all_shown.splitlines()) == 15
    assert "--report FILE.html" not in all_shown


def test_a_search_needs_no_other_package_and_names_columns_outside_the_range(tmp_path, sites, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    write(tmp_path / "new.csv", sites["a"] * [1, 1000])
    assert run(tmp_path, "index", "sites", "-o", "s.index").exit_code == 0
    lines = run(tmp_path, "search", "s.index", "new.csv").stdout.splitlines()
    assert lines[0].startswith("outside  y, mean ")
    alike = run(tmp_path, "search", "s.index", "sites/a.csv").stdout
    assert "outside" not in alike
    assert "from the rows of the fit" in alike
