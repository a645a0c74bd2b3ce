# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from . import (
    changes as changes,
    charts as charts,
    compare as compare,
    data as data,
    estimators as estimators,
    many as many,
    monitor as monitor,
    outliers as outliers,
    testing as testing,
    weights as weights,
)
from .changes import ChangeResult as ChangeResult, detect_changes as detect_changes
from .compare import ComparisonResult as ComparisonResult, compare_datasets as compare_datasets
from .data import (
    Collection as Collection,
    ColumnOptions as ColumnOptions,
    Dataset as Dataset,
    read_table as read_table,
)
from .errors import (
    DataFileError as DataFileError,
    FewRatioError as FewRatioError,
    InputError as InputError,
    ModelFileError as ModelFileError,
    ParameterError as ParameterError,
)
from .estimators import (
    KLIEP as KLIEP,
    ULSIF as ULSIF,
    AutoRatioEstimator as AutoRatioEstimator,
    ClassifierRatio as ClassifierRatio,
    DiscriminantRatioEstimator as DiscriminantRatioEstimator,
    MetaRatioEstimator as MetaRatioEstimator,
    RatioEstimator as RatioEstimator,
    RuLSIF as RuLSIF,
    UniversalRatioEstimator as UniversalRatioEstimator,
    check_ratio_estimator as check_ratio_estimator,
    relative_pearson_divergence as relative_pearson_divergence,
)
from .loading import load_model as load_model
from .many import AllPairsResult as AllPairsResult, DatasetIndex as DatasetIndex, compare_all as compare_all
from .monitor import DriftMonitor as DriftMonitor
from .outliers import InlierOutlierDetector as InlierOutlierDetector, OutlierResult as OutlierResult
from .weights import WeightResult as WeightResult, importance_weights as importance_weights

__version__: str
