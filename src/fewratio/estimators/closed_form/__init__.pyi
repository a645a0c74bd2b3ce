# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .discriminant import DiscriminantRatioEstimator as DiscriminantRatioEstimator
from .inlier_ratio import InlierRatioEstimator as InlierRatioEstimator
from .source_map import SourceMap as SourceMap
from .summary import Summary as Summary
