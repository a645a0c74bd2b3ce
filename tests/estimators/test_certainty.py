"""Intervals of what was learned from related datasets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewratio import (
    AutoRatioEstimator,
    Collection,
    DiscriminantRatioEstimator,
    InputError,
    MetaRatioEstimator,
    ModelFileError,
)
from fewratio.core.container import read_tensors, write_tensors
from fewratio.core.true_ratio import gaussian_relative_ratio
from fewratio.estimators import NotFittedError
from fewratio.estimators.certainty import bound_probability, measure_certainty
from fewratio.estimators.closed_form.source_prior import read_prior
from tests.strategies import few, quick, seeds

LAM = 2.0 / 2.0 ** np.arange(3)
certainties, levels = st.floats(1e-3, 1e3), st.floats(0.01, 0.99)


def family(n_datasets, seed=0, n_rows=40):
    """Datasets N(mu, I): rows and means."""
    rng = np.random.default_rng(seed)
    means = rng.normal(0, np.sqrt(LAM), (n_datasets, len(LAM)))
    return rng.normal(means[:, None], 1, (n_datasets, n_rows, len(LAM))), means


def make_network(n_steps=50, **changes):
    from fewratio.estimators.networks import Training

    training = Training(max_steps=n_steps, validate_every=n_steps)
    return MetaRatioEstimator(training=training, device="cpu", progress=False, **changes)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(AutoRatioEstimator, marks=pytest.mark.slow),
        DiscriminantRatioEstimator,
        pytest.param(make_network, marks=pytest.mark.slow),
    ],
)
def model(request):
    return request.param(random_state=0).pretrain(Collection.from_arrays(list(family(24)[0])))


# ---------------------------------------------------------------- the distribution


@pytest.mark.parametrize(("k", "level"), [(0.3, 0.9), (2.0, 0.9), (20.0, 0.9), (200.0, 0.5)])
def test_bounds_hold_a_share_of_beta_distributions(k, level):
    """Of 40,000 draws; the tolerance has four standard errors, and one per cent for the grid and its middle."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=40_000)
    low, high = bound_probability(p, k, level).T
    truth = rng.beta(k * p, k * (1 - p))
    assert np.mean((low <= truth) & (truth <= high)) == pytest.approx(level, abs=0.02)


@quick
@given(certainties, levels)
def test_bounds_contain_the_probability_and_each_other(k, level):
    p = np.linspace(0, 1, 41)
    low, high = bound_probability(p, k, level).T
    assert ((low >= 0) & (low <= p) & (p <= high) & (high <= 1)).all()
    wider = bound_probability(p, k, (1 + level) / 2)
    assert (wider[:, 0] <= low + 1e-6).all()
    assert (high <= wider[:, 1] + 1e-6).all()
    np.testing.assert_allclose(bound_probability(1 - p, k, level), 1 - np.stack([high, low], 1), atol=1e-9)


def test_no_other_interval_of_a_peak_is_shorter():
    from scipy.stats import beta

    low, high = bound_probability(np.array([0.125]), 40.0, 0.8)[0]
    below = np.linspace(0, 0.2, 2001)
    widths = np.subtract(*(beta.ppf(below + part, 5, 35) for part in (0.8, 0)))
    assert high - low == pytest.approx(np.nanmin(widths), abs=1e-4)


def test_errors_that_fall_from_far_to_a_perfect_separation_leave_nothing_certain():
    sizes = np.array([1, 4, 16])
    falls = 1 / np.sqrt(sizes)
    assert measure_certainty(falls, -0.8 + 0.1 * falls, 0.5) == pytest.approx(2)
    assert measure_certainty(falls, -1.0 + 0.1 * falls, 0.5) < 0.01
    assert measure_certainty(falls, -0.8 - 0.1 * falls, 0.5) > 100
    assert measure_certainty(falls, -0.8 + 0.1 * falls, 0.0) is None


# ---------------------------------------------------------------- of estimators


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 5, 10])
def test_intervals_hold_as_often_as_they_say(model, n):
    """On 60 pairs of Gaussians that were not sources: nine of ten, with a standard error of 0.02; of networks more.

    With ten rows the intervals of a mean are wider than needed: they hold 0.98.
    """
    rows, means = family(120, seed=1)
    of_ratios, of_divergences = [], []
    for a, b in np.arange(120).reshape(-1, 2):
        query = np.concatenate([rows[a, 30:], rows[b, 30:]])
        low, high = model.fit(rows[a, :n], rows[b, :n]).interval(query).T
        truth = gaussian_relative_ratio(query, means[a], 1.0, means[b], 1.0, 0.5)
        of_ratios.append(np.mean((low <= truth) & (truth <= high)))
        many = np.random.default_rng(0).normal(means[a], 1, (4000, len(LAM)))
        divergence = (gaussian_relative_ratio(many, means[a], 1.0, means[b], 1.0, 0.5).mean() - 1) / 2
        least, most = model.divergence_interval()
        of_divergences.append(least <= divergence <= most)
    assert 0.82 < np.mean(of_ratios) < (0.985 if model.angles_ is None else 1)
    assert np.mean(of_divergences) > 0.8


@few
@given(seeds, levels)
def test_intervals_contain_the_estimate(model, seed, level):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 3))
    model.fit(rng.normal(size=(2, 3)), rng.normal(size=(4, 3)))
    low, high = model.interval(X, level).T
    ratio = model.predict(X)
    assert (low <= ratio + 1e-9).all()
    assert (ratio <= high + 1e-9).all()
    least, most = model.divergence_interval(level)
    assert 0 <= least < most <= 0.5
    assert model.angles_ is None or least - 1e-9 <= max(model.divergence(), 0) <= most + 1e-9


@few
@given(seeds)
def test_wider_levels_have_wider_intervals(model, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 3))
    model.fit(rng.normal(size=(2, 3)), rng.normal(size=(4, 3)))
    levels = (0.01, 0.4, 0.5, 0.85, 0.9, 0.95, 0.99)
    for ask in (lambda level: model.interval(X, level), model.divergence_interval):
        widths = np.diff([ask(level) for level in levels])[..., 0]
        assert (np.diff(widths, axis=0) >= -1e-6).all()


def test_intervals_narrow_with_more_rows(model):
    rng = np.random.default_rng(0)
    rows, X = rng.normal(size=(2, 200, 3)), rng.normal(size=(20, 3))
    widths = [np.diff(model.fit(rows[0, :n], rows[1, :n]).interval(X)).mean() for n in (1, 5, 30, 200)]
    if model.angles_ is None:
        assert widths == sorted(widths, reverse=True)
        assert widths[-1] < widths[0] / 2
    else:
        # The width also depends on the ratio: at the ends of its range the interval of a network is cut off.
        assert (np.diff(model.angles_, axis=1) <= 0).all()
        # No certainty beyond the largest samples that a network was tried on.
        assert widths[-1] == pytest.approx(widths[-2], rel=0.1)


def test_files_keep_how_sure_ratios_are(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    loaded = type(model).load(tmp_path / "model.safetensors")
    samples = np.random.default_rng(0).normal(size=(2, 4, 3))
    expected = model.fit(*samples).interval(samples[0])
    np.testing.assert_array_equal(loaded.fit(*samples).interval(samples[0]), expected)
    assert loaded.divergence_interval() == model.divergence_interval()


@pytest.mark.parametrize("certainty", [-1.0, 1e9, "2"])
def test_files_with_an_impossible_certainty_are_refused(certainty, tmp_path):
    model = AutoRatioEstimator(random_state=0).pretrain(Collection.from_arrays(list(family(3)[0])))
    model.save(tmp_path / "model.safetensors")
    arrays, header = read_tensors(tmp_path / "model.safetensors", "model")
    write_tensors(tmp_path / "other.safetensors", "model", arrays, header | {"certainty": certainty})
    with pytest.raises(ModelFileError, match="certainty"):
        AutoRatioEstimator.load(tmp_path / "other.safetensors")


@pytest.mark.parametrize("angles", [[[0.1]], np.full((2, 4, 4), 2.0).tolist(), np.full((2, 4, 4), "x").tolist()])
def test_files_with_impossible_angles_are_refused(angles, tmp_path):
    make_network(1, random_state=0).pretrain(Collection.from_arrays(list(family(3)[0]))).save(tmp_path / "model")
    arrays, header = read_tensors(tmp_path / "model", "model")
    header["networks"][0]["angles"] = angles
    write_tensors(tmp_path / "other", "model", arrays, header)
    with pytest.raises(ModelFileError, match=r"angles|convert"):
        MetaRatioEstimator.load(tmp_path / "other")


def test_without_datasets_held_out_a_network_is_sure_of_nothing():
    rows = family(5)[0]
    model = make_network(1, random_state=0).pretrain(Collection.from_arrays(list(rows)))
    np.testing.assert_allclose(model.fit(rows[0, :3], rows[1, :3]).interval(rows[0]), [[0, 2]] * 40, atol=1e-9)
    assert model.divergence_interval() == pytest.approx((0, 0.5), abs=1e-9)


@pytest.mark.slow
def test_networks_that_are_further_off_have_wider_intervals():
    sources = Collection.from_arrays(list(family(24, n_rows=60)[0]))
    few, many = (make_network(n_steps, random_state=0).pretrain(sources).angles_ for n_steps in (1, 200))
    assert few[:, -1].mean() > 1.2 * many[:, -1].mean()


@pytest.mark.slow
def test_a_mean_is_as_sure_as_its_members_are_on_average():
    rows = family(12)[0]
    sources, closed = Collection.from_arrays(list(rows)), DiscriminantRatioEstimator(features="columns")
    both = AutoRatioEstimator(members=[closed, make_network(1, random_state=0)]).pretrain(sources)
    np.testing.assert_allclose(both.angles_, both.learned_[1].angles_)
    of_shares = AutoRatioEstimator(members=[closed, make_network(1, random_state=0)], shares=[1, 0]).pretrain(sources)
    assert of_shares.certainty_ == pytest.approx(of_shares.learned_[0].certainty_)
    for model in (both, of_shares):
        assert np.ptp(model.fit(rows[0, :3], rows[1, :3]).interval(rows[0]), axis=1).min() > 0


@pytest.mark.parametrize("kind", ["columns", "cosines", "auto"])
def test_two_sources_are_as_sure_as_those_of_other_collections(kind):
    rows = family(2)[0]
    model = DiscriminantRatioEstimator(features=kind, n_components=16).pretrain(Collection.from_arrays(list(rows)))
    assert model.certainty_ == read_prior().certainty("columns" if kind == "columns" else "cosines", 2)
    # They are not sure enough for the intervals of the closed form alone.
    with pytest.raises(NotFittedError, match="Too few related datasets"):
        model.fit(rows[0, :3], rows[1, :3]).interval(rows[0])
    default = AutoRatioEstimator(random_state=0).pretrain(Collection.from_arrays(list(rows)))
    low, high = default.fit(rows[0, :3], rows[1, :3]).interval(rows[0]).T
    assert 0 < np.mean(high - low) < 2


@pytest.mark.parametrize("level", [0, 1, "0.9", float("nan")])
def test_levels_are_probabilities(model, level):
    model.fit([[0.0, 0, 0]], [[1.0, 1, 1]])
    with pytest.raises(InputError, match="probability between 0 and 1"):
        model.interval([[0.0, 0, 0]], level)


def test_without_errors_on_datasets_held_out_there_is_no_interval():
    rows = family(2)[0]
    plain = AutoRatioEstimator(random_state=0).fit(rows[0, :3], rows[1, :3])
    for ask in (lambda: plain.interval(rows[0]), plain.divergence_interval):
        with pytest.raises(
            NotFittedError, match=r"Too few related datasets were held out .* Learn from at least eight"
        ):
            ask()
    unbounded = DiscriminantRatioEstimator(0.0, n_components=16).pretrain(Collection.from_arrays(list(rows)))
    with pytest.raises(NotFittedError, match="alpha is 0"):
        unbounded.fit(rows[0, :3], rows[1, :3]).interval(rows[0])
