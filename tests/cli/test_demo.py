"""``fewratio demo`` as a person would call it."""

import subprocess
import sys
from pathlib import Path

import pytest

PNG = b"\x89PNG\r\n\x1a\n"


def fewratio(*arguments, cwd=None):
    command = [str(Path(sys.executable).with_name("fewratio")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def test_demo_trains_compares_and_draws(tmp_path):
    done = fewratio("demo", "--steps", "60", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "ratio.png").read_bytes().startswith(PNG)
    assert "<svg" in (tmp_path / "demo" / "ratio.svg").read_text()
    regrets = dict(line.split() for line in done.stdout.splitlines() if line.startswith("  "))
    assert set(regrets) == {"meta-learned", "RuLSIF"}
    # A constant ratio of 1 has a regret of about 0.19 on this family; 60 steps are enough to be better.
    assert 0 < float(regrets["meta-learned"]) < 0.15


@pytest.mark.parametrize("arguments", [["demo", "--steps", "0"], ["demo", "--steps", "many"], ["nothing"]])
def test_wrong_calls_exit_with_two_and_no_traceback(arguments, tmp_path):
    done = fewratio(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_said_before_any_work(tmp_path):
    (tmp_path / "taken").write_text("a file")
    done = fewratio("demo", "--output", "taken", cwd=tmp_path)
    assert done.returncode == 1
    assert "taken" in done.stderr
    assert "Traceback" not in done.stderr
