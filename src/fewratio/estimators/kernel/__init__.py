"""Ratios from Gaussian kernels."""
