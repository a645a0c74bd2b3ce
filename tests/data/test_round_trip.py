"""Any table, written and read back through every format and library, gives the same collection."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fewratio.data.collection import Collection
from fewratio.data.columns import ColumnRules
from fewratio.data.encoding import encode_together
from fewratio.errors import FewRatioError

SEPARATORS = {".csv": ",", ".tsv": "\t"}


def write_pandas(columns, path):
    frame = pd.DataFrame(columns)
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, sep=SEPARATORS[path.suffix], index=False)


def write_polars(columns, path):
    frame = pl.DataFrame(columns)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator=SEPARATORS[path.suffix])


def write_pyarrow(columns, path):
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=3)
    else:
        pa.csv.write_csv(table, path, pa.csv.WriteOptions(delimiter=SEPARATORS[path.suffix]))


def write_npy(columns, path):
    np.save(path, np.column_stack(list(columns.values())))


def write_npz(columns, path):
    np.savez_compressed(path, X=np.column_stack(list(columns.values())))


WRITERS = {"pandas": write_pandas, "polars": write_polars, "pyarrow": write_pyarrow}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
NAMED = [(library, suffix) for library in WRITERS for suffix in (".csv", ".tsv", ".parquet")]
FORMATS = {f"{library}{suffix}": (WRITERS[library], suffix) for library, suffix in NAMED}
ARRAYS = {"npy": (write_npy, ".npy"), "npz": (write_npz, ".npz")}

floats = st.floats(allow_nan=False, allow_infinity=False)
# Wider integers than a float can tell apart are rounded, everywhere to the same one.
# Beyond this, different whole numbers may be the same float, and are refused.
integers = st.integers(-(2**53), 2**53)
labels = st.sampled_from(["a", "ä", "x y", " led", "c,d", "tab\tbed", 'q"q', "two\nlines", "7th", "it's"])
few = settings(max_examples=15, deadline=None)  # no deadline: a busy machine is no failure


def datasets(*columns):
    """Datasets by name, each a dict of columns."""
    rows = st.lists(st.tuples(*columns), min_size=1, max_size=8)
    tables = rows.map(lambda drawn: dict(zip("pqrs", map(list, zip(*drawn, strict=True)), strict=False)))
    return st.dictionaries(st.sampled_from(["mon", "tue", "wed"]), tables, min_size=1).map(
        lambda drawn: dict(sorted(drawn.items()))
    )


def read_folder(tables, writer, suffix, **options):
    with tempfile.TemporaryDirectory() as folder:
        for name, columns in tables.items():
            writer(columns, Path(folder) / f"{name}{suffix}")
        return Collection.from_folder(folder, **options)


def long_columns(tables):
    names = [name for name, columns in tables.items() for _ in columns["p"]]
    return {"day": names, **{c: [v for t in tables.values() for v in t[c]] for c in next(iter(tables.values()))}}


def assert_same(left, right, names=True):
    assert left.names == right.names
    if names:
        assert left.encoding == right.encoding
        assert left.feature_names == right.feature_names
    for mine, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(mine.X, other.X)


@pytest.mark.parametrize("kind", [*FORMATS, *ARRAYS])
@few
@given(tables=datasets(floats, integers, floats))
def test_numbers(kind, tables):
    writer, suffix = (FORMATS | ARRAYS)[kind]
    # Columns without names are all kept.
    keep = dict(keep=list("pqr"))
    expected = Collection.from_frame(pl.DataFrame(long_columns(tables)), "day", **keep)
    if kind in ARRAYS:
        tables = {name: {key: np.array(column, dtype=float) for key, column in t.items()} for name, t in tables.items()}
    options = {} if kind in ARRAYS else keep
    assert_same(read_folder(tables, writer, suffix, **options), expected, names=kind in FORMATS)


# An id within each dataset, one of which the other has, too.
SAME_ID = {
    "mon": {"p": [0.5], "q": [None], "r": ["a"], "s": [False]},
    "tue": {"p": [0.5] * 8, "q": [None, 1.0] * 4, "r": list("abcdefgh"), "s": [False, True] * 4},
}


@pytest.mark.filterwarnings("ignore:Each dataset has one value")
@pytest.mark.parametrize("kind", FORMATS)
@few
@example(tables=SAME_ID)
@given(tables=datasets(st.just(0.5), floats | st.none(), labels, st.booleans()))
def test_categories_and_gaps(kind, tables):
    writer, suffix = FORMATS[kind]
    expected = Collection.from_frame(pl.DataFrame(long_columns(tables), strict=False), "day")
    assert_same(read_folder(tables, writer, suffix), expected)


@pytest.mark.parametrize("kind", FORMATS)
@few
@given(tables=datasets(floats, integers, labels))
def test_one_long_table(kind, tables):
    columns, options = long_columns(tables), dict(categorical="r")
    writer, suffix = FORMATS[kind]
    expected = [Collection.from_frame(make(columns), "day", **options) for make in FRAMES.values()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"week{suffix}"
        writer(columns, path)
        collection = Collection.from_table(path, "day", **options)
    for one in expected:
        assert_same(collection, one)


FILES = {
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".xlsx": lambda frame, path: frame.to_excel(path, index=False),
    ".parquet": lambda frame, path: frame.to_parquet(path),
    ".feather": lambda frame, path: frame.to_feather(path),
    ".jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
}
TEXTS = {
    "numbers": ["1", "1.0", "2", "2.50", "-3", "1e2", "0"],
    "booleans": ["true", "false", "True", "FALSE"],
    "times": ["08:30", "8:30", "23:59:01", "11:05:07", "12:00:00.5", "2:05 PM"],
    "dates": ["2024-01-31", "2024-01-31 08:30:00", "2024-02-01 10:00:07.25", "31-Jan-2024"],
    "durations": ["2h 5min", "1 days 02:30:00", "0 days 00:00:00.1"],
    "codes": ["007", "7", "12"],
    "words": ["a", "b", "x1", "1", "1.0"],
    "gaps": ["a", "", "NA", "nan", "null", "7"],
    "hexadecimal": ["0x1F", "0xb3", "12"],
    "compounds": ["120/80", "95/60", "5'11\"", "1 234", "12 345"],
}
texts = st.sampled_from(list(TEXTS.values())).flatmap(
    lambda some: st.lists(st.sampled_from(some), min_size=9, max_size=9)
)


def read_together(tables, **options):
    """Return what becomes of two tables, or which error is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            encoding, encoded = encode_together(dict(zip("AB", tables, strict=True)), ColumnRules.of(options))
        except FewRatioError as error:
            return type(error).__name__
    return [(column.kind, column.left_out) for column in encoding.columns], [each.numbers.tolist() for each in encoded]


@pytest.mark.parametrize("suffix", [*FILES, None])
@settings(max_examples=25, deadline=None)
@given(first=texts, second=texts, option=st.sampled_from([None, "categorical", "numeric"]))
@example(first=["1.0", "2.0"], second=["1", "2"], option="categorical")
@example(first=["007", "008"], second=["7", "8"], option=None)
@example(first=["true", "false"], second=["0", "1"], option=None)
@example(first=["08:30", "10:15"], second=["08:30:00", "23:59:01"], option=None)
def test_texts_become_the_same_in_every_container(suffix, first, second, option):
    tables = [{"x": [0.5 * row for row in range(len(column))], "value": column} for column in (first, second)]
    frames = [pd.DataFrame(table) for table in tables]
    options = {} if option is None else {option: "value"}
    expected = read_together(tables, **options)
    if suffix is None:
        for make in FRAMES.values():
            assert read_together([make(table) for table in tables], **options) == expected
        by_place = {} if option is None else {option: "1"}
        assert read_together([frame.astype(object).to_numpy() for frame in frames], **by_place) == expected
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}{suffix}" for name in "ab"]
        for frame, path in zip(frames, paths, strict=True):
            FILES[suffix](frame, path)
        assert read_together(paths, **options) == expected
