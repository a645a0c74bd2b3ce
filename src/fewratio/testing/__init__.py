"""Tests that several tasks use: permutations and the two-sample test."""

from fewratio.lazy import attach

# A difference counts as one up to this p-value, in pictures, texts and warnings.
LEVEL = 0.05
# How many permutations are drawn unless the user says how many.
PERMUTATIONS = 999

__getattr__, __dir__, __all__ = attach(__name__, __file__)
