"""What is drawn from rows follows their values, not their units, order or bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from fewratio import KLIEP, ULSIF, AutoRatioEstimator, ClassifierRatio, RuLSIF
from fewratio.core.draws import draw_seed, in_row_order, row_order, set_seed
from fewratio.estimators import KMM, HeldOutSelection, Telescoping, mmd2
from tests.strategies import quick, seeds


def table(seed, n=40, d=3):
    """Rows with ties, zeros of both signs in their place, and values that float32 holds."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64)
    rows[:, 0] = np.round(2 * rows[:, 0]) / 2
    return rows


def negative_zeros(rows):
    return np.where(rows == 0, -0.0, rows)


CHANGES = {
    "times 8": lambda X: 8 * X,
    "times 1000": lambda X: 1000 * X,
    "each column its own unit": lambda X: X * [0.001, 1.0, 7.0],
    "shifted": lambda X: X + 2.0**10,
    "negative zeros": negative_zeros,
    "columns in another order": lambda X: X[:, [2, 0, 1]],
    "float32": lambda X: X.astype(np.float32),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_does_not_change(change, seed):
    rows = np.unique(table(seed), axis=0)
    np.testing.assert_array_equal(row_order(CHANGES[change](rows)), row_order(rows))


@pytest.mark.parametrize("seed", range(5))
def test_the_order_does_not_depend_on_the_order_given(seed):
    rows = table(seed)
    moved = np.random.default_rng(seed).permutation(rows)
    np.testing.assert_array_equal(in_row_order(moved), in_row_order(rows))


def test_rows_that_trade_ranks_are_told_apart():
    rows = np.array([[0.0, 5.0], [1.0, 1.0], [4.0, 0.0]])
    orders = {tuple(map(tuple, in_row_order(rows[list(order)]))) for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2])}
    assert len(orders) == 1


def test_rows_of_one_value_and_huge_ones_have_an_order():
    for rows in (np.ones((4, 2)), np.array([[1e308], [-1e308], [0.0]]), np.zeros((1, 1))):
        assert sorted(row_order(rows)) == list(range(len(rows)))


# Everything that draws; all are the same in any unit that the columns share.
ESTIMATORS = [
    RuLSIF(random_state=0),
    RuLSIF(centres=7, random_state=0),
    RuLSIF(sigma="cv", reg="cv", random_state=0),
    RuLSIF(sigma="cv", cv=3, scale="columns", random_state=0),
    ULSIF(sigma="cv", random_state=0),
    KLIEP(sigma="cv", centres=9, random_state=0),
    KLIEP(sigma="cv", scale="columns", random_state=0),
    KMM(random_state=0),
    KMM(scale="columns", random_state=0),
    ClassifierRatio(random_state=0),
    Telescoping(random_state=0),
    Telescoping(RuLSIF(0.0), n_pairings=2, random_state=0),
    HeldOutSelection(RuLSIF(), {"reg": [0.01, 0.1, 1.0]}, random_state=0),
    AutoRatioEstimator(0.0, random_state=0),
]
OWN_UNITS = "each column its own unit"


def in_any_units(estimator):
    """Whether the columns may each have another unit: distances change with them unless they are scaled."""
    default = isinstance(estimator, ClassifierRatio) or estimator.get_params().get("estimator", estimator) is None
    return default or getattr(estimator, "scale", "none") == "columns"


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_ratios_do_not_depend_on_units_order_or_bytes(estimator):
    nu, de, X = table(0, 30), table(1, 35) + 0.5, table(2, 20)
    expected = estimator.fit(nu, de)
    ratio, divergence, at_rows = expected.predict(X), expected.divergence(), expected.ratio_de_
    for change, of in CHANGES.items():
        if change == OWN_UNITS and not in_any_units(estimator):
            continue
        found = estimator.fit(of(nu), of(de))
        np.testing.assert_allclose(found.predict(of(X)), ratio, rtol=1e-5, atol=1e-6, err_msg=change)
        np.testing.assert_allclose(found.ratio_de_, at_rows, rtol=1e-5, atol=1e-6, err_msg=change)
        assert found.divergence() == pytest.approx(divergence, rel=1e-5, abs=1e-7), change


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_ratios_do_not_depend_on_the_order_of_rows(estimator):
    rng = np.random.default_rng(0)
    nu, de, X = table(0, 30), table(1, 35) + 0.5, table(2, 20)
    ratio = estimator.fit(nu, de).predict(X)
    orders = rng.permutation(30), rng.permutation(35)
    at_rows = estimator.ratio_nu_, estimator.ratio_de_
    estimator.fit(nu[orders[0]], de[orders[1]])
    np.testing.assert_allclose(estimator.predict(X), ratio, rtol=1e-6, atol=1e-8)
    for found, expected, order in zip((estimator.ratio_nu_, estimator.ratio_de_), at_rows, orders, strict=True):
        np.testing.assert_allclose(found, expected[order], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("change", sorted(set(CHANGES) - {OWN_UNITS}))
def test_the_discrepancy_of_many_rows_does_not_depend_on_units(change):
    first, second = table(0, 700), table(1, 600) + 0.5
    of = CHANGES[change]
    assert mmd2(of(first), of(second)) == pytest.approx(mmd2(first, second), rel=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_every_estimator_can_be_seeded(estimator):
    # 320 rows in all: of more than 300 some become centres.
    n_rows = 40 if isinstance(estimator, KMM | Telescoping | KLIEP) else 160
    samples = table(0, n_rows), table(1, n_rows) + 0.5
    copies = [set_seed(clone(estimator).set_params(random_state=None), np.random.default_rng(5)) for _ in range(2)]
    first, second = (copy.fit(*samples).divergence() for copy in copies)
    assert first == second


def test_columns_whose_sum_overflows_have_an_order():
    rows = np.random.default_rng(0).uniform(0, 1.7e308, (400, 2))
    assert sorted(row_order(rows)) == list(range(400))


@quick
@given(whole=arrays(np.int64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.integers(0, 3)), seed=seeds)
def test_the_order_of_tied_rows_depends_on_values_alone(whole, seed):
    rows, rng = whole.astype(np.float64), np.random.default_rng(seed)
    expected = rows[row_order(rows)]
    shuffled = rows[rng.permutation(len(rows))]
    np.testing.assert_array_equal(shuffled[row_order(shuffled)], expected)
    np.testing.assert_array_equal(rows[row_order(np.insert(rows, 0, 0.1, axis=1))], expected)


def test_rows_that_trade_values_are_told_apart_by_the_columns():
    """Both columns have the same values, and the first two rows the same pair of them; the other rows differ."""
    rows = np.array([[0.0, 3.0], [3.0, 0.0], [1.0, 2.0], [2.0, 4.0], [4.0, 1.0]])
    swapped = rows[:, ::-1]
    np.testing.assert_array_equal(swapped[row_order(swapped)], rows[row_order(rows)][:, ::-1])


def test_a_seed_of_32_bits_is_an_integers_own_or_drawn():
    assert draw_seed(7) == draw_seed(2**32 + 7) == 7
    drawn = [draw_seed(np.random.default_rng(0)) for _ in range(2)]
    assert drawn[0] == drawn[1] != draw_seed(np.random.default_rng(1))
