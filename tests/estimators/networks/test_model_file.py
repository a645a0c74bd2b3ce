"""The model file: what comes back is what went in, and a bad file is refused without running anything in it."""

import builtins
import io
import json
import os
import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from fewratio import MetaRatioEstimator
from fewratio.core import container as tensorfile
from fewratio.errors import DataNotFoundError, ModelFileError, ModelVersionError, ParameterError
from fewratio.estimators.parameters import Parameters

X = np.linspace(-2, 2, 9)[:, None]


def answers(estimator):
    estimator.fit(X[:3], X[5:])
    return np.append(estimator.predict(X), estimator.divergence())


def rewrite(path, edit, kind="model"):
    """Write a model file again after a change of its header and tensors."""
    tensors, header = tensorfile.read_tensors(path, kind)
    edit(header, tensors)
    tensorfile.write_tensors(path, kind, tensors, header)


@pytest.fixture
def path(pretrained, tmp_path):
    """A good model file, alone in its folder."""
    pretrained.save(tmp_path / "model")
    return tmp_path / "model"


# ---------------------------------------------------------------- round trip


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_support": (1, 6), "n_support_de": [2, 3]},
        {"alpha": np.float32(0.25), "n_support": np.int64(4), "random_state": np.int64(7)},
        {"alpha": 0, "clip": "weights", "pooling": "attention"},
        {"features": "relational", "clip": "range", "calibration": 1.0, "weight_decay": 0.1},
        {"features": "relational", "space": "raw", "scale": "columns"},
        {"features": "both", "n_networks": 2, "scale": "columns"},
        {"init": "universal", "features": "mlp", "max_steps": 2},
        {"init": "universal", "scale": "columns", "max_steps": 2},
        {"learn_alpha": True, "scale": "columns", "random_state": np.random.default_rng(0)},
    ],
)
def test_a_loaded_model_gives_the_same_answers(make, sources, tmp_path, changes):
    saved = make(**{"max_steps": 3} | changes).pretrain(sources)
    saved.fit(X, X)
    saved.save(str(tmp_path / "model"))
    loaded = MetaRatioEstimator.load(tmp_path / "model")
    assert not hasattr(loaded, "ratio_")  # the samples are not in the file
    np.testing.assert_array_equal(answers(loaded), answers(saved))
    assert loaded.history_ == saved.history_
    for name, value in saved.get_params().items():
        if name != "random_state" and not isinstance(value, Parameters):
            assert loaded.get_params()[name] == (tuple(value) if isinstance(value, list) else value), name


def test_names_and_statistics_of_the_features_are_kept(pretrained_on_names, tmp_path):
    pretrained_on_names.save(tmp_path / "model")
    loaded = MetaRatioEstimator.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == ["height", "income"]
    assert loaded.n_features_in_ == 2
    assert torch.equal(loaded.model_.scaler.scale, pretrained_on_names.model_.scaler.scale)


def test_names_of_samples_do_not_become_those_of_the_model(pretrained, tmp_path):
    sample = pd.DataFrame({"x": [0.0, 1.0]})
    pretrained.fit(sample, sample).save(tmp_path / "model")
    assert not hasattr(MetaRatioEstimator.load(tmp_path / "model"), "feature_names_in_")


def test_a_loaded_model_can_be_saved_again(path, tmp_path):
    loaded = MetaRatioEstimator.load(path)
    loaded.save(tmp_path / "copy")
    np.testing.assert_array_equal(answers(MetaRatioEstimator.load(tmp_path / "copy")), answers(loaded))


def test_a_loaded_model_answers_only_for_the_settings_it_was_trained_with(path):
    loaded = MetaRatioEstimator.load(path).set_params(network__latent_dim=5)
    with pytest.raises(ParameterError, match="latent_dim is 5, but the model was trained with 4"):
        loaded.fit(X[:3], X[5:])
    loaded.set_params(network__latent_dim=4, training__max_steps=1).fit(X[:3], X[5:])


def test_the_header_is_json_that_anyone_can_read(path):
    with safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()["fewratio"])
    assert header["estimator"] == "MetaRatioEstimator"
    assert header["parameters"]["network"]["width"] == 16
    assert header["networks"][0]["history"]["step"] == [10, 20]
    assert {"format", "kind", "n_features", "feature_names"} <= header.keys()


# ---------------------------------------------------------------- bad files


def truncated(share):
    return lambda path: path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


class Bomb:
    """Goes off when unpickled."""

    def __reduce__(self):
        return pytest.fail, ("the file was executed",)


def edited(edit):
    return lambda path: rewrite(path, edit)


def without_history(header, tensors):
    del header["networks"][0]["history"]


def without_a_tensor(header, tensors):
    tensors.popitem()


def with_a_wider_network(header, tensors):
    header["parameters"]["network"]["width"] = 17


def with_far_too_many_layers(header, tensors):
    header["parameters"]["network"]["depth"] = 10**6


def with_a_name_too_many(header, tensors):
    header["feature_names"] = ["x", "y"]


def with_names_that_are_none(header, tensors):
    header["feature_names"] = [["x"]]


def with_weights_of_another_type(header, tensors):
    tensors["head.log_reg"] = tensors["head.log_reg"].astype(np.float64)


def with_a_weight_that_is_not_finite(header, tensors):
    tensors["head.log_reg"] = np.full_like(tensors["head.log_reg"], np.inf)


def with_an_unknown_parameter(header, tensors):
    header["parameters"]["magic"] = True


def with_alpha_out_of_range(header, tensors):
    header["parameters"]["alpha"] = 2


def without_a_number_of_features(header, tensors):
    header["n_features"] = "many"


def of_another_estimator(header, tensors):
    header["estimator"] = "SomethingElse"


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        *[(truncated(share), "truncated") for share in (0, 0.001, 0.3, 0.9, 0.9999)],
        (lambda path: path.write_bytes(path.read_bytes() + b"more"), "truncated, damaged"),
        (lambda path: path.write_bytes(np.random.default_rng(0).bytes(5000)), "not a safetensors file"),
        (lambda path: path.write_text("height,width\n1,2\n"), "text, such as a table"),
        (lambda path: path.write_bytes(pickle.dumps(Bomb())), "not a safetensors file"),
        (lambda path: torch.save({"weights": torch.ones(3)}, path), "not a safetensors file"),
        (lambda path: save_file({"weights": torch.ones(3)}, path), "not one of fewratio's"),
        (lambda path: save_file({"weights": torch.ones(3)}, path, {"fewratio": "{"}), "header .*damaged"),
        (lambda path: save_file({"weights": torch.ones(3)}, path, {"fewratio": "[]"}), "header .*damaged"),
        (lambda path: save_file({"weights": torch.ones(3)}, path, {"fewratio": '{"kind": "model"}'}), "'format'"),
        (edited(without_history), "history"),
        (edited(without_a_tensor), "its tensors are not those of its settings"),
        (edited(with_a_wider_network), "its tensors are not those of its settings"),
        (edited(with_far_too_many_layers), "1000000 layers are not in it"),
        (edited(with_a_name_too_many), "names of features"),
        (edited(with_names_that_are_none), "names of features"),
        (edited(with_weights_of_another_type), "its tensors are not those of its settings"),
        (edited(with_a_weight_that_is_not_finite), "not finite"),
        (edited(with_an_unknown_parameter), "magic"),
        (edited(with_alpha_out_of_range), "alpha"),
        (edited(without_a_number_of_features), "many"),
        (edited(of_another_estimator), "it holds a SomethingElse"),
    ],
)
def test_a_bad_file_is_refused(path, spoil, found):
    spoil(path)
    with pytest.raises(ModelFileError, match=f"(?s){found}") as caught:
        MetaRatioEstimator.load(path)
    assert str(path) in str(caught.value)
    assert "Use " in str(caught.value) or "use " in str(caught.value)  # what to do
    assert not isinstance(caught.value, ModelVersionError)


def test_a_file_of_a_newer_version_is_refused(path, monkeypatch):
    tensors, header = tensorfile.read_tensors(path, "model")
    with monkeypatch.context() as later:
        later.setattr(tensorfile, "FORMAT_VERSION", 2)
        tensorfile.write_tensors(path, "model", tensors, header | {"parameters": "unheard of"})
    with pytest.raises(ModelVersionError, match=r"format version 2.*Upgrade fewratio"):
        MetaRatioEstimator.load(path)


def test_a_missing_file_is_refused(tmp_path):
    for path, problem in ((tmp_path / "nothing", "There is no file"), (tmp_path, "is a folder")):
        with pytest.raises(DataNotFoundError, match=problem) as caught:
            MetaRatioEstimator.load(path)
        assert isinstance(caught.value, FileNotFoundError)


def test_an_unknown_device_is_not_blamed_on_the_file(path):
    with pytest.raises(ParameterError, match="device is 'abacus'"):
        MetaRatioEstimator.load(path, device="abacus")


def test_loading_never_unpickles(path, monkeypatch):
    expected = answers(MetaRatioEstimator.load(path))

    def refuse(*_, **__):
        pytest.fail("something was unpickled or executed")

    for owner, name in (
        *[(pickle, name) for name in ("load", "loads", "Unpickler", "_Unpickler")],
        *[(torch, "load"), (builtins, "eval"), (builtins, "exec")],
    ):
        monkeypatch.setattr(owner, name, refuse)
    loaded = MetaRatioEstimator.load(path)
    monkeypatch.undo()
    np.testing.assert_array_equal(answers(loaded), expected)


def flips(content, n_flips):
    """Give the content with one bit flipped, for some bits."""
    for bit in np.random.default_rng(0).choice(8 * len(content), n_flips, replace=False):
        spoiled = bytearray(content)
        spoiled[bit // 8] ^= 1 << (bit % 8)
        yield bytes(spoiled)


def test_every_flipped_bit_of_a_model_and_every_cut_is_refused(path):
    content = path.read_bytes()
    cuts = (content[:length] for length in range(0, len(content), 97))
    for spoiled in (*flips(content, 300), *cuts):
        path.write_bytes(spoiled)
        with pytest.raises(ModelFileError):
            MetaRatioEstimator.load(path)


@pytest.mark.slow
def test_every_flipped_bit_of_a_checkpoint_and_every_cut_is_refused(make, sources, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    make(max_steps=1, width=4, n_outputs=4).pretrain(sources, checkpoint=checkpoint)
    content = checkpoint.read_bytes()
    cuts = (content[:length] for length in range(0, len(content), len(content) // 15))
    for spoiled in (*flips(content, 60), *cuts):
        checkpoint.write_bytes(spoiled)
        with pytest.raises(ModelFileError):
            make(max_steps=1, width=4, n_outputs=4).pretrain(sources, checkpoint=checkpoint)


def test_a_checkpoint_that_lacks_something_is_refused(make, sources, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    make(max_steps=1).pretrain(sources, checkpoint=checkpoint)
    rewrite(checkpoint, lambda header, tensors: header.pop("histories"), "checkpoint")
    with pytest.raises(ModelFileError, match="does not fit this training"):
        make(max_steps=1).pretrain(sources, checkpoint=checkpoint)


# ---------------------------------------------------------------- writing


def test_the_folder_must_be_there(pretrained, tmp_path):
    with pytest.raises(DataNotFoundError, match=r"missing does not exist.*Create it"):
        pretrained.save(tmp_path / "missing" / "model")
    assert not list(tmp_path.iterdir())


class FullDisk(io.FileIO):
    """Takes the first half of what it is given."""

    def write(self, payload):
        super().write(payload[: len(payload) // 2])
        raise OSError("no space left on device")


@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize(
    ("owner", "name", "error"),
    [
        (tensorfile, "open", OSError),
        *[(os, name, error) for name in ("fsync", "replace") for error in (OSError, KeyboardInterrupt)],
    ],
)
def test_nothing_half_written_is_left_behind(pretrained, tmp_path, monkeypatch, existing, owner, name, error):
    def fail(*_):
        raise error

    if existing:
        (tmp_path / "model").write_bytes(b"the file of yesterday")
    monkeypatch.setattr(owner, name, FullDisk if name == "open" else fail, raising=False)
    with pytest.raises(error):
        pretrained.save(tmp_path / "model")
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert kept == ({"model": b"the file of yesterday"} if existing else {})


def test_an_old_file_is_replaced(pretrained, path):
    path.write_bytes(b"the file of yesterday")
    pretrained.save(path)
    np.testing.assert_array_equal(answers(MetaRatioEstimator.load(path)), answers(pretrained))
    assert [kept.name for kept in path.parent.iterdir()] == ["model"]
