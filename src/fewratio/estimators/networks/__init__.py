"""Neural networks that estimate ratios; only this package imports torch."""
