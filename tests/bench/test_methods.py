"""Methods: rows of parts that differ from Ours in what they should, and the same numbers by another road."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from fewratio import RuLSIF
from fewratio.core.objectives import NonNegativeLSIF, RelativeSquaredError
from fewratio.core.ridge import ridge_weights
from fewratio.data.collection import Collection
from fewratio.estimators import InlierRatioEstimator, gaussian_relative_ratio, mmd2, relative_squared_error
from fewratio.estimators.networks.pair import Episode, Pair
from fewratio_bench import experiments
from fewratio_bench.evaluate import Judgement, OutlierEvaluation
from fewratio_bench.experiments import EXPERIMENTS
from fewratio_bench.methods import Bench, Kernel, MeanDiscrepancy, OneClass, Pooled, Pretrained, TargetTrained
from fewratio_bench.methods.closed_form import ClosedForm
from fewratio_bench.methods.joined import Joined
from fewratio_bench.methods.untrained import Detector, lof_scores
from fewratio_bench.problems import LANDMINE, Trial
from fewratio_bench.splits import Split
from tests.bench.conftest import OURS, SMALL, TRAINING, small_cells
from tests.strategies import meta_estimator

BENCH = Bench("cpu", progress=False)


def differences(method, reference):
    """Names of the fields, but for what a method is called, in which two rows differ."""
    fields = [field.name for field in dataclasses.fields(method) if field.name not in ("name", "published")]
    return {name for name in fields if getattr(method, name) != getattr(reference, name)}


@pytest.mark.parametrize(
    ("name", "reference", "expected"),
    [
        ("NO_LATENT", "OURS", {"encoder"}),
        ("NO_SADAPT", "OURS", {"head"}),
        ("NO_SADAPT_FT", "NO_SADAPT", {"target_head", "trained_as"}),
        ("RULSIF_FT", "OURS", {"encoder", "head", "clip", "target_head"}),
        ("RULSIF_FT_BY_ADAM", "RULSIF_FT", {"target_head", "trained_as"}),
        ("D3RE_FT", "RULSIF_FT", {"target_head", "bounds"}),
        ("META_RULSIF", "NO_LATENT", {"features", "head", "clip"}),
        ("DEEP_OURS", "_VARIANT", {"depth"}),
        ("LEARNED_ALPHA", "_VARIANT", {"learn_alpha"}),
        ("PLAIN_OURS", "_VARIANT", {"alpha"}),
        ("OURS_01", "_VARIANT", {"alpha"}),
        ("OURS_09", "_VARIANT", {"alpha"}),
        ("_VARIANT", "OURS", {"latent_dims"}),
        ("OURS_BETTER", "OURS", {"clip", "latent_dims", "sizes", "training"}),
        ("ULSIF", "RULSIF", {"alpha"}),
        ("RULSIF_RATIO", "RULSIF", {"clip"}),
        ("AE_S", "AE", {"train_on"}),
        ("AE_FT", "AE", {"train_on"}),
        ("SD", "AE", {"network"}),
        ("SD_FT", "SD", {"train_on"}),
    ],
)
def test_a_row_differs_from_its_reference_in_exactly_this(name, reference, expected):
    assert differences(getattr(experiments, name), getattr(experiments, reference)) == expected


def test_rows_are_the_papers():
    """Every published method that the benchmark claims to rebuild has its number in the paper's tables."""
    from fewratio_bench.aggregation import published_numbers

    known = {(table, method) for table, _, _, method, _ in published_numbers()}
    # The first is a figure of the paper, the others are ours.
    without_numbers = {"known-outliers", "latent-dimension", "no-sources", "unseen-tables"}
    assert EXPERIMENTS.keys() - {table for table, _ in known} == without_numbers
    # That table says train and test after the name.
    for name in EXPERIMENTS.keys() - without_numbers - {"computation-cost"}:
        experiment = EXPERIMENTS[name]
        for method in experiment.methods:
            assert method.published is None or (experiment.name, method.published) in known, (experiment.name, method)


@pytest.mark.parametrize("clip", ["weights", "ratio"])
def test_the_batched_kernel_method_is_the_estimator_pair_by_pair(clip):
    (cell,) = small_cells(replace(SMALL, sizes=(10,)))
    verdicts = list(Kernel("k", None, clip, regs=(0.1,)).judge([cell], BENCH))
    (verdict,) = [verdict for verdict in verdicts if verdict.role == "target"]
    evaluation = cell.evaluations["target"]
    family = SMALL.family(0, "target")
    errors, oracle, divergences = [], [], []
    for task, (i, j) in enumerate(evaluation.tasks):
        support, query = evaluation.episode
        estimator = RuLSIF(reg=0.1, clip=clip).fit(support.nu[task].numpy(), support.de[task].numpy())
        # The query of a dataset with itself is shorter, so it is padded.
        real = query.shares.expand(len(evaluation.tasks), 2, -1)[task].numpy() > 0
        rows = query.rows[task].numpy()
        truth = (family.means[i], family.stds[i], family.means[j], family.stds[j])
        errors.append(relative_squared_error(*(estimator.predict(rows[side]) for side in real)))
        oracle.append(relative_squared_error(*(gaussian_relative_ratio(rows[side], *truth) for side in real)))
        divergences.append(estimator.divergence())
    metrics = evaluation.metrics(verdict.judgement)
    # The batched road works in float32.
    assert metrics["squared_error"] == pytest.approx(np.mean(errors), abs=2e-5)
    assert metrics["regret"] == pytest.approx(np.mean(errors) - np.mean(oracle), abs=2e-5)
    np.testing.assert_allclose(verdict.judgement.divergence.numpy(), divergences, atol=1e-4)


def test_mean_discrepancies_are_those_of_each_pair():
    (cell,) = small_cells(replace(SMALL, sizes=(3,)))
    verdict = next(iter(MeanDiscrepancy().judge([cell], BENCH)))
    support = cell.evaluations["validation"].episode.support
    expected = [mmd2(nu.numpy(), de.numpy(), biased=True) for nu, de in zip(support.nu, support.de, strict=True)]
    np.testing.assert_allclose(verdict.judgement.divergence.numpy(), expected, atol=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"encoder": "none"},
        {"head": "shared"},
        {"head": "shared", "target_head": "ridge", "regs": (0.1, 1.0)},
        {"encoder": "none", "head": "shared", "target_head": "adam", "bounds": (0.1, 1.0), "steps": (0, 3)},
        {"encoder": "none", "features": "gaussian", "head": "descent", "clip": "ratio"},
        {"sizes": (1, 4)},
    ],
    ids=str,
)
@pytest.mark.slow
def test_learned_methods_judge_every_cell_role_and_setting_once(changes):
    method, cells = replace(OURS, **changes), small_cells()
    verdicts = list(method.judge(cells, BENCH))
    found = [(v.trial.n_support, v.role, str(v.parameters)) for v in verdicts]
    expected = [
        (cell.n_support, role, str(setting))
        for cell in cells
        for role in ("validation", "target")
        for setting in method.settings(SMALL)
    ]
    assert sorted(found) == sorted(expected)
    assert all(v.judgement.query.isfinite().all() and v.judgement.divergence.isfinite().all() for v in verdicts)


def test_fine_tuning_starts_from_the_trained_weights_and_goes_on():
    """No step at all is the model as it came, and 3 steps after 2 are 5."""
    cells = small_cells(replace(SMALL, sizes=(4,)))
    shared = replace(OURS, encoder="none", head="shared", clip="ratio")
    tuned = replace(shared, target_head="adam", trained_as=shared.name)
    as_it_came = next(iter(shared.judge(cells, BENCH))).judgement.query
    by_steps = {
        v.parameters["n_steps"]: v
        for v in replace(tuned, steps=(0, 2, 5)).judge(cells, BENCH)
        if v.role == "validation"
    }
    at_once = {
        v.parameters["n_steps"]: v for v in replace(tuned, steps=(5,)).judge(cells, BENCH) if v.role == "validation"
    }
    torch.testing.assert_close(by_steps[0].judgement.query, as_it_came)
    torch.testing.assert_close(by_steps[5].judgement.query, at_once[5].judgement.query)
    assert not torch.equal(by_steps[2].judgement.query, by_steps[5].judgement.query)


@pytest.mark.parametrize(
    ("parts", "objective"),
    [
        ({"encoder": "none", "clip": "ratio"}, RelativeSquaredError()),
        ({"encoder": "none", "clip": "ratio", "bounds": (0.5,)}, NonNegativeLSIF(0.5)),
        ({"clip": "weights"}, RelativeSquaredError()),
    ],
    ids=["RuLSIF-FT, by Adam", "D3RE-FT", "NoSadapt-FT"],
)
@pytest.mark.parametrize("task", [0, 1])
def test_fine_tuning_is_adam_on_the_last_layer_of_the_whole_network(parts, objective, task, outlier_cells):
    """On samples of different sizes, padded to the largest."""
    cell = outlier_cells[0]
    tuned = replace(OURS, head="shared", target_head="adam", steps=(3, 7), **parts)
    bench = Bench("cpu", progress=False)
    at_last = next(verdict for verdict in tuned.judge([cell], bench) if verdict.parameters["n_steps"] == 7)
    ((_, ((model, *_), *_)),) = bench.trained.items()
    support, query = cell.evaluations["validation"].episode
    shares = support.shares if support.shares.dim() == 2 else support.shares[task]
    mine = Pair.from_joined(support.rows[task], shares, support.n_nu)
    optimiser = torch.optim.Adam([model.head.weights.requires_grad_()], lr=1e-3)
    for _ in range(7):
        optimiser.zero_grad()
        objective(model(Episode(mine, mine)), mine.shares).backward()
        optimiser.step()
    with torch.no_grad():
        expected = model.adapt(mine)(query.rows[task])
    torch.testing.assert_close(at_last.judgement.query[task], expected, atol=1e-5, rtol=1e-4)


def test_fine_tuning_in_closed_form_is_the_ridge_solve_on_the_features_that_were_learned():
    (cell,) = small_cells(replace(SMALL, sizes=(4,)))
    tuned = replace(OURS, encoder="none", head="shared", clip="ratio", target_head="ridge", regs=(0.01, 1.0))
    bench = Bench("cpu", progress=False)
    found = {v.parameters["reg"]: v.judgement.query for v in tuned.judge([cell], bench) if v.role == "target"}
    ((_, ((model, *_),)),) = bench.trained.items()
    support, query = cell.evaluations["target"].episode
    for reg, ratio in found.items():
        with torch.no_grad():
            phi, at_query = (model.features(pair.rows, support, None) for pair in (support, query))
            weights = ridge_weights(phi, support.shares, tuned.alpha, torch.tensor(reg))
        expected = (at_query @ weights.unsqueeze(-1)).squeeze(-1).relu()
        torch.testing.assert_close(ratio, expected, atol=1e-5, rtol=1e-4)


def test_the_papers_fine_tuning_of_a_squared_loss_has_its_grid_of_lambda_and_adam_is_a_row_of_ours():
    for table in ("synthetic", "relative-dre", "dataset-comparison", "outlier-detection"):
        rows = dict(EXPERIMENTS[table].rows)
        shown, ours = rows["RuLSIF-FT"], rows["RuLSIF-FT, by Adam"]
        assert [setting["reg"] for setting in shown.settings(LANDMINE)] == [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
        assert (shown.published, shown.rule, ours.published) == ("RuLSIF-FT", "best_on_test", None)


@pytest.mark.parametrize(
    ("device", "n_cases", "n_jobs", "n_parts"), [("cpu", 1, 3, 1), ("cpu", 5, 2, 2), ("cuda", 5, 2, 1)]
)
def test_cases_are_trained_in_parts_and_come_back_in_their_order(device, n_cases, n_jobs, n_parts, tmp_path):
    """On a GPU there is one process; what is left of a training that was interrupted stays, of others nothing."""
    bench = Bench(device, tmp_path, n_jobs=n_jobs)

    def train(part, checkpoint):
        checkpoint.touch()
        return [(case, len(part)) for case in part]

    found = bench.train(train, range(n_cases), bool, "a training")
    assert [case for case, _ in found] == list(range(n_cases))
    assert sum(1 / size for _, size in found) == pytest.approx(n_parts)
    assert not list(tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        bench.train(train, range(n_cases), lambda result: result[0] > 0, "a training")
    assert len(list(tmp_path.glob(".*.checkpoint"))) == n_parts


def test_methods_of_one_training_share_it():
    shared = replace(OURS, name="NoSadapt", head="shared")
    tuned = replace(shared, name="NoSadapt-FT", target_head="ridge", trained_as="NoSadapt")
    bench, cells = Bench("cpu", progress=False), small_cells()
    list(shared.judge(cells, bench))
    (models,) = bench.trained.values()
    for model, *_ in models:
        torch.nn.init.zeros_(model.features.rest[-1].weight)  # what is judged next is seen to be these
    ratios = [verdict.judgement.query for verdict in tuned.judge(cells, bench)]
    assert all((ratio == ratio[..., :1]).all() for ratio in ratios)
    assert list(bench.trained.values()) == [models]


# ---------------------------------------------------------------- trained on the target


def test_what_takes_steps_on_a_target_is_shown_to_the_end_and_stopped_early():
    tables = ("outlier-detection", "additional-outlier", "ablation-outlier-detection")
    rows = dict(row for table in tables for row in EXPERIMENTS[table].rows)
    trained_there = experiments.D3RE, experiments.NNPU, experiments.AE, experiments.SD
    for method in (*trained_there, experiments.RULSIF_FT_BY_ADAM, experiments.D3RE_FT, experiments.NO_SADAPT_FT):
        shown, early = rows[method.name], rows[f"{method.name}, stopped early"]
        assert (shown.published, early.published) == (method.published, None)
        assert {setting["n_steps"] for setting in shown.settings(LANDMINE)} == {max(method.steps)}
        assert early.settings(LANDMINE) == method.settings(LANDMINE)
        # What the paper selects on validation, the length of an output or of dataset vectors, it selects by these.
        by = {"AE": "normal_score", "SD": "normal_score", "NoSadapt-FT": "squared_error"}.get(method.name)
        if method.published:
            assert (shown.criterion, early.criterion) == (by, None)
            assert shown.rule == ("validation" if by else "best_on_test")
    # These have a grid of steps in the paper.
    assert rows["AE-FT"] == experiments.AE_FT
    quick = dict(EXPERIMENTS["outlier-detection"].quick().rows)
    assert quick["AE"].settings(LANDMINE)[-1] in quick["AE, stopped early"].settings(LANDMINE)


def test_many_small_trainings_are_each_ones_own():
    """All tasks and bounds at once give what one bound alone gives from the same starts."""
    (cell,) = small_cells(replace(SMALL, sizes=(4,)))
    method = TargetTrained("D3RE", "D3RE", bounds=(0.1, 1.0), steps=(2, 6))
    together = {
        (v.parameters["bound"], v.parameters["n_steps"]): v.judgement.query
        for v in method.judge([cell], BENCH)
        if v.role == "target"
    }
    assert set(together) == {(0.1, 2), (0.1, 6), (1.0, 2), (1.0, 6)}
    for bound in method.bounds:
        for v in replace(method, bounds=(bound,)).judge([cell], BENCH):
            if v.role == "target":
                query = together[bound, v.parameters["n_steps"]]
                torch.testing.assert_close(query, v.judgement.query, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(together[0.1, 6], together[1.0, 6])


def test_a_lone_network_starts_afresh_every_time():
    """One task and one setting is an ensemble of one, which trains in place."""
    problem = replace(SMALL, n_target=1, n_validation=1, sizes=(4,))
    (cell,) = small_cells(problem)
    method = TargetTrained("D3RE", "D3RE", bounds=(0.1,), steps=(5,))
    first, second = ([v.judgement.query for v in method.judge([cell], BENCH)] for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one, other)


# ---------------------------------------------------------------- outliers


class Outliers:
    """Datasets around a centre of their own, with a few instances far away."""

    name, data, sizes, episodes, validate_every, patience = "outliers", "Small", (2, 3), "inliers", 2, None

    def split(self, number):
        rng = np.random.default_rng(number)
        X = rng.normal(size=(7, 30, 3))
        X[:, :6] += 4
        datasets = [rows if number % 2 else rows[:25] for number, rows in enumerate(X)]
        collection = Collection.from_arrays(datasets, outliers=[np.arange(len(rows)) < 6 for rows in datasets])
        return Split(collection[:3], collection[3:5], collection[5:], number, n_normals=10)

    def evaluation(self, split, role, n_support, device):
        known = 10 if role == "validation" else n_support
        return OutlierEvaluation(getattr(split, role), n_support, known, 0, device)


@pytest.fixture
def outlier_cells():
    problem = Outliers()
    return [Trial(problem, problem.split(0), size, torch.device("cpu")) for size in problem.sizes]


@pytest.mark.parametrize(
    "method",
    [
        OURS,
        Kernel("RuLSIF", "RuLSIF", regs=(0.1,)),
        TargetTrained("D3RE", "D3RE", bounds=(0.1,), steps=(3,)),
        TargetTrained("nnPU", "nnPU", loss="pu", bounds=(0.0,), steps=(3, 30)),
        OneClass("AE", "AE", "autoencoder", latent_dims=(2, 3), steps=(2, 5)),
        OneClass("AE-S", "AE-S", "autoencoder", "sources", latent_dims=(2,), max_steps=4, validate_every=2),
        OneClass("SD-FT", "SD-FT", "deep svdd", "sources then target", (2,), (1, 2), max_steps=4, validate_every=2),
        Detector("LOF", "LOF", "n_neighbors", (5, 10), lof_scores),
        Pooled(),
        Pooled("marks", outliers_known=True),
    ],
    ids=lambda method: method.name,
)
def test_every_method_judges_outliers(method, outlier_cells):
    verdicts = list(method.judge(outlier_cells, BENCH))
    settings = method.settings(outlier_cells[0].problem)
    assert len(verdicts) == len(outlier_cells) * 2 * len(settings)
    assert all(verdict.parameters in settings for verdict in verdicts)
    for verdict in verdicts:
        evaluation = verdict.trial.evaluations[verdict.role]
        assert verdict.judgement.query.shape == evaluation.episode.query.rows.shape[:-1]
        assert np.isfinite(evaluation.metrics(verdict.judgement)["auc"])


def test_higher_scores_are_more_normal(outlier_cells):
    """The sign is right: by the distance from the truth's centre, all outliers are found."""
    (evaluation, *_) = outlier_cells[0].evaluations.values()
    distance = evaluation.episode.query.rows.square().sum(-1)
    assert evaluation.metrics(Judgement(-distance))["auc"] > 95
    assert evaluation.metrics(Judgement(distance))["auc"] < 5
    lof = next(iter(Detector("LOF", None, "n_neighbors", (10,), lof_scores).judge(outlier_cells, BENCH)))
    ae = list(OneClass("AE", None, "autoencoder", latent_dims=(2,), steps=(50,)).judge(outlier_cells, BENCH))[-1]
    assert ae.trial.evaluations[ae.role].metrics(ae.judgement)["auc"] > 80
    assert lof.judgement.alpha is None


def test_unlabelled_instances_are_support_and_query_and_normals_are_neither_twice(outlier_cells):
    evaluations = outlier_cells[0].evaluations
    for role, n_known in (("validation", 10), ("target", 2)):
        support, query = evaluations[role].episode
        assert torch.equal(support.de, query.de)
        assert support.nu.shape[-2] == 2
        assert support.de.shape[-2] == 30 - n_known
    # Known normals besides the support judge a ratio; a target has none.
    for role, judges in (("validation", True), ("target", False)):
        ones = torch.ones(evaluations[role].episode.query.rows.shape[:-1])
        assert ("squared_error" in evaluations[role].metrics(Judgement(ones, alpha=0.5))) == judges
        assert ("normal_score" in evaluations[role].metrics(Judgement(ones))) == judges
    # Eight of ten known normals are not in the support.
    first_eight = (torch.arange(evaluations["validation"].episode.query.rows.shape[-2]) < 8).float().expand(2, -1)
    assert evaluations["validation"].metrics(Judgement(first_eight))["normal_score"] == 1


def test_training_settings_are_recorded():
    (setting, *_) = OURS.settings(SMALL)
    assert setting["max_steps"] == TRAINING["max_steps"]
    assert {"latent_dim", "alpha", "clip", "encoder", "head"} <= set(setting)


def test_pairs_that_a_kernel_cannot_tell_apart_tie():
    """One instance per sample: the median width is the distance itself, so all pairs have the same kernels."""
    (cell,) = small_cells(replace(SMALL, sizes=(1,)))
    for verdict in Kernel("RuLSIF", None, "ratio", regs=(0.1,)).judge([cell], BENCH):
        assert cell.evaluations[verdict.role].metrics(verdict.judgement)["auc"] == 50


# ---------------------------------------------------------------- the users' estimator


@pytest.mark.slow
def test_a_row_of_the_users_estimator_is_that_estimator(tmp_path):
    parameters = {"features": "both", "n_networks": 2, "n_support": (1, 3), "max_steps": 3, "width": 8, "n_query": 10}
    method = Pretrained("ours", parameters=parameters)
    cells = [Trial(SMALL, SMALL.split(0), size, torch.device("cpu")) for size in (2, 3)]
    verdicts = list(method.judge(cells, Bench("cpu", tmp_path, progress=False)))
    assert [(verdict.trial.n_support, verdict.role) for verdict in verdicts] == [
        (size, role) for size in (2, 3) for role in ("validation", "target")
    ]
    split = SMALL.split(0)
    alone = meta_estimator(**parameters, progress=False, device="cpu", random_state=verdicts[0].seed)
    alone.pretrain(split.source, split.validation)
    support = cells[1].evaluations["target"].episode.support
    expected = alone.fit(support.nu[0].numpy(), support.de[0].numpy()).divergence()
    # Trained together and judged in batches: another order of additions.
    assert verdicts[3].judgement.divergence[0].item() == pytest.approx(expected, abs=1e-4)
    assert not list(tmp_path.iterdir())  # no checkpoint is left


def test_a_row_of_pooled_sources_is_the_estimator_on_normals_that_are_known(outlier_cells):
    split = outlier_cells[0].split
    support = outlier_cells[0].evaluations["target"].episode.support
    n_real = int((support.shares[1, 1] > 0).sum())
    expected = InlierRatioEstimator().pretrain(split.source)
    expected = expected.fit(*(rows[1].double().numpy() for rows in (support.nu, support.de[:, :n_real]))).ratio_de_
    verdicts = {
        marks: next(each for each in Pooled(outliers_known=marks).judge(outlier_cells, BENCH) if each.role == "target")
        for marks in (False, True)
    }
    found = verdicts[True].judgement.query[1, 2 : 2 + n_real].numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.abs(verdicts[False].judgement.query[1, 2 : 2 + n_real].numpy() - expected).max() > 0.01
    flags = [dataset.is_outlier for dataset in Pooled()._sources(outlier_cells[0], 0)]
    assert [int((~each).sum()) for each in flags] == [split.n_normals] * len(split.source)
    assert not any((dataset.is_outlier & ~each).any() for dataset, each in zip(split.source, flags, strict=True))


def test_a_quick_row_of_the_users_estimator_is_short():
    (quick,) = Pretrained("ours", parameters={"n_networks": 3}).quick().settings(SMALL)
    assert (quick["max_steps"], quick["n_networks"]) == (100, 1)


# ---------------------------------------------------------------- several methods together

DRAWS = ClosedForm("draws", parameters={"features": "cosines", "n_components": 16}, n_draws=2)
NETWORK = Pretrained("network", parameters={"n_support": 3, "max_steps": 3, "width": 8, "n_query": 10})


@pytest.mark.slow
def test_parts_count_the_same_however_many_members_they_have():
    cells, bench = small_cells(), Bench("cpu", progress=False)
    network, draws, joined = (
        [verdict.judgement.query for verdict in method.judge(cells, bench)]
        for method in (NETWORK, DRAWS, Joined("joined", parts=(NETWORK, DRAWS)))
    )
    assert len(bench.trained) == 2  # nothing is learned twice
    for a, b, both in zip(network, draws, joined, strict=True):
        torch.testing.assert_close(both, (a.double() + b.double()) / 2)


@pytest.mark.slow
def test_stacked_members_have_the_least_squared_error_on_validation_datasets():
    (cell,) = small_cells(replace(SMALL, sizes=(3,)))
    parts, bench = (NETWORK, DRAWS), Bench("cpu", progress=False)
    members = torch.cat([next(iter(part.ratios([cell], bench))).query.double() for part in parts])
    shares = cell.evaluations["validation"].episode.query.shares.double()
    found = next(iter(Joined("stacked", parts=parts, stacked=True).ratios([cell], bench)))
    assert found.role == "validation"

    def loss(weights):
        ratio = torch.einsum("m,mtn->tn", torch.as_tensor(weights), members)
        return RelativeSquaredError(0.5)(ratio, shares).mean().item()

    expected = minimize(loss, np.full(3, 1 / 3), bounds=[(0, None)] * 3)
    assert RelativeSquaredError(0.5)(found.query[0], shares).mean().item() == pytest.approx(expected.fun, abs=1e-5)
    assert min(loss(each) for each in np.eye(3)) > expected.fun + 1e-5
