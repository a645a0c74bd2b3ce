"""Values that no parameter and no table should be given, and some that should be taken."""

import datetime
import warnings
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse


@cache
def scalars() -> dict[str, Any]:
    """Give values for a parameter, by what a record calls them."""
    values = [
        *(None, True, False, -1, 0, 1, 2, 7, -0.0, 0.5, 1e-300, 1e200, -1e200, 2**70, -(2**70), 10**400),
        *(float("nan"), float("inf"), -float("inf"), Fraction(1, 2), Decimal("0.5"), Decimal("nan"), 1j),
        *("", "x", "median", "cv", "both", "\ud800", "a\0b", b"x", "0.5", "1e400"),
        *([], [1], [0.5, 1.0], [1e-300], [-1], [True], [None], ["x"], [[1, 2], [3]], (), (1, 2), (2, 1), {}, {"a": 1}),
        *(np.float64(0.5), np.float32("nan"), np.int8(3), np.uint8(1), np.bool_(True), np.str_("x")),
        *(np.array(1.0), np.array([1.0, 2.0]), np.array([]), np.array(["x"]), np.array([None])),
        *(np.datetime64("2020-01-01"), datetime.date(2020, 1, 1), datetime.timedelta(1)),
        *(Ellipsis, NotImplemented, object(), int, len, lambda x: x, range(3), set(), Path("x"), iter([1])),
        *(np.random.RandomState(0), np.random.default_rng(0), np.random.SeedSequence(1), slice(1)),
        *(torch.tensor(0.5), torch.tensor([1.0, 2.0]), torch.tensor(1.0, requires_grad=True), torch.device("cpu")),
    ]
    return {f"{number} {type(value).__name__} {_shown(value)}": value for number, value in enumerate(values)}


@cache
def tables() -> dict[str, Any]:
    """Give tables by what a record calls them; some can be read, and must then give a finite answer."""
    with warnings.catch_warnings():
        # Some kinds of tensors are young or old, and say so.
        warnings.simplefilter("ignore")
        return _tables()


def _tables() -> dict[str, Any]:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 2))

    def with_value(value: Any, dtype: Any = float) -> np.ndarray:
        changed = X.astype(dtype)
        changed[2, 1] = value
        return changed

    T = torch.tensor(X)
    return {
        **{f"array with {value}": with_value(value) for value in (np.nan, np.inf, -np.inf, 1e200, -1e200, 1.7e308)},
        **{f"array with {value}": with_value(value) for value in (5e-324, 1e-200, 1e15, 1e100, 1e154)},
        **{f"objects with {_shown(value)}": with_value(value, object) for value in _CELLS},
        **{f"array times {factor:g}": factor * X for factor in (1e200, 1e-200, 1e150, 1e-150, 5e-324, 1e300, 0.0)},
        **{
            f"array of {kind}": X.astype(kind)
            for kind in [
                "f2",
                "f4",
                "f8",
                ">f8",
                "g",
                "i1",
                "u1",
                "i8",
                "u8",
                "?",
                "c8",
                "c16",
                "S8",
                "U8",
                "O",
                "M8[s]",
                "m8[s]",
            ]
        },
        **{f"shape {shape}": np.zeros(shape) for shape in ((), (0,), (3,), (0, 2), (3, 0), (1, 1, 1), (6, 1), (6, 3))},
        **{f"shape {shape}": np.zeros(shape) for shape in ((1, 2), (2, 2), (6, 2, 1), (0, 0))},
        "constant": np.ones((6, 2)),
        "fortran": np.asfortranarray(X),
        "reversed": X[::-1, ::-1],
        "matrix": np.asmatrix(X) if hasattr(np, "asmatrix") else X,
        "masked": np.ma.masked_greater(X, 0),
        "structured": np.zeros(3, dtype=[("a", float)]),
        "record": np.rec.array([(1.0, 2.0)], dtype=[("a", float), ("b", float)]),
        **{f"list {_shown(rows)}": rows for rows in _LISTS},
        **{f"no table: {name}": value for name, value in scalars().items()},
        **{f"sparse {kind}": getattr(sparse, f"{kind}_array")(X) for kind in ("csr", "csc", "coo", "dia")},
        "sparse tensor": T.to_sparse(),
        "sparse csr tensor": torch.sparse_csr_tensor([0, 1], [0], [1.0], size=(1, 2)),
        "complex tensor": T.to(torch.complex64),
        "conjugated tensor": T.to(torch.complex64).conj(),
        "tensor with gradient": T.clone().requires_grad_(),
        "meta tensor": torch.empty(6, 2, device="meta"),
        "0-d tensor": torch.tensor(1.0),
        "1-d tensor": T[:, 0],
        "empty tensor": T[:0],
        **{f"tensor of {kind}": T.to(getattr(torch, kind)) for kind in _TENSOR_TYPES},
        "quantized tensor": torch.quantize_per_tensor(T.float(), 0.1, 0, torch.quint8),
        "nested tensor": torch.nested.nested_tensor([T[:2].float(), T[:3].float()], layout=torch.jagged),
        "parameter": torch.nn.Parameter(T),
        "tensor with nan": torch.full((6, 2), float("nan")),
        "pandas": pd.DataFrame(X, columns=["a", "b"]),
        "pandas, same names": pd.DataFrame(X, columns=["a", "a"]),
        "pandas, mixed names": pd.DataFrame(X, columns=["a", 1]),
        "pandas, two levels": pd.DataFrame(X, columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])),
        "pandas, no rows": pd.DataFrame({"a": [], "b": []}),
        "pandas, no columns": pd.DataFrame(index=range(3)),
        "pandas, nothing known": pd.DataFrame({"a": [None] * 3, "b": [None] * 3}),
        "pandas, lists": pd.DataFrame({"a": [[1], [2, 3], []], "b": [1, 2, 3]}),
        "pandas, text": pd.DataFrame({"a": ["x", "y", "z"] * 2, "b": X[:, 0]}),
        "pandas, categories": pd.DataFrame({"a": pd.Categorical(["x", "y", None]), "b": [1, 2, 3]}),
        "pandas, intervals": pd.DataFrame({"a": pd.interval_range(0, 3), "b": [1, 2, 3]}),
        "pandas, periods": pd.DataFrame({"a": pd.period_range("2020", periods=3), "b": [1, 2, 3]}),
        "pandas, zones": pd.DataFrame({"a": pd.date_range("2020", periods=3, tz="UTC"), "b": [1, 2, 3]}),
        "pandas, complex": pd.DataFrame({"a": [1j, 2j], "b": [1, 2]}),
        "pandas, objects": pd.DataFrame({"a": [object(), object()], "b": [1, 2]}),
        "pandas, sparse": pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 1]), "b": [1, 2, 3]}),
        "pandas, nullable": pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1, 2, 3]}),
        "series": pd.Series([1.0, 2.0]),
        "index": pd.Index([1, 2]),
        "group by": pd.DataFrame(X, columns=["a", "b"]).groupby("a"),
        "polars": pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
        "polars, lazy": pl.LazyFrame({"a": X[:, 0], "b": X[:, 1]}),
        "polars, lists": pl.DataFrame({"a": [[1.0], [2.0, 3.0]], "b": [1, 2]}),
        "polars, structs": pl.DataFrame({"a": [{"x": 1}, {"x": 2}], "b": [1, 2]}),
        "polars, binary": pl.DataFrame({"a": [b"x", b"y"], "b": [1, 2]}),
        "polars, nulls": pl.DataFrame({"a": [None, None], "b": [1, 2]}),
        "polars, decimals": pl.DataFrame({"a": [Decimal("1.5"), Decimal("2")], "b": [1, 2]}),
        "polars, no rows": pl.DataFrame({"a": [], "b": []}),
        "polars series": pl.Series([1.0]),
        "arrow": pa.table({"a": X[:, 0], "b": X[:, 1]}),
        "arrow, maps": pa.table({"a": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), "b": [1]}),
        "arrow, same names": pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]),
        "arrow, durations": pa.table({"a": pa.array([1, 2], pa.duration("s")), "b": [1, 2]}),
        "arrow batch": pa.record_batch({"a": X[:, 0], "b": X[:, 1]}),
        "arrow, 256 bits": pa.table({"a": pa.array([Decimal("1")], pa.decimal256(50, 2)), "b": [1]}),
    }


def good_table(n: int = 8, seed: int = 1) -> np.ndarray:
    """Give a table that is fine."""
    return np.random.default_rng(seed).normal(size=(n, 2))


def _shown(value: Any) -> str:
    return ascii(value).split(" at 0x")[0][:40]


class _Hostile:
    """An object whose conversion to an array fails in its own way."""

    def __array__(self, *args: object, **kwargs: object) -> np.ndarray:
        raise RuntimeError("no array today")


_CELLS = (None, "x", "1", b"x", 1j, 10**400, Decimal("1.5"), Decimal("NaN"), Fraction(1, 3), True, [1], {}, object())
_LISTS: tuple[Any, ...] = (
    *([], [[]], [[], []], [1, 2], [[1, 2], [3]], [[1, 2], 3], [[1, "a"]], [["a", "b"]], [[None, None]], [[1, None]]),
    *([[1, [2]]], [[[1]]], [{"a": 1}], [[10**400, 1]], [[1j, 2]], [(1, 2), [3, 4]], [range(2), range(2)], [set()]),
    *([np.array([1, 2]), np.array([1])], [torch.tensor([1.0, 2.0])], [torch.tensor([1.0]), 2], {"a": [1]}, {1, 2}),
    *(
        (1, 2),
        ([1, 2],),
        [[True, False]],
        [[datetime.date(2020, 1, 1), 1]],
        [[float("nan"), 1]],
        _Hostile(),
        iter([[1]]),
    ),
)
_TENSOR_TYPES = ["bfloat16", "float16", "float32", "int8", "uint8", "int64", "bool", "complex128", "float8_e4m3fn"]


def paths() -> Iterator[tuple[str, Any]]:
    """Go through what is no path, and paths of what cannot be read."""
    for name, value in scalars().items():
        yield name, value
    for value in ("/", ".", "/dev/null", "/nowhere/at/all", "~", "x" * 5000, "a/../../b", b"/bytes", "http://x.y/z"):
        yield f"path {_shown(value)}", value
