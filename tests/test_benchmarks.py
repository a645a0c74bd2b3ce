"""Every benchmark can at least be started, and says how, whether or not what it compares with is installed."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))
PEERS = ("densratio", "pandas", "polars", "pyod", "torchdensityestimation")
PROGRAM = """
import runpy, sys
sys.modules.update(dict.fromkeys(sys.argv[2:]))  # to import these is an error now
sys.argv = [sys.argv[1], "--help"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_it_says_how_it_is_run(path):
    run = subprocess.run([sys.executable, "-c", PROGRAM, str(path), *PEERS], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"usage: {path.name}")
