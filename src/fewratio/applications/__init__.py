"""What people want of a ratio: whether datasets differ, outliers, weights of a shifted sample, moments of change."""

from fewratio.applications.all_pairs import AllPairsResult, compare_all
from fewratio.applications.change_detector import ChangeDetector
from fewratio.applications.changes import ChangePoints, detect_changes
from fewratio.applications.comparison import ComparisonResult, compare_datasets
from fewratio.applications.outliers import InlierOutlierDetector
from fewratio.applications.weights import ImportanceWeights, importance_weights

__all__ = [
    "AllPairsResult",
    "ChangeDetector",
    "ChangePoints",
    "ComparisonResult",
    "ImportanceWeights",
    "InlierOutlierDetector",
    "compare_all",
    "compare_datasets",
    "detect_changes",
    "importance_weights",
]
