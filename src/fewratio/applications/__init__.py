"""What people want of a ratio: odd rows, weights of a shifted sample, moments of change."""

from fewratio.applications.change_points import ChangePoints
from fewratio.applications.changes import detect_changes
from fewratio.applications.online_changes import ChangeDetector
from fewratio.applications.outliers import InlierOutlierDetector
from fewratio.applications.weights import ImportanceWeights, importance_weights

__all__ = [
    "ChangeDetector",
    "ChangePoints",
    "ImportanceWeights",
    "InlierOutlierDetector",
    "detect_changes",
    "importance_weights",
]
