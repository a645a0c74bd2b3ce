# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .chart import Picture as Picture
