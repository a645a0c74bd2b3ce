"""Datasets, collections of them, and the gate through which user tables enter."""
