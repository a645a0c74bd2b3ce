# The public names: read by type checkers, and by `fewratio.lazy` when one is first used.
from .collection import Collection as Collection, SourceOptions as SourceOptions
from .columns import ColumnOptions as ColumnOptions
from .dataset import Dataset as Dataset
from .encoding import Encoding as Encoding
from .readers.files import read_table as read_table
from .registry import Source as Source, load_collection as load_collection, register_source as register_source
