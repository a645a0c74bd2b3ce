"""The command: files, the state that it resumes from, exit codes, and two processes at once."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from fewratio import DriftMonitor
from fewratio.app import app
from fewratio.monitor import command

MONDAY = ["monitor", "reference.csv", "monday.csv"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    sizes = {"reference": (200, 0), "monday": (40, 0), "tuesday": (60, 1.5), "wednesday": (20, 0)}
    for name, (n, shift) in sizes.items():
        np.savetxt(
            tmp_path / f"{name}.csv", rng.normal((shift, 0), size=(n, 2)), "%.4f", ",", header="x,y", comments=""
        )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, code=0):
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == code, done.output
    return done


def test_a_stream_in_one_call_and_in_several(folder):
    whole = json.loads(run(*MONDAY, "tuesday.csv", "wednesday.csv", "--json").stdout)
    run(*MONDAY, "--state", "s.fewratio", "--fail-if", "alarm")
    # Files that were counted may be given again, as by the same command with one more file.
    done = run(*MONDAY, "tuesday.csv", "--state", "s.fewratio", "--fail-if", "alarm", code=3)
    assert "skipped     monday.csv" in done.stdout
    assert "Columns: x (higher: " in done.stderr
    later = json.loads(run("monitor", "reference.csv", "wednesday.csv", "--state", "s.fewratio", "--json").stdout)
    assert later["evidence"] == pytest.approx(whole["evidence"])
    assert [batch["name"] for batch in later["batches"]] == ["monday.csv", "tuesday.csv", "wednesday.csv"]
    again = json.loads(run(*MONDAY, "--state", "s.fewratio", "--json").stdout)
    assert (again["n_rows"], again["skipped"]) == (120, ["monday.csv"])


def test_results_as_files(folder):
    run(*MONDAY, "tuesday.csv", "--report", "r.html", "--plot", "p.svg", "-o", "b.csv")
    assert "Evidence over time" in (folder / "r.html").read_text()
    assert (folder / "p.svg").read_text().startswith("<svg")
    assert (folder / "b.csv").read_text().splitlines()[0] == "name,number,first,evidence"


def test_evidence_beyond_the_range_of_numbers_is_an_alarm(folder):
    """Grams among kilograms: the p-value is 0."""
    rng = np.random.default_rng(1)
    for name, n, unit in (("kg", 1000, 1), ("g", 1500, 1000)):
        np.savetxt(folder / f"{name}.csv", unit * rng.normal(20, 1, n), "%.4f", header="weight", comments="")
    done = run("monitor", "kg.csv", "g.csv", "--fail-if", "alarm", code=3)
    assert re.search(r"evidence +10\^\d+ at its largest", done.output)


def test_another_reference_or_level_needs_a_new_start(folder):
    run(*MONDAY, "--state", "s.fewratio")
    for arguments, said in {
        ("monitor", "wednesday.csv", "tuesday.csv"): "reference has other rows",
        (*MONDAY, "--level", "0.05"): "--level is 0.05",
        (*MONDAY, "--drop", "x"): "--drop is ['x'], but was not given when the monitor was made",
    }.items():
        assert said in run(*arguments, "--state", "s.fewratio", code=2).stderr
    run("monitor", "wednesday.csv", "monday.csv", "--state", "s.fewratio", "--rebase")
    assert DriftMonitor.load("s.fewratio").state.n_rows == 40


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*MONDAY, "--fail-if", "outliers"], "the only condition is alarm"),
        ([*MONDAY, "--rebase"], "without --state"),
        ([*MONDAY, "--state", "s.txt"], "must end in .fewratio"),
    ],
)
def test_mistakes(folder, arguments, said):
    assert said in run(*arguments, code=2).stderr


def test_a_failed_file_loses_nothing(folder):
    run(*MONDAY, "--state", "s.fewratio")
    before = (folder / "s.fewratio").read_bytes()
    (folder / "bad.csv").write_text("x,y\n1,2\n3\n")
    run("monitor", "reference.csv", "bad.csv", "--state", "s.fewratio", code=2)
    assert (folder / "s.fewratio").read_bytes() == before


KILLED = """
import os, signal
from fewratio.app import app
from fewratio.core import container
from fewratio.monitor.monitor import DriftMonitor
n, original = 0, {name}
def count(*arguments):
    global n
    n += 1
    if n == {number}:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*arguments)
{name} = count
app(["monitor", "reference.csv", "monday.csv", "tuesday.csv", "--state", "s.fewratio"])
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param("DriftMonitor.update", 2, id="between updates"),
        pytest.param("DriftMonitor._bet", 4, id="during an update"),
        pytest.param("container.os.replace", 2, id="while the state is written"),
    ],
)
def test_a_killed_process_has_lost_nothing(folder, name, number):
    """It is killed with the second file, at the given call; each file is bet on in two parts."""
    code = KILLED.format(name=name, number=number)
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == -9
    assert DriftMonitor.load("s.fewratio").state.n_rows == 40
    whole = json.loads(run(*MONDAY, "tuesday.csv", "--json").stdout)
    resumed = json.loads(run(*MONDAY, "tuesday.csv", "--state", "s.fewratio", "--json").stdout)
    assert resumed["evidence"] == pytest.approx(whole["evidence"])


def test_the_lock_of_windows_waits(tmp_path, monkeypatch):
    tries = []

    class Locks:
        LK_LOCK = 1

        @staticmethod
        def locking(file, mode, size):
            tries.append((os.fstat(file).st_ino, mode, size))
            if len(tries) < 3:
                raise OSError("still locked")

    monkeypatch.setitem(sys.modules, "msvcrt", Locks)
    os.close(command._lock_file(tmp_path / "s.fewratio"))
    assert tries == [((tmp_path / "s.fewratio.lock").stat().st_ino, 1, 1)] * 3


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no lock of folders")
def test_two_processes_take_turns(folder):
    files = "monday", "tuesday", "wednesday"
    start = [sys.executable, "-m", "fewratio", "monitor", "reference.csv"]
    running = [subprocess.Popen([*start, f"{name}.csv", "--state", "s.fewratio"], stdout=-3) for name in files]
    assert [each.wait() for each in running] == [0, 0, 0]
    state = DriftMonitor.load("s.fewratio").state
    assert (state.n_rows, len(state.batches)) == (120, 3)
