"""Importance weights: what they are, what they are good for, when they warn."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from fewratio import RuLSIF, importance_weights
from fewratio.errors import InputError, ParameterError
from fewratio.estimators import KMM, RatioEstimator, relative_squared_error
from fewratio.estimators.samples import Samples
from fewratio.weights import weighting as weights
from fewratio.weights.weighting import WeightResult


def shifted(seed, n_train=80, n_target=50, mean=1.5):
    rng = np.random.default_rng(seed)
    return rng.normal(1, 0.5, (n_train, 1)), rng.normal(mean, 0.4, (n_target, 1))


@pytest.mark.slow
def test_the_error_under_covariate_shift_falls():
    plain, weighted = [], []
    for seed in range(15):
        X, X_target = shifted(seed)
        rng = np.random.default_rng(100 + seed)
        y, y_target = np.sinc(X[:, 0]) + rng.normal(0, 0.1, len(X)), np.sinc(X_target[:, 0])
        found = importance_weights(X, X_target, random_state=0)
        for errors, weight in ((plain, None), (weighted, found)):
            model = LinearRegression().fit(X, y, sample_weight=weight)
            errors.append(np.mean((model.predict(X_target) - y_target) ** 2))
    assert np.median(weighted) < 0.5 * np.median(plain)
    assert np.mean(np.array(weighted) < plain) > 0.8


def test_they_are_the_ratio_of_target_to_training_at_the_training_rows():
    X, X_target = shifted(0)
    expected = RuLSIF().fit(X_target, X).ratio_de_
    found = importance_weights(X, X_target, estimator=RuLSIF(), normalise=False)
    # Rows are fitted in another order, so sums round in another way.
    np.testing.assert_allclose(found.weights, expected, rtol=1e-9, atol=1e-12)
    assert np.array_equal(found.ratio, found.weights)
    assert np.corrcoef(found, X[:, 0])[0, 1] > 0.5


@pytest.mark.parametrize("estimator", [None, RuLSIF(), KMM()])
def test_their_mean_is_one(estimator):
    found = importance_weights(*shifted(1), estimator=estimator, random_state=0)
    assert len(found) == 80
    assert np.mean(found) == pytest.approx(1)
    assert np.min(found) >= 0
    assert np.asarray(found, dtype=np.float32).dtype == np.float32
    copied = np.array(found)
    copied[0] = -1
    assert found.weights[0] >= 0


@pytest.mark.slow
def test_samples_of_one_law_have_about_equal_weights():
    found = [importance_weights(*shifted(seed, mean=1.0), random_state=0) for seed in range(9)]
    assert np.median([each.effective_sample_size for each in found]) > 60
    assert np.median([each.overlap for each in found]) == pytest.approx(1, abs=0.25)


def test_the_effective_sample_size_is_what_it_is_called():
    ratio = np.array([1.0, 1.0, 0.0, 0.0])
    found = WeightResult(ratio, ratio, 0, Samples(None, [], []))
    assert found.effective_sample_size == pytest.approx(2)
    assert found.to_dict()["overlap"] == 0.5


def test_clipping_cuts_the_largest_and_raises_the_effective_size():
    X, X_target = shifted(3)
    free, clipped = (importance_weights(X, X_target, estimator=RuLSIF(), clip=clip) for clip in (None, 0.8))
    assert free.n_clipped == 0
    assert clipped.n_clipped == (free.ratio > 0.8).sum() > 0
    assert clipped.effective_sample_size > free.effective_sample_size
    assert np.mean(clipped) == pytest.approx(1)
    assert importance_weights(X, X_target, estimator=RuLSIF(), clip=0.8, normalise=False).weights.max() == 0.8
    assert f"{clipped.n_clipped} clipped" in repr(clipped)


def test_a_thin_overlap_is_warned_of():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(0, 1, (100, 1)), rng.normal(3, 0.5, (40, 1))
    with pytest.warns(UserWarning, match="rows of X_train is .* too thin") as caught:
        importance_weights(X, X_target, random_state=0)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        importance_weights(*shifted(4), random_state=0)


def test_no_overlap_at_all_is_an_error_or_a_warning():
    with pytest.raises(InputError, match="zero at every row of X_train"):
        importance_weights([[0.0], [0.1]], [[900.0], [901.0]], estimator=RuLSIF(sigma=1.0))


@pytest.mark.slow
def test_they_are_advised_where_the_samples_differ_and_enough_rows_are_left():
    rng = np.random.default_rng(0)
    same = importance_weights(rng.normal(size=(200, 2)), rng.normal(size=(200, 2)), random_state=0)
    shifted_by_one = importance_weights(rng.normal(size=(200, 2)), rng.normal(0.7, 1, (200, 2)), random_state=0)
    few = importance_weights(rng.normal(size=(60, 2)), rng.normal(1, 1, (300, 2)), random_state=0)
    assert [each.is_worthwhile for each in (same, shifted_by_one, few)] == [False, True, False]
    assert same.held_out_gain < 2 * same.held_out_error
    assert "no better than constant" in same.advice
    assert "below 50" in few.advice
    assert shifted_by_one.to_dict()["is_worthwhile"] is True
    assert "use the weights: the samples differ" in repr(shifted_by_one)
    alone = importance_weights([[0.0]], [[1.0], [2.0]])
    assert "too few rows" in alone.advice
    assert alone.to_dict()["held_out_gain"] is None


def test_the_held_out_gain_is_that_of_j_over_constant_weights(monkeypatch):
    class Known(RatioEstimator):
        alpha = 0.3

        def _fit(self, X_nu, X_de):
            self.ratio_nu_, self.ratio_de_ = self._ratio(X_nu), self._ratio(X_de)

        def _ratio(self, X):
            return np.exp(-np.abs(X[:, 0]))

    X, X_target = shifted(0)
    expected = -0.5 - relative_squared_error(*(np.exp(-np.abs(Z[:, 0])) for Z in (X_target, X)), alpha=0.3)
    assert importance_weights(X, X_target, estimator=Known()).held_out_gain == pytest.approx(expected)


def test_of_large_samples_some_rows_are_fitted_and_all_are_weighed(monkeypatch):
    X, X_target = shifted(0, 80, 60)
    whole = importance_weights(X, X_target, random_state=0)
    monkeypatch.setattr(weights, "_MAX_ROWS", 40)
    found = importance_weights(X, X_target, random_state=0)
    assert len(found) == 80
    assert np.corrcoef(found, whole)[0, 1] > 0.8
    assert not np.allclose(found, whole)
    reversed_rows = importance_weights(X[::-1], X_target, random_state=0)
    np.testing.assert_allclose(reversed_rows.weights[::-1], found.weights, rtol=1e-6)


def test_one_row_a_side_and_data_frames_will_do():
    frame = pd.DataFrame({"a": [0.0], "b": [1.0]})
    assert np.asarray(importance_weights(frame, frame)).tolist() == [1.0]


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([[0.0]], [[0.0, 1.0]]), {}, InputError, "X_target has 2 columns but X_train has 1"),
        (([[np.inf]], [[0.0]]), {}, InputError, "X_train"),
        (([[0.0]], [[-np.inf]]), {}, InputError, "X_target"),
        (([[0.0]], [[1.0]]), {"clip": 0}, ParameterError, "clip is 0"),
        (([[0.0]], [[1.0]]), {"clip": True}, ParameterError, "clip is True"),
        (([[0.0]], [[1.0]]), {"estimator": "RuLSIF"}, ParameterError, "estimator is 'RuLSIF'"),
    ],
)
def test_errors_name_the_argument(arguments, options, error, message):
    with pytest.raises(error, match=message):
        importance_weights(*arguments, **options)


def test_an_estimator_of_ones_own_gives_the_ratio_at_the_rows():
    class Mine(RatioEstimator):
        def _fit(self, X_nu, X_de):
            self.shift_ = X_nu.mean() - X_de.mean()
            self.ratio_nu_, self.ratio_de_ = self._ratio(X_nu), self._ratio(X_de)

        def _ratio(self, X):
            return np.exp(self.shift_ * X[:, 0])

        def __sklearn_is_fitted__(self):
            return hasattr(self, "shift_")

    X, X_target = shifted(0)
    expected = np.exp((X_target.mean() - X.mean()) * X[:, 0])
    assert np.allclose(importance_weights(X, X_target, estimator=Mine(), normalise=False), expected)


@pytest.mark.slow
def test_samples_that_do_not_meet_are_not_advised():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="too thin"):
        found = importance_weights(rng.normal(size=(300, 2)), rng.normal(8, 1, (300, 2)), random_state=0)
    assert not found.is_worthwhile
    assert found.advice.startswith("do not use the weights: the samples hardly overlap (column 0 alone separates")
