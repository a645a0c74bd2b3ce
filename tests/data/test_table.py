"""Every kind of table gives the same numbers, and every bad one says what is wrong with it and where."""

import datetime
import subprocess
import sys
import tracemalloc
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fewratio.core.blocks import in_blocks
from fewratio.data.dataset import Dataset
from fewratio.data.raw_table import as_raw, naming_rows
from fewratio.data.table import as_table
from fewratio.errors import DataNotFoundError, InputError, name_parameter

NAMES = ("height", "width", "depth")
CONVERSIONS = {
    "numpy": lambda X: X,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "big-endian": lambda X: X.astype(">f8"),
    "longdouble": lambda X: X.astype(np.longdouble),
    "objects": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "list of arrays": list,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES[: X.shape[1]]),
    "pandas nullable": lambda X: pd.DataFrame(X, columns=NAMES[: X.shape[1]]).astype("Float64"),
    "pandas arrow": lambda X: pd.DataFrame(X, columns=NAMES[: X.shape[1]]).astype("double[pyarrow]"),
    "pandas objects": lambda X: pd.DataFrame(X, columns=NAMES[: X.shape[1]]).astype(object),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES[: X.shape[1]]),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=False))),
    "record batch": lambda X: pa.RecordBatch.from_pydict(dict(zip(NAMES, X.T, strict=False))),
    "torch": lambda X: torch.tensor(X),
    "torch with gradient": lambda X: torch.tensor(X, requires_grad=True),
    "torch transposed": lambda X: torch.tensor(X.T.copy()).T,
}
matrices = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 7), st.integers(1, 3)),
    elements=st.floats(allow_nan=False, allow_infinity=False, width=64),
)


def refusal(X, argument="X_nu"):
    with pytest.raises(InputError) as caught:
        as_table(X, argument)
    message = str(caught.value)
    assert argument in message
    return message


# ---------------------------------------------------------------- the same numbers, whatever the kind


@pytest.mark.parametrize("kind", CONVERSIONS)
@settings(max_examples=15, deadline=None)
@given(X=matrices)
def test_every_kind_gives_the_same_numbers(kind, X):
    table = as_table(CONVERSIONS[kind](X))
    assert (table.n_rows, table.n_features) == X.shape
    result = table.to_numpy()
    np.testing.assert_array_equal(result, X)
    assert result.dtype == np.float64
    assert result.flags.c_contiguous
    assert result.flags.writeable


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("kind", ["numpy", "list", "pandas", "polars", "pyarrow", "torch"])
def test_every_real_dtype_is_read(kind, dtype):
    values = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
    table = as_table(CONVERSIONS[kind](values))
    np.testing.assert_array_equal(table.to_numpy(), values.astype(np.float64))
    keeps = dtype == "float32" and kind != "list"
    assert table.numbers.dtype == (np.float32 if keeps else np.float64)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_several_types_keep_their_values(library):
    columns = {
        "small": np.array([1, 2], dtype=np.int8),
        "large": np.array([2**62, 1]),
        "flag": np.array([True, False]),
        "single": np.array([0.1, 2], dtype=np.float32),
        "double": np.array([0.1, 1e300]),
        "unsigned": np.array([2**63, 0], dtype=np.uint64),
    }
    expected = np.column_stack([column.astype(np.float64) for column in columns.values()])
    table = as_table(library(columns))
    np.testing.assert_array_equal(table.to_numpy(), expected)
    assert table.feature_names == tuple(columns)
    assert table.numbers.dtype == np.float64


def test_wide_and_exact_numbers_are_read():
    wide = pl.DataFrame({"a": [1, 2]}).with_columns(pl.col("a").cast(pl.Int128), b=pl.col("a").cast(pl.Decimal(9, 2)))
    np.testing.assert_array_equal(as_table(wide).to_numpy(), [[1, 1], [2, 2]])
    np.testing.assert_array_equal(as_table(pa.table({"a": [Decimal("1.5")]})).to_numpy(), [[1.5]])
    objects = [[10**30, Decimal("0.5"), Fraction(1, 4), True, np.float32(2)]]
    np.testing.assert_array_equal(as_table(objects).to_numpy(), [[1e30, 0.5, 0.25, 1, 2]])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.uint8, torch.bool, torch.int64])
def test_torch_dtypes(dtype):
    np.testing.assert_array_equal(as_table(torch.ones(2, 3, dtype=dtype)).to_numpy(), np.ones((2, 3)))


def test_a_lazily_negated_tensor_is_negated():
    tensor = torch.tensor([[1 + 2j]]).conj().imag
    assert tensor.is_neg()
    np.testing.assert_array_equal(as_table(tensor).to_numpy(), [[-2.0]])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_tensor_on_a_gpu_is_read():
    np.testing.assert_array_equal(as_table(torch.ones(2, 3, device="cuda")).to_numpy(), np.ones((2, 3)))


def test_anything_with_an_array_method_is_read():
    class Holder:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1, 2]])

    np.testing.assert_array_equal(as_table(Holder()).to_numpy(), [[1.0, 2.0]])


def test_a_table_is_its_own_table():
    table = as_table([[1]], "X_nu")
    assert as_table(table, "other") is table


def test_a_table_of_floats_is_a_view_that_cannot_be_written_to():
    X = np.ones((3, 2))
    table = as_table(X)
    assert np.shares_memory(table.numbers, X)
    with pytest.raises(ValueError, match="read-only"):
        table.numbers[0] = 0
    X[0] = 5  # the user's own array stays as it was


def test_a_dataset_is_a_table():
    dataset = Dataset("monday", None, [[1, 2]])
    np.testing.assert_array_equal(as_table(dataset).numbers, [[1, 2]])


# ---------------------------------------------------------------- views and memory


@pytest.mark.parametrize("kind", CONVERSIONS)
def test_what_is_given_out_never_aliases_the_input(kind):
    X = np.arange(12.0).reshape(4, 3)
    given_table = CONVERSIONS[kind](X)
    table = as_table(given_table)
    table.to_numpy()[:] = -1
    np.testing.assert_array_equal(table.to_numpy(), np.arange(12.0).reshape(4, 3))
    np.testing.assert_array_equal(X, np.arange(12.0).reshape(4, 3))


def test_read_only_arrays_of_pandas_are_read():
    values = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}).to_numpy()
    values.flags.writeable = False
    numbers = as_table(values).to_numpy()
    numbers += 1
    np.testing.assert_array_equal(values, [[1, 3], [2, 4]])


def test_a_tall_array_is_not_copied():
    X = np.zeros((200_000, 32), dtype=np.float32)
    tracemalloc.start()
    try:
        in_blocks(lambda block: block[:, 0], as_table(X).numbers)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes / 2


# ---------------------------------------------------------------- names


def test_feature_names_are_texts_or_none():
    assert as_table(pl.DataFrame({"a": [1], "b": [2]})).feature_names == ("a", "b")
    assert as_table(pd.DataFrame([[1, 2]])).feature_names is None
    levels = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    assert as_table(pd.DataFrame([[1, 2]], columns=levels)).feature_names == ("a 1", "a 2")
    assert as_table([[1, 2]]).feature_names is None


def test_columns_that_share_a_name_are_refused():
    for frame in (
        pd.DataFrame([[1, 2]], columns=["age", "age"]),
        pa.table([pa.array([1]), pa.array([2])], names=["age", "age"]),
    ):
        assert "'age'" in refusal(frame)


@pytest.mark.parametrize(
    ("n_features", "names", "expected"),
    [
        (2, ("a", "b"), None),
        (2, ["a", "b"], None),
        (2, None, None),
        (9, None, "X_de has 2 columns but X_nu has 9; both must have the same columns. Select the same ones"),
        (3, ("a", "b", "c"), "missing: 'c'"),
        (1, ("a",), "unexpected: 'b'"),
        (2, ("a", "c"), "missing: 'c'; unexpected: 'b'"),
        (2, ("b", "a"), "has another order of columns than X_nu"),
    ],
)
def test_check_features(n_features, names, expected):
    table = as_table(pd.DataFrame({"a": [1], "b": [2]}), "X_de")
    if expected is None:
        table.check_features(names or n_features, "X_nu")
        return
    with pytest.raises(InputError) as caught:
        table.check_features(names or n_features, "X_nu")
    assert expected in str(caught.value)
    assert "X_de" in str(caught.value)
    assert "X_nu" in str(caught.value)


def test_only_counts_matter_without_names():
    as_table([[1, 2]]).check_features(("a", "b"), "X_nu")
    with pytest.raises(InputError, match="X_de has 1 column but X_nu has 2"):
        as_table([[1]], "X_de").check_features(("a", "b"), "X_nu")


# ---------------------------------------------------------------- shapes


@pytest.mark.parametrize(
    "X", [[], (), np.zeros((0, 3)), pd.DataFrame({"a": []}), pl.DataFrame(), pa.table({"a": []}), torch.zeros(0, 2)]
)
def test_an_empty_sample_is_refused(X):
    assert "X_nu is empty (0 rows)" in refusal(X)


@pytest.mark.parametrize("X", [[[]], np.zeros((2, 0)), pd.DataFrame(index=[0, 1]), torch.zeros(2, 0)])
def test_no_columns_are_refused(X):
    assert "no columns" in refusal(X)


@pytest.mark.parametrize(
    "X",
    [
        *([1.0, 2.0], np.ones(3), torch.ones(3), pd.Index([1, 2])),
        *(pa.array([1, 2]), pa.chunked_array([[1, 2]])),
    ],
)
def test_one_axis_is_refused_with_both_ways_out(X):
    message = refusal(X)
    assert "one axis" in message
    assert "reshape(-1, 1)" in message
    assert "reshape(1, -1)" in message


@pytest.mark.parametrize("X", [np.zeros((2, 3, 4)), torch.zeros(2, 3, 4), [[[1], [2]]]])
def test_three_axes_are_refused(X):
    message = refusal(X)
    assert "3 axes" in message
    assert "reshape(len(X_nu), -1)" in message


@pytest.mark.parametrize(
    ("X", "found"),
    [
        ([[1, 2], [3]], "row 0 has 2 values but row 1 has 1"),
        ([[1, 2], [3, 4], 5], "row 2 is a int"),
        (np.array([[1, 2], [3]], dtype=object), "row 0 has 2 values but row 1 has 1"),
        ([[1, [2, 3]], [4, 5]], "cannot be read as rows of numbers"),
        ([torch.ones(2, requires_grad=True)], "requires grad"),
    ],
)
def test_ragged_lists_are_refused(X, found):
    assert found in refusal(X)


@pytest.mark.parametrize(
    ("X", "found"),
    [
        *[(b"data", "is a bytes"), (3.0, "is a float"), (np.float64(3), "is a float64")],
        *[
            (None, "is a NoneType"),
            ({}, "no columns"),
            ({"a": 1}, "column 'a' of X_nu is a int"),
            ({1, 2}, "is a set"),
            (np.array(3.0), "single number"),
        ],
    ],
)
def test_what_is_no_table_is_refused(X, found):
    assert found in refusal(X)


def test_records_are_refused_with_what_reads_them():
    assert "X_nu is a list of dicts; expected" in refusal([{"a": 1}, {"a": 2}])
    assert "Pass pandas.DataFrame(X_nu)." in refusal([{"a": 1}])


def test_a_series_a_dict_and_a_path_are_tables(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": [3.0, np.nan]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    columns = {"a": [1.5, 2.5], "b": frame["b"]}
    for table in (columns, tmp_path / "data.csv", str(tmp_path / "data.csv")):
        raw = as_raw(table)
        assert (raw.labels, raw.is_named) == (("a", "b"), True)
        np.testing.assert_array_equal(raw.array, frame)
    for series in (frame["a"], pl.Series("a", [1.5, 2.5])):
        assert as_table(series).feature_names == ("a",)
        assert as_table(series).numbers.tolist() == [[1.5], [2.5]]
    assert as_table(pd.Series([1.5])).feature_names is None
    assert "columns of 1 and 2 values" in refusal({"a": [1], "b": [1, 2]})
    with pytest.raises(DataNotFoundError, match=r"'absent\.csv' does not exist"):
        as_raw("absent.csv")


def test_an_array_that_numpy_cannot_read_is_refused():
    class OnAnotherDevice:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("implicit conversion is not allowed")

    assert "implicit conversion is not allowed" in refusal(OnAnotherDevice())


# ---------------------------------------------------------------- column types


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["x", "y"], "text"),
        ([datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1)], "dates"),
        ([datetime.timedelta(1), datetime.timedelta(2)], "durations"),
        ([["x"], ["y"]], "nested values"),
    ],
)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_that_are_not_numbers_are_named(library, values, found):
    message = refusal(library({"fine": [1, 2], "odd": values}))
    assert "'odd'" in message
    assert "'fine'" not in message
    assert "as numbers or drop them" in message
    if not (library is pd.DataFrame and found == "nested values"):
        assert found in message


def test_categorical_columns_are_named():
    for column in (pd.Categorical(["x", "y"]), pd.Categorical([1, 2])):
        assert "'odd' (categories)" in refusal(pd.DataFrame({"odd": column}))
    assert "'odd' (categories)" in refusal(pl.DataFrame({"odd": ["x"]}, schema={"odd": pl.Categorical}))


def test_only_the_first_few_columns_are_listed():
    message = refusal(pl.DataFrame({f"c{i}": ["x"] for i in range(9)}))
    assert "9 columns" in message
    assert "'c0' (text)" in message
    assert "and 4 more" in message


@pytest.mark.parametrize(
    ("X", "found"),
    [
        ([[1, "a"], [2, "b"]], "column 1 (text), such as 'a' at row 0 of column 1 ("),
        ([[1, "2"], [2, "b" * 99]], f"such as '{'b' * 40}'... at row 1 of column 1 ("),
        (pl.DataFrame({"odd": ["1", "2", "x"]}), "'odd' (text), such as 'x' at row 2 of column 'odd' ("),
        ([["1", "2"]], "column 0 (text)"),
        (np.array([[1, "2"]], dtype=object), "column 1 (text)"),
        (np.array([["a"]]), "column 0 (text)"),
        (pd.DataFrame({"odd": np.array([1, "2"], dtype=object)}), "'odd' (text)"),
        (np.zeros((2, 1), dtype="M8[s]"), "column 0 (dates)"),
        ([[1, np.timedelta64(1, "s")]], "column 1 (durations)"),
        ([[1, object()]], "column 1 (type object)"),
        (pd.DataFrame({"odd": pd.period_range("2020", periods=2)}), "'odd' (dates)"),
    ],
)
def test_text_and_other_cells_are_named(X, found):
    assert found in refusal(X)


@pytest.mark.parametrize(
    "X", [np.zeros((1, 1), dtype=complex), [[1j]], torch.zeros(1, 1, dtype=torch.complex64), pd.DataFrame([[1j]])]
)
def test_complex_numbers_are_refused(X):
    assert "column 0 (type complex" in refusal(X)


def test_sparse_matrices_are_refused():
    assert "X_nu.toarray()" in refusal(scipy.sparse.csr_matrix(np.eye(2)))
    assert "X_nu.toarray()" in refusal(scipy.sparse.coo_array(np.eye(2)))
    assert "X_nu.to_dense()" in refusal(torch.eye(2).to_sparse())


def test_structured_arrays_are_refused():
    assert "structured_to_unstructured(X_nu)" in refusal(np.zeros(2, dtype=[("a", float)]))


def test_lazy_frames_are_refused():
    message = refusal(pl.LazyFrame({"a": [1]}))
    assert "LazyFrame" in message
    assert "X_nu.collect()" in message


# ---------------------------------------------------------------- missing and infinite values


@pytest.mark.parametrize(
    ("X", "column"),
    [
        ([[1, 2], [3, None], [4, None]], "1"),
        ([[1, 2], [3, pd.NA], [4, pd.NA]], "1"),
        (np.array([[1, 2], [3, None], [4, pd.NaT]], dtype=object), "1"),
        (pd.DataFrame({"a": [1, 2, 3], "age": pd.array([1, None, None], dtype="Int64")}), "'age'"),
        (pd.DataFrame({"a": [1, 2, 3], "age": np.array([1, None, None], dtype=object)}), "'age'"),
        (pl.DataFrame({"a": [1, 2, 3], "age": [1.0, None, None]}), "'age'"),
        (pa.table({"a": [1, 2, 3], "age": [1, None, None]}), "'age'"),
    ],
)
def test_missing_values_are_counted_and_placed(X, column):
    assert f"X_nu has 2 NaN or infinite values, the first in column {column} at row 1" in refusal(X)


def test_missing_values_are_counted_over_all_columns():
    assert "3 NaN or infinite values, the first in column 'b' at row 0" in refusal(
        pl.DataFrame({"a": [1, None], "b": [None, None]})
    )
    assert "3 NaN or infinite values, the first in column 1 at row 0" in refusal([[1, None], [None, None]])


def test_masked_values_are_refused():
    masked = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, False], [False, True]])
    assert "1 NaN or infinite value, the first in column 1 at row 1" in refusal(masked)
    assert as_table(masked[:1]).n_rows == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["numpy", "list", "pandas", "polars", "pyarrow", "torch", "objects"])
def test_nan_and_infinity_are_counted_and_placed(kind, bad):
    X = np.zeros((5, 3))
    X[3, 1] = X[4, 0] = X[4, 2] = bad
    column = "'width'" if kind in ("pandas", "polars", "pyarrow") else "1"
    assert f"X_nu has 3 NaN or infinite values, the first in column {column} at row 3" in refusal(CONVERSIONS[kind](X))


def test_values_are_counted_over_the_blocks_of_a_tall_table():
    X = np.zeros((600_000, 2), dtype=np.float32)
    X[[300_000, 599_999], 1] = np.nan
    assert "2 NaN or infinite values, the first in column 1 at row 300000" in refusal(X)


def test_numbers_beyond_float64_are_refused():
    assert "column 1 of X_nu" in refusal([[1, 10**400]])
    assert "infinite" in refusal(np.array([[np.longdouble("1e4000")]]))
    assert as_table([[1e300]]).n_rows == 1


# ---------------------------------------------------------------- optional packages


def test_importing_loads_no_table_package():
    check = "import sys, fewratio.data.table as t; t.as_table([[1]]); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    unwanted = {"pandas", "polars", "pyarrow", "narwhals", "sklearn"}
    assert not unwanted & set(run.stdout.split())


def test_an_error_about_a_piece_of_a_table_keeps_its_parameter():
    piece = as_raw([[1.0], [2.0]], "rows.csv")
    message = r"^rows.csv \(rows 4 to 5\) is odd at row 5. Pass keep.$"
    with pytest.raises(InputError, match=message) as caught, naming_rows(piece, 4, 6):
        raise InputError(f"rows.csv is odd at row 1. Pass {name_parameter('keep')}.")
    assert caught.value.parameter == "keep"
