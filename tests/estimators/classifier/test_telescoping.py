"""A chain of ratios: one bridge is the estimator itself, more reach farther."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from fewratio import KLIEP, ULSIF, ClassifierRatio, RuLSIF
from fewratio.errors import InputError, ParameterError
from fewratio.estimators import Telescoping
from fewratio.estimators.base import NotFittedError

GRID = np.linspace(-2, 8, 11)[:, None]


def draw(n_nu, n_de, distance):
    rng = np.random.default_rng(0)
    return rng.normal(0, 1, (n_nu, 1)), rng.normal(distance, 1, (n_de, 1))


@pytest.mark.parametrize("estimator", [ULSIF(), KLIEP(), ClassifierRatio(alpha=0.0, random_state=0)], ids=repr)
def test_one_bridge_is_the_estimator(estimator):
    X_nu, X_de = draw(30, 20, 1)
    chain = Telescoping(estimator, n_bridges=1).fit(X_nu, X_de)
    np.testing.assert_allclose(chain.predict(GRID), estimator.fit(X_nu, X_de).predict(GRID), rtol=1e-6)


@pytest.mark.parametrize("sizes", [(300, 200), (200, 300)])
@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_more_bridges_are_nearer_the_truth_of_samples_far_apart(sizes, shift):
    distance = 6.0
    X_nu, X_de = draw(*sizes, distance)
    truth = (distance**2 - 2 * distance * GRID[:, 0]) / 2
    errors = []
    for n_bridges in (1, 6):
        chain = Telescoping(n_bridges=n_bridges, random_state=0).fit(X_nu + shift, X_de + shift)
        errors.append(np.abs(chain.log_ratio(GRID + shift) - truth).mean())
    assert errors[1] < 0.5 * errors[0]


def test_the_divergence_is_the_mean_log_ratio():
    X_nu, X_de = draw(40, 30, 2)
    chain = Telescoping(random_state=0).fit(X_nu, X_de)
    assert chain.divergence() == pytest.approx(chain.log_ratio(X_nu).mean(), rel=1e-9)
    assert len(chain.bridges_) == 4


def test_a_relative_ratio_is_refused():
    with pytest.raises(ParameterError, match=r"alpha = 0\.5.*Set its alpha to 0"):
        Telescoping(RuLSIF()).fit([[0.0]], [[1.0]])


def test_many_sure_bridges_stay_finite():
    X_nu, X_de = draw(20, 20, 1e4)
    chain = Telescoping(n_bridges=30, random_state=0).fit(X_nu, X_de)
    assert np.isfinite(chain.predict([[-1e9], [1e9]])).all()


class _Samples(ULSIF):
    """Remembers what it was fitted to."""

    def fit(self, X_nu, X_de):
        self.samples_ = X_nu, X_de
        return super().fit(X_nu, X_de)


def test_each_pairing_mixes_every_row_once_more():
    X_nu, X_de = draw(6, 6, 3)
    chain = Telescoping(_Samples(), n_bridges=2, n_pairings=5, random_state=0).fit(X_nu, X_de)
    (end_nu, between), (again, end_de) = (bridge.samples_ for bridge in chain.bridges_)
    assert [len(rows) for rows in (end_nu, between, end_de)] == [6, 30, 6]
    np.testing.assert_array_equal(between, again)
    # Some pairs come twice by chance, but a pairing is not the one before it.
    assert len(np.unique(between)) > 15
    centre = (X_nu.mean() + X_de.mean()) / 2
    mixed = centre + np.sqrt(0.75) * (X_nu.mean() - centre) + 0.5 * (X_de.mean() - centre)
    assert between.mean() == pytest.approx(mixed, rel=1e-9)


@pytest.mark.slow
def test_more_pairings_are_nearer_the_truth_of_dependent_columns():
    """The means of the waymarks do not depend on who is paired with whom, but their correlations do."""
    rng = np.random.default_rng(0)
    correlation = 0.95

    def rows(n):
        x, noise = rng.normal(size=(2, n, 3))
        return np.hstack([x, correlation * x + np.sqrt(1 - correlation**2) * noise])

    classifier = make_pipeline(PolynomialFeatures(2), StandardScaler(), LogisticRegression(C=0.1))
    bridge = ClassifierRatio(classifier, alpha=0.0, calibrate=False)
    errors = {1: [], 8: []}
    for _ in range(5):
        X_nu, fresh = rows(200), rows(500)
        X_de = np.hstack([X_nu[:, :3], rng.permutation(X_nu[:, 3:])])
        joint, product = (multivariate_normal(cov=[[1, r], [r, 1]]) for r in (correlation, 0))
        pairs = np.stack([fresh[:, :3], fresh[:, 3:]], -1)
        truth = (joint.logpdf(pairs) - product.logpdf(pairs)).sum(1)
        for n_pairings, found in errors.items():
            chain = Telescoping(bridge, n_pairings=n_pairings, random_state=0).fit(X_nu, X_de)
            found.append(np.abs(chain.log_ratio(fresh) - truth).mean())
    assert np.mean(errors[8]) < 0.8 * np.mean(errors[1])


def test_the_loss_of_a_bridge_is_that_of_its_odds():
    """One bridge has no waymarks, so its loss can be had from the ratio itself."""
    X_nu, X_de = draw(30, 40, 2)
    chain = Telescoping(n_bridges=1, random_state=0).fit(X_nu[:20], X_de[:20])
    p_nu, p_de = (1 / (1 + 1 / chain.predict(rows)) for rows in (X_nu[20:], X_de[20:]))
    coin = np.log(2)
    expected = -(np.log(p_nu).mean() + np.log(1 - p_de).mean()) / (2 * coin)
    np.testing.assert_allclose(chain.bridge_losses(X_nu[20:], X_de[20:]), [expected], rtol=1e-9)


def test_bridges_are_harder_the_more_there_are_and_as_hard_as_a_coin_between_equal_samples():
    X_nu, X_de = draw(300, 300, 4)
    losses = []
    for n_bridges in (1, 2, 4):
        chain = Telescoping(n_bridges=n_bridges, random_state=0).fit(X_nu[:150], X_de[:150])
        losses.append(chain.bridge_losses(X_nu[150:], X_de[150:]))
    assert [len(each) for each in losses] == [1, 2, 4]
    assert losses[0].min() < losses[1].min() < losses[2].min() < 1
    same = Telescoping(random_state=0).fit(X_nu[:150], X_nu[150:])
    np.testing.assert_allclose(same.bridge_losses(X_nu[:150], X_nu[150:]), 1, atol=0.05)


def test_losses_of_other_features_or_before_the_fit_are_refused():
    X_nu, X_de = draw(20, 20, 1)
    with pytest.raises(NotFittedError, match="Call fit"):
        Telescoping().bridge_losses(X_nu, X_de)
    with pytest.raises(InputError, match="column"):
        Telescoping(random_state=0).fit(X_nu, X_de).bridge_losses(np.hstack([X_nu, X_nu]), np.hstack([X_de, X_de]))
