"""From collections to a training: what is drawn, what is refused, and how a training is shared, stopped and resumed."""

import signal

import numpy as np
import pytest
import torch

from fewratio import Collection, MetaRatioEstimator
from fewratio.data.sources.gaussian import gaussian_family
from fewratio.errors import CollectionError, DataNotFoundError, InputError, ModelFileError, ParameterError
from fewratio.estimators import pretrain_together
from fewratio.estimators.networks import pretraining


def weights(estimator):
    return {name: tensor.clone() for name, tensor in estimator.model_.state_dict().items()}


def assert_identical(found, expected):
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name


# ---------------------------------------------------------------- what is drawn


@pytest.mark.parametrize(
    ("changes", "nu", "de"),
    [
        ({"n_support": 5}, (5, 5), (5, 5)),
        ({"n_support": np.int64(5)}, (5, 5), (5, 5)),
        ({"n_support": (2, 7)}, (2, 7), (2, 7)),
        ({"n_support": [2, 7], "n_support_de": 3}, (2, 7), (3, 3)),
        ({"n_support": 4, "n_support_de": (1, 9)}, (4, 4), (1, 9)),
        ({"n_support": 4, "episodes": "inliers"}, (4, 4), (100, 100)),
        ({"n_support": 4, "episodes": "inliers", "n_support_de": (6, 8)}, (4, 4), (6, 8)),
    ],
)
def test_supports_have_the_sizes_asked_for(make, sources, monkeypatch, changes, nu, de):
    drawn = []

    class Watched(pretraining.EpisodeSampler):
        def __call__(self, step):
            episode = super().__call__(step)
            drawn.append((episode.support.shares > 0).sum(-1).reshape(-1, 2))  # rows per sample that are no padding
            return episode

    monkeypatch.setattr(pretraining, "EpisodeSampler", Watched)
    outliers = [np.arange(50) < 5] * len(sources)
    labelled = Collection.from_arrays([dataset.X for dataset in sources], outliers=outliers)
    make(**changes).pretrain(labelled)
    counts = torch.cat(drawn)
    for side, (low, high) in enumerate((nu, de)):
        most = min(high, 50 - 45 // 2)  # half of the 45 normals are known, the others unlabelled
        assert counts[:, side].min() == min(low, most)
        assert counts[:, side].max() == most


def test_the_seed_decides(make, sources):
    first, again, other = (weights(make(random_state=seed).pretrain(sources)) for seed in (0, 0, 1))
    assert_identical(again, first)
    assert any(not torch.equal(other[name], first[name]) for name in first)


def test_validation_datasets_are_not_trained_on(make, sources, monkeypatch):
    pools = {}

    def watched(name, kind):
        def build(rows, members, *arguments, **options):
            pools[name] = {int(number) for pool in members[0].nu for number in pool}
            return kind(rows, members, *arguments, **options)

        return build

    for name in ("EpisodeSampler", "EvaluationEpisodes"):
        monkeypatch.setattr(pretraining, name, watched(name, getattr(pretraining, name)))
    make().pretrain(sources)
    assert len(pools["EvaluationEpisodes"]) == 2 * 50  # a tenth of twenty datasets
    assert len(pools["EpisodeSampler"]) == 18 * 50
    assert not pools["EvaluationEpisodes"] & pools["EpisodeSampler"]
    make().pretrain(sources[:5])
    assert pools["EvaluationEpisodes"] == pools["EpisodeSampler"]  # too few to set any aside
    make().pretrain(sources[:15], validation=sources[15:])
    assert len(pools["EvaluationEpisodes"]) == 5 * 50
    assert not pools["EvaluationEpisodes"] & pools["EpisodeSampler"]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("n_support", [8, (8, 20)])
def test_a_dataset_smaller_than_the_support_is_named(make, sources, n_support):
    datasets = {dataset.name: dataset.X for dataset in sources} | {"tiny": np.ones((7, 1))}
    with pytest.raises(CollectionError, match=r"'tiny' has 7 instances.*Lower n_support or leave the dataset out"):
        make(n_support=n_support).pretrain(Collection.from_arrays(datasets))


def test_a_collection_needs_two_datasets(make, sources):
    with pytest.raises(CollectionError, match="'gaussian' has one dataset; learning needs at least two"):
        make().pretrain(sources[:1])
    assert make().pretrain(sources[:2]).fit([[0.0]], [[1.0]]).predict([[0.0]]).shape == (1,)


def test_inlier_episodes_need_to_know_the_outliers(make, sources):
    with pytest.raises(CollectionError, match=r"'gaussian-0' does not say which instances are outliers"):
        make(episodes="inliers").pretrain(sources)


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"height": "height", "income": "age"}, "other column names than the source collection"),
        ({"height": "income", "income": "height"}, "another order of columns than the source collection"),
        (["height"], "the validation collection has 1 column but the source collection has 2"),
    ],
)
def test_a_validation_collection_with_other_columns_is_refused(make, named_sources, tables, columns, found):
    table = tables.rename(columns=columns) if isinstance(columns, dict) else tables[["site", *columns]]
    with pytest.raises(CollectionError, match=found):
        make().pretrain(named_sources, validation=Collection.from_frame(table, dataset="site"))


@pytest.mark.parametrize("argument", ["collection", "validation"])
def test_what_is_no_collection_is_refused(make, sources, argument):
    given = {"collection": sources, argument: [dataset.X for dataset in sources]}
    with pytest.raises(InputError, match=rf"{argument} is a list; .*Collection\.from_arrays"):
        make().pretrain(**given)


def test_text_in_a_collection_is_named(tables):
    with pytest.raises(InputError, match=r"'colour' \(text\)"):
        Collection.from_frame(tables.assign(colour="red"), dataset="site", categorical="error")


def test_sources_beyond_float32_are_refused(make, sources):
    with pytest.raises(CollectionError, match="float32"):
        make(scale="none").pretrain(Collection.from_arrays([dataset.X * 1e39 for dataset in sources]))


@pytest.mark.parametrize("device", ["abacus", "meta"])
def test_an_unknown_device_is_named(make, sources, device):
    with pytest.raises(ParameterError, match=f"device is '{device}'.*Use 'auto', 'cpu' or 'cuda'"):
        make(device=device).pretrain(sources)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_missing_device_is_named(make, sources):
    with pytest.raises(ParameterError, match=r"device is 'cuda'.*no CUDA device here"):
        make(device="cuda").pretrain(sources)


def test_refused_sources_leave_the_earlier_model(pretrained, sources):
    before = weights(pretrained)
    with pytest.raises(CollectionError):
        pretrained.pretrain(sources[:1])
    assert_identical(weights(pretrained), before)


# ---------------------------------------------------------------- several at once


def test_training_together_is_training_alone(make):
    families = [gaussian_family(12, n_instances=40, random_state=seed).collection for seed in range(3)]
    estimators = [make(random_state=seed, scale="columns") for seed in range(3)]
    pretrain_together(estimators, families, [None] * 3)
    X = np.linspace(-2, 2, 9)[:, None]
    answers = []
    for seed, (together, sources) in enumerate(zip(estimators, families, strict=True)):
        alone = make(random_state=seed, scale="columns").pretrain(sources)
        answers.append(together.fit(X[:3], X[4:]).predict(X))
        # Batched products add in another order (1e-7), which twenty steps of Adam may amplify by a few orders.
        np.testing.assert_allclose(answers[-1], alone.fit(X[:3], X[4:]).predict(X), atol=1e-4)
        np.testing.assert_allclose(together.history_.validation, alone.history_.validation, atol=1e-4)
    assert np.ptp(answers, axis=0).max() > 0.1


def test_sizes_may_differ_together(make, sources):
    """Supports are padded, which changes nothing."""
    different = [{"n_support": 2}, {"n_support": (1, 4), "n_support_de": 3}, {"n_support": 5}]
    # Seeds at which no unit stands so near its kink that another order of additions puts it on the other side.
    seeds = range(10, 13)
    estimators = [make(random_state=seed, **changes) for seed, changes in zip(seeds, different, strict=True)]
    pretrain_together(estimators, [sources] * 3, [None] * 3)
    X = np.linspace(-2, 2, 7)[:, None]
    for seed, together, changes in zip(seeds, estimators, different, strict=True):
        alone = make(random_state=seed, **changes).pretrain(sources)
        assert [p.shape for p in together.model_.parameters()] == [p.shape for p in alone.model_.parameters()]
        answer = together.fit(X[:3], X[4:]).predict(X)
        # As above: another order of additions, amplified by Adam.
        np.testing.assert_allclose(answer, alone.fit(X[:3], X[4:]).predict(X), atol=1e-4)


@pytest.mark.parametrize("changes", [{"width": 8}, {"alpha": 0.1}, {"max_steps": 30}, {"latent_dim": 9}])
def test_nothing_else_may_differ_together(make, sources, changes):
    with pytest.raises(ParameterError, match=r"only random_state, n_support and n_support_de may differ"):
        pretrain_together([make(), make(**changes)], [sources] * 2, [None] * 2)


def test_sources_trained_on_together_have_as_many_features(make, sources, named_sources):
    with pytest.raises(CollectionError, match=r"different numbers of features \(\[1, 2\]\)"):
        pretrain_together([make(), make()], [sources, named_sources], [None] * 2)


# ---------------------------------------------------------------- stopped and resumed


@pytest.fixture
def interrupt_at(monkeypatch):
    """Press Ctrl-C while the episodes of a step are drawn."""

    class Interrupted(pretraining.EpisodeSampler):
        step = None

        def __call__(self, step):
            if int(step) == self.step:
                signal.raise_signal(signal.SIGINT)
            return super().__call__(step)

    def arm(step):
        Interrupted.step = step
        monkeypatch.setattr(pretraining, "EpisodeSampler", Interrupted)

    return arm


# On a validation (every ten steps), just after one, and between two.
@pytest.mark.filterwarnings("ignore:Training was interrupted")
@pytest.mark.parametrize("step", [9, 10, 13])
def test_an_interrupted_training_resumes_bit_for_bit(make, sources, tmp_path, interrupt_at, step):
    checkpoint = tmp_path / "checkpoint"
    settings = dict(max_steps=35, n_support=(1, 5), scale="columns")
    whole = make(**settings).pretrain(sources)
    assert whole.history_.best_step > step + 1  # so that what comes after the interruption matters

    interrupt_at(step)
    stopped = make(**settings).pretrain(sources, checkpoint=checkpoint)
    assert stopped.history_.stopped == "interrupted"
    assert stopped.history_.step[-1] == step + 1
    assert np.isfinite(stopped.fit([[0.0]], [[1.0]]).predict([[0.5]])).all()

    interrupt_at(None)
    resumed = make(**settings).pretrain(sources, checkpoint=checkpoint)
    assert_identical(weights(resumed), weights(whole))
    assert resumed.history_.stopped == "max_steps"
    for record in ("step", "train", "validation", "standard_error", "best_step", "best_validation"):
        assert getattr(resumed.history_, record) == getattr(whole.history_, record)


def test_a_finished_training_can_go_on(make, sources, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    make(max_steps=15).pretrain(sources, checkpoint=checkpoint)
    longer = make(max_steps=40).pretrain(sources, checkpoint=checkpoint)
    assert_identical(weights(longer), weights(make(max_steps=40).pretrain(sources)))
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


@pytest.mark.filterwarnings("ignore:Training was interrupted")
def test_a_training_of_several_resumes_bit_for_bit(make, sources, tmp_path, interrupt_at):
    def train(checkpoint=None):
        estimators = [make(random_state=seed) for seed in range(2)]
        pretrain_together(estimators, [sources] * 2, [None] * 2, checkpoint=checkpoint)
        return [weights(estimator) for estimator in estimators]

    whole = train()
    interrupt_at(12)
    train(tmp_path / "checkpoint")
    interrupt_at(None)
    for found, expected in zip(train(tmp_path / "checkpoint"), whole, strict=True):
        assert_identical(found, expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Training was interrupted")
def test_a_training_of_both_kinds_resumes_bit_for_bit(make, sources, tmp_path, interrupt_at):
    settings = dict(features="both", n_networks=2, max_steps=8, validate_every=4)
    whole = make(**settings).pretrain(sources)
    interrupt_at(5)
    with pytest.warns(RuntimeWarning, match=r"Of 4 networks 2 were trained \(mlp, mlp\)"):
        stopped = make(**settings).pretrain(sources, checkpoint=tmp_path / "checkpoint")
    assert np.isfinite(stopped.fit([[0.0]], [[1.0]]).predict([[0.5]])).all()
    stopped.save(tmp_path / "model")
    assert len(MetaRatioEstimator.load(tmp_path / "model").networks_) == 2
    interrupt_at(None)
    resumed = make(**settings).pretrain(sources, checkpoint=tmp_path / "checkpoint")
    assert_identical(weights(resumed), weights(whole))
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint.mlp", "checkpoint.relational", "model"}


def test_a_network_that_is_missing_is_named_whichever_estimator_lacks_it(make, sources):
    """One network of the second estimator diverges; those of the first are all there."""

    class Started(pretraining.Ensemble):
        def __init__(self, models, *arguments):
            # Both networks of each estimator; the last one starts from what cannot be trained.
            with torch.no_grad():
                next(models[-1].parameters()).fill_(torch.nan)
            super().__init__(models, *arguments)

    estimators = [make(n_networks=2, random_state=seed, max_steps=2) for seed in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretraining, "Ensemble", Started)
        with pytest.warns(RuntimeWarning, match=r"Of 2 networks 1 were trained \(mlp\) on 'second'"):
            pretrain_together(estimators, [sources, Collection("second", list(sources))], [None] * 2)
    assert [len(estimator.networks_) for estimator in estimators] == [2, 1]


@pytest.mark.filterwarnings("ignore:Training was interrupted")
def test_an_interruption_loses_no_network_that_is_done(make, sources, monkeypatch):
    class Interrupted(pretraining.EpisodeSampler):
        made = 0

        def __init__(self, *arguments, **options):
            Interrupted.made += 1
            super().__init__(*arguments, **options)

        def __call__(self, step):
            if Interrupted.made == 2:
                signal.raise_signal(signal.SIGINT)
            return super().__call__(step)

    monkeypatch.setattr(pretraining, "EpisodeSampler", Interrupted)
    estimator = make(features="both").pretrain(sources)
    found = [(network.kind, network.history.stopped) for network in estimator.networks_]
    assert found == [("mlp", "max_steps"), ("relational", "interrupted")]


def cut_otherwise(sources):
    """Give as many datasets with the same rows in the same order, but one row changes hands."""
    first, second, *rest = (dataset.X for dataset in sources)
    return [np.vstack([first, second[:1]]), second[1:], *rest]


@pytest.mark.parametrize(
    "foreign",
    [
        lambda make, sources: (make(random_state=1), sources),
        lambda make, sources: (make(learning_rate=0.1), sources),
        lambda make, sources: (make(), sources[:19]),
        lambda make, sources: (make(), Collection.from_arrays([dataset.X + 1 for dataset in sources])),
        lambda make, sources: (make(), Collection.from_arrays(cut_otherwise(sources))),
    ],
    ids=["seed", "setting", "fewer datasets", "other values", "same rows cut otherwise"],
)
def test_a_foreign_checkpoint_is_refused_and_left_alone(make, sources, tmp_path, foreign):
    checkpoint = tmp_path / "checkpoint"
    make().pretrain(sources, checkpoint=checkpoint)
    before = checkpoint.read_bytes()
    estimator, collection = foreign(make, sources)
    with pytest.raises(ModelFileError, match=r"other data or settings.*Give another file name, or delete it"):
        estimator.pretrain(collection, checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before
    assert not hasattr(estimator, "model_")


def test_a_model_is_no_checkpoint_and_a_checkpoint_no_model(pretrained, make, sources, tmp_path):
    pretrained.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="holds a model, but a checkpoint is needed"):
        make().pretrain(sources, checkpoint=tmp_path / "model")
    make().pretrain(sources, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(ModelFileError, match="holds a checkpoint, but a model is needed"):
        MetaRatioEstimator.load(tmp_path / "checkpoint")


def test_a_checkpoint_needs_a_seed(make, sources, tmp_path):
    with pytest.raises(ParameterError, match="random_state is None"):
        make(random_state=None).pretrain(sources, checkpoint=tmp_path / "training.safetensors")


def test_a_checkpoint_needs_its_folder_before_any_work(make, sources, tmp_path, monkeypatch):
    monkeypatch.setattr(pretraining, "train", lambda *_: pytest.fail("it was trained in vain"))
    with pytest.raises(DataNotFoundError, match="missing does not exist"):
        make().pretrain(sources, checkpoint=tmp_path / "missing" / "checkpoint")


def test_an_interruption_is_said(make, sources, interrupt_at):
    interrupt_at(5)
    with pytest.warns(RuntimeWarning, match=r"interrupted at step \d+ of .* the best model so far"):
        make().pretrain(sources)


def test_a_validation_collection_needs_two_datasets(make, sources):
    with pytest.raises(CollectionError, match="has one dataset, which can only be compared with itself"):
        make().pretrain(sources[1:], validation=sources[:1])
