"""A small experiment: the synthetic problem with few datasets, and methods that learn for three steps."""

from dataclasses import replace

import pytest
import torch

from fewratio_bench import run
from fewratio_bench.experiments import Experiment, Panel
from fewratio_bench.methods import Kernel, Learned
from fewratio_bench.problems import Cell, SyntheticProblem
from fewratio_bench.records import Record

SMALL = SyntheticProblem(n_source=8, n_validation=3, n_target=4, n_instances=40, sizes=(2, 10))
TRAINING = {"max_steps": 3, "validate_every": 2, "tasks_per_step": 2, "averaging": 0.0}
OURS = Learned("Ours", "Ours", latent_dims=(3, 5), training=TRAINING)
KERNEL = Kernel("RuLSIF", "RuLSIF", regs=(0.01, 0.1))


def small(*methods, problem=SMALL):
    panels = tuple(Panel(problem.data, (problem,), metric) for metric in ("squared_error", "regret"))
    return Experiment("synthetic", "Small", panels, methods)


def small_cells(problem=SMALL, n_splits=1):
    place = torch.device("cpu")
    return [Cell(problem, problem.split(number), size, place) for number in range(n_splits) for size in problem.sizes]


def a_record(**changes):
    values = {
        "experiment": "synthetic",
        "data": "Gaussian-1d",
        "split": 0,
        "n_support": 10,
        "method": "RuLSIF",
        "parameters": {"reg": 0.1},
        "role": "target",
        "metric": "squared_error",
        "value": -0.6,
        "seconds": 1.0,
        "seed": 0,
        "commit": "abc",
        "device": "cpu",
    }
    return Record(**(values | changes))


@pytest.fixture
def experiment(monkeypatch):
    """Put other methods, or another problem, in the place of the synthetic experiment."""

    def put(*methods, **options):
        monkeypatch.setitem(run.EXPERIMENTS, "synthetic", small(*methods, **options))

    put(OURS, KERNEL)
    return put


@pytest.fixture
def measure(experiment):
    def measure(folder, n_splits, **options):
        (file,) = run.run("synthetic", folder, n_splits=n_splits, device="cpu", progress=False, **options)
        return file

    return measure


__all__ = ["KERNEL", "OURS", "SMALL", "TRAINING", "a_record", "replace", "small", "small_cells"]
