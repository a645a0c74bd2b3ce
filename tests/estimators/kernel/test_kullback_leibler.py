"""KLIEP and the unconstrained form: optimality, the width that is chosen, and known densities."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from fewratio import KLIEP
from fewratio.core.arrays import equal_shares
from fewratio.core.objectives import UnnormalisedKL
from fewratio.errors import InputError, ParameterError
from fewratio.estimators.kernel import kullback_leibler
from fewratio.estimators.kernel.selection import WIDTH_FACTORS
from fewratio_bench.unconstrained_kl import UnconstrainedKL
from tests.densities import KNOWN_PAIRS


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(0, 1, (30, 2)), rng.normal(0.7, 1.5, (45, 2))


def features(estimator, X):
    return np.exp(-(cdist(X, estimator.centres_) ** 2) / estimator.sigma_**2)


@pytest.mark.parametrize("sigma", ["median", "cv", 0.3, 5.0])
def test_kliep_is_optimal(samples, sigma):
    """Its conditions: mean ratio 1; the likelihood's slope is 1 for each normalised kernel in use, and at most 1."""
    estimator = KLIEP(sigma=sigma, random_state=0).fit(*samples)
    nu, de = (features(estimator, X) for X in samples)
    w = estimator.weights_
    assert (w >= 0).all()
    assert (de @ w).mean() == pytest.approx(1, abs=1e-8)
    slope = (nu / (nu @ w)[:, None]).mean(0) / de.mean(0)
    assert slope.max() <= 1 + 1e-6
    used = w * de.mean(0) > 1e-4
    np.testing.assert_allclose(slope[used], 1, atol=1e-4)
    assert estimator.divergence() == pytest.approx(np.log(estimator.predict(samples[0])).mean(), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("reg", [0.0, 1e-3, 0.1, 10.0])
def test_the_gradient_of_the_loss_vanishes_where_weights_are_positive(samples, alpha, reg):
    estimator = UnconstrainedKL(alpha, reg=reg).fit(*samples)
    phi = torch.from_numpy(np.concatenate([features(estimator, X) for X in samples]))
    shares = equal_shares(30, 45, phi)
    loss = UnnormalisedKL(alpha, floor=0.0)
    w = torch.from_numpy(estimator.weights_)
    slope = torch.func.grad(lambda v: loss(phi @ v, shares) + reg / 2 * v.square().sum())(w)
    assert w.min() >= 0
    assert slope.min() > -1e-8
    assert (slope * w).abs().max() < 1e-8


def test_kliep_is_the_unconstrained_form_without_alpha_and_reg(samples):
    one = KLIEP(random_state=0).fit(*samples)
    other = UnconstrainedKL(0.0, reg=0.0, centres="numerator", random_state=0).fit(*samples)
    np.testing.assert_array_equal(one.weights_, other.weights_)


def test_the_width_is_one_of_those_given(samples):
    median = KLIEP().fit(*samples).sigma_
    chosen = KLIEP(sigma="cv", random_state=0).fit(*samples).sigma_
    assert np.abs(WIDTH_FACTORS * median - chosen).min() < 1e-12
    assert KLIEP(sigma=[0.01, 1.5, 300.0], random_state=0).fit(*samples).sigma_ == 1.5
    assert KLIEP(sigma=[0.7, 2.0]).fit(samples[0][:1], samples[1]).sigma_ == 2.0  # nothing can be held out


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_widths_may_be_any_sequence(samples, kind):
    assert KLIEP(sigma=kind([0.01, 1.5, 300.0]), random_state=0).fit(*samples).sigma_ == 1.5


def test_the_widths_to_choose_from_are_multiples_of_one_median():
    rng = np.random.default_rng(0)
    X_nu, X_de = rng.normal(0, 1, (600, 1)), rng.normal(0.5, 1, (600, 1))  # more than the median is taken of
    median, chosen = (
        KLIEP(sigma=sigma, centres=5, random_state=0).fit(X_nu, X_de).sigma_ for sigma in ("median", "cv")
    )
    assert np.abs(WIDTH_FACTORS * median - chosen).min() < 1e-12
    assert chosen > WIDTH_FACTORS[0] * median  # with a median of its own, only the first could be right


@pytest.mark.parametrize("sigma", [[], [1.0, -1.0], [[1.0]], [np.nan, 1.0]])
def test_widths_that_are_none_are_named(samples, sigma):
    with pytest.raises(ParameterError, match="sigma is"):
        KLIEP(sigma=sigma).fit(*samples)


def test_kernels_that_do_not_meet_the_denominator_give_a_bounded_ratio():
    X_nu, X_de = np.arange(5.0)[:, None], np.arange(100.0, 103.0)[:, None]
    ratio = KLIEP(sigma=0.5).fit(X_nu, X_de).predict(X_nu)
    assert np.isfinite(ratio).all()
    assert ratio.max() < 2 / kullback_leibler.LEAST_MEAN
    assert (KLIEP(sigma=0.5).fit(X_nu, X_de).log_ratio(X_de) == -np.inf).all()


def test_values_beyond_the_arithmetic_are_refused(samples):
    with pytest.raises(InputError, match="Rescale"):
        KLIEP().fit(np.full((3, 2), 1e200), np.zeros((3, 2)))


@pytest.mark.parametrize("sizes", [(200, 2000), (2000, 200)])
@pytest.mark.parametrize("estimator", [KLIEP(random_state=0), UnconstrainedKL(random_state=0)], ids=repr)
def test_the_divergence_of_one_law_is_near_zero_whatever_the_sizes(estimator, sizes):
    rng = np.random.default_rng(0)
    X_nu, X_de = (rng.normal(0, 1, (n, 1)) for n in sizes)
    assert abs(estimator.fit(X_nu, X_de).divergence()) < 0.05


def test_the_divergence_of_two_gaussians_is_the_true_one():
    X_nu, X_de = KNOWN_PAIRS["one Gaussian"].samples(2000, 2000, seed=0)
    truth = np.log(2) + (1 + 1) / (2 * 4) - 0.5
    assert KLIEP(random_state=0).fit(X_nu, X_de).divergence() == pytest.approx(truth, rel=0.1)
