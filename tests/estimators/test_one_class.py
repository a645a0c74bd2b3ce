"""One-class estimators: what they learn from which rows, alone and many at once."""

from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone

from fewratio import Collection
from fewratio.errors import CollectionError, InputError, ParameterError, TrainingError
from fewratio.estimators import NotFittedError, OneClassEstimator, errors_by_stage, pretrain_one_class

SMALL = dict(
    latent_dim=2,
    width=16,
    n_steps=20,
    max_steps=40,
    validate_every=10,
    learning_rate=0.01,
    device="cpu",
    random_state=0,
)
BOTH = ["autoencoder", "deep svdd"]
THEN = "sources then target"


@pytest.fixture(params=BOTH)
def make(request):
    """Make a small estimator of either kind."""
    return lambda **changes: OneClassEstimator(**({"network": request.param} | SMALL | changes))


def ring(rng, n, centre=(0.0, 0.0, 0.0)):
    """Rows near a circle in a plane."""
    angle = rng.uniform(0, 2 * np.pi, n)
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.ones(n)])
    return circle + np.asarray(centre) + rng.normal(0, 0.05, (n, 3))


def ring_collection(n_datasets=8, seed=0, n_outliers=4):
    """Rings with a shift of their own, and flagged outliers far above them."""
    rng = np.random.default_rng(seed)
    arrays = []
    for _ in range(n_datasets):
        X = ring(rng, 30, rng.normal(0, 0.1, 3))
        X[:n_outliers, 2] += 50
        arrays.append(X)
    return Collection.from_arrays(arrays, outliers=[np.arange(30) < n_outliers] * n_datasets)


@pytest.fixture(scope="module")
def sources():
    return ring_collection()


@pytest.fixture(scope="module")
def target():
    rng = np.random.default_rng(5)
    return ring(rng, 6), ring(rng, 40)


# ---------------------------------------------------------------- learning


@pytest.mark.parametrize("train_on", ["target", "sources", THEN])
@pytest.mark.parametrize("standardise", [False, True])
def test_normal_rows_have_smaller_errors_than_far_ones(make, sources, target, train_on, standardise):
    estimator = make(train_on=train_on, latent_dim=8, n_steps=60, max_steps=60, standardise=standardise)
    if train_on != "target":
        estimator.pretrain(sources)
    support, query = target
    errors = estimator.fit(support).errors(np.concatenate([query, query + np.array([4.0, 4.0, -6.0])]))
    assert errors.shape == (80,)
    assert errors.dtype == np.float64
    assert np.mean(errors[:40, None] < errors[None, 40:]) > 0.97


def test_more_steps_lower_the_errors_of_what_is_learned_from(make, target):
    support, _ = target
    means = [make(n_steps=n_steps).fit(support).errors(support).mean() for n_steps in (0, 20, 200)]
    assert means[0] > means[1] > means[2]


def test_known_outliers_of_the_sources_are_not_learned_from(make, sources):
    without = Collection.from_arrays([dataset.X[~dataset.is_outlier] for dataset in sources])
    X = sources[0].X
    settings = dict(train_on="sources", standardise=True)
    np.testing.assert_array_equal(
        make(**settings).pretrain(sources, sources).errors(X), make(**settings).pretrain(without, without).errors(X)
    )
    flagless = Collection.from_arrays([dataset.X for dataset in sources])
    with_outliers = make(**settings).pretrain(flagless, sources)
    assert with_outliers.source_model_.scaler.scale[2] > 10


def test_early_stopping_looks_at_the_normals_of_the_validation_datasets(make, sources):
    estimator = make(train_on="sources").pretrain(sources, ring_collection(3, seed=9))
    history = estimator.history_
    assert history.step == [10, 20, 30, 40]
    assert history.best_validation == min(history.validation)
    normals = np.concatenate([dataset.X[~dataset.is_outlier] for dataset in ring_collection(3, seed=9)])
    # The mean over ten blocks whose sizes differ by one.
    assert estimator.errors(normals).mean() == pytest.approx(history.best_validation, rel=0.1)
    assert 0 < history.best_standard_error < history.best_validation
    hurried = make(train_on="sources", max_steps=400, patience=1, learning_rate=0.3).pretrain(sources)
    assert hurried.history_.stopped == "patience"


# ---------------------------------------------------------------- sources, target, both


def test_no_steps_after_the_sources_is_the_sources_alone(make, sources, target):
    support, query = target
    estimator = make(train_on="sources").pretrain(sources)
    before = estimator.errors(query)
    np.testing.assert_array_equal(estimator.fit(support).errors(query), before)
    # What is done with targets may change without learning from the sources again.
    np.testing.assert_array_equal(estimator.set_params(train_on=THEN, n_steps=0).fit(support).errors(query), before)
    after = estimator.set_params(n_steps=5).fit(support).errors(query)
    assert np.abs(after - before).max() > 1e-4
    np.testing.assert_array_equal(estimator.set_params(train_on="sources").fit(support).errors(query), before)


def test_the_centre_of_the_sources_is_kept_on_targets(sources, target):
    settings = dict(SMALL, network="deep svdd", train_on=THEN, n_steps=10)
    estimator = OneClassEstimator(**settings).pretrain(sources)
    centre = estimator.source_model_.centre.clone()
    weights = deepcopy(estimator.source_model_.state_dict())
    assert torch.equal(estimator.fit(target[0]).model_.centre, centre)
    for name, tensor in estimator.source_model_.state_dict().items():
        assert torch.equal(tensor, weights[name])
    moved = Collection.from_arrays([dataset.X + 20 for dataset in sources])
    assert not torch.equal(estimator.pretrain(moved).source_model_.centre, centre)


def test_the_statistics_of_the_sources_are_kept_on_targets(make, sources, target):
    estimator = make(train_on=THEN, standardise=True).pretrain(sources, sources)
    normals = np.concatenate([dataset.X[~dataset.is_outlier] for dataset in sources])
    fitted = estimator.fit(target[0] + 1).model_
    np.testing.assert_allclose(fitted.scaler.mean, normals.mean(0))
    alone = make(standardise=True).fit(target[0] + 1).model_
    np.testing.assert_allclose(alone.scaler.mean, target[0].mean(0) + 1)


# ---------------------------------------------------------------- many at once


def test_estimators_pretrained_together_are_those_pretrained_alone(make):
    collections = [ring_collection(n, seed=n, n_outliers=n) for n in (7, 8, 9)]
    validations = [None, ring_collection(2, seed=1), ring_collection(3, seed=2)]
    estimators = [make(train_on="sources", standardise=True, random_state=seed) for seed in range(3)]
    pretrain_one_class(estimators, collections, validations)
    for seed in range(3):
        alone = make(train_on="sources", standardise=True, random_state=seed)
        alone.pretrain(collections[seed], validations[seed])
        # float32; the batched products add in another order.
        np.testing.assert_allclose(estimators[seed].history_.validation, alone.history_.validation, rtol=1e-3)
        X = collections[0][0].X
        np.testing.assert_allclose(estimators[seed].errors(X), alone.errors(X), rtol=0.01, atol=1e-3)


def test_stages_of_many_are_fits_of_one_each(make, sources):
    rng = np.random.default_rng(0)
    sizes = [1, 4, 6]
    supports, queries = [ring(rng, n) for n in sizes], np.stack([ring(rng, 5) for _ in sizes])
    padded = np.full((3, 6, 3), 7.0)
    for row, support in zip(padded, supports, strict=True):
        row[: len(support)] = support
    real = torch.arange(6) < torch.tensor(sizes).unsqueeze(-1)

    fresh = [make(random_state=seed).new_model(support) for seed, support in enumerate(supports)]
    pretrained = [make(train_on=THEN, random_state=seed).pretrain(sources) for seed in range(3)]
    for models, train_on in ((fresh, "target"), ([each.source_model_ for each in pretrained], THEN)):
        start = deepcopy([model.state_dict() for model in models])
        stages = errors_by_stage(models, torch.tensor(padded), torch.tensor(queries), [0, 1, 7], 0.01, real)
        for stage, errors in stages:
            assert errors.shape == (3, 5)
            assert not errors.requires_grad
            assert torch.is_grad_enabled()
            for seed, support in enumerate(supports):
                estimator = pretrained[seed] if train_on == THEN else make(random_state=seed)
                alone = estimator.set_params(train_on=train_on, n_steps=stage).fit(support).errors(queries[seed])
                np.testing.assert_allclose(errors[seed], alone, rtol=0.01, atol=1e-4)
        for before, model in zip(start, models, strict=True):
            assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("n_members", [1, 2])
def test_one_model_may_start_several_members(make, target, n_members):
    support, query = (torch.tensor(part).expand(n_members, -1, -1) for part in target)
    model = make().new_model(target[0])
    ((_, errors),) = errors_by_stage([model] * n_members, support, query, [3], 0.01)
    expected = make(n_steps=3).fit(target[0]).errors(target[1])
    np.testing.assert_allclose(errors, np.broadcast_to(expected, errors.shape), rtol=0.01, atol=1e-4)


def test_every_model_needs_its_rows(make, target):
    rows = torch.tensor(target[0]).expand(2, -1, -1)
    with pytest.raises(ParameterError, match="Got 1 models, 2 supports and 2 queries"):
        next(errors_by_stage([make().new_model(target[0])], rows, rows, [1]))


def test_only_some_settings_may_differ_together(make, sources):
    pair = [make(train_on="sources"), make(train_on=THEN, n_steps=3, random_state=4)]
    pretrain_one_class(pair, [sources] * 2, [None] * 2)
    with pytest.raises(ParameterError, match="only 'random_state', 'train_on', 'n_steps' may differ"):
        pretrain_one_class([make(train_on=THEN), make(train_on=THEN, width=8)], [sources] * 2, [None] * 2)
    with pytest.raises(ParameterError, match="equal lengths"):
        pretrain_one_class(pair, [sources], [None])


# ---------------------------------------------------------------- manners


def test_same_seed_same_answer_and_a_refit_is_a_fresh_fit(make, sources, target):
    support, query = target
    first = make(train_on=THEN).pretrain(sources).fit(support[:2]).fit(support).errors(query)
    state = torch.get_rng_state()
    second = make(train_on=THEN).pretrain(sources).fit(support).errors(query)
    np.testing.assert_array_equal(first, second)
    assert torch.equal(torch.get_rng_state(), state)
    other = make(train_on=THEN, random_state=1).pretrain(sources).fit(support).errors(query)
    assert np.abs(first - other).max() > 1e-4


def test_parameters_go_round_and_stay_as_they_are(make, sources, target):
    estimator = make(train_on=THEN)
    before = estimator.get_params()
    copy = clone(estimator.pretrain(sources).fit(target[0]))
    assert estimator.get_params() == copy.get_params() == before
    with pytest.raises(NotFittedError):
        copy.errors(target[1])


def test_inputs_are_untouched(make, target):
    support, query = (part.copy() for part in target)
    make(standardise=True).fit(support).errors(query)
    np.testing.assert_array_equal(support, target[0])
    np.testing.assert_array_equal(query, target[1])


def test_row_order_does_not_matter(make, target):
    support, query = target
    one, other = (make(n_steps=10).fit(rows).errors(query) for rows in (support, support[::-1]))
    np.testing.assert_allclose(one, other, rtol=0.01, atol=1e-4)  # float32: sums in another order


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("rows", [[[0.5, 2.0]], [[0.0, 0.0]], [[1.0, 3.0]] * 4, [[1.0, 3.0], [2.0, 3.0]]])
def test_one_row_equal_rows_and_constant_columns_work(make, rows, standardise):
    errors = make(standardise=standardise).fit(rows).errors([[0.0, 0.0], [1.0, 3.0], [9.0, -9.0]])
    assert np.isfinite(errors).all()
    assert len(np.unique(errors)) > 1


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas, lambda frame: torch.tensor(frame.to_numpy())])
def test_every_kind_of_table_gives_the_same_numbers(make, target, convert):
    frames = [convert(pd.DataFrame(part, columns=list("abc"))) for part in target]
    estimator = make().fit(frames[0])
    np.testing.assert_array_equal(estimator.errors(frames[1]), make().fit(target[0]).errors(target[1]))


def test_features_are_remembered(make, target, sources):
    frame = pd.DataFrame(target[0], columns=list("abc"))
    estimator = make().fit(frame)
    assert estimator.feature_names_in_.tolist() == ["a", "b", "c"]
    assert estimator.n_features_in_ == 3
    with pytest.raises(InputError, match="X has other column names than the fitted sample"):
        estimator.errors(frame.rename(columns={"a": "z"}))
    named = Collection.from_arrays([pd.DataFrame(dataset.X, columns=list("abc")) for dataset in sources])
    estimator = make(train_on=THEN).pretrain(named)
    assert estimator.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(InputError, match="X_normal has other column names than the source collection"):
        estimator.fit(frame.rename(columns={"a": "z"}))
    with pytest.raises(InputError, match="X_normal has 2 features but the source collection has 3"):
        estimator.fit(target[0][:, :2])
    # Without the sources, other features are welcome.
    assert estimator.set_params(train_on="target").fit(target[0][:, :2]).errors([[1.0, 2.0]]).shape == (1,)


def test_the_sources_encoding_is_applied_to_targets(make):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"site": list("abcdef") * 8, "size": rng.normal(size=48), "sort": list("xy") * 24})
    sources = Collection.from_frame(frame, dataset="site", categorical="onehot")
    rows = frame.drop(columns="site")[:5]
    estimator = make(train_on=THEN).pretrain(sources).fit(rows)
    encoded = np.column_stack([rows["size"], rows["sort"] == "x", rows["sort"] == "y"])
    np.testing.assert_allclose(estimator.errors(rows), estimator.errors(encoded))


def test_standardised_units_do_not_matter(make, target):
    support, query = target
    scale, shift = np.array([1000.0, 1e-3, 1.0]), np.array([0.0, 5.0, 1e6])
    plain = make(standardise=True).fit(support).errors(query)
    other = make(standardise=True).fit(support * scale + shift).errors(query * scale + shift)
    np.testing.assert_allclose(other, plain, rtol=0.01)


# ---------------------------------------------------------------- what is refused


def test_order_of_calls(make, sources, target):
    with pytest.raises(NotFittedError, match=r"fit\(X_normal\)"):
        make().errors(target[0])
    with pytest.raises(NotFittedError, match=r"pretrain\(collection\)"):
        make(train_on=THEN).fit(target[0])
    with pytest.raises(ParameterError, match='train_on is "target"'):
        make().pretrain(sources)
    estimator = make(train_on=THEN).pretrain(sources).fit(target[0]).pretrain(sources)
    with pytest.raises(NotFittedError, match=r"fit\(X_normal\)"):
        estimator.errors(target[0])
    with pytest.raises(ParameterError, match=r"width is 8, but the model was learned with 16"):
        estimator.set_params(width=8).fit(target[0])


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        *[("network", "svm"), ("latent_dim", 0), ("width", 0), ("depth", 0), ("train_on", "both"), ("n_steps", -1)],
        *[("max_steps", 0), ("batch_size", 0), ("learning_rate", 0), ("validate_every", 0), ("patience", 0)],
        *[("standardise", "yes"), ("device", 1), ("device", "abacus"), ("progress", "yes"), ("random_state", -1)],
    ],
)
def test_a_parameter_out_of_range_is_named(parameter, value):
    with pytest.raises(ParameterError, match=parameter):
        OneClassEstimator(**(SMALL | {parameter: value})).fit([[1.0]])


def test_bad_rows_are_named(make, target):
    with pytest.raises(InputError, match="X_normal has 1 NaN"):
        make().fit([[1.0], [np.nan]])
    with pytest.raises(InputError, match="X_normal is empty"):
        make().fit(np.empty((0, 2)))
    estimator = make().fit(target[0])
    with pytest.raises(InputError, match="X has 2 features but the fitted sample has 3"):
        estimator.errors(target[1][:, :2])
    with pytest.raises(InputError, match="Rescale the columns"):
        estimator.errors(target[1] * 1e30)


def test_all_outliers_and_one_dataset_are_refused(make, sources):
    everything = Collection.from_arrays([d.X for d in sources], outliers=[np.ones(30)] * 8)
    with pytest.raises(CollectionError, match="are outliers"):
        make(train_on="sources").pretrain(everything)
    with pytest.raises(CollectionError, match="at least two"):
        make(train_on="sources").pretrain(sources[:1])


def test_a_training_gone_astray_says_what_to_do(make, sources, target):
    huge = Collection.from_arrays([dataset.X * 1e25 for dataset in sources], name="huge")
    with pytest.raises(TrainingError, match=r"never finite with 'huge'.*standardise=True"):
        make(train_on="sources").pretrain(huge)
    with pytest.raises(TrainingError, match=r"not finite after training.*standardise=True"):
        make().fit(target[0] * 1e25)
    support = torch.tensor(target[0]).unsqueeze(0) * 1e25
    with pytest.raises(TrainingError, match=r"After 1 step some errors of 1 of 1 models .*standardise=True"):
        list(errors_by_stage([make().new_model(target[0])], support, support, [1]))


def test_a_collapsed_network_is_refused(sources, target):
    estimator = OneClassEstimator(**(SMALL | {"network": "deep svdd", "train_on": THEN})).pretrain(sources)
    with torch.no_grad():
        # No unit of the first layer answers to positive rows, so there is no gradient to bring one back.
        estimator.source_model_.network[0].weight.fill_(-1)
    with pytest.raises(TrainingError, match=r"collapsed.*smaller learning_rate or fewer steps"):
        estimator.fit(np.abs(target[0]))
