"""Columns that tell two samples apart by themselves: found where they made the split, and not by chance."""

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewratio import RuLSIF
from fewratio.data.columns import ColumnRules
from fewratio.data.encoding import encode_together
from fewratio.data.non_overlapping import find_non_overlapping, leave_out_columns
from fewratio.estimators.samples import read_samples
from tests.strategies import quick, seeds


def find(first, second, is_batch=False, **options):
    """Return what is found in two tables, each a dict of columns, by column."""
    named = {"A": pl.DataFrame(first, strict=False), "B": pl.DataFrame(second, strict=False)}
    encoding, (a, b) = encode_together(named, ColumnRules.of(options))
    found = find_non_overlapping(encoding, a.numbers, b.numbers, is_batch)
    return {name: (one, other) for name, one, other in found}


def noise(n, seed):
    return np.random.default_rng(seed).normal(size=n).tolist()


def day(number):
    return datetime.date(2020, 1, 1) + datetime.timedelta(number)


# ---------------------------------------------------------------- what made the split


@pytest.mark.parametrize("n", [5, 8, 50])
@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ("u", "v", ("u", "v")),
        (2007, 2008, ("2007", "2008")),
        (True, False, ("True", "False")),
        (day(0), day(1), ("2020-01-01", "2020-01-02")),
        (None, 1.5, ("no values", "1.5")),
    ],
)
def test_two_constants_separate_from_five_rows_each(n, left, right, words):
    p = noise(2 * n, 0)
    a, b = {"s": [left] * n, "p": p[:n]}, {"s": [right] * n, "p": p[n:]}
    assert find(a, b) == {"s": words}
    assert find({"s": a["s"][:4], "p": p[:4]}, {"s": b["s"][:4], "p": p[4:8]}) == {}


@pytest.mark.parametrize("more", [0, 12, 52])
@pytest.mark.parametrize(
    ("n", "left", "right", "words"),
    [
        (8, lambda i: 2000 + i % 7, lambda i: 2010 + i % 7, ("2000 to 2006", "2010 to 2016")),
        (8, lambda i: day(i % 7), lambda i: day(7 + i % 7), ("2020-01-01 to 2020-01-07", "2020-01-08 to 2020-01-14")),
        (10, lambda i: "ab"[i % 2], lambda i: "cd"[i % 2], ("a, b", "c, d")),
    ],
)
def test_values_that_do_not_overlap_separate_from_eight_rows_each(more, n, left, right, words):
    """Sets of categories from ten: there are more ways for them to fall apart."""
    n += more
    p = noise(2 * n, 1)
    a = {"s": [left(i) for i in range(n)], "p": p[:n]}
    b = {"s": [right(i) for i in range(n)], "p": p[n:]}
    assert find(a, b) == {"s": words}
    assert find(b, a) == {"s": words[::-1]}
    # A single value on the other side is enough not to.
    assert find(a, b | {"s": [a["s"][0], *b["s"][1:]]}) == {}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1.0] * 20, noise(20, 2)),  # constant in one table only, within the range of the other
        (["u"] * 20, ["u", "v"] * 10),
        ([None, 1.0] * 10, [1.0, 2.0] * 10),
        (["u"] * 20, ["u"] * 20),
    ],
)
def test_a_constant_in_one_table_does_not_separate(left, right):
    assert find({"s": left, "p": noise(20, 0)}, {"s": right, "p": noise(20, 1)}) == {}


def test_gaps_in_both_tables_are_no_values():
    a = {"s": [None, *["u"] * 9], "p": noise(10, 0)}
    b = {"s": [*["v"] * 9, None], "p": noise(10, 1)}
    assert find(a, b) == {"s": ("u", "v")}


def test_samples_of_very_different_sizes():
    a, b = {"s": ["u"] * 500, "p": noise(500, 0)}, {"s": ["v"] * 2, "p": noise(2, 1)}
    assert (find(a, b), find(b, a)) == ({"s": ("u", "v")}, {"s": ("v", "u")})
    # One row of a kind that no other row is of may well be the single one.
    assert find({"s": ["u"] * 50, "p": noise(50, 0)}, {"s": ["v"], "p": [0.0]}) == {}


# ---------------------------------------------------------------- not by chance


@quick
@given(seed=seeds, n_columns=st.integers(1, 6))
def test_ranges_and_sets_of_categories_never_separate_at_five_rows_each(seed, n_columns):
    """However they are dealt: even sorted, so that nothing overlaps."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.normal(size=(10, n_columns)), axis=0)
    values = {f"n{j}": rows[:, j].tolist() for j in range(n_columns)}
    values |= {f"c{j}": list("aabbbccddd") for j in range(n_columns)}
    sides = [{name: column[part] for name, column in values.items()} for part in (slice(5), slice(5, 10))]
    assert find(*sides) == {}


@pytest.mark.slow
def test_random_columns_hardly_ever_separate():
    """Of 400 pairs of 5 + 5 rows and 8 columns each, of which two have two values that are as frequent.

    A column of two values is constant in either sample, but different, with a chance of 2 / 2^10.
    """
    rng, fired = np.random.default_rng(0), 0
    for _ in range(400):
        columns = {f"n{j}": rng.normal(size=10) for j in range(2)} | {f"k{j}": rng.integers(0, 4, 10) for j in range(2)}
        columns |= {f"c{j}": rng.choice(list("abc"), 10) for j in range(2)}
        columns |= {f"two{j}": rng.choice(["u", "v"], 10) for j in range(2)}
        sides = [{name: column[part].tolist() for name, column in columns.items()} for part in (slice(5), slice(5, 10))]
        found = find(*sides, keep=list(columns))
        assert all(name.startswith("two") for name in found)
        fired += len(found)
    # 1.6 are expected; more than 7 have a chance of 0.0003.
    assert fired <= 7


@pytest.mark.parametrize("n", [8, 30])
def test_random_numbers_do_not_separate_where_real_splits_would(n):
    rng = np.random.default_rng(n)
    for _ in range(200):
        sides = [{f"n{j}": rng.normal(size=n).tolist() for j in range(5)} for _ in range(2)]
        assert find(*sides) == {}


def test_many_columns_need_more_rows():
    """The chance is that of any column of the table."""

    def pair(n_columns):
        others = {f"p{j}": noise(16, j) for j in range(n_columns)}
        return ({"s": s} | {k: v[part] for k, v in others.items()} for s, part in SIDES)

    assert "s" in find(*pair(3))
    assert find(*pair(30)) == {}


SIDES = ([float(i) / 7 for i in range(8)], slice(8)), ([2 + float(i) / 7 for i in range(8)], slice(8, 16))


# ---------------------------------------------------------------- outliers and options


def test_in_a_batch_only_constants_and_dates_separate():
    n = 12
    a = {"x": noise(n, 0), "t": [day(i) for i in range(n)], "site": ["u"] * n, "p": noise(n, 1)}
    b = {"x": (100 + np.array(noise(n, 2))).tolist(), "t": [day(50 + i) for i in range(n)], "site": ["v"] * n}
    b["p"] = noise(n, 3)
    assert list(find(a, b)) == ["x", "t", "site"]
    assert list(find(a, b, is_batch=True)) == ["t", "site"]
    few = {name: column[:4] for name, column in b.items()}
    assert "site" not in find(a, few, is_batch=True)


def test_keep():
    a = pl.DataFrame({"site": ["u"] * 9, "p": noise(9, 0)})
    b = pl.DataFrame({"site": ["v"] * 9, "p": noise(9, 1)})
    left, kept = (read_samples(RuLSIF(), {"A": a, "B": b}, options) for options in ({}, {"keep": "site"}))
    assert (
        [column.column for column in left.non_overlapping]
        == [column.column for column in kept.non_overlapping]
        == ["site"]
    )
    assert left.encoding.feature_names == ("p",)
    assert left.encoding.summary == "2 columns: 1 number, 1 left out (site: no overlap)"
    np.testing.assert_array_equal(left.tables[0].numbers, a.select("p").to_numpy())
    assert kept.encoding.feature_names == ("site=u", "site=v", "p")


def test_something_is_always_left():
    a, b = pl.DataFrame({"s": ["u"] * 9}), pl.DataFrame({"s": ["v"] * 9})
    encoding, tables = encode_together({"A": a, "B": b})
    assert leave_out_columns(encoding, tables, ["s"]) == (encoding, tables)
