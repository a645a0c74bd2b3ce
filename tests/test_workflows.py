"""Workflows run what the Makefile has, and nothing of their own."""

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_command_of_a_workflow_is_a_make_target(path):
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    assert commands
    for command in commands:
        found = re.fullmatch(r"make ([a-z]+)( [A-Z]+=\w+)*", command)
        assert found, f"{command!r} is no call of make"
        assert found[1] in TARGETS, f"{command!r} is not a target of the Makefile: {sorted(TARGETS)}"


def test_the_workflows_are_found():
    assert {"test", "release"} <= {path.stem for path in WORKFLOWS}
