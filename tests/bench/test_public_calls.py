"""The numbers of the benchmark are those of the public calls: one implementation."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from fewratio import Collection, InlierOutlierDetector, MetaRatioEstimator, RuLSIF
from fewratio.errors import DataNotFoundError
from fewratio.estimators.networks import Architecture
from fewratio.estimators.networks.members import Network, Trained
from fewratio.estimators.source_columns import SourceColumns
from fewratio_bench.evaluate import OutlierEvaluation
from fewratio_bench.methods import Kernel, Learned
from fewratio_bench.methods.base import Bench
from fewratio_bench.problems import LANDMINE, MNIST_R, Trial
from fewratio_bench.splits import Split
from tests.bench.conftest import SMALL, TRAINING

KERNELS = {clip: Kernel("RuLSIF", "RuLSIF", clip, regs=(0.1,)) for clip in ("ratio", "weights")}
LEARNED = Learned("Ours", "Ours", latent_dims=(4,), training=TRAINING)


def judged(method, cell):
    """Give what a method of the benchmark says of the targets, and the same as an estimator."""
    bench = Bench("cpu", progress=False)
    (verdict,) = [verdict for verdict in method.judge([cell], bench) if verdict.role == "target"]
    if method is not LEARNED:
        # Of more than 300 instances RuLSIF draws 300 centres unless it is told otherwise; the benchmark takes all.
        return verdict, RuLSIF(reg=0.1, clip=method.clip, centres=10_000)
    (((model, history, _),),) = bench.trained.values()
    estimator = MetaRatioEstimator(network=Architecture(latent_dim=4, clip="weights"), device="cpu")
    n_features = cell.evaluations["target"].episode.support.nu.shape[-1]
    network = Network("mlp", model, history)
    estimator._set_trained(Trained(estimator.get_params(deep=False), [network], SourceColumns(n_features, None, None)))
    return verdict, estimator


def cell_of(problem, n_support=5):
    try:
        return Trial(problem, problem.split(0), n_support, torch.device("cpu"))
    except DataNotFoundError:
        pytest.skip(f"the data of {problem.data} are not here: set FEWRATIO_DATA")


# ---------------------------------------------------------------- dataset comparison


@pytest.mark.parametrize("method", [*KERNELS.values(), LEARNED], ids=["ratio", "weights", "learned"])
@pytest.mark.parametrize("problem", [SMALL, MNIST_R], ids=lambda problem: problem.data)
def test_divergences_of_fits_give_the_benchmarks_auc(problem, method):
    verdict, estimator = judged(method, cell_of(problem))
    evaluation = verdict.trial.evaluations["target"]
    support = evaluation.episode.support
    divergences = [
        estimator.fit(nu.numpy(), de.numpy()).divergence() for nu, de in zip(support.nu, support.de, strict=True)
    ]
    # The benchmark works in float32.
    np.testing.assert_allclose(verdict.judgement.divergence.numpy(), divergences, atol=1e-4)
    different = evaluation.tasks[:, 0] != evaluation.tasks[:, 1]
    expected = evaluation.metrics(verdict.judgement)["auc"]
    assert 100 * roc_auc_score(different, np.round(divergences, 5)) == pytest.approx(expected, abs=0.1)


# ---------------------------------------------------------------- outliers


class Planted:
    """Datasets of different sizes whose outliers are off in one column."""

    name, data, sizes, episodes, validate_every, patience = "outliers", "Planted", (5,), "inliers", 2, None

    def split(self, number):
        rng = np.random.default_rng(0)
        sizes = (40, 55, 47, 50, 44, 52)
        arrays = [rng.normal(size=(n, 3)) for n in sizes]
        outliers = [np.arange(n) < 6 for n in sizes]
        for X, outlier in zip(arrays, outliers, strict=True):
            X[outlier, 0] += 1.5
        datasets = Collection.from_arrays(arrays, outliers=outliers)
        return Split(datasets[3:5], datasets[5:], datasets[:3], number, n_normals=20)

    def evaluation(self, split, role, n_support, device):
        return OutlierEvaluation(getattr(split, role), n_support, n_support, 0, device)


@pytest.mark.parametrize("method", [*KERNELS.values(), LEARNED], ids=["ratio", "weights", "learned"])
@pytest.mark.parametrize("problem", [Planted(), LANDMINE], ids=lambda problem: problem.data)
def test_the_public_detector_gives_the_benchmarks_auc(problem, method):
    verdict, estimator = judged(method, cell_of(problem))
    evaluation = verdict.trial.evaluations["target"]
    support, aucs = evaluation.episode.support, []
    for nu, de, outlier in zip(support.nu, support.de, evaluation._outliers, strict=True):
        batch = de[: len(outlier)].numpy()
        aucs.append(roc_auc_score(~outlier, InlierOutlierDetector(estimator).fit(nu.numpy()).score_samples(batch)))
    expected = evaluation.metrics(verdict.judgement)["auc"]
    assert 100 * np.mean(aucs) == pytest.approx(expected, abs=0.05)
