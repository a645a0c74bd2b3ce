"""`AutoRatioEstimator` with related datasets: how much they count, and that what was learned is kept."""

from copy import copy
from itertools import pairwise

import numpy as np
import pytest

from fewratio import (
    AutoRatioEstimator,
    ClassifierRatio,
    Collection,
    DiscriminantRatioEstimator,
    InputError,
    ModelFileError,
    ParameterError,
    compare_all,
    load_model,
)
from fewratio.core.container import read_tensors, write_tensors
from fewratio.estimators import NotFittedError, SourceMap, relative_squared_error
from fewratio.estimators.certainty import SIZES
from fewratio.estimators.closed_form import discriminant
from fewratio.estimators.closed_form.discriminant import learn_together
from fewratio.estimators.closed_form.source_prior import LEARNED
from fewratio.estimators.mixtures import source_shares
from fewratio.estimators.mixtures.source_shares import measure_mixture, measure_sources


def family(n_datasets, seed=0, n_rows=40, n_columns=4, spread=3.0):
    """Datasets whose means differ along one column only, out of several."""
    rng = np.random.default_rng(seed)
    means = np.zeros((n_datasets, 1, n_columns))
    means[:, 0, 0] = rng.normal(0, spread, n_datasets)
    return Collection.from_arrays(list(rng.normal(means, 1, (n_datasets, n_rows, n_columns))))


@pytest.fixture(scope="module")
def model():
    return AutoRatioEstimator(random_state=0).pretrain(family(24))


@pytest.mark.slow
def test_what_sources_say_counts_and_helps(model):
    alone, learned, given = AutoRatioEstimator(random_state=0), [], []
    targets = [dataset.X for dataset in family(8, seed=1)]
    for first, second in pairwise(targets):
        for estimator, losses in ((model, learned), (alone, given)):
            estimator.fit(first[:2], second[:2])
            losses.append(relative_squared_error(estimator.predict(first[2:]), estimator.predict(second[2:])))
    assert model.learned_shares_[0] > 0.5
    assert np.mean(learned) < np.mean(given) - 0.05


@pytest.mark.slow
def test_the_ratio_is_the_mean_of_its_parts(model):
    nu, de = (dataset.X[:5] for dataset in family(2, seed=2))
    model.fit(nu, de)
    assert [each.features for each in model.learned_] == 2 * ["columns", "cosines"]
    assert model.members_[0].has_sources
    # Each share is rounded to six digits.
    assert sum(model.shares_) == pytest.approx(1, abs=5e-6)
    scaling = model.learned_[0].model_.features.scaling
    expected = np.zeros(len(nu))
    for share, part in zip(model.shares_, model.members_, strict=True):
        is_scaled = not part.has_sources and not isinstance(part, ClassifierRatio)
        expected += share * (part.predict(scaling(nu)) if is_scaled else part.fit(nu, de).predict(nu))
    np.testing.assert_allclose(model.predict(nu), expected, rtol=1e-6)


@pytest.mark.slow
def test_many_rows_need_no_sources(model):
    rng = np.random.default_rng(0)
    shares = []
    for n_rows in (50, 100, 390, 400):
        model.fit(rng.normal(size=(n_rows, 4)), rng.normal(1, 1, (n_rows, 4)))
        parts = zip(model.members_, model.shares_, strict=True)
        shares.append(sum(share for part, share in parts if isinstance(part, DiscriminantRatioEstimator)))
    assert shares == sorted(shares, reverse=True)
    assert shares[-2] < 0.02
    assert shares[-1] == 0


@pytest.mark.parametrize("n_datasets", [2, 3])
def test_where_nothing_can_be_held_out_larger_samples_rely_less_on_sources(n_datasets):
    shares = AutoRatioEstimator().pretrain(family(n_datasets)).learned_shares_
    assert 1 > shares[0] > shares[1] > shares[2] > 0


def test_summaries_are_for_another_estimator():
    source_map = SourceMap.from_table([[-3.0], [0.0], [3.0]], n_components=0)
    summaries = [source_map.summarise([[0.0], [value]]) for value in (1.0, 2.0)]
    with pytest.raises(InputError, match="give summaries to DiscriminantRatioEstimator"):
        AutoRatioEstimator().pretrain(summaries)


@pytest.mark.slow
@pytest.mark.parametrize("n_datasets", [4, 5, 9])
def test_shares_are_shares(n_datasets):
    model = AutoRatioEstimator().pretrain(family(n_datasets, n_rows=12))
    assert all(0 <= share <= 1 for share in model.learned_shares_)


@pytest.mark.slow
def test_short_sources_do_not_take_the_share_of_larger_samples_away():
    model = AutoRatioEstimator().pretrain(family(24, n_rows=16))
    assert model.learned_shares_[2] > 0.1


@pytest.mark.slow
def test_the_order_of_sources_and_rows_does_not_matter():
    sources, rng = family(12), np.random.default_rng(0)
    shuffled = [sources[int(number)].X for number in rng.permutation(12)]
    other = Collection.from_arrays([rng.permutation(rows) for rows in shuffled])
    nu, de = (dataset.X[:4] for dataset in family(2, seed=3))
    found = [AutoRatioEstimator(random_state=0).pretrain(each).fit(nu, de).predict(de) for each in (sources, other)]
    np.testing.assert_allclose(*found, rtol=1e-4)


@pytest.mark.slow
def test_alpha_may_change_after_pretraining(model):
    nu, de = (dataset.X[:5] for dataset in family(2, seed=2))
    for alpha in (0.0, 0.2, 0.9):
        model.set_params(alpha=alpha)
        found = model.fit(nu, de).predict(np.concatenate([nu, de]))
        assert np.isfinite(found).all()
        assert alpha == 0 or found.max() <= 1 / alpha + 1e-9
    model.set_params(alpha=0.5)


@pytest.mark.slow
def test_a_saved_model_gives_the_same_answers(model, tmp_path):
    nu, de = (dataset.X[:5] for dataset in family(2, seed=4))
    model.save(tmp_path / "m.model")
    for again in (AutoRatioEstimator.load(tmp_path / "m.model"), load_model(tmp_path / "m.model")):
        np.testing.assert_array_equal(again.fit(nu, de).predict(nu), model.fit(nu, de).predict(nu))
        assert again.learned_shares_ == model.learned_shares_
    with pytest.raises(ModelFileError, match="holds a AutoRatioEstimator"):
        DiscriminantRatioEstimator.load(tmp_path / "m.model")


@pytest.mark.slow
def test_a_seed_of_numpy_is_saved_as_a_number(model, tmp_path):
    copied = copy(model).set_params(random_state=np.int64(7))
    copied.save(tmp_path / "m.model")
    assert load_model(tmp_path / "m.model").random_state == 7


@pytest.mark.slow
def test_files_that_do_not_fit_together_are_refused(model, tmp_path):
    model.save(tmp_path / "m.model")
    arrays, header = read_tensors(tmp_path / "m.model", "model")
    first, *others = header["losses"]
    n_pairs, products, means = first
    changed = [
        [0.0, products, means],
        [n_pairs, products[1:], means],
        [n_pairs, products, means[1:]],
        [n_pairs, [[-value for value in row] for row in products], means],
        [n_pairs, products],
    ]
    wrongs = [{"losses": [each, *others]} for each in changed] + [{"losses": others}, {"losses": []}]
    wrongs += [{"names": header["names"][1:]}, {"names": header["names"][::-1]}]
    for wrong in [*wrongs, {"learned": {}}, {"learned": header["learned"][:1] * 2}, {"parameters": {"alpha": 7}}]:
        write_tensors(tmp_path / "wrong.model", "model", arrays, header | wrong)
        with pytest.raises((ModelFileError, ParameterError)):
            AutoRatioEstimator.load(tmp_path / "wrong.model")
    write_tensors(tmp_path / "wrong.model", "model", arrays, header | {"estimator": "Another"})
    with pytest.raises(ModelFileError, match="holds a Another, which this fewratio does not know"):
        load_model(tmp_path / "wrong.model")


def test_without_sources_there_is_nothing_to_save(tmp_path):
    with pytest.raises(NotFittedError, match="no trained model"):
        AutoRatioEstimator().save(tmp_path / "m.model")


@pytest.mark.slow
def test_shares_follow_what_helps(model):
    """Beside the truth what was learned counts for nothing, and beside nonsense for all, but for the standard error."""
    found = learn_together(
        [DiscriminantRatioEstimator(features=kind) for kind in ("columns", "cosines")], family(24), None
    )
    folds = [((mine, model), rows) for (mine, _), (model, rows) in zip(*(each.folds for each in found), strict=True)]

    def nonsense(nu, de, rows):
        # As wrong as can be: zero where rows are the numerator's.
        return np.tile(np.repeat([0.0, 2.0], rows.shape[1] // 2), (len(rows), 1))

    losses, _ = measure_sources(LEARNED[:2], folds, {"network": nonsense}, 0.5, 24)
    assert len(losses) == len(SIZES)
    for loss in losses:
        np.testing.assert_allclose(loss.best_shares()[:2].sum(), 1, atol=1e-5)

    def right(nu, de, rows):
        # Means differ in the first column only.
        n = rows.shape[1] // 2
        centres = rows[:, :n, 0].mean(1), rows[:, n:, 0].mean(1)
        log_ratio = [np.square(rows[..., 0] - centre[:, None]) / 2 for centre in centres]
        return 1 / (0.5 + 0.5 * np.exp(np.clip(log_ratio[0] - log_ratio[1], -30, 30)))

    # What other collections say still counts a little.
    measured, assumed = (measure_sources(LEARNED[:2], some, {"network": right}, 0.5, 24)[0][0] for some in (folds, []))
    assert measured.best_shares()[2] > assumed.best_shares()[2] + 0.2


@pytest.mark.slow
def test_units_count_by_what_held_out_sources_say(model):
    """One unit for all columns counts where values are normal, and hardly where a few are thousands of times others."""
    wild = Collection.from_arrays([np.exp(4 * dataset.X) for dataset in family(24)])
    learned = AutoRatioEstimator(random_state=0).pretrain(wild)
    of_wild, of_normal = ([loss.best_shares()[2:4].sum() for loss in each._losses] for each in (learned, model))
    assert max(of_wild) < 0.3
    assert all(normal > 2 * wild for normal, wild in zip(of_normal, of_wild, strict=True))


@pytest.mark.slow
def test_many_pairs_are_compared_by_what_was_learned(model, monkeypatch):
    samples = [np.random.default_rng(seed).normal(seed % 2, 1, (5, model.n_features_in_)) for seed in range(4)]
    learned = max(zip(model._shares, model.learned_, strict=True), key=lambda each: each[0])[1]
    expected = compare_all(samples, estimator=learned, n_permutations=199, random_state=0)
    monkeypatch.setattr(ClassifierRatio, "_fit", None)
    found = compare_all(samples, estimator=model, n_permutations=199, random_state=0)
    np.testing.assert_array_equal(found.divergences, expected.divergences)
    np.testing.assert_array_equal(found.p_values, expected.p_values)


def test_the_number_of_threads_does_not_matter(monkeypatch):
    found = []
    for n_threads in (1, 3):
        for module in (discriminant, source_shares):
            monkeypatch.setattr(module, "n_threads", lambda n=n_threads: n)
        found.append(AutoRatioEstimator(random_state=0).pretrain(family(8))._payload())
    (arrays, header), (again, other) = found
    assert header == other
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)


def test_models_that_learn_together_are_those_that_learn_alone():
    kinds = [("columns", "ranks"), ("cosines", "none"), ("columns", "none")]
    together = [DiscriminantRatioEstimator(features=features, scale=scale) for features, scale in kinds]
    learn_together(together, family(8), None)
    for each in together:
        alone = DiscriminantRatioEstimator(features=each.features, scale=each.scale).pretrain(family(8))
        np.testing.assert_array_equal(each.model_.coordinates.axes, alone.model_.coordinates.axes)


def test_a_short_dataset_does_not_limit_the_query_rows_of_others():
    rng, sizes = np.random.default_rng(0), []

    def count(nu, de, rows):
        sizes.append(rows.shape[1] // 2)
        return np.ones(rows.shape[:2])

    measure_mixture([([], [rng.normal(size=(n, 2)) for n in (*[60] * 9, 11)])], [count], 0.5, 10, 6)
    assert sizes == [24, 24]
