"""Collections: three ways to make one, what they hold, and what they refuse."""

import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fewratio.data.collection import Collection, Dataset
from fewratio.errors import (
    CollectionError,
    DataFileError,
    DataNotFoundError,
    InputError,
    MissingColumnError,
    ParameterError,
)

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture
def collection():
    arrays = {"a": np.zeros((2, 3)), "b": np.ones((4, 3)), "c": np.full((1, 3), 2.0)}
    flags = [None, [0, 1, 0, 0], None]
    return Collection.from_arrays(arrays, groups=["x", "x", None], outliers=flags, name="toy")


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def assert_same(left, right):
    assert left.names == right.names
    assert left.groups == right.groups
    assert left.feature_names == right.feature_names
    for mine, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(mine.X, other.X)
        assert (mine.is_outlier is None) == (other.is_outlier is None)
        if mine.is_outlier is not None:
            np.testing.assert_array_equal(mine.is_outlier, other.is_outlier)


# ---------------------------------------------------------------- a dataset


def test_a_dataset_is_frozen_and_owns_its_numbers():
    X = np.arange(6.0).reshape(3, 2)
    flags = np.array([True, False, False])
    dataset = Dataset("a", "g", X, flags)
    X[:] = flags[:] = 0
    np.testing.assert_array_equal(dataset.X, np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(dataset.is_outlier, [True, False, False])
    for array in (dataset.X, dataset.is_outlier):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        dataset.name = "b"


def test_a_read_only_view_is_copied_and_a_frozen_array_is_shared():
    owner = np.ones((2, 2))
    view = owner.view()
    view.flags.writeable = False
    dataset = Dataset("a", None, view)
    owner[:] = 5
    np.testing.assert_array_equal(dataset.X, np.ones((2, 2)))
    assert Dataset("b", None, dataset.X).X is dataset.X


@pytest.mark.parametrize(
    ("X", "dtype"),
    [
        (np.ones((1, 2), dtype=np.float32), np.float32),
        (torch.ones(1, 2), np.float32),
        (pl.DataFrame({"a": [1.0]}, schema={"a": pl.Float32}), np.float32),
        (np.ones((1, 2), dtype=np.float16), np.float64),
        (np.ones((1, 2), dtype=np.int32), np.float64),
        ([[True, False]], np.float64),
    ],
)
def test_float32_is_kept(X, dtype):
    dataset = Dataset("a", None, X)
    assert dataset.X.dtype == dtype
    assert isinstance(dataset.X, np.ndarray)
    assert not dataset.X.flags.writeable


def test_dataset_len_and_repr():
    dataset = Dataset("a", "g", np.zeros((5, 2)), is_outlier=[0, 1, 1, 0, 0])
    assert len(dataset) == 5
    assert dataset.n_features == 2
    assert repr(dataset) == "Dataset('a', group='g', 5 rows, 2 features, 2 outliers)"
    assert repr(Dataset("b", None, [[1]])) == "Dataset('b', 1 row, 1 feature)"


@pytest.mark.parametrize(
    ("X", "flags", "found"),
    [
        ([[1, np.nan]], None, "column 1 at row 0"),
        ([1, 2], None, "one axis"),
        ([[1]], [True, False], "2 values but X has 1 row"),
        ([[1]], [2], "holds 2"),
        ([[1]], ["yes"], "holds 'yes'"),
        ([[1]], [None], "holds missing values, the first at row 0"),
        ([[1], [2], [3]], [0, np.nan, np.nan], "holds missing values, the first at row 1 (counting from 0)"),
        ([[1], [2]], pd.array([True, None], dtype="boolean"), "holds missing values, the first at row 1"),
        ([[1], [2]], np.array([True, np.nan], dtype=object), "holds missing values, the first at row 1"),
        ([[1], [2]], pl.Series([[1, 2], [0]]).to_numpy(), "holds array([0]), array([1, 2])"),
        ([[1]], [[True]], "shape (1, 1)"),
    ],
)
def test_a_bad_dataset_is_named(X, flags, found):
    with pytest.raises(InputError) as caught:
        Dataset("monday", None, X, flags)
    assert "dataset 'monday'" in str(caught.value)
    assert found in str(caught.value)


# ---------------------------------------------------------------- a collection


def test_collection_as_a_container(collection):
    assert len(collection) == 3
    assert [dataset.name for dataset in collection] == ["a", "b", "c"]
    assert collection.names == ("a", "b", "c")
    assert collection.groups == ("x", "x", None)
    assert collection.sizes.tolist() == [2, 4, 1]
    assert collection.n_features == 3
    assert collection[1] is collection["b"]
    assert collection[np.int64(-1)] is collection["c"]
    assert "b" in collection
    assert "z" not in collection
    assert collection["b"] in collection
    assert repr(collection) == "Collection('toy', 3 datasets of 1 to 4 rows, 3 features, 1 group)"
    assert repr(collection[2:]) == "Collection('toy', 1 dataset of 1 row, 3 features)"


def test_a_notebook_shows_the_first_datasets_as_text():
    collection = Collection.from_arrays({f"<b>{number}": [[number]] for number in range(12)}, name="<i>many")
    shown = collection._repr_html_()
    assert shown.count("<tr>") == 11
    assert "and 2 more" in shown
    assert "&lt;b&gt;9" in shown
    assert "<b>" not in shown
    assert "<i>" not in shown


@pytest.mark.parametrize(
    ("key", "names"),
    [
        (slice(1, None), ("b", "c")),
        (slice(None, None, -1), ("c", "b", "a")),
        ([2, 0], ("c", "a")),
        (np.array([0, -1]), ("a", "c")),
        (np.array([True, False, True]), ("a", "c")),
    ],
)
def test_part_of_a_collection_is_a_collection(collection, key, names):
    part = collection[key]
    assert isinstance(part, Collection)
    assert part.names == names
    assert part.name == "toy"
    assert all(dataset is collection[dataset.name] for dataset in part)


def test_what_is_not_there(collection):
    with pytest.raises(KeyError, match="no dataset 'z'"):
        collection["z"]
    with pytest.raises(IndexError):
        collection[3]
    with pytest.raises(CollectionError, match="no datasets"):
        collection[5:]
    with pytest.raises(ParameterError, match="length 2"):
        collection[np.array([True, False])]
    with pytest.raises(TypeError):
        collection[1.5]


def test_a_collection_is_immutable_and_travels(collection):
    with pytest.raises(dataclasses.FrozenInstanceError):
        collection.name = "other"
    assert isinstance(collection.datasets, tuple)
    travelled = [pickle.loads(pickle.dumps(collection, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    for other in (*travelled, copy.deepcopy(collection), copy.copy(collection)):
        assert_same(other, collection)
        for array in (other["b"].X, other["b"].is_outlier):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


def test_one_dataset_is_a_collection():
    assert len(Collection("one", [Dataset("a", None, [[1]])])) == 1


def test_collections_that_do_not_fit_are_refused():
    a, b = Dataset("a", None, [[1, 2]]), Dataset("b", None, [[1, 2, 3]])
    with pytest.raises(CollectionError, match="dataset 'b' has 3 columns but dataset 'a' has 2"):
        Collection("toy", [a, b])
    with pytest.raises(CollectionError, match="collection 'toy' has several datasets named 'a'"):
        Collection("toy", [a, a])
    with pytest.raises(CollectionError, match="collection 'toy' has no datasets"):
        Collection("toy", [])
    with pytest.raises(CollectionError, match="collection 'toy' has several features named 'p'"):
        Collection("toy", [a], feature_names=["p", "p"])
    with pytest.raises(CollectionError, match="1 feature name but its datasets have 2 features"):
        Collection("toy", [a], feature_names=["only"])


# ---------------------------------------------------------------- from arrays


def test_from_arrays_takes_any_kind_of_table():
    X = np.arange(6.0).reshape(3, 2)
    columns = {"p": X[:, 0], "q": X[:, 1]}
    kinds = [X, X.tolist(), torch.tensor(X), *(library(columns) for library in FRAMES.values())]
    collection = Collection.from_arrays(kinds)
    assert collection.names == ("0", "1", "2", "3", "4", "5")
    assert collection.feature_names == ("p", "q")
    for dataset in collection:
        np.testing.assert_array_equal(dataset.X, X)


def test_from_arrays_takes_iterators_and_mappings():
    assert Collection.from_arrays(iter([[[1]], [[2]]]), names=(c for c in "ab")).names == ("a", "b")
    assert Collection.from_arrays({3: [[1]], "b": [[2]]}, outliers=[[True], None]).names == ("3", "b")
    assert Collection.from_arrays(np.zeros((4, 5, 2))).sizes.tolist() == [5, 5, 5, 5]


@pytest.mark.parametrize("argument", ["names", "groups", "outliers"])
def test_from_arrays_wants_one_entry_per_dataset(argument):
    with pytest.raises(ParameterError, match=f"{argument} has length 1 but there are 2 datasets"):
        Collection.from_arrays([[[1]], [[2]]], **{argument: ["x"]})


def test_from_arrays_names_the_dataset_that_is_wrong():
    with pytest.raises(InputError, match=r"column 'q' of dataset 'b' has 1 infinite value, the first at row 0"):
        Collection.from_arrays({"a": pl.DataFrame({"q": [1.0]}), "b": pl.DataFrame({"q": [np.inf]})})
    with pytest.raises(InputError, match=r"dataset '1' has one axis"):
        Collection.from_arrays([[[1]], [2]])
    with pytest.raises(CollectionError, match=r"dataset 'b' .*dataset 'a' .*missing: 'p'; unexpected: 'q'"):
        Collection.from_arrays({"a": pl.DataFrame({"p": [1]}), "b": pl.DataFrame({"q": [1]})})
    with pytest.raises(CollectionError, match="no datasets"):
        Collection.from_arrays([])
    with pytest.raises(ParameterError, match="names"):
        Collection.from_arrays({"a": [[1]]}, names=["b"])
    with pytest.raises(InputError, match="from_frame"):
        Collection.from_arrays(pd.DataFrame({"a": [1]}))


# ---------------------------------------------------------------- from one long table

rows = st.lists(
    st.tuples(st.sampled_from(["u", "v", "w", "é"]), st.floats(-1e9, 1e9), st.integers(-99, 99), st.booleans()),
    min_size=1,
    max_size=25,
)


@pytest.mark.parametrize("library", FRAMES)
@settings(max_examples=25, deadline=None)
@given(rows=rows)
def test_from_frame_equals_from_arrays(library, rows):
    columns = {
        "p": [row[1] for row in rows],
        "site": [row[0] for row in rows],
        "odd": [row[3] for row in rows],
        "kind": [f"kind of {row[0]}" for row in rows],
        "q": [row[2] for row in rows],
    }
    sites = list(dict.fromkeys(columns["site"]))
    expected = Collection.from_arrays(
        {site: pl.DataFrame({"p": p, "q": q}) for site in sites for p, q in [columns_of(rows, site)]},
        groups=[f"kind of {site}" for site in sites],
        outliers=[[row[3] for row in rows if row[0] == site] for site in sites],
    )
    frame = FRAMES[library](columns)
    assert_same(Collection.from_frame(frame, "site", group="kind", outlier="odd"), expected)


def columns_of(rows, site):
    chosen = [(float(row[1]), row[2]) for row in rows if row[0] == site]
    return [p for p, _ in chosen], [q for _, q in chosen]


def test_from_frame_cuts_a_tall_table_in_order():
    rng = np.random.default_rng(0)
    site = rng.integers(0, 300, size=20_000)
    X = rng.normal(size=(20_000, 2)).astype(np.float32)
    frame = pl.DataFrame({"site": site, "p": X[:, 0], "q": X[:, 1]})
    collection = Collection.from_frame(frame, "site")
    assert collection.names == tuple(str(value) for value in dict.fromkeys(site.tolist()))
    for dataset in collection:
        np.testing.assert_array_equal(dataset.X, X[site == int(dataset.name)])
        assert dataset.X.dtype == np.float32
        assert not dataset.X.flags.writeable


@pytest.mark.parametrize("library", FRAMES)
def test_frames_may_have_their_columns_in_any_order(library):
    make = FRAMES[library]
    collection = Collection.from_arrays([[[1, 2]], make({"p": [1], "q": [2]}), make({"q": [2], "p": [1]})])
    assert collection.feature_names == ("p", "q")
    assert [dataset.X.tolist() for dataset in collection] == [[[1, 2]]] * 3
    with pytest.raises(CollectionError, match=r"missing: 'q'; unexpected: 'r'\); all must have the same columns"):
        Collection.from_arrays([make({"p": [1], "q": [2]}), make({"r": [2], "p": [1]})])


@pytest.mark.parametrize("library", FRAMES)
def test_a_missing_group_is_no_group(library):
    frame = FRAMES[library]({"site": ["u", "v"], "kind": [None, "k"], "p": [1, 2]})
    assert Collection.from_frame(frame, "site", group="kind").groups == (None, "k")


def test_from_frame_takes_categories_and_integer_column_names():
    frame = pd.DataFrame({"site": pd.Categorical(["v", "u"]), 0: [1, 2], 1: [3, 4]})
    assert Collection.from_frame(frame, "site").feature_names == ("0", "1")
    assert Collection.from_frame(pd.DataFrame([[7, 1], [8, 2]]), "0").names == ("7", "8")


@pytest.mark.parametrize("library", FRAMES)
def test_from_frame_says_what_is_wrong(library):
    make = FRAMES[library]
    with pytest.raises(MissingColumnError, match=r"frame has no column 'place'; its columns are 'site', 'p'"):
        Collection.from_frame(make({"site": ["u"], "p": [1]}), "place")
    with pytest.raises(MissingColumnError, match="'kind'"):
        Collection.from_frame(make({"site": ["u"], "p": [1]}), "site", group="kind")
    with pytest.raises(InputError, match="column 'site' of frame is missing at row 1"):
        Collection.from_frame(make({"site": ["u", None], "p": [1, 2]}), "site")
    with pytest.raises(InputError, match=r"column 'kind' of frame changes within dataset 'u' \('k' and 'l'\)"):
        Collection.from_frame(make({"site": ["u", "v", "u"], "kind": ["k", "k", "l"], "p": [1, 2, 3]}), "site", "kind")
    with pytest.raises(InputError, match="column 'odd' of frame holds 3"):
        Collection.from_frame(make({"site": ["u"], "odd": [3], "p": [1]}), "site", outlier="odd")
    with pytest.raises(InputError, match=r"column 'name' \(text\)"):
        Collection.from_frame(make({"site": ["u"], "name": ["x"], "p": [1]}), "site", categorical="error")
    with pytest.raises(InputError, match="column 'p' of frame has 1 infinite value, the first at row 1"):
        Collection.from_frame(make({"site": ["u", "v"], "p": [1.0, np.inf]}), "site")
    with pytest.raises(InputError, match="no columns"):
        Collection.from_frame(make({"site": ["u"]}), "site")


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize(
    ("roles", "both"),
    [
        ({"outlier": "site"}, "dataset and outlier"),
        ({"group": "site"}, "dataset and group"),
        ({"group": "kind", "outlier": "kind"}, "group and outlier"),
    ],
)
def test_one_column_cannot_be_two_things(library, roles, both):
    frame = FRAMES[library]({"site": [0, 1], "kind": [0, 1], "p": [1, 2]})
    with pytest.raises(ParameterError, match=f"{both} name the same column"):
        Collection.from_frame(frame, "site", **roles)


@pytest.mark.parametrize("library", FRAMES)
def test_a_list_names_no_dataset(library):
    frame = FRAMES[library]({"site": [["u"], ["v", "w"]], "p": [1, 2]})
    with pytest.raises(InputError, match="column 'site' of frame holds nested values"):
        Collection.from_frame(frame, "site")


def test_from_frame_wants_an_eager_frame():
    with pytest.raises(InputError, match="frame is a list"):
        Collection.from_frame([[1]], "site")
    with pytest.raises(InputError, match=r"\.collect\(\)"):
        Collection.from_frame(pl.LazyFrame({"site": ["u"], "p": [1]}), "site")


# ---------------------------------------------------------------- from a folder

CSV = "p,q,odd\n1,0.1,0\n2,0.25,1\n"


def test_csv_and_parquet_give_the_same_collection(tmp_path):
    rng = np.random.default_rng(0)
    frames = {
        name: pl.DataFrame({"p": rng.normal(size=n), "q": rng.integers(0, 9, size=n), "odd": rng.random(n) < 0.3})
        for name, n in {"mon": 5, "tue": 1, "wed": 40}.items()
    }
    for kind in ("csv", "parquet"):
        (tmp_path / kind / "z").mkdir(parents=True)
    for name, frame in frames.items():
        place = "z" if name == "wed" else "."
        frame.write_csv(tmp_path / "csv" / place / f"{name}.csv")
        frame.write_parquet(tmp_path / "parquet" / place / f"{name}.parquet")
    expected = Collection.from_arrays(
        {name: frame.drop("odd") for name, frame in frames.items()},
        groups=[None, None, "z"],
        outliers=[frame["odd"].to_numpy() for frame in frames.values()],
    )
    for kind in ("csv", "parquet"):
        collection = Collection.from_folder(tmp_path / kind, outlier="odd")
        assert collection.name == kind
        assert_same(collection, expected)


def test_files_are_sorted_grouped_and_named(tmp_path):
    hidden = (".hidden.csv", ".ipynb_checkpoints/a-checkpoint.csv", "x/.cache/old/c.csv")
    write(tmp_path, dict.fromkeys(("b.csv", "a.CSV", "x/c.csv", "x/y/d.csv", "note.txt", *hidden), CSV))
    collection = Collection.from_folder(str(tmp_path), name="mine")
    assert collection.name == "mine"
    assert collection.names == ("a", "b", "c", "d")
    assert collection.groups == (None, None, "x", "x/y")


def test_a_folder_whose_own_name_begins_with_a_dot_is_read(tmp_path):
    assert Collection.from_folder(write(tmp_path / ".mine", {"a.csv": CSV})).names == ("a",)


def test_equal_names_in_sub_folders_are_told_apart(tmp_path):
    collection = Collection.from_folder(write(tmp_path, {"x/a.csv": CSV, "y/a.csv": CSV, "y/b.csv": CSV}))
    assert collection.names == ("x/a", "y/a", "b")
    assert collection.groups == ("x", "y", "y")


def test_columns_in_another_order_are_reordered(tmp_path):
    collection = Collection.from_folder(write(tmp_path, {"a.csv": "p,q\n1,2\n", "b.csv": "q,p\n4,3\n"}))
    assert collection.feature_names == ("p", "q")
    assert collection["b"].X.tolist() == [[3, 4]]


def test_column_types_come_from_all_rows(tmp_path):
    write(tmp_path, {"late.csv": "p\n" + "1\n" * 3000 + "0.5\n"})
    assert Collection.from_folder(tmp_path)["late"].X[-1, 0] == 0.5


@pytest.mark.parametrize(
    ("files", "error", "words"),
    [
        ({"a.csv": CSV, "b.csv": "p,q\n1,2\n"}, CollectionError, ["file 'b.csv'", "file 'a.csv'", "missing: 'odd'"]),
        (
            {"a.csv": "p\n1\n", "b.csv": "q\n1\n"},
            CollectionError,
            ["'b.csv'", "'a.csv'", "missing: 'p'; unexpected: 'q'); all must have the same columns"],
        ),
        (
            {"a.csv": CSV, "b.csv": "p,q,odd\n1,x,0\n"},
            CollectionError,
            ["'q' holds numbers in file 'a.csv' but text in file 'b"],
        ),
        ({"b.csv": "p,q\n1,2\n3,inf\n"}, InputError, ["column 'q' of file 'b.csv' has 1 infinite value", "row 1"]),
        ({"b.csv": "p,q\n"}, InputError, ["file 'b.csv'", "empty"]),
        ({"x/b.csv": ""}, DataFileError, ["file 'x/b.csv' cannot be read"]),
        ({"b.csv": "p,q\n1,2\n3,4,5\n"}, DataFileError, ["file 'b.csv' cannot be read"]),
        ({"b.csv": "p,q\n1,2,3\n4,5,6\n"}, DataFileError, ["file 'b.csv' cannot be read"]),
        ({"b.csv": "p,p\n1,2\n"}, DataFileError, ["file 'b.csv' cannot be read", "'p'"]),
        ({"b.parquet": "no such thing"}, DataFileError, ["file 'b.parquet' cannot be read"]),
    ],
)
def test_the_file_that_is_wrong_is_named(tmp_path, files, error, words):
    with pytest.raises(error) as caught:
        Collection.from_folder(write(tmp_path, files))
    for word in words:
        assert word in str(caught.value)


def test_a_file_in_another_encoding_is_named(tmp_path):
    (tmp_path / "b.csv").write_bytes("größe\n1\n".encode("latin-1"))
    with pytest.warns(UserWarning, match=r"File 'b\.csv' is not UTF-8; it is read as Windows-1252"):
        assert Collection.from_folder(tmp_path).feature_names == ("größe",)


def test_a_missing_outlier_column_is_named(tmp_path):
    write(tmp_path, {"a.csv": CSV})
    with pytest.raises(
        MissingColumnError, match=r"file 'a\.csv' has no column 'label'; its columns are 'p', 'q', 'odd'"
    ):
        Collection.from_folder(tmp_path, outlier="label")
    with pytest.raises(InputError, match=r"column 'q' of file 'a\.csv' holds 0\.1, 0\.25"):
        Collection.from_folder(tmp_path, outlier="q")


def test_a_folder_that_cannot_be_used_is_named(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"nowhere' does not exist"):
        Collection.from_folder(tmp_path / "nowhere")
    with pytest.raises(DataNotFoundError, match=r"holds no \.csv, \.tsv, .* \.npy or \.npz files"):
        Collection.from_folder(tmp_path)
    write(tmp_path, {"a.csv": CSV})
    with pytest.raises(DataNotFoundError, match=r"a\.csv' is not a folder"):
        Collection.from_folder(tmp_path / "a.csv")


def test_two_files_of_one_name_in_one_folder_are_refused(tmp_path):
    write(tmp_path, {"a.csv": "p\n1\n"})
    pl.DataFrame({"p": [1]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(CollectionError, match="several datasets named 'a'"):
        Collection.from_folder(tmp_path)


def test_numbers_that_count_the_rows_of_each_dataset_are_an_id_in_a_long_table():
    """As they are where each dataset has a table of its own."""
    rng = np.random.default_rng(0)
    days = {name: pl.DataFrame({"nr": range(9), "size": rng.normal(size=9)}) for name in ("mon", "tue")}
    long = pl.concat([table.with_columns(day=pl.lit(name)) for name, table in days.items()])
    collection = Collection.from_frame(long, dataset="day")
    assert collection.encoding == Collection.from_arrays(days).encoding
    assert collection.feature_names == ("size",)
