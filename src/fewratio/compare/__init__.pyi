# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .columns import ColumnDifference as ColumnDifference, WordDifference as WordDifference
from .comparison import ComparisonResult as ComparisonResult, compare_datasets as compare_datasets
from .groups import (
    GroupColumn as GroupColumn,
    GroupComparisonResult as GroupComparisonResult,
    GroupDifference as GroupDifference,
    PairDifference as PairDifference,
)
from .relations import Relation as Relation
