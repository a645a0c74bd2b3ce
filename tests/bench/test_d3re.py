"""Networks that are trained on the two samples alone: known densities, and which rows a step sees."""

import numpy as np
import pytest
from scipy.stats import norm

from fewratio_bench.d3re import D3RE


def draw(n, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (n, 1)), rng.normal(1, 1, (n, 1))


@pytest.mark.slow
def test_the_ratio_nears_the_truth():
    X = draw(2000, seed=1)[1]
    truth = norm.pdf(X[:, 0]) / norm.pdf(X[:, 0], 1)
    errors = [
        np.median(np.abs(D3RE(n_steps=n_steps, device="cpu", random_state=0).fit(*draw(3000, 0)).predict(X) - truth))
        for n_steps in (5, 300)
    ]
    assert errors[1] < 0.5 * errors[0]


@pytest.mark.slow
def test_the_order_of_rows_has_no_say_in_which_a_step_sees():
    estimator = D3RE(n_steps=3, random_state=0)
    X_nu, X_de = draw(600, seed=0)  # more than a step takes
    expected = estimator.fit(X_nu, X_de).predict(X_de)
    np.testing.assert_array_equal(estimator.fit(X_nu[::-1], np.roll(X_de, 7, axis=0)).predict(X_de), expected)
    np.testing.assert_allclose(estimator.ratio_nu_, estimator.predict(X_nu[::-1]), rtol=1e-6)
