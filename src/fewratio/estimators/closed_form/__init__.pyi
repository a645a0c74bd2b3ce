# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .discriminant import DiscriminantRatioEstimator as DiscriminantRatioEstimator
from .source_map import SourceMap as SourceMap
from .summary import Summary as Summary
