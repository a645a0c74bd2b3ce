"""Sources by name: the two that need no file, and those of a user's own."""

import numpy as np
import pytest

import fewratio
from fewratio import Collection, ParameterError
from fewratio.data import Source, load_collection, register_source
from fewratio.data.registry import SOURCES, find_source
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
    collection, source = load_collection(name), find_source(name)
    assert collection.name == name
    smallest, largest = collection.sizes.min(), collection.sizes.max()
    rows = str(smallest) if smallest == largest else f"{smallest} to {largest}"
    assert f"{len(collection)} datasets of {rows}" in source.describe()["description"]
    assert source.files(True) == ()
    assert source.describe()["available"]
    assert source.licence
    assert source.origin.startswith("https://")


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
    with pytest.raises(ParameterError, match="got the option 'sedd'; its options are: n_datasets"):
        load_collection("gaussian", sedd=1)
    with pytest.raises(ParameterError, match="got the option 'seed'; its options are: none"):
        load_collection("digits_r", seed=1)


def test_a_source_of_ones_own_is_loaded_and_described(register):
    def load(n_datasets: int = 2) -> Collection:
        return Collection.from_arrays([np.zeros((2, 3))] * n_datasets, name="mine")

    register(Source("mine", load, "Zeros."))
    assert len(load_collection("mine", n_datasets=5)) == 5
    described = find_source("mine").describe()
    assert described.items() >= {"name": "mine", "description": "Zeros.", "available": True}.items()
    assert described["options"] == {"n_datasets": 2}
    register(Source("mine", lambda: load(5)))  # the later one counts
    assert len(load_collection("mine")) == 5
    assert fewratio.data.register_source is register_source


def test_a_source_of_ones_own_may_need_files(register, tmp_path):
    here = tmp_path / "a.csv"

    def files(download):
        if not here.exists():
            raise DataNotFoundError("Put a.csv there.")
        return [here]

    register(Source("mine", lambda: Collection.from_arrays([np.zeros((2, 1))]), files=files))
    described = find_source("mine").describe()
    assert (described["available"], described["found"], described["missing"]) == (False, [], "Put a.csv there.")
    here.touch()
    described = find_source("mine").describe()
    assert (described["available"], described["found"], described["missing"]) == (True, [str(here)], "")
