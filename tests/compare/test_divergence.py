"""The one model of a comparison: held out, never above the truth, chosen by the rows, blocks in one fold."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from fewratio import ULSIF, RuLSIF, compare_datasets
from fewratio.compare.divergence import LogisticModel, _deal_folds, cross_fit
from fewratio.core.draws import row_order
from fewratio.estimators import RatioEstimator, relative_pearson_divergence
from tests.strategies import quick, seeds


def samples(seed, n_a, n_b, d=2, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_a, d)), rng.normal(size=(n_b, d)) + shift


def compared(A, B, **options):
    return compare_datasets(A, B, n_permutations=0, random_state=0, **options)


def area_under_curve(result):
    n_a, n_b = len(result.ratios_a), len(result.ratios_b)
    ranks = rankdata(np.concatenate([result.ratios_a, result.ratios_b]))
    return (ranks[:n_a].sum() - n_a * (n_a + 1) / 2) / (n_a * n_b)


@quick
@given(seeds, st.integers(1, 7), st.integers(1, 7), st.sampled_from([None, 0.5, 0.1]), st.sampled_from([0.0, 2.0]))
def test_the_divergence_is_that_of_the_ratios(seed, n_a, n_b, alpha, shift):
    A, B = samples(seed, n_a, n_b, shift=shift)
    result = compared(A, B, estimator=None if alpha is None else RuLSIF(alpha=alpha))
    alpha = alpha or 0.5
    of_ratios = relative_pearson_divergence(result.ratios_a, result.ratios_b, alpha)
    assert result.divergence == pytest.approx(of_ratios, abs=1e-12)
    assert 0 <= result.at_least <= result.divergence <= result.max_divergence == pytest.approx((1 - alpha) / 2 / alpha)
    assert result.is_held_out == (min(n_a, n_b) > 1)
    if not result.is_held_out:
        assert result.at_least == 0
        assert "No rows could be held out" in result.caution


@pytest.mark.parametrize("estimator", [None, RuLSIF(scale="columns")], ids=["default", "given"])
@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_the_samples_may_change_their_names(estimator, n):
    A, B = samples(0, n, 12, shift=1.0)
    there, back = compared(A, B, estimator=estimator), compared(B, A, estimator=estimator)
    assert there.divergence == pytest.approx(back.divergence, abs=1e-9)
    assert there.at_least == pytest.approx(back.at_least, abs=1e-9)
    np.testing.assert_allclose(there.ratios_a, 2 - back.ratios_b, atol=1e-7)


def test_plain_ratios_have_a_divergence_too():
    result = compared(*samples(0, 30, 30, shift=1.0), estimator=ULSIF())
    assert result.divergence == pytest.approx(relative_pearson_divergence(result.ratios_a, result.ratios_b, 0.0))
    assert 0 <= result.at_least < result.divergence < result.max_divergence == np.inf


@dataclass(eq=False, repr=False)
class Memory(RatioEstimator):
    """It knows the rows that it was fitted to, and nothing else."""

    alpha: float = 0.5

    def _fit(self, X_nu, X_de):
        self._known = X_nu, X_de
        self.ratio_nu_, self.ratio_de_ = self._ratio(X_nu), self._ratio(X_de)

    def _ratio(self, X):
        in_nu, in_de = ((X[:, None] == known[None]).all(2).any(1) for known in self._known)
        return np.where(in_nu, 2.0, np.where(in_de, 0.0, 1.0))


def test_no_row_is_judged_by_a_fit_to_itself():
    assert compared(*samples(0, 9, 8), estimator=Memory()).divergence == 0
    assert compared(*samples(0, 1, 8), estimator=Memory()).divergence == 0.5


@quick
@given(seeds, st.integers(1, 12), st.integers(1, 20))
def test_blocks_stay_together_and_every_fit_has_both_samples(seed, n_blocks, n_rows):
    rng = np.random.default_rng(seed)
    is_first = rng.permutation(np.arange(n_rows + 1) <= rng.integers(n_rows))
    blocks = rng.integers(n_blocks, size=len(is_first))
    folds, n_folds = _deal_folds(is_first, blocks, rng)
    assert all(len(np.unique(folds[blocks == block])) == 1 for block in np.unique(blocks))
    for pair in combinations(range(n_folds), min(2, n_folds - 1)):
        assert len(np.unique(is_first[~np.isin(folds, pair)])) == 2


def test_rows_of_one_block_do_not_stand_for_each_other():
    rng = np.random.default_rng(0)
    levels = np.repeat(10 * rng.normal(size=(12, 2)), 8, axis=0)
    rows = pd.DataFrame(levels + rng.normal(size=levels.shape)).assign(patient=np.repeat(np.arange(12), 8))
    rows.columns = rows.columns.astype(str)
    A, B = rows[:48], rows[48:]
    # Twelve patients, six in either sample: their rows are told apart, and say nothing of other patients.
    assert compared(A, B, drop=["patient"]).at_least > 0.3
    assert compared(A, B, blocks="patient").at_least == 0


# ---------------------------------------------------------------- the limit


@pytest.mark.slow
def test_the_limit_is_below_the_truth_where_rare_rows_are_missing():
    # Of ten rows none is among those in common in a third of the draws: the samples look separated.
    truth, limits = 0.409, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        B = rng.normal(size=(10, 1)) + 10 * (rng.random((10, 1)) < 0.9)
        limits.append(compared(rng.normal(size=(10, 1)), B).at_least)
    assert np.mean(np.array(limits) > truth) <= 0.05
    assert max(limits) > 0


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "truth"), [(0.0, 0.0), (1.0, 0.102), (3.0, 0.401)])
def test_divergence_and_limit_come_near_the_truth_from_below(shift, truth):
    found = [compared(*samples(seed, 100, 80, d=1, shift=shift)) for seed in range(8)]
    assert np.mean([result.divergence for result in found]) == pytest.approx(truth, abs=0.03)
    limits = np.array([result.at_least for result in found])
    assert (limits <= truth).all()
    assert limits.mean() > truth / 4 or not shift


@pytest.mark.slow
def test_there_is_hardly_a_divergence_where_nothing_differs():
    for n, most in ((5, 0.06), (10, 0.04), (30, 0.015)):
        assert np.mean([compared(*samples(seed, n, n, d=5)).divergence for seed in range(20)]) < most


# ---------------------------------------------------------------- the choice


def test_a_direction_within_highly_correlated_columns_is_found():
    # As measurements of crabs: all columns grow with size, and the species differ by a little across it.
    rng = np.random.default_rng(0)
    size, side = rng.normal(size=(200, 1)), np.repeat([1, -1], 100)[:, None]
    rows = size * [7, 6.5, 15, 16, 7] + 0.6 * side * [1, 0.3, -0.8, -1, 1] + 0.2 * rng.normal(size=(200, 5))
    result = compared(rows[:100], rows[100:])
    assert result.divergence > 0.45
    assert area_under_curve(result) > 0.99


@pytest.mark.parametrize("kind", ["rings", "checkerboard", "correlation"])
def test_what_no_column_shows_is_found(kind):
    rng = np.random.default_rng(0)
    label = np.arange(200) < 100
    if kind == "rings":
        angle, radius = rng.uniform(0, 2 * np.pi, 200), np.where(label, 1, 2) + 0.2 * rng.normal(size=200)
        rows, least = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), 0.4
    elif kind == "checkerboard":
        corner = rng.integers(2, size=200)
        rows = np.stack(
            [2 * rng.integers(2, size=200) + corner, 2 * rng.integers(2, size=200) + corner ^ label], axis=1
        )
        rows, least = rows + rng.random((200, 2)), 0.2
    else:
        rows, least = rng.normal(size=(200, 2)), 0.1
        rows[:, 1] = 0.7 * np.where(label, 1, -1) * rows[:, 0] + 0.7 * rows[:, 1]
    result = compared(rows[label], rows[~label])
    assert result.divergence > least
    assert result.at_least > 0


def test_rows_beyond_those_that_are_used_have_a_ratio_too():
    A, B = samples(0, 300, 300, shift=1.0)
    rows, is_first = np.concatenate([A, B]), np.arange(600) < 300
    used = row_order(rows)[:200]
    model = LogisticModel(rows[used], is_first[used], np.random.default_rng(0))
    found = cross_fit(model, rows, is_first, used, None, 0.5, np.random.default_rng(0))
    # The truth of two columns that are shifted by 1.
    assert found.divergence == pytest.approx(0.175, abs=0.04)
    assert found.at_least > 0.1


# ---------------------------------------------------------------- what is said


def test_a_divergence_that_the_p_value_does_not_go_with_is_explained():
    rng = np.random.default_rng(3)
    A, B = rng.normal(size=(40, 20)), rng.normal(size=(40, 20)) + 0.35
    weak = compare_datasets(A, B, estimator=Memory(), random_state=0, n_permutations=99)
    assert (weak.divergence, weak.p_value <= 0.05) == (0, True)
    assert "From so few rows the model can learn only large differences" in weak.caution
    assert weak.magnitude is None
    clear = compare_datasets(A, B + 3, random_state=0, n_permutations=99)
    assert clear.caution is None


def test_a_divergence_of_fitted_rows_is_called_so(tmp_path):
    from typer.testing import CliRunner

    from fewratio.app import app

    for name, X in zip("ab", samples(0, 6, 6), strict=True):
        pd.DataFrame(X, columns=["x", "y"]).to_csv(tmp_path / f"{name}.csv", index=False)
    done = CliRunner().invoke(app, ["ratio", str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    assert "from the rows of the fit, so too large on average" in done.stdout
