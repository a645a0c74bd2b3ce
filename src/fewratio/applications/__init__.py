"""What people want of a ratio: whether datasets differ, outliers, weights of a shifted sample, moments of change."""

from fewratio.applications.all_pairs import compare_all as compare_all
from fewratio.applications.all_pairs_result import AllPairsResult as AllPairsResult
from fewratio.applications.change_detector import ChangeDetector as ChangeDetector
from fewratio.applications.changes import ChangePoints as ChangePoints
from fewratio.applications.changes import detect_changes as detect_changes
from fewratio.applications.comparison import ComparisonResult as ComparisonResult
from fewratio.applications.comparison import compare_datasets as compare_datasets
from fewratio.applications.outliers import InlierOutlierDetector as InlierOutlierDetector
from fewratio.applications.weights import ImportanceWeights as ImportanceWeights
from fewratio.applications.weights import importance_weights as importance_weights
