"""Two datasets compared: the test against brute force, its level, and what is named."""

import json
import math
import warnings
from copy import copy
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import norm, pearson3, rankdata

from fewratio import (
    Collection,
    Dataset,
    DiscriminantRatioEstimator,
    InputError,
    MetaRatioEstimator,
    ParameterError,
    RuLSIF,
    compare_datasets,
)
from fewratio.compare.divergence import Held
from fewratio.data.sources.gaussian import gaussian_family
from fewratio.estimators import NotFittedError
from fewratio_bench.unconstrained_kl import UnconstrainedKL
from tests.strategies import meta_estimator, quick, seeds


def samples(seed, n_a, n_b, d=2, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_a, d)), rng.normal(size=(n_b, d)) + shift


def divergence(estimator, A, B):
    return (estimator.fit(A, B).divergence() + estimator.fit(B, A).divergence()) / 2


def plain_statistics(rows, first):
    """The statistics of the test by their definitions, one pair of samples at a time."""
    n, n_first = len(rows), len(first)
    second = sorted(set(range(n)) - set(first))
    deviations = rows.std(0)
    standard = rows / np.where(deviations > 0, deviations, 1)
    distances = cdist(standard, standard, "cityblock")
    mean = {
        (a, b): distances[np.ix_(x, y)].mean()
        for a, x in enumerate((first, second))
        for b, y in enumerate((first, second))
    }
    energy = 2 * mean[0, 1] - mean[0, 0] - mean[1, 1]
    spread = 0.0
    if min(len(first), len(second)) > 1:
        least = 1e-6 * 2 * np.abs(standard - np.median(standard, axis=0)).sum(1).mean() + 1e-300
        within = [max(mean[i, i] * len(x) / (len(x) - 1), least) for i, x in enumerate((first, second))]
        spread = abs(np.log(within[0] / within[1]))
    euclidean = cdist(standard, standard)
    width = np.median(euclidean[np.triu_indices(n, 1)]) or euclidean[np.triu_indices(n, 1)].mean() or 1.0
    centring = np.eye(n) - 1 / n
    kernel = centring @ np.exp(-((euclidean / width) ** 2) * 2) @ centring
    contrast = np.zeros(n)
    contrast[first], contrast[second] = 1 / n_first, -1 / len(second)
    ratio = contrast @ kernel @ np.linalg.solve(kernel / n + 0.01 * np.eye(n), contrast)
    scores = norm.ppf((rankdata(rows, axis=0) - 0.5) / n)
    marginal = np.concatenate([rows, scores, scores**2], axis=1)
    real = marginal.std(0) > 1e-9
    largest = np.abs(contrast @ (marginal[:, real] / marginal[:, real].std(0))).max(initial=0)
    middle = np.median(rows, axis=0)
    reach = 2.5 * 1.4826 * np.median(np.abs(rows - middle), axis=0)
    clipped = np.where(reach > 0, np.clip(rows, middle - reach, middle + reach), rows)
    deviations = clipped.std(0)
    means = contrast @ (clipped / np.where(deviations > 0, deviations, 1))
    white = standardised(clipped)[:, deviations > 1e-9]
    shift, ridge = contrast @ white, 0.05 * white.shape[1] / n * np.eye(white.shape[1])
    discriminant = shift @ np.linalg.solve(white.T @ white / n + ridge, shift)
    size = np.sqrt(n_first * len(second) / n)
    x = rankdata(rows, axis=0) * 2 / n - 1 / n - 1
    several = [np.ptp(x[:, j]) > 0 and len(np.unique(x[:, j])) > 2 for j in range(x.shape[1])]
    x = x[:, several]
    shape = np.concatenate([standardised(5 * x**3 - 3 * x), standardised(35 * x**4 - 30 * x**2)], axis=1)
    middle = standardised(scores.clip(-2.5, 2.5))
    pairs = combinations(range(rows.shape[1]), 2)
    products = np.array([size * contrast @ standardised(middle[:, [i]] * middle[:, [j]])[:, 0] for i, j in pairs])
    return [
        energy,
        (means**2).sum(),
        ratio,
        size * largest,
        spread,
        discriminant,
        np.abs(products).max(initial=0),
        (products**2).sum(),
        size * np.abs(contrast @ shape).max(initial=0),
    ]


def standardised(features):
    deviations = features.std(0)
    return (features - features.mean(0)) / np.where(deviations > 1e-9, deviations, np.inf)


def plain_tails(values):
    """The tails of a statistic over all permutations, by SciPy's distributions, one permutation at a time."""
    close = 1e-6 * np.abs(values).max()
    tails = np.ones(len(values))
    for i, value in enumerate(values):
        others = values[np.abs(values - value) > close]
        if len(others) and values.std() > close:
            deviation = max(others.std(), 1e-6 * values.std())
            skewness = ((others - others.mean()) ** 3).mean() / deviation**3
            z = (value - others.mean()) / deviation
            tail = pearson3.sf(z, skewness) if abs(skewness) > 1e-3 else norm.sf(z)
            tails[i] = np.clip(tail, (values >= value - close).mean() ** 2, 1)
    return tails


def brute_force(A, B, estimator=None):
    """The p-value over all permutations, one after the other; the statistic."""
    rows, weights = np.concatenate([A, B]), [4, 8, 2, 4, 4, 2, 1, 1, 1]
    dealt = [list(a) for a in combinations(range(len(rows)), len(A))]
    table = np.array([plain_statistics(rows, first) for first in dealt])
    if estimator is not None:
        others = [sorted(set(range(len(rows))) - set(first)) for first in dealt]
        pairs = zip(dealt, others, strict=True)
        own = [divergence(estimator, rows[first], rows[second]) for first, second in pairs]
        table, weights = np.column_stack([table, own]), [*weights, 27]
    evidence = sum(weight / plain_tails(column) for weight, column in zip(weights, table.T, strict=True)) / sum(weights)
    return (np.log10(evidence) >= np.log10(evidence[0]) - 1e-6 * np.abs(np.log10(evidence)).max()).mean(), np.log10(
        evidence[0]
    )


# ---------------------------------------------------------------- the test


@quick
@given(seeds, st.integers(1, 3), st.integers(1, 3), st.booleans())
@pytest.mark.filterwarnings("ignore:With ")
def test_few_permutations_are_all_taken(seed, n_a, n_b, discrete):
    A, B = samples(seed, n_a, n_b)
    if discrete:
        A, B = A.round(), B.round()
    result = compare_datasets(A, B)
    assert result.is_enumerated
    assert len(result.null_distribution) == math.comb(n_a + n_b, n_a)
    assert (result.p_value, result.statistic) == pytest.approx(brute_force(A, B))


def test_small_samples_cannot_show_much_and_it_is_said():
    A, B = samples(0, 3, 3, shift=5.0)
    with pytest.warns(UserWarning, match=r"With 3 rows and 3 rows the p-value cannot be below 0\.1,"):
        result = compare_datasets(A, B)
    # The two samples can change their names.
    assert (len(result.null_distribution), result.p_value) == (20, 2 / 20)


@pytest.mark.filterwarnings("ignore:With ")
def test_a_sample_of_equal_rows_has_no_spread_that_rounding_could_change():
    rows = np.array([[0.0, 2, 0]] * 3 + [[2.0, 0, 2]] * 2 + [[1.0, 0, 2]])
    assert compare_datasets(rows[:3], rows[3:]).p_value == 2 / 20


def test_drawn_permutations_count_the_observed_one():
    A, B = samples(0, 7, 9, shift=4.0)
    result = compare_datasets(A, B, n_permutations=99, random_state=0)
    assert not result.is_enumerated
    assert result.p_value == 1 / 100
    near = compare_datasets(*samples(0, 7, 9), n_permutations=99, random_state=0)
    assert near.p_value == (1 + (near.null_distribution >= near.statistic - 1e-6).sum()) / 100


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:With ")
def test_a_given_estimator_is_tested_too():
    A, B = samples(0, 3, 4)
    for estimator in (RuLSIF(alpha=0.1), RuLSIF(reg="cv", random_state=0), UnconstrainedKL(random_state=0)):
        result = compare_datasets(A, B, estimator=estimator)
        assert (result.p_value, result.statistic) == pytest.approx(brute_force(A, B, estimator))


@quick
@given(seeds, st.integers(2, 8), st.integers(4, 8), st.sampled_from([39, 5000]))
@pytest.mark.filterwarnings("ignore:With ")
@pytest.mark.slow
def test_neither_the_order_of_rows_nor_of_samples_matters(seed, n_a, n_b, n_permutations):
    A, B = samples(seed, n_a, n_b)
    rng = np.random.default_rng(seed)
    first = compare_datasets(A, B, estimator=None, n_permutations=n_permutations, random_state=1)
    second = compare_datasets(
        rng.permutation(B), rng.permutation(A), estimator=None, n_permutations=n_permutations, random_state=1
    )
    assert 0 < first.p_value <= 1
    assert first.p_value == second.p_value
    assert first.divergence == pytest.approx(second.divergence, abs=1e-6)
    np.testing.assert_allclose(first.ratios_a[first.rows_a], 2 - second.ratios_b[second.rows_b], atol=1e-9)


@pytest.mark.filterwarnings("ignore:With ")
def test_equal_rows_are_no_difference():
    result = compare_datasets(np.ones((3, 2)), np.ones((4, 2)))
    assert result.p_value == 1
    assert all(column.p_value == 1 for column in result.columns)
    A = [[0.0], [0.0], [1.0]]
    assert compare_datasets(A, [*A, *A], n_permutations=50, random_state=0).p_value > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [None, RuLSIF()], ids=str)
@pytest.mark.filterwarnings("ignore:With ")
def test_the_level_is_kept(estimator):
    # Of all 35 permutations. The two-sample test has a stronger test of its own.
    level, n_a, n_b, n_pairs = 0.2, 3, 4, 120
    rng = np.random.default_rng(0)
    draws = [rng.standard_t(2, (n_a + n_b, 2)).round(1) for _ in range(n_pairs)]
    p_values = [
        compare_datasets(rows[:n_a], rows[n_a:], estimator=estimator, n_permutations=39, random_state=rng).p_value
        for rows in draws
    ]
    # Three standard deviations.
    assert np.mean(np.array(p_values) <= level) < level + 3 * (level * (1 - level) / n_pairs) ** 0.5


def test_small_shifts_of_all_columns_are_found_in_spite_of_far_values():
    rng = np.random.default_rng(0)
    A, B = rng.standard_t(2, (30, 10)), rng.standard_t(2, (30, 10)) + 0.6
    A[0] = 1e6
    found = compare_datasets(A, B, random_state=0)
    assert found.p_values["difference of means"] < 0.01
    assert found.p_value < 0.01


def test_differences_in_spread_in_one_column_and_in_dependence_are_found():
    rng = np.random.default_rng(0)
    rotation = np.linalg.cholesky([[1.0, 0.95], [0.95, 1.0]])
    pairs = {
        "spread": (rng.normal(size=(20, 10)), 1.7 * rng.normal(size=(20, 10))),
        "column": (rng.normal(size=(20, 30)), rng.normal(size=(20, 30)) + 2 * np.eye(30)[4]),
        "dependence": (rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) @ rotation.T),
    }
    found = {name: compare_datasets(*pair, random_state=0) for name, pair in pairs.items()}
    assert all(result.p_value < 0.02 for result in found.values())
    assert found["spread"].p_values["spread"] == 0.001
    assert found["dependence"].p_values["density ratio"] < 0.02
    assert [column.column for column in found["column"].columns if column.p_value < 0.05] == [4]


def test_no_test_where_none_is_asked_for():
    result = compare_datasets(*samples(0, 3, 4), n_permutations=0)
    assert result.p_value is None
    assert result.statistic is None
    assert len(result.null_distribution) == 0
    assert result.columns[0].p_value is None


def test_the_seed_decides():
    pair = samples(0, 8, 9)
    first, again, other = (
        compare_datasets(*pair, n_permutations=50, random_state=s).null_distribution for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize(
    "estimator", [None, RuLSIF(random_state=np.random.default_rng(7))], ids=["default", "generator"]
)
@pytest.mark.slow
def test_the_divergence_depends_on_the_seed_and_not_on_the_permutations(estimator):
    # Past 300 rows centres are drawn.
    pair = samples(0, 160, 150, shift=0.2)
    found = [compare_datasets(*pair, estimator=estimator, n_permutations=n, random_state=0) for n in (0, 0, 20, 29)]
    assert len({result.divergence for result in found}) == 1
    assert len({tuple(result.ratios_b) for result in found}) == 1


def test_a_generator_moves_on_by_as_much_whatever_is_drawn():
    pair, rngs = samples(0, 8, 9), [np.random.default_rng(0) for _ in range(2)]
    for rng, n_permutations in zip(rngs, (0, 99), strict=True):
        compare_datasets(*pair, n_permutations=n_permutations, random_state=rng)
    assert rngs[0].random() == rngs[1].random()


@pytest.mark.slow
def test_many_rows_are_tested_by_a_part_of_them():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(11_000, 1)), rng.normal(size=(700, 1)) + 0.3
    result = compare_datasets(A, B, n_permutations=49, random_state=0)
    assert result.n_tested == (9_300, 700)
    assert result.p_value == 0.02
    assert result.ratios_a.shape == (11_000,)
    swapped = compare_datasets(rng.permutation(B), A, n_permutations=49, random_state=0)
    assert swapped.n_tested == (700, 9_300)
    np.testing.assert_array_equal(np.sort(swapped.null_distribution), np.sort(result.null_distribution))


# ---------------------------------------------------------------- rows that belong together


def patients(seed, effect=0.0):
    """Ten patients of very different levels, four rows before a treatment and four after it."""
    rng = np.random.default_rng(seed)
    level = np.repeat(10 * rng.normal(size=10), 4)[:, None]
    frames = [
        pd.DataFrame(level + rng.normal(size=(40, 1)) + shift, columns=["value"]).assign(
            patient=np.repeat(np.arange(10), 4)
        )
        for shift in (0.0, effect)
    ]
    return frames


def test_rows_change_places_within_their_group():
    before, after = patients(0, effect=1.0)
    assert compare_datasets(before, after, drop=["patient"], random_state=0).p_value > 0.2
    found = compare_datasets(before, after, blocks="patient", random_state=0)
    assert found.p_value < 0.01
    assert [column.column for column in found.columns] == ["value"]
    labels = [frame["patient"].to_numpy() for frame in (before, after)]
    alike = compare_datasets(before[["value"]], after[["value"]], blocks=labels, random_state=0)
    assert alike.p_value == found.p_value


@pytest.mark.slow
def test_groups_that_lie_in_one_sample_change_places_as_a_whole():
    n_found = {"rows": 0, "blocks": 0}
    for seed in range(20):
        frames = patients(seed)
        # Twenty different patients: ten in either sample.
        frames = [
            frame.query("patient < 5").assign(patient=lambda f, k=k: f.patient + 5 * k)
            for k, frame in enumerate(frames)
        ]
        rng = np.random.default_rng(seed)
        frames[1]["value"] += np.repeat(10 * rng.normal(size=5), 4)
        n_found["rows"] += compare_datasets(*frames, drop=["patient"], random_state=0).p_value <= 0.05
        n_found["blocks"] += compare_datasets(*frames, blocks="patient", random_state=0).p_value <= 0.05
    # Patients differ, the samples do not: twenty rows that are five patients look like a difference.
    assert n_found["rows"] > 6
    assert n_found["blocks"] <= 4


def test_copied_rows_are_said_where_they_are_no_chance():
    A, B = samples(0, 20, 20)
    with pytest.warns(UserWarning, match="20 rows of A are copies of others; .* Drop copies, or name"):
        compare_datasets(np.concatenate([A, A]), B, n_permutations=49)
    few_values = np.random.default_rng(0).integers(2, size=(80, 3))
    compare_datasets(few_values[:40], few_values[40:], n_permutations=49)


@pytest.mark.parametrize(("n_columns", "copied"), [(5, 100), (5, 30), (2, 100)])
def test_copied_rows_are_said_where_single_columns_repeat(n_columns, copied):
    rows = np.random.default_rng(0).normal(size=(200, n_columns)).round(1)
    with pytest.warns(UserWarning, match="rows of A are copies of others"):
        compare_datasets(np.concatenate([rows[:100], rows[:copied]]), rows[100:], n_permutations=19)


def test_rows_that_both_tables_have_are_said_where_they_are_no_chance():
    rows = np.random.default_rng(0).normal(size=(150, 5)).round(1)
    with pytest.warns(UserWarning, match="100 rows of A are also in B; .* Compare rows that only one of them has"):
        compare_datasets(rows[:100], rows, n_permutations=19)


def test_names_that_repeat_in_one_table_offer_blocks():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"country": np.repeat([f"c{i}" for i in range(12)], 10), "x": rng.normal(size=120)})
    with pytest.warns(UserWarning, match="country has 12 values in about 10 rows each, .* blocks='country'"):
        compare_datasets(table[:60], table[60:], n_permutations=9)
    # Kinds are no names, and names that both tables have offer none.
    compare_datasets(table[:20], table[20:40], n_permutations=9)
    compare_datasets(table[::2], table[1::2], n_permutations=9)


@pytest.mark.parametrize("code", [9999, -99, -999])
def test_a_number_that_may_mean_missing_is_said(code):
    rows = np.random.default_rng(0).normal(20, 3, size=(60, 2))
    rows[:4, 1] = code
    with pytest.warns(UserWarning, match=f"4 rows have {code} in 1, where all others have .* leave these cells empty"):
        compare_datasets(rows[::2], rows[1::2], n_permutations=9)
    # Twice, or within twice the range, says nothing; nor does zero.
    rows[:4, 1] = 45, 45, 45, code
    compare_datasets(rows[::2], rows[1::2], n_permutations=9)
    rows[:30, 1] = 0
    compare_datasets(rows[::2], rows[1::2], n_permutations=9)


@pytest.mark.parametrize("agreeing", [0, 0.85])
def test_rows_that_coincide_by_chance_are_not_said(agreeing, recwarn):
    rng = np.random.default_rng(0)
    rows = rng.integers(1, 6, (200, 6))
    rows = np.where(rng.random(rows.shape) < agreeing, rng.integers(1, 6, (200, 1)), rows)
    years = np.repeat([[2020], [2021]], 100, axis=0)
    for A, B in ((rows[:100], rows[100:]), (rows[rows[:, 0] < 3], rows[rows[:, 0] >= 3])):
        compare_datasets(A, B, n_permutations=9)
    compare_datasets(*np.split(np.column_stack([rows, years]), 2), n_permutations=9)
    assert not list(recwarn)


# ---------------------------------------------------------------- what differs


def test_the_column_that_differs_is_found_by_name():
    A, B = samples(0, 12, 9, d=5)
    B[:, 3] += 3
    frames = [pd.DataFrame(X, columns=list("pqrst")) for X in (A, B)]
    result = compare_datasets(*frames, n_permutations=199, random_state=0)
    first, second = result.columns[:2]
    assert (first.column, first.p_value) == ("s", 1 / 200)
    assert second.p_value > 0.05
    assert first.alone > first.without
    pooled = (A[:, 3].var() + B[:, 3].var()) / 2
    assert first.effect == pytest.approx((A[:, 3].mean() - B[:, 3].mean()) / pooled**0.5)
    table = pd.DataFrame(result.columns)
    names = "column kind first second effect missing_first missing_second mean_first mean_second deviation_first "
    names += "deviation_second p_value alone without"
    assert table.columns.tolist() == names.split()


def test_no_column_of_a_table_differs_from_itself():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 8))
    result = compare_datasets(rows, rows, random_state=0)
    assert all(column.p_value > 0.5 for column in result.columns)
    assert result.divergence < 0.1


@pytest.mark.slow
def test_columns_are_named_by_chance_no_more_often_than_promised():
    rng, n_named, n_pairs = np.random.default_rng(0), 0, 200
    for _ in range(n_pairs):
        rows = rng.standard_t(3, size=(24, 6))
        rows[:, 1:3] = rows[:, :1] + 0.1 * rows[:, 1:3]
        result = compare_datasets(rows[:10], rows[10:], n_permutations=39, random_state=rng)
        n_named += any(column.p_value <= 0.1 for column in result.columns)
    assert n_named < n_pairs * 0.1 + 3 * (n_pairs * 0.1 * 0.9) ** 0.5


def test_columns_that_say_the_same_can_replace_each_other():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3))
    rows[200:, 0] += 1
    rows[:, 1] = rows[:, 0] + 0.05 * rows[:, 1]
    result = compare_datasets(rows[:200], rows[200:], random_state=0)
    columns = {column.column: column for column in result.columns}
    for each in (0, 1):
        assert columns[each].alone == pytest.approx(result.divergence, abs=0.02)
        assert columns[each].without == pytest.approx(result.divergence, abs=0.02)
    assert columns[2].alone < 0.005
    assert columns[2].without == pytest.approx(result.divergence, abs=0.02)


def test_a_column_that_only_follows_another_is_said_to_add_little():
    rng = np.random.default_rng(0)
    tables = []
    for level in (2.0, 2.3):
        price, quantity = rng.lognormal(level, 0.3, 200), rng.poisson(5, 200) + 1
        tables.append(pd.DataFrame({"price": price, "quantity": quantity, "revenue": price * quantity}))
    result = compare_datasets(*tables, random_state=0)
    columns = {column.column: column for column in result.columns}
    assert columns["price"].alone > 1.5 * columns["revenue"].alone > 0
    assert columns["quantity"].alone == 0
    said = "price alone shows nearly all of the difference; revenue adds little to it."
    assert said in result._report().answer
    assert result.to_dict()["columns"][0]["alone"] == columns["price"].alone


@pytest.mark.filterwarnings("ignore:With ")
@pytest.mark.parametrize("estimator", [None, RuLSIF(sigma=1.0)], ids=["default", "given"])
def test_typical_rows_come_first(estimator):
    rng = np.random.default_rng(0)
    A, B = 0.2 * rng.normal(size=(6, 1)), 2 + 0.2 * rng.normal(size=(7, 1))
    A[1], B[3] = 2.0, 0.0
    result = compare_datasets(A, B, estimator=estimator, random_state=0)
    assert result.rows_a[-1] == 1
    assert result.rows_b[-1] == 3


# ---------------------------------------------------------------- in and out


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=lambda make: make.__module__)
def test_tables_of_all_kinds(make):
    A, B = samples(0, 4, 5)
    expected = compare_datasets(A, B)
    columns = [{"x": X[:, 0], "y": X[:, 1]} for X in (A, B)]
    result = compare_datasets(*map(make, columns))
    assert result.p_value == expected.p_value
    assert {difference.column for difference in result.columns} == {"x", "y"}


def test_datasets_keep_their_names():
    A, B = samples(0, 4, 5)
    result = compare_datasets(Dataset("monday", None, A), Dataset("tuesday", None, B))
    assert "monday and tuesday: 4 rows and 5 rows; column 0 alone separates all rows; divergence" in repr(result)
    assert "all 126 permutations" in repr(result)
    with pytest.raises(InputError, match="dataset 'monday' has 2 columns but A has 3"):
        compare_datasets(np.ones((2, 3)), Dataset("monday", None, A))


@pytest.mark.filterwarnings("ignore:With ")
@pytest.mark.slow
def test_a_learned_estimator_compares():
    sources = gaussian_family(8, n_instances=20, random_state=0).collection
    learned = meta_estimator(n_support=3, max_steps=2, n_query=5, random_state=0, device="cpu").pretrain(sources)
    A, B = samples(0, 2, 3, d=1)
    result = compare_datasets(A, B, estimator=learned)
    assert (result.p_value, result.statistic) == pytest.approx(brute_force(A, B, learned))
    assert compare_datasets(B, A, estimator=learned).p_value == result.p_value
    with pytest.raises(NotFittedError):
        compare_datasets(A, B, estimator=MetaRatioEstimator())


def test_everything_goes_into_json():
    A, B = samples(0, 4, 5)
    words = json.loads(json.dumps(compare_datasets(A, B).to_dict()))
    assert words["n_rows"] == [4, 5]
    assert words["n_permutations"] == 126
    assert {column["column"] for column in words["columns"]} == {0, 1}


def test_the_picture_shows_rows_test_and_columns():
    result = compare_datasets(*samples(0, 4, 5))
    ratios, test, columns = result.plot().spec["hconcat"]
    assert {row["sample"] for row in ratios["data"]["values"]} == set(result.names)
    assert sum(row["value"] for row in test["data"]["values"]) == len(result.null_distribution)
    assert [row["label"] for row in columns["data"]["values"]] == [str(each.column) for each in result.columns]
    assert len(compare_datasets(*samples(0, 4, 5), n_permutations=0).plot().spec["hconcat"]) == 2


ONES = [[1.0]], [[1.0]]


@pytest.mark.parametrize(
    ("tables", "options", "error", "message"),
    [
        (([[1.0]], [[1.0, 2.0]]), {}, InputError, "B has 2 columns but A has 1"),
        (([[np.inf]], [[1.0]]), {}, InputError, "A has 1 infinite"),
        (([["x"]], [[1.0]]), {}, InputError, "A"),
        (([[1.0]], []), {}, InputError, "B"),
        (ONES, {"estimator": "RuLSIF"}, ParameterError, "estimator is 'RuLSIF'; expected a ratio estimator"),
        (ONES, {"estimator": RuLSIF}, ParameterError, "estimator is the class RuLSIF"),
        (ONES, {"n_permutations": -1}, ParameterError, "n_permutations is -1"),
        (ONES, {"n_permutations": 1.5}, ParameterError, "n_permutations is 1.5"),
    ],
)
def test_what_is_wrong_is_named(tables, options, error, message):
    with pytest.raises(error, match=message):
        compare_datasets(*tables, **options)


def test_the_estimator_stays_as_it_is():
    A, B = samples(0, 4, 5)
    estimator = RuLSIF().fit(A, A)
    before = estimator.predict(B)
    compare_datasets(A, B, estimator=estimator)
    np.testing.assert_array_equal(estimator.predict(B), before)


def test_one_column_beside_constants_may_repeat():
    counts = [np.random.default_rng(seed).poisson(2, 60) for seed in (0, 1)]
    tables = [np.column_stack([each, np.full(60, 7 + place)]) for place, each in enumerate(counts)]
    # A warning would be an error.
    assert compare_datasets(*tables, n_permutations=19, random_state=0).non_overlapping


def test_the_same_rows_are_said_to_be_the_same():
    rows = np.random.default_rng(0).normal(size=(20, 2))
    assert compare_datasets(rows, rows[::-1], random_state=0).verdict == (
        "Both tables have the same rows in the columns that are compared."
    )
    assert "same rows" not in compare_datasets(rows, rows[::-1] + 1e-9, random_state=0).verdict
    # Rare categories are pooled, but others.
    first, second = (pd.DataFrame({"x": range(40), "kind": ["a"] * 35 + list(rare)}) for rare in ("pqrst", "uvwyz"))
    assert "same rows" not in compare_datasets(first, second, n_permutations=19, random_state=0).verdict


def test_a_divergence_without_a_difference_is_said_to_be_chance():
    rng = np.random.default_rng(0)
    results = (compare_datasets(rng.normal(size=(3, 4)), rng.normal(size=(3, 4)) + 0.6) for _ in range(40))
    with warnings.catch_warnings():
        # There are too few rows for the test.
        warnings.simplefilter("ignore")
        result = next(each for each in results if each.divergence > 0.2)
    assert result.p_value > 0.05
    said = f"{result.divergence:.2f} of at most 0.50, which 3 and 3 rows may show by chance: the true one may be 0"
    assert result.describe_divergence() == said
    assert "may be chance" in result.to_html()
    clear = compare_datasets(*samples(0, 20, 20, shift=2.0))
    assert "chance" not in clear.describe_divergence()


def test_what_is_left_without_a_column_that_separates_is_said_by_the_trained_model():
    rng = np.random.default_rng(0)

    def table(n, site, shift=0.0):
        return pd.DataFrame({"site": site, "x": rng.normal(shift, 1, n), "y": rng.normal(shift, 1, n)})

    older = Collection.from_arrays([table(20, list("ab") * 10, rng.normal()) for place in range(8)])
    model = DiscriminantRatioEstimator().pretrain(older)
    alike = compare_datasets(table(9, "a"), table(9, "b"), estimator=model)
    assert [each.column for each in alike.non_overlapping] == ["site"]
    rest = alike.without_non_overlapping
    assert alike.p_value <= 0.05 < rest.p_value
    assert "Without site, no difference was found" in alike.verdict
    assert {each.column for each in rest.columns} == {"x", "y"}
    far = compare_datasets(table(30, "a"), table(30, "b", 1.5), estimator=model).without_non_overlapping
    assert far.p_value <= 0.05
    assert far.divergence > 0.1


def test_a_trained_model_that_holds_a_column_sees_no_difference_in_it():
    rng = np.random.default_rng(0)
    sources = Collection.from_arrays([rng.normal(rng.normal(size=3), 1, (20, 3)) for _ in range(8)])
    model = DiscriminantRatioEstimator().pretrain(sources)
    A, B = rng.normal(size=(6, 3)), rng.normal([9.0, 1.0, 0.0], 1, (7, 3))
    pooled = np.concatenate([A, B])
    held = Held.of(model, pooled, np.array([1, 2]))
    pooled[:, 0] = pooled[:, 0].mean()
    expected = copy(model)
    expected._fit(pooled[:6], pooled[6:])
    held._fit(A[:, 1:], B[:, 1:])
    np.testing.assert_allclose(held.ratio_nu_, expected.ratio_nu_)
    rows = np.concatenate([A, B])[:, 1:]
    numbers = np.arange(13)[None]
    both = held._both_divergences(rows, numbers[:, :6], numbers[:, 6:])
    np.testing.assert_allclose(both[0], expected.divergence())


def test_no_row_is_more_typical_than_another_where_only_a_column_separates_them():
    rng = np.random.default_rng(0)
    first, second = (pd.DataFrame({"site": site, "x": rng.normal(size=60)}) for site in "ab")
    result = compare_datasets(first, second)
    assert not result.has_typical_rows
    assert "All rows are equally typical of their table: nothing but site separates the tables." in result.to_html()
    assert compare_datasets(first, second.assign(x=second["x"] + 2)).has_typical_rows
