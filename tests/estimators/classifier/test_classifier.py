"""The ratio from a classifier: the prior is taken out, probabilities are corrected, nothing is infinite."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from fewratio import ClassifierRatio
from fewratio.errors import ParameterError
from fewratio.estimators import gaussian_relative_ratio
from fewratio.estimators.classifier import classifier
from fewratio.estimators.classifier.kernel_logistic import KernelLogisticRegression

GRID = np.linspace(-2, 3, 20)[:, None]


def draw(n_nu, n_de, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (n_nu, 1)), rng.normal(1, 1, (n_de, 1))


# Not isotonic at alpha = 0: its last step, of numerator rows only, has any plain ratio.
@pytest.mark.parametrize(
    ("calibrate", "alpha"), [(False, 0.0), (False, 0.5), (True, 0.0), (True, 0.5), ("isotonic", 0.5)]
)
@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(400, 4000), (4000, 400), (2000, 2000)])
def test_the_prior_is_taken_out(sizes, alpha, calibrate):
    # The plain ratio is unbounded: in the tails only a classifier that is of the right form has it.
    model = LogisticRegression() if alpha == 0 else None
    estimator = ClassifierRatio(model, alpha=alpha, calibrate=calibrate, random_state=0).fit(*draw(*sizes))
    truth = gaussian_relative_ratio(GRID, 0, 1, 1, 1, alpha)
    error = np.sqrt(np.mean((estimator.predict(GRID) - truth) ** 2) / np.mean(truth**2))
    assert error < 0.25


def test_without_calibration_the_odds_are_the_classifiers():
    X_nu, X_de = draw(30, 50)
    model = LogisticRegression().fit(np.concatenate([X_nu, X_de]), np.repeat([1, 0], [30, 50]))
    expected = np.exp(model.decision_function(GRID)) * 50 / 30
    estimator = ClassifierRatio(LogisticRegression(), alpha=0.0, calibrate=False).fit(X_nu, X_de)
    np.testing.assert_allclose(estimator.predict(GRID), expected, rtol=1e-6)
    relative = ClassifierRatio(LogisticRegression(), alpha=0.3, calibrate=False).fit(X_nu, X_de).predict(GRID)
    np.testing.assert_allclose(relative, expected / (0.3 * expected + 0.7), rtol=1e-6)


@pytest.mark.parametrize("calibrate", ["sigmoid", "isotonic"])
def test_calibration_corrects_a_classifier_that_is_too_sure(calibrate):
    # Six copies of a column are six independent witnesses to a naive Bayes classifier.
    X_nu, X_de = (np.repeat(X, 6, axis=1) for X in draw(1000, 1500))
    truth = gaussian_relative_ratio(GRID, 0, 1, 1, 1, alpha=0.5)
    errors = []
    for how in (False, calibrate):
        estimator = ClassifierRatio(GaussianNB(), calibrate=how, random_state=0).fit(X_nu, X_de)
        errors.append(np.mean((estimator.predict(np.repeat(GRID, 6, axis=1)) - truth) ** 2))
    assert errors[1] < 0.2 * errors[0]


@pytest.mark.parametrize("calibrate", [False, True, "isotonic"])
def test_the_ratio_is_finite_where_the_classifier_is_certain(calibrate):
    X_nu, X_de = draw(20, 30)
    forest = ClassifierRatio(RandomForestClassifier(5), alpha=0.0, calibrate=calibrate, random_state=0)
    ratio = forest.fit(X_nu, X_de + 100).predict(np.concatenate([X_nu, X_de + 100]))
    assert np.isfinite(ratio).all()
    assert ratio.min() > 0
    assert np.isfinite(forest.divergence())


def test_a_classifier_without_probabilities_needs_calibration():
    X_nu, X_de = draw(200, 300)
    ratio = ClassifierRatio(LinearSVC(), random_state=0).fit(X_nu, X_de).predict(GRID)
    assert (np.diff(ratio) < 0).all()
    with pytest.raises(ParameterError, match=r"LinearSVC gives no probabilities.*calibrate=True"):
        ClassifierRatio(LinearSVC(), calibrate=False).fit(X_nu, X_de)


def test_by_default_a_classifier_is_calibrated_where_that_helps():
    copies = [np.repeat(X, 6, axis=1) for X in draw(100, 150)]
    for model, helps, samples in ((GaussianNB(), True, copies), (LogisticRegression(), False, draw(5, 6))):
        found, expected, other = (
            ClassifierRatio(model, calibrate=how, random_state=0).fit(*samples).ratio_nu_
            for how in ("auto", helps, not helps)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        assert np.abs(found - other).max() > 0.01


def test_the_default_classifier_counts_both_samples_alike_and_draws_from_large_ones(monkeypatch):
    X_nu, X_de = draw(6, 40)
    found = ClassifierRatio(random_state=0).fit(X_nu, X_de)
    # Twice the same rows is no more of another sample.
    again = ClassifierRatio(random_state=0).fit(X_nu, np.concatenate([X_de, X_de]))
    assert np.abs(found.predict(GRID) - again.predict(GRID)).max() < 0.2
    monkeypatch.setattr(classifier, "_MAX_ROWS", 30)
    drawn = ClassifierRatio(random_state=0).fit(X_nu, X_de)
    assert len(drawn.ratio_de_) == 40
    assert not np.array_equal(drawn.predict(GRID), found.predict(GRID))
    other = ClassifierRatio(random_state=0).fit(X_nu, X_de[::-1])
    np.testing.assert_allclose(drawn.predict(GRID), other.predict(GRID), rtol=1e-6)


@pytest.mark.parametrize("d", [2, 300])
def test_the_penalty_of_the_default_classifier_is_chosen(d):
    rng = np.random.default_rng(0)
    same = ClassifierRatio(random_state=0).fit(rng.normal(size=(60, d)), rng.normal(size=(60, d)))
    apart = ClassifierRatio(random_state=0).fit(rng.normal(size=(60, d)), rng.normal(2, 1, size=(60, d)))
    assert same.classifier_.C_ < 1 <= apart.classifier_.C_
    assert np.abs(same.ratio_nu_ - 1).mean() < np.abs(apart.ratio_nu_ - 1).mean()
    assert apart.ratio_nu_.mean() > 1.5 > 0.5 > apart.ratio_de_.mean()


@pytest.mark.slow
def test_calibration_never_turns_the_classifier_round():
    for seed in range(20):
        X_nu, X_de = draw(3, 4, seed)
        plain, corrected = (
            ClassifierRatio(LogisticRegression(), calibrate=c, random_state=0).fit(X_nu, X_de).predict(GRID)
            for c in (False, True)
        )
        assert np.diff(plain) @ np.diff(corrected) >= 0


@pytest.mark.parametrize("sizes", [(200, 2000), (2000, 200)])
def test_the_divergence_of_one_law_is_near_zero_whatever_the_sizes(sizes):
    rng = np.random.default_rng(0)
    X_nu, X_de = (rng.normal(0, 1, (n, 1)) for n in sizes)
    assert abs(ClassifierRatio(random_state=0).fit(X_nu, X_de).divergence()) < 0.05


def test_the_classifier_is_left_alone_and_seeded():
    X_nu, X_de = draw(30, 40)
    forest = RandomForestClassifier(5)
    first, again = (ClassifierRatio(forest, random_state=0).fit(X_nu, X_de).predict(GRID) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert forest.random_state is None
    assert not hasattr(forest, "classes_")


def test_the_classifier_of_the_default_gives_both_samples_equal_weight_when_it_is_passed():
    rng = np.random.default_rng(0)
    nu, de = rng.normal(size=(10, 2)), rng.normal(size=(90, 2))
    passed = ClassifierRatio(KernelLogisticRegression(C=1.0), calibrate=False, random_state=0).fit(nu, de)
    assert passed.ratio_de_.mean() == pytest.approx(1, abs=0.3)
