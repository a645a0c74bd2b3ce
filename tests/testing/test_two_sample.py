"""The two-sample test by itself: how often it finds a difference by chance, and what it finds."""

import numpy as np
import pytest

from fewratio.testing import row_units, statistics, two_sample
from fewratio.testing.permutations import Exchange
from fewratio.testing.two_sample import rank_statistics, step_down, two_sample_test
from tests.levels import LEVEL, N_DRAWS, assert_level_is_kept

LAWS = {
    "heavy tails": lambda rng, n: rng.standard_t(2, (n, 2)),
    "few values": lambda rng, n: rng.integers(0, 3, (n, 2)).astype(float),
    "categories": lambda rng, n: np.eye(2)[rng.integers(0, 2, n)],
}


def run(A, B, n_permutations=199, seed=0, columns=None, **given):
    rows, is_first = np.concatenate([A, B]), np.arange(len(A) + len(B)) < len(A)
    columns = columns or [slice(j, j + 1) for j in range(rows.shape[1])]
    rng = np.random.default_rng(seed)
    return two_sample_test(rows, is_first, columns, n_permutations, rng, **given)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_the_level_is_kept(law):
    rejections = []
    for seed in range(N_DRAWS):
        rows = LAWS[law](np.random.default_rng(seed), 19)
        columns = [slice(0, 2)] if law == "categories" else None
        rejections.append(run(rows[:12], rows[12:], 19, seed, columns).p_value <= LEVEL)
    assert_level_is_kept(rejections)


@pytest.mark.slow
def test_the_level_is_kept_by_groups_of_rows(monkeypatch):
    monkeypatch.setattr(row_units, "_OF_SMALLER", 6)
    for module in (statistics, two_sample):
        monkeypatch.setattr(module, "MAX_KERNEL_ROWS", 40)
    rejections = []
    for seed in range(N_DRAWS):
        rng = np.random.default_rng(seed)
        rows, levels = rng.standard_t(2, (75, 2)), {1: rng.integers(-1, 20, 75)}
        found = run(rows[:25], rows[25:], 19, seed, levels=levels)
        assert (found.n_tested, found.n_in_kernels) == ((24, 48), (12, 24))
        rejections.append(found.p_value <= LEVEL)
    assert_level_is_kept(rejections)


# ---------------------------------------------------------------- what is found


def correlated(rng, n, d, correlation):
    rows = rng.normal(size=(n, d))
    rows[:, 1] = correlation * rows[:, 0] + (1 - correlation**2) ** 0.5 * rows[:, 1]
    return rows


@pytest.mark.parametrize("d", [10, 20, 70])
def test_a_changed_relation_of_two_columns_is_found(d):
    rng = np.random.default_rng(d)
    found = run(correlated(rng, 50, d, 0.7), correlated(rng, 50, d, -0.7))
    assert found.p_value <= 0.01


def test_a_column_that_moves_given_another_is_found():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(60, 5)), rng.normal(size=(60, 5))
    for X, shift in ((A, 0), (B, 0.3)):
        X[:, 1] = X[:, 0] + 0.2 * X[:, 1] + shift
    found = run(A, B)
    assert found.p_value == 1 / 200
    assert found.p_values["difference of means"] > 0.05


def test_one_statistic_alone_can_give_the_smallest_p_value():
    rng = np.random.default_rng(0)
    found = run(correlated(rng, 40, 5, 0.9), correlated(rng, 40, 5, -0.9))
    assert found.p_value == found.smallest_p_value == 1 / 200
    assert found.p_values["difference of means"] > 0.05


def test_a_column_of_another_shape_is_found_and_named():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(100, 4)), rng.normal(size=(100, 4))
    B[:, 2] = 0.95 * rng.choice([-1, 1], 100) + 0.3 * rng.normal(size=100)
    found = run(A, B)
    assert found.p_value <= 0.01
    assert np.flatnonzero(found.column_p_values <= 0.05).tolist() == [2]


def test_categories_are_compared_before_rare_ones_are_pooled():
    rng = np.random.default_rng(0)
    # Forty categories of which neither sample has those of the other; what is encoded has them all as one.
    levels = np.concatenate([rng.integers(0, 20, 60), rng.integers(20, 40, 60)])
    rows = np.c_[np.ones(120), rng.normal(size=(120, 5))]
    assert run(rows[:60], rows[60:]).p_value > 0.05
    found = run(rows[:60], rows[60:], levels={0: levels})
    assert found.p_value == found.column_p_values[0] == 1 / 200


def test_all_rows_have_a_say():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(20_500, 3)), rng.normal(size=(30_100, 3))
    B[:, 1] += 0.05
    found = run(A, B)
    # Groups of twenty rows.
    assert found.n_tested == (20_500, 30_100)
    assert sum(found.n_in_kernels) <= 10_000
    assert found.p_value == found.column_p_values[1] == 1 / 200


def test_groups_of_rows_depend_on_neither_the_order_of_rows_nor_of_samples():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2_100, 2)), rng.normal(size=(2_300, 2)) + 0.05
    first, second = run(A, B, 49), run(rng.permutation(B), rng.permutation(A), 49)
    np.testing.assert_allclose(first.null_distribution, second.null_distribution, rtol=1e-9)
    assert (first.n_tested, second.n_tested) == ((2_100, 2_300), (2_300, 2_100))


def test_permutations_of_many_rows_are_not_counted(monkeypatch):
    monkeypatch.setattr("math.comb", lambda n, k: pytest.fail("the number has a million digits"))
    assert Exchange((10**6,), (10**5,)).smallest_p_value(999) == 0.001


def test_a_column_that_separates_the_samples_hides_no_other():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(8_000, 3)), rng.normal(size=(8_000, 3))
    B[:, 0] += 0.1
    B[:, 1] += 20
    found = run(A, B)
    assert found.column_p_values[:2].tolist() == [1 / 200, 1 / 200]
    assert found.column_p_values[2] > 0.05


def test_step_down_is_least_for_the_largest_and_never_more_than_one_step():
    statistics = np.random.default_rng(0).normal(size=(500, 6)) ** 2
    statistics[0] = [9, 1, 4, 4, 30, 0]
    found = step_down(statistics, False)
    in_one_step = rank_statistics(statistics.max(1), False, statistics[0])
    assert (found <= in_one_step).all()
    assert found[4] == in_one_step[4]
    assert found[0] < in_one_step[0]
    assert found[[4, 0, 2, 1, 5]].tolist() == sorted(found[[4, 0, 2, 1, 5]])
    # The last one is compared with itself alone.
    assert found[5] == 1
    assert found[1] >= (statistics[:, [1, 5]].max(1) >= 1).mean()


@pytest.mark.slow
def test_beside_columns_that_differ_the_others_are_named_by_chance_only():
    rng, rejections = np.random.default_rng(0), []
    for _ in range(N_DRAWS):
        A, B = rng.normal(size=(12, 5)), rng.normal(size=(15, 5))
        for rows in (A, B):
            rows[:, 3] = rows[:, 2] + 0.3 * rows[:, 3]
        B[:, :2] += 4
        rejections.append((run(A, B, 19).column_p_values[2:] <= LEVEL).any())
    assert_level_is_kept(rejections)
