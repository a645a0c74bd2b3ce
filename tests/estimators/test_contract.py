"""The checks pass on every estimator of the library, and each of them catches one that is broken on purpose."""

import random
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from fewratio import KLIEP, ULSIF, ClassifierRatio, RuLSIF, check_ratio_estimator
from fewratio.estimators import KMM, HeldOutSelection, InlierRatioEstimator, Telescoping
from fewratio_bench.unconstrained_kl import UnconstrainedKL

ALL, UNITS_MATTER = ("column order", "scale", "shift"), ("column order", "shift")
SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("estimator", "invariant_under"),
    [
        (RuLSIF(), ALL),
        pytest.param(RuLSIF(clip="weights"), ALL, marks=SLOW),
        (RuLSIF(0.9, sigma=2.0, reg=0.01, centres="numerator"), UNITS_MATTER),
        pytest.param(RuLSIF(sigma="cv", reg="cv"), ALL, marks=SLOW),
        (ULSIF(), ALL),
        pytest.param(ULSIF(sigma=[0.5, 1.0, 2.0], reg="cv", clip="weights", cv=5, scale="columns"), ALL, marks=SLOW),
        (KLIEP(), ALL),
        pytest.param(UnconstrainedKL(), ALL, marks=SLOW),
        pytest.param(UnconstrainedKL(0.1, sigma=[1.0, 2.0], n_folds=2, centres=50), UNITS_MATTER, marks=SLOW),
        pytest.param(KMM(), ALL, marks=SLOW),
        (ClassifierRatio(), ALL),
        pytest.param(ClassifierRatio(alpha=0.0, calibrate="isotonic", n_folds=2), ALL, marks=SLOW),
        pytest.param(Telescoping(n_bridges=2), ALL, marks=SLOW),
        pytest.param(Telescoping(KLIEP(), n_bridges=2), ALL, marks=SLOW),
        pytest.param(HeldOutSelection(RuLSIF(), {"reg": [0.01, 0.1]}, n_folds=2), ALL, marks=SLOW),
        # Random features see columns by their place, and sources have their units.
        (InlierRatioEstimator(), ()),
        (InlierRatioEstimator(0.0, n_components=10), ()),
        # A network sees columns by their place, and its arithmetic in single precision depends on units.
    ],
    ids=repr,
)
def test_estimators_of_the_library_pass(estimator, invariant_under):
    check_ratio_estimator(estimator, random_state=1, invariant_under=invariant_under)


@pytest.mark.slow
@pytest.mark.parametrize("program", ["learned", "closed form", "ensemble", "universal", "auto"])
def test_estimators_that_learn_pass(program):
    # In a process of its own: the checks of shapes in this one draw from Python's global random state.
    run = subprocess.run([sys.executable, "-c", PROGRAMS[program]], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


PROGRAMS = {
    "learned": """
from fewratio import MetaRatioEstimator, check_ratio_estimator
from fewratio.estimators.networks import Architecture, Inliers, Pairs, Training
settings = dict(
    network=Architecture(width=16, latent_dim=4, n_outputs=16), training=Training(max_steps=60, learning_rate=0.01)
)
check_ratio_estimator(MetaRatioEstimator(**settings, episodes=Pairs(n_query=20)))
check_ratio_estimator(MetaRatioEstimator(**settings, episodes=Inliers(n_query=20), scale="columns"), random_state=1)
""",
    "closed form": """
from fewratio import DiscriminantRatioEstimator, check_ratio_estimator
check_ratio_estimator(DiscriminantRatioEstimator(n_components=64))
check_ratio_estimator(DiscriminantRatioEstimator(features="columns", alpha=0.1), random_state=1)
""",
    "ensemble": """
from fewratio import AutoRatioEstimator, DiscriminantRatioEstimator, MetaRatioEstimator
from fewratio.estimators.networks import Architecture, Training
from fewratio import check_ratio_estimator
network = MetaRatioEstimator(network=Architecture(width=16), training=Training(max_steps=60), random_state=0)
check_ratio_estimator(AutoRatioEstimator(members=[network, DiscriminantRatioEstimator(n_components=64)]))
""",
    # Once: with samples of thousands, which it is not made for, it takes its time.
    "universal": """
from fewratio import UniversalRatioEstimator, check_ratio_estimator
check_ratio_estimator(UniversalRatioEstimator(), invariant_under=["column order", "scale", "shift"])
""",
    "auto": """
from fewratio import AutoRatioEstimator, check_ratio_estimator
check_ratio_estimator(AutoRatioEstimator(), random_state=1)
""",
}


def test_only_clones_are_fitted():
    estimator = RuLSIF(random_state=5)
    check_ratio_estimator(estimator)
    assert vars(estimator) == vars(RuLSIF(random_state=5))


# ---------------------------------------------------------------- estimators that are broken on purpose


class SetsNothing(RuLSIF):
    def set_params(self, **parameters):
        return self


class ConvertsInTheConstructor(RuLSIF):
    def __init__(self, alpha=0.5):
        super().__init__(float(alpha))


class WritesIntoAParameter(RuLSIF):
    def _fit(self, X_nu, X_de):
        super()._fit(X_nu, X_de)
        self.sigma = self.sigma_


class ReturnsNothing(RuLSIF):
    def fit(self, X_nu, X_de):
        super().fit(X_nu, X_de)


class Draws(RuLSIF):
    draw = None

    def _fit(self, X_nu, X_de):
        type(self).draw()
        super()._fit(X_nu, X_de)


class DrawsFromNumPy(Draws):
    draw = np.random.rand


class DrawsFromPython(Draws):
    draw = random.random


class DrawsFromTorch(Draws):
    draw = staticmethod(lambda: torch.rand(1))


class SeedsInPretraining(RuLSIF):
    def pretrain(self, collection):
        torch.manual_seed(0)
        return self


class CentresInPlace(RuLSIF):
    def fit(self, X_nu, X_de):
        X_nu = np.asarray(X_nu)
        X_nu -= X_nu.mean(0)
        return super().fit(X_nu, X_de)


class NeedsToWrite(RuLSIF):
    def fit(self, X_nu, X_de):
        np.asarray(X_nu)[...] = X_nu
        return super().fit(X_nu, X_de)


class DrawsAtPleasure(RuLSIF):
    def _ratio(self, X):
        return super()._ratio(X) + np.random.default_rng().random()


class KeepsItsWidth(RuLSIF):
    def _fit(self, X_nu, X_de):
        width = getattr(self, "sigma_", None)
        super()._fit(X_nu, X_de)
        self.sigma_ = width or self.sigma_


class Negative(RuLSIF):
    def predict(self, X):
        return super().predict(X) - 1


class Column(RuLSIF):
    def predict(self, X):
        return super().predict(X)[:, None]


class NoNumber(RuLSIF):
    def divergence(self):
        return np.nan


class NeedsTwoInstances(RuLSIF):
    def _fit(self, X_nu, X_de):
        if len(X_nu) < 2:
            raise ValueError("X_nu has one instance")
        super()._fit(X_nu, X_de)


class NeedsArrays(RuLSIF):
    def fit(self, X_nu, X_de):
        return super().fit(X_nu.astype(float), X_de)


class OneSizeForBoth(RuLSIF):
    """As densratio has it: both sums are divided by the numerator's size."""

    def divergence(self):
        self._check_fitted()
        nu, de = self.ratio_nu_, self.ratio_de_
        squares = self.alpha * (nu**2).sum() + (1 - self.alpha) * (de**2).sum()
        return float((nu.sum() - squares / 2) / len(nu)) - 0.5


class OffByAHalf(RuLSIF):
    def divergence(self):
        return super().divergence() + 0.5


class NumeratorOverTheOtherSize(RuLSIF):
    def _fit(self, X_nu, X_de):
        super()._fit(X_nu, X_de)
        self.ratio_nu_, self.ratio_de_ = (r * len(X_nu) / len(X_de) for r in (self.ratio_nu_, self.ratio_de_))


class LooksAtTheFirstRow(RuLSIF):
    def _fit(self, X_nu, X_de):
        super()._fit(X_nu, X_de)
        self.weights_ = self.weights_ * (1 + abs(X_nu[0, 0]))


class LooksAtTheFirstRowsOfMany(RuLSIF):
    def _fit(self, X_nu, X_de):
        super()._fit(X_nu[:100], X_de)


class LooksAtUnits(RuLSIF):
    def _fit(self, X_nu, X_de):
        super()._fit(X_nu, X_de)
        self.weights_ = self.weights_ * (1 + X_nu.std())


class LooksAtTheSignOfZero(RuLSIF):
    def _fit(self, X_nu, X_de):
        super()._fit(X_nu, X_de)
        self.weights_ = self.weights_ * (1 + (np.signbit(X_de) & (X_de == 0)).mean())


class FitsItselfToOthers(RuLSIF):
    def _divergences(self, rows, nu, de):
        return np.array([self.fit(rows[a], rows[b]).divergence() for a, b in zip(nu, de, strict=True)])


class RemembersTheLastRows(RuLSIF):
    def predict(self, X):
        self._last = X
        time.sleep(0.05)
        return super().predict(self._last)


class NoRatioAtTheRows(RuLSIF):
    def _fit(self, X_nu, X_de):
        super()._fit(X_nu, X_de)
        del self.ratio_de_

    def divergence(self):
        self._check_fitted()
        return 0.1


class Normalises(RuLSIF):
    def predict(self, X):
        ratio = super().predict(X)
        return ratio / max(ratio.mean(), 1e-9)


class NamesNothing(RuLSIF):
    def fit(self, X_nu, X_de):
        for X in (X_nu, X_de):
            if not np.isfinite(np.asarray(X, dtype=float)).all():
                raise ValueError("NaN or infinity is not allowed")
        return super().fit(X_nu, X_de)


class AcceptsInfinity(RuLSIF):
    def fit(self, X_nu, X_de):
        return super().fit(np.nan_to_num(np.asarray(X_nu, dtype=float), posinf=0.0), X_de)


class AnswersUnasked(RuLSIF):
    def predict(self, X):
        return super().predict(X) if hasattr(self, "weights_") else np.ones(len(X))


class ForgetsNames(RuLSIF):
    def predict(self, X):
        return super().predict(np.asarray(X))


class AcceptsNames(RuLSIF):
    def predict(self, X):
        return super().predict(X.rename(columns={"c": "b"}) if hasattr(X, "rename") else X)


class NeedsNumbers(RuLSIF):
    def fit(self, X_nu, X_de):
        np.asarray(X_de, dtype=float)
        return super().fit(X_nu, X_de)


class UpsideDown(RuLSIF):
    def _fit(self, X_nu, X_de):
        super()._fit(X_de, X_nu)
        self.ratio_nu_, self.ratio_de_ = self.ratio_de_, self.ratio_nu_


@pytest.mark.parametrize(
    ("broken", "check", "found"),
    [
        (SetsNothing, "parameters_round_trip", "get_params does not give"),
        (ConvertsInTheConstructor, "parameters_round_trip", "TypeError"),
        (WritesIntoAParameter, "nothing_else_is_changed", "changes the parameter sigma"),
        (ReturnsNothing, "nothing_else_is_changed", "fit does not return self"),
        (DrawsFromNumPy, "nothing_else_is_changed", "random state of NumPy"),
        (DrawsFromPython, "nothing_else_is_changed", "random state of Python"),
        (DrawsFromTorch, "nothing_else_is_changed", "random state of torch"),
        (SeedsInPretraining, "nothing_else_is_changed", "pretrain changes the global random state of torch"),
        (CentresInPlace, "nothing_else_is_changed", "X_nu was changed"),
        (NeedsToWrite, "nothing_else_is_changed", "read-only"),
        (DrawsAtPleasure, "answers_are_reproducible", "depends on an earlier fit"),
        (KeepsItsWidth, "answers_are_reproducible", "depends on an earlier fit"),
        (Negative, "answers_are_valid", "a ratio is -"),
        (Column, "answers_are_valid", "the ratio of 8 rows is"),
        (NoNumber, "answers_are_valid", "the divergence is nan"),
        (NeedsTwoInstances, "poor_samples_are_accepted", "with one instance per side"),
        (NeedsArrays, "kinds_of_numbers_are_accepted", "with lists: AttributeError"),
        (OneSizeForBoth, "sample_sizes_do_not_mix", "with 100 and 2000 rows"),
        (OffByAHalf, "sample_sizes_do_not_mix", "but ratios so near 1 bound it by"),
        (NumeratorOverTheOtherSize, "sample_sizes_do_not_mix", "the mean ratio is"),
        (LooksAtTheFirstRow, "equivalent_samples_give_the_same", "with X_nu in another order"),
        (
            LooksAtTheFirstRowsOfMany,
            "equivalent_samples_give_the_same",
            "of 190 and 160 rows, with X_nu in another order",
        ),
        (LooksAtUnits, "equivalent_samples_give_the_same", "with values doubled, the ratio"),
        (LooksAtTheSignOfZero, "equivalent_samples_give_the_same", "with -0.0 for 0.0, the ratio"),
        (FitsItselfToOthers, "threads_may_share_it", "after divergences of other samples the ratio"),
        (RemembersTheLastRows, "threads_may_share_it", "among threads the ratio"),
        (NoRatioAtTheRows, "answers_are_valid", "ratio_de_: AttributeError"),
        (Normalises, "rows_are_predicted_independently", "the ratio of many rows"),
        (NamesNothing, "bad_calls_are_refused", "infinity in X_nu: the message does not name 1, X_nu"),
        (AcceptsInfinity, "bad_calls_are_refused", "infinity in X_nu: it is accepted"),
        (AnswersUnasked, "bad_calls_are_refused", "predict before fit: it is accepted"),
        (ForgetsNames, "feature_names_are_compared", "a data frame in another order is another one"),
        (AcceptsNames, "feature_names_are_compared", "another name in X: it is accepted"),
        (NeedsNumbers, "mixed_tables_are_taken", "could not convert string to float"),
        (UpsideDown, "ratio_is_larger_on_the_numerator", "the means are"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, where a broken estimator divides by zero
def test_a_broken_estimator_is_caught_by_the_right_check(broken, check, found):
    with pytest.raises(AssertionError) as caught:
        check_ratio_estimator(broken(), invariant_under=("column order", "scale", "shift"))
    message = str(caught.value)
    assert message.startswith(f"{broken.__name__} fails the check '{check}'")
    assert found in message
    assert "\nExpected: " in message
