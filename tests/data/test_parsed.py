"""Parsed data: what is read back is what was parsed, or it is parsed again."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fewratio.data.parsed import parsed


class Parser:
    """Counts how often it was asked."""

    def __init__(self, arrays):
        self.arrays, self.calls = arrays, 0

    def __call__(self):
        self.calls += 1
        return self.arrays


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("1 2 3")
    return path


@pytest.fixture
def parse():
    return Parser({"X": np.arange(6.0).reshape(2, 3), "name": np.array("a reason")})


def only_store(cache):
    (store,) = (cache / "parsed").iterdir()
    return store


def test_the_second_time_nothing_is_parsed(cache, raw, parse):
    for _ in range(2):
        result = parsed("x", 1, [raw], parse)
        np.testing.assert_array_equal(result["X"], parse.arrays["X"])
        assert str(result["name"]) == "a reason"
    assert parse.calls == 1
    assert only_store(cache).suffix == ".npz"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(
    data=st.data(),
    dtype=st.sampled_from(["<f8", ">f8", "<f4", "<i2", "|i1", "|b1", "<U5"]),
    shape=array_shapes(min_dims=0, min_side=0),
)
def test_any_array_comes_back_as_it_was(cache, raw, data, dtype, shape):
    array = data.draw(arrays(dtype, shape))
    parse = Parser({"a": array})
    key = f"y{os.urandom(4).hex()}"  # the fixtures, and with them the cache, are those of all examples
    for _ in range(2):
        result = parsed(key, 1, [raw], parse)["a"]
        np.testing.assert_array_equal(result, array)
        assert result.dtype == array.dtype
    assert parse.calls == 1


def test_key_version_and_place_keep_results_apart(cache, raw, parse, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("1 2 3")
    for arguments in (("x", 1, [raw]), ("y", 1, [raw]), ("x", 2, [raw]), ("x", 1, [other]), ("x", 1, [raw, other])):
        before = parse.calls
        parsed(*arguments, parse)
        assert parse.calls == before + 1


def test_a_changed_file_is_parsed_again(cache, raw, parse):
    parsed("x", 1, [raw], parse)
    raw.write_text("1 2 4")
    os.utime(raw, (1, 1))
    parsed("x", 1, [raw], parse)
    assert parse.calls == 2
    assert only_store(cache)


def test_a_touched_file_is_not(cache, raw, parse):
    parsed("x", 1, [raw], parse)
    os.utime(raw, (1, 1))
    parsed("x", 1, [raw], parse)
    assert parse.calls == 1


def flip_bytes(content):
    return content[:100] + bytes(byte ^ 255 for byte in content[100:140]) + content[140:]


@pytest.mark.parametrize(
    "damage",
    [lambda content: b"", lambda content: content[:-40], flip_bytes, lambda content: b"not an archive at all"],
    ids=["empty", "cut short", "bytes flipped", "other content"],
)
def test_a_corrupt_store_is_rebuilt_silently(cache, raw, parse, damage):
    parsed("x", 1, [raw], parse)
    store = only_store(cache)
    store.write_bytes(damage(store.read_bytes()))
    for _ in range(2):
        np.testing.assert_array_equal(parsed("x", 1, [raw], parse)["X"], parse.arrays["X"])
    assert parse.calls == 2


def test_values_changed_inside_a_sound_archive_are_noticed(cache, raw, parse):
    parsed("x", 1, [raw], parse)
    store = only_store(cache)
    with np.load(store) as archive:
        content = dict(archive)
    np.savez(store, **{**content, "X": content["X"] + 1})
    np.testing.assert_array_equal(parsed("x", 1, [raw], parse)["X"], parse.arrays["X"])


def test_a_pickle_in_the_store_is_not_loaded(cache, raw, parse):
    parsed("x", 1, [raw], parse)
    store = only_store(cache)
    with np.load(store) as archive:
        content = dict(archive)
    np.savez(store, **{**content, "X": np.array([{"an": "object"}], dtype=object)})
    np.testing.assert_array_equal(parsed("x", 1, [raw], parse)["X"], parse.arrays["X"])


def test_a_cache_that_cannot_be_written_costs_time_only(cache, raw, parse):
    cache.write_text("a file where the folder should be")
    for _ in range(2):
        np.testing.assert_array_equal(parsed("x", 1, [raw], parse)["X"], parse.arrays["X"])
    assert parse.calls == 2


def test_an_error_of_the_parser_leaves_nothing_behind(cache, raw):
    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        parsed("x", 1, [raw], fail)
    assert not cache.exists()
