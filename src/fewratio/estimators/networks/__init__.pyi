# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .meta import MetaRatioEstimator as MetaRatioEstimator, pretrain_together as pretrain_together
from .nn import (
    AdaptedRatio as AdaptedRatio,
    GaussianFeatures as GaussianFeatures,
    MLPFeatures as MLPFeatures,
    NoEncoder as NoEncoder,
    RatioModel as RatioModel,
    RelationalEncoder as RelationalEncoder,
    RelationalFeatures as RelationalFeatures,
    RidgeHead as RidgeHead,
    SetEncoder as SetEncoder,
    SharedHead as SharedHead,
)
from .pair import Episode as Episode, Pair as Pair
from .settings import Architecture as Architecture, Inliers as Inliers, Pairs as Pairs, Training as Training
from .universal import UniversalRatioEstimator as UniversalRatioEstimator
