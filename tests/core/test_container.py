"""Tensor files: a round trip, writing whole or not at all, and a clear word for whatever else lies there."""

import os
import struct
import threading
import time

import numpy as np
import pytest
from safetensors.numpy import save_file

from fewratio.core import container
from fewratio.core.container import (
    FORMAT_VERSION,
    Stored,
    check_arrays,
    read_tensors,
    write_atomically,
    write_tensors,
)
from fewratio.errors import DataNotFoundError, FewRatioError, ModelFileError, ModelVersionError, ParameterError

TENSORS = {
    "weights": np.arange(6.0, dtype=np.float32).reshape(2, 3).T,  # not contiguous
    "step": np.array(3),
    "fine": np.array([1e-300]),
    "empty": np.zeros((0, 2)),
}
HEADER = {"name": "ratio ν", "loss": float("inf"), "steps": [1, 2]}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.model"
    write_tensors(path, "model", TENSORS, HEADER)
    return path


def test_round_trip(path):
    tensors, header = read_tensors(path, "model")
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        np.testing.assert_array_equal(tensors[name], tensor)
        assert (tensors[name].dtype, tensors[name].shape) == (tensor.dtype, tensor.shape)
    assert header == {"format": FORMAT_VERSION, "kind": "model", **HEADER}


def test_paths_may_be_strings(tmp_path):
    write_tensors(str(tmp_path / "b"), "model", {}, {})
    assert read_tensors(str(tmp_path / "b"), "model")[0] == {}


def test_writing_replaces_the_old_file(path):
    write_tensors(path, "model", {"new": np.ones(1)}, {})
    tensors, header = read_tensors(path, "model")
    assert list(tensors) == ["new"]
    assert "name" not in header


@pytest.mark.parametrize("culprit", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch, culprit, error):
    def fail(*args):
        raise error

    monkeypatch.setattr(os, culprit, fail)
    with pytest.raises(type(error)):
        write_tensors(path, "model", {"new": np.ones(1)}, {})
    assert os.listdir(path.parent) == [path.name]
    assert read_tensors(path, "model")[0].keys() == TENSORS.keys()


def test_header_that_json_cannot_say_leaves_the_old_file(path):
    with pytest.raises(TypeError):
        write_tensors(path, "model", {}, {"what": object()})
    assert os.listdir(path.parent) == [path.name]
    assert read_tensors(path, "model")[0].keys() == TENSORS.keys()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_what_is_no_file_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe.html"
    os.mkfifo(pipe)
    with pytest.raises(ParameterError, match="is a pipe or a device; expected the path of a file"):
        write_atomically(pipe, b"a page")
    assert pipe.is_fifo()
    with pytest.raises(ParameterError, match="is a folder"):
        write_atomically(tmp_path, b"a page")


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(DataNotFoundError, match="nowhere does not exist"):
        write_tensors(tmp_path / "nowhere" / "a.model", "model", {}, {})


@pytest.mark.parametrize(("name", "problem"), [("missing.model", "There is no file"), (".", "is a folder")])
def test_missing_file(tmp_path, name, problem):
    with pytest.raises(DataNotFoundError, match=problem):
        read_tensors(tmp_path / name, "model")


@pytest.mark.parametrize("n_bytes", [0, 4, 8, 60, -1])
def test_truncated_file(path, n_bytes):
    path.write_bytes(path.read_bytes()[:n_bytes])
    with pytest.raises(ModelFileError, match="truncated, damaged"):
        read_tensors(path, "model")


@pytest.mark.parametrize(
    ("content", "found"),
    [(b"age,dose\n1,2\n", "text, such as a table"), (b'{\n "kind": "map"}', "text, such as a table")],
)
def test_text_instead_of_tensors(path, content, found):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=f"seems to be {found}; a model is needed"):
        read_tensors(path, "model")


@pytest.mark.parametrize(
    "content", [b"\xffgarbage\0" * 100, b"PK\x03\x04" + bytes(64), struct.pack("<Q", 2**60) + b"{}"]
)
def test_something_else(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"a\.model cannot be read"):
        read_tensors(path, "model")


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_safetensors_of_others(path, metadata):
    save_file({"x": np.ones(1)}, path, metadata)
    with pytest.raises(ModelFileError, match="not one of fewratio's"):
        read_tensors(path, "model")


@pytest.mark.parametrize("text", ["{", "[1]", "{}", '{"format": "1"}', '{"format": null}'])
def test_damaged_header(path, text):
    save_file({"x": np.ones(1)}, path, {"fewratio": text})
    with pytest.raises(ModelFileError, match="damaged"):
        read_tensors(path, "model")


def test_newer_version(path, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(container, "FORMAT_VERSION", FORMAT_VERSION + 1)
        write_tensors(path, "model", {}, {})
    with pytest.raises(ModelVersionError, match="Upgrade fewratio"):
        read_tensors(path, "model")


def test_another_kind(path):
    with pytest.raises(ModelFileError, match="holds a model, but a checkpoint is needed"):
        read_tensors(path, "checkpoint")


def test_errors_are_what_callers_expect():
    assert issubclass(DataNotFoundError, FileNotFoundError)
    assert issubclass(ModelVersionError, ModelFileError)
    assert issubclass(ModelFileError, FewRatioError)
    assert issubclass(ModelFileError, ValueError)


# ---------------------------------------------------------------- damage


@pytest.mark.slow
def test_every_flipped_bit_is_noticed(path):
    good = path.read_bytes()
    for bit in np.random.default_rng(0).choice(8 * len(good), 1000, replace=False):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(bad)
        with pytest.raises(ModelFileError):
            read_tensors(path, "model")


def test_a_file_without_a_checksum_is_refused(path):
    save_file({"x": np.ones(1)}, path, {"fewratio": '{"format": 1, "kind": "model"}'})
    with pytest.raises(ModelFileError, match="do not match its checksum"):
        read_tensors(path, "model")


class Thing(Stored):
    _kind, _fields = "model", {"size": (int,), "name": (str, type(None))}

    def _payload(self):
        return {"x": np.ones(2)}, {"size": 2, "name": None}

    @classmethod
    def _of_payload(cls, arrays, header, **changes):
        check_arrays(arrays, {"x": (header["size"],)})
        return cls()


@pytest.mark.parametrize(
    ("arrays", "header", "found"),
    [
        ({}, {"size": 2.0}, "its size is 2.0, not int"),
        ({}, {"size": True}, "its size is True, not int"),
        ({}, {"name": 1}, "its name is 1, not str or null"),
        ({}, {"size": 3}, r"its array x has the shape \(2,\), not \(3,\)"),
        ({"x": np.ones(2, bool)}, {}, "its array x has the shape None"),
        ({"y": np.ones(2)}, {}, r"its array y has the shape \(2,\), not None"),
    ],
)
def test_what_a_file_must_hold_is_declared(path, arrays, header, found):
    Thing().save(path)
    assert isinstance(Thing.load(path), Thing)
    known, fields = Thing()._payload()
    write_tensors(path, "model", known | arrays, fields | header)
    with pytest.raises(ModelFileError, match=f"a.model does not fit together .{found}.* Make the file again"):
        Thing.load(path)
    write_tensors(path, "model", known, {"size": 2})
    with pytest.raises(ModelFileError, match="'name' is missing"):
        Thing.load(path)


def test_numbers_that_are_not_finite_are_refused_where_none_can_be(path):
    write_tensors(path, "model", {"x": np.array([1.0, np.nan])}, {})
    assert np.isnan(read_tensors(path, "model")[0]["x"][1])
    with pytest.raises(ModelFileError, match="x has numbers that are not finite"):
        read_tensors(path, "model", finite=True)


def test_a_header_nested_too_deeply_is_refused(path):
    save_file({"x": np.ones(1)}, path, {"fewratio": "[" * 100_000 + "]" * 100_000})
    with pytest.raises(ModelFileError, match="damaged"):
        read_tensors(path, "model")


# ---------------------------------------------------------------- temporary files


def test_threads_that_write_one_file_leave_a_whole_one(tmp_path):
    path, failed = tmp_path / "shared", []

    def write(number):
        try:
            for _ in range(20):
                write_atomically(path, bytes([number]) * 10_000)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(set(path.read_bytes())) == 1
    assert [kept.name for kept in tmp_path.iterdir()] == ["shared"]


def test_what_a_killed_process_left_is_removed_at_the_next_write(tmp_path):
    # The last one is a user's own.
    names = ".a.0123456789abcdef.tmp", ".a.0123456789abcde0.tmp", ".b.0123456789abcdef.tmp", ".a.backup.tmp"
    path, old, new, *others = (tmp_path / name for name in ("a", *names))
    for leftover in (old, new, *others):
        leftover.write_bytes(b"half")
    for leftover in (old, *others):
        os.utime(leftover, (time.time() - 2 * 3600,) * 2)
    write_atomically(path, b"whole")
    # Another process may be writing the new one; the other is another file's.
    assert {kept.name for kept in tmp_path.iterdir()} == {"a", *names[1:]}
