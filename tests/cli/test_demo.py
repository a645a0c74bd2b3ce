"""``fewratio demo`` as a person would call it."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from sklearn.datasets import load_wine
from typer.testing import CliRunner

from fewratio.app import app
from fewratio.demo.wines import write_wine_tables

PNG = b"\x89PNG\r\n\x1a\n"


def fewratio(*arguments, cwd=None):
    command = [str(Path(sys.executable).with_name("fewratio")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


@pytest.mark.slow
def test_the_main_demo_compares_real_tables_and_finds_outliers(tmp_path, monkeypatch):
    done = fewratio("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    made = tmp_path / "demo"
    assert {path.name for path in made.iterdir()} == {
        *("grower_1.csv", "grower_2.csv", "delivery.csv"),
        *("compare.png", "outliers.png"),
    }
    for picture in ("compare.png", "outliers.png"):
        assert imread(made / picture).std() > 0.05  # not blank
    for said in (
        "divergence",
        "p-value     0.001 (999 permutations)",
        "apart       alcohol alone separates all rows: 12.85",
        "bottle: id",
    ):
        assert said in done.stdout
    (truth,) = re.findall(r"In truth (.*) of delivery.csv are", done.stdout)
    strangers = set(truth.split(", "))
    shown = re.findall(r"^ +(W\d+) +[\d.e-]+ +(outlier)?", done.stdout, flags=re.MULTILINE)
    flagged = {wine for wine, flag in shown if flag}
    assert flagged > strangers
    assert len(flagged) == 5  # a tenth of the rows
    # What it says it runs gives what it shows.
    (command,) = re.findall(r"^\$ fewratio (outliers .*)$", done.stdout, flags=re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, command.split()).stdout in done.stdout


def test_the_demos_tables_are_the_data_and_share_no_wine(tmp_path):
    paths, known_strangers = write_wine_tables(tmp_path)
    known, other, delivery = (np.loadtxt(path, delimiter=",", skiprows=1, usecols=range(3, 16)) for path in paths)
    wines = load_wine()
    growers = {tuple(row): grower for row, grower in zip(wines.data.tolist(), wines.target, strict=True)}
    assert len(growers) == len(wines.data)
    every = [tuple(row) for rows in (known, other, delivery) for row in rows.tolist()]
    assert len(set(every)) == len(every)
    assert {growers[row] for row in every[: len(known)]} == {0}
    assert {growers[row] for row in every[len(known) : -len(delivery)]} == {1}
    bottles = np.loadtxt(paths[2], delimiter=",", skiprows=1, usecols=0, dtype=str)
    strangers = [bottle for bottle, wine in zip(bottles, every[-len(delivery) :], strict=True) if growers[wine] != 0]
    assert strangers == known_strangers


@pytest.mark.slow
def test_the_ratio_demo_trains_compares_and_draws(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["demo", "ratio", "--steps", "60"])
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "demo" / "ratio.png").read_bytes().startswith(PNG)
    assert "<svg" in (tmp_path / "demo" / "ratio.svg").read_text()
    regrets = dict(line.split() for line in done.stdout.splitlines() if line.startswith("  "))
    assert set(regrets) == {"meta-learned", "RuLSIF"}
    # A constant ratio of 1 has a regret of about 0.19 on this family; 60 steps are enough to be better.
    assert 0 < float(regrets["meta-learned"]) < 0.15


@pytest.mark.parametrize(
    "arguments", [["demo", "ratio", "--steps", "0"], ["demo", "--steps", "9"], ["demo", "some"], ["nothing"]], ids=str
)
def test_wrong_calls_exit_with_two_and_no_traceback(arguments, tmp_path):
    done = CliRunner().invoke(app, [*arguments, "--output", str(tmp_path / "demo")])
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["tables", "ratio"])
def test_a_folder_that_cannot_be_made_is_said_before_any_work(name, tmp_path):
    (tmp_path / "taken").write_text("a file")
    done = CliRunner().invoke(app, ["demo", name, "--output", str(tmp_path / "taken")])
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert "taken" in line
    assert done.stdout == ""
