"""Settings of all tests."""

import os

from hypothesis import settings

# No deadline: a busy machine is no bug. Fixed examples where a change is judged; everywhere else new ones are
# sought every time.
settings.register_profile("fewratio", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("fewratio")
