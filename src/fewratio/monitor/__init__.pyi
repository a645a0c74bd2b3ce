# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .monitor import DriftMonitor as DriftMonitor
from .state import MonitorState as MonitorState
