"""Choosing by held-out error: against a loop, without forgetting what was pretrained."""

import numpy as np
import pytest

from fewratio import KLIEP, RuLSIF
from fewratio.errors import ParameterError
from fewratio.estimators import HeldOutSelection, relative_squared_error


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(0, 1, (40, 1)), rng.normal(1, 1.5, (60, 1))


def test_the_best_of_the_grid_is_fitted_to_everything(samples):
    grid = {"reg": [1e-6, 0.1, 1000.0], "sigma": [1.0, "median"]}
    choice = HeldOutSelection(RuLSIF(), grid, random_state=0).fit(*samples)
    assert len(choice.scores_) == 6
    best = min(choice.scores_, key=lambda score: score["mean_error"])
    assert choice.best_params_ == best["params"]
    assert choice.best_params_["reg"] == 0.1
    alone = RuLSIF(**choice.best_params_).fit(*samples)
    np.testing.assert_allclose(choice.predict(samples[1]), alone.predict(samples[1]), rtol=1e-6)
    assert choice.divergence() == pytest.approx(alone.divergence(), rel=1e-9)


def test_the_error_is_that_of_a_loop_over_instances():
    X_nu, X_de = np.array([[0.0], [0.5], [1.0]]), np.array([[0.2], [1.1], [2.0]])
    # As many folds as instances: each instance is left out once, whichever is paired with which.
    choice = HeldOutSelection(RuLSIF(sigma=1.0), {"reg": [0.3]}, n_folds=3, random_state=0).fit(X_nu, X_de)
    possible = []
    for shift in range(3):
        for sign in (1, -1):
            errors = []
            for i in range(3):
                j = (sign * i + shift) % 3
                estimator = RuLSIF(sigma=1.0, reg=0.3).fit(np.delete(X_nu, i, 0), np.delete(X_de, j, 0))
                errors.append(relative_squared_error(estimator.predict(X_nu[[i]]), estimator.predict(X_de[[j]]), 0.5))
            possible.append(np.mean(errors))
    assert np.abs(np.array(possible) - choice.scores_[0]["mean_error"]).min() < 1e-9


def test_nothing_can_be_held_out_of_one_instance():
    choice = HeldOutSelection(RuLSIF(), {"reg": [0.5, 0.1]}).fit([[0.0]], [[1.0], [2.0]])
    assert choice.best_params_ == {"reg": 0.5}
    assert np.isnan(choice.scores_[1]["mean_error"])


def test_alpha_of_the_error_is_the_estimators_unless_named(samples):
    relative, plain, named = (
        HeldOutSelection(estimator, {"sigma": [1.0]}, alpha=alpha, random_state=0)
        .fit(*samples)
        .scores_[0]["mean_error"]
        for estimator, alpha in ((RuLSIF(0.5), None), (KLIEP(), None), (RuLSIF(0.5), 0.2))
    )
    assert len({relative, plain, named}) == 3
    with pytest.raises(ParameterError, match="varies alpha"):
        HeldOutSelection(RuLSIF(), {"alpha": [0.1, 0.5]}).fit(*samples)
    assert HeldOutSelection(RuLSIF(), {"alpha": [0.1, 0.5]}, alpha=0.5).fit(*samples).best_params_


def test_a_grid_that_names_no_parameter_is_refused(samples):
    with pytest.raises(ParameterError, match=r"param_grid names lambda.*RuLSIF has alpha"):
        HeldOutSelection(RuLSIF(), {"lambda": [1]}).fit(*samples)


def test_a_pretrained_estimator_is_not_trained_again(pretrained, samples):
    choice = HeldOutSelection(pretrained, {"episodes__n_support": [5, 6]}, random_state=0).fit(*samples)
    np.testing.assert_allclose(choice.predict(samples[1]), pretrained.fit(*samples).predict(samples[1]), rtol=1e-5)
    # Another alpha would need another model.
    with pytest.raises(ParameterError, match="Call pretrain again"):
        HeldOutSelection(pretrained, {"alpha": [0.1]}, alpha=0.5).fit(*samples)
