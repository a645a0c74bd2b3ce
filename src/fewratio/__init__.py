"""See how two datasets differ, row by row, from a handful of rows.

The most common names are here, all others in the subpackages; ``__init__.pyi`` lists them. Names are imported on first
use, so ``import fewratio`` is fast.
"""

from fewratio.lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(__name__, __file__)
