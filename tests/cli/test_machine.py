"""What the command line says where the machine is at fault: one line, no traceback."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

PROGRAM = "from fewratio.app import main; main()"


@pytest.fixture
def run(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "b", "ä"):
        np.savetxt(tmp_path / f"{name}.csv", rng.normal(size=(8, 2)), delimiter=",", header="x,ü", comments="")

    def start(*arguments, folder=tmp_path, program=PROGRAM, **options):
        command = [sys.executable, "-c", program, *map(str, arguments)]
        return subprocess.run(command, cwd=folder, capture_output=True, timeout=300, **options)

    start.folder = tmp_path
    return start


def line_of(done):
    """The only line on standard error, of a command that failed."""
    said = done.stderr.decode("utf-8", "backslashreplace")
    assert done.returncode in (1, 2)
    assert len(said.splitlines()) == 1, said
    return said


def test_a_deleted_working_folder(run, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    done = run("compare", "a.csv", "b.csv", folder=folder, preexec_fn=lambda: os.rmdir(folder))
    assert "working folder no longer exists" in line_of(done)


@pytest.mark.parametrize(
    "arguments", [("compare", "a.csv", "ä.csv"), pytest.param(("compare-all", "."), marks=pytest.mark.slow)]
)
def test_a_name_that_an_ascii_system_cannot_read(run, arguments):
    plain = {**os.environ, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    assert "PYTHONUTF8=1" in line_of(run(*arguments, env=plain))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
def test_a_limit_on_memory_that_libraries_would_hang_at(run):
    import resource

    limit = 2**19 * 1000
    done = run("compare", "a.csv", "b.csv", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert "ulimit -v" in line_of(done)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows ends a process without a word")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_amid_the_rows_of_a_file(run, tmp_path, name):
    number = getattr(signal, name)
    # It may be ignored here, as by nohup.
    during = f"import os, signal, fewratio; signal.signal({number:d}, signal.SIG_DFL); "
    during += f"fewratio.AutoRatioEstimator.predict = lambda *_: os.kill(os.getpid(), {number:d}); "
    before = set(tmp_path.iterdir())
    done = run("ratio", "a.csv", "b.csv", "--output", "ratios.csv", program=during + PROGRAM)
    assert done.returncode == 128 + number
    assert set(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_an_index_takes_no_table_s_place(run, tmp_path):
    table = (tmp_path / "a.csv").read_bytes()
    done = run("index", tmp_path, "--output", tmp_path / "a.csv")
    assert "Give a file elsewhere" in line_of(done)
    assert (tmp_path / "a.csv").read_bytes() == table
