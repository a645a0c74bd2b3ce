"""Where scikit-learn would take the second sample for labels, and what all estimators have in common."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.parallel import Parallel, delayed

from fewratio import KLIEP, ULSIF, ClassifierRatio, InlierOutlierDetector, RuLSIF
from fewratio.errors import InputError
from fewratio.estimators import KMM, AutoRatioEstimator, HeldOutSelection, Telescoping, UniversalRatioEstimator

rng = np.random.default_rng(0)
A, B = rng.normal(size=(20, 2)), rng.normal(1, 1, (25, 2))

PLAIN = SGDClassifier(loss="log_loss", max_iter=5, tol=None)
SCALED = [
    RuLSIF(),
    ULSIF(),
    KLIEP(),
    KMM(),
    ClassifierRatio(PLAIN),
    Telescoping(ClassifierRatio(PLAIN, alpha=0.0, calibrate=False)),
    AutoRatioEstimator(),
    UniversalRatioEstimator(),
]
by_name = {"ids": lambda estimator: type(estimator).__name__}


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda estimator: make_pipeline(StandardScaler(), estimator).fit(A), InputError, "X_de"),
        (lambda estimator: GridSearchCV(estimator, {}).fit(A, B), TypeError, "'score' method"),
        (lambda estimator: cross_val_score(estimator, A, B), TypeError, "'score' method"),
    ],
    ids=["pipeline of one sample", "search", "cross-validation"],
)
@pytest.mark.parametrize("estimator", [RuLSIF(), ClassifierRatio()], **by_name)
def test_the_second_sample_is_not_taken_for_labels(estimator, use, error, message):
    with pytest.raises(error, match=message):
        use(estimator)


def test_scikit_learn_may_fit_in_parallel():
    (fitted,) = Parallel()([delayed(RuLSIF().fit)(A, B)])
    np.testing.assert_array_equal(fitted.predict(A), RuLSIF().fit(A, B).predict(A))


def test_what_is_fitted_to_one_sample_may_be_in_a_pipeline():
    assert set(make_pipeline(StandardScaler(), InlierOutlierDetector()).fit(A).predict(B)) <= {-1, 1}


def test_parameters_are_chosen_by_held_out_selection():
    search = HeldOutSelection(RuLSIF(), {"reg": [0.1, 1.0]}, random_state=0)
    assert search.fit(A, B).best_params_["reg"] in (0.1, 1.0)


@pytest.mark.parametrize("estimator", SCALED, **by_name)
def test_scaled_columns_have_no_units(estimator):
    seed = {"random_state": 0} if "random_state" in estimator.get_params() else {}
    estimator.set_params(scale="columns", **seed)
    ratio = estimator.fit(A, B).predict(A)
    units = np.array([1000.0, 0.1])
    np.testing.assert_allclose(estimator.fit(A * units, B * units).predict(A * units), ratio, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("estimator", SCALED, **by_name)
def test_names_of_columns_are_kept(estimator):
    frames = [pd.DataFrame(X, columns=["a", "b"]) for X in (A, B)]
    assert estimator.fit(*frames).feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("estimator", SCALED, **by_name)
def test_the_ratio_at_the_fitted_rows_is_documented(estimator):
    assert "ratio_nu_, ratio_de_" in str(type(estimator).__doc__)
