"""The examples run, on tiny sizes, and print a table of what they measured."""

import runpy
import sys
from pathlib import Path

import pytest

from fewratio.data.registry import SOURCES

EXAMPLES = Path(__file__).parents[1] / "examples"
SIZES = {
    "own_method": (["--splits", "2"], ["Nearest side", "RuLSIF"]),
    "own_dataset": (["--splits", "2"], ["Sensors", "RuLSIF, ratio clipped"]),
    "own_experiment": (["--splits", "2", "--steps", "2"], ["Network, twice as long", "regret"]),
}


def test_every_example_is_run_here():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SIZES)


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_an_example_prints_a_table(name, tmp_path, monkeypatch, capsys):
    arguments, shown = SIZES[name]
    monkeypatch.setattr(sys, "argv", [name, "--results", str(tmp_path), *arguments])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    SOURCES.pop("sensors", None)
    table = capsys.readouterr().out
    assert all(text in table for text in shown)
    assert "no records" not in table
    assert list(tmp_path.glob("*/records.jsonl"))
