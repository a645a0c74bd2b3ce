"""Datasets, collections of them, and the gate through which user tables enter."""

from fewratio.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
