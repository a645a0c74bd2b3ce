"""RuLSIF and uLSIF: two roads to each number, and known densities as the judge."""

import math

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist, pdist

from fewratio import ULSIF, RuLSIF, relative_pearson_divergence
from fewratio.core.units import column_scaling
from fewratio.errors import InputError, ParameterError
from fewratio.estimators import gaussian_relative_ratio
from fewratio.estimators.kernel import gaussian_basis
from fewratio.estimators.networks import Pair
from fewratio.estimators.networks.nn import GaussianFeatures, NoEncoder, RatioModel, RidgeHead

CLIPS = ("ratio", "weights")


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(0, 1, (9, 3)), rng.normal(0.7, 1.5, (14, 3))


@pytest.fixture(scope="module")
def grid():
    return np.random.default_rng(1).normal(0, 2, (25, 3))


# ---------------------------------------------------------------- two roads to one number


@pytest.mark.parametrize("clip", CLIPS)
def test_ulsif_is_rulsif_at_alpha_zero(samples, grid, clip):
    ulsif, rulsif = ULSIF(clip=clip).fit(*samples), RuLSIF(alpha=0, clip=clip).fit(*samples)
    np.testing.assert_array_equal(ulsif.predict(grid), rulsif.predict(grid))
    assert ulsif.divergence() == rulsif.divergence()


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("reg", [1e-3, 0.1, 10.0])
def test_rulsif_is_its_parts(samples, grid, alpha, reg, clip):
    head = RidgeHead(alpha, reg, learn_reg=False)
    model = RatioModel(NoEncoder(), GaussianFeatures(), head, clip=clip).double()
    with torch.no_grad():
        head.log_reg.fill_(math.log(reg))  # the head was made in float32
        ratio = model.adapt(Pair(*map(torch.from_numpy, samples)))(torch.from_numpy(grid))
    rulsif = RuLSIF(alpha, reg=reg, clip=clip).fit(*samples)
    np.testing.assert_allclose(rulsif.predict(grid), ratio.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("centres", ["both", "numerator"])
def test_rulsif_is_the_textbook_formula(samples, grid, alpha, clip, centres):
    X_nu, X_de = samples
    reg, sigma = 0.05, 1.7
    C = X_nu if centres == "numerator" else np.concatenate(samples)
    phi_nu, phi_de, phi = (np.exp(-(cdist(X, C) ** 2) / sigma**2) for X in (X_nu, X_de, grid))
    H = alpha * phi_nu.T @ phi_nu / len(X_nu) + (1 - alpha) * phi_de.T @ phi_de / len(X_de)
    w = np.linalg.solve(H + reg * np.eye(len(C)), phi_nu.mean(0))
    expected = phi @ w.clip(0) if clip == "weights" else (phi @ w).clip(0)
    estimator = RuLSIF(alpha, sigma=sigma, reg=reg, centres=centres, clip=clip).fit(X_nu, X_de)
    np.testing.assert_allclose(estimator.predict(grid), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_the_divergence_is_that_of_the_ratios(samples, alpha, clip):
    estimator = RuLSIF(alpha, clip=clip).fit(*samples)
    ratios = [estimator.predict(X) for X in samples]
    assert estimator.divergence() == pytest.approx(relative_pearson_divergence(*ratios, alpha), rel=1e-12)


# ---------------------------------------------------------------- centres and width


def test_which_instances_are_centres(samples):
    X_nu, X_de = samples
    both = np.concatenate([X_nu, X_de])
    np.testing.assert_array_equal(RuLSIF(centres="both").fit(X_nu, X_de).centres_, both)
    np.testing.assert_array_equal(RuLSIF(centres="numerator").fit(X_nu, X_de).centres_, X_nu)
    np.testing.assert_array_equal(RuLSIF(centres=99).fit(X_nu, X_de).centres_, both)


@pytest.mark.parametrize(("centres", "count"), [("both", 300), ("numerator", 300), (7, 7), (350, 350)])
def test_many_centres_are_drawn_with_the_seed(centres, count):
    X_nu, X_de = np.arange(310.0)[:, None], np.arange(310.0, 420.0)[:, None]
    first, again, other = (
        RuLSIF(centres=centres, random_state=seed).fit(X_nu, X_de).centres_[:, 0] for seed in (3, 3, 4)
    )
    assert len(first) == len(set(first)) == count
    assert set(first) <= set(range(310 if centres == "numerator" else 420))
    np.testing.assert_array_equal(first, again)
    assert set(first) != set(other)


def test_the_width_is_the_median_distance(samples):
    assert RuLSIF().fit(*samples).sigma_ == pytest.approx(np.median(pdist(np.concatenate(samples))), rel=1e-12)
    assert RuLSIF(sigma=3).fit(*samples).sigma_ == 3


def test_the_width_of_many_rows_is_near_the_median_of_all(samples):
    rng = np.random.default_rng(0)
    X_nu, X_de = rng.normal(0, 1, (500, 2)), rng.normal(1, 1, (1000, 2))
    widths = [RuLSIF(random_state=seed).fit(X_nu, X_de).sigma_ for seed in (0, 0, 1)]
    assert widths[0] == widths[1] != widths[2]
    assert widths[0] == pytest.approx(np.median(pdist(np.concatenate([X_nu, X_de]))), rel=0.03)


def test_where_most_rows_are_alike_the_mean_distance_is_the_width():
    X_nu, X_de = np.zeros((9, 1)), np.ones((1, 1))
    assert RuLSIF().fit(X_nu, X_de).sigma_ == pytest.approx(9 / 45)
    assert RuLSIF().fit(X_nu, X_nu).sigma_ == 1


@pytest.mark.parametrize("sigma", ["median", 0.7])
def test_standardising_is_done_with_both_samples_together(samples, grid, sigma):
    X_nu, X_de = (X * [1e-6, 1.0, 0.0] + [5.0, -300.0, 0.1] for X in samples)  # the last column is constant
    rows = np.concatenate([X_nu, X_de])
    mean, scale = column_scaling([X_nu, X_de])
    X = rows[:5] + scale * grid[:5]
    # Nothing is known of the unit of the constant column, so it does not count, not even where a row differs in it.
    scale[-1] = np.inf
    plain = RuLSIF(sigma=sigma).fit((X_nu - mean) / scale, (X_de - mean) / scale)
    standardised = RuLSIF(sigma=sigma, scale="columns").fit(X_nu, X_de)
    assert standardised.sigma_ == pytest.approx(plain.sigma_, rel=1e-9)
    np.testing.assert_allclose(standardised.predict(X), plain.predict((X - mean) / scale), rtol=1e-8)
    assert standardised.divergence() == pytest.approx(plain.divergence(), rel=1e-8)
    np.testing.assert_array_equal(standardised.centres_, rows)


@pytest.mark.parametrize("settings", [{}, {"sigma": "cv", "reg": "cv"}, {"sigma": "cv", "cv": 3}], ids=str)
@pytest.mark.parametrize("clip", CLIPS)
def test_blocks_of_rows_change_nothing(samples, grid, monkeypatch, settings, clip):
    estimator = RuLSIF(clip=clip, random_state=0, **settings).fit(*samples)
    monkeypatch.setattr(gaussian_basis, "CACHED_VALUES", 70)  # three rows of 23 centres
    in_blocks = RuLSIF(clip=clip, random_state=0, **settings).fit(*samples)
    np.testing.assert_allclose(in_blocks.predict(grid), estimator.predict(grid), rtol=1e-9)
    assert in_blocks.divergence() == pytest.approx(estimator.divergence(), rel=1e-9)
    if settings:
        np.testing.assert_allclose(in_blocks.cv_scores_, estimator.cv_scores_, rtol=1e-9)


# ---------------------------------------------------------------- known densities

NU, DE = (0.0, 1.0), (1.0, 1.5)  # mean and standard deviation


def draw(n_nu, n_de, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(*NU, (n_nu, 1)), rng.normal(*DE, (n_de, 1))


@pytest.mark.parametrize("estimator", [RuLSIF(reg=0.01), RuLSIF(0.1, reg=0.01), ULSIF(reg=0.01)], ids=repr)
def test_the_error_falls_with_the_number_of_instances(estimator):
    alpha = estimator.alpha
    X = np.linspace(-3, 4, 50)[:, None]
    truth = gaussian_relative_ratio(X, *NU, *DE, alpha)

    def error(n):
        squares = [np.mean((estimator.fit(*draw(n, n + 5, seed)).predict(X) - truth) ** 2) for seed in range(8)]
        return np.mean(squares)

    few, more, many = map(error, (10, 100, 1000))
    assert more < 0.6 * few
    assert many < 0.6 * more


@pytest.mark.parametrize("estimator", [RuLSIF(reg=0.01), RuLSIF(0.1, reg=0.01), ULSIF(reg=0.01)], ids=repr)
def test_the_mean_ratio_is_near_one_under_the_denominator(estimator):
    alpha = estimator.alpha
    estimator.set_params(random_state=0).fit(*draw(500, 800, seed=0))
    on_nu, on_de = (estimator.predict(X).mean() for X in draw(5000, 5000, seed=1))
    assert alpha * on_nu + (1 - alpha) * on_de == pytest.approx(1, abs=0.1)
    assert on_nu > on_de


@pytest.mark.parametrize("sizes", [(200, 2000), (2000, 200)])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_the_divergence_of_one_law_is_near_zero_whatever_the_sizes(sizes, alpha):
    rng = np.random.default_rng(0)
    X_nu, X_de = (rng.normal(0, 1, (n, 1)) for n in sizes)
    assert abs(RuLSIF(alpha, random_state=0).fit(X_nu, X_de).divergence()) < 0.05


@pytest.mark.parametrize("estimator", [ULSIF(sigma="cv", reg="cv"), RuLSIF(sigma="cv", reg="cv")], ids=repr)
def test_the_divergence_of_one_law_is_near_zero_where_all_is_chosen(estimator):
    rng = np.random.default_rng(1)
    X_nu, X_de = rng.normal(0, 1, (200, 1)), rng.normal(0, 1, (2000, 1))
    assert abs(estimator.set_params(random_state=0).fit(X_nu, X_de).divergence()) < 0.05


def test_the_divergence_of_two_laws_is_that_of_the_densities():
    alpha = 0.5
    truth = [gaussian_relative_ratio(X, *NU, *DE, alpha) for X in draw(100_000, 100_000, seed=1)]
    estimator = RuLSIF(alpha, reg=1e-3, random_state=0).fit(*draw(2000, 1000, seed=0))
    assert estimator.divergence() == pytest.approx(relative_pearson_divergence(*truth, alpha), rel=0.15)


# ---------------------------------------------------------------- sizes of values, parameters


@pytest.mark.parametrize("scale", [1e-30, 1e30, 1e100])
def test_very_large_and_small_values_give_the_same_ratios(samples, grid, scale):
    expected = RuLSIF().fit(*samples).predict(grid)
    found = RuLSIF().fit(*(X * scale for X in samples)).predict(grid * scale)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_values_beyond_the_arithmetic_are_refused_and_leave_the_earlier_fit(samples, grid):
    estimator = RuLSIF().fit(*samples)
    expected = estimator.predict(grid)
    with pytest.raises(InputError, match="Rescale"):
        estimator.fit(np.full((3, 2), 1e200), np.zeros((3, 2)))
    np.testing.assert_array_equal(estimator.predict(grid), expected)
    assert estimator.n_features_in_ == 3


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        *[("alpha", value) for value in (1, -0.1, 1.5, math.nan, "0.5", None)],
        *[("reg", value) for value in (0, -1.0, math.inf, "median", None)],
        *[("sigma", value) for value in ("x", 0, -2.0, None)],
        *[("centres", value) for value in ("all", 0, 2.5)],
        *[("clip", value) for value in ("y", None)],
        *[("cv", value) for value in ("x", 1, 2.5)],
        ("scale", "rows"),
        *[("random_state", value) for value in ("x", -1, 1.5)],
    ],
)
def test_a_parameter_out_of_range_is_named(samples, parameter, value):
    with pytest.raises(ParameterError, match=f"'{parameter}' parameter of RuLSIF must be"):
        RuLSIF(**{parameter: value}).fit(*samples)


@pytest.mark.parametrize("parameter", ["sigma", "reg"])
@pytest.mark.parametrize("value", [[], [0.1, 0.0], [1.0, -2.0], [math.nan], [[1.0, 2.0]], ["a"]], ids=str)
def test_candidates_that_are_none_are_named(samples, parameter, value):
    with pytest.raises(ParameterError, match=f"{parameter} is .* Pass such a sequence"):
        RuLSIF(**{parameter: value}).fit(*samples)


def test_a_regulariser_lost_in_rounding_is_named():
    alike = np.repeat(np.random.default_rng(0).normal(size=(12, 2)), 5, axis=0)
    with pytest.raises(ParameterError, match="reg is 1e-16"):
        RuLSIF(reg=1e-16).fit(alike, alike + 1)
    with pytest.raises(ParameterError, match="reg is 1e-16"):
        RuLSIF(reg=[1.0, 1e-16]).fit(alike, alike + 1)
    assert RuLSIF(reg=1e-12).fit(alike, alike + 1).predict(alike).max() < 2.1  # the ratio is bounded by 1 / alpha


def test_a_generator_may_be_the_random_state():
    X_nu, X_de = np.arange(310.0)[:, None], np.arange(310.0, 420.0)[:, None]
    by_seed, by_generator = (
        RuLSIF(random_state=random_state).fit(X_nu, X_de).centres_ for random_state in (3, np.random.default_rng(3))
    )
    np.testing.assert_array_equal(by_seed, by_generator)


@pytest.mark.parametrize("scale", ["none", "columns"])
def test_fit_and_divergences_agree_far_from_the_origin_and_beside_a_far_row(samples, scale):
    X_nu, X_de = samples
    moved = X_nu + 1e8, X_de + 1e8
    beside_a_far_row = np.concatenate([X_nu, X_nu[:1] + 1e8]), X_de
    for nu, de in (moved, beside_a_far_row):
        estimator = RuLSIF(scale=scale)
        numbers = np.arange(len(nu) + len(de))[None]
        together = estimator.divergences(np.concatenate([nu, de]), numbers[:, : len(nu)], numbers[:, len(nu) :])
        assert together[0] == pytest.approx(estimator.fit(nu, de).divergence(), rel=1e-6)


def test_many_centres_do_not_let_the_order_of_rows_matter():
    """Past 1000 rows the median is that of some, drawn; all rows carry kernels."""
    rng = np.random.default_rng(0)
    rows, estimator = (
        rng.normal(size=(1020, 1)) + (np.arange(1020) < 520)[:, None],
        RuLSIF(centres=2000, random_state=0),
    )
    nu, de = np.arange(520), np.arange(520, 1020)
    expected = estimator.fit(rows[nu], rows[de]).divergence()
    assert estimator.fit(rows[nu[::-1]], rows[de[::-1]]).divergence() == pytest.approx(expected, rel=1e-9)
    assert estimator.divergences(rows, [nu], [de]) == pytest.approx([expected], rel=1e-9)
