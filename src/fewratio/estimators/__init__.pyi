# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from . import (
    classifier as classifier,
    closed_form as closed_form,
    kernel as kernel,
    mixtures as mixtures,
    networks as networks,
)
from .base import NotFittedError as NotFittedError, RatioEstimator as RatioEstimator
from .choose import HeldOutSelection as HeldOutSelection
from .classifier import ClassifierRatio as ClassifierRatio, Telescoping as Telescoping
from .closed_form import (
    DiscriminantRatioEstimator as DiscriminantRatioEstimator,
    InlierRatioEstimator as InlierRatioEstimator,
    SourceMap as SourceMap,
    Summary as Summary,
)
from .contract import check_ratio_estimator as check_ratio_estimator
from .kernel import KLIEP as KLIEP, KMM as KMM, ULSIF as ULSIF, RuLSIF as RuLSIF
from .mixtures import AutoRatioEstimator as AutoRatioEstimator, make_best_members as make_best_members
from .networks import (
    MetaRatioEstimator as MetaRatioEstimator,
    UniversalRatioEstimator as UniversalRatioEstimator,
    pretrain_together as pretrain_together,
)
from .quantities import (
    gaussian_relative_ratio as gaussian_relative_ratio,
    mmd2 as mmd2,
    relative_pearson_divergence as relative_pearson_divergence,
    relative_squared_error as relative_squared_error,
)
