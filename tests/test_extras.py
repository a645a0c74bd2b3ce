"""What is said of missing packages leads to them."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fewratio.lazy import _EXTRAS

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


def test_every_extra_that_is_named_exists():
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    lines = "\n".join(path.read_text("utf-8") for path in sources)
    brackets = re.findall(r"install\b.*'(?:fewratio|\.)\[([\w,-]+)\]", lines)
    named = {name for extras in brackets for name in extras.split(",")}
    assert {"networks", "privacy", "bench"} <= named
    assert named | set(_EXTRAS.values()) <= EXTRAS.keys()


def test_an_extra_is_added_to_what_is_installed_without_looking_for_fewratio_elsewhere(tmp_path):
    """The line that errors name is right for a clone, too: pip keeps the fewratio that it finds."""
    pytest.importorskip("pip")
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--dry-run", "fewratio[excel,report]"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Requirement already satisfied: fewratio[excel,report]" in done.stdout
