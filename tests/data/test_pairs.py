"""Labels of rows: which column names them, and how series are aligned."""

import numpy as np
import pandas as pd
import pytest

from fewratio import Collection, Dataset, InputError, ParameterError, compare_datasets
from fewratio.data.pairs import find_shared_names
from fewratio.data.raw_table import as_raw
from fewratio.errors import FewRatioWarning

DAYS = [f"2024/01/{i}" for i in range(10, 20)]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ({"name": list("abcdefghij")}, {"name": list("jihgfedcba")}, ("name", 10)),
        ({"name": list("abcdefghij")}, {"name": list("cdefghijkl")}, ("name", 8)),
        ({"name": list("abcdefghij")}, {"name": list("ghijklmnop")}, None),
        ({"name": list("abcdefghij")}, {"name": list("abcdefghii")}, None),
        ({"name": list("abcdefg")}, {"name": list("abcdefg")}, None),
        ({"patient_id": range(10)}, {"patient_id": range(10)}, ("patient_id", 10)),
        ({"id": range(1, 11)}, {"id": range(1, 11)}, None),
        ({"id": range(101, 111)}, {"id": range(101, 111)}, ("id", 10)),
        ({"size": range(101, 111)}, {"size": range(101, 111)}, None),
        ({"patient_id": np.arange(10) / 2}, {"patient_id": np.arange(10) / 2}, None),
        ({"pidnum": np.arange(10) ** 2}, {"pidnum": np.arange(10) ** 2}, ("pidnum", 10)),
        ({"row_id": range(10)}, {"row_id": range(10)}, None),
        ({"size": [*range(8), np.inf, np.inf]}, {"size": [*range(8), np.inf, np.inf]}, None),
        ({"day": DAYS}, {"day": [f"{day} 00:00:00" for day in DAYS]}, ("day", 10)),
        ({"day": DAYS}, {"day": pd.to_datetime(DAYS)}, ("day", 10)),
    ],
    ids=str,
)
def test_names_are_unique_and_mostly_shared(first, second, found):
    assert find_shared_names(as_raw(pd.DataFrame(first)), as_raw(pd.DataFrame(second))) == found


def series_of_blocks():
    rng = np.random.default_rng(0)
    level = np.repeat(10 * rng.normal(size=10), 2)
    table = pd.DataFrame({"value": np.tile(level, 2) + rng.normal(size=40), "year": np.repeat([0, 1], 20)})
    return table, pd.Series(np.tile(np.repeat(np.arange(10), 2), 2), name="patient")


def test_a_series_of_labels_goes_by_its_index():
    table, patient = series_of_blocks()
    A, B = table.query("year == 0")[["value"]], table.query("year == 1")[["value"]]

    def p_value(A, B, *blocks):
        return compare_datasets(A, B, blocks=blocks, random_state=0).p_value

    expected = p_value(A, B, patient[:20].to_numpy(), patient[20:].to_numpy())
    shuffled = patient.sample(frac=1, random_state=0)
    assert p_value(A.set_axis(A.index + 100), B, shuffled.set_axis(shuffled.index + 100), shuffled) == expected
    # An array has no index.
    assert p_value(A.to_numpy(), B.to_numpy(), patient[:20], patient[20:]) == expected
    with pytest.raises(InputError, match="index of blocks of B is not that of B; a series goes by its index"):
        p_value(A, B, patient[:20], patient[20:].reset_index(drop=True))
    with pytest.raises(InputError, match="index of blocks of A is not that of A"):
        p_value(A, B, patient, patient)


def test_marks_of_outliers_go_by_their_index():
    table = pd.DataFrame({"x": [1.0, 2.0, 9.0]}, index=list("abc"))
    marks = pd.Series([True, False, False], index=list("cab"))
    assert Dataset("one", None, table, marks).is_outlier.tolist() == [False, False, True]
    assert Collection.from_arrays({"one": table}, outliers=[marks])["one"].is_outlier.tolist() == [False, False, True]
    with pytest.raises(InputError, match="the index of is_outlier is not that of dataset 'one'"):
        Dataset("one", None, table, marks.set_axis(list("cax")))


@pytest.mark.parametrize("make", [dict, pd.Series])
def test_groups_of_datasets_go_by_name(make):
    tables = {"one": [[1.0]], "two": [[2.0]]}
    assert Collection.from_arrays(tables, groups=make({"two": "b", "one": "a"})).groups == ("a", "b")
    with pytest.raises(ParameterError, match="groups are of 'two', 'three', but the datasets are 'one', 'two'"):
        Collection.from_arrays(tables, groups=make({"two": "b", "three": "a"}))
    assert Collection.from_arrays(tables, groups=pd.Series(["a", "b"])).groups == ("a", "b")


def test_pairs_by_dates_in_any_form_and_by_a_named_index():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"day": DAYS, "size": rng.normal(size=10)})
    other = table.assign(size=table["size"] + 1)[::-1]
    expected = compare_datasets(table, other, paired="day", random_state=0)
    forms = [other.assign(day=pd.to_datetime(other.day)), other.assign(day=other.day + " 00:00:00")]
    forms.append(other.assign(day=pd.to_datetime(other.day).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")))
    for form in [*forms[:2], other.set_index("day"), forms[0].set_index("day")]:
        result = compare_datasets(table, form, paired="day", random_state=0)
        assert result.p_value == expected.p_value
        assert result.paired_rows[1].tolist() == list(range(10))[::-1]
    with pytest.warns(FewRatioWarning, match="has a time zone in B but none in A"):
        assert compare_datasets(table, forms[2], paired="day", random_state=0).p_value == expected.p_value
    with pytest.warns(FewRatioWarning, match=r"have 10 values of 'day' in common.*paired='day' compares the pairs"):
        compare_datasets(table.set_index("day"), other.set_index("day"), random_state=0)
