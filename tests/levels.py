"""How often tests that find something by chance may do so: enough draws to see a level of 0.09 for 0.05."""

from scipy.stats import binom

LEVEL, WRONG_LEVEL = 0.05, 0.09
N_DRAWS = 640


def assert_level_is_kept(rejections):
    """Fail if there are more rejections at the level 0.05 than chance explains."""
    limit = binom.ppf(0.99, len(rejections), LEVEL)
    assert binom.sf(limit, len(rejections), WRONG_LEVEL) > 0.95, "too few draws to see a wrong level"
    assert sum(rejections) <= limit
