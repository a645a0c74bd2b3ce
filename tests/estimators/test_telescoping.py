"""A chain of ratios: one bridge is the estimator itself, more reach farther."""

import numpy as np
import pytest

from fewratio import KLIEP, ULSIF, ClassifierRatio, RuLSIF
from fewratio.errors import ParameterError
from fewratio.estimators import Telescoping

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
