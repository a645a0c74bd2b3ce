"""What the mean is made of, in which shares, and that nothing jumps where they change."""

import numpy as np
import pytest

from fewratio import AutoRatioEstimator, ClassifierRatio, RuLSIF, UniversalRatioEstimator
from fewratio.estimators.mixtures import auto


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return lambda n_nu, n_de: (rng.normal(size=(n_nu, 3)), rng.normal(1, 1, (n_de, 3)))


@pytest.mark.parametrize(("n_nu", "n_de", "factor"), [(4, 7, 1.0), (1, 1, 2.0), (1, 3, 1.5)])
@pytest.mark.parametrize(("scale", "n_members"), [("none", 2), ("columns", 2), ("auto", 3)])
def test_small_samples_get_the_mean_of_networks_and_classifier(samples, n_nu, n_de, factor, scale, n_members):
    alpha, (nu, de) = 0.3, samples(n_nu, n_de)
    X = np.concatenate([nu, de, nu + 0.1])
    found = AutoRatioEstimator(alpha, scale=scale, random_state=0).fit(nu, de)
    assert sum(found.shares_) == pytest.approx(1, abs=1e-5)
    assert len(found.members_) <= n_members
    expected = np.zeros(len(X))
    for part in found._fitted:
        ratio = part.estimator.fit(part.scaling(nu), part.scaling(de)).predict(part.scaling(X))
        if isinstance(part.estimator, UniversalRatioEstimator):
            # With few rows, the log-ratio of a network is larger.
            plain = (1 - alpha) * ratio / (1 - alpha * ratio)
            ratio = plain**factor / (alpha * plain**factor + 1 - alpha)
        expected += part.share * ratio
    np.testing.assert_allclose(found.predict(X), expected, rtol=1e-5)


def test_the_two_samples_say_which_units_count():
    """Means differ in a column of ordinary deviation, or in the one whose deviation is large."""
    rng = np.random.default_rng(0)
    units = np.array([1.0, 1.0, 1.0, 1.0, 30.0])
    shares = []
    for column in (0, 4):
        nu, de = (rng.normal(size=(12, 5)) for _ in range(2))
        nu[:, column] += 3
        found = AutoRatioEstimator(random_state=0).fit(nu * units, de * units)
        of_units = {tuple(np.round(part.scaling(units), 3)): part.share for part in found._fitted}
        one_unit = found._parts_without_sources(nu * units, de * units, 12)["network in one unit"].scaling
        shares.append(of_units.get(tuple(np.round(one_unit(units), 3)), 0.0))
    assert shares[0] < 0.1
    assert shares[1] > shares[0] + 0.2


@pytest.mark.parametrize("scale", ["auto", "columns"])
def test_constant_columns_never_matter(samples, scale):
    nu, de = samples(4, 7)
    X = np.concatenate([nu, de])
    wide = [np.column_stack([rows, np.full(len(rows), 3e6)]) for rows in (nu, de, X)]
    found = [AutoRatioEstimator(scale=scale, random_state=0).fit(*two).predict(at) for *two, at in ([nu, de, X], wide)]
    np.testing.assert_allclose(*found, rtol=1e-4)


def test_ratios_at_their_bounds_stay_there():
    np.testing.assert_allclose(
        auto._Part(RuLSIF(), 1.0, sharpness=2.0).sharpen(np.array([0.0, 1.0, 2.0]), 0.5), [0, 1, 2], atol=1e-5
    )


def test_large_samples_get_the_classifier(samples):
    nu, de = samples(400, 401)
    found = AutoRatioEstimator(random_state=0).fit(nu, de)
    assert [type(each) for each in found.members_] == [ClassifierRatio]
    expected = ClassifierRatio(random_state=0).fit(nu, de)
    np.testing.assert_allclose(found.predict(nu[:5]), expected.predict(nu[:5]), rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.95])
def test_alphas_that_the_network_does_not_know_get_the_kernel(samples, alpha):
    nu, de = samples(4, 7)
    found = AutoRatioEstimator(alpha, random_state=0).fit(nu, de)
    expected = RuLSIF(alpha, sigma="cv", reg="cv", scale="columns", random_state=0).fit(nu, de)
    np.testing.assert_allclose(found.predict(nu[:5]), expected.predict(nu[:5]), rtol=1e-9)


def test_shares_change_without_a_step():
    estimator, rng = AutoRatioEstimator(), np.random.default_rng(0)
    rows = rng.normal(size=(600, 1)), rng.normal(1, 1, (600, 1))
    of_networks = []
    for n in (50, 60, 100, 200, 390, 400):
        parts = estimator._parts(*(X[:n] for X in rows))
        assert sum(part.share for part in parts) == pytest.approx(1, abs=1e-5)
        of_networks.append(sum(part.share for part in parts if isinstance(part.estimator, UniversalRatioEstimator)))
    assert of_networks[0] > 0.05
    assert of_networks[-1] == 0
    assert auto._fade(50) == 1
    # The smaller sample decides: of 5 rows against any number no more than 10 can be made.
    assert auto._fade(auto.harmonic_size(5, 10_000)) == 1


@pytest.mark.slow
def test_of_one_large_sample_some_rows_are_drawn_whatever_their_order(samples):
    nu, de = samples(5, 800)
    found = AutoRatioEstimator(random_state=0).fit(nu, de)
    assert found.members_[0].ratio_.support.rows.shape == (205, 3)
    again = AutoRatioEstimator(random_state=0).fit(nu, de[::-1])
    np.testing.assert_allclose(found.predict(nu + 0.1), again.predict(nu + 0.1), rtol=1e-4)
    np.testing.assert_allclose(found.ratio_de_, again.ratio_de_[::-1], rtol=1e-4)


@pytest.mark.parametrize("most", [3, 100])
def test_divergences_of_many_pairs_are_those_of_a_loop(samples, monkeypatch, most):
    monkeypatch.setattr(auto, "_MAX_ROWS_NETWORK", most)
    rows = np.concatenate(samples(8, 8))
    nu, de = [[0, 1, 2, 3], [8, 9, 10, 11]], [[4, 5, 8, 9, 10, 11], [0, 1, 2, 3, 4, 5]]
    estimator = AutoRatioEstimator(random_state=0)
    expected = [estimator.fit(rows[i], rows[j]).divergence() for i, j in zip(nu, de, strict=True)]
    np.testing.assert_allclose(estimator.divergences(rows, nu, de), expected, atol=1e-5)
