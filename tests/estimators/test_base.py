"""What all estimators take from their base: rows are worked on in blocks, and names are compared."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fewratio import KLIEP, ULSIF, InlierOutlierDetector, RuLSIF
from fewratio.core.blocks import in_blocks
from fewratio.errors import FewRatioError, InputError, ParameterError
from fewratio.estimators import NotFittedError


class Watched(RuLSIF):
    """Notes the blocks that it is given."""

    def _ratio(self, X):
        self.blocks_ = [*getattr(self, "blocks_", []), X.shape]
        return super()._ratio(X)


@pytest.mark.parametrize("n_features", [1, 2, 300])
def test_rows_are_predicted_in_blocks_that_fit_in_memory(n_features):
    rng = np.random.default_rng(0)
    estimator = Watched(random_state=0).fit(rng.normal(size=(200, n_features)), rng.normal(size=(200, n_features)))
    X = rng.normal(size=(12_000, n_features))
    estimator.blocks_ = []
    ratio = estimator.predict(X)
    rows = [n for n, _ in estimator.blocks_]
    assert sum(rows) == len(X)
    # Rows and their kernels count: a row has 300 of these, however few features it has.
    assert all(8 * n * max(n_features, len(estimator.centres_)) < 25e6 for n in rows)
    some = [0, rows[0] - 1, rows[0], len(X) - 1]
    np.testing.assert_allclose(ratio[some], RuLSIF.predict(estimator, X[some]), rtol=1e-9)


@pytest.mark.parametrize("X", [np.ones((9, 3)), np.ones((3, 9), dtype=np.float32).T], ids=["float64", "float32, F"])
def test_a_block_is_a_new_array_of_one_kind(X):
    def spoil(block):
        assert block.dtype == np.float64
        assert block.flags.c_contiguous
        block[:] = 7
        return block.sum(1)

    assert in_blocks(spoil, X).tolist() == [21.0] * 9
    assert (X == 1).all()


def test_a_ratio_that_is_not_finite_is_refused():
    class Broken(RuLSIF):
        def _ratio(self, X):
            return np.full(len(X), np.inf)

    with pytest.raises(InputError, match=r"not finite.*Rescale"):
        Broken().fit([[0.0]], [[1.0]]).predict([[0.0]])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_feature_names_are_those_of_the_last_fit(library):
    frame = library({"a": [1.0, 2.0], "b": [3.0, 1.0]})
    estimator = RuLSIF().fit(frame, frame)
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(InputError, match="X has other column names than the fitted sample"):
        estimator.predict(library({"a": [1.0], "c": [3.0]}))
    assert not hasattr(estimator.fit([[1.0]], [[2.0]]), "feature_names_in_")
    assert estimator.n_features_in_ == 1


def test_not_fitted_is_an_error_of_both_libraries():
    with pytest.raises(NotFittedError, match=r"RuLSIF.*Call fit\(X_nu, X_de\) first") as caught:
        RuLSIF().predict([[1.0]])
    assert isinstance(caught.value, FewRatioError)


def test_the_log_ratio_is_the_logarithm_of_the_ratio_and_minus_infinity_at_zero():
    estimator = RuLSIF(sigma=1.0).fit([[0.0], [1.0]], [[1.0], [2.0]])
    X = [[0.0], [1.0], [100.0]]
    ratio, log_ratio = estimator.predict(X), estimator.log_ratio(X)
    np.testing.assert_array_equal(log_ratio[:2], np.log(ratio[:2]))
    assert ratio[2] == 0
    assert log_ratio[2] == -np.inf


# ---------------------------------------------------------------- many pairs at once


@pytest.mark.parametrize(
    "estimator",
    [
        RuLSIF(),
        RuLSIF(clip="weights", sigma=0.7, reg=0.01),
        ULSIF(reg=1e-9),
        RuLSIF(reg="cv", random_state=0),
        RuLSIF(centres=5, scale="columns", random_state=0),
        RuLSIF(scale="columns"),
        KLIEP(random_state=0),
    ],
    ids=repr,
)
@pytest.mark.parametrize(("n_nu", "n_de"), [(4, 7), (1, 1)])
# Of a small table all distances are computed first, of a large one those of each pair.
@pytest.mark.parametrize("n_rows", [9, 300])
def test_many_divergences_are_those_of_each_pair(estimator, n_nu, n_de, n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 2))
    nu, de = rng.integers(n_rows, size=(5, n_nu)), rng.integers(n_rows, size=(5, n_de))
    expected = [estimator.fit(X[i], X[j]).divergence() for i, j in zip(nu, de, strict=True)]
    before = estimator.predict(X)
    # The regulariser of the batched form has been through float32.
    np.testing.assert_allclose(estimator.divergences(X, nu, de), expected, rtol=1e-5, atol=1e-7)
    both = estimator.divergences(X, nu, de), estimator.divergences(X, de, nu)
    np.testing.assert_allclose(estimator._both_divergences(X, nu, de), both, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(estimator.predict(X), before)


@pytest.mark.parametrize("first_rows", [(0,), (0, 3)])
def test_every_pair_is_standardised_by_its_own_rows(first_rows):
    """Whether all are made of the same rows, as in a permutation test, or not; a column may be constant in some."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3)) * [1, 100, 1]
    X[:9, 2] = 0.1
    orders = np.array([first + rng.permutation(9) for first in first_rows for _ in range(4)])
    nu, de, estimator = orders[:, :4], orders[:, 4:], RuLSIF(scale="columns")
    expected = [estimator.fit(X[i], X[j]).divergence() for i, j in zip(nu, de, strict=True)]
    np.testing.assert_allclose(estimator.divergences(X, nu, de), expected, rtol=1e-6)


@pytest.mark.parametrize("scale", ["none", "columns"])
def test_no_pairs_have_no_divergences(scale):
    empty = np.empty((0, 2), dtype=int)
    assert RuLSIF(scale=scale).divergences(np.zeros((3, 1)), empty, empty).shape == (0,)


@pytest.mark.parametrize(
    ("nu", "de", "message"),
    [
        ([[0, 3]], [[1]], "nu names row 3, but the table has 3"),
        ([[0]], [[-1]], "de names row -1"),
        ([[0.0]], [[1]], "nu has shape .* whole numbers"),
        ([0], [[1]], "nu has shape"),
        ([[0], [1]], [[1]], "nu has 2 samples but de has 1"),
    ],
)
def test_wrong_numbers_of_rows_are_named(nu, de, message):
    with pytest.raises(InputError, match=message):
        RuLSIF().divergences(np.zeros((3, 1)), nu, de)


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [({"alpha": 1}, "alpha"), ({"reg": True}, "reg"), ({"sigma": 1e-200}, "sigma"), ({"centres": "all"}, "centres")],
)
def test_an_error_about_a_parameter_carries_its_name(settings, parameter):
    with pytest.raises(ParameterError, match=f"'{parameter}' parameter of RuLSIF") as caught:
        RuLSIF(**settings).fit([[0.0]], [[1.0]])
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("make", [RuLSIF, InlierOutlierDetector])
def test_an_unknown_parameter_gets_the_name_that_is_likely_meant(make):
    with pytest.raises(ParameterError, match=rf"{make.__name__} has no parameter 'seed'; those are .* random_state\?"):
        make(seed=0)
