"""How often tests that find something by chance may do so: enough draws to see a level of 0.09 for 0.05.

Where a draw takes long, fewer are made, which see a level of 0.12.
"""

from scipy.stats import binom

LEVEL = 0.05
N_DRAWS, FEW_DRAWS = 640, 240


def assert_level_is_kept(rejections):
    """Fail if there are more rejections at the level 0.05 than chance explains."""
    wrong = 0.12 if len(rejections) < N_DRAWS else 0.09
    limit = binom.ppf(0.99, len(rejections), LEVEL)
    assert binom.sf(limit, len(rejections), wrong) > 0.95, "too few draws to see a wrong level"
    assert sum(rejections) <= limit
