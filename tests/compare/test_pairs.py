"""Tables that name the same rows, compared as pairs."""

import numpy as np
import pandas as pd
import pytest

from fewratio import InputError, ParameterError, compare_datasets
from fewratio.testing import row_units
from tests.levels import FEW_DRAWS, assert_level_is_kept


def countries(seed, n_rows=30, shift=0.0):
    """Countries that differ far more from each other than from themselves in another year."""
    rng = np.random.default_rng(seed)
    level = rng.standard_t(2, size=(n_rows, 2)) * 5
    years = [level + rng.normal(size=(n_rows, 2)) * 0.5 for _ in range(2)]
    names = [f"country {i}" for i in range(n_rows)]
    return [pd.DataFrame(X, columns=["x", "y"]).assign(country=names) for X in (years[0], years[1] + shift)]


def test_pairs_show_a_change_that_is_small_beside_the_differences_of_rows():
    before, after = countries(0, shift=0.6)
    with pytest.warns(UserWarning, match="A and B have 30 values of 'country' in common, .* paired='country' compares"):
        assert compare_datasets(before, after, random_state=0).p_value > 0.5
    shuffled = after.sample(frac=1, random_state=1)
    found = compare_datasets(before, shuffled, paired="country", random_state=0)
    assert found.p_value <= 0.01
    assert {column.column: column.p_value <= 0.05 for column in found.columns} == {"x": True, "y": True}
    pairs = [
        frame["country"].to_numpy()[rows] for frame, rows in zip((before, shuffled), found.paired_rows, strict=True)
    ]
    assert pairs[0].tolist() == pairs[1].tolist() == found.samples.tables[1].row_names.tolist()
    assert found.divergence == compare_datasets(before, after, paired="country", random_state=0).divergence
    assert found.to_dict()["n_unpaired"] == [0, 0]


def test_rows_without_a_partner_are_left_out_and_counted():
    before, after = countries(0)
    found = compare_datasets(before[:25], after[4:], paired="country", random_state=0)
    assert found.n_unpaired == (4, 5)
    assert (len(found.ratios_a), len(found.ratios_b)) == (21, 21)
    alone = compare_datasets(before[4:25], after[4:25], paired="country", random_state=0)
    assert alone.p_value == found.p_value
    left_out = "rows without a partner are left out: 4 of A and 5 of B"
    assert found._report().facts["Pairs"] == f"21\npairs by country; {left_out}"


def test_pairs_can_be_named_by_an_index():
    before, after = countries(0, shift=0.6)
    by_column = compare_datasets(before, after, paired="country", random_state=0)
    before, after = before.set_index("country"), after.set_index("country")
    by_index = compare_datasets(before, after, paired=(before.index, after.index), random_state=0)
    assert by_index.p_value == by_column.p_value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda table: pd.concat([table, table[3:4]]),
            "rows 3 and 30 of A .* have the name 'country 3'; a pair",
        ),
        (lambda table: table.assign(country="old " + table["country"]), "no name in common .* a pair is a row of each"),
        (lambda table: table.assign(country=table["country"].where(table.index > 0)), "row 0 of A .* has no label"),
    ],
)
def test_names_that_make_no_pairs_are_refused(change, message):
    before, after = countries(0)
    with pytest.raises(InputError, match=message):
        compare_datasets(change(before), after, paired="country")


def test_pairs_and_blocks_exclude_each_other():
    before, after = countries(0)
    with pytest.raises(ParameterError, match="paired and blocks are both given"):
        compare_datasets(before, after, paired="country", blocks="country")


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.assign(country=list("abcdef") * 5),
        lambda table: table.drop(columns="country"),
        lambda table: table.drop(columns="country").assign(id=range(30)),
        lambda table: table.assign(country=[f"country {i + 20}" for i in range(30)]),
    ],
    ids=["categories", "no names", "row numbers", "other names"],
)
def test_no_pairs_are_offered_where_there_are_none(change, recwarn):
    before, after = countries(0)
    compare_datasets(change(before) if "country" not in change(before) else before, change(after), common=True)
    assert not [warning for warning in recwarn if "in common" in str(warning.message)]


def test_pairs_stay_together_where_rows_are_many(monkeypatch):
    monkeypatch.setattr(row_units, "_MAX_UNITS", 20)
    found = compare_datasets(*countries(0, 300, shift=5.0), paired="country", random_state=0)
    assert found.n_tested == (10, 10)
    assert found.p_value == pytest.approx(2 / 2**10, abs=0.01)


@pytest.mark.slow
def test_pairs_keep_the_level():
    rejections = []
    for seed in range(FEW_DRAWS):
        found = compare_datasets(*countries(seed, 8), paired="country", n_permutations=99, random_state=seed)
        rejections.append(found.p_value <= 0.05)
    assert_level_is_kept(rejections)


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_columns"), [(300, 1), (57, 5), (1500, 3)])
def test_pairs_of_equal_rows_do_not_differ(n_rows, n_columns):
    rows, names = np.random.default_rng(0).normal(50, 10, (n_rows, n_columns)).round(2), np.arange(n_rows)
    found = compare_datasets(rows, rows, paired=(names, names), n_permutations=99, random_state=1)
    assert (found.p_value, set(found.p_values.values())) == (1, {1})
    assert found.verdict.startswith("Both tables have the same rows")
