"""What people want of a ratio: whether datasets differ, odd rows, weights of a shifted sample, moments of change."""

from fewratio.applications.all_pairs import compare_all
from fewratio.applications.change_points import ChangePoints
from fewratio.applications.changes import detect_changes
from fewratio.applications.comparison import ComparisonResult, compare_datasets
from fewratio.applications.distance_matrix import AllPairsResult
from fewratio.applications.online_changes import ChangeDetector
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
