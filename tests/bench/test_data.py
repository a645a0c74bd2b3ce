"""``fewratio-bench data``: what ``fewratio data`` does, with the paper's data."""

import json
import os
import subprocess
import sys

import pytest

from fewratio_bench import cli
from fewratio_bench.sources.storage import locate


@pytest.fixture
def data(tmp_path, monkeypatch, capsys):
    """Call the command in an empty folder, without data and with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    own = {"FEWRATIO_DATA": "", "FEWRATIO_CACHE": str(tmp_path / "cache"), "COLUMNS": "200"}

    def run(*arguments, **environment):
        for name, value in (own | environment).items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as done:
            cli.main(["data", *arguments])
        return subprocess.CompletedProcess(arguments, done.value.code, *capsys.readouterr())

    return run


@pytest.mark.slow
def test_it_is_a_command(tmp_path):
    command = [sys.executable, "-m", "fewratio_bench", "data", "list", "--json"]
    own = os.environ | {"FEWRATIO_DATA": "", "FEWRATIO_CACHE": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=own)
    assert done.returncode == 0, done.stderr
    assert "mnist_r" in {info["name"] for info in json.loads(done.stdout)}


def test_list_names_every_source_and_what_is_here(data):
    done = data("list")
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines()[1:]}
    assert set(lines) == {"digits_r", "gaussian", "iot", "isolet", "landmine", "mnist_r", "school"}
    assert {name: line.split()[1] for name, line in lines.items() if name in ("digits_r", "iot", "mnist_r")} == {
        "digits_r": "yes",
        "iot": "no",
        "mnist_r": "no",
    }


def test_list_and_info_as_json(data):
    infos = {info["name"]: info for info in json.loads(data("list", "--json").stdout)}
    assert set(infos) == {"digits_r", "gaussian", "iot", "isolet", "landmine", "mnist_r", "school"}
    info = json.loads(data("info", "school", "--json").stdout)
    assert info == infos["school"]
    assert (info["licence"], info["available"]) == ("none stated (H. Goldstein, The Statistician 40, 1991)", False)


def test_info_tells_all(data, tmp_path):
    done = data("info", "mnist_r")
    assert done.returncode == 0, done.stderr
    place = str(tmp_path / "cache" / "mnist_r" / "MNIST_6rot.pkl.gz")
    for word in ("60 datasets of 100 images", "https://github.com/ghif/mtae", "CC BY-SA", f"Put it at {place}"):
        assert word in done.stdout
    assert "seed (default 0)" in data("info", "iot").stdout


def test_info_notices_other_content(data, tmp_path):
    path = tmp_path / "mine" / "landmine" / "LandmineData.mat"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not it")
    done = data("info", "landmine", FEWRATIO_DATA=str(tmp_path / "mine"))
    assert f"{path} has sha256" in done.stdout


def test_what_cannot_be_fetched_is_no_mistake_of_the_call(data):
    done = data("fetch", "iot")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "fetched by hand" in line


def test_a_download_without_a_network_says_what_to_put_where(data, tmp_path):
    # A proxy that is not there stands for the missing network.
    done = data("fetch", "landmine", HTTPS_PROXY="http://127.0.0.1:9", https_proxy="http://127.0.0.1:9", NO_PROXY="")
    assert done.returncode == 1
    assert f"Put it at {tmp_path / 'cache' / 'landmine' / 'LandmineData.mat'}" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_fetch_of_what_is_here_gives_the_place_of_a_good_file(data, tmp_path):
    published = locate("landmine/LandmineData.mat")
    path = tmp_path / "cache" / "landmine" / "LandmineData.mat"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    done = data("fetch", "landmine")
    assert done.returncode == 2
    assert f"{path} has sha256" in done.stderr
    if published is not None:
        assert data("fetch", "landmine", FEWRATIO_DATA=str(published.parents[1])).stdout.strip() == str(published)


def test_fetch_of_what_is_here_in_part_names_what_is_missing(data, tmp_path):
    folder = tmp_path / "cache" / "iot"
    folder.mkdir(parents=True)
    paths = [folder / name for name in ("2.benign.csv", "2.mirai.ack.csv")]
    for path in paths:
        path.touch()
    done = data("fetch", "iot")
    assert done.returncode == 0
    assert done.stdout.splitlines() == list(map(str, paths))
    assert "iot has 1 of 9 devices complete" in done.stderr
    assert "Ennio_Doorbell" in done.stderr


def test_preview_of_a_partial_source_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEWRATIO_CACHE", str(tmp_path))
    if locate("iot/Danmini_Doorbell/benign_traffic.csv.gz") is None:
        pytest.skip("the partial data of iot are not here: set FEWRATIO_DATA")
    with pytest.raises(SystemExit) as done:
        cli.main(["data", "preview", "iot", "--output", "devices.png"])
    assert done.value.code == 0
    assert "iot has 1 of 9 devices complete" in capsys.readouterr().err
    assert (tmp_path / "devices.png").is_file()
