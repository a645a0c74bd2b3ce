"""What a comparison says: whether two tables differ, by how much, and what would have been found."""

import numpy as np
import pytest

from fewratio import RuLSIF, compare_datasets
from fewratio.compare.verdict import rate_divergence, shows_more
from fewratio.testing import two_sample_test


@pytest.mark.parametrize(
    ("shift", "said"),
    [(0.45, "The tables differ a little (divergence 0.0"), (3.0, "The tables differ very strongly (divergence 0.")],
)
def test_the_size_of_a_difference_is_in_the_verdict(shift, said):
    A, B = np.random.default_rng(0).normal(size=(2, 400, 1))
    result = compare_datasets(A, B + shift, n_permutations=99)
    assert result.verdict.startswith(said)
    assert ", at least 0." in result.verdict
    assert result.detectable_shift is None
    assert {"verdict", "magnitude", "detectable_shift"} <= result.to_dict().keys()


def test_a_size_is_said_only_if_a_larger_difference_would_not_be_needed_to_be_found():
    assert [rate_divergence(0, n, n) for n in (10, 100, 1_000)] == [None, None, "very small"]
    assert [rate_divergence(0.3, n, n) for n in (5, 1_000)] == [None, "large"]
    assert rate_divergence(0.3, 5, 1_000) == "large"
    assert rate_divergence(0.9, 1, 1) == "very large"


def test_a_divergence_without_a_limit_has_no_size():
    A, B = np.random.default_rng(0).normal(size=(2, 50, 1))
    result = compare_datasets(A, B + 1, estimator=RuLSIF(alpha=0.0), n_permutations=99)
    assert (result.magnitude, result.caution) == (None, None)
    assert result.verdict.startswith("The tables differ (divergence ")


def test_pairs_are_said_to_differ_without_a_size_of_the_tables():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 1))
    result = compare_datasets(rows, rows + 0.1, paired=(range(40), range(40)))
    assert result.verdict.startswith("The pairs differ (p = 0.001; divergence ")


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 40])
def test_a_shift_that_would_have_been_found_is_found(n):
    rng, found = np.random.default_rng(0), []
    columns, is_first = [slice(i, i + 1) for i in range(3)], np.arange(2 * n) < n
    while len(found) < 25:
        rows = rng.normal(size=(2 * n, 3))
        result = two_sample_test(rows, is_first, columns, 299, rng, shiftable=range(3))
        if result.p_value > 0.05:
            rows = rng.normal(size=(2 * n, 3))
            rows[:n, 0] += result.detectable_shift
            found.append(two_sample_test(rows, is_first, columns, 299, rng).p_value <= 0.05)
    assert 0.5 < np.mean(found) < 1


@pytest.mark.slow
def test_more_rows_find_smaller_shifts_and_units_do_not_matter():
    A, B = np.random.default_rng(2).normal(size=(2, 200, 2))
    few, many = compare_datasets(A[:20], B[:20]), compare_datasets(A, B)
    assert f"A shift of one column by {many.detectable_shift:.2g} standard deviations would" in many.verdict
    assert many.detectable_shift < few.detectable_shift / 2
    assert compare_datasets(1e3 * A[::-1], 1e3 * B).detectable_shift == pytest.approx(many.detectable_shift, rel=1e-6)


def test_a_shift_beyond_all_rows_is_not_given_as_a_number():
    rng = np.random.default_rng(0)
    result = compare_datasets(rng.normal(size=(4, 3)), rng.normal(size=(4, 3)))
    assert result.detectable_shift > 4
    assert "only an extreme difference would have been found" in result.verdict


def test_pairs_find_a_shift_that_is_small_beside_the_differences_between_them():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 1))
    other = rows + 0.05 * rng.normal(size=(40, 1))
    names = (range(40), range(40))
    assert compare_datasets(rows, other, paired=names).detectable_shift < 0.1
    assert compare_datasets(rows, other).detectable_shift > 0.4


def test_tables_of_categories_have_no_shift():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    tables = [pd.DataFrame({"city": rng.choice(list("abc"), 50)}) for _ in range(2)]
    result = compare_datasets(*tables)
    assert result.detectable_shift is None
    assert result.verdict.endswith(").")


def test_a_difference_that_a_column_shows_more_clearly_has_no_size():
    # 60 of 500 rows lack a score: the model misses most of that.
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        A, B = rng.normal(size=(2, 500, 4))
        A[:60, 0] = np.nan
        result = compare_datasets(A, B, n_permutations=99)
        assert result.p_value <= 0.05
        found.append(result)
        assert result.magnitude in (None, "small", "medium")
        if result.magnitude is None:
            assert "; they may differ more than the divergence shows." in result.verdict
            assert result.caution is not None
            assert "a larger difference than the model" in result.caution or "in few rows" in result.caution


@pytest.mark.parametrize(
    ("effect", "gaps", "is_more"), [(0.1, (0, 0), False), (0.6, (0, 0), True), (0, (0.3, 0), True)]
)
def test_effects_are_compared_with_the_size_of_the_divergence(effect, gaps, is_more):
    A, B = np.random.default_rng(0).normal(size=(2, 50, 1))
    column = compare_datasets(A, B, n_permutations=99).columns[0]
    column = column._replace(effect=effect, missing_first=gaps[0], missing_second=gaps[1], p_value=0.01)
    assert shows_more(column, "very small", 500, 500) == is_more
    assert not shows_more(column, "very large", 500, 500)
    assert not shows_more(column._replace(p_value=0.2), "very small", 500, 500)
