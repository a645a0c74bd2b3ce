"""Training by two processes that torchrun started; run by it, this file is such a process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from fewratio import load_model
from fewratio.app import app
from fewratio.core.container import read_tensors
from fewratio.core.objectives import RelativeSquaredError
from fewratio.errors import ParameterError
from fewratio.estimators.networks.optim import Ensemble, Processes, TrainingPlan, train
from fewratio.estimators.networks.optim.loop import TrainingRun
from fewratio_bench.universal_training import Bank, Stage, train_universal
from tests.strategies import training_parts, weights_of

ROOT = Path(__file__).parents[4]
MEMBERS = [0, 1]
# Two for one process and one for the other.
N_TASKS = 3
# In float64, where gradients are only added in another order; and in float32, where rounding in a small gradient moves
# a weight by some of a step (1e-3), since Adam divides by the size of gradients.
CLOSE = {torch.float64: dict(rtol=1e-9, atol=1e-11), torch.float32: dict(rtol=1e-3, atol=1e-4)}


def torchrun(*arguments):
    """Let two processes do something; gives their output and errors."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def train_members(checkpoint=None, max_steps=12, wrap=lambda draw: draw):
    """Train with a checkpoint at every validation; gives the weights and the validations."""
    parts = training_parts(MEMBERS, tasks_per_step=N_TASKS, tasks_per_batch=33, part=Processes.from_launch().part)
    plan = TrainingPlan(max_steps, 1e-2, validate_every=4, checkpoint=checkpoint, checkpoint_seconds=0)
    ensemble = Ensemble(parts.models, averaging=0.5)
    histories = train(ensemble, wrap(parts.draw), parts.validation, RelativeSquaredError(), plan)
    return weights_of(parts.models), validations(histories)


def train_tiny_universal():
    stages = (Stage(4, 1e-3, largest=4, tasks=N_TASKS, n_query=8),)
    model, histories = train_universal(3, stages=stages, bank=Bank(32, 32, 8))
    return weights_of([model]), validations(histories)


def validations(histories):
    return [torch.tensor([history.best_step, *history.validation], dtype=torch.float64) for history in histories]


def dying(draw):
    """End the second process at the seventh step, the first time."""

    def draw_or_die(step):
        if int(step) == 6 and os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            os.kill(os.getpid(), signal.SIGKILL)
        return draw(step)

    return draw_or_die


def main(folder):
    found = train_members(Path(folder, "checkpoint"), wrap=dying), train_tiny_universal()
    torch.save(found, Path(folder, os.environ["RANK"]))


@pytest.mark.slow
def test_two_processes_of_which_one_is_killed_give_what_one_gives(tmp_path):
    _, errors = torchrun("--max-restarts", "1", __file__, str(tmp_path))
    assert "exitcode: -9" in errors
    first, second = (torch.load(tmp_path / rank) for rank in "01")
    torch.testing.assert_close(second, first, rtol=0, atol=0)
    for together, alone in zip(first, (train_members(), train_tiny_universal()), strict=True):
        torch.testing.assert_close(together, alone, **CLOSE[together[0][0]["head.log_reg"].dtype])

    # One process resumes where two have ended.
    resumed = train_members(tmp_path / "checkpoint", max_steps=20)
    torch.testing.assert_close(resumed, train_members(max_steps=20), **CLOSE[torch.float64])
    assert read_tensors(tmp_path / "checkpoint", "checkpoint")[1]["step"] == 20


@pytest.mark.slow
def test_the_command_line_trains_together_and_answers_once(tmp_path):
    folder = tmp_path / "sources"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in "abcdefgh":
        np.savetxt(folder / f"{name}.csv", rng.normal(size=(40, 2)) + 2 * rng.normal(size=2), delimiter=",")
    command = ["train", str(folder), "--learner", "network", "--steps", "12", "--device", "cpu", "--output"]
    output, _ = torchrun("-m", "fewratio", *command, str(tmp_path / "together"))
    assert output.count("Model: ") == 1
    assert CliRunner().invoke(app, [*command, str(tmp_path / "alone")]).exit_code == 0
    models = [load_model(tmp_path / name) for name in ("together", "alone")]
    losses = [model.history_.best_validation for model in models]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    rows = rng.normal(size=(3, 5, 2))
    np.testing.assert_allclose(*(model.fit(*rows[:2]).predict(rows[2]) for model in models), **CLOSE[torch.float32])


def test_processes_with_different_data_are_refused():
    class Second(Processes):
        def call_in_first(self, give):
            return "other data", None

    parts = training_parts()
    with pytest.raises(ParameterError, match="different data, settings or seeds"):
        TrainingRun(
            Ensemble(parts.models), parts.draw, parts.validation, RelativeSquaredError(), TrainingPlan(), Second(1, 2)
        ).resume()


def test_more_processes_than_tasks_are_refused():
    with pytest.raises(ParameterError, match="tasks_per_step is 2, but more processes"):
        training_parts(part=slice(2, None, 3))


if __name__ == "__main__":
    main(*sys.argv[1:])
