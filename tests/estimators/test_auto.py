"""Which estimator is taken, and that it is the one that answers."""

import numpy as np
import pytest

from fewratio import AutoRatioEstimator, RuLSIF, UniversalRatioEstimator
from fewratio.estimators import auto
from fewratio.estimators.scaling import ColumnScaling


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return lambda n_nu, n_de: (rng.normal(size=(n_nu, 3)), rng.normal(1, 1, (n_de, 3)))


def test_small_samples_get_the_network(samples):
    nu, de = samples(4, 7)
    X = np.concatenate([nu, de, nu + 0.1])
    for scale in ("none", "columns"):
        found = AutoRatioEstimator(0.3, scale=scale).fit(nu, de)
        scaled = ColumnScaling.of([nu, de], scale)
        expected = UniversalRatioEstimator(0.3).fit(scaled(nu), scaled(de))
        np.testing.assert_array_equal(found.predict(X), expected.predict(scaled(X)))
        assert found.divergence() == pytest.approx(expected.divergence(), rel=1e-6)


@pytest.mark.parametrize(("n_nu", "n_de", "alpha"), [(200, 300, 0.5), (4, 7, 0.0), (4, 7, 0.95)])
def test_large_samples_and_other_alphas_get_the_kernel(samples, n_nu, n_de, alpha):
    nu, de = samples(n_nu, n_de)
    found = AutoRatioEstimator(alpha, random_state=0).fit(nu, de)
    expected = RuLSIF(alpha, sigma="cv", reg="cv", scale="columns", random_state=0).fit(nu, de)
    np.testing.assert_allclose(found.predict(nu[:5]), expected.predict(nu[:5]), rtol=1e-9)


def test_of_one_large_sample_some_rows_are_drawn_whatever_their_order(samples):
    nu, de = samples(5, 800)
    found = AutoRatioEstimator(random_state=0).fit(nu, de)
    assert found.estimator_.ratio_.support.rows.shape == (205, 3)
    again = AutoRatioEstimator(random_state=0).fit(nu, de[::-1])
    np.testing.assert_allclose(found.predict(nu + 0.1), again.predict(nu + 0.1), rtol=1e-4)


@pytest.mark.parametrize("large", [3, 5, 100])
def test_divergences_of_many_pairs_are_those_of_a_loop(samples, monkeypatch, large):
    monkeypatch.setattr(auto, "LARGE", large)
    rows = np.concatenate(samples(8, 8))
    nu, de = [[0, 1, 2, 3], [8, 9, 10, 11]], [[4, 5, 8, 9, 10, 11], [0, 1, 2, 3, 4, 5]]
    estimator = AutoRatioEstimator(random_state=0)
    expected = [estimator.fit(rows[i], rows[j]).divergence() for i, j in zip(nu, de, strict=True)]
    np.testing.assert_allclose(estimator.divergences(rows, nu, de), expected, atol=1e-5)
