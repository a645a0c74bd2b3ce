# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .weighting import WeightResult as WeightResult, importance_weights as importance_weights
