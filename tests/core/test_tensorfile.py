"""Tensor files: a round trip, writing whole or not at all, and a clear word for whatever else lies there."""

import os
import struct

import pytest
import torch
from safetensors.torch import save_file

from fewratio.core.tensorfile import FORMAT_VERSION, read_tensors, write_tensors
from fewratio.errors import DataNotFoundError, FewRatioError, ModelFileError, ModelVersionError

TENSORS = {
    "weights": torch.arange(6.0).view(2, 3).mT,  # not contiguous
    "step": torch.tensor(3, dtype=torch.int64),
    "fine": torch.tensor([1e-300], dtype=torch.float64, requires_grad=True),
    "empty": torch.zeros(0, 2),
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
        torch.testing.assert_close(tensors[name], tensor.detach(), rtol=0, atol=0)
    assert header == {"format": FORMAT_VERSION, "kind": "model", **HEADER}


def test_paths_may_be_strings(tmp_path):
    write_tensors(str(tmp_path / "b"), "model", {}, {})
    assert read_tensors(str(tmp_path / "b"), "model")[0] == {}


def test_writing_replaces_the_old_file(path):
    write_tensors(path, "model", {"new": torch.ones(1)}, {})
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
        write_tensors(path, "model", {"new": torch.ones(1)}, {})
    assert os.listdir(path.parent) == [path.name]
    assert read_tensors(path, "model")[0].keys() == TENSORS.keys()


def test_header_that_json_cannot_say_leaves_the_old_file(path):
    with pytest.raises(TypeError):
        write_tensors(path, "model", {}, {"what": object()})
    assert os.listdir(path.parent) == [path.name]
    assert read_tensors(path, "model")[0].keys() == TENSORS.keys()


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


@pytest.mark.parametrize("content", [b"garbage" * 100, b"PK\x03\x04" + bytes(64), struct.pack("<Q", 2**60) + b"{}"])
def test_something_else(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"a\.model cannot be read"):
        read_tensors(path, "model")


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_safetensors_of_others(path, metadata):
    save_file({"x": torch.ones(1)}, path, metadata)
    with pytest.raises(ModelFileError, match="not one of fewratio's"):
        read_tensors(path, "model")


@pytest.mark.parametrize("text", ["{", "[1]", "{}", '{"format": "1"}', '{"format": null}'])
def test_damaged_header(path, text):
    save_file({"x": torch.ones(1)}, path, {"fewratio": text})
    with pytest.raises(ModelFileError, match="damaged"):
        read_tensors(path, "model")


def test_newer_version(path):
    write_tensors(path, "model", {}, {"format": FORMAT_VERSION + 1})
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
