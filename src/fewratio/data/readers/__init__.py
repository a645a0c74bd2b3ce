"""Data files of all kinds."""
