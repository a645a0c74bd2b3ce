"""Settings of all tests."""

import os
from pathlib import Path

import jaxtyping
from hypothesis import settings

# No deadline: a busy machine is no bug. Fixed examples where a change is judged; everywhere else new ones are
# sought every time.
settings.register_profile("fewratio", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("fewratio")

# Shapes are checked by the tests of what computes with them. Elsewhere the same functions run, and take half as long.
SHAPES_MATTER = [Path(__file__).parent / name for name in ("core", "estimators")]


def pytest_runtest_setup(item):
    checked = any(item.path.is_relative_to(folder) for folder in SHAPES_MATTER)
    jaxtyping.config.update("jaxtyping_disable", not checked)


def pytest_runtest_teardown():
    jaxtyping.config.update("jaxtyping_disable", False)
