# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .classifier import ClassifierRatio as ClassifierRatio
from .telescoping import Telescoping as Telescoping
