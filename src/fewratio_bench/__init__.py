"""The reproduction of the paper: experiments, their records, and tables made from the records.

Importing it makes the paper's data known to `fewratio.data.load_collection`. What is needed to add a method, data or an
experiment of one's own is here (``__init__.pyi`` lists it, ``examples/`` use it); it is imported when first used.
"""

from fewratio.lazy import attach
from fewratio_bench import sources as sources

__getattr__, __dir__, __all__ = attach(__name__, __file__)
