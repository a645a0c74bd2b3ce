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

from fewratio.cli import app
from fewratio.cli.preview import draw_preview
from fewratio.data.collection import Collection
from fewratio.data.registry import SOURCES, source_info
from fewratio.data.sources import iot


@pytest.fixture
def fewratio(tmp_path):
    """Run the command in an empty folder, without data and with a cache of its own."""

    def run(*arguments, **environment):
        command = [str(Path(sys.executable).with_name("fewratio")), "data", *arguments]
        own = {"FEWRATIO_DATA": "", "FEWRATIO_CACHE": str(tmp_path / "cache"), "COLUMNS": "200", **environment}
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, **own}
        )

    return run


def test_list_names_every_source_and_what_is_here(fewratio):
    done = fewratio("list")
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines()[1:]}
    assert set(lines) == set(SOURCES)
    assert lines["digits_r"].endswith("yes")
    assert lines["mnist_r"].endswith("downloads it")
    assert lines["iot"].endswith("by hand")


def test_list_and_info_as_json(fewratio):
    infos = {info["name"]: info for info in json.loads(fewratio("list", "--json").stdout)}
    assert set(infos) == set(SOURCES)
    info = json.loads(fewratio("info", "school", "--json").stdout)
    assert info == infos["school"]
    assert (info["n_datasets"], info["n_features"], info["available"]) == (74, 26, False)


def test_info_tells_all(fewratio, tmp_path):
    done = fewratio("info", "mnist_r")
    assert done.returncode == 0, done.stderr
    place = str(tmp_path / "cache" / "mnist_r" / "MNIST_6rot.pkl.gz")
    assert place in done.stdout
    assert json.loads(fewratio("info", "mnist_r", "--json").stdout)["files"][0]["place"] == place
    for word in ("60 of 100 rows", "256", "https://github.com/ghif/mtae", "CC BY-SA", "3,852,536", "20434234326b03ce"):
        assert word in done.stdout


def test_info_says_which_files_are_alternatives_and_what_options_may_be(fewratio):
    school = fewratio("info", "school").stdout
    assert "in 3 forms, of which one is enough" in school
    assert "school/school.mat (44,759 bytes), form 2" in school
    assert "encoding (default 'constant'; one of 'constant', 'observed')" in school
    assert "in 4 forms, of which one is enough" in fewratio("info", "isolet").stdout
    assert "form" not in fewratio("info", "mnist_r").stdout
    (option,) = json.loads(fewratio("info", "school", "--json").stdout)["options"]
    assert option == {"name": "encoding", "default": "constant", "values": ["constant", "observed"]}


def test_a_data_folder_that_is_none_is_said_once(fewratio, tmp_path):
    done = fewratio("list", FEWRATIO_DATA=str(tmp_path / "nowhere"))
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"fewratio: FEWRATIO_DATA names '{tmp_path / 'nowhere'}', which does not exist")
    done = fewratio("fetch", "iot", FEWRATIO_DATA=str(tmp_path / "nowhere"))
    assert "which does not exist" in done.stderr.splitlines()[0]


def test_info_finds_files_and_notices_other_content(fewratio, tmp_path):
    path = tmp_path / "mine" / "landmine" / "LandmineData.mat"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not it")
    done = fewratio("info", "landmine", FEWRATIO_DATA=str(tmp_path / "mine"))
    assert "the file here differs" in done.stdout
    assert str(path) in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["info", "mnist"], "Did you mean 'mnist_r'?"),
        (["fetch", "nothing"], "known are digits_r"),
        (["preview", "digits_r", "-o", "absent/x.png"], "there is no folder"),
        (["preview", "digits_r", "-o", "x.bmp"], "must end in .png, .svg, .pdf"),
    ],
)
def test_a_mistake_ends_in_one_line(fewratio, arguments, said, tmp_path):
    done = fewratio(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_fetched_is_no_mistake_of_the_call(fewratio):
    done = fewratio("fetch", "iot")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "fetched by hand" in line


def test_a_download_without_a_network_says_what_to_put_where(fewratio, tmp_path):
    # A proxy that is not there stands for the missing network.
    done = fewratio(
        "fetch", "landmine", HTTPS_PROXY="http://127.0.0.1:9", https_proxy="http://127.0.0.1:9", NO_PROXY=""
    )
    assert done.returncode == 1
    assert f"Put it at {tmp_path / 'cache' / 'landmine' / 'LandmineData.mat'}" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_fetch_of_what_is_here_gives_the_place(fewratio, tmp_path):
    path = tmp_path / "cache" / "landmine" / "LandmineData.mat"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    assert fewratio("fetch", "landmine").stdout.strip() == str(path)
    assert fewratio("fetch", "digits_r").stdout.strip() == "digits_r needs no file."


def test_fetch_of_what_is_here_in_part_names_what_is_missing(fewratio, tmp_path):
    folder = tmp_path / "cache" / "iot"
    folder.mkdir(parents=True)
    paths = [folder / name for name in ("2.benign.csv", "2.mirai.ack.csv")]
    header, row = ",".join(iot.FEATURES), ",".join(["1"] * len(iot.FEATURES))
    for path in paths:
        path.write_text("\n".join([header, *[row] * iot.N_NORMAL]))
    done = fewratio("fetch", "iot")
    assert done.returncode == 0
    assert done.stdout.splitlines() == list(map(str, paths))
    assert "iot has 1 of 9 devices complete" in done.stderr
    assert "Ennio_Doorbell (no files)" in done.stderr


def test_preview_of_images_goes_to_a_file_of_the_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["data", "preview", "digits_r"])
    assert done.exit_code == 0, done.output
    assert "60 datasets" in done.output
    assert imread(tmp_path / "digits_r.png").std() > 0.05  # not blank


def test_preview_of_a_partial_source_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEWRATIO_CACHE", str(tmp_path))
    if "1 of 9 devices" not in source_info("iot").note:
        pytest.skip("the partial data of iot are not here: set FEWRATIO_DATA")
    done = CliRunner().invoke(app, ["data", "preview", "iot", "--output", "devices.png"])
    assert done.exit_code == 0, done.output
    assert "iot has 1 of 9 devices complete" in done.output
    assert (tmp_path / "devices.png").is_file()


@pytest.mark.parametrize(
    ("sizes", "n_features", "labelled"), [([5], 1, False), ([4, 9], 3, True), ([30] * 20, 4, False), ([1, 1], 2, False)]
)
def test_any_table_can_be_drawn(tmp_path, sizes, n_features, labelled):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(n, n_features)) for n in sizes]
    flags = [np.arange(n) == 0 for n in sizes] if labelled else None
    draw_preview(Collection.from_arrays(arrays, outliers=flags), None, tmp_path / "x.svg")
    assert "<svg" in (tmp_path / "x.svg").read_text()


def test_constant_tables_can_be_drawn(tmp_path):
    draw_preview(Collection.from_arrays([[[1.0, 2.0]] * 3] * 2), None, tmp_path / "x.png")
    assert (tmp_path / "x.png").is_file()
