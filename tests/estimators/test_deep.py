"""Networks that are trained on the two samples alone: known densities, and which rows a step sees."""

import numpy as np
import pytest
from scipy.stats import norm

from fewratio import D3RE
from fewratio.estimators import PURatio, deep

PRIOR = 0.5


def draw(n, seed):
    """Positives from N(0, 1), and unlabelled instances that are positive, or from N(2, 1), half each."""
    rng = np.random.default_rng(seed)
    positive = rng.random((n, 1)) < PRIOR
    return rng.normal(0, 1, (n, 1)), rng.normal(np.where(positive, 0, 2), 1)


def test_the_ratio_of_positives_to_unlabelled_instances_nears_the_truth():
    X = draw(2000, seed=1)[1]
    p_nu, p_negative = norm.pdf(X[:, 0]), norm.pdf(X[:, 0], 2)
    truth = p_nu / (PRIOR * p_nu + (1 - PRIOR) * p_negative)
    errors = [
        np.abs(PURatio(PRIOR, n_steps=n_steps, device="cpu", random_state=0).fit(*draw(3000, 0)).predict(X) - truth)
        for n_steps in (20, 50, 300)
    ]
    few, more, many = (error.mean() for error in errors)
    assert few > more > many
    assert many < 0.15


@pytest.mark.parametrize("estimator", [D3RE(n_steps=3, random_state=0), PURatio(n_steps=3, random_state=0)], ids=repr)
def test_the_order_of_rows_has_no_say_in_which_a_step_sees(estimator, monkeypatch):
    monkeypatch.setattr(deep, "_BATCH", 20)
    X_nu, X_de = draw(60, seed=0)
    expected = estimator.fit(X_nu, X_de).predict(X_de)
    np.testing.assert_array_equal(estimator.fit(X_nu[::-1], np.roll(X_de, 7, axis=0)).predict(X_de), expected)
