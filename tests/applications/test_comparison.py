"""Two datasets compared: the test against brute force, its level, and what is named."""

import json
import math
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewratio import (
    Dataset,
    InputError,
    MetaRatioEstimator,
    NotFittedError,
    ParameterError,
    RuLSIF,
    UnconstrainedKL,
    compare_datasets,
)
from fewratio.data.sources.gaussian import gaussian_family
from fewratio.estimators.scaling import ColumnScaling
from tests.strategies import meta_estimator, quick, seeds


def samples(seed, n_a, n_b, d=2, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_a, d)), rng.normal(size=(n_b, d)) + shift


def statistic(estimator, A, B):
    return (estimator.fit(A, B).divergence() + estimator.fit(B, A).divergence()) / 2


def brute_force(estimator, A, B):
    """The share of all permutations that are at least as far apart, one after the other."""
    rows, everyone = np.concatenate([A, B]), set(range(len(A) + len(B)))
    dealt = [(list(a), sorted(everyone - set(a))) for a in combinations(range(len(rows)), len(A))]
    null = np.array([statistic(estimator, rows[a], rows[b]) for a, b in dealt])
    return (null >= statistic(estimator, A, B) - 1e-6).mean(), np.sort(null)


# ---------------------------------------------------------------- the test


@quick
@given(seeds, st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_few_permutations_are_all_taken(seed, n_a, n_b, discrete):
    A, B = samples(seed, n_a, n_b)
    if discrete:
        A, B = A.round(), B.round()
    result = compare_datasets(A, B)
    p_value, null = brute_force(RuLSIF(scale="columns"), A, B)
    assert result.exact
    assert len(result.null) == math.comb(n_a + n_b, n_a)
    np.testing.assert_allclose(np.sort(result.null), null, atol=1e-7)
    assert result.p_value == pytest.approx(p_value)


def test_three_and_three_rows_have_twenty_permutations():
    A, B = samples(0, 3, 3, shift=5.0)
    assert len(compare_datasets(A, B).null) == 20
    # The two samples can change their names.
    assert compare_datasets(A, B).p_value == 2 / 20


def test_drawn_permutations_count_the_observed_one():
    A, B = samples(0, 7, 9, shift=4.0)
    result = compare_datasets(A, B, n_permutations=99, random_state=0)
    assert not result.exact
    assert result.p_value == 1 / 100
    near = compare_datasets(*samples(0, 7, 9), n_permutations=99, random_state=0)
    assert near.p_value == (1 + (near.null >= near.statistic - 1e-6).sum()) / 100


def test_divergences_are_those_of_the_estimator():
    A, B = samples(0, 6, 9)
    for estimator in (RuLSIF(alpha=0.1), RuLSIF(reg="cv", random_state=0), UnconstrainedKL(random_state=0)):
        result = compare_datasets(A, B, estimator, n_permutations=3)
        assert result.divergence == result.forward == pytest.approx(estimator.fit(A, B).divergence(), abs=1e-7)
        np.testing.assert_allclose(result.ratios_b, estimator.ratio_de_)
        assert result.backward == pytest.approx(estimator.fit(B, A).divergence(), abs=1e-7)
        assert result.statistic == (result.forward + result.backward) / 2


@quick
@given(seeds, st.integers(1, 8), st.integers(1, 8), st.sampled_from([19, 5000]))
def test_neither_the_order_of_rows_nor_of_samples_matters(seed, n_a, n_b, n_permutations):
    A, B = samples(seed, n_a, n_b)
    rng = np.random.default_rng(seed)
    first = compare_datasets(A, B, None, n_permutations, random_state=1)
    second = compare_datasets(rng.permutation(B), rng.permutation(A), None, n_permutations, random_state=1)
    assert 0 < first.p_value <= 1
    assert first.p_value == second.p_value
    assert first.forward == pytest.approx(second.backward, abs=1e-9)


def test_equal_rows_are_no_difference():
    result = compare_datasets(np.ones((3, 2)), np.ones((4, 2)))
    assert result.p_value == 1
    A = [[0.0], [0.0], [1.0]]
    assert compare_datasets(A, [*A, *A], n_permutations=50, random_state=0).p_value > 0.5


@pytest.mark.parametrize(("estimator", "n_pairs"), [(None, 300), (RuLSIF(reg=[0.01, 1.0], random_state=0), 40)])
def test_the_level_is_kept(estimator, n_pairs):
    level = 0.2
    rng = np.random.default_rng(0)
    p_values = [
        compare_datasets(rng.standard_t(2, (3, 2)), rng.standard_t(2, (4, 2)), estimator, 9, rng).p_value
        for _ in range(n_pairs)
    ]
    # Three standard deviations.
    assert np.mean(np.array(p_values) <= level) < level + 3 * (level * (1 - level) / n_pairs) ** 0.5


def test_what_is_chosen_is_chosen_for_every_permutation():
    A, B = samples(0, 3, 4)
    estimator = RuLSIF(sigma="cv", reg=[0.01, 1.0], random_state=0)
    result = compare_datasets(A, B, estimator)
    p_value, null = brute_force(estimator, A, B)
    assert result.exact
    np.testing.assert_allclose(np.sort(result.null), null, atol=1e-7)
    assert result.p_value == pytest.approx(p_value)


def test_no_test_where_none_is_asked_for():
    result = compare_datasets(*samples(0, 3, 4), n_permutations=0)
    assert result.p_value is None
    assert len(result.null) == 0


def test_the_seed_decides():
    pair = samples(0, 8, 9)
    first, again, other = (compare_datasets(*pair, n_permutations=50, random_state=s).null for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize(
    "estimator", [None, RuLSIF(random_state=np.random.default_rng(7))], ids=["default", "generator"]
)
def test_the_divergence_depends_on_the_seed_and_not_on_the_permutations(estimator):
    # Past 300 rows the default draws its centres.
    pair = samples(0, 160, 150, shift=0.2)
    found = [compare_datasets(*pair, estimator, n, random_state=0) for n in (0, 0, 3, 9)]
    assert len({result.forward for result in found}) == len({result.backward for result in found}) == 1
    fitted = found[0]._estimator.fit(*pair)
    assert found[0].forward == pytest.approx(fitted.divergence(), abs=1e-9)
    np.testing.assert_array_equal(found[0].ratios_b, fitted.ratio_de_)


def test_a_generator_moves_on_by_as_much_whatever_is_drawn():
    pair, rngs = samples(0, 8, 9), [np.random.default_rng(0) for _ in range(2)]
    for rng, n_permutations in zip(rngs, (0, 99), strict=True):
        compare_datasets(*pair, n_permutations=n_permutations, random_state=rng)
    assert rngs[0].random() == rngs[1].random()


# ---------------------------------------------------------------- what differs


def test_the_column_that_differs_is_found_by_name():
    A, B = samples(0, 12, 9, d=5)
    B[:, 3] += 3
    frames = [pd.DataFrame(X, columns=list("pqrst")) for X in (A, B)]
    result = compare_datasets(*frames, n_permutations=9)
    assert result.columns[0] == "s"
    assert result.column_scores.argmax() == 3
    assert result.columns == tuple(np.array(list("pqrst"))[np.argsort(-result.column_scores)][: len(result.columns)])
    # One column at a time, by hand.
    pooled = np.concatenate([A, B])
    pooled[:, 3] = pooled[:, 3].mean()
    units = RuLSIF(scale=ColumnScaling.of([A, B], "columns"))
    expected = result.statistic - statistic(units, pooled[:12], pooled[12:])
    assert result.column_scores[3] == pytest.approx(expected, abs=1e-7)


def test_typical_rows_come_first():
    A, B = [[0.0], [2.0], [0.1]], [[2.1], [0.05], [2.2], [2.0]]
    result = compare_datasets(A, B, RuLSIF(sigma=1.0))
    assert result.rows_a[-1] == 1
    assert result.rows_b[-1] == 1


# ---------------------------------------------------------------- in and out


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=lambda make: make.__module__)
def test_tables_of_all_kinds(make):
    A, B = samples(0, 4, 5)
    expected = compare_datasets(A, B)
    columns = [{"x": X[:, 0], "y": X[:, 1]} for X in (A, B)]
    result = compare_datasets(*map(make, columns))
    assert result.p_value == expected.p_value
    assert {difference.column for difference in result.differences} == {"x", "y"}


def test_datasets_keep_their_names():
    A, B = samples(0, 4, 5)
    result = compare_datasets(Dataset("monday", None, A), Dataset("tuesday", None, B))
    assert "monday and tuesday: 4 rows and 5 rows; divergence" in repr(result)
    assert "all 126 permutations" in repr(result)
    with pytest.raises(InputError, match="dataset 'monday' has 2 features but A has 3"):
        compare_datasets(np.ones((2, 3)), Dataset("monday", None, A))


def test_a_learned_estimator_compares():
    sources = gaussian_family(8, n_instances=20, random_state=0).collection
    learned = meta_estimator(n_support=3, max_steps=2, n_query=5, random_state=0, device="cpu").pretrain(sources)
    A, B = samples(0, 2, 3, d=1)
    result = compare_datasets(A, B, learned)
    assert result.p_value == pytest.approx(brute_force(learned, A, B)[0])
    assert compare_datasets(B, A, learned).p_value == result.p_value
    with pytest.raises(NotFittedError):
        compare_datasets(A, B, MetaRatioEstimator())


def test_everything_goes_into_json():
    A, B = samples(0, 4, 5)
    words = json.loads(json.dumps(compare_datasets(A, B).to_dict()))
    assert words["n_rows"] == [4, 5]
    assert words["n_permutations"] == 126
    assert words["column_scores"][1]["column"] == 1


def test_the_picture_shows_rows_test_and_columns():
    result = compare_datasets(*samples(0, 4, 5))
    assert len(result.plot().axes) == 3
    compare_datasets(*samples(0, 4, 5), n_permutations=0).plot()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[1.0]], [[1.0, 2.0]]), InputError, "B has 2 features but A has 1"),
        (([[np.inf]], [[1.0]]), InputError, "A has 1 infinite"),
        (([["x"]], [[1.0]]), InputError, "A"),
        (([[1.0]], []), InputError, "B"),
        (([[1.0]], [[1.0]], "RuLSIF"), ParameterError, "estimator is 'RuLSIF'; needed is a ratio estimator"),
        (([[1.0]], [[1.0]], RuLSIF), ParameterError, "estimator is the class RuLSIF"),
        (([[1.0]], [[1.0]], None, -1), ParameterError, "n_permutations is -1"),
        (([[1.0]], [[1.0]], None, 1.5), ParameterError, "n_permutations is 1.5"),
    ],
)
def test_what_is_wrong_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        compare_datasets(*arguments)


def test_the_estimator_stays_as_it_is():
    A, B = samples(0, 4, 5)
    estimator = RuLSIF().fit(A, A)
    before = estimator.predict(B)
    compare_datasets(A, B, estimator)
    np.testing.assert_array_equal(estimator.predict(B), before)
