"""The verbs on real files: what they print and write, and what they say of files that cannot be used."""

import csv
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import polars
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

from fewratio import AutoRatioEstimator, MetaRatioEstimator, __version__, compare_datasets, load_model
from fewratio.app import app
from fewratio.cli import frame
from fewratio.compare import command as compare
from fewratio.estimators.mixtures import best_members
from fewratio.many import command as many
from fewratio.monitor import command as monitor
from fewratio.outliers import command as outliers

VERBS = ("train", "ratio", "compare", "compare-all", "outliers", "weights", "changes", "monitor", "info", "demo")
ONE = {
    "compare": ["compare", "a.csv", "b.csv"],
    "compare-all": ["compare-all", "sources"],
    "outliers": ["outliers", "a.csv", "b.csv"],
    "weights": ["weights", "a.csv", "b.csv"],
    "changes": ["changes", "series.csv", "--window", "12", "--permutations", "99"],
    "ratio": ["ratio", "a.csv", "b.csv", "series.csv"],
}
SOURCES = [f"d{i}" for i in range(6)]
NETWORK = ("--learner", "network")
MAGIC = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<svg"}


def write(path, X, header="x,y"):
    np.savetxt(path, X, delimiter=",", header=header, comments="")


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Make a folder with small tables, sources and a model of them."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    write(folder / "a.csv", rng.normal(0, 1, (12, 2)))
    write(folder / "b.csv", rng.normal(1.5, 1, (14, 2)))
    write(folder / "series.csv", np.concatenate([rng.normal(m, 1, (30, 2)) for m in (0, 4)]))
    write(folder / "other.csv", rng.normal(0, 1, (12, 2)), "x,z")
    write(folder / "swapped.csv", rng.normal(0, 1, (12, 2)), "y,x")
    (folder / "sources").mkdir()
    for i, name in enumerate(SOURCES):
        write(folder / "sources" / f"{name}.csv", rng.normal(i % 3, 1, (20, 2)))
    for name in ("texts", "gaps", "wide", "narrow"):
        (folder / name).mkdir()
    (folder / "texts" / "t.csv").write_text("x,y\n1,2\n3,four\n5,6\n")
    (folder / "gaps" / "g.csv").write_text("x,y\n1,2\n3,\n5,6\n")
    for name in (".csv", "/v.csv", "/w.csv"):
        rows = rng.normal(0, 1, (9, 3))
        write(folder / f"wide{name}", rows, "x,y,z")
        write(folder / f"narrow{name}", rows[:, :2])
    (folder / "one.csv").write_text("x,y\n1,2\n")
    (folder / "empty.csv").touch()
    (folder / "empty.parquet").touch()
    (folder / "header.csv").write_text("x,y\n")
    (folder / "text.csv").write_text("x,y\n1,2\n3,four\n5,6\n")
    (folder / "nan.csv").write_text("x,y\n1,2\n3,\n5,6\n")
    (folder / "ragged.csv").write_text("x,y\n1,2\n3\n")
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 4)
    for name in ("table.xls", "table.xlsx"):
        (folder / name).write_bytes(b"PK\x03\x04")
    (folder / "junk.model").write_bytes(b"not a model")
    done = run(["train", "sources", "-o", "m.model", *NETWORK, "--steps", "3", "--scale", "columns"], folder)
    assert done.exit_code == 0, done.output
    return folder


def run(arguments, folder, **options):
    before = Path.cwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(app, arguments, **options)
    finally:
        os.chdir(before)


@pytest.mark.parametrize(
    "model", [[], pytest.param(["--model", "m.model"], marks=pytest.mark.slow)], ids=["default", "model"]
)
@pytest.mark.parametrize("verb", ONE)
def test_a_verb_prints_lines_or_json_and_writes_files(filled, tmp_path, verb, model):
    done = run([*ONE[verb], *model, "-o", str(tmp_path / "r.csv")], filled)
    assert done.exit_code == 0, done.output
    assert 0 < len(done.stdout.splitlines()) <= 25
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
    assert len(rows) > 1
    done = run([*ONE[verb], *model, "--json", "-o", str(tmp_path / "r.json")], filled)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == json.loads((tmp_path / "r.json").read_text())
    assert {path.name for path in tmp_path.iterdir()} == {"r.csv", "r.json"}


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "ending"), [("compare", ".png"), ("compare-all", ".svg"), ("changes", ".pdf")])
def test_a_picture_is_of_the_kind_of_its_ending(filled, tmp_path, verb, ending):
    picture = tmp_path / f"picture{ending}"
    done = run([*ONE[verb], "--plot", str(picture)], filled)
    assert done.exit_code == 0, done.output
    assert picture.read_bytes().startswith(MAGIC[ending])


@pytest.mark.parametrize("verb", ONE)
def test_every_result_has_a_picture(filled, tmp_path, verb):
    done = run([*ONE[verb], "--plot", str(tmp_path / "r.png")], filled)
    assert done.exit_code == 0, done.output
    assert imread(tmp_path / "r.png").std() > 0.05  # not blank


def test_the_ratio_of_one_column_is_drawn_along_it(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("n.csv", "d.csv"):
        write(tmp_path / name, rng.normal(0, 1, (9, 1)), "depth")
    done = run(["ratio", "n.csv", "d.csv", "--plot", "r.svg"], tmp_path)
    assert done.exit_code == 0, done.output
    assert "depth" in (tmp_path / "r.svg").read_text()  # as the name of the axis


@pytest.mark.parametrize("verb", ONE)
def test_units_do_not_matter_unless_asked_for(filled, tmp_path, verb):
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    for path in tmp_path.rglob("*.csv"):
        if path.read_text("latin-1").startswith(("x,y\n", "y,x\n")) and path.stem in ("a", "b", "series", *SOURCES):
            write(path, np.loadtxt(path, delimiter=",", skiprows=1) * [1, 1000])
    numbers = []
    # A ratio chooses between units, and says so.
    asked = ["--scale", "columns"] if verb == "ratio" else []
    if verb == "ratio":
        assert "compares columns as they are" in run(ONE[verb], filled).output
        assert "compares columns as they are" not in run([*ONE[verb], *asked], filled).output
    for folder in (filled, tmp_path):
        done = run([*ONE[verb], *asked, "--json"], folder)
        assert done.exit_code == 0, done.output
        numbers.append(json.loads(done.stdout))
    keys = {
        "compare": "ratios_a",
        "compare-all": "divergences",
        "outliers": "margins",
        "weights": "weights",
        "changes": "threshold",
        "ratio": "ratio",
    }
    found, expected = (each[keys[verb]] for each in numbers)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    if verb != "weights":
        plain = json.loads(run([*ONE[verb], "--scale", "none", "--json"], tmp_path).stdout)
        assert not np.allclose(plain[keys[verb]], expected)


@pytest.mark.slow
def test_changes_are_those_of_time(filled, tmp_path):
    series = np.loadtxt(filled / "series.csv", delimiter=",", skiprows=1)
    days = np.arange("2024-01-01", "2024-03-01", dtype="datetime64[D]")
    rows = [f"{day}T12:00:00Z,{x},{y}" for day, (x, y) in zip(days, series, strict=True)]
    (tmp_path / "late.csv").write_text("\n".join(["when,x,y", *rows[::-1]]))
    done = run(["changes", "late.csv", "--time", "when", "-o", "rows.csv", "--plot", "series.png"], tmp_path)
    assert "1 change in 60 rows of late.csv (segmentation)" in done.stdout
    assert "2024-01-31 12:00:00+00:00 (row 30): " in done.stdout
    written = (tmp_path / "rows.csv").read_text().splitlines()
    assert written[31].startswith("2024-01-31 12:00:00")
    assert written[31].endswith(",1")
    tested = run(["changes", "late.csv", "--time", "when", "--level", "0.05"], tmp_path)
    assert "(test, threshold" in tested.stdout
    assert "p = 0.005" in tested.stdout
    wrong = run(["changes", "late.csv", "--time", "whenever"], tmp_path)
    assert wrong.exit_code == 2
    assert "no column 'whenever'" in wrong.stderr


def test_compare_says_what_the_function_finds(filled):
    samples = [np.loadtxt(filled / name, delimiter=",", skiprows=1) for name in ("a.csv", "b.csv")]
    expected = compare_datasets(*samples, n_permutations=99, random_state=3)
    done = run([*ONE["compare"], "--permutations", "99", "--seed", "3", "--json"], filled)
    found = json.loads(done.stdout)
    assert found["names"] == ["a.csv", "b.csv"]
    assert found["divergence"] == pytest.approx(expected.divergence)
    assert found["p_value"] == expected.p_value
    assert "p-value" not in run([*ONE["compare"], "--permutations", "0"], filled).stdout


def test_changes_finds_the_change_and_outliers_the_outlier(filled, tmp_path):
    assert json.loads(run([*ONE["changes"], "--json"], filled).stdout)["points"] == [30]
    write(tmp_path / "today.csv", np.vstack([np.loadtxt(filled / "a.csv", delimiter=",", skiprows=1), [9, 9]]))
    done = run(["outliers", "a.csv", str(tmp_path / "today.csv"), "--json"], filled)
    found = json.loads(done.stdout)
    assert found["order"][0] == 12
    assert found["is_outlier"][12]


def test_outliers_says_the_threshold_and_explains_each_outlier(filled, tmp_path):
    normals = np.loadtxt(filled / "a.csv", delimiter=",", skiprows=1)
    write(tmp_path / "today.csv", np.vstack([np.tile(normals, (4, 1)), np.full((12, 2), [0, 9])]))
    verb = ["outliers", "a.csv", str(tmp_path / "today.csv")]
    options = [*verb, "--contamination", "0.25"]
    found = json.loads(run([*verb, "--json"], filled).stdout)
    np.testing.assert_allclose(np.subtract(found["scores"], found["threshold"]), found["margins"])
    assert [each["row"] for each in found["explanations"]] == [
        row for row in found["order"] if found["is_outlier"][row]
    ]
    assert {each["columns"][0] for each in found["explanations"]} == {"y"}
    assert sum(found["is_outlier"]) == 12
    lines = run(verb, filled).stdout.splitlines()
    assert lines[1].startswith(f"threshold   {found['threshold']:.3g}: about 4 % of normal rows score lower")
    n_left = len(found["scores"]) - 10
    assert lines[-1] == f"and {n_left} more; --output FILE.csv writes all"
    assert "rows that was asked for (25 %) is below it" in run(options, filled).stdout
    for each, n_more in ((verb, n_left), (["ratio", "a.csv", "b.csv"], 2), (["weights", "a.csv", "b.csv"], 2)):
        lines = run([*each, "-o", str(tmp_path / "r.csv")], filled).stdout.splitlines()
        assert lines[-1] == f"and {n_more} more in {tmp_path / 'r.csv'}"


def test_a_model_has_the_rule_for_few_normals_as_well(filled):
    done = run([*ONE["outliers"], "--model", "m.model"], filled)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "about 4 % of normal rows score lower" in done.stdout


def test_outliers_says_what_the_rule_for_few_normals_finds_and_if_most_rows_are_outliers(tmp_path):
    rng = np.random.default_rng(0)
    write(tmp_path / "normal.csv", rng.normal(size=(220, 2)))
    write(tmp_path / "other.csv", rng.normal(6, 1, (20, 2)))
    printed = run(["outliers", "normal.csv", "other.csv"], tmp_path).stdout
    assert "20 of 20 rows of other.csv are outliers (2 of them may well be normal)\n" in printed
    assert (
        "at most 10 % of the outliers are expected to be normal\n            20 by the rule for few normal rows"
        in printed
    )
    assert "note        20 of 20 rows are flagged: the table may have shifted as a whole. Compare it" in printed
    assert "Without such a shift, 0 % of the rows would be flagged." in printed
    write(tmp_path / "same.csv", rng.normal(size=(20, 2)))
    assert "note" not in run(["outliers", "normal.csv", "same.csv"], tmp_path).stdout


@pytest.mark.parametrize(("condition", "code"), [("outliers > 5%", 3), ("outliers > 20", 0), ("outliers >= 20", 3)])
def test_outliers_fails_if_a_condition_holds(tmp_path, condition, code):
    rng = np.random.default_rng(0)
    write(tmp_path / "normal.csv", rng.normal(size=(220, 2)))
    write(tmp_path / "other.csv", rng.normal(6, 1, (20, 2)))
    done = run(["outliers", "normal.csv", "other.csv", "--fail-if", condition], tmp_path)
    assert done.exit_code == code
    assert ("20 of 20 rows (100 %) are outliers" in done.stderr) == (code == 3)


def test_a_condition_on_something_else_than_outliers_is_refused(tmp_path):
    write(tmp_path / "a.csv", np.eye(3))
    done = run(["outliers", "a.csv", "a.csv", "--fail-if", "p < 0.1"], tmp_path)
    assert done.exit_code == 2
    assert "it must be outliers" in done.stderr


@pytest.mark.slow
def test_compare_all_names_the_file_with_the_rest(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "many").mkdir()
    for i in range(17):
        write(tmp_path / "many" / f"{i}.csv", rng.normal(0, 1, (4, 2)))
    assert "and 7 more; --report FILE.html shows all" in run(["compare-all", "many"], tmp_path).stdout
    assert "and 7 more, in r.html\n" in run(["compare-all", "many", "--report", "r.html"], tmp_path).stdout


def test_compare_all_with_p_values(filled):
    done = run([*ONE["compare-all"], "--permutations", "19", "--json"], filled)
    assert done.exit_code == 0
    assert np.shape(json.loads(done.stdout)["adjusted_p_values"]) == (6, 6)
    (line,) = done.stderr.splitlines()
    assert line.startswith("fewratio: The smallest p-value")


@pytest.mark.parametrize("ending", [".tsv", ".parquet", ".npy"])
def test_other_kinds_of_files_give_the_same(filled, tmp_path, ending):
    X = np.loadtxt(filled / "a.csv", delimiter=",", skiprows=1)
    frame, path = polars.DataFrame(X, schema=["x", "y"]), tmp_path / f"a{ending}"
    if ending == ".tsv":
        frame.write_csv(path, separator="\t")
    elif ending == ".parquet":
        frame.write_parquet(path)
    else:
        np.save(path, X)
    B = np.loadtxt(filled / "b.csv", delimiter=",", skiprows=1)
    expected = AutoRatioEstimator(random_state=0).fit(X, B).predict(X)
    found = json.loads(run(["ratio", str(path), "b.csv", "--json"], filled).stdout)
    np.testing.assert_allclose(found["ratio"], expected)


def test_columns_may_come_in_another_order(filled):
    for model in ([], ["--model", "m.model"]):
        done = run(["compare", "a.csv", "swapped.csv", *model, "--permutations", "0", "--json"], filled)
        assert done.exit_code == 0, done.output
        assert {score["column"] for score in json.loads(done.stdout)["columns"]} == {"x", "y"}


def test_train_and_compare_say_in_words_what_the_model_is_from_and_gives(filled, tmp_path):
    model = str(tmp_path / "few.model")
    learned = run(["train", "sources", "-o", model, "--learner", "network", "--steps", "3"], filled)
    assert learned.stdout.startswith("Learned from 6 datasets in sources (120 rows).\n")
    estimates = "trained on related datasets; it estimates the divergence and the ratios of the rows"
    for permutations, combined in (("0", ""), ("9", ", and the test combines it with its own statistics")):
        told = run(["compare", "a.csv", "b.csv", "--model", model, "--permutations", permutations], filled).stdout
        assert f"model       few.model: {estimates}{combined}\n" in told


def test_info_tells_what_was_learned(filled):
    done = run(["info", "m.model"], filled)
    assert done.exit_code == 0, done.output
    assert "2 (x, y)" in done.stdout
    found = json.loads(run(["info", "m.model", "--json"], filled).stdout)
    assert found["feature_names"] == ["x", "y"]
    assert (found["parameters"]["training__max_steps"], found["parameters"]["scale"]) == (3, "columns")


@pytest.mark.slow
def test_train_learns_in_closed_form_unless_told_otherwise(filled, tmp_path):
    model = str(tmp_path / "m.model")
    done = run(["train", "sources", "-o", model, "--json"], filled)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["estimator"] == "AutoRatioEstimator"
    shares = json.loads(done.stdout)["learned_shares"]
    told = run(["info", model], filled)
    one, three = (f"{100 * share:.0f} %" for share in shares[:2])
    assert f"what was learned makes up {one} with 1 row per sample, {three} with 3 and " in told.stdout
    assert "AutoRatioEstimator" in told.stdout
    assert "2 (x, y)" in told.stdout
    assert "learned     from 6 sources, 120 rows" in told.stdout
    assert "chosen      by ranks: the columns themselves, shrinkage " in told.stdout
    assert "chosen      in one unit: 1024 random features of width " in told.stdout
    found = json.loads(run(["info", model, "--json"], filled).stdout)
    assert (found["n_sources"], found["n_rows"], len(found["settings"])) == (6, 120, 4)
    done = run(["ratio", "a.csv", "b.csv", "-m", model, "--json"], filled)
    assert done.exit_code == 0, done.output
    ratios = json.loads(done.stdout)["ratio"]
    expected = load_model(model)
    a, b = (np.loadtxt(filled / name, delimiter=",", skiprows=1) for name in ("a.csv", "b.csv"))
    np.testing.assert_allclose(ratios, expected.fit(a, b).predict(a), rtol=1e-6)


@pytest.mark.slow
def test_shares_that_were_not_measured_are_said_to_be_fixed(filled, tmp_path):
    for n_sources, is_fixed in ((3, True), (6, False)):
        folder = tmp_path / str(n_sources)
        folder.mkdir()
        for name in SOURCES[:n_sources]:
            shutil.copy(filled / "sources" / f"{name}.csv", folder)
        done = run(["train", str(folder), "-o", f"{folder}.model"], filled)
        assert done.exit_code == 0, done.output
        assert ("measured on other collections, because fewer than 4 sources" in done.stdout) == is_fixed


@pytest.mark.slow
def test_the_best_learner_is_networks_and_the_closed_form_in_one_file(filled, tmp_path, monkeypatch):
    # Four times 4,096 features take half a minute to learn.
    monkeypatch.setattr(best_members, "make_best_members", partial(best_members.make_best_members, n_components=16))
    model = str(tmp_path / "best.model")
    options = ["--learner", "best", "--steps", "2", "--device", "cpu", "--scale", "none"]
    done = run(["train", "sources", "-o", model, *options, "--json"], filled)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["estimator"] == "AutoRatioEstimator"
    told = json.loads(run(["info", model, "--json"], filled).stdout)
    assert [network["kind"] for network in told["networks"]] == ["mlp", "mlp", "relational", "relational"]
    assert len(told["members"]) == 5
    done = run(["ratio", "a.csv", "b.csv", "-m", model, "--json"], filled)
    assert done.exit_code == 0, done.output
    a, b = (np.loadtxt(filled / name, delimiter=",", skiprows=1) for name in ("a.csv", "b.csv"))
    expected = load_model(model)
    assert {member.scale for member in expected.learned_} == {"none"}
    np.testing.assert_allclose(json.loads(done.stdout)["ratio"], expected.fit(a, b).predict(a), rtol=1e-6)
    done = run(["compare", "a.csv", "b.csv", "-m", model, "--permutations", "19"], filled)
    assert done.exit_code == 0, done.output
    done = run(["train", "sources", "-o", model, "--learner", "best", "--episodes", "inliers"], filled)
    assert done.exit_code == 2
    assert "--learner best is for pairs" in done.stderr


def test_a_training_with_a_checkpoint_goes_on_from_it(filled, tmp_path):
    options = ["--learner", "network", "--steps", "4", "--device", "cpu", "--checkpoint", str(tmp_path / "state")]
    for model in ("one.model", "again.model"):
        done = run(["train", "sources", "-o", str(tmp_path / model), *options, "--json"], filled)
        assert done.exit_code == 0, done.output
    assert (tmp_path / "state").is_file()
    weights = [MetaRatioEstimator.load(tmp_path / model).model_.state_dict() for model in ("one.model", "again.model")]
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[0])
    done = run(["train", "sources", "-o", str(tmp_path / "other.model"), *options, "--seed", "9"], filled)
    assert done.exit_code == 2
    assert str(tmp_path / "state") in done.stderr


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (["--features", "both", "--networks", "2"], ["mlp", "mlp", "relational", "relational"]),
        (["--init", "universal", "--scale", "columns"], ["universal"]),
    ],
)
@pytest.mark.slow
def test_train_says_which_networks_a_model_consists_of(filled, tmp_path, options, kinds):
    model = tmp_path / "m.model"
    done = run(["train", "sources", "-o", str(model), "--learner", "network", "--steps", "2", *options], filled)
    assert done.exit_code == 0, done.output
    assert [line.split(":")[0].strip() for line in done.stdout.splitlines()[2:-1]] == kinds
    done = run(["info", str(model), "--json"], filled)
    assert [network["kind"] for network in json.loads(done.stdout)["networks"]] == kinds


@pytest.mark.parametrize(
    ("learner", "estimator"),
    [([], "InlierRatioEstimator"), (["--learner", "network", "--steps", "2"], "MetaRatioEstimator")],
)
def test_train_on_inliers_with_categories_and_gaps(tmp_path, learner, estimator):
    rng = np.random.default_rng(0)
    (tmp_path / "sources").mkdir()
    for i in range(4):
        rows = [f"{x:.3f},{'ab'[k % 2]},{int(k < 3)}" for k, x in enumerate(rng.normal(i, 1, 30))]
        rows[-1] = ",a,0"
        (tmp_path / "sources" / f"d{i}.csv").write_text("\n".join(["x,kind,odd", *rows]))
    options = ["--episodes", "inliers", "--outlier", "odd", *learner]
    done = run(["train", "sources", "-o", "m.model", *options, "--json"], tmp_path)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["n_datasets"] == 4
    assert type(load_model(tmp_path / "m.model")).__name__ == estimator
    (tmp_path / "n.csv").write_text("kind,x\na,1\nb,2\na,\n")
    (tmp_path / "u.csv").write_text("x,kind\n1,a\n2,b\n9,a\n")
    done = run(["outliers", "n.csv", "u.csv", "-m", "m.model", "--json"], tmp_path)
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["scores"]) == 3
    (tmp_path / "u.csv").write_text("x,kind\n1,a\n2,c\n")
    # A category that no source had is none of theirs.
    done = run(["outliers", "n.csv", "u.csv", "-m", "m.model", "--json"], tmp_path)
    assert len(json.loads(done.stdout)["scores"]) == 2


HOSTILE = [
    (["compare", "a.csv", "absent.csv"], ["absent.csv", "does not exist"]),
    (["compare", "sources", "b.csv"], ["'sources' is a folder"]),
    (["compare", "a.csv", "empty.csv"], ["empty.csv", "it is empty"]),
    (["compare", "a.csv", "header.csv"], ["header.csv"]),
    (["compare", "empty.parquet", "b.csv"], ["empty.parquet", "it is empty"]),
    (["compare", "a.csv", "text.csv"], ["text.csv", "column 'y'", "'four'", "row 1"]),
    (["ratio", "a.csv", "b.csv", "text.csv"], ["text.csv", "column 'y'", "'four'", "row 1"]),
    (["compare", "nan.csv", "b.csv", "--columns", "z"], ["nan.csv", "no column 'z'", "'x', 'y'"]),
    (["weights", "a.csv", "ragged.csv"], ["ragged.csv", "line 3"]),
    (["changes", "binary.csv"], ["binary.csv", "cannot be read"]),
    (["changes", "table.xls"], ["table.xls", "must end in"]),
    (["changes", "table.xlsx"], ["table.xlsx", "cannot be read"]),
    (["compare", "a.csv", "b.csv", "--scale", "rows"], ["--scale is 'rows'"]),
    (["changes", "a.csv", "--window", "50"], ["file 'a.csv' has 12 rows", "100"]),
    (["changes", "one.csv"], ["file 'one.csv' has 1 row;"]),
    (["changes", "a.csv", "--window", "2", "--level", "2"], ["--level is 2.0"]),
    (["changes", "a.csv", "--window", "2", "--permutations", "3"], ["--permutations is 3"]),
    (["compare", "a.csv", "other.csv"], ["other.csv", "a.csv", "missing: 'y'", "unexpected: 'z'"]),
    (["compare", "other.csv", "a.csv", "-m", "m.model"], ["other.csv", "source collection", "missing: 'y'", "'z'"]),
    (["outliers", "a.csv", "other.csv"], ["other.csv", "a.csv", "'z'"]),
    (
        ["outliers", "a.csv", "b.csv", "--contamination", "2"],
        ["--contamination must be a number"],
    ),
    (["weights", "a.csv", "b.csv", "--clip", "-1"], ["--clip is -1.0", "expected a positive number"]),
    (["compare", "-", "-"], ["standard input"]),
    (["compare", "a.csv", "b.csv", "-m", "absent.model"], ["absent.model"]),
    (["compare", "a.csv", "b.csv", "-m", "sources"], ["sources is a folder"]),
    (["compare-all", "sources", "--jobs", "0"], ["--jobs is 0"]),
    (["compare-all", "texts"], ["'t.csv'", "'four'", "name the column in --categorical or --drop."]),
    (["compare-all", "gaps"], ["'gaps' has 1 dataset"]),
    (["train", "texts", "-o", "new.model"], ["'t.csv'", "'four'", "name the column in --categorical or --drop."]),
    (["train", "gaps", "-o", "new.model"], ["'gaps' has 1 dataset"]),
    (["info", "junk.model"], ["junk.model"]),
    (["info", "sources"], ["sources"]),
    (["compare-all", "absent"], ["absent", "does not exist"]),
    (["compare-all", "."], ["file '"]),
    (["train", "absent", "-o", "new.model"], ["absent"]),
    (["train", "sources", "-o", "new.model", *NETWORK, "--features", "trees"], ["features", "mlp", "both"]),
    (["train", "sources", "-o", "absent/new.model"], ["absent", "--output"]),
    (["train", "sources", "-o", "new.model", *NETWORK, "--checkpoint", "absent/c"], ["absent", "--checkpoint"]),
    (["train", "sources", "-o", "new.model", *NETWORK, "--device", "nowhere"], ["--device", "nowhere"]),
    (["train", "sources", "-o", "new.model", "--episodes", "some"], ["--episodes must be one of"]),
    (["train", "sources", "-o", "new.model", "--episodes", "inliers", "--scale", "none"], ["--scale none"]),
    (["train", "sources", "-o", "new.model", "--learner", "trees"], ["--learner must be one of"]),
    (["train", "sources", "-o", "new.model", "--steps", "9"], ["--steps is for networks", "--learner network"]),
    (["train", "sources", "-o", "new.model", "--outlier", "odd"], ["odd"]),
    (["train", "sources", "-o", "new.model", "--categorical", "some"], ["'d0.csv' has no column 'some'"]),
    (["compare", "a.csv", "b.csv", "--scale", "columns", "-m", "m.model"], ["--scale", "--model"]),
    (["compare", "a.csv", "b.csv", "-o", "absent/r.json"], ["absent", "--output"]),
    (["compare", "a.csv", "b.csv", "-o", "sources"], ["must end in"]),
    (["compare", "a.csv", "b.csv", "-o", "r.xlsx"], ["must end in"]),
    (["compare", "a.csv", "b.csv", "--plot", "r.bmp"], ["must end in", "--plot"]),
    (["compare", "a.csv", "b.csv", "-o", "r.json", "--plot", "absent/r.png"], ["absent", "--plot"]),
    (["weights", "a.csv", "b.csv", "--plot", "r.gif"], ["must end in", "--plot"]),
    (["outliers", "a.csv", "text.csv"], ["text.csv", "row 1"]),
    (["weights", "a.csv", "empty.parquet"], ["empty.parquet", "it is empty"]),
    (["ratio", "a.csv", "other.csv"], ["other.csv", "unexpected: 'z'"]),
    (["data", "info", "digits"], ["digits_r"]),
    (["demo", "--steps", "3"], ["--steps"]),
]


@pytest.mark.parametrize(("arguments", "said"), HOSTILE, ids=[" ".join(case[0]) for case in HOSTILE])
def test_wrong_input_ends_in_one_line_and_writes_nothing(filled, arguments, said):
    before = sorted(filled.rglob("*"))
    done = run(arguments, filled)
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("fewratio: ")
    for words in said:
        assert words in line
    # Nothing of Python: no arguments, no None.
    assert '="' not in line
    assert "None" not in line
    assert done.stdout == ""
    assert sorted(filled.rglob("*")) == before


@pytest.mark.parametrize("verb", ["compare a.csv wide.csv", "compare-all wide", "ratio a.csv b.csv wide.csv"])
def test_columns_that_a_model_does_not_know_are_left_out(filled, tmp_path, verb):
    done = run([*verb.split(), "-m", "m.model", "-o", str(tmp_path / "r.json")], filled)
    assert done.exit_code == 0, done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("fewratio: 'z' is left out: ")
    done = run([*verb.replace("wide", "narrow").split(), "-m", "m.model", "--json"], filled)
    assert done.stdout.replace("narrow", "wide") == (tmp_path / "r.json").read_text()


OVERWRITING = [
    ("compare a.csv b.csv -o a.csv", "--output is 'a.csv'"),
    ("ratio a.csv b.csv -o ./sources/../b.csv", "'b.csv'"),
    ("ratio a.csv b.csv rows.csv -o rows.csv", "'rows.csv'"),
    ("outliers a.csv b.csv -o b.csv", "--output"),
    ("weights a.csv b.csv -o b.csv", "--output"),
    ("changes a.csv -o a.csv", "--output"),
    ("compare a.csv b.csv -o soft.csv", "'soft.csv'"),
    ("compare a.csv b.csv -o hard.csv", "'hard.csv'"),
    ("compare soft.csv b.csv -o a.csv", "'soft.csv'"),
    ("compare a.csv b.csv -m model.json -o model.json", "model.json"),
    ("compare a.csv b.csv -m model.svg --plot model.svg", "--plot"),
    ("compare-all sources -o sources/new.csv", "in the folder 'sources'"),
    ("compare-all sources --plot sources/deep/new.png", "--plot"),
    ("compare-all sources -o linked.csv", "'linked.csv'"),
    ("compare-all sources -o real.csv", "'real.csv'"),
    ("compare-all sources -o sources/out.csv", "'sources/out.csv'"),
    ("train sources -o sources/s0.csv", "--output"),
    ("train sources -o linked.csv", "--output"),
    ("train sources -o new.model --checkpoint sources/state", "--checkpoint"),
    ("train sources -o new.model --checkpoint new.model", "'new.model'"),
]


@pytest.mark.parametrize(("command", "said"), OVERWRITING, ids=[command for command, _ in OVERWRITING])
def test_no_result_takes_the_place_of_an_input(tmp_path, command, said):
    # Nothing of it is a table or a model: what is written is looked at before what is read.
    (tmp_path / "sources" / "deep").mkdir(parents=True)
    for name in ("a.csv", "b.csv", "rows.csv", "model.json", "model.svg", "real.csv", "sources/s0.csv"):
        (tmp_path / name).write_text(name)
    links = {"soft.csv": "a.csv", "linked.csv": "sources/s0.csv", "sources/s1.csv": "real.csv"}
    for link, name in (links | {"sources/out.csv": "elsewhere.csv"}).items():
        (tmp_path / link).symlink_to(tmp_path / name)
    os.link(tmp_path / "a.csv", tmp_path / "hard.csv")
    done = run(command.split(), tmp_path)
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.splitlines()
    assert said in line
    assert (tmp_path / "a.csv").read_text() == "a.csv"
    assert not (tmp_path / "new.model").exists()


def test_a_read_only_folder_is_found_before_the_work(filled, tmp_path, monkeypatch):
    def refuse(**options):
        raise PermissionError(13, "Permission denied")

    # Permissions do not bind every user that runs tests.
    monkeypatch.setattr(frame.tempfile, "TemporaryFile", refuse)
    # The input does not exist either: the folder is looked at first.
    done = run(["compare", "absent.csv", "absent.csv", "-o", str(tmp_path / "r.json")], filled)
    assert done.exit_code == 2
    assert "Permission denied" in done.stderr
    assert str(tmp_path) in done.stderr


def test_a_failure_that_is_not_the_users_has_another_code(filled, tmp_path, monkeypatch):
    def refuse(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    done = run([*ONE["compare"], "-o", str(tmp_path / "r.json")], filled)
    assert done.exit_code == 1
    assert done.stderr == f"fewratio: [Errno 28] No space left on device: '{tmp_path / 'r.json'}'\n"
    assert not list(tmp_path.iterdir())


def test_interrupting_in_the_middle_of_writing_leaves_what_was_there(filled, tmp_path, monkeypatch):
    path = tmp_path / "r.csv"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", lambda number: signal.raise_signal(signal.SIGINT))
    # Where this process was started in the background, signals of the keyboard are ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = run([*ONE["weights"], "-o", str(path)], filled)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.exit_code not in (0, 2)
    assert done.stdout == ""
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("r.csv", "old")]


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example(verb):
    done = CliRunner().invoke(app, [verb, "--help"])
    assert done.exit_code == 0
    assert f"Example: fewratio {verb} " in done.output


def test_version():
    assert CliRunner().invoke(app, ["--version"]).stdout == f"fewratio {__version__}\n"


# ---------------------------------------------------------------- in a shell


def shell(command, folder):
    program = shlex.quote(str(Path(sys.executable).with_name("fewratio")))
    return subprocess.run(
        ["bash", "-c", command.replace("fewratio ", f"{program} ")],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )


HEAVY = {"torch", "numpy", "scipy", "sklearn", "polars", "pandas", "narwhals", "matplotlib", "rich", "joblib"}
ALL_HELP = """
import sys
from typer.testing import CliRunner
from fewratio.app import app
for arguments in sys.argv[2:]:
    done = CliRunner().invoke(app, [*arguments.split(), "--help"])
    assert done.exit_code == 0 and "Usage" in done.output, done.output
print(sorted(set(sys.argv[1].split()) & set(sys.modules)))
"""


def test_no_help_imports_anything_heavy():
    names = ["", *VERBS, "data", "data list", "data info", "data fetch", "data preview"]
    done = subprocess.run(
        [sys.executable, "-c", ALL_HELP, " ".join(HEAVY), *names], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# Of what is wrong in other ways, see HOSTILE: to start the program takes its time.
MISTAKES = {
    "compare a.csv text.csv": "'four'",
    "compare a.csv - < text.csv": "standard input",
    "compare a.csv - -o b.csv < b.csv": "same file as standard input",
}


@pytest.mark.slow
def test_mistakes_in_a_shell(filled):
    before = sorted(filled.rglob("*"))
    for command, said in MISTAKES.items():
        done = shell(f"fewratio {command}", filled)
        assert done.returncode == 2, (command, done.stderr)
        (line,) = done.stderr.splitlines()
        assert line.startswith("fewratio: ")
        assert said in line
        assert done.stdout == ""
    assert sorted(filled.rglob("*")) == before


# Each start of the program takes seconds, so only what is piped or redirected is run in a shell.
SESSION = """
set -euo pipefail
cat a.csv | fewratio compare - b.csv -m m.model -o compare.csv --plot compare.png | head -1
fewratio weights a.csv b.csv --json > weights.json
fewratio changes - --window 12 --permutations 99 < series.csv
"""
HERE = (
    "train sources -o new.model --learner network --steps 3 --device cpu --scale columns",
    "info new.model",
    "compare-all sources -o all.csv",
    "ratio a.csv b.csv -o ratio.tsv",
    "outliers a.csv b.csv --contamination 0.2 -o outliers.json",
)


@pytest.mark.slow
def test_every_verb_on_the_same_files(filled, tmp_path):
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    done = shell(SESSION, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    printed = done.stdout
    for command in HERE:
        done = run(command.split(), tmp_path)
        assert done.exit_code == 0, done.output
        assert done.stderr == ""
        printed += done.stdout
    for words in (
        "Model: new.model",
        "features    2 (x, y)",
        "The tables differ very strongly (divergence 0.31; p = 0.001).",
        "(median: of the divergences from all others; p: of the nearest one",
        "a.csv (12 rows) over b.csv (14 rows)",
        "of 14 rows of b.csv are outliers\nthreshold   ",
        "1 change in 60 rows of standard input",
    ):
        assert words in printed
    for name, n_lines in {"compare.csv": 27, "all.csv": 31, "ratio.tsv": 13}.items():
        assert len((tmp_path / name).read_text().splitlines()) == n_lines
    assert (tmp_path / "compare.png").read_bytes().startswith(MAGIC[".png"])
    assert len(json.loads((tmp_path / "weights.json").read_text())["weights"]) == 12
    assert len(json.loads((tmp_path / "outliers.json").read_text())["scores"]) == 14


def test_python_lines_have_no_option_that_only_the_shell_has():
    values = {"a": "a.csv", "b": "b.csv", "normal": "a.csv", "unlabelled": "b.csv", "folder": "sites"}
    values |= {"reference": "a.csv", "batches": ["b.csv"]}
    shell = {"differences": True, "fail_if": ["p < 0.01"], "report": "r.html", "rebase": True, "state": "s.fewratio"}
    for verb in (compare.VERB, outliers.VERB, many.VERB, monitor.VERB):
        lines = verb.write_python(values | shell)
        assert "result.to_html('r.html')" in lines
        assert not any(name in lines for name in ("differences", "fail_if", "rebase", "s.fewratio"))
