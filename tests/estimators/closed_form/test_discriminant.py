"""The closed-form learner: against exact answers, and what must and must not change its own."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from sklearn.base import clone

from fewratio import Collection, DiscriminantRatioEstimator
from fewratio.core.container import read_tensors, write_tensors
from fewratio.core.discriminant import DatasetPosterior, Support
from fewratio.core.true_ratio import gaussian_relative_ratio
from fewratio.core.units import RankScaling
from fewratio.data.sources.gaussian import gaussian_family
from fewratio.errors import CollectionError, FewRatioWarning, InputError, ModelFileError, ParameterError
from fewratio.estimators.base import NotFittedError
from fewratio.estimators.closed_form import discriminant, discriminant_choice, discriminant_model
from fewratio.estimators.closed_form.feature_map import FeatureMap
from tests.strategies import alphas, few, seeds, sizes

# Few random features: how well it learns is not what these tests are about.
SMALL = {"n_components": 32}
LAM = 1.0 / 2.0 ** np.arange(4)


def family(n_datasets=12, n_rows=40, n_features=3, seed=0):
    """Datasets N(mu, I) whose means are N(0, I)."""
    rng = np.random.default_rng(seed)
    return [rng.normal(rng.normal(size=n_features), 1, (n_rows, n_features)) for _ in range(n_datasets)]


def learned(datasets, validation=None, **parameters):
    held_out = None if validation is None else Collection.from_arrays(validation)
    return DiscriminantRatioEstimator(**(SMALL | parameters)).pretrain(Collection.from_arrays(datasets), held_out)


def answers(estimator, n_features=3, units=1.0, seed=1):
    """Ratios at new rows and at the fitted ones, with samples of different sizes."""
    rng = np.random.default_rng(seed)
    nu, de, X = (rng.normal(mean, 1, (n, n_features)) * units for mean, n in ((0.5, 5), (-0.5, 3), (0, 20)))
    estimator.fit(nu, de)
    return np.concatenate([estimator.predict(X), estimator.ratio_nu_, estimator.ratio_de_])


@pytest.fixture(scope="module", params=["columns", "cosines", "auto"])
def features(request):
    return request.param


@pytest.fixture(scope="module")
def model(features):
    return learned(family(), features=features)


# ---------------------------------------------------------------- against exact answers


@pytest.mark.slow
def test_the_log_ratio_of_gaussians_is_the_exact_one():
    """Means N(0, diag(LAM)), rows N(mean, I): the posterior is known.

    What is learned differs from it by the errors of 800 sources' covariances: the variance of means by
    sqrt(2 / 800) = 5 %, so log-ratios, of about that many units, by as many per cent of their size. Twice that is
    allowed.
    """
    rng = np.random.default_rng(0)
    means = rng.normal(0, np.sqrt(LAM), (820, 4))
    sources = rng.normal(means[:, None], 1, (820, 60, 4))
    estimator = learned(list(sources[:800]), features="columns", shrinkage=0.0, scale="none")
    assert min(estimator.model_.calibration.temperatures) >= 0.8
    exact = DatasetPosterior(LAM, np.ones(1))
    found, wanted = [], []
    for number in range(800, 820, 2):
        nu, de, X = sources[number, :5], sources[number + 1, :3], sources[number : number + 2, 5:].reshape(-1, 4)
        model = estimator.model_
        rows, supports = model(X), [Support.of(model(sample)) for sample in (nu, de)]
        found.append(np.subtract(*(model.posterior.log_density(rows, support) for support in supports)))
        wanted.append(np.subtract(*(exact.log_density(X, Support.of(sample)) for sample in (nu, de))))
    error = np.sqrt(np.mean(np.square(np.subtract(found, wanted))))
    assert error < 0.1 * np.std(wanted)


@pytest.mark.slow
def test_the_papers_synthetic_family():
    """Ten instances per sample: 0.024 is the mean regret of benchmarks/discriminant.py, over 4,000 pairs.

    Of the eleven pairs here it has a standard error of 0.004; three of these are allowed.
    """
    estimator = learned([each.X for each in gaussian_family(300, 300, 0).collection], features="columns")
    target = gaussian_family(12, 300, 1)
    regrets = []
    for nu, de in pairwise(range(12)):
        A, B = target.collection[nu].X, target.collection[de].X
        estimator.fit(A[:10], B[:10])
        truth_and_found = []
        for X in (A[10:], B[10:]):
            moments = [each[number] for number in (nu, de) for each in (target.means, target.stds)]
            truth_and_found.append((gaussian_relative_ratio(X, *moments, 0.5), estimator.predict(X)))
        # The squared error of Eq. 8 less that of the truth is half the squared difference, in expectation.
        regrets.append(np.mean([np.square(found - truth).mean() / 2 for truth, found in truth_and_found]))
    assert np.mean(regrets) < 0.036


# ---------------------------------------------------------------- what must not change an answer


@pytest.mark.slow
@settings(max_examples=3)
@given(seed=seeds)
def test_the_order_of_rows_and_sources_does_not_matter(features, seed):
    rng = np.random.default_rng(seed)
    sources = family()
    moved = [rng.permutation(sources[number]) for number in rng.permutation(len(sources))]
    found, wanted = learned(moved, features=features), learned(sources, features=features)
    assert found.settings_ == wanted.settings_
    # Rounding alone: sums in another order, of cosines in single precision.
    np.testing.assert_allclose(answers(found), answers(wanted), atol=1e-4)


def test_the_order_of_validation_rows_does_not_matter():
    sources, validation = family(), family(5, seed=9)
    moved = [rows[::-1] for rows in validation]
    np.testing.assert_allclose(answers(learned(sources, moved)), answers(learned(sources, validation)), atol=1e-4)


@pytest.mark.slow
def test_units_of_columns_do_not_matter(features):
    units = np.array([1e3, 1.0, 1e-4])
    scaled = learned([rows * units for rows in family()], features=features)
    plain = learned(family(), features=features)
    assert scaled.settings_ == plain.settings_
    np.testing.assert_allclose(answers(scaled, units=units), answers(plain), atol=1e-4)


@pytest.mark.slow
def test_single_precision_gives_the_same(features):
    single = learned([rows.astype(np.float32) for rows in family()], features=features)
    np.testing.assert_allclose(answers(single), answers(learned(family(), features=features)), atol=1e-3)


@pytest.mark.slow
def test_the_number_of_threads_does_not_matter(features, monkeypatch):
    found = []
    for n_threads in (1, 3):
        monkeypatch.setattr(discriminant, "n_threads", lambda n=n_threads: n)
        found.append(answers(learned(family(), features=features)))
    np.testing.assert_array_equal(*found)


def test_the_given_arrays_are_left_as_they_are(features):
    sources = family()
    kept = [rows.copy() for rows in sources]
    learned(sources, features=features).add_source(sources[0])
    assert all(np.array_equal(a, b) for a, b in zip(sources, kept, strict=True))


# ---------------------------------------------------------------- sources added and removed


@pytest.mark.slow
def test_a_source_removed_was_never_there(model):
    before = answers(model)
    new = family(1, 25, seed=7)[0] + 3
    model.add_source(new)
    assert np.abs(answers(model) - before).max() > 1e-3
    model.remove_source(new[::-1])
    np.testing.assert_allclose(answers(model), before, atol=1e-4)


def test_a_source_added_was_always_there():
    """With the settings fixed and too few sources to calibrate, nothing else depends on the sources."""
    sources = family(3)
    fixed = {"features": "columns", "shrinkage": 0.1, "scale": "none"}
    added = learned(sources[:2], **fixed).add_source(sources[2])
    np.testing.assert_allclose(answers(added), answers(learned(sources, **fixed)), atol=1e-9)


def test_summaries_of_sources_are_sources(model):
    before, new = answers(model), family(2, 25, seed=7)
    both = model.summarise(new[0]) + model.summarise(new[1])
    together = answers(model.add_source(both))
    np.testing.assert_allclose(answers(model.remove_source(both)), before, atol=1e-4)
    one_by_one = answers(model.add_source(new[1]).add_source(new[0]))
    np.testing.assert_allclose(one_by_one, together, atol=1e-4)
    model.remove_source(both)


def test_two_sources_are_kept(features):
    estimator = learned(family(2), features=features)
    assert np.isfinite(answers(estimator)).all()
    with pytest.raises(CollectionError, match="1 source left; at least two"):
        estimator.remove_source(family(2)[0])
    with pytest.raises(CollectionError, match="has 1 dataset"):
        learned(family(1))


# ---------------------------------------------------------------- poor data


@pytest.mark.filterwarnings("ignore:X_.. is far beyond")
@few
@given(n_nu=sizes, n_de=sizes, alpha=alphas, seed=seeds)
def test_ratios_are_within_their_bounds(n_nu, n_de, alpha, seed):
    estimator = _POOR.set_params(alpha=alpha)
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 3)
    estimator.fit(*(scale * rng.normal(size=(n, 3)) for n in (n_nu, n_de)))
    ratio = estimator.predict(scale * rng.normal(size=(30, 3)))
    assert (ratio >= 0).all()
    assert (ratio * alpha <= 1 + 1e-9).all()
    assert len(estimator.ratio_nu_) == n_nu
    assert len(estimator.ratio_de_) == n_de


_POOR = learned(family())


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: np.column_stack([rows, rows]),
        lambda rows: np.column_stack([rows, np.full(len(rows), 0.1)]),
        lambda rows: np.tile(rows, 40),
        lambda rows: np.round(rows),
        lambda rows: 1e6 + rows,
    ],
    ids=["duplicated columns", "constant column", "more columns than rows", "ties", "far from zero"],
)
@pytest.mark.slow
def test_poor_columns_give_what_the_others_do(features, change):
    """The duplicates and constants say nothing new; how far columns are shrunk to each other may differ."""
    sources = family(n_rows=60)
    estimator = learned([change(rows) for rows in sources], features=features)
    rng = np.random.default_rng(0)
    nu, de = rng.normal(1, 1, (5, 3)), rng.normal(-1, 1, (4, 3))
    ratio = estimator.fit(change(nu), change(de)).predict(change(np.array([[1.0, 1, 1], [-1.0, -1, -1]])))
    assert np.isfinite(ratio).all()
    assert ratio[0] > 1.1 > 0.9 > ratio[1]


@pytest.mark.slow
def test_without_a_difference_between_sources_the_ratio_is_one(features):
    rows = family(1)[0]
    estimator = learned([rows] * 8, features=features)
    np.testing.assert_allclose(answers(estimator), 1.0)
    rng = np.random.default_rng(0)
    alike = learned([rng.normal(size=(60, 3)) for _ in range(40)], features=features)
    # Where chance alone makes means differ, little is left of it.
    assert np.abs(answers(alike) - 1).max() < 0.3


def test_constant_sources_give_an_answer(features):
    estimator = learned([np.full((5, 2), value) for value in (0.0, 1.0, 2.0, 5.0)], features=features)
    assert np.isfinite(answers(estimator, 2)).all()


def test_rows_far_beyond_the_sources_are_said():
    estimator = learned(family(12))
    rows = np.random.default_rng(0).normal(size=(6, family(12)[0].shape[1]))
    estimator.fit(rows, rows[:3])
    rows[:3, 1] = 1e4
    with pytest.warns(FewRatioWarning, match="X_nu is far beyond the sources in column 1: 3 of 6 rows"):
        estimator.fit(rows, rows[3:])


@pytest.mark.slow
def test_sources_of_one_or_two_rows_count(features):
    sources = family(12)
    short = [rows[: 1 + number % 2] for number, rows in enumerate(family(6, seed=3))]
    found, wanted = (answers(learned(each, features=features)) for each in (sources + short, sources))
    assert np.corrcoef(found, wanted)[0, 1] > 0.9
    only = learned([rows[:2] for rows in family(40)], features=features)
    assert only.model_.calibration.temperatures == (1.0, 1.0, 1.0)
    assert np.isfinite(answers(only)).all()


@pytest.mark.slow
def test_a_short_source_does_not_spoil_the_choice():
    """The number of rows to measure on is not that of the shortest."""
    long = learned(family(16, 60), features="columns").model_.calibration
    short = learned([*family(16, 60), family(1, 3, seed=5)[0]], features="columns").model_.calibration
    np.testing.assert_allclose(short.temperatures, long.temperatures, atol=0.25)


@pytest.mark.slow
def test_a_few_validation_datasets_choose_nothing():
    sources = family(12)
    np.testing.assert_array_equal(answers(learned(sources, family(3, seed=5))), answers(learned(sources)))


# ---------------------------------------------------------------- answers belong together


@pytest.mark.slow
def test_sifting_out_settings_does_not_change_a_clear_choice(monkeypatch):
    """Means differ in one column and rows scatter far more in the others: cosines of all say little."""
    rng = np.random.default_rng(0)
    datasets = [rng.normal(size=(60, 6)) * [1, 5, 5, 5, 5, 5] + [3 * rng.normal(), 0, 0, 0, 0, 0] for _ in range(12)]
    sifted = learned(datasets, scale="none").settings_
    monkeypatch.setattr(discriminant_choice, "_SIFT_COMPONENTS", 1024)
    assert learned(datasets, scale="none").settings_ == sifted
    assert sifted.n_components == 0


@pytest.mark.slow
def test_what_was_held_out_to_choose_is_not_learned_again(features):
    """All sources took part in the choice, so what it learned with the settings chosen is what learning them gives."""
    estimator = learned(family(), features=features)
    scaling = RankScaling.of(family())
    sources = discriminant_choice.order_sources(family(), [None] * len(family()))
    again = discriminant_choice.learn(sources, [], scaling, [estimator.settings_], 0.5, 0)
    np.testing.assert_allclose(estimator.model_.coordinates.signal, again.model.coordinates.signal, rtol=1e-5)
    np.testing.assert_allclose(estimator.model_.calibration[:-1], again.model.calibration[:-1], rtol=1e-4)
    assert estimator.model_.calibration.temperatures == again.model.calibration.temperatures


def test_samples_of_one_row(model):
    model.fit([[0.0, 0, 0]], [[3.0, 3, 3]])
    assert np.diff(model.predict([[0.0, 0, 0], [3.0, 3, 3]])) < 0
    # A sample without its only row is the prior.
    assert model.ratio_nu_.shape == model.ratio_de_.shape == (1,)


@pytest.mark.parametrize(("n_rows", "n_nu", "n_de"), [(200, 4, 2), (6, 2, 1), (12, 30, 20)])
def test_divergences_are_those_of_fits(model, monkeypatch, n_rows, n_nu, n_de):
    """Of many rows, of few (by products of all of them), of more than there are coordinates."""
    monkeypatch.setattr(discriminant_model, "_COORDINATES_PER_ROW", 1)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    nu, de = (rng.integers(0, n_rows, (7, n)) for n in (n_nu, n_de))
    one_by_one = [model.fit(X[a], X[b]).divergence() for a, b in zip(nu, de, strict=True)]
    np.testing.assert_allclose(model.divergences(X, nu, de), one_by_one, rtol=1e-4, atol=1e-5)
    assert model.divergences(X, nu[:0], de[:0]).shape == (0,)


def test_alpha_may_change_after_pretraining(model):
    rng = np.random.default_rng(0)
    nu, de, X = rng.normal(size=(5, 3)), rng.normal(1, 1, (5, 3)), rng.normal(size=(20, 3))
    changed = clone(model)
    with pytest.raises(NotFittedError):
        changed.fit(nu, de)
    plain = model.set_params(alpha=0.0).fit(nu, de).predict(X)
    relative = model.set_params(alpha=0.3).fit(nu, de).predict(X)
    np.testing.assert_allclose(relative, plain / (0.3 * plain + 0.7), rtol=1e-9)
    model.set_params(alpha=0.5)


# ---------------------------------------------------------------- files, frames, parameters


def test_a_saved_model_gives_bit_identical_answers(model, tmp_path):
    model.save(tmp_path / "model")
    read = DiscriminantRatioEstimator.load(tmp_path / "model")
    np.testing.assert_array_equal(answers(read), answers(model))
    assert read.settings_ == model.settings_
    assert read.get_params() == model.get_params()
    assert (read.n_sources_, read.n_rows_) == (model.summary_.n_sources, model.summary_.n_rows)
    with pytest.raises(NotFittedError, match="read from a file"):
        read.add_source(family(1)[0])


@pytest.mark.parametrize(("n_sources", "is_valid"), [(None, True), (0, False), ("2", False)])
def test_numbers_of_sources_may_be_missing_but_not_wrong(tmp_path, n_sources, is_valid):
    _POOR.save(tmp_path / "model")
    arrays, header = read_tensors(tmp_path / "model", "model")
    write_tensors(tmp_path / "model", "model", arrays, header | {"n_sources": n_sources})
    if is_valid:
        assert DiscriminantRatioEstimator.load(tmp_path / "model").n_sources_ is None
    else:
        with pytest.raises(ModelFileError, match="numbers of sources and rows"):
            DiscriminantRatioEstimator.load(tmp_path / "model")


def test_damaged_files_are_refused(tmp_path):
    _POOR.save(tmp_path / "model")
    whole = bytearray((tmp_path / "model").read_bytes())
    for place in np.linspace(0, len(whole) - 1, 60).astype(int):
        damaged = whole.copy()
        damaged[place] ^= 4
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(ModelFileError):
            DiscriminantRatioEstimator.load(tmp_path / "damaged")


# No source is violet.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:column 'colour' of X has categories:UserWarning")
def test_frames_are_encoded_as_the_sources_were(features, tmp_path):
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(12), 30)
    height = rng.normal(rng.normal(170, 10, 12)[site], 5)
    frame = pd.DataFrame(
        {
            "site": site.astype(str),
            "height": np.where(rng.random(360) < 0.1, np.nan, height),
            "colour": rng.choice(["red", "green", "blue"], 360),
        }
    )
    sources = Collection.from_frame(frame, dataset="site")
    estimator = DiscriminantRatioEstimator(**SMALL, features=features).pretrain(sources)
    nu, de = (pd.DataFrame({"height": [h, h + 2, None], "colour": ["red", "blue", "red"]}) for h in (160.0, 180.0))
    X = pd.DataFrame({"colour": ["red", "violet"], "height": [160.0, 180.0]})
    ratio = estimator.fit(nu, de).predict(X)
    assert ratio[0] > ratio[1]
    estimator.save(tmp_path / "model")
    read = DiscriminantRatioEstimator.load(tmp_path / "model")
    np.testing.assert_array_equal(read.fit(nu, de).predict(X[["height", "colour"]]), ratio)
    assert np.isfinite(estimator.add_source(nu).fit(nu, de).predict(X)).all()


@pytest.mark.parametrize(
    "wrong", [{"features": "rows"}, {"shrinkage": 1.5}, {"width": 0.0}, {"n_components": 0}, {"alpha": 1.0}], ids=str
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        learned(family(4), **wrong)


def test_pretraining_needs_a_collection():
    with pytest.raises(InputError, match="Collection of datasets is needed"):
        DiscriminantRatioEstimator().pretrain(family())
    with pytest.raises(NotFittedError, match="learned nothing yet"):
        DiscriminantRatioEstimator().fit([[0.0]], [[1.0]])


# ---------------------------------------------------------------- on a GPU


@pytest.mark.parametrize("features", ["columns", "cosines"])
def test_features_by_torch_are_those_by_numpy_within_single_precision(features, monkeypatch):
    """A GPU's arithmetic by torch's on the CPU, which is the same but for rounding."""
    sources = gaussian_family(12, n_instances=40, random_state=0).collection
    # With wide cosines of one column, rounding would count.
    estimator = DiscriminantRatioEstimator(features=features, n_components=32, width=0.8).pretrain(sources)
    rows = np.linspace(-2, 2, 60)[:, None]
    expected = estimator.fit(rows[:5], rows[-4:]).predict(rows)
    placed = []
    monkeypatch.setattr(FeatureMap, "_gpu", property(lambda features: placed.append(features) or torch.device("cpu")))
    found = estimator.set_params(device="cuda").predict(rows)
    assert placed
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_a_device_is_not_saved_and_one_that_is_not_there_is_refused(tmp_path):
    sources = gaussian_family(4, n_instances=20, random_state=0).collection
    estimator = DiscriminantRatioEstimator(features="columns", device="auto").pretrain(sources)
    estimator.save(tmp_path / "m.model")
    assert DiscriminantRatioEstimator.load(tmp_path / "m.model").device == "cpu"
    with pytest.raises(ParameterError, match="device is 'cuba'"):
        estimator.set_params(device="cuba").fit([[0.0]], [[1.0]])


@pytest.mark.slow
def test_a_generator_draws_the_seed_that_the_model_keeps(tmp_path):
    one, other = (learned(family(), features="cosines", random_state=np.random.default_rng(3)) for _ in range(2))
    assert one.model_.features.seed == other.model_.features.seed != 0
    one.save(tmp_path / "drawn.model")
    assert DiscriminantRatioEstimator.load(tmp_path / "drawn.model").model_.features.seed == one.model_.features.seed
