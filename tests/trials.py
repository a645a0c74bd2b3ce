"""Networks without the trials that say how certain they are: these take longer than a short training."""

from collections.abc import Iterator

import pytest

from fewratio.estimators.networks import members


def without_trials() -> Iterator[None]:
    """Train networks without trials, so that nothing is certain."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(members, "draw_trials", lambda *sources, **options: None)
        yield
