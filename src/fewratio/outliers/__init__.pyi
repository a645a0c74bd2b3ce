# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .detector import InlierOutlierDetector as InlierOutlierDetector
from .result import OutlierResult as OutlierResult
from .rows import RowExplanation as RowExplanation
