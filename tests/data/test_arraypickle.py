"""Pickled arrays: read as NumPy wrote them, and nothing in a pickle is ever run."""

import os
import pickle
import pickletools
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fewratio.data.arraypickle import unpickle_arrays
from fewratio.errors import DataFileError

NUMBERS = st.sampled_from(["<f8", ">f8", "<f4", "<i8", ">i2", "|u1"])


def python2_pickle(array):
    """What Python 2's protocol 0 writes for an array: `str` where Python 3 has `bytes`."""
    dtype, order = array.dtype, array.dtype.str[0]
    text = repr(array.tobytes())[1:].encode()
    shape = b"(" + b"".join(b"I%d\n" % n for n in array.shape) + b"t"
    code = dtype.str[1:].encode()
    return (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n"
        + shape
        + b"cnumpy\ndtype\n(S'%s'\nI0\nI1\ntR(I3\nS'%s'\nNNNI-1\nI-1\nI0\ntb" % (code, order.encode())
        + b"I00\nS"
        + text
        + b"\ntb"
    )


@settings(max_examples=60, deadline=None)
@given(st.data(), NUMBERS, array_shapes(max_dims=3, min_side=0))
def test_arrays_of_python_2_come_back(data, dtype, shape):
    array = data.draw(arrays(dtype, shape))
    (result,) = unpickle_arrays(b"(l" + python2_pickle(array) + b"a.", "x")
    np.testing.assert_array_equal(result, array)
    assert result.dtype == array.dtype


@pytest.mark.parametrize("protocol", [3, 4])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_python_3_come_back(protocol, order):
    array = np.asarray(np.arange(12.0).reshape(3, 4), order=order)
    content = pickle.dumps([(array, np.arange(3)), array], protocol)
    (X, y), second = unpickle_arrays(content, "x")
    np.testing.assert_array_equal(X, array)
    np.testing.assert_array_equal(y, np.arange(3))
    np.testing.assert_array_equal(second, array)


class Run:
    """Unpickled the ordinary way, this makes a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("protocol", range(6))
def test_a_malicious_pickle_is_refused_by_name_and_nothing_runs(tmp_path, protocol):
    content = pickle.dumps([Run(tmp_path / "made")], protocol)
    with pytest.raises(DataFileError, match=r"here\.pkl asks for .*mkdir") as caught:
        unpickle_arrays(content, "here.pkl")
    assert "nothing of it was run" in str(caught.value)
    assert not (tmp_path / "made").exists()
    pickle.loads(content)
    assert (tmp_path / "made").exists()  # the ordinary way it does run


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("builtins.eval", b"cbuiltins\neval\n(S'1'\ntR."),
        ("os.system", b"cos\nsystem\n(S'true'\ntR."),
        ("numpy.fromfile", b"cnumpy\nfromfile\n(S'x'\ntR."),
        ("codecs.encode", b"c_codecs\nencode\n(S'x'\ntR.".replace(b"_codecs", b"codecs")),
        ("numpy.core.multiarray.scalar", b"cnumpy.core.multiarray\nscalar\n."),
    ],
)
def test_other_names_are_refused(name, content):
    with pytest.raises(DataFileError, match=f"asks for {name}"):
        unpickle_arrays(content, "x")


@pytest.mark.parametrize(
    "value", [{"a": 1}, [1, 2], [np.array([{}], dtype=object)], [np.array(["text"])], 3, [[np.arange(2)]]]
)
def test_anything_but_arrays_of_numbers_is_refused(value):
    with pytest.raises(DataFileError, match=r"^x "):
        unpickle_arrays(pickle.dumps(value, 4), "x")


def test_a_number_type_cannot_lie_about_its_memory():
    # The flags of the number type say "no objects inside", the type itself says "objects".
    array = python2_pickle(np.arange(2.0)).replace(b"S'f8'", b"S'O8'")
    with pytest.raises(DataFileError, match="an array of type b'O8'"):
        unpickle_arrays(b"(l" + array + b"a.", "x")


def test_a_shape_that_does_not_fit_the_bytes_is_refused():
    array = python2_pickle(np.arange(2.0)).replace(b"(I2\nt", b"(I2000000000\nt")
    with pytest.raises(DataFileError, match="16 bytes"):
        unpickle_arrays(b"(l" + array + b"a.", "x")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_pickle_is_read_or_refused(data):
    content = pickletools.optimize(pickle.dumps([(np.arange(4.0), np.arange(2))], 4))
    place = data.draw(st.integers(0, len(content) - 1))
    damaged = content[:place] + bytes([data.draw(st.integers(0, 255))]) + content[place + 1 :]
    with suppress(DataFileError):
        unpickle_arrays(damaged, "x")
