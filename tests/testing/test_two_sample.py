"""The two-sample test by itself: how often it finds a difference by chance."""

import numpy as np
import pytest

from fewratio.testing.two_sample import select_rows, two_sample_test
from tests.levels import LEVEL, N_DRAWS, assert_level_is_kept

LAWS = {
    "heavy tails": lambda rng, n: rng.standard_t(2, (n, 2)),
    "few values": lambda rng, n: rng.integers(0, 3, (n, 2)).astype(float),
}


@pytest.mark.parametrize("law", LAWS)
def test_the_level_is_kept(law):
    rejections = []
    is_first = np.arange(19) < 12
    for seed in range(N_DRAWS):
        rng = np.random.default_rng(seed)
        rows = LAWS[law](rng, 19)
        used = select_rows(rows, is_first, rng)
        columns = [slice(0, 1), slice(1, 2)]
        found = two_sample_test(rows[used], is_first[used], columns, 19, rng, with_contributions=False)
        rejections.append(found.p_value <= LEVEL)
    assert_level_is_kept(rejections)
