"""Outliers from related datasets in closed form."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fewratio import Collection, InlierOutlierDetector, InputError, ModelFileError, ParameterError
from fewratio.core import container as tensorfile
from fewratio.errors import CollectionError
from fewratio.estimators import InlierRatioEstimator, NotFittedError
from fewratio.estimators.closed_form.inlier_ratio import InlierMoments, learn

N_ROWS, N_OUTLIERS, N_COLUMNS = 80, 8, 4
FLAGS = np.arange(N_ROWS) < N_OUTLIERS


def dataset(seed, sign=1.0):
    """Rows whose outliers are no farther from the mean than others: only the sign of one column tells."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    X[:, 2] = np.where(FLAGS, -sign, sign) * np.abs(X[:, 2])
    return X


def collection(datasets, flags=FLAGS, **options):
    return Collection.from_arrays(datasets, outliers=[flags] * len(datasets), **options)


@pytest.fixture(scope="module")
def sources():
    return [dataset(seed) for seed in range(10)]


@pytest.fixture
def estimator(sources):
    return InlierRatioEstimator().pretrain(collection(sources))


def auc(estimator, X, n_normals=5):
    batch, is_outlier = X[:-n_normals], FLAGS[:-n_normals]
    return roc_auc_score(~is_outlier, estimator.fit(X[-n_normals:], batch).ratio_de_)


# ---------------------------------------------------------------- what it learns


def test_the_threshold_of_few_normals_is_one_of_logarithms(estimator):
    # A ratio is never below 0: five that vary as much as these have a plain bound of 0.07.
    X = dataset(107)
    assert 0.2 < InlierOutlierDetector(estimator, random_state=0).fit(X[-5:]).threshold(X[:-5]) < 0.3


@pytest.mark.parametrize("n_normals", [1, 5])
def test_outliers_that_only_the_sources_tell_are_found(estimator, n_normals):
    X = dataset(100)
    assert auc(estimator, X, n_normals) > 0.95
    default = InlierOutlierDetector().fit(X[-n_normals:]).score_samples(X[:-n_normals])
    assert roc_auc_score(~FLAGS[:-n_normals], default) < 0.9


def test_few_known_normals_of_the_sources_suffice(sources):
    # All rows that are not known to be normal are marked.
    known = collection(sources, np.arange(N_ROWS) < N_ROWS // 2)
    assert auc(InlierRatioEstimator().pretrain(known), dataset(100)) > 0.9


def test_the_mean_of_a_dataset_tells_which_direction_matters():
    # Where the first column is low, outliers are below; where it is high, above.
    def of(seed):
        sign = -1.0 if seed % 2 else 1.0
        return dataset(seed, sign) + np.array([2 * sign, 0, 0, 0])

    estimator = InlierRatioEstimator().pretrain(collection([of(seed) for seed in range(20)]))
    assert estimator.model_.features.context > 0
    assert min(auc(estimator, of(seed)) for seed in (100, 101)) > 0.95


def test_without_a_common_cause_the_mean_is_left_out():
    estimator = InlierRatioEstimator().pretrain(collection([dataset(seed) for seed in range(4)]))
    assert estimator.model_.features.context == 0


def test_the_ratio_is_that_of_eq_5_with_every_dataset_counted_alike(sources):
    datasets = [(sources[0], ~FLAGS), (np.tile(sources[1], (3, 1)), np.tile(~FLAGS, 3)), (sources[1], ~FLAGS)]
    model = learn(datasets, 0.5, 20, 0)
    by_hand = [InlierMoments.of(each, model.features) for each in datasets]
    # Copies of rows change no mean over a dataset.
    np.testing.assert_allclose(by_hand[1].squares_de, by_hand[2].squares_de)
    K = np.mean([each.K(0.3) for each in by_hand], axis=0)
    k = np.mean([each.mean_nu for each in by_hand], axis=0)
    np.testing.assert_allclose((K + model.reg * np.eye(len(K))) @ model.weights(0.3), k, atol=1e-9)


def test_alpha_may_be_changed_after_learning(estimator):
    X = dataset(100)
    for alpha in (0.0, 0.2, 0.8):
        estimator.set_params(alpha=alpha).fit(X[-5:], X[:-5])
        means = estimator.ratio_nu_.mean(), estimator.ratio_de_.mean()
        # Up to what the bound 1 / alpha takes off.
        assert alpha * means[0] + (1 - alpha) * means[1] == pytest.approx(1, abs=0.05)
        assert auc(estimator, X) > 0.95


# ---------------------------------------------------------------- what must not matter


def test_neither_the_order_of_sources_nor_of_their_rows_matters(sources, estimator):
    rng = np.random.default_rng(0)
    orders = [rng.permutation(N_ROWS) for _ in sources]
    moved = Collection.from_arrays(
        [X[order] for X, order in zip(sources, orders, strict=True)][::-1],
        outliers=[FLAGS[order] for order in orders][::-1],
    )
    other, X = InlierRatioEstimator().pretrain(moved), dataset(100)
    np.testing.assert_allclose(other.fit(X[-5:], X[:-5]).ratio_de_, estimator.fit(X[-5:], X[:-5]).ratio_de_, rtol=1e-6)


def test_units_of_the_columns_do_not_matter(sources, estimator):
    factors, X = np.array([1e6, 1e-6, 3.0, 1.0]), dataset(100)
    other = InlierRatioEstimator().pretrain(collection([factors * source + 5 for source in sources]))
    expected = estimator.fit(X[-5:], X[:-5]).ratio_de_
    moved = factors * X + 5
    np.testing.assert_allclose(other.fit(moved[-5:], moved[:-5]).ratio_de_, expected, rtol=1e-4)


def test_constant_columns_are_no_trouble(sources):
    constant = [np.column_stack([X, np.full(N_ROWS, 0.1)]) for X in sources]
    estimator = InlierRatioEstimator().pretrain(collection(constant))
    assert auc(estimator, np.column_stack([dataset(100), np.full(N_ROWS, 0.1)])) > 0.95
    # One that the sources never had moves all rows alike.
    assert auc(estimator, np.column_stack([dataset(100), np.full(N_ROWS, 7.0)])) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [150, 300])
def test_more_columns_than_rows_are_taken(n_columns):
    rng = np.random.default_rng(0)
    wide = [rng.normal(size=(N_ROWS, n_columns)) + 2 * FLAGS[:, None] * (np.arange(n_columns) < 50) for _ in range(6)]
    assert auc(InlierRatioEstimator().pretrain(collection(wide[:5])), wide[5]) > 0.9


def test_blocks_of_rows_give_the_same_moments(sources, estimator, monkeypatch):
    features = estimator.model_.features
    expected = InlierMoments.of((sources[0], ~FLAGS), features)
    monkeypatch.setattr("fewratio.core.blocks.BLOCK_VALUES", 7 * features.n_outputs)
    for found, known in zip(InlierMoments.of((sources[0], ~FLAGS), features), expected, strict=True):
        np.testing.assert_allclose(found, known, atol=1e-12)


def test_marked_rows_count_as_much_as_all_together(sources, estimator):
    features = estimator.model_.features
    phi = features(sources[0], features.dataset(sources[0]))
    expected = sum(rows.T @ rows / len(rows) for rows in (phi, phi[FLAGS])) / 2
    np.testing.assert_allclose(InlierMoments.of((sources[0], ~FLAGS), features).squares_de, expected, rtol=1e-9)


def test_one_source_is_enough_to_run(sources):
    assert auc(InlierRatioEstimator().pretrain(collection(sources[:1])), dataset(100)) > 0.8


def test_a_row_far_from_all_sources_is_the_most_anomalous(estimator):
    X = dataset(100)[-30:]
    far = X[:3] + 1e3 * np.eye(N_COLUMNS)[:3]
    ratio = estimator.fit(X[-5:], np.concatenate([X[:-5], far])).ratio_de_
    assert ratio[-3:].max() < ratio[:-3].min()


# ---------------------------------------------------------------- in use


def test_the_detector_takes_it(estimator):
    X = dataset(100)
    detector = InlierOutlierDetector(estimator, contamination=0.1).fit(X[-5:])
    assert estimator.has_sources
    assert estimator.finds_outliers
    assert (detector.predict(X[:-5])[:N_OUTLIERS] == -1).sum() >= N_OUTLIERS - 2


def test_named_columns_come_in_any_order(sources):
    pd = pytest.importorskip("pandas")
    names = list("abcd")
    frames = [pd.DataFrame(X, columns=names) for X in sources]
    estimator, X = InlierRatioEstimator().pretrain(collection(frames)), pd.DataFrame(dataset(100), columns=names)
    expected = estimator.fit(X[-5:], X[:-5]).predict(X)
    np.testing.assert_allclose(estimator.fit(X[-5:], X[:-5]).predict(X[names[::-1]]), expected)


def test_bad_sources_are_refused(sources):
    estimator = InlierRatioEstimator()
    with pytest.raises(NotFittedError, match="learned nothing"):
        estimator.fit(sources[0], sources[1])
    with pytest.raises(NotFittedError, match="no trained model"):
        estimator.save("model")
    assert not estimator.finds_outliers
    with pytest.raises(InputError, match="a Collection of datasets is needed"):
        estimator.pretrain(sources)
    with pytest.raises(CollectionError, match="'0' does not say which rows are outliers"):
        estimator.pretrain(Collection.from_arrays(sources))
    with pytest.raises(CollectionError, match="'0' has 80 rows, all marked"):
        estimator.pretrain(collection(sources, np.ones(N_ROWS, dtype=bool)))
    with pytest.raises(CollectionError, match="no row that is marked"):
        estimator.pretrain(collection(sources, np.zeros(N_ROWS, dtype=bool)))
    with pytest.raises(ParameterError, match="n_components"):
        InlierRatioEstimator(n_components=0).pretrain(collection(sources))


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("names", [None, list("abcd")])
def test_a_file_brings_the_same_answers_back(sources, tmp_path, names):
    pd = pytest.importorskip("pandas")
    tables = sources if names is None else [pd.DataFrame(X, columns=names) for X in sources]
    saved, X = InlierRatioEstimator(0.3, n_components=30, random_state=4).pretrain(collection(tables)), dataset(100)
    saved.save(tmp_path / "model")
    loaded = InlierRatioEstimator.load(tmp_path / "model")
    assert loaded.get_params() == saved.get_params()
    assert (
        (loaded.n_sources_, loaded.n_rows_)
        == (saved.n_sources_, saved.n_rows_)
        == (len(sources), sum(map(len, sources)))
    )
    assert getattr(loaded, "feature_names_in_", None) is None or loaded.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(loaded.fit(X[-5:], X[:-5]).predict(X), saved.fit(X[-5:], X[:-5]).predict(X))


def test_settings_that_were_changed_since_are_not_written(estimator, tmp_path):
    estimator.set_params(n_components=7).save(tmp_path / "model")
    assert InlierRatioEstimator.load(tmp_path / "model").n_components == 200


@pytest.mark.parametrize(
    "edit",
    [
        lambda header, arrays: header.update(estimator="MetaRatioEstimator"),
        lambda header, arrays: header["parameters"].update(n_components=150),
        lambda header, arrays: header["parameters"].update(alpha=2.0),
        lambda header, arrays: header.update(n_features=3),
        lambda header, arrays: header.update(n_features="4"),
        lambda header, arrays: header.update(feature_names=["a", "a", "b", "c"]),
        lambda header, arrays: header.update(context="a"),
        lambda header, arrays: header.pop("reg"),
        lambda header, arrays: arrays.pop("low"),
        lambda header, arrays: arrays.update(within=arrays["within"][:2]),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(estimator, tmp_path, edit):
    path = tmp_path / "model"
    estimator.save(path)
    arrays, header = tensorfile.read_tensors(path, "model")
    edit(header, arrays)
    tensorfile.write_tensors(path, "model", arrays, header)
    with pytest.raises(ModelFileError, match="does not fit together"):
        InlierRatioEstimator.load(path)
