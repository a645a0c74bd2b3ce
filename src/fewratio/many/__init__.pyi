# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .all_pairs import compare_all as compare_all
from .dataset_index import DatasetIndex as DatasetIndex, Neighbours as Neighbours
from .result import AllPairsResult as AllPairsResult
