"""Regions: rules that say where two tables differ."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fewratio import compare_datasets
from fewratio.compare.conditions import BinnedColumn, Condition
from fewratio.compare.regions import _compute_interval
from fewratio.data.column_kinds import DATE, DURATION, TIME
from fewratio.data.columns import Column
from fewratio.errors import ParameterError


def _plant(rng: np.random.Generator, n: int, share: float) -> Any:
    """Draw a table of six columns; so many rows more are in one region of the first two."""
    X = rng.uniform(size=(n, 6))
    is_planted = np.arange(n) < round(share * n)
    X[is_planted, 0] = rng.uniform(0.7, 1, is_planted.sum())
    X[is_planted, 1] = rng.uniform(0.2, 0.5, is_planted.sum())
    return X


@pytest.fixture(scope="module")
def planted() -> Any:
    """Give two tables and the comparison."""
    rng = np.random.default_rng(0)
    A, B = _plant(rng, 250, 0.25), _plant(rng, 200, 0.0)
    return A, B, compare_datasets(A, B)


@pytest.fixture(scope="module")
def mixed() -> Any:
    """Give two tables of all kinds of columns with gaps: one has old people of Oslo, the other more gaps."""
    rng = np.random.default_rng(3)
    tables = []
    for n, share, gaps in ((300, 0.4, 0.1), (250, 0.0, 0.4)):
        table = pd.DataFrame(
            {
                "age": rng.integers(18, 90, n),
                "city": rng.choice(["Oslo", "Bergen", "Rome", "Kiel"], n),
                "day": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
                "x": np.where(rng.uniform(size=n) < gaps, np.nan, rng.normal(size=n)),
                "member": rng.uniform(size=n) < 0.3,
            }
        )
        is_planted = rng.uniform(size=n) < share
        table.loc[is_planted, "city"] = "Oslo"
        table.loc[is_planted, "age"] = rng.integers(56, 90, is_planted.sum())
        tables.append(table)
    return *tables, compare_datasets(*tables)


def _is_inside(condition: Any, table: Any) -> Any:
    """Apply a condition to a table as a user would read it."""
    values = table[condition.column]
    if condition.is_missing:
        return values.isna()
    if condition.values:
        return values.astype(str).isin(condition.values)
    is_date = pd.api.types.is_datetime64_any_dtype(values)
    if condition.text.endswith("is not missing"):
        return values.notna()
    low, high = (pd.Timestamp(end) if end is not None and is_date else end for end in condition[2:4])
    above = True if low is None else values >= low if is_date else values > low
    below = True if high is None else values < high if is_date else values <= high
    return above & below & values.notna()


def test_planted_region_is_found_first(planted: Any) -> None:
    A, B, result = planted
    first = result.regions[0]
    rows = np.concatenate([A, B])
    truth = (rows[:, 0] > 0.7) & (rows[:, 1] > 0.2) & (rows[:, 1] < 0.5)
    found = np.zeros(len(rows), dtype=bool)
    in_first, in_second = result.rows(first)
    found[in_first] = found[len(A) + in_second] = True
    assert {condition.column for condition in first.conditions} == {0, 1}
    assert (found & truth).sum() / (found | truth).sum() > 0.7
    assert first.p_value == 0.01
    assert 1 < first.ratio_low < first.ratio < first.ratio_high


def test_rows_are_those_of_the_rules(mixed: Any) -> None:
    A, B, result = mixed
    assert len(result.regions) >= 2
    assert {"city", "x"} <= {condition.column for region in result.regions for condition in region.conditions}
    left = [np.ones(len(table), dtype=bool) for table in (A, B)]
    for region in result.regions:
        for table, rows, share, rest in zip((A, B), result.rows(region), region[1:3], left, strict=True):
            inside = rest.copy()
            for condition in region.conditions:
                inside &= _is_inside(condition, table)
            assert np.flatnonzero(inside).tolist() == rows.tolist()
            assert share == pytest.approx(inside.sum() / rest.sum())
            rest &= ~inside
        assert region.ratio == pytest.approx(region.first / region.second)


def test_answer_has_the_regions(mixed: Any) -> None:
    _, _, result = mixed
    first, later = result.regions[:2]
    assert first.write(("May", "June")).startswith(f"Rows with {first.rule} are ")
    gap = first._replace(conditions=(Condition("x", "x is missing", is_missing=True),))
    assert gap.write(("May", "June")).startswith("Rows where x is missing are ")
    assert later.write(("May", "June")).startswith("Of the remaining rows, those ")
    assert f" of {later.n_first} in May" in later.write(("May", "June"))
    both = gap._replace(conditions=(Condition("y", "y above 3", 3.0), *gap.conditions))
    assert both.write(("May", "June")).startswith("Rows with y above 3 where x is missing are ")
    (found, *_) = result.to_dict()["regions"]
    assert found["conditions"][0]["text"] == first.conditions[0].text
    assert first.rule in result.to_html()


@pytest.mark.slow
def test_order_of_samples_rows_and_powers_of_ten_change_nothing(planted: Any) -> None:
    A, B, result = planted
    rng = np.random.default_rng(1)
    expected = [(region.rule, region.p_value) for region in result.regions]
    swapped = compare_datasets(B, A)
    assert [(region.rule, region.p_value) for region in swapped.regions] == expected
    assert [region.first for region in swapped.regions] == [region.second for region in result.regions]
    shuffled = compare_datasets(rng.permutation(A), rng.permutation(B))
    assert shuffled.regions == result.regions
    scaled = compare_datasets(1000 * A, 1000 * B)
    assert [[row.tolist() for row in scaled.rows(each)] for each in scaled.regions] == [
        [row.tolist() for row in result.rows(each)] for each in result.regions
    ]


def test_other_units_move_edges_only_to_other_round_figures(planted: Any) -> None:
    A, B, result = planted
    other = compare_datasets(2.54 * A + 3, 2.54 * B + 3)
    (first, _), (second, _) = (each.rows(each.regions[0]) for each in (result, other))
    assert len(np.intersect1d(first, second)) > 0.8 * len(np.union1d(first, second))


@pytest.mark.slow
def test_level_is_kept_where_nothing_differs() -> None:
    rng, n_named = np.random.default_rng(0), 0
    for _ in range(40):
        rows = np.column_stack([rng.normal(size=60), rng.poisson(1, 60), rng.integers(0, 2, 60)]).astype(float)
        n_named += bool(compare_datasets(rows[:20], rows[20:], n_permutations=1).regions)
    # More than five of 40 have a chance of 0.014 at 0.05.
    assert n_named <= 5


def test_constant_columns_have_no_regions() -> None:
    assert compare_datasets(np.ones((12, 2)), np.ones((9, 2)), n_permutations=9).regions == []


def test_no_test_no_regions(planted: Any) -> None:
    A, B, _ = planted
    assert compare_datasets(A, B, n_permutations=0).regions == []


def test_pairs_and_blocks_are_permuted_as_such() -> None:
    rng = np.random.default_rng(0)
    before = pd.DataFrame({"name": [f"n{i}" for i in range(120)], "x": rng.normal(size=120), "y": rng.normal(size=120)})
    after = before.assign(x=before.x + 0.6)
    paired = compare_datasets(before, after, paired="name")
    assert paired.regions[0].conditions[0].column == "x"
    # Ten days, five in either table: the difference of days is no evidence.
    days = [np.repeat(np.arange(5), 24), np.repeat(np.arange(5, 10), 24)]
    tables = [rng.normal(size=(120, 2)) + np.repeat(rng.normal(size=(5, 2)), 24, axis=0) for _ in range(2)]
    assert compare_datasets(*tables, blocks=days).regions == []


def test_foreign_region_is_refused(planted: Any, mixed: Any) -> None:
    with pytest.raises(ParameterError, match=r"result\.regions"):
        planted[2].rows(mixed[2].regions[0])


@pytest.mark.parametrize("counts", [(6, 0), (0, 6), (9, 2)])
def test_the_interval_of_a_named_region_agrees_with_its_p_value(counts: tuple[int, int]) -> None:
    low, high = _compute_interval(counts, (40, 40), 4.0)
    assert (1 <= low < high) if counts[0] > counts[1] else (low < high <= 1)


@pytest.mark.parametrize(
    ("column", "values", "text"),
    [
        (Column("x"), np.linspace(0.313, 7.71, 400), "x above 2 and up to 6"),
        (Column("t", TIME), np.linspace(0, 23.99, 400), "t from 06:00 and before 18:00"),
        (Column("d", DATE), np.linspace(19_000, 20_000, 400), "d from 2022-09-01 and before 2024-01-01"),
        (Column("s", DURATION), np.linspace(10, 7000, 400), "s above 30 min and up to 90 min"),
        (Column("n"), np.repeat([0.0, 1.0, 2.0, 3.0], 100), "n above 0 and up to 2"),
        (Column("age"), np.repeat(np.arange(60.0, 68), 50), "age above 61 and up to 65"),
    ],
)
def test_ranges_have_round_figures(column: Column, values: Any, text: str) -> None:
    angles = 2 * np.pi * values / 24
    rows = np.column_stack([np.sin(angles), np.cos(angles)]) if column.kind == TIME else values[:, None]
    binned = BinnedColumn.of(column.name, column, slice(0, rows.shape[1]), rows, 4)
    bins = np.zeros(binned.fine.shape[1], dtype=np.bool_)
    bins[len(bins) // 4 : -(len(bins) // 4)] = True
    assert binned.describe(bins, rows).text == text


def test_the_map_of_rows_can_highlight_a_region(planted: Any) -> None:
    result = planted[2]
    charts = [block for section in result._report().sections for block in section.blocks if hasattr(block, "spec")]
    chart = next(each for each in charts if "params" in each.spec)
    option = chart.spec["params"][0]["bind"]["options"][1]
    assert option == f"1. {result.regions[0].rule}"
    is_inside = np.array(chart.data["region"]) == option
    counts = [int(is_inside[np.array(chart.data["sample"]) == name].sum()) for name in result.names]
    assert counts == [len(rows) for rows in result.rows(result.regions[0])]
