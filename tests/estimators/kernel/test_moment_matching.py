"""Kernel mean matching: the programme against another solver, its constraints, and the ratio between the rows."""

import sys

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from fewratio import relative_pearson_divergence
from fewratio.errors import FewRatioError, InputError
from fewratio.estimators import KMM


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(0, 1, (30, 2)), rng.normal(0.7, 1.5, (20, 2))


def programme(estimator, X_nu):
    X_de, sigma, m = estimator.X_de_, estimator.sigma_, len(estimator.X_de_)
    K = np.exp(-(cdist(X_de, X_de) ** 2) / sigma**2) + estimator.reg * np.eye(m)
    kappa = m * np.exp(-(cdist(X_de, X_nu) ** 2) / sigma**2).mean(1)
    return K, kappa


@pytest.mark.parametrize("reg", [0.01, 0.5])
@pytest.mark.parametrize("bound", [1.5, 1000.0])
@pytest.mark.parametrize("tolerance", [0.0, 0.02, 1.0])
def test_another_solver_finds_the_same(samples, reg, bound, tolerance):
    X_nu, X_de = samples
    estimator = KMM(reg=reg, bound=bound, tolerance=tolerance).fit(X_nu, X_de)
    K, kappa = programme(estimator, X_nu)
    m = len(X_de)
    reference = minimize(
        lambda b: 0.5 * b @ K @ b - kappa @ b,
        np.ones(m),
        jac=lambda b: K @ b - kappa,
        method="SLSQP",
        bounds=[(0, bound)] * m,
        constraints={"type": "ineq", "fun": lambda b: m * tolerance + np.array([1, -1]) * (b.sum() - m)},
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    np.testing.assert_allclose(estimator.weights_, reference.x, atol=1e-3 * reference.x.max())
    assert 0.5 * estimator.weights_ @ K @ estimator.weights_ - kappa @ estimator.weights_ <= reference.fun + 1e-6


def test_the_constraints_hold(samples):
    estimator = KMM(bound=1.4, tolerance=0.01).fit(*samples)
    assert estimator.weights_.min() >= 0
    assert estimator.weights_.max() <= 1.4
    assert estimator.weights_.mean() == pytest.approx(1, abs=0.01 + 1e-8)


def test_the_ratio_at_the_denominator_is_the_solution_and_lies_between_elsewhere(samples):
    X_nu, X_de = samples
    estimator = KMM().fit(X_nu, X_de)
    np.testing.assert_array_equal(estimator.predict(estimator.X_de_), estimator.weights_)
    # In the order that was given, and next to a row nearly what is at the row.
    order = [np.flatnonzero((estimator.X_de_ == row).all(1))[0] for row in X_de]
    np.testing.assert_array_equal(estimator.predict(X_de), estimator.weights_[order])
    np.testing.assert_allclose(estimator.predict(X_de + 1e-7), estimator.predict(X_de), atol=1e-6)
    anywhere = estimator.predict(np.random.default_rng(1).normal(0, 30, (200, 2)))
    assert estimator.weights_.min() <= anywhere.min() <= anywhere.max() <= estimator.weights_.max() + 1e-12


def test_the_divergence_is_that_of_the_ratios(samples):
    estimator = KMM().fit(*samples)
    ratios = [estimator.predict(X) for X in samples]
    assert estimator.divergence() == pytest.approx(relative_pearson_divergence(*ratios, alpha=0), rel=1e-9)


@pytest.mark.parametrize("sizes", [(200, 2000), (2000, 200)])
def test_the_divergence_of_one_law_is_near_zero_whatever_the_sizes(sizes):
    rng = np.random.default_rng(0)
    X_nu, X_de = (rng.normal(0, 1, (n, 1)) for n in sizes)
    assert abs(KMM(random_state=0).fit(X_nu, X_de).divergence()) < 0.05


def test_many_rows_of_high_rank_are_matched():
    rng = np.random.default_rng(0)
    X_nu, X_de = rng.normal(0.3, 1, (100, 20)), rng.normal(0, 1, (150, 20))
    estimator = KMM(reg=1e-3).fit(X_nu, X_de)
    K, kappa = programme(estimator, X_nu)
    # Where b is inside its bounds, the slope is the multiplier of the sum: one number.
    inside = estimator.weights_ > 1e-3
    slope = (K @ estimator.weights_ - kappa)[inside]
    assert np.ptp(slope) < 1e-4


def test_without_the_solver_the_error_says_what_to_install(samples, monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(FewRatioError, match=r"needs clarabel, which is not installed.*pip install 'fewratio\[kmm\]'"):
        KMM().fit(*samples)


def test_more_rows_than_the_programme_can_take_are_refused():
    with pytest.raises(InputError, match=r"X_de has 20001 rows; KMM .* at most 20000"):
        KMM().fit(np.zeros((2, 1)), np.zeros((20_001, 1)))


def test_the_numerator_may_be_large():
    """Its rows are only averaged over, a block at a time."""
    rng = np.random.default_rng(0)
    X_nu, X_de = rng.normal(size=(200_000, 1)), rng.normal(size=(30, 1))
    assert abs(KMM(random_state=0).fit(X_nu, X_de).predict(X_de).mean() - 1) <= 0.0101
