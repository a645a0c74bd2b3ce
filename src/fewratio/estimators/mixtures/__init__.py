"""Estimators that average the ratios of others."""
