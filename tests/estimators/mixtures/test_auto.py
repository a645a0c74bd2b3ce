"""What the mean is made of, in which shares, and that nothing jumps where they change."""

import numpy as np
import pytest

from fewratio import AutoRatioEstimator, ClassifierRatio, RuLSIF, UniversalRatioEstimator
from fewratio.core.units import ColumnScaling
from fewratio.estimators.mixtures import auto


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return lambda n_nu, n_de: (rng.normal(size=(n_nu, 3)), rng.normal(1, 1, (n_de, 3)))


def test_small_samples_get_the_mean_of_network_and_classifier(samples):
    nu, de = samples(4, 7)
    X = np.concatenate([nu, de, nu + 0.1])
    for scale in ("none", "columns"):
        found = AutoRatioEstimator(0.3, scale=scale, random_state=0).fit(nu, de)
        scaled = ColumnScaling.of([nu, de], scale)
        network, classifier = (
            each.fit(scaled(nu), scaled(de))
            for each in (UniversalRatioEstimator(0.3, scale="none"), ClassifierRatio(alpha=0.3, random_state=0))
        )
        expected = 2 / 3 * network.predict(scaled(X)) + classifier.predict(scaled(X)) / 3
        np.testing.assert_allclose(found.predict(X), expected, rtol=1e-6)
        # Not the ratio that `predict` gives: the network leaves a fitted row out of its own features.
        np.testing.assert_allclose(found.ratio_de_, 2 / 3 * network.ratio_de_ + classifier.ratio_de_ / 3, rtol=1e-6)


@pytest.mark.parametrize(("n_de", "factor"), [(1, 2.0), (3, 1.5)])
@pytest.mark.parametrize("alpha", [0.3, 0.5])
def test_the_log_ratio_of_the_network_is_larger_where_rows_are_fewest(samples, n_de, factor, alpha):
    nu, de = samples(1, n_de)
    found = AutoRatioEstimator(alpha, scale="none", random_state=0).fit(nu, de)
    network, classifier = (
        each.fit(nu, de).predict(de + 0.2)
        for each in (UniversalRatioEstimator(alpha, scale="none"), ClassifierRatio(alpha=alpha, random_state=0))
    )
    plain = (1 - alpha) * network / (1 - alpha * network)
    sharper = plain**factor / (alpha * plain**factor + 1 - alpha)
    np.testing.assert_allclose(found.predict(de + 0.2), 2 / 3 * sharper + classifier / 3, rtol=1e-5)


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
    shares = [dict(zip((UniversalRatioEstimator, ClassifierRatio), (0, 0), strict=True)) for _ in range(2, 600)]
    for n, share in zip(range(2, 600), shares, strict=True):
        share.update({type(estimator): part for estimator, part, *_ in AutoRatioEstimator()._parts_without_sources(n)})
        assert sum(share.values()) == pytest.approx(1)
    of_network = [share[UniversalRatioEstimator] for share in shares]
    assert of_network[0] == pytest.approx(2 / 3)
    assert of_network[-1] == 0
    assert np.abs(np.diff(of_network)).max() < 0.01
    # The smaller sample decides: of 5 rows against any number no more than 10 can be made.
    assert AutoRatioEstimator()._parts(np.zeros((5, 1)), np.zeros((10_000, 1)))[0].share == pytest.approx(2 / 3)


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
