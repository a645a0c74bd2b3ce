"""A small experiment, folders of a test's own, and a server on this machine that a download can come from."""

import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch

from fewratio_bench import run
from fewratio_bench.experiments import Experiment, Panel
from fewratio_bench.methods import Kernel, Learned
from fewratio_bench.problems import SyntheticProblem, Trial
from fewratio_bench.records import Record
from tests.trials import without_trials

SMALL = SyntheticProblem(n_source=8, n_validation=3, n_target=4, n_instances=40, sizes=(2, 10))
TRAINING = {"max_steps": 3, "validate_every": 2, "tasks_per_step": 2, "averaging": 0.0}
OURS = Learned("Ours", "Ours", latent_dims=(3, 5), training=TRAINING)
KERNEL = Kernel("RuLSIF", "RuLSIF", regs=(0.01, 0.1))


_without_trials = pytest.fixture(scope="module", autouse=True)(without_trials)


def small(*methods, problem=SMALL):
    panels = tuple(Panel(problem.data, (problem,), metric) for metric in ("squared_error", "regret"))
    return Experiment("synthetic", "Small", panels, methods)


def small_cells(problem=SMALL, n_splits=1):
    place = torch.device("cpu")
    return [Trial(problem, problem.split(number), size, place) for number in range(n_splits) for size in problem.sizes]


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
        (file,) = run.run_experiment("synthetic", folder, n_splits=n_splits, device="cpu", progress=False, **options)
        return file

    return measure


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """The only data folder, empty; the cache is another."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("FEWRATIO_DATA", str(folder))
    monkeypatch.setenv("FEWRATIO_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def cache(data_folder, tmp_path):
    """The cache that belongs to `data_folder`; not made yet."""
    return tmp_path / "cache"


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A folder and the address under which its files are served."""
    folder = tmp_path / "served"
    folder.mkdir()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(folder)))
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


__all__ = ["KERNEL", "OURS", "SMALL", "TRAINING", "a_record", "replace", "small", "small_cells"]
