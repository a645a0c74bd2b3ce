"""Verbs with --report on files."""

import html
import re
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from fewratio.app import app

ONE = {
    "compare": ["compare", "a.csv", "b <c>.csv"],
    "weights": ["weights", "a.csv", "b <c>.csv", "--clip", "5.0", "--json"],
    "ratio": ["ratio", "a.csv", "b <c>.csv", "--drop", "y"],
    "outliers": ["outliers", "a.csv", "b <c>.csv", "--contamination", "0.25"],
    "changes": ["changes", "series.csv", "--time", "day"],
    "compare-all": ["compare-all", "sites"],
    "compare-all --new": ["compare-all", "sites", "--new", "sites/west.csv"],
}
ANSWERS = {
    "compare": "The tables differ",
    "weights": "weighted rows are as precise as",
    "ratio": "are more typical of a.csv",
    "outliers": "3 of 12 rows are outliers",
    "changes": "1 change, 2024-01-31: z rose from",
    "compare-all": "&lt;south&gt; stands out most (median divergence 0.42): columns 1 and 0 far above the rest.",
    "compare-all --new": "Nothing shows that west (new) is unlike the 3 other datasets",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder with two tables."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, mean in (("a.csv", 0), ("b <c>.csv", 1.5)):
        np.savetxt(name, rng.normal(mean, 1, (12, 2)), delimiter=",", header="x,y", comments="")
    days = np.arange("2024-01-01", "2024-03-01", dtype="datetime64[D]")
    rows = [f"{day},{value}" for day, value in zip(days, rng.normal(0, 1, 60) + 9 * (np.arange(60) >= 30), strict=True)]
    (tmp_path / "series.csv").write_text("\n".join(["day,z", *rows]))
    (tmp_path / "sites").mkdir()
    for name, mean in (("north", 0), ("<south>", 2), ("west", 0)):
        np.savetxt(tmp_path / "sites" / f"{name}.csv", rng.normal(mean, 1, (9, 2)), delimiter=",")
    return tmp_path


def run(arguments):
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ONE)
def test_the_report_has_the_answer_and_the_command_that_makes_it_again(folder, verb):
    done = run([*ONE[verb], "--report", "r.html"])
    assert done.exit_code == 0, done.output
    text = (folder / "r.html").read_text("utf-8")
    assert ANSWERS[verb] in re.search('<p class="answer">(.*?)</p>', text)[1]
    assert "b <c>" not in text
    words = shlex.split(html.unescape(re.search("<code>(.*?)</code>", text)[1]))
    assert words == ["fewratio", *ONE[verb], "--report", "r.html"]
    (folder / "r.html").unlink()
    assert run(words[1:]).exit_code == 0
    assert (folder / "r.html").read_text("utf-8") == text


def test_the_command_has_all_that_was_given(folder):
    given = "compare a.csv --permutations 0 --columns x --columns y --common --seed 3 --fail-if 'divergence > 9'"
    given = ["compare", "a.csv", "b <c>.csv", *shlex.split(given)[2:], "--report", "r.html"]
    assert run(given).exit_code == 0
    found = shlex.split(html.unescape(re.search("<code>(.*?)</code>", (folder / "r.html").read_text("utf-8"))[1]))
    assert found[1:4] == given[:3]
    pairs = [tuple(found[i : i + 2]) for i in range(4, len(found))]
    for option in (("--permutations", "0"), ("--columns", "x"), ("--columns", "y"), ("--seed", "3")):
        assert option in pairs
    assert "--common" in found
    assert "divergence > 9" in found


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("r.pdf", ["--report", "must end in .html"]),
        ("absent/r.html", ["--report", "absent"]),
        ("a.html", ["--report", "the same file as"]),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_the_work(folder, path, words):
    (folder / "a.html").symlink_to(folder / "a.csv")
    done = run([*ONE["compare"], "--report", path])
    assert done.exit_code == 2
    assert all(word in done.stderr for word in words)
    assert not done.stdout


def test_more_than_two_groups_have_a_report(folder):
    (folder / "g.csv").write_text("x,g\n" + "\n".join(f"{i * i % 7},{'abc'[i % 3]}" for i in range(30)))
    done = run(["compare", "g.csv", "--by", "g", "--report", "r.html"])
    assert done.exit_code == 0, done.output
    report = (folder / "r.html").read_text("utf-8")
    assert "3 groups by g" in report
    assert "No difference between the groups was found" in report


@pytest.mark.parametrize("verb", ["weights", "ratio", "compare"])
def test_files_of_one_name_stay_apart(tmp_path, verb):
    for name, start in (("x", 0), ("y", 3)):
        (tmp_path / name).mkdir()
        rows = "\n".join(f"{start + i % 7},{i % 5}" for i in range(30))
        (tmp_path / name / "data.csv").write_text(f"u,v\n{rows}\n")
    a, b = (str(tmp_path / name / "data.csv") for name in "xy")
    report = tmp_path / "report.html"
    assert CliRunner().invoke(app, [verb, a, b, "--report", str(report)]).exit_code == 0
    assert a in report.read_text()
    assert b in report.read_text()


def test_groups_may_be_called_as_parts_of_the_report_are(tmp_path):
    table, report = tmp_path / "all.csv", tmp_path / "report.html"
    rows = "\n".join(f"{'Test' if i % 2 else 'Divergence'},{i % 5 + i % 2 * 3}" for i in range(30))
    table.write_text(f"split,v\n{rows}\n")
    result = CliRunner().invoke(app, ["compare", str(table), "--by", "split", "--report", str(report)])
    assert result.exit_code == 0
    assert "of split = Divergence and split = Test" in report.read_text()
    assert "p\u00a0=\u00a0" in report.read_text()


def test_warnings_are_in_the_report(folder):
    (folder / "one.csv").write_text("x,y\n1,2\n")
    done = run(["compare", "one.csv", "a.csv", "--report", "r.html"])
    assert done.exit_code == 0
    assert "note        one.csv has only one row; a single row says little about its distribution." in done.stdout
    said = done.stderr.removeprefix("fewratio: ").strip()
    assert said
    assert f'<p class="warning">{html.escape(said)}</p>' in (folder / "r.html").read_text("utf-8")
