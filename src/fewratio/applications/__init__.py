"""Answers read off the ratio: whether datasets differ, how far, and where."""
