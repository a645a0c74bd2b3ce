"""Columns of any kind as numbers: decided from all tables together, the same for every library and order."""

import datetime
import inspect
import json
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fewratio
from fewratio import InlierOutlierDetector, RuLSIF, compare_datasets
from fewratio.core.wording import write_label
from fewratio.data.collection import Collection
from fewratio.data.columns import ARGUMENTS, Column, ColumnRules
from fewratio.data.encoding import Encoding, encode_together
from fewratio.data.raw_table import as_raw
from fewratio.data.readers.files import find_file, read_raw
from fewratio.errors import (
    CollectionError,
    FewRatioWarning,
    InputError,
    LeftOutWarning,
    MissingColumnError,
    ParameterError,
)
from tests.strategies import quick

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
SOME_DAY = datetime.date(2020, 1, 1)
# Days since 1970.
DAY = 18262.0


@pytest.fixture(params=FRAMES)
def make(request):
    return FRAMES[request.param]


def encode(*tables, finds_ids=True, **options):
    """Return the encoding of tables A, B, ..., and their encoded numbers."""
    named = {"ABCDEF"[number]: table for number, table in enumerate(tables)}
    encoding, encoded = encode_together(named, replace(ColumnRules.of(options), finds_ids=finds_ids))
    for table in encoded:
        assert np.isfinite(table.numbers).all()
        assert table.feature_names == (None if encoding is None else encoding.feature_names)
    return encoding, [table.numbers.tolist() for table in encoded]


def numbers_of(frame, **options):
    return encode(frame, **options)[1][0]


def left_out(encoding):
    return {column.name: column.left_out for column in encoding.columns if column.left_out is not None}


# ---------------------------------------------------------------- kinds


def test_a_table_of_all_kinds(make):
    frame = make(
        {
            "size": [None, 4.0, 2.0, 3.0, 3.0],
            "colour": ["red", "blue", None, "red", "red"],
            "old": [True, False, True, True, True],
            "day": [SOME_DAY, SOME_DAY, SOME_DAY + datetime.timedelta(1), SOME_DAY, SOME_DAY],
            "name": ["ann", "bob", "cy", "dee", "eve"],
        }
    )
    encoding, (numbers,) = encode(frame)
    missing = "size is missing", "colour is missing"
    assert encoding.feature_names == ("size", missing[0], "colour=blue", "colour=red", missing[1], "old", "day")
    assert numbers == [
        [3, 1, 0, 1, 0, 1, DAY],
        [4, 0, 1, 0, 0, 0, DAY],
        [2, 0, 0, 0, 1, 1, DAY + 1],
        [3, 0, 0, 1, 0, 1, DAY],
        [3, 0, 0, 1, 0, 1, DAY],
    ]
    kinds = "1 number, 1 category, 1 boolean, 1 date (as days)"
    assert encoding.summary == f"5 columns: {kinds}, 1 left out (name: id)"
    assert list(encode_together({"A": frame})[1][0].row_names) == ["ann", "bob", "cy", "dee", "eve"]


NOON = datetime.datetime(2020, 1, 1, 12)
DATES = {
    "pandas": pd.DataFrame({"t": pd.to_datetime([NOON, None])}),
    "pandas seconds": pd.DataFrame({"t": pd.to_datetime([NOON, None]).as_unit("s")}),
    "pandas objects": pd.DataFrame({"t": pd.Series([NOON, None], dtype=object)}),
    "pandas period": pd.DataFrame({"t": pd.PeriodIndex(["2020-01-01 12:00", None], freq="h")}),
    "pandas zone": pd.DataFrame({"t": pd.to_datetime([NOON, None]).tz_localize("UTC").tz_convert("Asia/Tokyo")}),
    "polars": pl.DataFrame({"t": [NOON, None]}),
    "polars zone": pl.DataFrame({"t": pl.Series([NOON, None]).dt.replace_time_zone("UTC")}),
    "pyarrow": pa.table({"t": pa.array([NOON, None], pa.timestamp("ms"))}),
    "text": pl.DataFrame({"t": ["2020-01-01 12:00", None]}),
    "text with zone": pl.DataFrame({"t": ["2020-01-01T14:00:00+02:00", None]}),
    "list": [[NOON], [None]],
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_and_times_are_days(kind):
    encoding, (numbers,) = encode(DATES[kind])
    assert [column.kind for column in encoding.columns] == ["date"]
    assert numbers == [[DAY + 0.5, 0], [DAY + 0.5, 1]]


def test_durations_are_seconds(make):
    durations = [datetime.timedelta(hours=36), datetime.timedelta(2), None]
    encoding, (numbers,) = encode(make({"t": durations}))
    assert (encoding.columns[0].kind, encoding.columns[0].median) == ("duration", 151_200)
    assert numbers == [[129_600, 0], [172_800, 0], [151_200, 1]]
    assert [encoding.columns[0].write(each) for each in (3.5, 600, 7200, 259_200)] == [
        "3.5 s",
        "10 min",
        "2 h",
        "3 days",
    ]
    # As pandas writes them into a text file.
    texts = [None if each is None else str(pd.Timedelta(each)) for each in durations]
    assert encode(make({"t": texts}))[1] == [numbers]


def test_times_of_day_are_cyclic(make):
    times = [datetime.time(0), datetime.time(6), datetime.time(23, 59), None]
    encoding, (numbers,) = encode(make({"t": times}))
    assert encoding.columns[0].kind == "time of day"
    assert encoding.feature_names == ("t (sine)", "t (cosine)", "t is missing")
    assert encoding.summary == "1 column: 1 time of day"
    np.testing.assert_allclose(np.array(numbers)[:2, :2], [[0, 1], [1, 0]], atol=1e-12)
    # Midnight is no jump, and a gap is the middle of the others.
    assert np.abs(np.subtract(numbers[0], numbers[2])).max() < 0.01
    assert encoding.columns[0].median == pytest.approx(1.75, abs=0.3)
    np.testing.assert_allclose(encoding.columns[0].decode(np.array(numbers)), [0, 6, 24 - 1 / 60], atol=1e-9)
    assert [encoding.columns[0].write(each) for each in (14.0875, 24)] == ["14:05", "00:00"]
    texts = [None if each is None else each.strftime("%H:%M") for each in times]
    assert encode(make({"t": texts}))[1] == [numbers]
    assert Encoding.from_dict(encoding.to_dict()) == encoding


def test_booleans_beside_numbers_are_numbers_and_that_is_said(make):
    p = [0.5, 1.5, 2.5]
    tables = make({"s": [True, False, True], "p": p}), make({"s": [1, 0, 1], "p": p})
    for options, names in (({}, ("s", "p")), ({"categorical": "s"}, ("s=0", "s=1", "p"))):
        with pytest.warns(FewRatioWarning, match=r"'s' holds booleans in \w but numbers in \w; True counts as 1"):
            encoding, (first, second) = encode(*tables, **options)
        assert encoding.feature_names == names
        assert first == second


def test_a_time_zone_in_one_table_is_said(make):
    p = [*range(8), 20]
    zoned, naive = (pd.DataFrame({"when": when, "p": p}) for when in (ZONED, ZONED.tz_convert(None)))
    with pytest.warns(FewRatioWarning, match="'when' has a time zone in A but none in B; the latter is read as UTC"):
        encoding, (first, second) = encode(zoned, naive)
    assert encoding.columns[0].zone == "UTC"
    assert first == second
    with pytest.warns(FewRatioWarning) as said:
        compare_datasets(zoned, naive, n_permutations=0)
    assert sum("has a time zone" in str(each.message) for each in said) == 1


ZONED = pd.date_range("2024-06-01 22:30", periods=9, freq="h", tz="Europe/Berlin")


@pytest.mark.parametrize(
    ("when", "zone", "shown"),
    [
        (ZONED, "Europe/Berlin", "2024-06-01 22:30:00+02:00"),
        (ZONED.tz_convert("UTC"), "UTC", "2024-06-01 20:30:00+00:00"),
        (pa.array(ZONED, pa.timestamp("s", "+05:30")), "+05:30", "2024-06-02 02:00:00+05:30"),
        ([moment.isoformat() for moment in ZONED], "UTC", "2024-06-01 20:30:00+00:00"),
        (ZONED.tz_localize(None), None, "2024-06-01 22:30:00"),
    ],
)
def test_a_time_is_shown_in_its_zone(when, zone, shown):
    size = [*range(8), 20]
    table = (pa.table if isinstance(when, pa.Array) else pd.DataFrame)({"when": when, "size": size})
    encoding = Encoding.learn([as_raw(table)])
    day = encoding.encode(table).numbers[0, 0]
    assert encoding.columns[0].zone == zone
    assert encoding.columns[0].write(day, 6) == shown
    assert Encoding.from_dict(encoding.to_dict()) == encoding
    # Texts name rows as they are written.
    assert encoding.encode(table).row_names[0] == (when[0] if isinstance(when, list) else shown)


def test_times_of_two_zones_are_shown_in_utc():
    tables = [pd.DataFrame({"when": ZONED.tz_convert(zone), "size": range(9)}) for zone in ("Asia/Tokyo", "UTC")]
    assert encode(*tables, keep="size")[0].columns[0].zone == "UTC"


def test_numbers_that_are_stored_as_a_dictionary_are_numbers(tmp_path):
    """To save space, not because a user made categories of them."""
    plain = {"size": pa.array([1.5, 2.5, 1.5, None]), "n": pa.array([7, 7, 9, 9]), "day": pa.array([SOME_DAY] * 4)}
    stored = pa.table({name: column.dictionary_encode() for name, column in plain.items()})
    assert encode(stored) == encode(pa.table(plain))
    pa.feather.write_feather(stored, tmp_path / "stored.feather")
    assert encode(read_raw(find_file(tmp_path / "stored.feather"))) == encode(pa.table(plain))


@pytest.mark.parametrize("convert", [lambda frame: frame, pa.Table.from_pandas])
def test_numbers_that_a_user_made_categories_are_categories(convert):
    frame = pd.DataFrame({"n": pd.Categorical([7, 7, 9, None]), "size": [1.5, 2.5, 0.5, 1.0]})
    assert encode(convert(frame))[0].feature_names[:3] == ("n=7", "n=9", "n is missing")


def test_intervals_of_pandas_are_left_out_by_their_type():
    frame = pd.DataFrame({"bin": pd.cut(np.arange(4), 2), "size": [1.5, 2.5, 0.5, 1.0]})
    assert left_out(encode(frame)[0]) == {"bin": "type Interval"}


def test_dates_of_two_kinds_and_zones_go_together(make):
    text = make({"t": ["2020-01-01T00:00:00+02:00", "2020-01-01T00:00:00Z", "2020-01-02"]})
    with pytest.warns(FewRatioWarning, match="'t' has a time zone in A but none in B"):
        _, (first, second) = encode(text, make({"t": [SOME_DAY]}))
    np.testing.assert_allclose(first, [[DAY - 2 / 24], [DAY], [DAY + 1]], rtol=0, atol=1e-9)
    assert second == [[DAY]]


def test_dates_before_1700(make):
    battle = datetime.date(1066, 10, 14)
    days = (battle - datetime.date(1970, 1, 1)).days
    assert numbers_of(make({"t": [battle, SOME_DAY]})) == [[days], [DAY]]
    assert numbers_of(make({"t": ["1066-10-14", "2020-01-01"]})) == [[days], [DAY]]


def test_text_that_is_not_always_a_date_is_a_category(make):
    frame = make({"t": ["2020-01-01", "2020-01-01", "soon", "soon", "2020-13-01", "2020-13-01"]})
    assert encode(frame)[0].features == ("t=2020-01-01", "t=2020-13-01", "t=soon")


def test_nullable_and_exact_types():
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None, 3], dtype="Int64"),
            "b": pd.array([True, None, True], dtype="boolean"),
            "s": pd.array(["x", None, "x"], dtype="string"),
            "d": [Decimal("0.25"), None, Decimal("0.75")],
        }
    )
    expected = [[1, 0, 1, 0, 1, 0, 0.25, 0], [2, 1, 1, 1, 0, 1, 0.5, 1], [3, 0, 1, 0, 1, 0, 0.75, 0]]
    assert numbers_of(frame) == expected
    assert numbers_of(pl.from_pandas(frame)) == expected
    assert numbers_of(pa.Table.from_pandas(frame)) == expected


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(["lo", "hi", "lo"], categories=["lo", "mid", "hi"], ordered=True),
        pl.Series(["lo", "hi", "lo"], dtype=pl.Enum(["lo", "mid", "hi"])),
        pl.Series(["lo", "hi", "lo"], dtype=pl.Categorical),
        pa.array(["lo", "hi", "lo"]).dictionary_encode(),
    ],
)
def test_declared_categories_are_neither_ids_nor_pooled_with_unused_ones(column):
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[type(column).__module__.split(".")[0]]
    encoding, (numbers,) = encode(make({"c": column}))
    assert encoding.feature_names == ("c=hi", "c=lo")
    assert numbers == [[0, 1], [1, 0], [0, 1]]


def test_single_precision_is_kept():
    half = pl.DataFrame({"p": pl.Series([1.5, None], dtype=pl.Float32), "c": ["x", "x"], "b": [True, False]})
    whole = half.with_columns(n=pl.Series([1, 5]))
    assert encode_together({"A": half})[1][0].numbers.dtype == np.float32
    assert encode_together({"A": whole})[1][0].numbers.dtype == np.float64
    assert encode_together({"A": half.with_columns(t=SOME_DAY)})[1][0].numbers.dtype == np.float64


def test_what_cannot_be_used_is_left_out_and_said(make):
    frame = make({"list": [[1], [2, 3]], "bytes": [b"x", b"y"], "p": [1.0, 2.0], "none": [None, None]})
    encoding, (numbers,) = encode(frame)
    assert left_out(encoding) == {"list": "lists of 1 to 2 numbers", "bytes": "type binary", "none": "no values"}
    assert numbers == [[1], [2]]
    with pytest.raises(InputError, match="column 'list' of A holds lists of 1 to 2 numbers"):
        encode(frame, categorical="list")


def test_arrays_are_taken_as_they_are():
    X = np.column_stack([np.arange(20.0), np.ones(20)])
    encoding, (numbers,) = encode(X)
    assert (encoding, numbers) == (None, X.tolist())
    encoding, _ = encode(np.array([[1, np.nan], [2, 3]]), np.array([[1, 5], [2, 4]]))
    assert encoding.feature_names == ("0", "1", "1 is missing")
    assert encoding.encode([[np.nan, np.nan]]).numbers.tolist() == [[1.5, 4, 1]]


# ---------------------------------------------------------------- ids


@pytest.mark.parametrize(
    ("name", "values", "is_id"),
    [
        ("n", range(3, 13), True),
        ("n", [12, 3, 5, 4, 11, 6, 10, 8, 7, 9], True),
        ("row", [1, 2, 3], True),
        ("Row number", [1, 2, 3], True),
        ("Unnamed: 0", range(20), True),
        # A saved index, of which rows may be gone.
        ("Unnamed: 0", [7, 3, 12], True),
        ("", [7, 3, 12], True),
        ("index", [7, 3, 12], True),
        ("__index_level_0__", [7, 3, 12], True),
        ("level_0", [7, 3, 12], True),
        ("rownames", [7, 3, 12], True),
        ("index", [7, 3, 3], False),
        ("__index_level_0__", [7.5, 3, 12], False),
        ("n", [1, 2, 3, 4, 5, 6, 7, 8, 9, 11], False),
        ("n", [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5], False),
        ("floor", range(1, 13), False),  # neither the values alone
        ("index", [30, 31, 30, 35], False),  # nor the name alone
        ("body mass index", range(20, 32), False),
        ("air_quality_index", range(20, 32), False),
        ("UV index", range(12), False),
        ("customer_id", [77, 3, 12], True),
        ("customerId", [77, 3, 12], True),
        ("customer_id", [77, 3, 3], False),
        ("customer_id", [77.5, 3, 12], False),
        ("paid", [77, 3, 12], False),
        ("n", ["ann", "bob", "cy", "cy"], False),
        ("n", ["ann", "bob", "cy", "dee"], True),
        ("n", [*"abcdefghij", *"aaaaaa"], False),
        ("n", ["ann", "bob", "bob", "ann"], False),
    ],
)
@pytest.mark.filterwarnings("ignore:Column '.*' is named like an index")
def test_ids(make, name, values, is_id):
    values = list(values)
    frame, name = make({name: values, "p": [0.5] * len(values)}), name or "Unnamed: 0"
    assert left_out(encode(frame)[0]) == ({name: "id"} if is_id else {})
    assert left_out(encode(frame, keep=name)[0]) == {}


def test_a_count_that_goes_on_from_table_to_table_is_said():
    tables = [{"order": np.arange(4) + first, "p": np.ones(4)} for first in (1, 5, 9)]
    with pytest.warns(FewRatioWarning, match=r"'order' counts rows from one dataset to the next.* drop=\['order'\]"):
        assert left_out(encode_together(dict(zip("AB", tables, strict=False)))[0]) == {}
    # In three datasets it is left out.
    assert left_out(encode_together(dict(zip("ABC", tables, strict=True)))[0]) == {"order": "id"}
    # One with a gap, and one that starts again, may be measurements.
    for others in (tables[:1] + tables[2:], tables[:1] * 3):
        assert left_out(encode_together(dict(zip("ABC", others, strict=False)))[0]) == {}


def test_a_saved_index_is_left_out_of_every_container(tmp_path):
    frame = pd.DataFrame({"x": np.arange(9) / 4})[lambda each: each.x != 1]
    frame.to_csv(tmp_path / "a.csv")
    frame.to_excel(tmp_path / "a.xlsx")
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_feather(tmp_path / "a.feather")
    read = [pd.read_csv(tmp_path / "a.csv"), pl.read_csv(tmp_path / "a.csv"), pl.read_parquet(tmp_path / "a.parquet")]
    for table in (*tmp_path.iterdir(), *read, pa.Table.from_pandas(frame), frame.reset_index()):
        # Where pandas says that it is an index, it is no column.
        is_kept = not isinstance(table, pa.Table) and getattr(table, "suffix", "") not in (".parquet", ".feather")
        with pytest.warns(LeftOutWarning, match=r"Left out: '.+' \(id\)") if is_kept else nullcontext():
            assert encode_together({"A": table})[0].names == ("x",)


def test_an_index_that_counts_again_after_tables_were_joined_is_left_out(tmp_path):
    part = pd.DataFrame({"x": np.arange(9) / 4})
    pd.concat([part, part[:5]]).to_csv(tmp_path / "a.csv")
    with pytest.warns(LeftOutWarning, match=r"Left out: 'Unnamed: 0' \(id\)"):
        assert encode_together({"A": tmp_path / "a.csv"})[0].names == ("x",)
    # Of some rows nobody knows whether they count.
    pd.concat([part[3:6], part[:5]]).to_csv(tmp_path / "a.csv")
    with pytest.warns(FewRatioWarning, match=r"'Unnamed: 0' is named like an index .* drop=\['Unnamed: 0'\] leaves it"):
        assert encode_together({"A": tmp_path / "a.csv"})[0].names == ("Unnamed: 0", "x")


@pytest.mark.parametrize("write", ["to_parquet", "to_feather"])
def test_an_index_of_pandas_is_one_in_files_too(tmp_path, write):
    frame = pd.DataFrame({"x": [0.5, 1, 2], "y": ["a", "b", "b"]}, index=pd.Index([40, 30, 30], name="age"))
    getattr(frame, write)(tmp_path / f"a.{write[3:]}")
    two = frame.set_index(pd.MultiIndex.from_tuples([("u", "v"), ("u", "w"), ("x", "y")]))
    for table in (frame, tmp_path / f"a.{write[3:]}", pa.Table.from_pandas(frame)):
        for options, names in (({}, ("x", "y")), ({"keep": "age"}, ("x", "y", "age")), ({"drop": "age"}, ("x", "y"))):
            encoding, (encoded,) = encode_together({"A": table}, ColumnRules.of(options))
            assert encoding.names == names
            assert list(encoded.row_names) == ["40", "30", "30"]
    for table in (two, pa.Table.from_pandas(two)):
        assert list(encode_together({"A": table})[1][0].row_names) == ["u, v", "u, w", "x, y"]


@pytest.mark.parametrize("write", ["to_parquet", "to_feather"])
def test_numbers_that_pandas_calls_categories_are_categories_wherever_that_is_known(tmp_path, write):
    frame = pd.DataFrame({"x": [0.5, 1, 2], "c": pd.Categorical([1, 2, 1])})
    getattr(frame, write)(tmp_path / f"a.{write[3:]}")
    for table in (frame, tmp_path / f"a.{write[3:]}", pa.Table.from_pandas(frame), {"x": frame.x, "c": frame.c}):
        assert encode(table)[0].features == ("x", "c=1", "c=2")
    # A writer may have stored them so, to save space.
    assert encode(pa.table({"c": pa.array([1, 2, 1]).dictionary_encode()}))[0].features == ("c",)


def test_a_counter_that_was_split_is_an_id(make):
    p = [0.5] * 6
    tables = make({"n": [1, 3, 6, 8, 9, 12], "p": p}), make({"n": [2, 4, 5, 7, 10, 11], "p": p})
    assert left_out(encode(*tables)[0]) == {"n": "id"}
    assert left_out(encode(*tables, finds_ids=False)[0]) == {}


def test_rows_are_named_by_an_id_a_date_or_the_index():
    def names(frame, **options):
        return encode_together({"A": frame}, ColumnRules.of(options))[1][0].row_names

    later = SOME_DAY + datetime.timedelta(days=1)
    frame = pd.DataFrame({"p": [1.0, 2.0], "t": [SOME_DAY, later], "k": [7, 7.5]}, index=["u", "v"])
    assert list(names(frame, drop="t")) == ["u", "v"]
    assert list(names(frame)) == ["2020-01-01", "2020-01-02"]
    assert list(names(frame.assign(t=[SOME_DAY, None]))) == ["u", "v"]
    assert list(names(frame, id="k")) == ["7", "7.5"]
    assert names(frame.reset_index(drop=True), drop="t") is None


# ---------------------------------------------------------------- categories and gaps


def test_rare_categories_are_pooled_and_unseen_ones_belong_to_them(make):
    values = ["a"] * 150 + ["b"] * 47 + ["c"] + ["d"] * 2
    assert encode(make({"c": values}))[0].feature_names == ("c=a", "c=b", "c=c", "c=d")  # one is no pool
    encoding, (numbers,) = encode(make({"c": [*values[:-2], "d", "e"]}))
    assert encoding.feature_names == ("c=a", "c=b", "c=other")
    assert numbers[-1] == [0, 0, 1]
    assert encoding.encode(make({"c": ["new", "b", None]})).numbers.tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 0]]


def test_unseen_categories_are_zeros_where_nothing_is_pooled(make):
    encoding, _ = encode(make({"c": ["a", "b", "a", "b"]}))
    assert encoding.encode(make({"c": ["new", "a"]})).numbers.tolist() == [[0, 0], [1, 0]]


def test_gaps_that_come_later_are_filled(make):
    encoding, _ = encode(make({"p": [1.0, 3.0], "c": ["a", "a"]}))
    assert encoding.encode(make({"p": [None, 7.0], "c": ["a", None]})).numbers.tolist() == [[2, 1], [7, 0]]


def test_gaps_are_refused_where_no_median_is_known():
    estimator = RuLSIF().fit(np.eye(3, 2), np.zeros((3, 2)))
    for later in (np.array([[1, 1], [1, np.nan]]), pd.DataFrame([[True, 1], [True, None]])):
        with pytest.raises(InputError, match="X has 1 NaN or infinite value, the first in column 1 at row 1"):
            estimator.predict(later)


def test_ten_thousand_categories(make):
    encoding, _ = encode(make({"c": [f"c{number // 3}" for number in range(30_000)], "p": [0.5] * 30_000}))
    assert encoding.feature_names == ("c=other", "p")
    many = [f"c{number:02}" for number in range(80)] * 2
    assert len(encode(make({"c": many}), keep="c")[0].feature_names) == 51


def test_the_median_of_the_largest_numbers():
    encoding, _ = encode(pl.DataFrame({"p": [1.5e308, 1.7e308, None]}))
    assert encoding.columns[0].median == 1.6e308


# ---------------------------------------------------------------- what a user can say


def test_columns_drop_and_common(make):
    left = make({"p": [1.0, 2.0], "q": [3.0, 4.0], "only": ["x", "x"]})
    right = make({"more": [1, 1], "q": [7.0, 8.0], "p": [5.0, 6.0]})
    expected = [[[1, 3], [2, 4]], [[5, 7], [6, 8]]]
    for options in (dict(columns=["q", "p"]), dict(drop=["only", "more"]), dict(common=True)):
        encoding, numbers = encode(left, right, **options)
        assert (encoding.feature_names, numbers) == (("p", "q"), expected)
        # Later tables may still have what is not used, or not.
        assert encoding.encode(left).numbers.tolist() == expected[0]
        assert encoding.encode(right).numbers.tolist() == expected[1]
    assert encode(left, right, columns="p")[1] == [[[1], [2]], [[5], [6]]]
    with pytest.raises(CollectionError, match=r"B has other column names than A .missing: 'only'; unexpected: 'more'"):
        encode(left, right)
    with pytest.raises(MissingColumnError, match="B has no column 'only'"):
        encode(left, right, columns=["p", "only"])


@pytest.mark.parametrize("option", ["columns", "drop", "keep", "id", "categorical", "numeric"])
@pytest.mark.parametrize("common", [True, False])
def test_a_column_that_is_named_must_exist(option, common):
    with pytest.raises(MissingColumnError, match="A has no column 'typo'; its columns are 'p'"):
        encode(pl.DataFrame({"p": [1.0]}), common=common, **{option: "typo"})


def test_categorical_and_numeric(make):
    frame = make({"code": [1.0, 2.0, 1.0, 2.0], "text": ["1", "2", " 3", "4e0"]})
    encoding, (numbers,) = encode(frame, categorical="code", numeric=["text"])
    assert encoding.feature_names == ("code=1", "code=2", "text")
    assert numbers == [[1, 0, 1], [0, 1, 2], [1, 0, 3], [0, 1, 4]]
    with pytest.raises(InputError, match=r"column 'text' of A holds 'x' at row 1 .*which is not a number"):
        encode(make({"text": ["1", "x"]}), numeric="text")
    with pytest.raises(InputError, match="column 'text' of A has 1 infinite value, the first at row 1"):
        encode(make({"text": ["1", "inf"]}), numeric="text")


def test_refusal_of_all_but_numbers(make):
    with pytest.raises(InputError, match=r"B has 1 column that cannot be used: column 'c' \(text\), such as 'x'"):
        encode(make({"c": [1, 2]}), make({"c": ["x", "x"]}), categorical="error")
    assert numbers_of(make({"c": [1.5, 2], "b": [True, False]}), categorical="error") == [[1.5, 1], [2, 0]]


def test_options_that_do_not_go_together():
    encoding, _ = encode(pl.DataFrame({"p": [1.0]}))
    with pytest.raises(ParameterError, match="Pass only one of the two"):
        ColumnRules.of(dict(encoding=encoding, drop="p"))
    with pytest.raises(ParameterError, match="'p' is in categorical and in numeric"):
        ColumnRules.of(dict(categorical="p", numeric=["p"]))
    with pytest.raises(ParameterError, match=r"keep is .None.; expected names"):
        ColumnRules.of(dict(keep=[None]))
    with pytest.raises(ParameterError, match="encoding is a str"):
        encode(pl.DataFrame({"p": [1.0]}), encoding="onehot")
    with pytest.raises(ParameterError, match="'missing' is not an option for columns; those are columns, drop, keep"):
        ColumnRules.of(dict(missing="median"))


def test_another_collections_encoding(make):
    columns = {"site": ["u", "v"] * 3, "p": [1.0, 2, 3, 4, 5, None], "c": ["a", "b", "b", "a", "a", "b"]}
    first = Collection.from_frame(make(columns), "site")
    assert first.feature_names == ("p", "p is missing", "c=a", "c=b")
    other = make({"site": ["w"], "c": ["new"], "p": [None]})
    with pytest.warns(UserWarning, match=r"column 'c' of .* has categories that are not in .* \('new'\)"):
        second = Collection.from_frame(other, "site", encoding=first.encoding)
    assert second["w"].X.tolist() == [[3, 1, 0, 0]]
    assert second.encoding == first.encoding == first[:1].encoding


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"name": ["a", "b", "c"], "user_id": [5, 1, 9]}, "no column is left to use: 'name' .id., 'user_id' .id."),
        ({"p": [None, None], "q": [None, None]}, "no column is left to use: 'p' .no values., 'q' .no values."),
        ({"p": [1.0, np.inf]}, r"column 'p' of A has 1 infinite value, the first at row 1 \(counting from 0\)"),
        ({"p": [str(number) for number in range(30)] + ["oops"]}, "30 of its 31 .* other value is 'oops' at row 30"),
        ({"p": ["1,5", "2,25", "3"]}, "looks like decimal commas"),
        ({"p": ["16.99 kg", "17.5 kg"]}, r"looks like numbers with the unit 'kg' \(such as '16.99 kg' at row 0"),
        ({"p": ["5km/h", "12km/h", "12km/h"]}, "looks like numbers with the unit 'km/h'"),
    ],
)
def test_bad_columns_are_named(make, columns, found):
    with pytest.raises(InputError, match=found):
        encode(make(columns))


def test_kinds_that_differ_between_tables(make):
    with pytest.raises(
        CollectionError, match=r"'p' holds numbers in A but text in B \(the first text is 'x' at row 0, "
    ):
        encode(make({"p": [1, 2]}), make({"p": ["x", "y"]}))
    with pytest.warns(FewRatioWarning, match="'p' holds booleans in B but numbers in A"):
        assert encode(make({"p": [1, 2]}), make({"p": [True, False]}))[1] == [[[1], [2]], [[1], [0]]]
    empty = pa.table({"p": pa.array([None], pa.string())})
    assert encode(make({"p": [1, 2]}), empty)[1] == [[[1, 0], [2, 0]], [[1.5, 1]]]


def test_one_row_and_a_constant():
    _, numbers = encode(pl.DataFrame({"p": [1.5], "c": ["x"]}), pl.DataFrame({"p": [2.5], "c": ["x"]}))
    assert numbers == [[[1.5, 1]], [[2.5, 1]]]


def test_other_columns_are_refused_later(make):
    encoding, _ = encode(make({"p": [1.0, 2.0], "c": ["a", "a"]}))
    with pytest.raises(InputError, match=r"X has other column names than the tables .*missing: 'c'; unexpected: 'd'"):
        encoding.encode(make({"p": [1.0], "d": ["a"]}))
    with pytest.raises(InputError, match="column 'p' of X holds dates, but numbers are needed"):
        encoding.encode(make({"p": [SOME_DAY], "c": ["a"]}))
    with pytest.raises(InputError, match="X has 3 columns"):
        encoding.encode([[1, 2, 3]])


# ---------------------------------------------------------------- nothing depends on order or library

cells = {
    "p": st.none() | st.floats(-1e300, 1e300),
    "n": st.none() | st.integers(-5, 5),
    "c": st.none() | st.sampled_from(["a", "b", "ä", "x y", "7th"]),
    "b": st.none() | st.booleans(),
    "t": st.none() | st.dates(datetime.date(1500, 1, 1), datetime.date(2200, 1, 1)),
}
tables = st.lists(st.tuples(*cells.values()), min_size=1, max_size=9)


def frame_of(rows, make=pl.DataFrame, order=tuple(cells)):
    """Make a table; a column with nothing in it has no type, in no library."""
    columns = {name: [row[place] for row in rows] for place, name in enumerate(cells)}
    return make({name: columns[name] for name in order})


def by_name(*frames):
    """Give the encoded rows of each table by the features' names."""
    encoding, numbers = encode(*frames, keep=list(cells))
    return [[dict(zip(encoding.features, row, strict=True)) for row in rows] for rows in numbers]


@quick
@given(first=tables, second=tables, data=st.data())
def test_order_and_library_change_nothing(first, second, data):
    if all(row == (None,) * len(cells) for row in (*first, *second)):
        return
    expected = by_name(frame_of(first), frame_of(second))
    order = data.draw(st.permutations(range(len(first))))
    columns = data.draw(st.permutations(list(cells)))
    make = FRAMES[data.draw(st.sampled_from(list(FRAMES)))]
    changed = frame_of([first[row] for row in order], make, columns)
    other, mine = by_name(frame_of(second), changed)
    assert other == expected[1]
    assert mine == [expected[0][row] for row in order]


@quick
@given(rows=st.lists(st.integers(0, 12), min_size=1, max_size=14), data=st.data())
def test_which_numbers_are_ids_depends_on_no_order(rows, data):
    shuffled = data.draw(st.permutations(rows))
    found = [left_out(encode(pl.DataFrame({"n": column, "p": 0.5}))[0]) for column in (rows, shuffled)]
    assert found[0] == found[1]


# ---------------------------------------------------------------- in files

words = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=4)
finite = st.floats(allow_nan=False, allow_infinity=False)
columns = st.builds(
    Column,
    words,
    st.sampled_from(["number", "boolean", "category", "date"]),
    st.none() | st.sampled_from(["id", "dropped"]),
    st.lists(words, max_size=3, unique=True).map(tuple),
    st.booleans(),
    st.none() | finite,
    st.booleans(),
)


@quick
@given(
    st.lists(columns, min_size=1, max_size=4, unique_by=lambda column: column.name), st.booleans(), st.none() | words
)
@pytest.mark.slow
def test_an_encoding_survives_json(columns, is_named, id_column):
    encoding = Encoding(tuple(columns), is_named, id_column)
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding


COLUMN = Column("c", "category", None, ("a", "b"))


@pytest.mark.parametrize(
    "content",
    [
        *(
            {"columns": [Encoding((COLUMN,)).to_dict()["columns"][0] | change], "is_named": True, "id": None}
            for change in (
                *({"name": 3}, {"kind": "guess"}, {"left_out": 1}, {"pools_others": 1}, {"marks_missing": None}),
                *(
                    {"median": "2"},
                    {"median": float("inf")},
                    {"categories": "ab"},
                    {"categories": ["a", "a"]},
                    {"x": 1},
                ),
            )
        ),
        {"columns": Encoding((COLUMN, COLUMN)).to_dict()["columns"], "is_named": True, "id": None},
        {"columns": [], "is_named": 1, "id": None},
        {"columns": [], "is_named": True, "id": 1},
        {},
    ],
)
def test_contents_that_do_not_fit_are_refused(content):
    with pytest.raises((ValueError, TypeError, KeyError)):
        Encoding.from_dict(content)


def test_ids_that_occur_in_both_tables(make):
    first, second = (
        make({"patient": [f"P{i}" for i in order], "x": [0.5] * 9}) for order in (range(9), range(8, -1, -1))
    )
    encoding, _ = encode(first, second)
    assert (encoding.names, encoding.id) == (("x",), "patient")


def test_an_id_that_repeats_does_not_name_rows(make):
    encoding, _ = encode(make({"customer_id": [7, 7, 9, 12], "order_key": [4, 2, 3, 1], "x": [0.5, 1.5, 2.5, 4]}))
    assert (encoding.names, encoding.id) == (("customer_id", "x"), "order_key")


@pytest.mark.parametrize(
    "texts",
    [
        ["1,366.80", "12,000.00"],
        ["51%", "3.5%"],
        ["$4", "$1,200"],
        ["31.01.2024", "1.2.2024"],
        ["31-Jan-24", "1-Feb-24"],
        ["Wed Jan 31 2024", "Thu Feb 1 2024"],
    ],
)
def test_numbers_and_dates_in_other_forms_are_refused(make, texts):
    with pytest.raises(InputError, match=r"column 'p' of A looks like .*name the column in categorical or drop."):
        encode(make({"p": texts * 3, "x": [0.5] * 6}))
    assert "p=" + texts[0] in encode(make({"p": texts * 3, "x": [0.5] * 6}), categorical="p")[0].feature_names


@pytest.mark.parametrize("texts", ["4WD 2WD AWD", "1980s 1990s 2000s", "3G 4G 5G", "0 1 2 3+", "4th 5th 6th", "1 2 G"])
def test_a_few_texts_that_repeat_are_categories(make, texts):
    names = texts.split()
    encoding, _ = encode(make({"p": names * 5, "x": [0.5] * 5 * len(names)}))
    assert {f"p={name}" for name in names} <= set(encoding.feature_names)


@pytest.mark.parametrize(
    "form",
    ["%Y/%m/%d", "%Y/%m/%d %H:%M", "%B %d, %Y", "%b %d %Y %I:%M %p", "%d-%b-%Y", "%d %B %Y", "%Y-%m-%d %I:%M %p"],
)
def test_dates_that_can_be_read_in_one_way_are_read(make, form):
    days = [datetime.datetime(2020, month, 3) for month in range(1, 10)]
    first, second = (make({"day": [day.strftime(each) for day in days], "x": [0.5] * 9}) for each in (form, "%Y-%m-%d"))
    encoding, (found, expected) = encode(first, second)
    assert encoding.columns[0].kind == "date"
    assert found == expected


def test_times_with_am_and_pm_are_times_of_day(make):
    encoding, (found, expected) = encode(
        *(make({"at": at * 3}) for at in (["12:00 AM", "12:05 pm", "1:30:00 PM"], ["00:00", "12:05", "13:30"]))
    )
    assert encoding.columns[0].kind == "time of day"
    assert found == expected


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ({"permutations": 9}, r"Did you mean n_permutations\?"),
        ({"n_permutation": 9}, r"Did you mean n_permutations\?"),
        ({"seed": 1}, r"Did you mean random_state\?"),
        ({"dorp": "x"}, r"Did you mean drop\?"),
        ({"shared": True}, "Pass one of them."),
        ({"decimal": ","}, r"Pass read_table\(path, decimal=','\) as the table\."),
    ],
)
def test_a_misspelt_option_gets_the_name_that_python_has_for_it(option, advice):
    rows = np.arange(6.0).reshape(3, 2)
    with pytest.raises(ParameterError, match=f"is not an option for columns; .*{advice}"):
        compare_datasets(rows, rows, **option)


_YEARS = {
    "years": [1960, 1970, 1980],
    "floats": [1960.0, 1970.0, 1980.0],
    "numbers": [3, 1, 2],
    "dates": pd.to_datetime(["1960-01-01", "1970-01-01", "1980-01-01"]),
    "levels": pd.MultiIndex.from_tuples([("size", "mean"), ("size", "max"), ("n", "")]),
    "mixed": ["size", 1970, 1980],
}


@pytest.mark.parametrize("labels", _YEARS.values(), ids=_YEARS)
def test_labels_of_frames_are_names_whatever_their_type(labels):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 3)), columns=labels)
    result = compare_datasets(frame, frame.iloc[:, ::-1], random_state=0)
    assert result.p_value == 1
    assert {column.column for column in result.columns} == {write_label(label) for label in labels}
    detector = InlierOutlierDetector().fit(frame)
    assert detector.score_samples(frame.iloc[:, ::-1]) == pytest.approx(detector.score_samples(frame))
    with pytest.raises(CollectionError, match="other column names"):
        compare_datasets(frame.iloc[:, :2], frame.iloc[:, 1:])
    dropped = compare_datasets(frame, frame, drop=[labels[0]], random_state=0)
    assert [column.left_out for column in dropped.encoding.columns] == ["dropped", None, None]


def test_labels_of_frames_match_texts():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 2)), columns=["1960", "1970"])
    other = frame.iloc[:, ::-1].rename(columns=int)
    assert compare_datasets(frame, other, random_state=0).p_value == 1
    columns = {1970: frame["1970"].tolist(), 1960: frame["1960"].tolist()}
    assert compare_datasets(frame, columns, random_state=0).p_value == 1
    assert write_label(("size", "mean")) == "size mean"
    assert write_label(pd.Timestamp("1960-01-01")) == "1960-01-01"


def test_frames_without_labels_match_by_position():
    numbers = np.random.default_rng(0).normal(size=(9, 2))
    frame = pd.DataFrame(numbers)
    for one, other in [(frame, numbers), (frame, frame.set_axis(["p", "q"], axis=1)), (frame, frame)]:
        assert compare_datasets(one, other, random_state=0).p_value == 1
    # Numbers in another order are names.
    assert compare_datasets(frame, frame[[1, 0]], random_state=0).p_value == 1
    model = InlierOutlierDetector().fit(frame[[1, 0]])
    assert model.score_samples(frame) == pytest.approx(model.score_samples(frame[[1, 0]]))


def test_labels_of_the_same_text_are_refused():
    with pytest.raises(InputError, match=r"A has columns that share a name \(1960 and '1960'\)"):
        compare_datasets(pd.DataFrame([[1, 2]], columns=[1960, "1960"]), np.ones((1, 2)))


@pytest.mark.parametrize("texts", [["16.5", "-1e3", "8", "nan"], ["1", "2", "1", None]], ids=["different", "repeated"])
def test_text_that_is_numbers_is_read_so_with_a_warning(make, texts):
    table, numbers = make({"p": texts * 3}), make({"p": [float(text or "nan") for text in texts] * 3})
    with pytest.warns(FewRatioWarning, match=r"'p' holds text in A, of .*read as numbers. .*categorical=\['p'\]"):
        encoding, (encoded,) = encode(table)
    expected, (plain,) = encode(numbers)
    assert encoding == expected
    assert encoded == plain
    with pytest.warns(FewRatioWarning, match="holds text in B"):
        assert encode(numbers, table)[0].columns[0].kind == "number"
    assert encode(table, categorical="p")[0].columns[0].kind == "category"
    assert encode(table, numeric="p")[0].columns[0].kind == "number"


@pytest.mark.parametrize("texts", [["1_2", "1_3", "1_2"], ["4 m", "5 kg", "4 m"]])
def test_text_that_only_looks_like_numbers_is_a_category(make, texts):
    assert encode(make({"p": texts}))[0].columns[0].kind == "category"


def test_digits_with_leading_zeros_are_codes_in_all_tables_and_that_is_said(make):
    tables = make({"p": ["007", "008"] * 4}), make({"p": ["7", "8"] * 4})
    with pytest.warns(
        FewRatioWarning, match=r"'p' has leading zeros, such as '007'; it is read as text. numeric=\['p'\]"
    ):
        assert encode(*tables)[0].features == ("p=007", "p=008", "p=7", "p=8")
    assert encode(*tables, numeric="p")[1] == [[[7], [8]] * 4] * 2
    with pytest.warns(FewRatioWarning, match="read as numbers"):
        assert encode(make({"p": ["007", "7.5"]}))[1] == [[[7], [7.5]]]


@pytest.mark.parametrize(
    ("texts", "others", "found"),
    [
        (
            [f"{hour:02}:15" for hour in range(9)],
            ["?"],
            r"9 of its 10 .* times of day, .* other value is '\?' at row 9",
        ),
        (
            [f"{hour:02}:15" for hour in range(9)],
            ["24:00"],
            r"other value is '24:00' at row 9",
        ),
        ([f"2024-01-0{day}" for day in range(1, 9)], ["unknown"], "8 of its 9 .* dates, .* is 'unknown' at row 8"),
        ([f"2024-01-0{day}" for day in range(1, 9)], ["2024-02-30"], "are dates, .* is '2024-02-30' at row 8"),
        ([f"2024-01-0{day}" for day in range(1, 9)], ["1/2/2024"], "looks like dates with the day or month first"),
        ([f"{n} days" for n in range(9)], ["?"], "are durations, .* is '\\?' at row 9"),
        ([f"{n}.5" for n in range(9)], ["?"], "are numbers, .* is '\\?' at row 9"),
        ([f"{n}.5 kg" for n in range(9)], ["?"], "looks like numbers with the unit 'kg'"),
    ],
)
def test_one_cell_does_not_make_measurements_categories(make, tmp_path, texts, others, found):
    tables = make({"t": [*texts, *others]}), make({"t": texts})
    with pytest.raises(InputError, match=f"column 't' of A .*{found}.*name the column in categorical or drop"):
        encode(*tables)
    assert encode(*tables, categorical="t")[0].columns[0].kind == "category"
    (tmp_path / "a.csv").write_text("\n".join(["t,x", *(f"{text},0.5" for text in [*texts, *others])]))
    with pytest.raises(InputError, match=found):
        encode(tmp_path / "a.csv")


def test_texts_are_of_the_same_kind_in_all_tables_as_they_are_in_files(make):
    days = [f"2024-01-0{day}" for day in range(1, 9)]
    with pytest.raises(CollectionError, match="'d' holds dates in A but numbers in B; all must hold the same"):
        encode(make({"d": days}), make({"d": [day.replace("-", "") for day in days]}))
    with pytest.raises(CollectionError, match=r"'d' holds text in A but numbers in B \(the first text is 'a' at row 0"):
        encode(make({"d": ["a", "b"] * 4}), make({"d": ["7", "8"] * 4}))


def test_points_that_may_divide_thousands_are_not_guessed(make, tmp_path):
    texts = ["1.250", "980", "12.400", "870"]
    with pytest.raises(
        InputError, match=r"points all come before three digits \(such as '1.250' .*numeric=\['p'\] reads"
    ):
        encode(make({"p": texts}))
    assert numbers_of(make({"p": texts}), numeric="p") == [[1.25], [980], [12.4], [870]]
    with pytest.warns(FewRatioWarning, match="read as numbers"):
        assert numbers_of(make({"p": ["1.250", "0.980"]})) == [[1.25], [0.98]]
    # Where commas are decimal marks.
    (tmp_path / "a.csv").write_text("q;p\n" + "".join(f"1,5;{text}\n" for text in texts))
    with pytest.raises(InputError, match="points all come before three digits"):
        encode(tmp_path / "a.csv")


def test_commas_before_three_digits_are_not_taken_for_decimal_marks(make, tmp_path):
    texts = ["1,262", "743", "2,104"]
    advice = r"numbers with commas .*If the commas divide thousands, .*remove them; if they are decimal marks"
    with pytest.raises(InputError, match=advice + r".*read_table\(path, decimal=','\)"):
        encode(make({"p": texts}))
    with pytest.raises(InputError, match=r"thousands separators .* Remove what is not part of the numbers, or name"):
        encode(make({"p": [*texts, "1,250.5"]}))
    # Nor by what reads a file whose columns semicolons divide.
    (tmp_path / "a.csv").write_text("p;q\n" + "".join(f"{text};1\n" for text in texts))
    with pytest.raises(InputError, match=advice):
        encode(tmp_path / "a.csv")
    assert encode(fewratio.read_table(tmp_path / "a.csv", decimal=","))[1][0][0] == [1.262, 1]


@pytest.mark.parametrize(
    ("texts", "seconds"),
    [
        (["2h 5m", "19h", "45 min", "1 d 2 h 3 min 4.5 s"], [7500, 68_400, 2700, 93_784.5]),
        (["PT20M3S", "P0DT1H0M0.5S", "P1D"], [1203, 3600.5, 86_400]),
    ],
)
def test_durations_with_units_are_read(make, texts, seconds):
    encoding, (numbers,) = encode(make({"t": texts}))
    assert encoding.columns[0].kind == "duration"
    assert [row[0] for row in numbers] == seconds


def test_a_minus_of_typographers_is_a_minus(make):
    with pytest.warns(FewRatioWarning, match="read as numbers"):
        assert numbers_of(make({"p": ["\u22121.5", "2.5"]})) == [[-1.5], [2.5]]


def test_the_arguments_that_messages_know_are_those_of_the_functions():
    functions = [getattr(fewratio, name) for name in fewratio.__all__ if inspect.isfunction(getattr(fewratio, name))]
    kinds = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD
    for function in (*functions, fewratio.Collection.from_arrays):
        parameters = inspect.signature(function).parameters.values()
        if any(each.kind is kinds[1] and each.name == "columns" for each in parameters):
            assert {each.name for each in parameters if each.kind is kinds[0]} <= set(ARGUMENTS)


def test_the_nearest_names_of_columns_come_first():
    table = pl.DataFrame({f"c{i}": [0.5, 1.5] for i in range(20)} | {"weight": [1.0, 2.5]})
    with pytest.raises(MissingColumnError, match=r"its columns are 'weight', 'c0', .*\. Did you mean 'weight'\?"):
        compare_datasets(table, table, drop="wieght")


@pytest.mark.parametrize(
    ("kind", "means", "deviations", "expected"),
    [
        ("number", [9.0242087, 9.0242133], [0.451, 0.4522], ["9.02 ± 0.45", "9.02 ± 0.45"]),
        ("number", [41457589.2, 39457589.7], [1.4e8, 2e8], ["41,457,589 ± 140,000,000", "39,457,590 ± 200,000,000"]),
        ("number", [0.001, 0.0478], [1.0, 1.0], ["0.00 ± 1.00", "0.05 ± 1.00"]),
        ("number", [-0.001, 2008.25], [0.0, 1.09], ["0.0 ± 0.0", "2008.2 ± 1.1"]),
        ("number", [2002.0, 2007.0], [0.0, 0.0], ["2002 ± 0", "2007 ± 0"]),
        ("number", [3e-9, 5e-9], [1e-9, 1e-9], ["3e-9 ± 1e-9", "5e-9 ± 1e-9"]),
        ("number", [547835.2, 12.0], [1166248.0, 30.0], ["547,835 ± 1,166,248", "12 ± 30"]),
        ("date", [20014.76, 20014.1], [174.0, 170.0], ["2024-10-18 ± 174 days", "2024-10-18 ± 170 days"]),
        ("date", [2027.0, 2100.0], [1390.0, 25.0], ["1975-07-21 ± 3.81 years", "1975-10-02 ± 25 days"]),
        ("duration", [86400.0 * 3000, 7200.0], [86400.0, 60.0], ["8.214 years ± 24 h", "2 h ± 60 s"]),
    ],
)
def test_means_and_deviations_have_the_same_decimals(kind, means, deviations, expected):
    assert Column("p", kind).write_means(means, deviations) == expected


def test_whole_numbers_that_floats_merge_are_refused_and_name_rows_exactly(make, tmp_path):
    first, second = ([2**60 + start + n for n in range(9)] for start in (0, 50))
    advice = "are the same 64-bit float; .*Subtract 1152921504606846976 from the column in all tables"
    tables = [(make({"p": first}), make({"p": second})), (make({"p": first[:1]}), make({"p": second[:1]}))]
    tables += [(np.array(first)[:, None], np.array(second)[:, None])]
    for name, values in {"a": first, "b": second}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(map(str, ["p", *values])))
    for pair in (*tables, (tmp_path / "a.csv", tmp_path / "b.csv")):
        with pytest.raises(InputError, match=advice):
            encode(*pair)
    named = [make({"user_id": each, "x": [0.5] * 9}) for each in (first, second)]
    encoding, _ = encode(*named)
    assert left_out(encoding) == {"user_id": "id"}
    assert list(encoding.encode(named[0]).row_names) == list(map(str, first))
    twice = make({"p": first * 2}), make({"p": second * 2})
    assert len(encode(*twice, categorical="p")[0].features) == 18
    # Nanoseconds since 1970 stay different.
    assert numbers_of(make({"p": [1_700_000_000 * 10**9, 1_700_000_001 * 10**9]}))[1] == [1_700_000_001e9]


@pytest.mark.parametrize(
    ("values", "advice"), [([None] * 3, "Pass a column of"), (["a", "b", "c"], r"keep=\['p'\] uses")]
)
def test_what_can_help_is_advised_where_no_column_is_left(values, advice):
    with pytest.raises(InputError, match=f"no column is left to use: 'p' .*; at least one is needed. {advice}"):
        encode(pd.DataFrame({"p": values}))


def test_rows_that_were_entered_twice_do_not_turn_an_id_into_a_measurement():
    rng = np.random.default_rng(0)
    first, second = ({"order_id": range(start, start + 60), "x": rng.normal(size=60)} for start in (1000, 2000))
    again = {"order_id": [*second["order_id"], 2003, 2009], "x": [*second["x"], *second["x"][[3, 9]]]}
    for table in (second, again):
        with pytest.warns(LeftOutWarning, match="'order_id'"):
            assert compare_datasets(first, table, n_permutations=99).p_value > 0.05
    # References to another table repeat more.
    orders = {"product_id": rng.integers(0, 30, 60), "x": rng.normal(size=60)}
    assert compare_datasets(orders, orders | {"x": rng.normal(size=60)}, n_permutations=9).columns[1:]
