"""Columns that separate two tables by themselves: found where they made the split, and not by chance."""

import datetime
import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewratio import Collection, RuLSIF
from fewratio.data.non_overlapping import leave_out_columns
from fewratio.errors import FewRatioWarning, LeftOutWarning
from fewratio.estimators.samples import Samples, read_samples
from tests.strategies import quick, seeds


def read(first, second, **options):
    tables = [
        table if isinstance(table, np.ndarray) else pl.DataFrame(table, strict=False) for table in (first, second)
    ]
    return read_samples(RuLSIF(), {"A": tables[0], "B": tables[1]}, options)


def find(first, second, **options):
    """Return what separates two tables, each a dict of columns, by column."""
    return {name: (one, other) for name, one, other, *_ in read(first, second, **options).non_overlapping}


def shares(first, second, **options):
    return {each.column: each.share for each in read(first, second, **options).non_overlapping}


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
        (None, 1.5, ("no values", "1.5")),
        (None, "u", ("no value", "u")),
    ],
)
def test_two_constants_separate_from_five_rows_each(n, left, right, words):
    p = noise(2 * n, 0)
    a, b = {"s": [left] * n, "p": p[:n]}, {"s": [right] * n, "p": p[n:]}
    assert find(a, b) == {"s": words}
    assert find(b, a) == {"s": words[::-1]}
    # Of 4 + 4 rows two of the 70 ways to deal them do so, too many for one of two columns.
    assert find({"s": a["s"][:4], "p": p[:4]}, {"s": b["s"][:4], "p": p[4:8]}) == {}


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (lambda i: 2000 + i % 7, lambda i: 2010 + i % 7, ("2000 to 2006", "2010 to 2016")),
        (lambda i: "ab"[i % 2], lambda i: "cd"[i % 2], ("a, b", "c, d")),
    ],
)
def test_values_that_do_not_overlap_separate(left, right, words):
    n = 10
    p = noise(2 * n, 1)
    a = {"s": [left(i) for i in range(n)], "p": p[:n]}
    b = {"s": [right(i) for i in range(n)], "p": p[n:]}
    assert find(a, b) == {"s": words}
    assert find(b, a) == {"s": words[::-1]}


def test_gaps_in_both_tables_are_a_value():
    a = {"s": [None, *["u"] * 19], "p": noise(20, 0)}
    b = {"s": [*["v"] * 19, None], "p": noise(20, 1)}
    # One of the two rows with a gap is on the wrong side.
    assert shares(a, b) == {"s": 0.975}
    numbers = {"u": 1.0, "v": 2.0, None: None}
    assert shares(*(side | {"s": [numbers[each] for each in side["s"]]} for side in (a, b))) == {"s": 0.975}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([0.0] * 20, noise(20, 2)),  # constant in one table only, within the range of the other
        (["u"] * 20, ["u", "v"] * 10),
        ([None, 1.0] * 10, [1.0, 2.0] * 10),
        (["u"] * 20, ["u"] * 20),
    ],
)
def test_a_constant_in_one_table_does_not_separate(left, right):
    assert find({"s": left, "p": noise(20, 0)}, {"s": right, "p": noise(20, 1)}) == {}


def test_tables_of_very_different_sizes():
    a, b = {"s": ["u"] * 500, "p": noise(500, 0)}, {"s": ["v"] * 2, "p": noise(2, 1)}
    assert (find(a, b), find(b, a)) == ({"s": ("u", "v")}, {"s": ("v", "u")})
    # One row of a kind that no other row is of may well be the single one.
    assert find({"s": ["u"] * 20, "p": noise(20, 0)}, {"s": ["v"], "p": [0.0]}) == {}
    # Most rows of the larger table lie beyond those of the smaller, which lie among its others.
    wide, narrow = np.arange(1000.0), np.full(5, 500.0)
    assert find({"s": wide.tolist(), "p": noise(1000, 2)}, {"s": narrow.tolist(), "p": noise(5, 3)}) == {}
    levels = [f"l{i % 400}" for i in range(1000)]
    assert find({"s": levels, "p": noise(1000, 2)}, {"s": ["new"] * 5, "p": noise(5, 3)}) == {
        "s": ("l0, l1, l10 and 397 more", "new")
    }


def test_arrays_and_frames_give_the_same():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(30, 2)), rng.normal([0, 9], size=(30, 2))
    frames = [dict(zip("pq", each.T.tolist(), strict=True)) for each in (a, b)]
    assert list(find(*frames).values()) == list(find(a, b).values())
    assert list(find(a, b)) == [1]


# ---------------------------------------------------------------- nearly


def test_rare_categories_are_not_pooled_first():
    """Planes of two airlines: hundreds of tail numbers, hardly any in common."""
    rng = np.random.default_rng(0)
    first = [f"N{i}" for i in rng.integers(0, 400, 3000)]
    second = [f"M{i}" for i in rng.integers(0, 400, 3000)]
    second[:18] = first[:18]
    a, b = {"tailnum": first, "p": noise(3000, 1)}, {"tailnum": second, "p": noise(3000, 2)}
    found = read(a, b).non_overlapping
    assert [each.column for each in found] == ["tailnum"]
    assert found[0].share == pytest.approx(1 - 18 / 6000)
    assert found[0].separates == "tailnum alone separates 5,982 of 6,000 rows"


def test_makers_of_which_many_have_one_row():
    """Of 93 cars and 32 makers, none in both tables."""
    rng = np.random.default_rng(1)
    makers = [f"maker {i}" for i in [*range(14), *rng.integers(0, 14, 34)]]
    others = [f"other {i}" for i in [*range(18), *rng.integers(0, 18, 27)]]
    assert shares({"m": makers, "p": noise(48, 1)}, {"m": others, "p": noise(45, 2)}) == {"m": 1.0}


def test_shares_of_the_tables_count_gaps_as_the_share_of_all_rows_does():
    a, b = [1.0] * 90 + [None] * 8 + [3.0] * 2, [3.0] * 98 + [None] * 2
    (found,) = read({"x": a, "p": noise(100, 1)}, {"x": b, "p": noise(100, 2)}).non_overlapping
    assert (found.first, found.second) == ("98 % below 3 or missing", "98 % from 3 on")
    assert found.share == pytest.approx(0.98)


@pytest.mark.parametrize("in_common", [0, 3])
def test_values_that_nearly_all_differ_do_not_separate(in_common):
    """Every value is in one table only, whatever the tables are."""
    values = [f"v{i}" for i in range(60)]
    values[-in_common:] = values[:in_common] if in_common else values[-in_common:]
    a, b = {"s": values[:30], "p": noise(30, 1)}, {"s": values[30:], "p": noise(30, 2)}
    assert find(a, b, keep=["s"]) == {}
    # Some repetitions, which a deal by chance would not keep within a table, do not say where the others belong.
    a, b = {"s": [*values[:30], *["u"] * 10], "p": noise(40, 1)}, {"s": [*values[30:], *["w"] * 10], "p": noise(40, 2)}
    assert find(a, b, keep=["s"]) == {}


def test_numbers_and_booleans_that_nearly_separate():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=200), rng.normal(size=100) + 4.5
    (found,) = read({"x": a.tolist(), "p": noise(200, 1)}, {"x": b.tolist(), "p": noise(100, 2)}).non_overlapping
    # The best of all splits.
    cuts = np.concatenate([a, b])
    best = max(((a < cut).mean() + (b >= cut).mean()) / 2 for cut in cuts)
    assert found.share == pytest.approx(best)
    assert found.first.endswith("below " + found.second.split()[-2])
    left, right = [True] * 99 + [False], [False] * 100
    as_texts = [[str(each) for each in side] for side in (left, right)]
    p = {"p": noise(100, 1)}
    assert shares({"s": left, **p}, {"s": right, **p}) == {"s": 0.995}
    assert shares({"s": as_texts[0], **p}, {"s": as_texts[1], **p}) == {"s": 0.995}


# ---------------------------------------------------------------- not by chance


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numbers", "ties", "categories", "gaps"])
def test_the_bound_holds_for_all_deals(kind):
    """Every way to deal nine rows to two tables: a column is found in at most the share that is allowed."""
    values = {
        "numbers": [float(i) for i in range(9)],
        "ties": [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 2.0],
        "categories": list("aaabbbccc"),
        "gaps": [None, None, None, None, 1.0, 2.0, 2.0, 3.0, 3.0],
    }[kind]
    n_found, deals = 0, list(itertools.combinations(range(9), 4))
    for deal in deals:
        sides = [values[i] for i in range(9) if i in deal], [values[i] for i in range(9) if i not in deal]
        n_found += bool(find(*({"s": side, "p": noise(len(side), 0)} for side in sides), keep=["s"]))
    assert n_found <= 0.05 * len(deals)
    assert n_found > 0 or kind in ("categories", "gaps")


@quick
@given(seed=seeds, n=st.integers(3, 30), m=st.integers(3, 30))
def test_what_is_found_does_not_depend_on_the_order_of_tables_and_rows(seed, n, m):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=n + m), rng.integers(0, 3, n + m), rng.integers(0, 2, n + m)])
    rows[n:, :2] += rng.choice([0, 5])
    a, b = ({name: side.T[j].tolist() for j, name in enumerate("xkc")} for side in (rows[:n], rows[n:]))
    a["c"], b["c"] = ([f"l{value}" for value in side["c"]] for side in (a, b))
    forward, backward = shares(a, b), shares(b, a)
    assert forward == pytest.approx(backward)
    turned = {name: column[::-1] for name, column in a.items()}
    assert shares(turned, b) == pytest.approx(forward)


def test_many_columns_need_more_rows():
    """The chance is that of any column of the table."""

    def pair(n_columns):
        others = {f"p{j}": noise(10, j) for j in range(n_columns)}
        sides = ([0.0, 1.0, 2.0, 3.0, 4.0], slice(5)), ([6.0, 7.0, 8.0, 9.0, 10.0], slice(5, 10))
        return ({"s": s} | {k: v[part] for k, v in others.items()} for s, part in sides)

    assert "s" in find(*pair(3))
    assert find(*pair(30)) == {}


# ---------------------------------------------------------------- categories before they are pooled


def test_category_codes():
    a = {"c": ["r", "g", None, "r"], "x": [1.0, 2.0, 3.0, 4.0]}
    b = {"c": ["new", "g"], "x": [1.0, 2.0]}
    samples = read(a, b)
    assert {label: codes.tolist() for label, codes in samples.category_codes.items()} == {"c": [0, 1, -1, 0, 2, 1]}
    # Where the tables were encoded before, what was pooled is one category.
    encoded = Samples(samples.encoding, samples.tables, tuple(samples.tables))
    codes = encoded.category_codes["c"].tolist()
    assert [code < 0 for code in codes] == [False, False, True, False, False, False]
    assert len({*codes}) - 1 == len(samples.encoding.used[0].categories) + samples.encoding.used[0].pools_others
    assert read({"x": a["x"]}, {"x": b["x"]}).category_codes == {}


def test_category_codes_of_tables_without_names():
    a = np.array([["r", 1], ["g", 2], ["r", 3]], dtype=object)
    b = np.array([["g", 1], ["g", 2], ["r", 3]], dtype=object)
    ((label, codes),) = read(a, b).category_codes.items()
    assert (label, codes.tolist()) == (0, [0, 1, 0, 1, 1, 0])


# ---------------------------------------------------------------- what is left out


def test_measurements_are_never_left_out():
    n = 20
    a = {"x": noise(n, 0), "site": ["u"] * n, "flag": [True] * n, "p": noise(n, 1)}
    b = {"x": [value + 100 for value in noise(n, 2)], "site": ["v"] * n, "flag": [False] * n, "p": noise(n, 3)}
    samples = read(a, b)
    assert samples.encoding.names == ("x", "site", "flag", "p")
    assert list(samples.columns) == ["x", "site", "flag", "p"]
    assert sorted(each.column for each in samples.non_overlapping) == ["flag", "site", "x"]
    assert list(samples.drop(["x", "site", "flag"]).columns) == ["p"]


def test_dates_that_order_two_tables_are_left_out():
    n = 20
    a = {"day": [day(i) for i in range(n)], "born": [day(i % 7) for i in range(n)], "p": noise(n, 1)}
    b = {"day": [day(50 + i) for i in range(n)], "born": [day(i % 7 + 1) for i in range(n)], "p": noise(n, 2)}
    said = r"Left out: 'day' \(shows which table came first: 2020-01-01 to 2020-01-20, then 2020-02-20 to 2020-03-10\)"
    with pytest.warns(LeftOutWarning, match=said + r"\. To use it, choose keep=\['day'\]\."):
        samples = read(a, b)
    assert samples.encoding.names == ("born", "p")
    assert samples.encoding.summary == (
        "3 columns: 1 date (as days), 1 number, 1 left out (day: shows which table came first)"
    )
    assert samples.non_overlapping == []
    kept = read(a, b, keep="day")
    assert kept.encoding.names == ("day", "born", "p")
    assert [each.column for each in kept.non_overlapping] == ["day"]
    # A day in common, and the dates are compared.
    assert read(a, b | {"day": [day(10), *b["day"][1:]]}).encoding.names == ("day", "born", "p")
    # Few rows may be ordered by chance.
    few = [{name: column[:3] for name, column in side.items()} for side in (a, b)]
    assert "day" in read(*few).encoding.names


def test_dates_that_only_one_table_has_are_compared():
    n = 20
    a = {"left": [day(i) for i in range(n)], "p": noise(n, 1)}
    b = {"left": [None] * n, "p": noise(n, 2)}
    samples = read(a, b)
    assert samples.encoding.names == ("left", "p")
    assert find(a, b) == {"left": ("2020-01-01 to 2020-01-20", "no values")}


def test_dates_of_tables_without_names():
    rows = [np.array([[day(i + start), value] for i, value in enumerate(noise(9, start))]) for start in (0, 90)]
    with pytest.warns(LeftOutWarning, match="shows which table came first"):
        samples = read(*rows)
    assert list(samples.columns) == [1]


def test_names_of_rows_are_warned_of():
    a, b = ({"name": [f"{side}{i}" for i in range(9)], "p": noise(9, 0)} for side in "ab")
    with pytest.warns(LeftOutWarning, match=r"Left out: 'name' \(id\)\. To use it, choose keep=\['name'\]\."):
        read(a, b)
    with pytest.warns(LeftOutWarning, match="'name'"):
        RuLSIF().fit(pl.DataFrame(a), pl.DataFrame(b))


@pytest.mark.filterwarnings("error::fewratio.errors.LeftOutWarning")
def test_what_the_user_said_is_not_warned_of():
    a, b = ({"name": [f"{side}{i}" for i in range(9)], "p": noise(9, 0)} for side in "ab")
    read(a, b, id="name")
    read(a, b, drop="name")
    read(a, b, columns="p")


def test_something_is_always_left():
    a, b = ({"day": [day(i + start) for i in range(9)]} for start in (0, 50))
    samples = read(a, b)
    assert samples.encoding.names == ("day",)
    tables = samples.encoding, samples.tables
    assert leave_out_columns(*tables, ["day"], "id") == tables


def test_a_value_of_each_dataset_counts_and_is_warned_of():
    """Nobody knows whether it is a measurement."""
    tables = {f"d{i}": pl.DataFrame({"grade": [i % 2] * 9, "unit": ["mm"] * 9, "p": noise(9, i)}) for i in range(3)}
    with pytest.warns(FewRatioWarning, match=r"one value in 'grade', so .* choose drop=\['grade'\]\."):
        collection = Collection.from_arrays(tables)
    assert collection.encoding.names == ("grade", "unit", "p")
    long = pl.concat([table.with_columns(group=pl.lit(name)) for name, table in tables.items()])
    with pytest.warns(FewRatioWarning, match="one value in 'grade'"):
        assert Collection.from_frame(long, "group").encoding.names == ("grade", "unit", "p")
    days = {name: table.with_columns(grade=pl.lit(day(i))) for i, (name, table) in enumerate(tables.items())}
    with pytest.warns(LeftOutWarning, match=r"'grade' \(date of a row\)"):
        assert Collection.from_arrays(days).encoding.names == ("unit", "p")


@pytest.mark.parametrize("n_datasets", [3, 60])
def test_the_name_of_each_dataset_is_left_out(n_datasets):
    tables = {f"d{i}": pl.DataFrame({"site": [f"s{i}"] * 4, "p": noise(4, i)}) for i in range(n_datasets)}
    with pytest.warns(LeftOutWarning, match=r"Left out: 'site' \(names the dataset\)"):
        assert Collection.from_arrays(tables).encoding.names == ("p",)
    long = pl.concat([table.with_columns(group=pl.lit(name)) for name, table in tables.items()])
    assert Collection.from_frame(long, "group").encoding.names == ("p",)
    assert Collection.from_arrays(tables, keep="site").encoding.names == ("site", "p")
    # Of two, it may be what makes the difference.
    two = dict(list(tables.items())[:2])
    with pytest.warns(FewRatioWarning, match="one value in 'site'"):
        assert Collection.from_arrays(two).encoding.names == ("site", "p")
