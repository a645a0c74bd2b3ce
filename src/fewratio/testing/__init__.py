"""Tests that several tasks use: permutations and the two-sample test."""

from fewratio.lazy import attach

# Pictures, texts and warnings call a difference significant up to this p-value.
LEVEL = 0.05
# The default number of permutations.
PERMUTATIONS = 999

__getattr__, __dir__, __all__ = attach(__name__, __file__)
