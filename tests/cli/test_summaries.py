"""From an example to a model by summaries, on real files."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from fewratio import DiscriminantRatioEstimator, load_model
from fewratio.app import app


def write(path, rng, mean):
    rows = np.column_stack([rng.normal(40 + mean, 8, 30), rng.normal(mean, 1, 30)])
    np.savetxt(path, rows, delimiter=",", header="age,dose", comments="")


@pytest.fixture
def site(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    for number in range(6):
        write(tmp_path / f"s{number}.csv", rng, number % 3)
    (tmp_path / "one.csv").write_text("age,dose\n30,1\n")
    (tmp_path / "other.csv").write_text("age,height\n30,1\n31,2\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, code=0):
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result


def make_map(*options):
    return run("map", "s0.csv", "-o", "sites.map", "--components", "32", *options)


def test_from_an_example_to_a_model(site):
    make_map("--range", "age=0:120")
    for number in range(1, 6):
        run("summarise", f"s{number}.csv", "--map", "sites.map", "-o", f"s{number}.summary")
    files = [f"s{number}.summary" for number in range(1, 6)]
    result = run("train", *files, "-o", "all.model", "--json")
    assert json.loads(result.stdout)["n_datasets"] == 5
    estimator = DiscriminantRatioEstimator.load("all.model")
    assert list(estimator.feature_names_in_) == ["age", "dose"]
    low, high = load_model(site / "sites.map").features.ranges
    assert [low[0], high[0]] == [0, 120]


def test_what_is_clipped_is_said(site):
    make_map("--range", "age=40:41")
    result = run("summarise", "s1.csv", "--map", "sites.map", "-o", "s1.summary")
    assert "outside the map's ranges" in result.stderr


def test_what_the_map_does_not_know_is_said(site):
    (site / "example.csv").write_text("age,ward\n30,heart\n31,lung\n32,heart\n33,lung\n")
    run("map", "example.csv", "-o", "sites.map", "--components", "32")
    (site / "new.csv").write_text("age,ward,floor\n30,heart,1\n31,birth,2\n32,skin,1\n")
    first, second = run("summarise", "new.csv", "--map", "sites.map", "-o", "new.summary").stderr.splitlines()
    assert first == "fewratio: 'floor' is left out: the map has no such column."
    assert "column 'ward' of file 'new.csv' has categories that are not in the map ('birth', 'skin')" in second


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["map", "s0.csv", "-o", "m.map", "--range", "age"], "age=0:120"),
        (["map", "s0.csv", "-o", "m.map", "--range", "age=1:x"], "age=0:120"),
        (["map", "s0.csv", "-o", "m.map", "--range", "size=1:2"], "size"),
        (["map", "s0.csv", "-o", "m.txt"], ".map"),
        (["summarise", "one.csv", "--map", "sites.map", "-o", "a.summary"], "file 'one.csv' has one row"),
        (["summarise", "other.csv", "--map", "sites.map", "-o", "a.summary"], "dose"),
        (["summarise", "s1.csv", "--map", "s1.csv", "-o", "a.summary"], "text, such as a table; a map is needed"),
        (["summarise", "s1.csv", "--map", "no.map", "-o", "a.summary"], "no.map"),
        (["summarise", "s1.csv", "--map", "sites.map", "-o", "a.txt"], ".summary"),
        (["train", "sites.map", "s1.csv", "-o", "a.model"], "folder"),
        (["train", "no.summary", "-o", "a.model"], "no.summary"),
        (["train", "s1.summary", "s1.csv", "-o", "a.model"], "'s1.csv' is not a .summary"),
        (["train", "s1.csv", "s1.summary", "-o", "a.model"], "'s1.csv' is not a .summary"),
        (["train", "s1.summary", "s1.summary", "-o", "a.model", "--drop", "age"], "--drop is given"),
        (["train", "s1.summary", "s1.summary", "-o", "a.model", "--common"], "--common is given"),
        (["train", "s1.summary", "s1.summary", "-o", "a.model", "--separator", ";"], "--separator is given"),
        (["train", "s1.summary", "s1.summary", "-o", "a.model", "--decimal", ","], "--decimal is given"),
        (["train", "s1.summary", "-o", "a.model"], "two sources"),
        (["train", "s1.summary", "again.summary", "-o", "a.model"], "'again.summary' has the same content as 's1.sum"),
        (["train", "s1.csv", "-o", "a.model"], "or .summary files. Put the tables"),
        (["info", "sites.map"], "holds a map, but a model is needed"),
        (["compare", "s1.csv", "s2.csv", "-m", "s1.csv"], "text, such as a table; a model is needed"),
    ],
)
def test_mistakes_end_in_one_line(site, arguments, match):
    make_map()
    for name in ("s1", "again"):
        run("summarise", "s1.csv", "--map", "sites.map", "-o", f"{name}.summary")
    result = run(*arguments, code=2)
    assert result.stderr.count("\n") == 1
    assert match in result.stderr


@pytest.mark.parametrize(
    "options", [("--learner", "network"), ("--episodes", "inliers"), ("--scale", "none"), ("--outlier", "y")]
)
def test_what_summaries_cannot_do_is_not_passed_over(site, options):
    result = run("train", "s1.summary", "-o", "a.model", *options, code=2)
    assert "for tables" in result.stderr


def test_values_too_large_to_hide_are_refused(site, monkeypatch):
    # The example says nothing of the range of a constant column.
    (site / "constant.csv").write_text("age,dose\n" + "1,2\n1,3\n" * 5)
    (site / "large.csv").write_text("age,dose\n" + "1,2\n1,3\n" * 5 + "1e39,2\n")
    run("map", "constant.csv", "-o", "sites.map", "--components", "32")
    monkeypatch.setattr("fewratio.estimators.closed_form.privacy._noise_multiplier", lambda epsilon, delta: 1.0)
    arguments = ("summarise", "large.csv", "--map", "sites.map", "-o", "large.summary", "--epsilon", "1")
    assert "is not finite: the values are too large" in run(*arguments, code=2).stderr


def test_an_epsilon_that_hides_nothing_is_refused_at_once(site):
    make_map()
    arguments = ("summarise", "s1.csv", "--map", "sites.map", "-o", "s1.summary", "--epsilon", "50")
    assert "--epsilon is 50.0; expected a number above 0 and below 30" in run(*arguments, code=2).stderr
