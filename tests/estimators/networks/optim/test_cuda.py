"""Training on a GPU, every step a replay of one captured graph, against the same training on a CPU."""

import numpy as np
import pytest
import torch

from fewratio.data.sources.gaussian import gaussian_family
from fewratio.estimators import pretrain_together
from tests.strategies import meta_estimator

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def train(device, n_members, checkpoint=None, **settings):
    settings = {"max_steps": 40, "validate_every": 15, "tasks_per_step": 2, "n_support": (1, 6)} | settings
    estimators = [
        meta_estimator(device=device, progress=False, random_state=seed, **settings) for seed in range(n_members)
    ]
    sources = [
        gaussian_family(12, n_instances=30 + 5 * seed, random_state=seed).collection for seed in range(n_members)
    ]
    pretrain_together(estimators, sources, [None] * n_members, checkpoint=checkpoint)
    return estimators


@pytest.mark.parametrize("n_members", [1, 3])
def test_gpu_and_cpu_train_alike(n_members):
    """Forty float32 steps of Adam: rounding differs by device and grows a little with every step."""
    for on_gpu, on_cpu in zip(train("cuda", n_members), train("cpu", n_members), strict=True):
        assert on_gpu.history_.step == on_cpu.history_.step
        np.testing.assert_allclose(on_gpu.history_.train, on_cpu.history_.train, atol=2e-4)
        np.testing.assert_allclose(on_gpu.history_.validation, on_cpu.history_.validation, atol=2e-4)


def test_gpu_training_resumes_from_a_checkpoint(tmp_path):
    checkpoint = tmp_path / "training.safetensors"
    (whole,) = train("cuda", 1)
    train("cuda", 1, checkpoint, max_steps=20)
    (resumed,) = train("cuda", 1, checkpoint)
    np.testing.assert_allclose(resumed.history_.validation, whole.history_.validation, atol=2e-4)


def test_predictions_come_back_as_numpy():
    (estimator,) = train("cuda", 1)
    ratio = estimator.fit([[0.0], [0.1]], [[1.0]]).predict([[0.5], [0.7]])
    assert isinstance(ratio, np.ndarray)
    assert np.isfinite(ratio).all()
