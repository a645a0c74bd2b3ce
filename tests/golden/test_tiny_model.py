"""Ratios of one tiny model, trained for a few steps in float64, against those stored beside this file.

It notices any change of the start, the episodes, the loss, the optimiser or the solve, wanted or not. It does not show
that the ratios are right, nor that training helps: twelve steps hardly move them, and the stored values were written
by the very code that is tested. After a change that is meant to alter them, write them anew and say why in the commit:

    python -m tests.golden.test_tiny_model
"""

import json
from pathlib import Path

import numpy as np
import torch

from fewratio.core.objectives import RelativeSquaredError
from fewratio.estimators.networks.optim import Ensemble, TrainingPlan, train
from fewratio.estimators.networks.pair import Pair
from tests.strategies import training_parts

STORED = Path(__file__).with_name("tiny_model.json")


def compute():
    """Train two members together and evaluate both on one support of three against two instances."""
    parts = training_parts([0, 1], name="learned alpha")
    plan = TrainingPlan(max_steps=12, validate_every=5, learning_rate=1e-2)
    histories = train(Ensemble(parts.models), parts.draw, parts.validation, RelativeSquaredError(), plan)
    support = Pair(*(torch.tensor(side, dtype=torch.float64)[:, None] for side in ([-0.5, 0.0, 0.4], [1.0, 2.5])))
    x = torch.linspace(-3, 3, 7, dtype=torch.float64)[:, None]
    with torch.no_grad():
        ratios = [model.adapt(support)(x).tolist() for model in parts.models]
    return {
        "ratios": ratios,
        "validation": [history.validation for history in histories],
        "best_step": [history.best_step for history in histories],
    }


def test_ratios_are_those_stored():
    stored, now = json.loads(STORED.read_text(encoding="utf-8")), compute()
    assert now.keys() == stored.keys()
    for name, values in stored.items():
        # Another BLAS rounds at 1e-16; Adam's division by small gradients can make that 1e-10 in twelve steps.
        np.testing.assert_allclose(now[name], values, rtol=1e-7, err_msg=name)


if __name__ == "__main__":
    STORED.write_text(json.dumps(compute(), indent=1) + "\n", encoding="utf-8")
