"""The reproduction of the paper: experiments, their records, and tables made from the records.

Importing it makes the paper's data known to `fewratio.load_collection`. What is needed to add a method, data or an
experiment of one's own is here (``__init__.pyi`` lists it, ``examples/`` use it); it is imported when first used.
"""

from typing import Any

from fewratio.lazy import import_name, names_of_stub
from fewratio_bench import sources as sources

_HOME = names_of_stub(__file__)

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    return import_name(name, _HOME, "fewratio_bench")
