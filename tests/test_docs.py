"""The examples of the guides run as they stand."""

import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from pyarrow.csv import ConvertOptions

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "own-data.md"


def test_the_guide_lists_the_marks_of_missing_values():
    rules = GUIDE.with_name("tables.md").read_text("utf-8")
    (listed,) = re.findall(r"these count as missing: an empty field, (.*?)\.\n\n", rules, re.DOTALL)
    assert {"", *re.findall("`(.*?)`", listed)} == set(ConvertOptions().null_values)


def test_the_guide_to_own_data_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "older_sensors").mkdir()
    pl.DataFrame({"p": [1.0, 2.0]}).write_csv(tmp_path / "older_sensors" / "may.csv")
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 4
    exec(compile("\n".join(blocks), str(GUIDE), "exec"), {})


def test_the_guide_to_sources_at_home_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    guide = GUIDE.with_name("sources-at-home.md")
    (block,) = re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict = {}
    exec(compile(block, str(guide), "exec"), names)
    assert names["merged"].n_sources == names["estimator"].summary_.n_sources == 12


@pytest.mark.slow
def test_the_examples_of_the_page_run(tmp_path):
    """The shell and the Python lines that talk to the server, with its address in the place of theirs."""
    guide = GUIDE.with_name("page.md").read_text(encoding="utf-8")
    rows = [f"{number},{number % 7},{number % 3}" for number in range(20)]
    for name in ("before.csv", "after.csv"):
        (tmp_path / name).write_text("\n".join(["size,a,b", *rows]))
    (shell,) = re.findall(r"```sh\n(.*?)```", guide, flags=re.DOTALL)
    (lines,) = (block for block in re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL) if "urllib" in block)
    command = [sys.executable, "-m", "fewratio", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = re.findall(r"http://\S+:\d+", server.stdout.readline())[0]
            for program, text in ((["bash", "-ec"], shell), ([sys.executable, "-c"], lines)):
                assert "http://127.0.0.1:8000" in text
                text = text.replace("http://127.0.0.1:8000", address).replace("| python ", f"| {sys.executable} ")
                run = subprocess.run([*program, text], capture_output=True, text=True, cwd=tmp_path)
                assert run.returncode == 0, run.stderr
        finally:
            server.terminate()
    assert json.loads((tmp_path / "job.json").read_text())["verb"] == "compare"
    assert run.stdout.splitlines()[0].startswith("fewratio compare before.csv after.csv")
    assert float(run.stdout.splitlines()[1]) > 0.5


def test_the_guide_to_reports_runs(tmp_path, monkeypatch):
    import numpy as np

    monkeypatch.chdir(tmp_path)
    guide = GUIDE.with_name("page.md")
    blocks = re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), flags=re.DOTALL)
    (block,) = (block for block in blocks if "to_html" in block)
    A = np.random.default_rng(0).normal(size=(10, 2))
    exec(compile(block, str(guide), "exec"), {"A": A, "B": A + 1})
    assert (tmp_path / "difference.html").is_file()
