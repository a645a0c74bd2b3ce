"""Sources by name: the two that need no file, and those of a user's own."""

from typing import Literal

import numpy as np
import pytest

import fewratio
from fewratio import Collection, ParameterError, Source, load_collection, register_source
from fewratio.data.registry import SOURCES, Status, fetch_source, source_info
from fewratio.data.sources.gaussian import gaussian_family
from fewratio.errors import DataNotFoundError


@pytest.fixture
def register(monkeypatch):
    """Register sources for one test."""
    before = dict(SOURCES)
    yield register_source
    SOURCES.clear()
    SOURCES.update(before)


@pytest.mark.parametrize("name", ["digits_r", "gaussian"])
def test_a_source_holds_what_it_declares(name):
    collection, info = load_collection(name), source_info(name)
    assert collection.name == name
    assert (len(collection), collection.n_features) == (info.n_datasets, info.n_features)
    assert (collection.sizes.min(), collection.sizes.max()) == (info.smallest, info.largest)
    assert info.available
    assert fetch_source(name) == ()
    assert info.description
    assert info.licence
    assert info.origin.startswith("https://")


def test_rotated_digits_are_the_same_every_time():
    digits = load_collection("digits_r")
    angles = ("0deg", "15deg", "30deg", "45deg", "60deg", "75deg")
    assert digits.names == tuple(f"{angle}-{digit}" for angle in angles for digit in range(10))
    assert digits["30deg-7"].group == "30deg"
    X = np.concatenate([dataset.X for dataset in digits])
    assert X.min() >= 0
    assert X.max() <= 1
    for first, second in zip(digits, load_collection("digits_r"), strict=True):
        np.testing.assert_array_equal(first.X, second.X)


def test_gaussian_is_the_family():
    expected = gaussian_family(4, 20, random_state=3).collection
    for seed in (3, np.int64(3)):
        drawn = load_collection("gaussian", n_datasets=4, n_instances=20, seed=seed)
        for first, second in zip(drawn, expected, strict=True):
            np.testing.assert_array_equal(first.X, second.X)


def test_an_unknown_name_lists_the_known_and_guesses():
    with pytest.raises(ParameterError, match=r"known are digits_r, gaussian.*Did you mean 'digits_r'\?"):
        load_collection("digits")


def test_an_unknown_option_is_refused():
    with pytest.raises(ParameterError, match="got the option 'sedd', but its options are n_datasets"):
        load_collection("gaussian", sedd=1)
    with pytest.raises(ParameterError, match="got the option 'seed', but it has no options"):
        load_collection("digits_r", seed=1)


@pytest.mark.parametrize("seed", [1.5, -1, "a/../../../esc", "1", None, True, [1]])
def test_a_seed_is_an_integer_that_is_not_negative(seed):
    with pytest.raises(ParameterError, match=r"seed is .*; an integer that is not negative is needed"):
        load_collection("gaussian", seed=seed)


def test_a_source_of_ones_own_is_loaded_and_described(register):
    def load(kind: Literal["few", "many"] = "few") -> Collection:
        return Collection.from_arrays([np.zeros((2, 3))] * {"few": 2, "many": 5}[kind], name="mine")

    register(Source("mine", load, "Zeros."))
    assert len(load_collection("mine", kind="many")) == 5
    info = source_info("mine")
    assert (info.name, info.description, info.n_datasets, info.available) == ("mine", "Zeros.", None, True)
    assert [(option.name, option.values) for option in info.options] == [("kind", ("few", "many"))]
    register(Source("mine", lambda: load("many")))  # the later one counts
    assert len(load_collection("mine")) == 5
    assert fewratio.register_source is register_source


def test_a_source_of_ones_own_may_need_files(register, tmp_path):
    here = tmp_path / "a.csv"

    def status() -> Status:
        return Status(here.exists(), (here,) if here.exists() else (), "" if here.exists() else "Put a.csv there.")

    register(Source("mine", lambda: Collection.from_arrays([np.zeros((2, 1))]), status=status))
    assert not source_info("mine").available
    with pytest.raises(DataNotFoundError, match=r"Put a\.csv there"):
        fetch_source("mine")
    here.touch()
    assert fetch_source("mine") == (here,)
    assert source_info("mine").found == (str(here),)
