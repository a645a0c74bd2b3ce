"""The outlier numbers of the benchmark are those of the public call."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from fewratio import Collection, DataNotFoundError, InlierOutlierDetector, RuLSIF
from fewratio_bench.evaluate import OutlierEvaluation
from fewratio_bench.methods import Kernel
from fewratio_bench.methods.base import Bench
from fewratio_bench.problems import LANDMINE, Cell


class Planted:
    """Datasets of different sizes whose outliers are off in one column."""

    name, data, sizes, episodes, validate_every, patience = "outliers", "Planted", (5,), "inliers", 2, None

    def evaluation(self, split, role, n_support, device):
        rng = np.random.default_rng(0)
        sizes = (40, 55, 47)
        arrays = [rng.normal(size=(n, 3)) for n in sizes]
        outliers = [np.arange(n) < 6 for n in sizes]
        for X, odd in zip(arrays, outliers, strict=True):
            X[odd, 0] += 1.5
        return OutlierEvaluation(Collection.from_arrays(arrays, outliers=outliers), n_support, n_support, 0, device)


def planted_cell():
    return Cell(Planted(), None, 5, torch.device("cpu"))


def landmine_cell():
    try:
        return Cell(LANDMINE, LANDMINE.split(0), 5, torch.device("cpu"))
    except DataNotFoundError:
        pytest.skip("the data of landmine are not here: set FEWRATIO_DATA")


@pytest.mark.parametrize("clip", ["ratio", "weights"])
@pytest.mark.parametrize("cell", [planted_cell, landmine_cell])
def test_the_public_detector_gives_the_benchmarks_auc(cell, clip):
    verdicts = Kernel("RuLSIF", "RuLSIF", clip, regs=(0.1,)).judge([cell()], Bench("cpu", progress=False))
    verdict = next(verdict for verdict in verdicts if verdict.role == "target")
    evaluation = verdict.cell.evaluations["target"]
    support, aucs = evaluation.episode.support, []
    # Of more than 300 instances RuLSIF draws 300 centres unless it is told otherwise; the benchmark takes all.
    estimator = RuLSIF(reg=0.1, clip=clip, centres=10_000)
    for nu, de, odd in zip(support.nu, support.de, evaluation._outliers, strict=True):
        batch = de[: len(odd)].numpy()
        aucs.append(roc_auc_score(~odd, InlierOutlierDetector(estimator).fit(nu.numpy()).score_samples(batch)))
    expected = evaluation.metrics(verdict.judgement)["auc"]
    assert 100 * np.mean(aucs) == pytest.approx(expected, abs=0.05)
