"""Categories and missing values as numbers: learned from all datasets, the same for every library and format."""

import dataclasses
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewratio.data.collection import Collection
from fewratio.data.encoding import Encoding, EncodingChoice
from fewratio.errors import CollectionError, InputError, ParameterError
from tests.strategies import quick

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
COLUMNS = {
    "site": ["u", "v", "u", "v"],
    "size": [1.0, 2.0, None, 6.0],
    "colour": ["red", "blue", "red", None],
    "old": [True, False, True, True],
}
ENCODED = [[1, 0, 1, 0, 1], [2, 0, 1, 0, 1], [2, 1, 0, 1, 0], [6, 0, 0, 0, 1]]


@pytest.fixture(params=FRAMES)
def make(request):
    return FRAMES[request.param]


@pytest.fixture
def encoding():
    return Encoding(("size", "colour"), (None, ("blue", "red")), (2.0, None))


def learn(tables):
    """Learn categories and medians from some tables, as a collection of them does."""
    choice = EncodingChoice(categorical="onehot", missing="median")
    encoding = choice.prepare((f"table {number}", 0, table) for number, table in enumerate(tables))
    return encoding.with_medians([choice.open(table, "table", encoding).to_numpy() for table in tables])


# ---------------------------------------------------------------- learning it


def test_from_frame_learns_categories_and_medians(make):
    collection = Collection.from_frame(make(COLUMNS), "site", categorical="onehot", missing="median")
    assert collection.feature_names == ("size", "colour=blue", "colour=red", "old=False", "old=True")
    assert np.concatenate([dataset.X for dataset in collection]).tolist() == ENCODED
    assert collection.encoding == Encoding(
        ("size", "colour", "old"), (None, ("blue", "red"), ("False", "True")), (2.0, None, None)
    )
    assert collection[:1].encoding == collection[[0]].encoding == collection.encoding
    assert pickle.loads(pickle.dumps(collection)).encoding == collection.encoding


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_files_learn_the_same(tmp_path, suffix):
    frame = pl.DataFrame(COLUMNS)
    options = dict(categorical="onehot", missing="median", unseen="zero")
    expected = Collection.from_frame(frame, "site", **options)
    one = Collection.from_table(write(frame, tmp_path / f"all.{suffix}"), "site", **options)
    for (site,), part in frame.group_by("site"):
        write(part.drop("site"), tmp_path / "folder" / f"{site}.{suffix}")
    many = Collection.from_folder(tmp_path / "folder", **options)
    for collection in (one, many):
        assert collection.encoding == expected.encoding
        assert [dataset.X.tolist() for dataset in collection] == [dataset.X.tolist() for dataset in expected]


def write(frame, path):
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path


def test_without_a_choice_all_is_as_before(make):
    frame = make({"site": ["u", "v"], "p": [1, 2], "old": [True, False]})
    collection = Collection.from_frame(frame, "site")
    assert collection.encoding is None
    assert collection["u"].X.tolist() == [[1, 1]]
    with pytest.raises(InputError, match=r"column 'colour' \(text\)"):
        Collection.from_frame(make(COLUMNS), "site")


def test_each_choice_stands_alone(make):
    numbers = make({"site": ["u", "v", "v"], "p": [1.0, None, 5.0], "old": [True, False, False]})
    collection = Collection.from_frame(numbers, "site", missing="median")
    assert collection.feature_names == ("p", "old")  # truth values stay numbers
    assert collection["v"].X.tolist() == [[3, 0], [5, 0]]
    with pytest.raises(InputError, match="1 missing value, the first in column 'p' at row 1"):
        Collection.from_frame(numbers, "site", categorical="onehot")
    with pytest.raises(InputError, match=r"column 'colour' \(text\)"):
        Collection.from_frame(make(COLUMNS), "site", missing="median")


def test_infinite_values_are_not_missing(make):
    with pytest.raises(InputError, match="frame has 1 infinite value, the first in column 'p' at row 1"):
        Collection.from_frame(make({"site": ["u", "u"], "p": [1.0, np.inf]}), "site", missing="median")


def test_infinite_values_of_a_file_are_placed_by_file_and_column(tmp_path):
    (tmp_path / "a.csv").write_text("p,q\n1,2\n,inf\n")
    with pytest.raises(InputError, match=r"file 'a\.csv' has 1 infinite value, the first in column 'q' at row 1"):
        Collection.from_folder(tmp_path, missing="median")


def test_a_column_without_any_value_has_no_median(make):
    with pytest.raises(InputError, match="column 'p' has no value in any dataset"):
        Collection.from_frame(make({"site": ["u"], "p": [None], "q": [1]}), "site", missing="median")


def test_a_median_of_the_largest_numbers():
    assert learn([np.array([[1.5e308], [1.7e308]])]).medians == (1.6e308,)


def test_medians_of_files_without_names(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1.0, np.nan], [3.0, 4.0]]))
    np.save(tmp_path / "b.npy", np.array([[np.nan, 6.0]]))
    collection = Collection.from_folder(tmp_path, missing="median")
    assert collection["a"].X.tolist() == [[1, 5], [3, 4]]
    assert collection["b"].X.tolist() == [[2, 6]]
    assert collection.encoding.names is None


def test_medians_of_files_of_which_some_have_names(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1.0, np.nan], [3.0, 4.0]]))
    (tmp_path / "b.csv").write_text("p,q\n2,\n")
    collection = Collection.from_folder(tmp_path, missing="median")
    assert collection.feature_names == collection.encoding.names == ("p", "q")
    assert collection["b"].X.tolist() == [[2, 4]]


def test_a_category_must_not_take_the_name_of_a_column(make):
    frame = make({"site": ["u", "u"], "c": ["a", "b"], "c=a": [1.0, 2.0]})
    with pytest.raises(CollectionError, match="several features named 'c=a'"):
        Collection.from_frame(frame, "site", categorical="onehot")


def test_single_precision_is_kept(make):
    frame = pl.DataFrame({"site": ["u", "u"], "p": pl.Series([1.5, None], dtype=pl.Float32), "c": ["x", "y"]})
    collection = Collection.from_frame(frame, "site", categorical="onehot", missing="median")
    assert collection[0].X.dtype == np.float32
    assert collection[0].X.tolist() == [[1.5, 1, 0], [1.5, 0, 1]]


def test_kinds_of_category_columns():
    frame = pd.DataFrame(
        {
            "site": ["u", "u"],
            "kind": pd.Categorical([3, None], categories=[3, 4]),
            "mixed": pd.Series([True, None], dtype=object),
            "text": pd.Series(["b", None], dtype=object),
        }
    )
    collection = Collection.from_frame(frame, "site", categorical="onehot", missing="median")
    assert collection.feature_names == ("kind=3", "mixed=True", "text=b")
    assert collection[0].X.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_a_column_of_both_kinds_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("code\n12\n")
    (tmp_path / "b.csv").write_text("code\nx7\n")
    with pytest.raises(CollectionError, match=r"'code' holds numbers in file 'a\.csv' but categories in file 'b\.csv'"):
        Collection.from_folder(tmp_path, categorical="onehot")


def test_numbers_with_an_odd_cell_are_no_categories(tmp_path, make):
    (tmp_path / "a.csv").write_text("p\n" + "".join(f"{number}\n" for number in range(300)) + "oops\n")
    found = "300 of its 301 different values are numbers, and the first that is none is 'oops' at row 300"
    with pytest.raises(InputError, match=rf"column 'p' of file 'a\.csv' holds text, but {found}"):
        Collection.from_folder(tmp_path, categorical="onehot")
    with pytest.raises(InputError, match="'x' at row 3"):
        Collection.from_frame(make({"site": ["u"] * 4, "p": ["1", "2", "3", "x"]}), "site", categorical="onehot")
    codes = make({"site": ["u"] * 2, "p": ["10", "20"], "q": ["1", "x"]})
    names = ("p=10", "p=20", "q=1", "q=x")
    assert Collection.from_frame(codes, "site", categorical="onehot").feature_names == names


def test_declared_categories_may_look_like_numbers():
    kind = pd.Categorical(["0", "1", "2", "3+"])
    frame = pd.DataFrame({"site": ["u"] * 4, "kind": kind})
    assert Collection.from_frame(frame, "site", categorical="onehot").n_features == 4


def test_more_than_a_thousand_categories_are_refused(make):
    def collect(count):
        names = [f"n{number}" for number in range(count)]
        return Collection.from_frame(make({"site": ["u"] * count, "name": names}), "site", categorical="onehot")

    assert collect(1000).n_features == 1000
    with pytest.raises(InputError, match="column 'name' of frame brings more than 1000 categories"):
        collect(1001)


def test_more_than_a_thousand_categories_are_counted_over_files(tmp_path):
    for start in (0, 600):
        rows = "".join(f"n{start + number}\n" for number in range(600))
        (tmp_path / f"{start}.csv").write_text("name\n" + rows)
    with pytest.raises(InputError, match="more than 1000 categories"):
        Collection.from_folder(tmp_path, categorical="onehot")


def test_dates_and_nested_values_are_no_categories(make):
    from datetime import date

    with pytest.raises(InputError, match=r"column 'day' \(dates or times\)"):
        Collection.from_frame(make({"site": ["u"], "day": [date(2020, 1, 1)]}), "site", categorical="onehot")


@pytest.mark.parametrize("option", ["categorical", "missing", "unseen"])
def test_a_choice_that_does_not_exist_is_refused(option):
    with pytest.raises(ParameterError, match=f"{option} is 'guess'; it must be one of 'error'"):
        Collection.from_frame(pl.DataFrame(COLUMNS), "site", **{option: "guess"})


def test_another_collections_encoding(make):
    first = Collection.from_frame(make(COLUMNS), "site", categorical="onehot", missing="median", unseen="zero")
    other = make({"site": ["w"], "size": [None], "colour": ["teal"], "old": [False]})
    second = Collection.from_frame(other, "site", encoding=first.encoding)
    assert second["w"].X.tolist() == [[2, 0, 0, 1, 0]]
    assert second.encoding == first.encoding
    with pytest.raises(ParameterError, match="encoding is a str"):
        Collection.from_frame(other, "site", encoding="onehot")
    with pytest.raises(ParameterError, match="Pass only one of the two"):
        Collection.from_frame(other, "site", encoding=first.encoding, missing="median")


def test_the_order_of_columns_does_not_matter_to_an_encoding(tmp_path, make):
    first = Collection.from_frame(make(COLUMNS), "site", categorical="onehot", missing="median")
    row = {"old": [True], "colour": ["red"], "size": [3.0]}
    assert Collection.from_frame(make({"site": ["w"], **row}), "site", encoding=first.encoding).n_features == 5
    write(pl.DataFrame(row), tmp_path / "a.csv")
    collection = Collection.from_folder(tmp_path, encoding=first.encoding)
    assert collection["a"].X.tolist() == [[3, 0, 1, 0, 1]]
    encoded = dict(zip(reversed(first.feature_names), [[1], [0], [1], [0], [3.0]], strict=True))
    collection = Collection.from_frame(make({"site": ["w"], **encoded}), "site", encoding=first.encoding)
    assert collection["w"].X.tolist() == [[3, 0, 1, 0, 1]]


def test_a_refusal_says_which_option_would_help(tmp_path, make):
    text, gap = make({"site": ["u"], "p": ["x"]}), make({"site": ["u", "u"], "p": [1.0, None]})
    with pytest.raises(InputError, match=r"such as 'x' in column 'p' at row 0.* pass categorical=.onehot"):
        Collection.from_frame(text, "site")
    with pytest.raises(InputError, match=r'Or pass missing="median"'):
        Collection.from_frame(gap, "site", categorical="onehot")
    (tmp_path / "a.csv").write_text("p\n1\nx\n")
    with pytest.raises(InputError, match='pass categorical="onehot"'):
        Collection.from_folder(tmp_path, missing="median")
    (tmp_path / "a.csv").write_text("p,q\n1,2\n,2\n")
    with pytest.raises(InputError, match='Or pass missing="median"'):
        Collection.from_folder(tmp_path)


def test_no_option_is_named_that_is_not_there_or_would_not_help(tmp_path, make):
    from datetime import date

    encoding = Encoding(("p",), (None,))
    for call in (
        lambda: Collection.from_arrays([make({"p": ["x"]})]),
        lambda: Collection.from_frame(make({"site": ["u"], "p": [date(2020, 1, 1)]}), "site"),
        lambda: Collection.from_frame(make({"site": ["u"], "p": [np.inf]}), "site", missing="median"),
        lambda: Collection.from_frame(make({"site": ["u"], "p": ["x"]}), "site", encoding=encoding),
        lambda: Collection.from_folder(tmp_path),
    ):
        np.save(tmp_path / "a.npy", np.array([["x"]]))
        with pytest.raises(InputError) as caught:
            call()
        assert "pass categorical" not in str(caught.value)
        assert "pass missing" not in str(caught.value)


# ---------------------------------------------------------------- applying it


def test_an_encoding_is_immutable(encoding):
    with pytest.raises(dataclasses.FrozenInstanceError):
        encoding.unseen = "zero"


def test_unseen_categories_are_named_or_zeros(make, encoding):
    frame = make({"size": [1.0, 2.0, 3.0], "colour": ["teal", "red", "pink"]})
    with pytest.raises(InputError, match=r"'colour' of X_nu has 2 categories .* \('pink', 'teal'\); known are 'blue'"):
        encoding.apply(frame, "X_nu")
    zeros = dataclasses.replace(encoding, unseen="zero").apply(frame)
    assert zeros.tolist() == [[1, 0, 0], [2, 0, 1], [3, 0, 0]]


def test_missing_values_are_filled_or_refused(make, encoding):
    frame = make({"size": [None, 3.0], "colour": ["red", None]})
    assert encoding.apply(frame).tolist() == [[2, 0, 1], [3, 0, 0]]
    with pytest.raises(InputError, match="X has 2 missing values, the first in column 'size' at row 0"):
        dataclasses.replace(encoding, medians=None).apply(frame)


def test_arrays_and_encoded_frames_are_taken_as_encoded(encoding):
    rows = [[np.nan, 0, 1], [3, 1, 0]]
    names = ["size", "colour=blue", "colour=red"]
    for X in (rows, np.array(rows), pd.DataFrame(rows, columns=names)):
        assert encoding.apply(X).tolist() == [[2, 0, 1], [3, 1, 0]]
    with pytest.raises(InputError, match="X has 2 features but the encoded source collection has 3"):
        encoding.apply([[1, 2]])
    with pytest.raises(InputError, match="column 1 at row 0"):
        encoding.apply([[1, np.nan, 0]])


def test_what_is_missing_in_lists_and_arrays_is_filled(encoding):
    masked = np.ma.array([[9, 0, 1], [3, 1, 0]], mask=[[True, False, False], [False] * 3])
    for X in ([[None, 0, 1], [3, 1, 0]], masked, masked.astype(np.float32), masked.astype(object)):
        assert encoding.apply(X).tolist() == [[2, 0, 1], [3, 1, 0]]
        with pytest.raises(InputError, match="1 NaN or infinite value, the first in column 0 at row 0"):
            dataclasses.replace(encoding, medians=None).apply(X)
    with pytest.raises(InputError, match="column 1 at row 0"):
        encoding.apply([[1, None, 0]])  # a category that is missing has no median
    with pytest.raises(InputError, match=r"column 0 \(text\)"):
        encoding.apply([["x", None, 0]])


def test_other_columns_are_refused(make, encoding):
    with pytest.raises(InputError, match=r"missing: 'colour'; unexpected: 'color'\); needed are the columns that the"):
        encoding.apply(make({"size": [1.0], "color": ["red"]}))
    with pytest.raises(InputError, match="in another order"):
        encoding.apply(make({"colour": ["red"], "size": [1.0]}))
    with pytest.raises(InputError, match="column 'colour' of X holds numbers but the source collection has categories"):
        encoding.apply(make({"size": [1.0], "colour": [1]}))
    with pytest.raises(InputError, match=r"column 'size' \(text\)"):
        encoding.apply(make({"size": ["1"], "colour": ["red"]}))


# ---------------------------------------------------------------- in words

words = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=4)
finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def encodings(draw):
    known = draw(st.lists(st.none() | st.lists(words, min_size=1, max_size=3, unique=True), min_size=1, max_size=4))
    names = draw(st.none() | st.lists(words, min_size=len(known), max_size=len(known), unique=True))
    medians = [draw(finite) if categories is None else None for categories in known]
    return Encoding(
        None if names is None else tuple(names),
        tuple(None if categories is None else tuple(categories) for categories in known),
        draw(st.none() | st.just(tuple(medians))),
        draw(st.sampled_from(["error", "zero"])),
    )


@quick
@given(encodings())
def test_an_encoding_survives_json(encoding):
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding


@pytest.mark.parametrize(
    "change",
    [
        {"names": ["size"]},
        {"names": ["size", 3]},
        {"names": "ab"},
        {"categories": []},
        {"categories": [None, "red"]},
        {"categories": [None, ["red", "red"]]},
        {"categories": [None, []]},
        {"categories": None},
        {"medians": [1.0]},
        {"medians": [None, None]},
        {"medians": [float("nan"), None]},
        {"medians": [True, None]},
        {"medians": [1.0, 2.0]},
        {"unseen": "ignore"},
        {"unseen": []},
    ],
)
def test_words_that_do_not_fit_are_refused(encoding, change):
    with pytest.raises((ValueError, TypeError)):
        Encoding.from_dict(encoding.to_dict() | change)


labels = st.sampled_from(["a", "b", "ä", "x y", "c,d", 'q"q', "7th"])
rows = st.lists(
    st.tuples(st.none() | st.floats(-1e300, 1e300), labels | st.none(), st.booleans()), min_size=1, max_size=12
)


@pytest.mark.parametrize("library", FRAMES)
@quick
@given(rows=rows)
def test_encoding_is_what_a_textbook_would_do(library, rows):
    columns = {name: [row[j] for row in rows] for j, name in enumerate("pqr")}
    frame = FRAMES[library](columns)
    # A column in which all is missing counts as numbers, and has no median.
    if any(set(columns[name]) == {None} for name in "pq"):
        with pytest.raises(InputError, match="has no value in any dataset"):
            learn([frame])
        return
    median = float(np.median([p for p in columns["p"] if p is not None]))
    categories = [sorted({q for q in columns["q"] if q is not None}), sorted({str(r) for r in columns["r"]})]
    encoding = learn([frame])
    expected = [
        [median if p is None else p, *(q == known for known in categories[0]), *(str(r) == k for k in categories[1])]
        for p, q, r in rows
    ]
    np.testing.assert_array_equal(encoding.apply(frame), np.array(expected, dtype=float))
    parts = [FRAMES[library]({name: column[i : i + 1] for name, column in columns.items()}) for i in range(len(rows))]
    assert learn(parts) == encoding
