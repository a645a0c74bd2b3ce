# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .auto import AutoRatioEstimator as AutoRatioEstimator
from .best_members import make_best_members as make_best_members
