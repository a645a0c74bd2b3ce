"""Compute weights that make one sample resemble another."""

from fewratio.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
