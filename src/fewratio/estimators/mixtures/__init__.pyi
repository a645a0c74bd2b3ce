# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .auto import AutoRatioEstimator as AutoRatioEstimator
from .ensemble import EnsembleRatioEstimator as EnsembleRatioEstimator
from .pooled import PooledRatioEstimator as PooledRatioEstimator
