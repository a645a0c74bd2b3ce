# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .detection import (
    ChangeResult as ChangeResult,
    ChangesBySeries as ChangesBySeries,
    detect_changes as detect_changes,
)
from .detector import ChangeDetector as ChangeDetector
