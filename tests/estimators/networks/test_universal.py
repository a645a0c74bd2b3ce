"""The universal estimator: what must not matter to it, fitted rows, many pairs as one by one, its intervals."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewratio import UniversalRatioEstimator
from fewratio.core.container import read_tensors, write_tensors
from fewratio.errors import InputError, ModelFileError, ParameterError
from fewratio.estimators.networks import universal
from fewratio.estimators.networks.nn.intervals import LEVELS
from fewratio.estimators.networks.pretrained import UNIVERSAL
from fewratio.estimators.quantities import relative_pearson_divergence
from tests.strategies import quick, seeds

RNG = np.random.default_rng(0)
NU, DE, X = RNG.normal(0, 1, (6, 3)), RNG.normal(1, [0.5, 1, 2], (9, 3)), RNG.normal(0.5, 1, (20, 3))
both_scales = pytest.mark.parametrize("scale", ["none", "columns"])
# Rounding in float32 through a small network and a linear system.
CLOSE = dict(rtol=1e-3, atol=1e-3)


def answers(change=None, rows=slice(None), **parameters):
    """Ratios of new rows and divergence, after a change of all rows."""
    nu, de, x = (sample if change is None else change(sample) for sample in (NU, DE, X))
    estimator = UniversalRatioEstimator(**parameters).fit(nu[rows], de[rows])
    return np.append(estimator.predict(x), estimator.divergence())


# ---------------------------------------------------------------- what must not matter

ROTATION = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
ALWAYS = {
    "a constant column": lambda x: np.column_stack([x, np.full(len(x), 0.1)]),
    "a large constant column": lambda x: np.column_stack([np.full(len(x), 1e6), x]),
    "one large factor": lambda x: 1e9 * x,
    "one small factor": lambda x: 1e-12 * x,
    "a small factor and a constant column": lambda x: np.column_stack([1e-9 * x, np.ones(len(x))]),
    "a shift": lambda x: x + np.array([1e4, -3.0, 0.2]),
    "the order of columns": lambda x: x[:, [2, 0, 1]],
}


@both_scales
@pytest.mark.parametrize("change", ALWAYS.values(), ids=ALWAYS)
def test_what_never_matters(change, scale):
    np.testing.assert_allclose(answers(change, scale=scale), answers(scale=scale), **CLOSE)


@both_scales
def test_the_order_of_rows_does_not_matter(scale):
    np.testing.assert_allclose(answers(rows=slice(None, None, -1), scale=scale), answers(scale=scale), **CLOSE)


@pytest.mark.parametrize(
    ("change", "without_effect_in"),
    [
        (lambda x: x @ ROTATION, "none"),
        (lambda x: x * [1.0, -1.0, 1.0], "both"),
        (lambda x: x * [100, 1, 0.1], "columns"),
    ],
    ids=["rotation", "reflection", "units"],
)
@both_scales
def test_rotations_or_units_matter(change, without_effect_in, scale):
    same = np.allclose(answers(change, scale=scale), answers(scale=scale), **CLOSE)
    assert same == (without_effect_in in (scale, "both"))


def test_a_column_far_from_zero_keeps_its_digits():
    moved = answers(lambda x: x + 1.5e9)
    np.testing.assert_allclose(moved, answers(), **CLOSE)


# ---------------------------------------------------------------- fitted rows and new ones


@both_scales
def test_fitted_rows_are_left_out_of_their_own_features(scale):
    estimator = UniversalRatioEstimator(scale=scale).fit(NU, DE)
    as_new = [estimator.predict(sample) for sample in (NU, DE)]
    # A fitted row that is asked about is a neighbour of itself.
    assert as_new[0].mean() > estimator.ratio_nu_.mean() + 0.01
    assert as_new[1].mean() < estimator.ratio_de_.mean() - 0.01


@pytest.mark.parametrize("ask", ["predict", "interval"])
def test_every_row_is_new_however_near_to_a_fitted_one(ask):
    """5 + 5 rows: what came back bit for bit was once answered otherwise than after a cast to float32 and back."""
    estimator = UniversalRatioEstimator().fit(NU[:5], DE[:5])
    rows = np.concatenate([NU[:5], DE[:5]])
    found, cast = (getattr(estimator, ask)(given) for given in (rows, rows.astype(np.float32).astype(np.float64)))
    np.testing.assert_allclose(cast, found, **CLOSE)


def test_the_divergence_is_that_of_the_ratios_at_the_fitted_rows():
    estimator = UniversalRatioEstimator(0.3).fit(NU, DE)
    expected = relative_pearson_divergence(estimator.ratio_nu_, estimator.ratio_de_, 0.3)
    assert estimator.divergence() == pytest.approx(expected, abs=1e-12)


# ---------------------------------------------------------------- many pairs


@both_scales
@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_many_pairs_are_what_they_are_one_by_one(scale, alpha):
    # Some rows are far away and some very close: each pair has a scale of its own.
    rows = np.concatenate([NU, DE, 1e-6 * X[:5] + 1e3, X[5:] + 1e7])
    nu = np.array([[0, 1, 2], [15, 16, 17], [20, 21, 22], [0, 15, 20]])
    de = np.array([[6, 7, 8, 9], [18, 19, 18, 19], [23, 24, 25, 26], [7, 8, 17, 30]])
    estimator = UniversalRatioEstimator(alpha, scale=scale)
    expected = [estimator.fit(rows[i], rows[j]).divergence() for i, j in zip(nu, de, strict=True)]
    np.testing.assert_allclose(estimator.divergences(rows, nu, de), expected, **CLOSE)
    assert np.ptp(expected) > 0.02


# ---------------------------------------------------------------- intervals


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_intervals_widen_with_the_level_and_stay_where_the_truth_can_be(alpha):
    estimator = UniversalRatioEstimator(alpha).fit(NU, DE)
    rows = np.concatenate([X, NU])
    bounds = np.stack([estimator.interval(rows, level) for level in LEVELS])
    assert bounds.shape == (len(LEVELS), 26, 2)
    assert (np.diff(bounds[..., 0], axis=0) <= 0).all()
    assert (np.diff(bounds[..., 1], axis=0) >= 0).all()
    assert bounds.min() >= 0
    assert bounds.max() <= 1 / alpha * (1 + 1e-6)
    of_divergence = [estimator.divergence_interval(level) for level in LEVELS]
    for (low, high), (wider_low, wider_high) in pairwise(of_divergence):
        assert 0 <= wider_low <= low <= high <= wider_high <= (1 - alpha) / (2 * alpha) * (1 + 1e-6)


@quick
@given(
    seed=seeds,
    sizes=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    n_columns=st.integers(1, 5),
    shift=st.floats(0, 10),
    alpha=st.floats(*universal.ALPHAS),
    level=st.sampled_from(LEVELS),
)
def test_the_estimate_is_within_its_interval(seed, sizes, n_columns, shift, alpha, level):
    rng = np.random.default_rng(seed)
    nu, de = (rng.normal(mean, 1, (n, n_columns)) for n, mean in zip(sizes, (0, shift), strict=True))
    estimator = UniversalRatioEstimator(alpha).fit(nu, de)
    rows = rng.normal(shift / 2, 3, (20, n_columns))
    low, high = estimator.interval(rows, level).T
    ratio = estimator.predict(rows)
    assert (low <= ratio).all()
    assert (ratio <= high).all()
    low, high = estimator.divergence_interval(level)
    # An estimate may be below zero, where no divergence is.
    assert 0 <= low <= max(estimator.divergence(), 0) <= high


@pytest.mark.slow
@pytest.mark.parametrize(("n_columns", "shift"), [(1, 1), (2, 1), (5, 0.5), (3, 0), (10, 2)])
def test_more_instances_give_narrower_intervals(n_columns, shift):
    def widths(n):
        found = []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            # Units of three rows vary as well.
            estimator = UniversalRatioEstimator(scale="none").fit(
                rng.normal(0, 1, (n, n_columns)), rng.normal(shift, 1, (n, n_columns))
            )
            rows = rng.normal(shift / 2, 1, (20, n_columns))
            found.append((np.diff(estimator.interval(rows)).mean(), np.diff(estimator.divergence_interval()).item()))
        return np.mean(found, axis=0)

    few, more, many = (widths(n) for n in (3, 10, 150))
    assert (more < few).all()
    assert (many < more).all()


@pytest.mark.parametrize("ask", [lambda e: e.interval(X, 0.85), lambda e: e.divergence_interval(0.99)])
def test_an_unknown_level_is_named(ask):
    with pytest.raises(InputError, match=r"level is 0\.\d+; 0\.5, 0\.8, 0\.9, 0\.95 are known"):
        ask(UniversalRatioEstimator().fit(NU, DE))


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("parameters", [{"alpha": 0.05}, {"alpha": 0.95}, {"alpha": 0.0}, {"scale": "rows"}])
def test_a_parameter_out_of_range_is_named(parameters):
    with pytest.raises(ParameterError, match=f"'{next(iter(parameters))}' parameter"):
        UniversalRatioEstimator(**parameters).fit(NU, DE)


@both_scales
def test_values_too_large_to_square_are_refused(scale):
    with pytest.raises(InputError, match="too large"):
        UniversalRatioEstimator(scale=scale).fit(1e200 * NU, DE)


@pytest.mark.parametrize("alpha", [0.1, 0.9])
def test_the_ratio_is_at_most_one_over_alpha_and_follows_it(alpha):
    ratios = answers(alpha=alpha)[:-1]
    assert ratios.min() >= 0
    assert ratios.max() <= 1 / alpha * (1 + 1e-6)
    assert not np.allclose(ratios, answers(alpha=0.5)[:-1], atol=0.01)


# ---------------------------------------------------------------- the weights


@pytest.fixture
def weights_at(monkeypatch, tmp_path):
    """Put the weights at another path, and read them from there."""

    def move(path):
        monkeypatch.setattr(universal, "UNIVERSAL", path)
        universal.shipped_parts.cache_clear()

    yield lambda: (tmp_path / "weights", move)
    monkeypatch.undo()
    universal.shipped_parts.cache_clear()


def without_a_tensor(path):
    tensors, header = read_tensors(UNIVERSAL, "model")
    tensors.pop("ratio.head.log_reg")
    write_tensors(path, "model", tensors, {"version": header.get("version")})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: None,
        lambda path: path.write_bytes(UNIVERSAL.read_bytes()[:1000]),
        lambda path: path.write_bytes(b"no weights"),
        without_a_tensor,
    ],
    ids=["missing", "truncated", "foreign", "incomplete"],
)
def test_weights_that_cannot_be_used_are_named(weights_at, spoil):
    path, move = weights_at()
    spoil(path)
    move(path)
    with pytest.raises(
        ModelFileError, match=r"weights that come with fewratio cannot be used (?s:.*)Install fewratio again"
    ):
        UniversalRatioEstimator().fit(NU, DE)


def test_the_weights_are_small_finite_and_of_this_network():
    assert UNIVERSAL.stat().st_size < 3e6
    tensors, _ = read_tensors(UNIVERSAL, "model")
    assert all(np.isfinite(tensor).all() for tensor in tensors.values())
    parts = {f"ratio.{name}" for name in universal.universal_model().state_dict()}
    parts |= {f"intervals.{name}" for name in universal.make_intervals().state_dict()}
    assert set(tensors) == parts


def test_the_weights_are_read_once_and_learn_no_more():
    model, _ = universal.shipped_parts("cpu")
    assert universal.shipped_parts("cpu")[0] is model
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert not UniversalRatioEstimator().fit(NU, DE).ratio_.weights.requires_grad


def test_a_refused_fit_leaves_the_one_before_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 3))
    estimator = UniversalRatioEstimator().fit(X[:3], X[3:] + 2)
    before = estimator.predict(X + 0.1)
    with pytest.raises(InputError):
        estimator.fit(X[:3] * 1e200, X[3:])
    np.testing.assert_array_equal(estimator.predict(X + 0.1), before)


@pytest.mark.slow
def test_of_a_large_sample_some_rows_are_drawn_whatever_their_order():
    rng = np.random.default_rng(0)
    nu, de = rng.normal(1, 1, (5, 3)), rng.normal(size=(600, 3))
    estimator = UniversalRatioEstimator().fit(nu, de)
    assert estimator.ratio_.support.de.shape[-2] == 400
    # The others are new rows.
    assert (estimator.ratio_de_ == estimator.predict(de)).sum() >= 200
    turned = UniversalRatioEstimator().fit(nu, de[::-1])
    np.testing.assert_allclose(turned.ratio_de_[::-1], estimator.ratio_de_, atol=1e-5)
    both = np.concatenate([nu, de])
    (divergence,) = UniversalRatioEstimator().divergences(both, [range(5)], [range(5, 605)])
    assert divergence == pytest.approx(estimator.divergence(), abs=1e-6)
