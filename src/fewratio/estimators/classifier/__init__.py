"""Ratios from classifiers."""
