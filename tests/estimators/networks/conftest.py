"""Networks of these tests have no intervals, which would take longer than their training; see ../test_certainty.py."""

import pytest

from tests.trials import without_trials

_without_trials = pytest.fixture(scope="module", autouse=True)(without_trials)
