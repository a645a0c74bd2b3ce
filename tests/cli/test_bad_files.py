"""Inputs that cannot be read and results that cannot be written end in one line, most before the work."""

import gzip
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from fewratio.app import app

TABLE = "p,q\n" + "".join(f"{row % 5},{row * row % 7}.5\n" for row in range(12))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(TABLE)
    return tmp_path


def assert_refused(arguments, *words, code=2, **options):
    done = CliRunner().invoke(app, arguments, **options)
    assert done.exit_code == code, done.output
    (line,) = done.stderr.splitlines()
    for word in words:
        assert word in line
    assert done.stdout == ""


LONG = "x" * 300 + ".csv"


@pytest.mark.parametrize("name", ["folder.csv", "pipe.csv", LONG, "absent/r.csv"])
def test_a_file_that_cannot_be_written_is_found_before_the_work(folder, name):
    (folder / "folder.csv").mkdir()
    os.mkfifo(folder / "pipe.csv")
    reasons = {"folder.csv": "it is a folder", "pipe.csv": "it is a pipe", LONG: os.strerror(36)}
    # The input is not there either: the output is looked at first.
    reason = reasons.get(name, "there is no folder")
    assert_refused(["compare", "absent.csv", "b.csv", "-o", name], "cannot be written", reason, "--output")


@pytest.mark.parametrize("verb", ["train", "index"])
def test_a_model_does_not_take_the_place_of_a_table(folder, verb):
    before = (folder / "b.csv").read_bytes()
    assert_refused([verb, "sites", "-o", "b.csv"], "--output is 'b.csv', the name of a table", "b.safetensors")
    assert (folder / "b.csv").read_bytes() == before


def test_the_longest_name_is_written(folder):
    name = "x" * 251 + ".csv"
    done = CliRunner().invoke(app, ["compare", "a.csv", "b.csv", "-o", name])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in folder.iterdir()) == ["a.csv", "b.csv", name]


def test_a_full_disk_names_the_file_and_leaves_nothing(folder, monkeypatch):
    def refuse(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fewratio.core.container.os.fsync", refuse)
    assert_refused(["compare", "a.csv", "b.csv", "-o", "r.csv"], "No space left on device", "'r.csv'", code=1)
    assert sorted(path.name for path in folder.iterdir()) == ["a.csv", "b.csv"]


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_full_standard_output_and_closed_standard_input_are_named():
    command = f"{sys.executable} -m fewratio compare"
    shell = f"{command} a.csv b.csv > /dev/full; echo $? >&2; {command} - b.csv <&-; echo $? >&2"
    lines = subprocess.run(["bash", "-c", shell], capture_output=True, text=True).stderr.splitlines()
    assert lines[0] == "fewratio: [Errno 28] No space left on device: 'standard output'"
    assert "standard input is closed" in lines[2]
    assert [lines[1], lines[3], len(lines)] == ["1", "2", 4]


READ = {
    "empty.csv": (b"", "it is empty"),
    "header.csv": (b"p,q\n", "is empty (0 rows)"),
    "cut.csv.gz": (gzip.compress(TABLE.encode())[:-12], "cannot be read"),
    "cut.csv.zip": (b"PK\x03\x04 and no more", "cannot be read"),
    "wide.csv": ((",".join(map(str, range(100_000))) + "\n") * 2, "it has 100,000 columns"),
}


@pytest.mark.parametrize("name", READ)
def test_a_file_that_cannot_be_read_is_named(folder, name):
    content, reason = READ[name]
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    assert_refused(["compare", name, "b.csv"], f"file '{name}'", reason)


def test_one_row_and_a_byte_order_mark_are_answered(folder):
    (folder / "one.csv").write_text("\ufeffp,q\n1,2\n")
    assert CliRunner().invoke(app, ["compare", "one.csv", "b.csv"]).exit_code == 0


def test_an_empty_stream_is_named():
    assert_refused(["compare", "-", "b.csv"], "'standard input' cannot be read (it is empty)", input="")


@pytest.mark.parametrize("shape", ["(-2, 2)", "(2, 10**9)", "(2, 4000000000000000000)", "(True, 2)", "2"])
def test_a_damaged_header_of_an_array_is_named(folder, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + np.ones(4).tobytes()
    (folder / "a.npy").write_bytes(content)
    assert_refused(["compare", "a.npy", "b.csv"], "file 'a.npy'")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs a device without end")
def test_a_device_is_refused_before_it_is_read():
    assert_refused(["compare", "/dev/zero", "a.csv"], "'/dev/zero' is a device; expected a table file")
