"""Running an experiment: what is recorded, what is left out, and going on after a kill."""

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from fewratio.errors import DataNotFoundError
from fewratio.estimators.networks.training.episodes import EpisodeSampler
from fewratio_bench import cli, run
from fewratio_bench.aggregation import aggregate
from fewratio_bench.experiments import Experiment, Panel
from fewratio_bench.records import RecordFile
from tests.bench.conftest import KERNEL, OURS, SMALL, TRAINING


@pytest.mark.slow
def test_every_method_split_size_setting_and_role_is_recorded(measure, tmp_path):
    records = measure(tmp_path, 2).read()
    # methods' settings x splits x sizes x roles x metrics (J, regret and AUC)
    assert len(records) == (2 + 2) * 2 * 2 * 2 * 3
    assert {(record.split, record.n_support) for record in records} == {(0, 2), (0, 10), (1, 2), (1, 10)}
    assert all(np.isfinite(record.value) for record in records)
    assert all(record.commit and record.device == "cpu" for record in records)


@pytest.mark.slow
def test_a_second_run_measures_only_what_is_missing(measure, tmp_path):
    first = measure(tmp_path, 1).read()
    longer = measure(tmp_path, 2).read()
    assert longer[: len(first)] == first
    assert len(longer) == 2 * len(first)
    assert measure(tmp_path, 2).read() == longer


@pytest.mark.parametrize("n_splits", [1, 2])
@pytest.mark.parametrize("lost", [("target", "regret"), ("validation", "squared_error")])
def test_a_cell_that_lost_a_line_is_measured_again(measure, experiment, tmp_path, n_splits, lost):
    experiment(dataclasses.replace(KERNEL, regs=(0.1,)))
    file = measure(tmp_path, n_splits)
    whole = file.read()
    (number, *_) = [n for n, record in enumerate(whole) if (record.role, record.metric) == lost]
    lines = file.path.read_text().splitlines(keepends=True)
    file.path.write_text("".join(lines[:number] + lines[number + 1 :]))
    again = measure(tmp_path, n_splits).read()
    assert {(record.split, record.n_support) for record in again[len(whole) - 1 :]} == {
        (whole[number].split, whole[number].n_support)
    }
    (result, _) = aggregate(run.EXPERIMENTS["synthetic"], {SMALL.data: again})
    (before, _) = aggregate(run.EXPERIMENTS["synthetic"], {SMALL.data: whole})
    assert result.rows == before.rows
    assert measure(tmp_path, n_splits).read() == again


@pytest.mark.slow
def test_splits_and_supports_do_not_depend_on_what_else_runs(measure, experiment, tmp_path):
    """The kernel method draws nothing, so its numbers must be the same alone or with others."""
    together = [record for record in measure(tmp_path / "a", 2).read() if record.method == KERNEL.name]
    experiment(KERNEL)
    alone = measure(tmp_path / "b", 2).read()
    assert [record.value for record in alone] == [record.value for record in together]


@pytest.mark.slow
def test_two_processes_give_what_one_gives(measure, tmp_path):
    one, two = (measure(tmp_path / str(n_jobs), 1, n_jobs=n_jobs).read() for n_jobs in (1, 2))
    # Smaller ensembles add in another order.
    np.testing.assert_allclose([r.value for r in one], [r.value for r in two], atol=1e-4)
    assert [(r.method, r.n_support, r.parameters) for r in one] == [(r.method, r.n_support, r.parameters) for r in two]


def test_a_quick_run_is_the_same_experiment_made_small(measure, tmp_path):
    records = measure(tmp_path, None, quick=True).read()
    assert {record.split for record in records} == {0, 1}
    assert {record.n_support for record in records} == {2, 10}
    assert {record.parameters.get("latent_dim") for record in records} == {32, None}


def test_a_source_that_is_not_here_leaves_the_others_alone(measure, tmp_path, monkeypatch, capsys):
    @dataclasses.dataclass(frozen=True)
    class Absent(type(SMALL)):
        data: str = "Absent"

        def split(self, number):
            raise DataNotFoundError("it is not here")

    panels = tuple(Panel(problem.data, (problem,), "squared_error") for problem in (Absent(), SMALL))
    monkeypatch.setitem(run.EXPERIMENTS, "synthetic", Experiment("synthetic", "Two", panels, (KERNEL,)))
    assert measure(tmp_path, 1).read()
    assert "Absent is left out: it is not here" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["gaussian-1d"]
    with pytest.raises(DataNotFoundError, match="'Absent': not here, or not all of it"):
        run.run_experiment("synthetic", tmp_path, n_splits=1, device="cpu", progress=False, data=["Absent"])


@pytest.fixture
def press_ctrl_c(monkeypatch):
    """Interrupt while the episodes of a step are drawn; gives the list of steps that are drawn."""
    draw = EpisodeSampler.__call__

    def arm(when):
        drawn = []

        def draw_and_press(self, step):
            drawn.append(int(step))
            if len(drawn) == when:
                os.kill(os.getpid(), signal.SIGINT)
            return draw(self, step)

        monkeypatch.setattr(EpisodeSampler, "__call__", draw_and_press)
        return drawn

    return arm


@pytest.mark.filterwarnings("ignore:Training was interrupted")
@pytest.mark.slow
def test_an_interrupted_run_records_nothing_half_trained_and_goes_on(measure, tmp_path, press_ctrl_c, capsys):
    whole = measure(tmp_path / "whole", 1).read()
    drawn = press_ctrl_c(2)
    arguments = ["run", "synthetic", "--results", str(tmp_path / "cut"), "--splits", "1", "--device", "cpu"]
    file = RecordFile(tmp_path / "cut" / "gaussian-1d" / "records.jsonl")
    assert cli.main([*arguments, "--no-progress"]) == 1
    assert "run again to go on" in capsys.readouterr().err
    assert file.read() == []
    assert cli.main([*arguments, "--no-progress"]) == 0
    assert drawn == [0, 1, 2]
    assert [record.value for record in file.read()] == [record.value for record in whole]
    assert sorted(path.name for path in file.path.parent.glob("[!.]*")) == ["records.jsonl"]


PROGRAM = """
import sys, pathlib
from dataclasses import replace
from fewratio_bench import run
from tests.bench.conftest import KERNEL, OURS, small
methods = KERNEL, replace(OURS, training=OURS.training | {{"max_steps": {steps}, "validate_every": {steps}}})
run.EXPERIMENTS["synthetic"] = small(*methods)
run.run_experiment("synthetic", pathlib.Path({folder!r}), n_splits=1, device="cpu", progress=False)
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_and_gets_the_same_records(measure, experiment, tmp_path):
    """Killed in the middle of the second method's training, without a chance to tidy up."""
    steps = 300
    longer = TRAINING | {"max_steps": steps, "validate_every": steps}
    experiment(KERNEL, dataclasses.replace(OURS, training=longer))
    cut = RecordFile(tmp_path / "cut/gaussian-1d/records.jsonl")
    process = subprocess.Popen([sys.executable, "-c", PROGRAM.format(steps=steps, folder=str(tmp_path / "cut"))])
    while not (cut.path.exists() and cut.read()) and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    assert process.wait() != 0, "it was done before it could be killed"
    before = cut.read()
    assert {record.method for record in before} == {"RuLSIF"}
    after, whole = (measure(tmp_path / name, 1).read() for name in ("cut", "whole"))
    assert after[: len(before)] == before
    assert [record.value for record in after] == [record.value for record in whole]


@pytest.mark.slow
def test_records_of_other_settings_are_kept_apart(measure, experiment, tmp_path, capsys):
    """A method that has changed is measured again; tables show only what it is now."""
    before = measure(tmp_path, 1).read()
    changed = dataclasses.replace(OURS, depth=2)
    experiment(changed, KERNEL)
    after = measure(tmp_path, 1).read()
    assert after[: len(before)] == before
    new = after[len(before) :]
    assert {record.method for record in new} == {"Ours"}
    assert {record.parameters["depth"] for record in new} == {2}
    (result, _) = aggregate(run.EXPERIMENTS["synthetic"], {SMALL.data: after})
    present = [*new, *(record for record in before if record.method != "Ours")]
    (alone, _) = aggregate(run.EXPERIMENTS["synthetic"], {SMALL.data: present})
    assert result.rows == alone.rows


@pytest.mark.filterwarnings("ignore:Training was interrupted")
@pytest.mark.slow
def test_a_checkpoint_of_another_loss_is_not_taken(measure, experiment, tmp_path, press_ctrl_c):
    """Bounds are trained one after the other; a run cut off in the second does not go on from it in the first."""
    shared = {"encoder": "none", "head": "shared", "clip": "ratio", "bounds": (0.1, 10.0), "latent_dims": (3,)}
    method = dataclasses.replace(OURS, **shared, training=TRAINING | {"max_steps": 4})
    experiment(method)
    whole = [record.value for record in measure(tmp_path / "whole", 1).read()]
    drawn = press_ctrl_c(7)
    with pytest.raises(KeyboardInterrupt):
        measure(tmp_path / "cut", 1)
    assert drawn == [0, 1, 2, 3, 0, 1, 2]
    assert len(list(tmp_path.glob("cut/*/.*.checkpoint"))) == 1
    assert [record.value for record in measure(tmp_path / "cut", 1).read()] == whole


# ---------------------------------------------------------------- command line


def test_table_without_records_says_what_to_do(tmp_path, capsys):
    assert cli.main(["table", "synthetic", "--results", str(tmp_path)]) == 1
    assert "fewratio-bench run synthetic" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--methods", "Yours"], ["--data", "Nowhere"], ["--device", "abacus"]])
def test_a_wrong_call_is_told_from_a_failure(experiment, tmp_path, capsys, wrong):
    assert cli.main(["run", "synthetic", "--results", str(tmp_path), *wrong]) == 2
    assert wrong[1] in capsys.readouterr().err


@pytest.mark.slow
def test_run_and_table_from_the_command_line(experiment, tmp_path, capsys):
    arguments = ["--results", str(tmp_path), "--splits", "2", "--device", "cpu", "--no-progress"]
    assert cli.main(["run", "synthetic", *arguments]) == 0
    assert "96 records" in capsys.readouterr().out
    assert cli.main(["table", "synthetic", "--results", str(tmp_path)]) == 0
    assert "| paper's method | validation |" in capsys.readouterr().out


def test_a_quick_run_has_a_quick_table(experiment, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", "synthetic", "--quick", "--device", "cpu", "--no-progress"]) == 0
    assert cli.main(["table", "synthetic", "--quick"]) == 0
    table = capsys.readouterr().out
    assert "| paper's method | none |" in table
    assert "A quick run" in table
    # Of full runs there is nothing but what the kernel method has in common with them.
    records = run.record_file(tmp_path / "results" / "quick", SMALL)
    learned = [record for record in records.read() if record.method == "Ours"]
    records.path.unlink()
    records.append(learned)
    assert cli.main(["table", "synthetic", "--results", "results/quick"]) == 1
    assert "only those of a quick run, for which give --quick" in capsys.readouterr().err


def test_a_log_gets_a_line_for_every_method_that_is_done(experiment, tmp_path, capsys):
    arguments = ["run", "synthetic", "--results", str(tmp_path), "--splits", "1", "--device", "cpu"]
    assert cli.main(arguments) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Gaussian-1d, Ours", "Gaussian-1d, RuLSIF"]
    assert all(re.search(r": 2 trials .* in \d+\.\d s$", line) for line in lines)
    assert cli.main(arguments) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"Gaussian-1d, {name}: measured before" for name in ("Ours", "RuLSIF")
    ]
    assert cli.main([*arguments, "--no-progress"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "arguments",
    [["run", "nothing"], ["run", "synthetic", "--splits", "0"], ["run", "synthetic", "--quick", "--paper"], []],
)
def test_wrong_calls_exit_with_two(arguments):
    with pytest.raises(SystemExit) as exit_:
        cli.main(arguments)
    assert exit_.value.code == 2


@pytest.mark.slow
def test_runner_needs_nothing_but_torch_numpy_scipy_and_scikit_learn(tmp_path):
    """The full runs happen where little else is installed (narwhals comes with scikit-learn)."""
    blocked = [
        "rich",
        "typer",
        "safetensors",
        "jaxtyping",
        "pandas",
        "polars",
        "pyarrow",
        "matplotlib",
        "pooch",
        "jinja2",
    ]
    program = (
        "import sys; import importlib.util as u; find = u.find_spec\n"
        "class Blocked:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name.partition('.')[0] in {blocked!r}: raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Blocked())\n"
        f"u.find_spec = lambda name, *a: None if name in {blocked!r} else find(name, *a)\n"
        "from fewratio_bench import run\n"
        "from fewratio_bench.experiments import Experiment, Panel\n"
        "from fewratio_bench.methods import Learned\n"
        "from fewratio_bench.problems import SyntheticProblem\n"
        f"problem = SyntheticProblem(**{dataclasses.asdict(SMALL)!r})\n"
        f"ours = Learned('Ours', 'Ours', latent_dims=(3,), training={TRAINING!r})\n"
        "panel = Panel('Gaussian-1d', (problem,), 'squared_error')\n"
        "run.EXPERIMENTS['synthetic'] = Experiment('synthetic', 'Small', (panel,), (ours,))\n"
        f"folder = __import__('pathlib').Path({str(tmp_path)!r})\n"
        "run.run_experiment('synthetic', folder, n_splits=1, device='cpu', progress=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "gaussian-1d" / "records.jsonl").read_text().splitlines()
    assert {json.loads(line)["method"] for line in lines} == {"Ours"}
