# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .permutations import Exchange as Exchange
from .two_sample import TwoSampleTest as TwoSampleTest, two_sample_test as two_sample_test

LEVEL: float
PERMUTATIONS: int
