"""Tests that several tasks use: permutations and the two-sample test."""

# The p-value up to which a difference is called one, in pictures, words and warnings.
LEVEL = 0.05
