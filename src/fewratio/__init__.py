"""See how two datasets differ, row by row, from a handful of rows.

The names that most people need are here, all others in the packages; ``__init__.pyi`` lists those of each. A name is
imported when first used, so that ``import fewratio`` costs nothing.
"""

from fewratio.lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(__name__, __file__)
