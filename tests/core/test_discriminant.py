"""Posteriors and predictive densities agree with the textbook's, and coordinates solve the eigenproblem."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import block_diag
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from fewratio.core.discriminant import DatasetPosterior, Support, discriminant_coordinates
from tests.strategies import quick, seeds, sizes

SPREADS = np.array([0.3, 1.0, 2.5])


@st.composite
def problems(draw, spreads=None):
    """A posterior, rows to evaluate and a support; the numbers of rows and coordinates are drawn apart."""
    n, n_rows, n_axes = (draw(st.integers(1, 5)) for _ in range(3))
    rng = np.random.default_rng(draw(seeds))
    kept = SPREADS[: draw(st.integers(1, 3))] if spreads is None else spreads
    posterior = DatasetPosterior(rng.uniform(0, 4, n_axes), kept)
    return posterior, rng.normal(size=(n_rows, n_axes)), 2 * rng.normal(size=(n, n_axes))


def joint_log_density(posterior, rows, spread):
    """Log density of rows of one dataset together: Gaussian, with the mean's variance in common."""
    n = len(rows)
    return sum(
        multivariate_normal(np.zeros(n), spread * np.eye(n) + signal).logpdf(column)
        for signal, column in zip(posterior.signal, rows.T, strict=True)
    )


def textbook(posterior, row, support):
    """Log density of a row given a support, as the ratio of joint densities (the spreads are equally probable)."""
    both, alone = (
        logsumexp([joint_log_density(posterior, rows, spread) for spread in posterior.spreads])
        for rows in (np.vstack([support, row]), support)
    )
    return both - alone


@quick
@given(problems())
def test_the_predictive_density_is_a_ratio_of_joint_ones(problem):
    posterior, rows, support = problem
    found = posterior.log_density(rows, Support.of(support))
    constant = 0.5 * len(posterior.signal) * np.log(2 * np.pi)
    truth = [textbook(posterior, row, support) for row in rows]
    np.testing.assert_allclose(found - constant, truth, rtol=1e-9, atol=1e-9)


@quick
@given(problems(), seeds)
def test_all_rows_given_all_supports(problem, seed):
    posterior, rows, support = problem
    supports = support + np.random.default_rng(seed).normal(size=(4, 1, support.shape[1]))
    found = posterior.log_densities(rows, Support.of(supports))
    one_by_one = [posterior.log_density(rows, Support.of(each)) for each in supports]
    # The square is expanded in one of them.
    np.testing.assert_allclose(found, np.stack(one_by_one, axis=1), rtol=1e-9, atol=1e-9)


@quick
@given(problems(np.ones(1)), seeds, sizes, sizes)
def test_products_of_rows_give_the_same(problem, seed, n, n_pairs):
    posterior, rows, support = problem
    table = np.concatenate([rows, support])
    queries, samples = (np.random.default_rng(seed).integers(0, len(table), (n_pairs, size)) for size in (3, n))
    found = posterior.products(table, n).log_density(queries, samples)
    wanted = posterior.log_density(table[queries], Support.of(table[samples]).for_rows())
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    left_out = posterior.products(table, n - 1).log_density_left_out(samples)
    without = Support.of(table[samples]).without_each(table[samples])
    np.testing.assert_allclose(left_out, posterior.log_density(table[samples], without), rtol=1e-9, atol=1e-9)


@quick
@given(problems())
def test_a_row_left_out_was_never_there(problem):
    _, _, support = problem
    without = Support.of(support).without_each(support)
    for number in range(len(support)):
        alone = Support.of(np.delete(support, number, axis=0))
        assert without.n == alone.n
        np.testing.assert_allclose(without.total[number], alone.total, atol=1e-12)
        np.testing.assert_allclose(without.squares[number], alone.squares, atol=1e-12)


def covariances(rng, n_features, n_means):
    root = rng.normal(size=(n_features, 2 * n_features))
    return root @ root.T / n_features, rng.normal(size=(n_means, n_features))


@quick
@given(seeds, st.integers(1, 6), st.integers(1, 8), st.booleans())
def test_coordinates_diagonalise_both_covariances(seed, n_features, n_means, complete):
    within, factor = covariances(np.random.default_rng(seed), n_features, n_means)
    found = discriminant_coordinates(within, np.zeros(n_features), factor, np.ones(n_means), 0.0, 0.0, complete)
    # With a background, coordinates without signal follow.
    axes, signal = found.axes[:, found.signal > 0], found.signal[found.signal > 0]
    np.testing.assert_allclose(axes.T @ within @ axes, np.eye(len(signal)), atol=1e-6)
    np.testing.assert_allclose(axes.T @ (factor.T @ factor) @ axes, np.diag(signal), atol=1e-6 * signal[0])
    others = found.axes[:, found.signal == 0]
    assert others.shape[1] == complete * n_features
    np.testing.assert_allclose(axes.T @ within @ others, 0, atol=1e-6)


def test_a_mean_taken_out_was_never_there():
    rng = np.random.default_rng(0)
    within, means = covariances(rng, 4, 7)
    centre = np.zeros(4)
    left = discriminant_coordinates(within, centre, means[:5], np.ones(5), 0.1, 0.1)
    signs = np.concatenate([np.ones(7), -np.ones(2)])
    taken = discriminant_coordinates(within, centre, np.vstack([means, means[5:]]), signs, 0.1, 0.1)
    np.testing.assert_allclose(taken.signal, left.signal, rtol=1e-9)
    np.testing.assert_allclose(np.abs(taken.axes), np.abs(left.axes), rtol=1e-6, atol=1e-9)


def test_no_coordinate_without_a_difference():
    found = discriminant_coordinates(np.eye(3), np.zeros(3), np.zeros((2, 3)), np.ones(2), 0.1, 0.1)
    assert found.axes.shape == (3, 0)
    rows, support = np.zeros((4, 0)), Support.of(np.zeros((2, 0)))
    assert not DatasetPosterior(found.signal, np.ones(1)).log_density(rows, support).any()


@pytest.mark.parametrize("shrinkage", [0.0, 0.1])
def test_directions_in_which_no_row_varies_say_nothing(shrinkage):
    """Datasets whose means alone differ in a column would be told apart for certain; no real one is."""
    within = block_diag(np.eye(2), np.zeros((1, 1)))
    found = discriminant_coordinates(within, np.zeros(3), np.array([[1.0, 0, 1.0]]), np.ones(1), 0.0, shrinkage)
    assert np.isfinite(found.axes).all()
    assert np.isfinite(found.signal).all()
