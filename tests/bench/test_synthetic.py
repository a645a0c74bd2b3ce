"""The synthetic experiment: records, resuming, tables, and the same numbers by another road."""

import dataclasses
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from fewratio import RuLSIF, gaussian_relative_ratio, relative_squared_error
from fewratio.data.episodes import EpisodeSampler
from fewratio.data.seeds import seed_for
from fewratio.errors import DataFileError
from fewratio_bench import cli, run
from fewratio_bench.evaluate import PairEvaluation
from fewratio_bench.problems import SyntheticProblem
from fewratio_bench.recipes import Bench, Kernel, Learned
from fewratio_bench.records import Record, RecordFile
from fewratio_bench.tables import make_rows, markdown, published_value

SMALL = SyntheticProblem(n_source=8, n_validation=3, n_target=4, n_instances=40)
METHODS = (
    Learned("Ours, small", "Ours", {"max_steps": 3, "validate_every": 2, "tasks_per_step": 2, "width": 8}),
    Kernel("RuLSIF, weights clipped", "RuLSIF", clip="weights", regs=(0.01, 0.1)),
)


@pytest.fixture
def small_experiment(monkeypatch):
    monkeypatch.setitem(run.EXPERIMENTS, "synthetic", (SMALL, METHODS))


def measure(folder, n_splits):
    return run.run("synthetic", n_splits, folder, device="cpu", progress=False)


def test_every_method_split_setting_and_role_is_recorded(small_experiment, tmp_path):
    records = measure(tmp_path, 2).read()
    assert len(records) == 2 * (1 + 2) * 2 * 2  # splits x settings x roles x metrics
    assert {record.split for record in records} == {0, 1}
    assert all(np.isfinite(record.value) for record in records)
    assert all(record.commit and record.device == "cpu" for record in records)


def test_a_second_run_measures_only_what_is_missing(small_experiment, tmp_path):
    first = measure(tmp_path, 1).read()
    longer = measure(tmp_path, 2).read()
    assert longer[: len(first)] == first
    assert len(longer) == 2 * len(first)
    assert measure(tmp_path, 2).read() == longer


def test_splits_and_supports_do_not_depend_on_what_else_runs(small_experiment, tmp_path):
    """The kernel method draws nothing, so its numbers must be the same alone or with others."""
    together = [record for record in measure(tmp_path / "a", 2).read() if record.method == METHODS[1].name]
    run.EXPERIMENTS["synthetic"] = (SMALL, METHODS[1:])
    alone = measure(tmp_path / "b", 2).read()
    assert [record.value for record in alone] == [record.value for record in together]


@pytest.mark.parametrize("clip", ["weights", "ratio"])
def test_the_batched_kernel_method_is_the_estimator_pair_by_pair(clip):
    split = SMALL.split(0)
    evaluation = PairEvaluation(SMALL, split.target, seed_for("supports"), "cpu")
    (fitted,) = Kernel("k", None, clip, regs=(0.1,)).fit(SMALL, [split], Bench("cpu", None))
    errors, oracle = [], []
    for episode in evaluation._episodes.batches():
        for task, (i, j) in enumerate(evaluation._episodes.tasks[0]):
            nu, de = (side[0, task].numpy() for side in (episode.support.nu, episode.support.de))
            # The query of a pair of a dataset with itself is shorter, so the others' is padded or it is.
            real = episode.query.shares.expand(*episode.query.rows.shape[:2], 2, -1)[0, task].numpy() > 0
            rows = episode.query.rows[0, task].numpy()
            estimator = RuLSIF(reg=0.1, clip=clip).fit(nu, de)
            truth = (split.target.means[i], split.target.stds[i], split.target.means[j], split.target.stds[j])
            errors.append(relative_squared_error(*(estimator.predict(rows[side]) for side in real)))
            oracle.append(relative_squared_error(*(gaussian_relative_ratio(rows[side], *truth) for side in real)))
    score = evaluation.score(fitted.models[0])
    # The batched road works in float32.
    assert score.squared_error == pytest.approx(np.mean(errors), abs=2e-5)
    assert score.regret == pytest.approx(np.mean(errors) - np.mean(oracle), abs=2e-5)


@pytest.mark.filterwarnings("ignore:Training was interrupted")
def test_an_interrupted_run_records_nothing_half_trained_and_goes_on(small_experiment, tmp_path, monkeypatch, capsys):
    whole = measure(tmp_path / "whole", 1).read()
    drawn = []
    draw = EpisodeSampler.__call__

    def press_ctrl_c_once(self, step):
        drawn.append(int(step))
        if len(drawn) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return draw(self, step)

    monkeypatch.setattr(EpisodeSampler, "__call__", press_ctrl_c_once)
    arguments = ["run", "synthetic", "--results", str(tmp_path / "cut"), "--seeds", "1", "--device", "cpu"]
    assert cli.main([*arguments, "--no-progress"]) == 1
    assert "run again to go on" in capsys.readouterr().err
    assert RecordFile(tmp_path / "cut" / "synthetic" / "records.jsonl").read() == []
    assert cli.main([*arguments, "--no-progress"]) == 0
    assert drawn == [0, 1, 2]
    resumed = RecordFile(tmp_path / "cut" / "synthetic" / "records.jsonl").read()
    assert [record.value for record in resumed] == [record.value for record in whole]


def test_records_of_other_settings_are_not_mixed_with_new_ones(small_experiment, tmp_path, capsys):
    measure(tmp_path, 1)
    changed = dataclasses.replace(METHODS[0], settings=METHODS[0].settings | {"width": 9})
    run.EXPERIMENTS["synthetic"] = (SMALL, (changed, *METHODS[1:]))
    with pytest.raises(DataFileError, match="'Ours, small' made with other settings"):
        measure(tmp_path, 2)


def a_record(**changes):
    values = {
        "experiment": "synthetic",
        "data": "Gaussian-1d",
        "split": 0,
        "n_support": 10,
        "method": METHODS[1].name,
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


def test_adding_records_is_all_or_nothing(tmp_path, monkeypatch):
    file = RecordFile(tmp_path / "records.jsonl")
    file.append([a_record()])
    monkeypatch.setattr("os.replace", lambda *paths: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        file.append([a_record(split=1)])
    assert file.read() == [a_record()]
    assert list(tmp_path.iterdir()) == [file.path]


@pytest.mark.parametrize("line", ['{"experiment": "synth', '{"other": 1}'])
def test_a_damaged_line_is_named(tmp_path, line):
    file = RecordFile(tmp_path / "records.jsonl")
    file.append([a_record()])
    file.path.write_text(file.path.read_text() + line)
    with pytest.raises(DataFileError, match=r"Line 2 of .*records.jsonl"):
        file.read()


def test_the_two_selection_rules_choose_by_their_own_datasets():
    """On the targets reg 0.1 is better, on the validation datasets 0.01."""
    records = [
        a_record(split=split, parameters={"reg": reg}, role=role, metric=metric, value=value + 0.01 * reg * split)
        for split in (0, 1, 2)
        for reg, role, value in (
            (0.1, "target", -0.6),
            (0.01, "target", -0.5),
            (0.1, "validation", -0.5),
            (0.01, "validation", -0.7),
        )
        for metric in ("squared_error", "regret")
    ]
    rows = {row.selection: row for row in make_rows(records, METHODS)}
    assert rows["best_on_test"].squared_error == pytest.approx([-0.6, -0.599, -0.598])
    assert rows["validation"].squared_error == pytest.approx([-0.5, -0.4999, -0.4998])
    table = markdown(list(rows.values()), records)
    assert "-0.559" in table  # RuLSIF's published number
    assert "best_on_test" in table
    assert "abc" in table


def test_published_numbers_are_looked_up():
    assert published_value("synthetic", "Gaussian-1d", 10, "Ours") == -0.613
    assert published_value("relative-dre", "Mnist-r", 2, "Ours") == -0.748
    assert published_value("synthetic", "Gaussian-1d", 10, "Nobody") is None


def test_table_without_records_says_what_to_do(tmp_path, capsys):
    assert cli.main(["table", "synthetic", "--results", str(tmp_path)]) == 1
    assert "fewratio-bench run synthetic" in capsys.readouterr().err


def test_run_and_table_from_the_command_line(small_experiment, tmp_path, capsys):
    arguments = ["--results", str(tmp_path), "--seeds", "2", "--device", "cpu", "--no-progress"]
    assert cli.main(["run", "synthetic", *arguments]) == 0
    assert "24 records" in capsys.readouterr().out
    assert cli.main(["table", "synthetic", "--results", str(tmp_path)]) == 0
    assert "| Ours, small | none | -0.613 |" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["run", "nothing"], ["run", "synthetic", "--seeds", "0"], []])
def test_wrong_calls_exit_with_two(arguments):
    with pytest.raises(SystemExit) as exit_:
        cli.main(arguments)
    assert exit_.value.code == 2


def test_runner_needs_nothing_but_torch_numpy_scipy_and_scikit_learn(tmp_path):
    """The full runs happen where little else is installed (narwhals comes with scikit-learn)."""
    blocked = ["rich", "typer", "safetensors", "jaxtyping", "pandas", "polars", "pyarrow", "matplotlib"]
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked!r}))\n"
        "import importlib.util as u; find = u.find_spec\n"
        f"u.find_spec = lambda name, *a: None if name in {blocked!r} else find(name, *a)\n"
        "from fewratio_bench import run\n"
        "from fewratio_bench.problems import SyntheticProblem\n"
        "from fewratio_bench.recipes import Learned\n"
        f"problem = SyntheticProblem(**{dataclasses.asdict(SMALL)!r})\n"
        f"run.EXPERIMENTS['synthetic'] = (problem, (Learned('Ours', 'Ours', {METHODS[0].settings!r}),))\n"
        f"run.run('synthetic', 1, __import__('pathlib').Path({str(tmp_path)!r}), 'cpu', True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "synthetic" / "records.jsonl").read_text().splitlines()
    assert {json.loads(line)["method"] for line in lines} == {"Ours"}
