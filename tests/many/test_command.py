"""`compare-all`, `index` and `search` in the shell."""

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from fewratio import compare_datasets
from fewratio.app import app


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


@pytest.mark.slow
def test_pairs_are_shown_as_compare_would(tmp_path, sites):
    done = run(tmp_path, "compare-all", "sites")
    assert done.exit_code == 0, done.output
    expected = compare_datasets(sites["a"], sites["b"], random_state=0)
    (row,) = [line.split() for line in done.stdout.splitlines() if line.startswith("  a ")]
    assert row == ["a", "b", f"{expected.divergence:.2g}", f"{expected.p_value:.2g}"]
    assert "as `fewratio compare` gives them, of all rows" in done.stdout
    assert "rows     100 of each dataset, drawn at random, say which is the nearest" in done.stdout
    compared = run(tmp_path, "compare", "sites/a.csv", "sites/b.csv").stdout
    assert f"divergence  {expected.divergence:.3g} of at most 0.5" in compared


def test_groups_of_a_column_are_shown_likewise(tmp_path, sites):
    rows = [f"{name},{x},{y}" for name, table in sites.items() for x, y in table]
    (tmp_path / "all.csv").write_text("\n".join(["site,x,y", *rows]))
    shown = [
        [line for line in run(tmp_path, *arguments).stdout.splitlines() if line.startswith("  ")]
        for arguments in (("compare-all", "sites"), ("compare-all", "all.csv", "--by", "site"))
    ]
    assert shown[0] == shown[1]


def test_columns_are_named_on_request(tmp_path, sites):
    assert "differ in" not in run(tmp_path, "compare-all", "sites").stdout
    lines = run(tmp_path, "compare-all", "sites", "--differences").stdout.splitlines()
    (row,) = [line for line in lines if line.split()[:2] == ["c", "b"]]
    assert sorted(row.replace(",", "").split()[-2:]) == ["x", "y"]


def test_few_rows_and_divergences_of_0_are_said(tmp_path):
    rng = np.random.default_rng(0)
    for name in "abcd":
        write(tmp_path / "few" / f"{name}.csv", rng.normal(size=(3, 2)))
    few = run(tmp_path, "compare-all", "few").stdout
    assert few.count("too few rows") == 4
    for name in "abcd":
        write(tmp_path / "alike" / f"{name}.csv", rng.normal(size=(30, 2)))
    assert "several such datasets are equally near" in run(tmp_path, "compare-all", "alike").stdout


def test_a_new_table_is_not_followed_by_other_pairs(tmp_path, sites):
    write(tmp_path / "new.csv", sites["a"][:50] * [1000, 1])
    done = run(tmp_path, "compare-all", "sites", "--new", "new.csv", "--differences")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Nothing shows that new is unlike the 3 other datasets (p = ")
    assert lines[0].endswith("There are too few to decide: no p-value can be below 0.25.")
    assert any(line.startswith("outside  x, ") for line in lines)
    assert "nearest to new:" in lines
    assert "side by side" not in done.stdout


def test_swapped_arguments_get_a_hint(tmp_path, sites):
    write(tmp_path / "new.csv", sites["a"])
    swapped = run(tmp_path, "compare-all", "new.csv", "--new", "sites")
    assert swapped.exit_code == 2
    assert "Write compare-all sites --new new.csv." in swapped.stderr
    assert run(tmp_path, "index", "sites", "-o", "s.index").exit_code == 0
    swapped = run(tmp_path, "search", "new.csv", "s.index")
    assert swapped.exit_code == 2
    assert "Write search s.index new.csv." in swapped.stderr


def test_a_search_needs_no_other_package_and_names_columns_outside_the_range(tmp_path, sites, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    write(tmp_path / "new.csv", sites["a"] * [1, 1000])
    assert run(tmp_path, "index", "sites", "-o", "s.index").exit_code == 0
    lines = run(tmp_path, "search", "s.index", "new.csv").stdout.splitlines()
    assert lines[0].startswith("outside  y, mean ")
    alike = run(tmp_path, "search", "s.index", "sites/a.csv").stdout
    assert "outside" not in alike
    assert "from the rows of the fit" in alike
