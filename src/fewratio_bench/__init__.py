"""The reproduction of the paper: experiments, their records, and tables made from the records.

Importing it registers the paper's data for `fewratio.data.load_collection`. The names you need to add a method, data or
an experiment are here (``__init__.pyi`` lists them, ``examples/`` use them); they are imported on first use.
"""

from fewratio.lazy import attach
from fewratio_bench import sources as sources

__getattr__, __dir__, __all__ = attach(__name__, __file__)
