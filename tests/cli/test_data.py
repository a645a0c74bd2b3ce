"""``fewratio data`` as a person would call it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

from fewratio.app import app
from fewratio.cli.preview import draw_preview
from fewratio.data.collection import Collection


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Stand in an empty folder, without data and with a cache of one's own."""
    monkeypatch.chdir(tmp_path)
    return {"FEWRATIO_DATA": "", "FEWRATIO_CACHE": str(tmp_path / "cache"), "COLUMNS": "200"}


@pytest.fixture
def fewratio(own):
    return lambda *arguments: CliRunner().invoke(app, ["data", *arguments], env=own)


def test_list_knows_what_needs_no_file(own):
    """In a process of its own: the benchmark's data are known to this one."""
    command = [str(Path(sys.executable).with_name("fewratio")), "data", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | own)
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines()[1:]}
    assert set(lines) == {"digits_r", "gaussian"}
    assert all(line.split()[1] == "yes" for line in lines.values())


def test_list_and_info_say_the_same(fewratio):
    infos = {info["name"]: info for info in json.loads(fewratio("list", "--json").stdout)}
    assert json.loads(fewratio("info", "digits_r", "--json").stdout) == infos["digits_r"]
    assert "60 datasets of 174 to 183 images" in fewratio("info", "digits_r").stdout
    assert "n_datasets (default 600)" in fewratio("info", "gaussian").stdout
    assert fewratio("fetch", "digits_r").stdout.strip() == "digits_r needs no file."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["info", "digits"], "Did you mean 'digits_r'?"),
        (["fetch", "nothing"], "known are digits_r"),
        (["preview", "digits_r", "-o", "absent/x.png"], "there is no folder"),
        (["preview", "digits_r", "-o", "x.bmp"], "must end in .png, .svg, .pdf"),
    ],
)
def test_a_mistake_ends_in_one_line(fewratio, arguments, said, tmp_path):
    done = fewratio(*arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_preview_of_images_goes_to_a_file_of_the_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["data", "preview", "digits_r"])
    assert done.exit_code == 0, done.output
    assert "60 datasets" in done.output
    assert imread(tmp_path / "digits_r.png").std() > 0.05  # not blank


@pytest.mark.parametrize(
    ("sizes", "n_features", "labelled"), [([5], 1, False), ([4, 9], 3, True), ([30] * 20, 4, False), ([1, 1], 2, False)]
)
def test_any_table_can_be_drawn(tmp_path, sizes, n_features, labelled):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(n, n_features)) for n in sizes]
    flags = [np.arange(n) == 0 for n in sizes] if labelled else None
    draw_preview(Collection.from_arrays(arrays, outliers=flags), None).save(tmp_path / "x.svg")
    assert "<svg" in (tmp_path / "x.svg").read_text()


def test_constant_tables_can_be_drawn(tmp_path):
    draw_preview(Collection.from_arrays([[[1.0, 2.0]] * 3] * 2), None).save(tmp_path / "x.png")
    assert (tmp_path / "x.png").is_file()
