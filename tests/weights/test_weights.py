"""Importance weights: what they are, what they are good for, when they warn."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from fewratio import RuLSIF, importance_weights
from fewratio.app import app
from fewratio.errors import InputError, ParameterError
from fewratio.estimators import KMM, RatioEstimator
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


def curve(seed, n=300):
    """Rows along a curve that a line fits only in parts, and target rows of one part."""
    rng = np.random.default_rng(seed)
    X, target = rng.uniform(-3, 3, (n, 1)), rng.normal(2, 0.4, (n, 1))
    return X, target, X[:, 0] ** 2 + rng.normal(0, 0.1, n)


def test_advice_is_the_measured_error_of_a_model():
    X, target, y = curve(0)
    line = importance_weights(X, target, y=y, random_state=0)
    assert line.advice.startswith("use the weights: the cross-validated mean squared error of Ridge")
    assert line.validation.weighted < line.validation.unweighted - line.validation.margin
    flat = importance_weights(X, target, y=y, model=IgnoresWeights(), random_state=0)
    assert flat.advice.startswith("no difference seen")
    classes = importance_weights(X, target, y=np.where(y > 4, "far", "near"), random_state=0)
    assert classes.validation.measure == "share of wrong predictions"
    assert classes.validation.model == "LogisticRegression"


class IgnoresWeights(RegressorMixin, BaseEstimator):
    """Does not use its weights."""

    def fit(self, X, y, sample_weight=None):
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_a_model_that_weights_make_worse_is_advised_against_but_not_a_mean():
    class Misled(IgnoresWeights):
        def fit(self, X, y, sample_weight=None):
            self.mean_ = y.mean() if sample_weight is None else y.mean() + 100
            return self

    X, target, y = curve(0)
    found = importance_weights(X, target, y=y, model=Misled(), random_state=0)
    assert found.advice.startswith("do not use the weights for this model")
    assert found.advice.endswith("a mean over the target needs them all the same")


def test_the_measured_errors_are_those_of_folds_weighted_like_the_target():
    X, target, y = curve(1, 120)
    found = importance_weights(X, target, y=y, model=IgnoresWeights(), random_state=0)
    weights = found.weights / found.weights.sum()
    # Whatever the folds are, a mean that leaves out a fifth is near the mean of all.
    assert found.validation.unweighted == pytest.approx(weights @ (y - y.mean()) ** 2, rel=0.2)
    assert found.validation.unweighted == found.validation.weighted


def test_without_labels_there_is_no_advice():
    found = importance_weights(*shifted(0), random_state=0)
    assert found.advice is None
    assert found.to_dict()["validation"] is None
    assert "effective sample size" in repr(found)
    assert "use" not in repr(found)


def test_the_column_to_predict_may_be_named_and_is_not_used_for_the_weights():
    X, target, y = curve(2, 80)
    frame = pd.DataFrame({"x": X[:, 0], "y": y})
    by_values = importance_weights(frame[["x"]], pd.DataFrame({"x": target[:, 0]}), y=y, random_state=0)
    for to_resemble in (pd.DataFrame({"x": target[:, 0]}), pd.DataFrame({"x": target[:, 0], "y": 0.0})):
        found = importance_weights(frame, to_resemble, y="y", random_state=0)
        assert np.array_equal(found.weights, by_values.weights)
        assert found.validation == by_values.validation
        assert list(found.overlap_by_column) == ["x"]
    model = make_pipeline(ColumnTransformer([("x", StandardScaler(), ["x"])]), Ridge())
    own = importance_weights(frame, to_resemble, y="y", model=model, random_state=0)
    assert own.validation.weighted == pytest.approx(found.validation.weighted)
    order = np.random.default_rng(0).permutation(80)
    again = importance_weights(frame.iloc[order], to_resemble, y="y", random_state=0)
    assert again.validation.weighted == pytest.approx(found.validation.weighted)


def test_overlap_by_column_is_the_share_of_target_rows_in_range():
    train = pd.DataFrame({"a": [0.0, 1, 2, 3], "b": list("xxyy"), "c": [5.0, 6, 7, 8]})
    target = pd.DataFrame({"a": [1.0, 2, 9, 9], "b": list("xyzy"), "c": [5.0, 6, 7, 8]})
    found = importance_weights(train, target, random_state=0)
    assert found.overlap_by_column == {"a": 0.5, "b": 0.75, "c": 1.0}
    assert list(found.overlap_by_column) == ["a", "b", "c"]
    assert "50 % of the target rows have a value of a that is in the range of the training rows" in repr(found)


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
        (([[0.0]], [[1.0]]), {"y": [1.0, 2.0]}, InputError, r"y has shape \(2,\); expected one value per row"),
        (([[0.0], [1.0]], [[1.0]]), {"y": [None, 2.0]}, InputError, "y is missing at row 0"),
        (([[0.0], [1.0]], [[1.0]]), {"y": [2.0, 2.0]}, InputError, "nothing to predict"),
        (([[0.0], [1.0]], [[1.0]]), {"y": [1.0, 2.0], "model": KNeighborsRegressor()}, ParameterError, "sample_weight"),
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


def test_a_column_that_does_not_overlap_is_said_first():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), rng.normal(size=90)
    with pytest.warns(UserWarning, match="too thin"):
        found = importance_weights(X, rng.normal(8, 1, (90, 2)), y=y, random_state=0)
    assert found.summary.startswith("column 0 alone separates all rows, and no weights can make up for that")
    assert found.to_dict()["non_overlapping"] == [0, 1]


def test_the_shell_names_the_column_to_predict(tmp_path):
    X, target, y = curve(0, 120)
    pd.DataFrame({"x": X[:, 0], "price": y}).to_csv(tmp_path / "train.csv", index=False)
    pd.DataFrame({"x": target[:, 0]}).to_csv(tmp_path / "target.csv", index=False)
    files = [str(tmp_path / "train.csv"), str(tmp_path / "target.csv")]
    said = CliRunner().invoke(app, ["weights", *files, "--label", "price"])
    assert "advice: use the weights: the cross-validated mean squared error of Ridge" in said.stdout
    assert CliRunner().invoke(app, ["weights", files[1], files[1]]).stdout.count("advice: none without the column") == 1


def test_a_share_that_rounds_to_all_is_not_reported_as_outside():
    column = np.linspace(0, 1, 300)
    found = importance_weights(column[1:, None], column[:, None], random_state=0)
    assert found.overlap_by_column == {0: 299 / 300}
    assert "in the range" not in found.summary


def test_the_report_says_which_columns_differ_more_after_weighting():
    rng = np.random.default_rng(0)
    train = pd.DataFrame({"x": rng.normal(size=200), "kind": rng.choice(list("ab"), 200)})
    train["z"] = -train["x"] + rng.normal(size=200) / 9
    target = pd.DataFrame({"x": rng.normal(1, 1, 150), "kind": rng.choice(list("abc"), 150), "z": rng.normal(size=150)})
    report = importance_weights(train, target, random_state=0)._report(names=("old.csv", "new.csv"))
    assert report.headline.startswith("The 200 weighted rows are as precise as ")
    said = report.answer.splitlines()[1:]
    assert "of the target rows have a value of kind that occurs in the training rows." in said[0]
    (worse,) = [line for line in said if line.startswith("Weighting increases the difference in ")]
    assert "z (" in worse
    assert "x (" not in worse


def test_a_colour_means_the_same_rows_in_all_charts():
    report = importance_weights(*shifted(0), random_state=0)._report()
    differences, _, distributions = report.sections[1].blocks
    of_means = differences.spec["layer"][1]["encoding"]["color"]["scale"]["range"]
    of_rows = distributions.charts[0].spec["encoding"]["color"]["scale"]["range"]
    assert of_means == of_rows[:2]


def test_rare_categories_of_the_target_are_not_those_of_the_training_rows():
    rng = np.random.default_rng(0)
    train = pd.DataFrame({"name": [f"a{i}" for i in range(60)], "x": rng.normal(size=60)})
    target = pd.DataFrame({"name": [*(f"b{i}" for i in range(54)), *train["name"][:6]], "x": rng.normal(0.3, 1, 60)})
    result = importance_weights(train, target, categorical=["name"])
    assert result.overlap_by_column["name"] == 0.1
    assert any("10 % of the target rows have a value of name" in each for each in result.findings)
