"""The mean of networks and of estimators in closed form."""

import numpy as np
import pytest

from fewratio import (
    AutoRatioEstimator,
    DiscriminantRatioEstimator,
    ParameterError,
    RuLSIF,
    load_model,
    relative_pearson_divergence,
)
from fewratio.data.sources.gaussian import gaussian_family
from fewratio.estimators import NotFittedError, make_best_members
from tests.strategies import meta_estimator

SOURCES = gaussian_family(8, n_instances=40, random_state=0).collection
RNG = np.random.default_rng(1)
NU, DE, X = RNG.normal(0.3, 1, (4, 1)), RNG.normal(-0.5, 1, (5, 1)), RNG.normal(size=(6, 1))


def members(n_draws=2):
    networks = meta_estimator(max_steps=3, width=8, scale="columns", device="cpu", progress=False, random_state=0)
    return make_best_members(networks, n_draws=n_draws, n_components=16)


@pytest.fixture(scope="module")
def trained():
    return AutoRatioEstimator(members=members()).pretrain(SOURCES)


@pytest.mark.slow
def test_many_pairs_are_as_one_by_one(trained):
    rows, nu, de = np.concatenate([NU, DE]), [[0, 1], [3, 4]], [[5, 6, 7], [2, 8, 0]]
    expected = [trained.fit(rows[a], rows[b]).divergence() for a, b in zip(nu, de, strict=True)]
    before = trained.ratio_nu_.copy()
    np.testing.assert_allclose(trained.divergences(rows, nu, de), expected, rtol=1e-4)
    np.testing.assert_array_equal(trained.ratio_nu_, before)


def test_both_kinds_count_the_same_however_many_there_are(trained):
    assert trained.fit(NU, DE).shares_ == [0.5, 0.25, 0.25]
    alone = [member.pretrain(SOURCES).fit(NU, DE) for member in members()]
    expected = np.average([member.predict(X) for member in alone], axis=0, weights=trained.shares_)
    np.testing.assert_allclose(trained.fit(NU, DE).predict(X), expected, rtol=1e-6)
    at_samples = (
        np.average([getattr(member, name) for member in alone], axis=0, weights=trained.shares_)
        for name in ("ratio_nu_", "ratio_de_")
    )
    assert trained.divergence() == pytest.approx(relative_pearson_divergence(*at_samples), rel=1e-5)


def test_a_file_holds_all_members(trained, tmp_path):
    trained.fit(NU, DE).save(tmp_path / "all.model")
    loaded = load_model(tmp_path / "all.model")
    assert isinstance(loaded, AutoRatioEstimator)
    assert [type(member) for member in loaded.learned_] == [type(member) for member in trained.learned_]
    assert [network.kind for network in loaded.networks_] == ["mlp"]
    np.testing.assert_array_equal(loaded.fit(NU, DE).predict(X), trained.predict(X))


def test_another_alpha_is_refused_by_the_networks(trained, tmp_path):
    trained.save(tmp_path / "all.model")
    with pytest.raises(ParameterError, match=r"alpha is 0\.3, but the model was trained with 0\.5"):
        load_model(tmp_path / "all.model").set_params(alpha=0.3).fit(NU, DE)
    (draw,) = members(1)[1:]
    assert AutoRatioEstimator(0.3, members=[draw]).pretrain(SOURCES).fit(NU, DE).predict(X).max() <= 1 / 0.3


@pytest.mark.parametrize("wrong", [[], [RuLSIF()], [DiscriminantRatioEstimator(), RuLSIF()]])
def test_members_must_learn_from_sources(wrong):
    with pytest.raises(ParameterError, match=r"RuLSIF|nothing in it"):
        AutoRatioEstimator(members=wrong).pretrain(SOURCES)


def test_given_shares_are_those_of_the_mean(tmp_path):
    estimator = AutoRatioEstimator(members=members(1)[1:] * 2, shares=[0.75, 0.25]).pretrain(SOURCES).fit(NU, DE)
    assert estimator.shares_ == [0.75, 0.25]
    estimator.save(tmp_path / "shares.model")
    assert load_model(tmp_path / "shares.model").fit(NU, DE).shares_ == [0.75, 0.25]


@pytest.mark.parametrize("shares", [[1.0], [0.5, 0.6], [1.5, -0.5]])
def test_shares_are_one_for_each_member_with_the_sum_1(shares):
    with pytest.raises(ParameterError, match=r"shares is .* for 2 members"):
        AutoRatioEstimator(members=[DiscriminantRatioEstimator()] * 2, shares=shares).pretrain(SOURCES)
    with pytest.raises(ParameterError, match="shares is given without members"):
        AutoRatioEstimator(shares=shares).fit(NU, DE)


def test_members_that_have_learned_nothing_are_not_fitted():
    with pytest.raises(NotFittedError, match="Call pretrain"):
        AutoRatioEstimator(members=[DiscriminantRatioEstimator()]).fit(NU, DE)
