"""Tests that several tasks use: permutations and the two-sample test."""

from fewratio.lazy import attach

# The p-value up to which a difference is called one, in pictures, words and warnings.
LEVEL = 0.05

__getattr__, __dir__, __all__ = attach(__name__, __file__)
