"""The choice of width and regulariser: every score against solving again, row by row, in NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist

from fewratio import ULSIF, RuLSIF
from fewratio.core.draws import in_row_order
from fewratio.estimators.kernel import selection as kernel_selection
from tests.strategies import alphas, quick, seeds

CLIPS = ("ratio", "weights")
SIGMAS, REGS = [0.6, 1.5, 4.0], [0.003, 0.1, 2.0]


def draw(n_nu, n_de, seed=0, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (n_nu, d)), rng.normal(0.7, 1.5, (n_de, d))


def held_out_loss(X_nu, X_de, left_nu, left_de, centres, sigma, reg, alpha, clip):
    """J of Eq. 8 on the rows left out, of the ratio fitted to the others."""
    kept_nu, kept_de = np.delete(X_nu, left_nu, axis=0), np.delete(X_de, left_de, axis=0)
    nu, de, phi_nu, phi_de = (
        np.exp(-(cdist(X, centres) ** 2) / sigma**2) for X in (kept_nu, kept_de, X_nu[left_nu], X_de[left_de])
    )
    K = alpha * nu.T @ nu / len(nu) + (1 - alpha) * de.T @ de / len(de)
    w = np.linalg.solve(K + reg * np.eye(len(K)), nu.mean(0))
    if clip == "weights":
        w = w.clip(0)
    r_nu, r_de = ((phi @ w).clip(0) for phi in (phi_nu, phi_de))
    return alpha / 2 * np.mean(r_nu**2) + (1 - alpha) / 2 * np.mean(r_de**2) - np.mean(r_nu)


def brute_force(estimator, X_nu, X_de, parts):
    """The table of scores, given which rows are left out together."""
    return [
        [
            np.mean(
                [
                    held_out_loss(
                        X_nu, X_de, *part, estimator.centres_, sigma, reg, estimator.alpha, clip=estimator.clip
                    )
                    for part in parts
                ]
            )
            for reg in estimator.cv_regs_
        ]
        for sigma in estimator.cv_sigmas_
    ]


def orders(X_nu, X_de, seed):
    """The shuffled order of both samples, in their own order, for an estimator that has drawn nothing before."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(len(X)) for X in (X_nu, X_de)]


def check_leave_one_out(estimator, X_nu, X_de):
    estimator.fit(X_nu, X_de)
    X_nu, X_de = in_row_order(X_nu), in_row_order(X_de)
    pairs = [([i], [j]) for i, j in zip(*orders(X_nu, X_de, estimator.random_state), strict=False)]
    expected = brute_force(estimator, X_nu, X_de, pairs)
    np.testing.assert_allclose(estimator.cv_scores_, expected, rtol=1e-8, atol=1e-9)


# ---------------------------------------------------------------- scores equal brute force


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("sizes", [(9, 14), (14, 9), (2, 5), (6, 6)], ids=str)
def test_leave_one_out_equals_brute_force(sizes, alpha, clip):
    check_leave_one_out(RuLSIF(alpha, sigma=SIGMAS, reg=REGS, clip=clip, random_state=3), *draw(*sizes))


@pytest.mark.parametrize("clip", CLIPS)
@quick
@given(
    sizes=st.tuples(*[st.integers(2, 8)] * 2), seed=seeds, alpha=alphas, centres=st.sampled_from(["both", "numerator"])
)
def test_leave_one_out_equals_brute_force_for_any_sizes(sizes, seed, alpha, centres, clip):
    estimator = RuLSIF(alpha, sigma=[0.5, 2.0], reg=[0.01, 1.0], centres=centres, clip=clip, random_state=seed)
    check_leave_one_out(estimator, *draw(*sizes, seed))


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("alpha", [0.0, 0.4])
@pytest.mark.parametrize(("sizes", "n_folds"), [((9, 14), 2), ((14, 9), 4), ((3, 20), 5)], ids=str)
def test_k_fold_equals_brute_force(sizes, n_folds, alpha, clip):
    X_nu, X_de = draw(*sizes)
    estimator = RuLSIF(alpha, sigma=SIGMAS, reg=REGS, clip=clip, cv=n_folds, random_state=3).fit(X_nu, X_de)
    X_nu, X_de = in_row_order(X_nu), in_row_order(X_de)
    folds = [np.array_split(order, min(n_folds, *sizes)) for order in orders(X_nu, X_de, 3)]
    expected = brute_force(estimator, X_nu, X_de, list(zip(*folds, strict=True)))
    np.testing.assert_allclose(estimator.cv_scores_, expected, rtol=1e-8, atol=1e-10)


def test_as_many_folds_as_rows_are_leave_one_out():
    X_nu, X_de = draw(8, 8)
    tables = [RuLSIF(sigma="cv", reg="cv", cv=cv, random_state=0).fit(X_nu, X_de).cv_scores_ for cv in ("loo", 8, 99)]
    np.testing.assert_allclose(tables[1], tables[0], rtol=1e-8)
    np.testing.assert_array_equal(tables[2], tables[1])


# ---------------------------------------------------------------- what is chosen


@pytest.mark.parametrize("settings", [{}, {"cv": 3}, {"clip": "weights"}, {"scale": "columns"}], ids=str)
def test_the_best_score_is_taken_and_fitted(settings):
    X_nu, X_de = draw(30, 40)
    chosen = RuLSIF(sigma="cv", reg="cv", random_state=0, **settings).fit(X_nu, X_de)
    assert chosen.cv_scores_.shape == (len(chosen.cv_sigmas_), len(chosen.cv_regs_))
    width, reg = np.unravel_index(chosen.cv_scores_.argmin(), chosen.cv_scores_.shape)
    assert (chosen.sigma_, chosen.reg_) == (chosen.cv_sigmas_[width], chosen.cv_regs_[reg])
    given = RuLSIF(sigma=chosen.sigma_, reg=chosen.reg_, random_state=0, **settings).fit(X_nu, X_de)
    np.testing.assert_allclose(given.predict(X_de), chosen.predict(X_de), rtol=1e-9)
    assert given.divergence() == pytest.approx(chosen.divergence(), rel=1e-9)


def test_which_candidates_there_are():
    X_nu, X_de = draw(20, 30)
    median = np.median(pdist(np.concatenate([X_nu, X_de])))
    for sigma, reg, sigmas, regs in (
        ("cv", "cv", median * kernel_selection.WIDTH_FACTORS, kernel_selection.REGS),
        ("median", "cv", [median], kernel_selection.REGS),
        (2, (0.3, 0.1), [2], [0.3, 0.1]),
        (np.array([1.0, 2.0]), 0.1, [1, 2], [0.1]),
    ):
        estimator = ULSIF(sigma=sigma, reg=reg, random_state=0).fit(X_nu, X_de)
        np.testing.assert_allclose(estimator.cv_sigmas_, sigmas, rtol=1e-12)
        np.testing.assert_allclose(estimator.cv_regs_, regs, rtol=1e-12)
        assert estimator.cv_scores_.shape == (len(sigmas), len(regs))
    assert 1 in kernel_selection.WIDTH_FACTORS
    assert kernel_selection.DEFAULT_REG in kernel_selection.REGS.round(9)


def test_without_a_choice_there_are_no_scores():
    estimator = RuLSIF(sigma="cv", random_state=0).fit(*draw(20, 30))
    assert estimator.cv_scores_ is not None
    assert estimator.set_params(sigma=[2.0]).fit(*draw(20, 30)).cv_scores_ is None


@pytest.mark.parametrize("sizes", [(1, 1), (1, 40), (40, 1)], ids=str)
@pytest.mark.parametrize("cv", ["loo", 5])
def test_of_a_sample_of_one_the_nearest_to_the_defaults_is_taken(sizes, cv):
    X_nu, X_de = draw(*sizes)
    chosen, default = RuLSIF(sigma="cv", reg="cv", cv=cv).fit(X_nu, X_de), RuLSIF().fit(X_nu, X_de)
    assert chosen.cv_scores_ is None
    assert chosen.sigma_ == pytest.approx(default.sigma_)
    assert chosen.reg_ == pytest.approx(0.1)
    np.testing.assert_allclose(chosen.predict(X_de), default.predict(X_de), rtol=1e-9)
    width = default.sigma_
    listed = RuLSIF(sigma=[width / 9, width * 1.5, width * 2], reg=[7.0, 0.3, 0.001]).fit(X_nu, X_de)
    assert (listed.sigma_, listed.reg_) == (width * 1.5, 0.3)


def test_where_an_order_is_drawn_it_is_by_the_seed_and_not_by_the_order_of_rows():
    X_nu, X_de = draw(9, 20)
    tables = [
        RuLSIF(sigma=SIGMAS, reg=REGS, random_state=seed).fit(nu, de).cv_scores_
        for seed, nu, de in ((0, X_nu, X_de), (0, X_nu[::-1], np.roll(X_de, 7, axis=0)), (1, X_nu, X_de))
    ]
    np.testing.assert_allclose(tables[0], tables[1], rtol=1e-9)
    assert not np.allclose(tables[0], tables[2], rtol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"centres": 10}, {"centres": 10, "cv": 3}], ids=str)
def test_the_order_of_rows_has_no_say_in_which_of_many_are_drawn(monkeypatch, settings):
    monkeypatch.setattr(kernel_selection, "MAX_LEFT_OUT", 50)
    X_nu, X_de = draw(200, 160)
    one, other = (
        RuLSIF(sigma=SIGMAS, reg=REGS, random_state=0, **settings).fit(nu, de)
        for nu, de in ((X_nu, X_de), (X_nu[::-1], np.roll(X_de, 7, axis=0)))
    )
    np.testing.assert_array_equal(one.centres_, other.centres_)
    np.testing.assert_allclose(one.cv_scores_, other.cv_scores_, rtol=1e-9)


def test_of_many_pairs_some_are_left_out(monkeypatch):
    X_nu, X_de = draw(400, 300, d=1)
    settings = dict(sigma=SIGMAS, reg=REGS, centres=20, random_state=0)
    every = RuLSIF(**settings).fit(X_nu, X_de).cv_scores_
    monkeypatch.setattr(kernel_selection, "MAX_LEFT_OUT", 100)
    some = RuLSIF(**settings).fit(X_nu, X_de).cv_scores_
    assert not np.allclose(some, every, rtol=1e-6)
    np.testing.assert_allclose(some, every, atol=0.15)  # means of 100 values with deviations below 0.5


def test_what_is_handed_out_is_a_copy():
    given = np.array([0.5, 1.0])
    estimator = RuLSIF(sigma=given, reg="cv", random_state=0).fit(*draw(9, 14))
    estimator.cv_sigmas_[:], estimator.cv_regs_[:] = 7, 7
    assert given[0] == 0.5
    assert kernel_selection.REGS[0] != 7
