"""Estimate ratios with Gaussian kernels."""

from fewratio.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
